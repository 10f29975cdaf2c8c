/* Framing: what a good frame is, and how frames are found in a stream of bytes.
 *
 * On a serial line a frame is coded with COBS and ends with a zero byte; a UDP datagram carries the bare frame. COBS
 * turns one wrong bit into many, which breaks the guarantee of the CRC, so the exact length of each type is checked too. */
#ifndef FRAMING_H
#define FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/* Why a frame was refused; the checks are made in this order, and the Python decoder has the same. */
enum framing_verdict {
  FRAMING_NOTHING = 0, /* no frame has ended yet */
  FRAMING_GOOD = 1,
  FRAMING_LONG = 2,   /* more bytes than any frame has */
  FRAMING_COBS = 3,   /* ends inside a block */
  FRAMING_SHORT = 4,  /* fewer bytes than any frame has */
  FRAMING_TYPE = 5,   /* no such type */
  FRAMING_WAY = 6,    /* a type of the other direction: an echo of our own, perhaps */
  FRAMING_LENGTH = 7, /* not the length of its type */
  FRAMING_CRC = 8,
  FRAMING_FLAGS = 9, /* flags of a frame to the device are not 0 */
};

/* CRC-16/CCITT-FALSE; begin with 0xFFFF. */
uint16_t framing_crc16(const uint8_t *bytes, size_t size, uint16_t crc);

/* CRC-32 as in zlib; begin with 0. A later part continues from the crc of the earlier one. */
uint32_t framing_crc32(const uint8_t *bytes, size_t size, uint32_t crc);

/* Say whether bytes are one whole good frame that goes to the device (or to the host). */
enum framing_verdict framing_check(const uint8_t *bytes, size_t size, bool to_device);

/* Write header and CRC around a body that already stands at frame + PROTOCOL_HEADER_SIZE; return the frame's length, or
 * 0 when there is no such type. The frame needs room for the length of its type. */
size_t framing_seal(uint8_t *frame, const struct protocol_header *header);

/* Code a frame for a stream, with the final zero; return the number of bytes, or 0 when room is too small. Room of
 * PROTOCOL_ENCODED_MAX + 1 is always enough. */
size_t framing_encode(uint8_t *to, size_t room, const uint8_t *frame, size_t size);

/* Frames out of a stream, one byte at a time. All zero but to_device is the right start. */
struct framing_stream {
  bool to_device;  /* Config: direction of the frames that are wanted. */
  uint8_t code;    /* State: length code of the block that is being read, 0 before the first. */
  uint8_t left;    /* bytes left in the block */
  uint16_t taken;  /* coded bytes since the last zero, counted up to one more than ENCODED_MAX */
  uint16_t size;   /* bytes in frame */
  uint8_t frame[PROTOCOL_ENCODED_MAX];
};

/* Take one byte. After FRAMING_GOOD the frame stands in stream->frame until the next call. */
enum framing_verdict framing_push(struct framing_stream *stream, uint8_t byte);

#endif
