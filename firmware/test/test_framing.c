/* Framing: known CRCs, COBS at its corners, every single error refused, the next frame found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "framing.h"

static const uint8_t types[] = {
  PROTOCOL_HELLO_REQUEST, PROTOCOL_ARM,   PROTOCOL_DISARM, PROTOCOL_ESTOP,    PROTOCOL_RESET, PROTOCOL_SYNC_REQUEST,
  PROTOCOL_COUNTERS_REQUEST, PROTOCOL_SETPOINT1, PROTOCOL_SETPOINT2, PROTOCOL_HELLO, PROTOCOL_REPLY, PROTOCOL_SYNC,
  PROTOCOL_COUNTERS, PROTOCOL_FAULT, PROTOCOL_STATE1, PROTOCOL_STATE2,
};

/* A frame of this type with a body that has zeros and other bytes. */
static size_t make(uint8_t *frame, uint8_t type) {
  const struct protocol_header header = {.type = type, .seq = 0x1200u, .t_us = 0x00345600u};
  for (size_t i = 0; i < PROTOCOL_FRAME_MAX; i++) frame[i] = (uint8_t)(i % 7u == 0u ? 0u : i * 37u);
  return framing_seal(frame, &header);
}

static enum framing_verdict push_all(struct framing_stream *stream, const uint8_t *bytes, size_t size, unsigned *good) {
  enum framing_verdict last = FRAMING_NOTHING;
  for (size_t i = 0; i < size; i++) {
    last = framing_push(stream, bytes[i]);
    if (last == FRAMING_GOOD) (*good)++;
  }
  return last;
}

static void crcs_are_the_published_ones(void **state) {
  (void)state;
  const uint8_t *text = (const uint8_t *)"123456789";
  assert_int_equal(framing_crc16(text, 9, 0xFFFFu), 0x29B1);
  assert_int_equal(framing_crc32(text, 9, 0u), 0xCBF43926);
  assert_int_equal(framing_crc32(text + 4, 5, framing_crc32(text, 4, 0u)), 0xCBF43926);
}

static void every_type_survives_the_stream(void **state) {
  (void)state;
  uint8_t frame[PROTOCOL_FRAME_MAX], coded[PROTOCOL_ENCODED_MAX + 1u];
  for (size_t i = 0; i < sizeof types; i++) {
    struct framing_stream stream = {.to_device = protocol_shape_of(types[i]).to_device};
    const size_t size = make(frame, types[i]);
    const size_t length = framing_encode(coded, sizeof coded, frame, size);
    assert_true(length > size && length <= PROTOCOL_ENCODED_MAX + 1u);
    assert_null(memchr(coded, 0, length - 1u));
    unsigned good = 0;
    assert_int_equal(push_all(&stream, coded, length, &good), FRAMING_GOOD);
    assert_int_equal(good, 1);
    assert_memory_equal(stream.frame, frame, size);
    assert_int_equal(framing_check(frame, size, !stream.to_device), FRAMING_WAY);
  }
}

static void cobs_is_right_around_full_blocks(void **state) {
  (void)state;
  uint8_t bytes[600], coded[610];
  memset(bytes, 0xAA, sizeof bytes);
  for (size_t size = 250; size < 260; size++) {
    const size_t length = framing_encode(coded, sizeof coded, bytes, size);
    assert_int_equal(length, size + 2u + (size > 254u));
    assert_int_equal(coded[0], size >= 254u ? 0xFF : size + 1u);
    assert_int_equal(coded[length - 1u], 0);
  }
  assert_int_equal(framing_encode(coded, sizeof coded, bytes, 0), 2);
  assert_int_equal(framing_encode(coded, 256, bytes, 255), 0); /* no room: nothing is written beyond it */
}

static void refusals_say_why(void **state) {
  (void)state;
  uint8_t frame[PROTOCOL_FRAME_MAX + 1u];
  size_t size = make(frame, PROTOCOL_ESTOP);
  assert_int_equal(framing_check(frame, size, true), FRAMING_GOOD);
  assert_int_equal(framing_check(frame, size - 1u, true), FRAMING_SHORT);
  assert_int_equal(framing_check(frame, size + 1u, true), FRAMING_LENGTH);
  assert_int_equal(framing_check(frame, PROTOCOL_FRAME_MAX + 1u, true), FRAMING_LONG);
  assert_int_equal(framing_check(frame, 0, true), FRAMING_SHORT);
  frame[2] ^= 1u;
  assert_int_equal(framing_check(frame, size, true), FRAMING_CRC);
  frame[0] = 0xEEu;
  assert_int_equal(framing_check(frame, size, true), FRAMING_TYPE);
  const struct protocol_header flagged = {.type = PROTOCOL_ESTOP, .flags = 1u}, unknown = {.type = 0xEEu};
  size = framing_seal(frame, &flagged);
  assert_int_equal(framing_check(frame, size, true), FRAMING_FLAGS);
  assert_int_equal(framing_seal(frame, &unknown), 0);
}

static void every_flip_and_loss_is_refused_and_the_next_frame_found(void **state) {
  (void)state;
  uint8_t frame[PROTOCOL_FRAME_MAX], coded[PROTOCOL_ENCODED_MAX + 1u], broken[PROTOCOL_ENCODED_MAX + 1u];
  for (size_t i = 0; i < sizeof types; i++) {
    const bool to_device = protocol_shape_of(types[i]).to_device;
    const size_t size = make(frame, types[i]);
    const size_t length = framing_encode(coded, sizeof coded, frame, size);
    /* 8 flips of each byte, then its loss; the final zero too, which costs the next frame and no more. */
    for (size_t error = 0; error < 9u * length; error++) {
      const size_t at = error / 9u, bit = error % 9u;
      size_t left = length;
      memcpy(broken, coded, length);
      if (bit < 8u) {
        broken[at] ^= (uint8_t)(1u << bit);
      } else {
        memmove(broken + at, broken + at + 1u, length - at - 1u);
        left--;
      }
      struct framing_stream stream = {.to_device = to_device};
      unsigned good = 0;
      (void)push_all(&stream, broken, left, &good);
      assert_int_equal(good, 0);
      (void)push_all(&stream, coded, length, &good);
      (void)push_all(&stream, coded, length, &good);
      assert_int_equal(good, at + 1u == length ? 1 : 2);
    }
  }
}

static void a_flood_without_zeros_is_one_refusal(void **state) {
  (void)state;
  struct framing_stream stream = {.to_device = true};
  for (size_t i = 0; i < 100000u; i++) assert_int_equal(framing_push(&stream, 0xFFu), FRAMING_NOTHING);
  assert_int_equal(framing_push(&stream, 0u), FRAMING_LONG);
  assert_int_equal(framing_push(&stream, 0u), FRAMING_NOTHING);
  assert_int_equal(framing_push(&stream, 5u), FRAMING_NOTHING);
  assert_int_equal(framing_push(&stream, 0u), FRAMING_COBS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(crcs_are_the_published_ones),
    cmocka_unit_test(every_type_survives_the_stream),
    cmocka_unit_test(cobs_is_right_around_full_blocks),
    cmocka_unit_test(refusals_say_why),
    cmocka_unit_test(every_flip_and_loss_is_refused_and_the_next_frame_found),
    cmocka_unit_test(a_flood_without_zeros_is_one_refusal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
