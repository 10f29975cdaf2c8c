/* Safety: when the actuators may be driven, and that nothing but reset at a zero set-point ends a fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "fake_hal.h"

static const struct safety_config base = {.ramp_us = 1000,
                                          .brake_us = 5000,
                                          .sensor_stale_us = 3000,
                                          .sensor_decayed_us = 10000,
                                          .sensor_lost_us = 20000,
                                          .actuators = 1,
                                          .law = {{1000.0f, 10.0f, 0.0f}, {1000.0f, 10.0f, 0.0f}}};
static const struct setpoint zero = {0.0f, 0.0f, 0.0f, 0.0f};
static const struct setpoint push = {5.0f, 0.0f, 0.0f, 0.0f};

static struct safety safety;
static struct safety_input input;
static struct safety_output output;

static void start(uint32_t now_us) {
  fake_reset();
  safety_init(&safety, &base);
  assert_int_equal(safety.state, PROTOCOL_STATE_BOOT);
  safety_start(&safety, true);
  input = (struct safety_input){.now_us = now_us};
}

static void step(void) {
  input.now_us += FW_FAST_US;
  output = safety_step(&safety, &input);
}

static void arm(uint32_t now_us) {
  start(now_us);
  assert_int_equal(safety_setpoint(&safety, &zero, 1, input.now_us), 0);
  assert_int_equal(safety_arm(&safety, input.now_us), 0);
  assert_int_equal(safety.state, PROTOCOL_STATE_RAMP);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(safety_setpoint(&safety, &push, 1, input.now_us), 0);
    step();
    assert_int_equal(output.gate, HAL_GATE_DRIVE);
    assert_true(fabs((double)output.gain - (i + 1) * 0.1) < 1e-6);
  }
  assert_int_equal(safety.state, PROTOCOL_STATE_ACTIVE);
  assert_int_equal(safety_setpoint(&safety, &push, 1, input.now_us), 0);
}

static void expect_latched(enum fault fault) {
  assert_int_equal(safety.state, PROTOCOL_STATE_FAULT);
  assert_int_equal(safety.latched.fault, fault);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(safety_setpoint(&safety, &push, 1, input.now_us), 0);
    assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_STATE);
    step();
    assert_int_equal(output.gate, HAL_GATE_OFF);
    assert_true(output.gain <= 0.0f && output.gain >= 0.0f);
  }
  assert_int_equal(safety_reset(&safety, input.now_us), PROTOCOL_RESULT_SETPOINT_NOT_ZERO);
  assert_int_equal(safety_setpoint(&safety, &zero, 1, input.now_us), 0);
  assert_int_equal(safety_reset(&safety, input.now_us), 0);
  assert_int_equal(safety.state, PROTOCOL_STATE_IDLE);
  assert_int_equal(safety.latched.fault, FAULT_NONE);
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF); /* reset alone drives nothing */
  assert_int_equal(fake.masked, 0);
}

static void set_points_that_cease_end_drive_after_10_ms_and_brake_5_ms(void **unused) {
  (void)unused;
  arm(0);
  for (int i = 1; i < 100; i++) {
    step();
    assert_int_equal(output.gate, HAL_GATE_DRIVE);
  }
  step(); /* the 100th: 10.0 ms */
  assert_int_equal(output.gate, HAL_GATE_BRAKE);
  assert_true(output.gain <= 0.0f);
  assert_int_equal(safety.watchdog_trips, 1);
  assert_int_equal(safety_setpoint(&safety, &zero, 1, input.now_us), 0);
  assert_int_equal(safety_reset(&safety, input.now_us), PROTOCOL_RESULT_STATE); /* not while it brakes */
  for (int i = 1; i < 50; i++) {
    step();
    assert_int_equal(output.gate, HAL_GATE_BRAKE);
  }
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  expect_latched(FAULT_SETPOINT_TIMEOUT);
}

static void the_watchdog_can_only_be_lengthened_and_not_for_ever(void **unused) {
  (void)unused;
  struct safety_config config = base;
  const uint32_t asked[] = {0, 9999, 10000, 200000, 0xFFFFFFFFu};
  const uint32_t given[] = {10000, 10000, 10000, 200000, SAFETY_WATCHDOG_MAX_US};
  for (int i = 0; i < 5; i++) {
    config.watchdog_us = asked[i];
    safety_init(&safety, &config);
    assert_int_equal(safety.config.watchdog_us, given[i]);
  }
}

static void arming_needs_calibration_plausibility_supply_and_a_fresh_zero(void **unused) {
  (void)unused;
  start(0);
  assert_int_equal(safety_arm(&safety, 0), PROTOCOL_RESULT_SETPOINT_NOT_ZERO); /* nothing shown yet */
  (void)safety_setpoint(&safety, &push, 1, 0);
  assert_int_equal(safety_arm(&safety, 0), PROTOCOL_RESULT_SETPOINT_NOT_ZERO);
  (void)safety_setpoint(&safety, &zero, 1, 0);
  assert_int_equal(safety_arm(&safety, 10000), PROTOCOL_RESULT_SETPOINT_NOT_ZERO); /* too old */
  input.found.fault = FAULT_SENSOR_IMPLAUSIBLE;
  step();
  (void)safety_setpoint(&safety, &zero, 1, input.now_us);
  assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_IMPLAUSIBLE);
  assert_int_equal(safety.state, PROTOCOL_STATE_IDLE); /* found while nothing is driven: no fault */
  input.found.fault = FAULT_SUPPLY;
  step();
  assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_SUPPLY);
  input.found.fault = FAULT_NONE;
  input.sensor_age_us = 30000;
  step();
  assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_IMPLAUSIBLE);
  input.sensor_age_us = 0;
  step();
  safety.calibrated = false;
  assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_UNCALIBRATED);
  safety.calibrated = true;
  assert_int_equal(safety_arm(&safety, input.now_us), 0);
  assert_int_equal(safety_arm(&safety, input.now_us), PROTOCOL_RESULT_STATE); /* armed already */
  assert_int_equal(safety_reset(&safety, input.now_us), PROTOCOL_RESULT_STATE);
}

static void estop_acts_at_once_in_every_state(void **unused) {
  (void)unused;
  arm(0);
  safety_estop(&safety, input.now_us);
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  expect_latched(FAULT_ESTOP_COMMAND);
  safety_estop(&safety, input.now_us); /* idle */
  step();
  expect_latched(FAULT_ESTOP_COMMAND);
  arm(0);
  for (int i = 0; i < 101; i++)
    step();
  assert_int_equal(output.gate, HAL_GATE_BRAKE);
  safety_estop(&safety, input.now_us); /* while it brakes: open; the first fault stays named */
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  expect_latched(FAULT_SETPOINT_TIMEOUT);
}

static void estop_input_holds_as_long_as_it_is_pressed(void **unused) {
  (void)unused;
  arm(0);
  input.estop = true;
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  (void)safety_setpoint(&safety, &zero, 1, input.now_us);
  assert_int_equal(safety_reset(&safety, input.now_us), PROTOCOL_RESULT_ESTOP_ACTIVE);
  input.estop = false;
  step();
  expect_latched(FAULT_ESTOP_INPUT);
}

static void findings_stop_an_armed_device_and_the_first_is_kept(void **unused) {
  (void)unused;
  arm(0);
  input.found = (struct finding){FAULT_OVERSPEED, 0, 9.0f, 3.0f};
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  assert_int_equal(safety.before, PROTOCOL_STATE_ACTIVE);
  input.found = (struct finding){FAULT_TRAVEL, 0, 0.0f, 0.0f};
  step();
  assert_true(safety.latched.value > 8.9f);
  input.found.fault = FAULT_NONE;
  expect_latched(FAULT_OVERSPEED);
}

static void a_stale_sensor_takes_the_force_away_within_10_ms_and_latches_at_20(void **unused) {
  (void)unused;
  const struct setpoint *law = &push;
  arm(0);
  for (uint32_t age = 0; age <= 20000; age += 100) {
    (void)safety_setpoint(&safety, law, 1, input.now_us);
    input.sensor_age_us = age;
    step();
    assert_int_equal(output.gate, HAL_GATE_DRIVE);
    if (age <= 3000)
      assert_true(output.gain >= 1.0f);
    if (age == 6500)
      assert_true(output.gain > 0.49f && output.gain < 0.51f);
    if (age >= 10000)
      assert_true(output.gain <= 0.0f);
  }
  input.sensor_age_us = 20100;
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  input.sensor_age_us = 0;
  expect_latched(FAULT_SENSOR_LOST);
}

static void a_set_point_that_is_not_finite_stops_the_device(void **unused) {
  (void)unused;
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    struct setpoint s = push;
    arm(0);
    s.stiffness = bad[i];
    assert_int_equal(safety_setpoint(&safety, &s, 1, input.now_us), FAULT_SETPOINT_NOT_FINITE);
    step();
    assert_int_equal(output.gate, HAL_GATE_OFF);
    expect_latched(FAULT_SETPOINT_NOT_FINITE);
  }
}

static void set_points_are_cut_and_counted(void **unused) {
  (void)unused;
  const struct setpoint two[2] = {{1.0f, 0.0f, 1e9f, 1e9f}, {0.0f, 0.0f, 0.0f, 0.0f}};
  start(0);
  assert_int_equal(safety_setpoint(&safety, two, 2, 0), PROTOCOL_RESULT_ACTUATORS);
  assert_int_equal(safety_setpoint(&safety, two, 1, 0), 0);
  assert_true(safety.setpoint[0].stiffness <= 1000.0f && safety.setpoint[0].damping <= 10.0f);
}

static void disarming_is_no_fault_and_forgets_the_set_point(void **unused) {
  (void)unused;
  arm(0);
  safety_disarm(&safety);
  step();
  assert_int_equal(output.gate, HAL_GATE_OFF);
  assert_int_equal(safety.state, PROTOCOL_STATE_IDLE);
  assert_true(setpoint_is_zero(&safety.setpoint[0]));
  safety_disarm(&safety);
  assert_int_equal(safety.faults, 0);
}

static void full_force_lasts_when_the_clock_wraps(void **unused) {
  (void)unused;
  arm(0xFFFFF000u - 2000u);
  for (int i = 0; i < 100; i++) {
    (void)safety_setpoint(&safety, &push, 1, input.now_us);
    step();
    assert_int_equal(output.gate, HAL_GATE_DRIVE);
    assert_true(output.gain >= 1.0f);
  }
  input.now_us += 0x90000000u; /* 40 minutes at once, with a set-point: still no new ramp */
  (void)safety_setpoint(&safety, &push, 1, input.now_us);
  step();
  assert_true(output.gain >= 1.0f);
}

static void a_clock_a_little_behind_is_not_a_time_out(void **unused) {
  (void)unused;
  arm(0);
  (void)safety_setpoint(&safety, &push, 1, input.now_us + 250u);
  step();
  assert_int_equal(output.gate, HAL_GATE_DRIVE);
}

static void a_trip_from_elsewhere_latches(void **unused) {
  (void)unused;
  const struct finding broken = {FAULT_INTERNAL, 0, 0.0f, 0.0f};
  arm(0);
  safety_trip(&safety, &broken, input.now_us);
  step();
  expect_latched(FAULT_INTERNAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(set_points_that_cease_end_drive_after_10_ms_and_brake_5_ms),
      cmocka_unit_test(the_watchdog_can_only_be_lengthened_and_not_for_ever),
      cmocka_unit_test(arming_needs_calibration_plausibility_supply_and_a_fresh_zero),
      cmocka_unit_test(estop_acts_at_once_in_every_state),
      cmocka_unit_test(estop_input_holds_as_long_as_it_is_pressed),
      cmocka_unit_test(findings_stop_an_armed_device_and_the_first_is_kept),
      cmocka_unit_test(a_stale_sensor_takes_the_force_away_within_10_ms_and_latches_at_20),
      cmocka_unit_test(a_set_point_that_is_not_finite_stops_the_device),
      cmocka_unit_test(set_points_are_cut_and_counted),
      cmocka_unit_test(disarming_is_no_fault_and_forgets_the_set_point),
      cmocka_unit_test(full_force_lasts_when_the_clock_wraps),
      cmocka_unit_test(a_clock_a_little_behind_is_not_a_time_out),
      cmocka_unit_test(a_trip_from_elsewhere_latches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
