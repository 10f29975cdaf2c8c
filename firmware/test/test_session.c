/* Session: who may arm, which set-points count, and what the host is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port_double.h"
#include "session.h"

/* A session with its port, after start; datagrams, so that frames are bare. */
struct bench {
  struct port_double port;
  struct session_port interface;
  struct session_config config;
  struct session session;
  struct protocol_hello hello;
};

static void start(struct bench *b, uint8_t actuators) {
  memset(b, 0, sizeof *b);
  b->port.state = PROTOCOL_STATE_IDLE;
  b->port.now_us = 5000000u;
  b->interface = port_double_interface(&b->port);
  b->config = port_double_config(true, actuators);
  session_init(&b->session, &b->config, &b->interface);
}

/* Send a frame of this type to the device; body NULL: no body. */
static void give(struct bench *b, uint8_t type, uint16_t seq, uint32_t t_us, const uint8_t *body) {
  uint8_t frame[PROTOCOL_FRAME_MAX];
  const struct protocol_header header = {.type = type, .seq = seq, .t_us = t_us};
  const struct protocol_shape shape = protocol_shape_of(type);
  if (body != NULL) memcpy(frame + PROTOCOL_HEADER_SIZE, body, (size_t)shape.length - shape.crc - PROTOCOL_HEADER_SIZE);
  session_receive(&b->session, frame, framing_seal(frame, &header), b->port.now_us);
}

/* The last frame that was sent is good and of this type; return its body. */
static const uint8_t *body_of(const struct bench *b, uint8_t type) {
  assert_int_equal(framing_check(b->port.bytes, b->port.size, false), FRAMING_GOOD);
  assert_int_equal(b->port.bytes[0], type);
  return b->port.bytes + PROTOCOL_HEADER_SIZE;
}

static struct protocol_reply reply_of(const struct bench *b) {
  struct protocol_reply reply;
  protocol_get_reply(body_of(b, PROTOCOL_REPLY), &reply);
  return reply;
}

static void greet_with(struct bench *b, uint16_t version) {
  uint8_t body[2];
  const struct protocol_hello_request request = {.version = version};
  protocol_put_hello_request(body, &request);
  give(b, PROTOCOL_HELLO_REQUEST, 77, 0, body);
  protocol_get_hello(body_of(b, PROTOCOL_HELLO), &b->hello);
}

static void greet(struct bench *b) { greet_with(b, PROTOCOL_VERSION); }

static struct protocol_arm right_arm(const struct bench *b) {
  struct protocol_arm arm = {.version = PROTOCOL_VERSION, .schema_crc = b->hello.schema_crc, .ticket = b->hello.ticket};
  memcpy(arm.uid, b->hello.uid, sizeof arm.uid);
  return arm;
}

static struct protocol_reply give_arm(struct bench *b, const struct protocol_arm *arm) {
  uint8_t body[PROTOCOL_FRAME_MAX];
  protocol_put_arm(body, arm);
  give(b, PROTOCOL_ARM, 9, 0, body);
  return reply_of(b);
}

static struct protocol_reply give_reset(struct bench *b, uint16_t fault, uint32_t ticket) {
  uint8_t body[PROTOCOL_FRAME_MAX];
  const struct protocol_reset reset = {.fault = fault, .ticket = ticket};
  protocol_put_reset(body, &reset);
  give(b, PROTOCOL_RESET, 10, 0, body);
  return reply_of(b);
}

/* A set-point whose force is its seq, computed from a sample age_us ago (negative: of the future). */
static bool give_setpoint(struct bench *b, uint16_t seq, int32_t age_us) {
  uint8_t body[PROTOCOL_FRAME_MAX];
  const struct protocol_law law = {.F0 = (float)seq, .q0 = 1.0f, .K = 2.0f, .B = 3.0f};
  const unsigned before = b->session.counters.setpoints;
  protocol_put_law(body, &law);
  protocol_put_law(body + PROTOCOL_LAW_SIZE, &law);
  give(b, b->config.actuators == 1u ? PROTOCOL_SETPOINT1 : PROTOCOL_SETPOINT2, seq,
       b->port.now_us - (uint32_t)age_us, body);
  return b->session.counters.setpoints != before;
}

static struct protocol_state2 state_of(struct bench *b) {
  struct protocol_state2 state;
  const struct session_measurement measurement = {
    .t_us = 42u, .fault = 3u, .fresh = 7u, .limited = PROTOCOL_LIMITED_CLAMP, .counts = {-5, 6},
    .measured = {{.force = 1.0f}, {.force = 2.0f}},
  };
  assert_true(session_send_state(&b->session, &measurement));
  protocol_get_state2(body_of(b, b->config.actuators == 1u ? PROTOCOL_STATE1 : PROTOCOL_STATE2), &state);
  return state;
}

static void hello_says_who_it_is(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  assert_int_equal(b.hello.version, PROTOCOL_VERSION);
  assert_int_equal(b.hello.layout_crc, PROTOCOL_LAYOUT_CRC);
  assert_string_equal(b.hello.app, "piano_key");
  assert_string_equal(b.hello.sensor[0].name, "hall_front");
  assert_memory_equal(b.hello.uid, b.config.uid, sizeof b.config.uid);
  assert_int_equal(b.hello.watchdog_us, 10000);
  assert_int_equal(b.hello.actuators, 1);
  assert_int_equal(protocol_get_u16(b.port.bytes + 2), 77); /* the answer repeats seq */
}

static void schema_depends_on_every_descriptor(void **unused) {
  (void)unused;
  struct bench b, c;
  start(&b, 1);
  start(&c, 1);
  assert_int_equal(b.session.schema_crc, c.session.schema_crc);
  c.config.sensor[2].scale = 2.0f;
  session_init(&c.session, &c.config, &c.interface);
  assert_int_not_equal(b.session.schema_crc, c.session.schema_crc);
  c.config = b.config;
  c.config.watchdog_us = 200000u; /* not part of what frames mean */
  session_init(&c.session, &c.config, &c.interface);
  assert_int_equal(b.session.schema_crc, c.session.schema_crc);
}

static void arm_must_echo_everything(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  struct protocol_arm arm = {.version = PROTOCOL_VERSION, .ticket = b.session.ticket};
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_NO_HELLO);
  greet(&b);
  arm = right_arm(&b);
  arm.version++;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_VERSION);
  arm = right_arm(&b);
  arm.schema_crc ^= 1u;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_SCHEMA);
  arm = right_arm(&b);
  arm.uid[11] ^= 1u;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_UID);
  arm = right_arm(&b);
  arm.ticket++;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_TICKET);
  assert_int_equal(b.port.arms, 0);
  assert_int_equal(b.session.counters.refused, 5);
  arm = right_arm(&b);
  const struct protocol_reply reply = give_arm(&b, &arm);
  assert_int_equal(reply.result, PROTOCOL_RESULT_OK);
  assert_int_equal(reply.request, PROTOCOL_ARM);
  assert_int_equal(b.port.arms, 1);
  assert_int_equal(b.port.bytes[1], PROTOCOL_STATE_RAMP); /* the state after it */
}

static void a_ticket_works_once(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  struct protocol_arm arm = right_arm(&b);
  b.port.answer = PROTOCOL_RESULT_SETPOINT_NOT_ZERO;
  struct protocol_reply reply = give_arm(&b, &arm);
  assert_int_equal(reply.result, PROTOCOL_RESULT_SETPOINT_NOT_ZERO);
  b.port.answer = 0u;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_TICKET); /* the same frame again */
  arm.ticket = reply.ticket;
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_OK);
}

static void what_makes_safer_needs_nothing_and_voids_an_overtaken_arm(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  give(&b, PROTOCOL_ESTOP, 1, 0, NULL);
  assert_int_equal(reply_of(&b).result, PROTOCOL_RESULT_OK);
  assert_int_equal(b.port.estops, 1);
  start(&b, 1);
  greet(&b);
  const struct protocol_arm arm = right_arm(&b);
  give(&b, PROTOCOL_DISARM, 2, 0, NULL);
  assert_int_equal(b.port.disarms, 1);
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_TICKET);
  assert_int_equal(b.port.arms, 0);
}

static void a_handshake_takes_power_away(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  const struct protocol_arm arm = right_arm(&b);
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_OK);
  greet(&b);
  assert_int_equal(b.port.disarms, 1);
  assert_int_equal(b.port.state, PROTOCOL_STATE_IDLE);
  b.port.state = PROTOCOL_STATE_ACTIVE;
  greet(&b);
  assert_int_equal(b.port.disarms, 2);
  greet(&b); /* idle: nothing to take away */
  assert_int_equal(b.port.disarms, 2);
}

static void another_version_is_answered_but_may_do_nothing(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet_with(&b, PROTOCOL_VERSION + 1u);
  assert_int_equal(b.hello.version, PROTOCOL_VERSION);
  const struct protocol_arm arm = right_arm(&b);
  assert_int_equal(give_arm(&b, &arm).result, PROTOCOL_RESULT_NO_HELLO);
  assert_false(give_setpoint(&b, 1, 0));
}

static void reset_names_the_latched_fault(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  b.port.fault = 3u;
  b.port.state = PROTOCOL_STATE_FAULT;
  assert_int_equal(give_reset(&b, 3, b.session.ticket).result, PROTOCOL_RESULT_NO_HELLO);
  greet(&b);
  assert_int_equal(b.port.disarms, 0); /* a fault stays a fault */
  assert_int_equal(give_reset(&b, 3, b.hello.ticket + 1u).result, PROTOCOL_RESULT_TICKET);
  struct protocol_reply reply = give_reset(&b, 4, b.hello.ticket);
  assert_int_equal(reply.result, PROTOCOL_RESULT_OTHER_FAULT);
  assert_int_equal(reply.fault, 3);
  assert_int_equal(b.port.resets, 0);
  b.port.answer = PROTOCOL_RESULT_SETPOINT_NOT_ZERO;
  reply = give_reset(&b, 3, reply.ticket);
  assert_int_equal(reply.result, PROTOCOL_RESULT_SETPOINT_NOT_ZERO);
  b.port.answer = 0u;
  reply = give_reset(&b, 3, reply.ticket);
  assert_int_equal(reply.result, PROTOCOL_RESULT_OK);
  assert_int_equal(reply.fault, 0);
  assert_int_equal(give_reset(&b, 0, reply.ticket).result, PROTOCOL_RESULT_STATE);
}

static void setpoints_follow_one_another(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  assert_false(give_setpoint(&b, 1, 0)); /* before the handshake */
  greet(&b);
  assert_true(give_setpoint(&b, 65534, 0)); /* any number may be the first */
  assert_true(b.port.setpoint.law[0].F0 > 65533.0f);
  assert_false(give_setpoint(&b, 65534, 0));
  assert_true(give_setpoint(&b, 65535, 0));
  assert_true(give_setpoint(&b, 2, 0)); /* around the corner, two lost */
  assert_false(give_setpoint(&b, 65535, 0));
  assert_false(give_setpoint(&b, 3, 1)); /* newer number on an older sample */
  assert_int_equal(b.session.counters.setpoints, 3);
  assert_int_equal(b.session.counters.lost, 2);
  assert_int_equal(b.session.counters.repeated, 3);
  assert_int_equal(b.port.setpoints, 3);
  assert_int_equal(b.port.setpoint.seq, 2);
  greet(&b);
  assert_true(give_setpoint(&b, 2, 0)); /* a new handshake, a new sequence */
}

static void setpoints_of_old_samples_are_refused(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  assert_false(give_setpoint(&b, 1, 10001));
  assert_true(give_setpoint(&b, 2, 10000));
  assert_true(give_setpoint(&b, 3, 0));
  assert_true(give_setpoint(&b, 4, -1000));
  assert_false(give_setpoint(&b, 5, -1001));
  assert_int_equal(b.session.counters.stale, 2);
  b.port.now_us = 500u; /* the clock has wrapped since the sample */
  assert_true(give_setpoint(&b, 6, 2000));
}

static void a_long_silence_does_not_lock_the_sequence(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  assert_true(give_setpoint(&b, 10, 0));
  b.port.now_us += 40000000u; /* 40 s at 1 kHz are lost: 40010 looks like the past */
  assert_true(give_setpoint(&b, 40010, 0));
  assert_false(give_setpoint(&b, 40009, 0));
}

static void refused_by_safety_is_not_echoed(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  greet(&b);
  assert_true(give_setpoint(&b, 5, 7));
  b.port.answer = 4u; /* not finite, for example */
  assert_false(give_setpoint(&b, 6, 0));
  assert_int_equal(b.session.counters.refused, 1);
  b.port.now_us += 300u;
  const struct protocol_state2 state = state_of(&b);
  assert_int_equal(state.echo_seq, 5);
  assert_int_equal(state.echo_t_us, 5000000 - 7);
  assert_int_equal(state.age_us, 300);
  assert_int_equal(state.refused, 1);
}

static void the_number_of_actuators_must_fit(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 2);
  greet(&b);
  assert_true(give_setpoint(&b, 1, 0));
  assert_true(b.port.setpoint.law[1].K > 1.0f);
  b.config.actuators = 1u;
  uint8_t body[PROTOCOL_FRAME_MAX] = {0};
  give(&b, PROTOCOL_SETPOINT2, 2, b.port.now_us, body);
  assert_int_equal(b.session.counters.refused, 1);
  assert_int_equal(b.port.setpoints, 1);
}

static void state_frames_count_and_carry_the_measurement(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 2);
  struct protocol_state2 state = state_of(&b);
  assert_true(state.age_us == 0xFFFFFFFFu); /* no set-point yet */
  assert_int_equal(protocol_get_u16(b.port.bytes + 2), 0);
  greet(&b);
  assert_true(give_setpoint(&b, 1, 0));
  state = state_of(&b);
  assert_int_equal(protocol_get_u16(b.port.bytes + 2), 1);
  assert_int_equal(protocol_get_u32(b.port.bytes + 4), 42);
  assert_int_equal(state.counts[0], -5);
  assert_int_equal(state.fault, 3);
  assert_int_equal(state.fresh, 7);
  assert_int_equal(state.limited, PROTOCOL_LIMITED_CLAMP);
  assert_true(state.measured[1].force > 1.9f);
  assert_int_equal(state.age_us, 0);
  b.port.now_us += 0x80000000u; /* so long ago that the clock would wrap: no age at all */
  assert_true(state_of(&b).age_us == 0xFFFFFFFFu);
  b.port.now_us += 0x80000000u;
  assert_true(state_of(&b).age_us == 0xFFFFFFFFu);
  b.port.link_full = true;
  const struct session_measurement nothing = {0};
  assert_false(session_send_state(&b.session, &nothing));
  assert_int_equal(b.session.counters.unsent, 1);
  assert_int_equal(b.session.state_seq, 5); /* the host sees the gap */
}

static void sync_has_four_times(void **unused) {
  (void)unused;
  struct bench b;
  uint8_t body[4];
  struct protocol_sync sync;
  start(&b, 1);
  protocol_put_u32(body, 123456u);
  give(&b, PROTOCOL_SYNC_REQUEST, 21, 0, body);
  protocol_get_sync(body_of(&b, PROTOCOL_SYNC), &sync);
  assert_int_equal(sync.t1_us, 123456);
  assert_int_equal(sync.t2_us, 5000000);
  assert_int_equal(protocol_get_u32(b.port.bytes + 4), 5000000); /* t3 */
  assert_int_equal(protocol_get_u16(b.port.bytes + 2), 21);
}

static void counters_and_faults_are_told(void **unused) {
  (void)unused;
  struct bench b;
  struct protocol_counters counters;
  struct protocol_fault fault;
  start(&b, 1);
  assert_false(session_send_fault(&b.session)); /* none */
  give(&b, PROTOCOL_COUNTERS_REQUEST, 1, 0, NULL);
  protocol_get_counters(body_of(&b, PROTOCOL_COUNTERS), &counters);
  assert_int_equal(counters.frames, 1);
  assert_int_equal(counters.watchdog_trips, 7);
  b.port.fault = 6u;
  give(&b, PROTOCOL_COUNTERS_REQUEST, 1, 0, NULL);
  protocol_get_fault(body_of(&b, PROTOCOL_FAULT), &fault);
  assert_int_equal(fault.fault, 6);
  assert_int_equal(fault.channel, 255);
  assert_int_equal(protocol_get_u32(b.port.bytes + 4), 1234);
}

static void bad_datagrams_are_counted_by_kind(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  uint8_t frame[PROTOCOL_FRAME_MAX + 1u] = {0};
  const struct protocol_header estop = {.type = PROTOCOL_ESTOP}, echo = {.type = PROTOCOL_REPLY};
  const size_t size = framing_seal(frame, &estop);
  session_receive(&b.session, frame, 0, 0);
  session_receive(&b.session, frame, size + 1u, 0);
  session_receive(&b.session, frame, sizeof frame, 0);
  frame[size - 1u] ^= 1u;
  session_receive(&b.session, frame, size, 0);
  session_receive(&b.session, frame, framing_seal(frame, &echo), 0);
  assert_int_equal(b.session.counters.bad_length, 2);
  assert_int_equal(b.session.counters.bad_cobs, 1);
  assert_int_equal(b.session.counters.bad_crc, 1);
  assert_int_equal(b.session.counters.bad_type, 1);
  assert_int_equal(b.session.counters.frames, 0);
  assert_int_equal(b.port.estops, 0);
  assert_int_equal(b.port.sent, 0);
}

static void a_stream_works_as_datagrams_do(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  b.config.datagrams = false;
  session_init(&b.session, &b.config, &b.interface);
  uint8_t frame[PROTOCOL_FRAME_MAX], coded[PROTOCOL_ENCODED_MAX + 1u];
  const struct protocol_header header = {.type = PROTOCOL_HELLO_REQUEST};
  protocol_put_u16(frame + PROTOCOL_HEADER_SIZE, PROTOCOL_VERSION);
  const size_t length = framing_encode(coded, sizeof coded, frame, framing_seal(frame, &header));
  session_receive(&b.session, (const uint8_t *)"\xFFgarbage", 9, 1); /* with its zero */
  session_receive(&b.session, coded, length - 3u, 2);
  assert_int_equal(b.port.sent, 0);
  session_receive(&b.session, coded + length - 3u, 3u, 3);
  assert_int_equal(b.port.sent, 1);
  assert_int_equal(b.session.counters.bad_cobs, 1);
  struct framing_stream stream = {.to_device = false};
  for (size_t i = 0; i + 1u < b.port.size; i++) assert_int_equal(framing_push(&stream, b.port.bytes[i]), FRAMING_NOTHING);
  assert_int_equal(framing_push(&stream, b.port.bytes[b.port.size - 1u]), FRAMING_GOOD);
  assert_int_equal(stream.frame[0], PROTOCOL_HELLO);
}

static void tickets_differ(void **unused) {
  (void)unused;
  struct bench b;
  start(&b, 1);
  uint32_t seen[200];
  for (size_t i = 0; i < 200u; i++) {
    give(&b, PROTOCOL_DISARM, 0, 0, NULL);
    seen[i] = reply_of(&b).ticket;
    for (size_t j = 0; j < i; j++) assert_int_not_equal(seen[i], seen[j]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(hello_says_who_it_is),
    cmocka_unit_test(schema_depends_on_every_descriptor),
    cmocka_unit_test(arm_must_echo_everything),
    cmocka_unit_test(a_ticket_works_once),
    cmocka_unit_test(what_makes_safer_needs_nothing_and_voids_an_overtaken_arm),
    cmocka_unit_test(a_handshake_takes_power_away),
    cmocka_unit_test(another_version_is_answered_but_may_do_nothing),
    cmocka_unit_test(reset_names_the_latched_fault),
    cmocka_unit_test(setpoints_follow_one_another),
    cmocka_unit_test(setpoints_of_old_samples_are_refused),
    cmocka_unit_test(a_long_silence_does_not_lock_the_sequence),
    cmocka_unit_test(refused_by_safety_is_not_echoed),
    cmocka_unit_test(the_number_of_actuators_must_fit),
    cmocka_unit_test(state_frames_count_and_carry_the_measurement),
    cmocka_unit_test(sync_has_four_times),
    cmocka_unit_test(counters_and_faults_are_told),
    cmocka_unit_test(bad_datagrams_are_counted_by_kind),
    cmocka_unit_test(a_stream_works_as_datagrams_do),
    cmocka_unit_test(tickets_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
