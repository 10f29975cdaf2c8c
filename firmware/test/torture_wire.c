/* Decoder and session under random bytes and mutated frames; to be built with the sanitizers.
 *
 *     torture_wire SEED RANDOM_BYTES MUTATED_FRAMES
 *
 * prints "name value" lines. Of each mutated frame it is known whether it still is what was sent. After each come two
 * whole frames: "late" counts where the first was not found though the mutated one still had its final zero, or where
 * the second was not found; "next_lost" where the first was lost together with that zero. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port_double.h"
#include "session.h"

static uint64_t seed;

/* xorshift64*: the same sequence everywhere. */
static uint32_t chance(uint32_t below) {
  seed ^= seed >> 12;
  seed ^= seed << 25;
  seed ^= seed >> 27;
  return (uint32_t)((seed * 0x2545F4914F6CDD1DULL) >> 32) % below;
}

static const uint8_t types[] = {
  PROTOCOL_HELLO_REQUEST, PROTOCOL_ARM, PROTOCOL_DISARM, PROTOCOL_ESTOP, PROTOCOL_RESET, PROTOCOL_SYNC_REQUEST,
  PROTOCOL_COUNTERS_REQUEST, PROTOCOL_SETPOINT1, PROTOCOL_SETPOINT2, PROTOCOL_HELLO, PROTOCOL_REPLY, PROTOCOL_SYNC,
  PROTOCOL_COUNTERS, PROTOCOL_FAULT, PROTOCOL_STATE1, PROTOCOL_STATE2,
};

static size_t make(uint8_t *frame, uint8_t type) {
  const struct protocol_header header = {.type = type, .seq = (uint16_t)chance(65536), .t_us = chance(0xFFFFFFFFu)};
  for (size_t i = 0; i < PROTOCOL_FRAME_MAX; i++) frame[i] = (uint8_t)(chance(3) == 0u ? 0u : chance(256));
  return framing_seal(frame, &header);
}

/* Harm coded bytes in one of the ways that lines, adapters and buffers do; return the new length. */
static size_t harm(uint8_t *bytes, size_t length, size_t room) {
  const size_t at = chance((uint32_t)length);
  const size_t other = chance((uint32_t)length);
  switch (chance(8)) {
    case 0: bytes[at] ^= (uint8_t)(1u << chance(8)); break;
    case 1: bytes[at] = (uint8_t)chance(256); break;
    case 2: memmove(bytes + at, bytes + at + 1u, length - at - 1u); return length - 1u;
    case 3: /* a byte too many */
      if (length == room) break;
      memmove(bytes + at + 1u, bytes + at, length - at);
      bytes[at] = (uint8_t)chance(256);
      return length + 1u;
    case 4: /* the end is missing, but for its zero */
      bytes[at] = 0u;
      return at + 1u;
    case 5: /* several bits */
      for (uint32_t i = 2u + chance(6); i > 0u; i--) bytes[chance((uint32_t)length)] ^= (uint8_t)(1u << chance(8));
      break;
    case 6: { const uint8_t swap = bytes[at]; bytes[at] = bytes[other]; bytes[other] = swap; break; }
    default: /* a burst */
      for (size_t i = at; i < length && i < at + 12u; i++) bytes[i] = (uint8_t)chance(256);
      break;
  }
  return length;
}

struct tally { unsigned long chunks, accepted, bad_accepted, bad_crc32, unharmed, next_lost, late; };

/* Push all; count frames, and those that are not the one expected. */
static unsigned long push_all(struct framing_stream *stream, const uint8_t *bytes, size_t length, const uint8_t *frame,
                              size_t size, struct tally *tally) {
  unsigned long right = 0;
  for (size_t i = 0; i < length; i++) {
    const enum framing_verdict verdict = framing_push(stream, bytes[i]);
    if (verdict == FRAMING_NOTHING) continue;
    tally->chunks++;
    if (verdict != FRAMING_GOOD) continue;
    tally->accepted++;
    const struct protocol_shape shape = protocol_shape_of(stream->frame[0]);
    if (shape.length == size && memcmp(stream->frame, frame, size) == 0) {
      right++;
    } else {
      tally->bad_accepted++;
      if (shape.crc == 4u) tally->bad_crc32++;
    }
  }
  return right;
}

static struct tally mutate(unsigned long count) {
  struct tally tally = {0};
  uint8_t frame[PROTOCOL_FRAME_MAX], coded[PROTOCOL_ENCODED_MAX + 1u], broken[2u * PROTOCOL_ENCODED_MAX];
  for (unsigned long i = 0; i < count; i++) {
    const uint8_t type = types[chance(sizeof types)];
    struct framing_stream stream = {.to_device = protocol_shape_of(type).to_device};
    const size_t size = make(frame, type);
    const size_t length = framing_encode(coded, sizeof coded, frame, size);
    memcpy(broken, coded, length);
    const size_t left = harm(broken, length, sizeof broken);
    tally.unharmed += push_all(&stream, broken, left, frame, size, &tally);
    const unsigned long first = push_all(&stream, coded, length, frame, size, &tally);
    const unsigned long second = push_all(&stream, coded, length, frame, size, &tally);
    const bool ended = left > 0u && broken[left - 1u] == 0u;
    if (first == 0u && !ended) tally.next_lost++;
    if ((first == 0u && ended) || second == 0u) tally.late++;
  }
  return tally;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  seed = strtoull(words[1], NULL, 10) * 2654435761u + 1u;
  const unsigned long random_bytes = strtoul(words[2], NULL, 10);
  struct port_double port = {.state = PROTOCOL_STATE_IDLE};
  const struct session_port interface = port_double_interface(&port);
  static struct session session[2];
  const struct session_config config[2] = {port_double_config(false, 1), port_double_config(true, 2)};
  for (size_t i = 0; i < 2u; i++) session_init(&session[i], &config[i], &interface);
  uint8_t bytes[400];
  for (unsigned long done = 0; done < random_bytes;) {
    const size_t length = 1u + chance(sizeof bytes);
    /* Half of it has many more zeros than chance gives, so that short frames come often. */
    const uint32_t zeros = chance(2) == 0u ? 256u : 12u;
    for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)(chance(zeros) == 0u ? 0u : chance(256));
    port.now_us += 100u;
    for (size_t i = 0; i < 2u; i++) session_receive(&session[i], bytes, length, port.now_us);
    done += length;
  }
  const struct protocol_counters *c = &session[0].counters;
  printf("random_refused %lu\n", (unsigned long)c->bad_cobs + c->bad_length + c->bad_type + c->bad_crc);
  printf("random_accepted %lu\n", (unsigned long)(session[0].counters.frames + session[1].counters.frames));
  printf("random_power %u\n", port.arms + port.resets + port.setpoints);
  const struct tally tally = mutate(strtoul(words[3], NULL, 10));
  printf("chunks %lu\naccepted %lu\nbad_accepted %lu\nbad_crc32 %lu\nunharmed %lu\nnext_lost %lu\nlate %lu\n",
         tally.chunks, tally.accepted, tally.bad_accepted, tally.bad_crc32, tally.unharmed, tally.next_lost,
         tally.late);
  return 0;
}
