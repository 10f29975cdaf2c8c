/* The whole core with the piano key on a board made of variables: every fault, and what the fast loop does about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "fake_hal.h"
#include "framing.h"

#define HALL_A 3.7f
#define HALL_B 437.0f
#define COUNTS_PER_V (65520.0f / 3.3f)

static float height; /* of the key front, m */
static float coil;   /* velocity of the key front, m/s */
static float current_A;
static int32_t jitter;

static void read_sensors(void) {
  jitter = 1 - jitter; /* a living Hall sensor never repeats itself */
  fake.sample.raw[0] = (int32_t)(sqrtf(HALL_A + HALL_B * (height - 0.005f)) * COUNTS_PER_V) + jitter;
  fake.sample.raw[1] = (int32_t)(sqrtf(fmaxf(HALL_A - HALL_B * (height - 0.005f), 0.1f)) * COUNTS_PER_V) + jitter;
  fake.sample.raw[2] = (int32_t)((1.65f + 0.5f * coil) * COUNTS_PER_V);
  fake.sample.current_raw[0] = (int32_t)(32760.0f + current_A * 65520.0f / 10.0f);
}

static void tick(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    fake.now_us += FW_FAST_US;
    read_sensors();
    if (fw_fast_isr())
      fw_main_isr();
  }
}

static void keep(float force, unsigned ms) {
  const struct setpoint s = {force, 0.0f, 0.0f, 0.0f};
  for (unsigned i = 0; i < ms; i++) {
    (void)safety_setpoint(fw_safety(), &s, 1, fake.now_us);
    tick(10);
  }
}

static void boot(void) {
  fake_reset();
  height = 0.004f;
  coil = 0.0f;
  current_A = 0.0f;
  fake.sample.fresh = 7u;
  fake.sample.supply_raw = (int32_t)(24.0f / 66.0f * 65520.0f);
  fake.calibration =
      (struct calibration){CALIBRATION_MAGIC, {1.0f / (2.0f * HALL_B), 0.0f, 2.0f}, {0.005f, 0.0f, 1.65f}};
  fw_init(&app);
  tick(1100);
}

static void armed(void) {
  boot();
  keep(0.0f, 1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0);
  keep(0.0f, 600);
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_ACTIVE);
  assert_int_equal(fake.gate[0], HAL_GATE_DRIVE);
}

static void expect(enum fault fault) {
  assert_int_equal(fw_safety()->latched.fault, fault);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
  assert_true(fake.duty[0] <= 0.0f && fake.duty[0] >= 0.0f);
  tick(20);
  assert_int_equal(fake.fault, fault); /* shown on the board */
}

static void it_starts_sensing_with_outputs_off(void **unused) {
  (void)unused;
  struct fw_snapshot snapshot;
  boot();
  fw_read(&snapshot);
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_IDLE);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
  assert_true(fabsf(snapshot.position[0] - 0.002f) < 1e-5f);
  assert_int_equal(snapshot.fresh, 7);
  assert_true(fake.sent > 100); /* state frames, and so the link, work from the start */
  assert_string_equal(fw_app()->name, "piano_key");
  assert_int_equal(fw_counters()->dropouts, 0);
}

static void it_refuses_to_arm_uncalibrated(void **unused) {
  (void)unused;
  boot();
  fake.stored = false;
  fw_init(&app);
  tick(1100);
  keep(0.0f, 1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), PROTOCOL_RESULT_UNCALIBRATED);
  fake.stored = true;
  fake.calibration.gain[0] = 1.0f;
  fw_init(&app);
  tick(1100);
  keep(0.0f, 1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), PROTOCOL_RESULT_UNCALIBRATED);
}

static void it_refuses_to_arm_when_implausible(void **unused) {
  (void)unused;
  boot();
  height = -0.0025f; /* a magnet fell off: outside of any travel */
  keep(0.0f, 2);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), PROTOCOL_RESULT_IMPLAUSIBLE);
  height = 0.004f;
  keep(0.0f, 30);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0); /* it was carried there, not driven: all is well again */
}

static void current_follows_the_force_asked_for(void **unused) {
  (void)unused;
  struct fw_view view;
  armed();
  current_A = 0.2f;
  keep(3.0f, 15);
  fw_view(0, &view);
  assert_true(fabsf(view.force - 3.0f) < 1e-4f);
  assert_true(fabsf(view.current_A - 0.2f) < 2e-3f);
  current_A = 0.0f;
  keep(30.0f, 5);
  assert_true(fake.duty[0] > 0.2f);
  fw_view(0, &view);
  assert_true(view.limited == 0 || view.limited == PROTOCOL_LIMITED_SLEW);
}

static void set_points_that_cease_stop_it(void **unused) {
  (void)unused;
  armed();
  tick(105);
  assert_int_equal(fake.gate[0], HAL_GATE_BRAKE);
  assert_true(fake.duty[0] <= 0.0f && fake.duty[0] >= 0.0f);
  tick(500);
  expect(FAULT_SETPOINT_TIMEOUT);
}

static void a_lost_sensor_stops_it(void **unused) {
  (void)unused;
  armed();
  fake.sample.fresh = 5u; /* the rear Hall sensor is silent */
  keep(0.0f, 19);
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_ACTIVE);
  keep(0.0f, 3);
  expect(FAULT_SENSOR_LOST);
  assert_int_equal(fw_safety()->latched.channel, 1);
}

static void a_sensor_out_of_range_stops_it(void **unused) {
  (void)unused;
  armed();
  for (int i = 0; i < 250 && fw_safety()->state == PROTOCOL_STATE_ACTIVE; i++) {
    const struct setpoint zero = {0.0f, 0.0f, 0.0f, 0.0f};
    fake.now_us += FW_FAST_US;
    read_sensors();
    fake.sample.raw[0] = 65520; /* broken wire */
    (void)safety_setpoint(fw_safety(), &zero, 1, fake.now_us);
    if (fw_fast_isr())
      fw_main_isr();
  }
  assert_true(fw_safety()->latched.fault == FAULT_SENSOR_IMPLAUSIBLE
              || fw_safety()->latched.fault == FAULT_SENSOR_LOST);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
}

static void a_short_glitch_is_ignored_and_a_jump_stops_it(void **unused) {
  (void)unused;
  armed();
  height = 0.008f;
  keep(0.0f, 2);
  height = 0.004f;
  keep(0.0f, 5);
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_ACTIVE);
  height = 0.008f;
  keep(0.0f, 6);
  expect(FAULT_SENSOR_IMPLAUSIBLE);
}

static void coil_against_hall_stops_it(void **unused) {
  (void)unused;
  armed();
  coil = 1.2f;
  keep(0.0f, 300);
  expect(FAULT_SENSOR_IMPLAUSIBLE);
  assert_true(fw_counters()->spikes > 0);
}

static void leaving_the_travel_stops_it(void **unused) {
  (void)unused;
  boot();
  height = 0.0095f;
  tick(500);
  keep(0.0f, 1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0);
  keep(0.0f, 600);
  for (int i = 0; i < 40; i++) { /* further at 0.1 m/s */
    height += 0.0001f;
    coil = 0.1f;
    keep(0.0f, 1);
  }
  expect(FAULT_TRAVEL);
}

static void too_fast_stops_it(void **unused) {
  (void)unused;
  const struct setpoint zero = {0.0f, 0.0f, 0.0f, 0.0f};
  boot();
  height = -0.001f;
  tick(500);
  keep(0.0f, 1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0);
  keep(0.0f, 600);
  for (int i = 0; i < 40 && fw_safety()->state == PROTOCOL_STATE_ACTIVE; i++) { /* thrown: 3.2 m/s at the front */
    coil = fminf(coil + 0.2f, 3.2f);
    height += coil * 1.0e-4f;
    (void)safety_setpoint(fw_safety(), &zero, 1, fake.now_us);
    tick(1);
  }
  expect(FAULT_OVERSPEED);
}

static void too_much_current_stops_it(void **unused) {
  (void)unused;
  armed();
  current_A = 4.8f; /* peak 3.5 A */
  keep(0.0f, 2);
  expect(FAULT_OVERCURRENT);
}

static void current_that_does_not_come_stops_it(void **unused) {
  (void)unused;
  armed();
  keep(20.0f, 30); /* wire cut: it stays 0 */
  expect(FAULT_CURRENT_TRACKING);
}

static void bad_supply_stops_it_and_prevents_arming(void **unused) {
  (void)unused;
  armed();
  fake.sample.supply_raw /= 2;
  keep(0.0f, 2);
  expect(FAULT_SUPPLY);
  keep(0.0f, 1);
  assert_int_equal(safety_reset(fw_safety(), fake.now_us), 0);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), PROTOCOL_RESULT_SUPPLY);
  fake.sample.supply_raw *= 4;
  keep(0.0f, 2);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), PROTOCOL_RESULT_SUPPLY);
  assert_int_equal(fake.fault, 0); /* the lamp went out with the reset */
}

static void a_driver_fault_stops_it(void **unused) {
  (void)unused;
  armed();
  fake.sample.driver_fault = true;
  keep(0.0f, 1);
  expect(FAULT_DRIVER);
}

static void estop_input_stops_it(void **unused) {
  (void)unused;
  armed();
  fake.sample.estop = true;
  tick(1);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
  expect(FAULT_ESTOP_INPUT);
}

static void a_fast_loop_that_stood_still_stops_it(void **unused) {
  (void)unused;
  armed();
  fake.now_us += 10000u;
  tick(1);
  expect(FAULT_FAST_LOOP_LATE);
  assert_true(fw_counters()->fast_late > 0);
}

static void a_number_that_is_none_stops_it(void **unused) {
  (void)unused;
  const struct setpoint huge = {3.0e38f, 0.0f, 0.0f, 100.0f};
  armed();
  /* Finite on the wire, but F0 - B qd overflows. */
  struct setpoint *inside = &fw_safety()->setpoint[0];
  (void)safety_setpoint(fw_safety(), &huge, 1, fake.now_us);
  inside->position = 3.0e38f;
  inside->stiffness = 1.0e5f;
  tick(1);
  expect(FAULT_INTERNAL);
}

static void thermal_state_outlives_estop_reset_and_arming(void **unused) {
  (void)unused;
  struct fw_view before, after;
  armed();
  current_A = 3.0f;
  keep(45.0f, 400);
  fw_view(0, &before);
  assert_true(before.heat > 0.6f);
  safety_estop(fw_safety(), fake.now_us);
  current_A = 0.0f;
  tick(1);
  fw_view(0, &after);
  assert_true(after.heat > before.heat - 1e-3f);
  keep(0.0f, 1);
  assert_int_equal(safety_reset(fw_safety(), fake.now_us), 0);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0);
  tick(1);
  fw_view(0, &after);
  assert_true(after.heat > before.heat - 0.01f);
}

static void a_main_loop_that_does_not_come_is_counted(void **unused) {
  (void)unused;
  boot();
  for (int i = 0; i < 100; i++) {
    fake.now_us += FW_FAST_US;
    read_sensors();
    (void)fw_fast_isr();
  }
  assert_true(fw_counters()->main_overruns >= 8);
  fake.took_us = 3;
  tick(1);
  assert_int_equal(fw_counters()->fast_us_max, 3);
}

/* ---- the link ---- */

static void give(uint8_t type, const uint8_t *body) {
  const struct protocol_header header = {.type = type, .t_us = fake.now_us, .seq = (uint16_t)(fake.now_us / 1000u)};
  const struct protocol_shape shape = protocol_shape_of(type);
  if (body != NULL)
    memcpy(fake.inbox + PROTOCOL_HEADER_SIZE, body, (size_t)shape.length - shape.crc - PROTOCOL_HEADER_SIZE);
  fake.inbox_size = framing_seal(fake.inbox, &header);
  tick(10);
}

static void frames_reach_the_safety_block(void **unused) {
  (void)unused;
  uint8_t body[64] = {0};
  boot();
  fake.datagrams = true;
  fw_init(&app);
  tick(1100);
  protocol_put_u16(body, PROTOCOL_VERSION);
  give(PROTOCOL_HELLO_REQUEST, body);
  memset(body, 0, sizeof body);
  give(PROTOCOL_SETPOINT1, body);
  assert_int_equal(fw_safety()->setpoint_us, fake.now_us);
  assert_true(fw_safety()->setpoint_seen);
  give(PROTOCOL_ARM, body); /* no echo of the schema: refused by the session */
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_IDLE);
  give(PROTOCOL_COUNTERS_REQUEST, NULL);
  give(PROTOCOL_DISARM, NULL);
  give(PROTOCOL_ESTOP, NULL);
  assert_int_equal(fw_safety()->latched.fault, FAULT_ESTOP_COMMAND);
  give(PROTOCOL_COUNTERS_REQUEST, NULL);
  tick(10000); /* a second: the counters go out by themselves */
  assert_true(fake.sent > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_starts_sensing_with_outputs_off),
      cmocka_unit_test(it_refuses_to_arm_uncalibrated),
      cmocka_unit_test(it_refuses_to_arm_when_implausible),
      cmocka_unit_test(current_follows_the_force_asked_for),
      cmocka_unit_test(set_points_that_cease_stop_it),
      cmocka_unit_test(a_lost_sensor_stops_it),
      cmocka_unit_test(a_sensor_out_of_range_stops_it),
      cmocka_unit_test(a_short_glitch_is_ignored_and_a_jump_stops_it),
      cmocka_unit_test(coil_against_hall_stops_it),
      cmocka_unit_test(leaving_the_travel_stops_it),
      cmocka_unit_test(too_fast_stops_it),
      cmocka_unit_test(too_much_current_stops_it),
      cmocka_unit_test(current_that_does_not_come_stops_it),
      cmocka_unit_test(bad_supply_stops_it_and_prevents_arming),
      cmocka_unit_test(a_driver_fault_stops_it),
      cmocka_unit_test(estop_input_stops_it),
      cmocka_unit_test(a_fast_loop_that_stood_still_stops_it),
      cmocka_unit_test(a_number_that_is_none_stops_it),
      cmocka_unit_test(thermal_state_outlives_estop_reset_and_arming),
      cmocka_unit_test(a_main_loop_that_does_not_come_is_counted),
      cmocka_unit_test(frames_reach_the_safety_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
