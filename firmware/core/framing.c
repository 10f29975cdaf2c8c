/* Framing: CRCs, the check of a frame, COBS in both directions. */
#include "framing.h"

/* Tables of 16 entries, a half byte at a time: a tenth of the flash of the usual ones, and fast enough for 1 kHz. */
static const uint16_t crc16_half[16] = {
  0x0000u, 0x1021u, 0x2042u, 0x3063u, 0x4084u, 0x50A5u, 0x60C6u, 0x70E7u,
  0x8108u, 0x9129u, 0xA14Au, 0xB16Bu, 0xC18Cu, 0xD1ADu, 0xE1CEu, 0xF1EFu,
};
static const uint32_t crc32_half[16] = {
  0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
  0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
};

uint16_t framing_crc16(const uint8_t *bytes, size_t size, uint16_t crc) {
  uint32_t c = crc;
  for (size_t i = 0; i < size; i++) {
    c = ((c << 4) & 0xFFFFu) ^ crc16_half[((c >> 12) ^ (uint32_t)(bytes[i] >> 4)) & 0xFu];
    c = ((c << 4) & 0xFFFFu) ^ crc16_half[((c >> 12) ^ bytes[i]) & 0xFu];
  }
  return (uint16_t)c;
}

uint32_t framing_crc32(const uint8_t *bytes, size_t size, uint32_t crc) {
  uint32_t c = ~crc;
  for (size_t i = 0; i < size; i++) {
    c ^= bytes[i];
    c = (c >> 4) ^ crc32_half[c & 0xFu];
    c = (c >> 4) ^ crc32_half[c & 0xFu];
  }
  return ~c;
}

enum framing_verdict framing_check(const uint8_t *bytes, size_t size, bool to_device) {
  if (size > PROTOCOL_FRAME_MAX) return FRAMING_LONG;
  if (size < PROTOCOL_FRAME_MIN) return FRAMING_SHORT;
  const struct protocol_shape shape = protocol_shape_of(bytes[0]);
  if (shape.length == 0u) return FRAMING_TYPE;
  if (shape.to_device != to_device) return FRAMING_WAY;
  if (shape.length != size) return FRAMING_LENGTH;
  const size_t covered = size - shape.crc;
  const bool same = shape.crc == 4u
                      ? framing_crc32(bytes, covered, 0u) == protocol_get_u32(bytes + covered)
                      : framing_crc16(bytes, covered, 0xFFFFu) == protocol_get_u16(bytes + covered);
  if (!same) return FRAMING_CRC;
  if (to_device && bytes[1] != 0u) return FRAMING_FLAGS;
  return FRAMING_GOOD;
}

size_t framing_seal(uint8_t *frame, const struct protocol_header *header) {
  const struct protocol_shape shape = protocol_shape_of(header->type);
  if (shape.length == 0u) return 0u;
  const size_t covered = (size_t)shape.length - shape.crc;
  protocol_put_header(frame, header);
  if (shape.crc == 4u) {
    protocol_put_u32(frame + covered, framing_crc32(frame, covered, 0u));
  } else {
    protocol_put_u16(frame + covered, framing_crc16(frame, covered, 0xFFFFu));
  }
  return shape.length;
}

size_t framing_encode(uint8_t *to, size_t room, const uint8_t *frame, size_t size) {
  /* The worst case: one code for every 254 bytes or part of them, and the final zero. */
  const size_t codes = size == 0u ? 1u : 1u + (size - 1u) / 254u;
  if (room < size + codes + 1u) return 0u;
  size_t at = 1u, start = 0u;
  uint8_t code = 1u;
  for (size_t i = 0; i < size; i++) {
    if (frame[i] != 0u) {
      to[at++] = frame[i];
      code++;
    }
    /* A full block at the very end needs no block after it. */
    if (frame[i] == 0u || (code == 0xFFu && i + 1u < size)) {
      to[start] = code;
      start = at++;
      code = 1u;
    }
  }
  to[start] = code;
  to[at++] = 0u;
  return at;
}

static enum framing_verdict finish(struct framing_stream *stream) {
  const uint16_t taken = stream->taken, size = stream->size;
  const uint8_t left = stream->left;
  stream->taken = 0u;
  stream->size = 0u;
  stream->code = 0u;
  stream->left = 0u;
  if (taken == 0u) return FRAMING_NOTHING; /* zeros between frames mean nothing */
  if (taken > PROTOCOL_ENCODED_MAX) return FRAMING_LONG;
  if (left != 0u) return FRAMING_COBS;
  return framing_check(stream->frame, size, stream->to_device);
}

enum framing_verdict framing_push(struct framing_stream *stream, uint8_t byte) {
  if (byte == 0u) return finish(stream);
  /* What is too long is not kept, only counted: the next zero ends it. */
  if (stream->taken >= PROTOCOL_ENCODED_MAX) {
    stream->taken = PROTOCOL_ENCODED_MAX + 1u;
    return FRAMING_NOTHING;
  }
  stream->taken++;
  if (stream->left == 0u) {
    /* A new block: the one before ended with a zero, unless it was the first or a full one. */
    if (stream->code != 0u && stream->code != 0xFFu) stream->frame[stream->size++] = 0u;
    stream->code = byte;
    stream->left = (uint8_t)(byte - 1u);
  } else {
    stream->frame[stream->size++] = byte;
    stream->left--;
  }
  return FRAMING_NOTHING;
}
