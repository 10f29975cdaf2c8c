/* The core with the lid hinge: two actuators, current loops at 2 kHz, its own main loop at 400 Hz. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "../apps/lid_hinge.h"
#include "fake_hal.h"

static float model_force;
static unsigned model_calls;
static float stroke[2];

/* Replaces the weak one, as generated code does. */
float lid_hinge_model(float r1_m, float v1_m_s, unsigned actuator) {
  (void)v1_m_s;
  model_calls++;
  stroke[actuator] = r1_m;
  return model_force;
}

static void tick(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    fake.now_us += FW_FAST_US;
    if (fw_fast_isr())
      fw_main_isr();
  }
}

static void keep(unsigned ms) {
  static const struct setpoint zero[2];
  for (unsigned i = 0; i < ms; i++) {
    (void)safety_setpoint(fw_safety(), zero, 2, fake.now_us);
    tick(10);
  }
}

static void armed(void) {
  fake_reset();
  model_force = 0.0f;
  fake.sample.fresh = 3u;
  fake.sample.raw[0] = fake.sample.raw[1] = 10240;
  fake.sample.current_raw[0] = fake.sample.current_raw[1] = 32700;
  fake.sample.supply_raw = (int32_t)(12.0f / 66.0f * 65520.0f);
  fake.calibration = (struct calibration){CALIBRATION_MAGIC, {9.765625e-7f, 9.765625e-7f}, {0.0f, 0.0f}};
  fw_init(&app);
  tick(1100);
  keep(1);
  assert_int_equal(safety_arm(fw_safety(), fake.now_us), 0);
  keep(600);
  assert_int_equal(fw_safety()->state, PROTOCOL_STATE_ACTIVE);
}

static void main_loop_runs_at_400_Hz_on_measured_strokes(void **unused) {
  (void)unused;
  armed();
  model_calls = 0;
  keep(1000);
  assert_int_equal(model_calls, 2 * 400);
  assert_true(fabsf(stroke[0] - 0.01f) < 1e-6f && fabsf(stroke[1] - 0.01f) < 1e-6f);
}

static void current_loops_run_at_2_kHz_in_turn(void **unused) {
  (void)unused;
  armed();
  model_force = 20.0f;
  unsigned changes[2] = {0, 0}, together = 0;
  for (int i = 0; i < 100; i++) {
    const float before[2] = {fake.duty[0], fake.duty[1]};
    static const struct setpoint zero[2];
    (void)safety_setpoint(fw_safety(), zero, 2, fake.now_us);
    tick(1);
    const int moved[2] = {fabsf(fake.duty[0] - before[0]) > 0.0f, fabsf(fake.duty[1] - before[1]) > 0.0f};
    changes[0] += (unsigned)moved[0];
    changes[1] += (unsigned)moved[1];
    together += moved[0] && moved[1];
  }
  assert_in_range(changes[0], 15, 20);
  assert_in_range(changes[1], 15, 20);
  assert_int_equal(together, 0);
}

static void forces_of_the_model_pass_the_limits(void **unused) {
  (void)unused;
  struct fw_view view;
  armed();
  model_force = 1.0e6f;
  keep(15);
  fw_view(1, &view);
  assert_true(view.force <= 100.0f && view.force > 20.0f);
  assert_true(view.limited & PROTOCOL_LIMITED_THERMAL || view.limited & PROTOCOL_LIMITED_CLAMP);
}

static void a_model_that_yields_nonsense_stops_it(void **unused) {
  (void)unused;
  armed();
  model_force = NAN;
  keep(4);
  assert_int_equal(fw_safety()->latched.fault, FAULT_INTERNAL);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
  assert_int_equal(fake.gate[1], HAL_GATE_OFF);
}

static void a_crooked_lid_stops_it(void **unused) {
  (void)unused;
  armed();
  for (int i = 0; i < 40; i++) {
    fake.sample.raw[0] += 50;
    keep(1);
  }
  assert_int_equal(fw_safety()->latched.fault, FAULT_SKEW);
  assert_int_equal(fake.gate[0], HAL_GATE_OFF);
  assert_int_equal(fake.gate[1], HAL_GATE_OFF);
}

static void a_set_point_for_one_is_refused(void **unused) {
  (void)unused;
  static const struct setpoint zero;
  armed();
  assert_int_equal(safety_setpoint(fw_safety(), &zero, 1, fake.now_us), PROTOCOL_RESULT_ACTUATORS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(main_loop_runs_at_400_Hz_on_measured_strokes),
      cmocka_unit_test(current_loops_run_at_2_kHz_in_turn),
      cmocka_unit_test(forces_of_the_model_pass_the_limits),
      cmocka_unit_test(a_model_that_yields_nonsense_stops_it),
      cmocka_unit_test(a_crooked_lid_stops_it),
      cmocka_unit_test(a_set_point_for_one_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
