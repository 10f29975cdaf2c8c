/* The framing as a shared library, for comparison with the Python decoder: whole streams in one call. */
#include "framing.h"

/* Decode a stream. Writes each verdict but NOTHING to verdicts, each good frame one after another to frames; returns
 * the number of verdicts, or the number that would be needed when room (for verdicts) is too small. frames needs room
 * for size bytes. */
size_t wire_stream(const uint8_t *bytes, size_t size, bool to_device, uint8_t *verdicts, size_t room, uint8_t *frames,
                   size_t *framed) {
  struct framing_stream stream = {.to_device = to_device};
  size_t count = 0;
  *framed = 0;
  for (size_t i = 0; i < size; i++) {
    const enum framing_verdict verdict = framing_push(&stream, bytes[i]);
    if (verdict == FRAMING_NOTHING) continue;
    if (count < room) verdicts[count] = (uint8_t)verdict;
    count++;
    if (verdict == FRAMING_GOOD) {
      const size_t length = protocol_shape_of(stream.frame[0]).length;
      for (size_t j = 0; j < length; j++) frames[(*framed)++] = stream.frame[j];
    }
  }
  return count;
}
