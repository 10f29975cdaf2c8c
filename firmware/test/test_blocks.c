/* The blocks of the core, each by itself: law, limits, heat, current, acquisition, velocity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "acquisition.h"
#include "current_pi.h"
#include "fwmath.h"
#include "limits.h"
#include "local_law.h"
#include "velocity.h"

#define DT 1.0e-4f
#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (double)(tolerance))

/* ---- mathematics ---- */

static void finite_is_told_by_bits(void **unused) {
  (void)unused;
  assert_true(fw_is_finite(0.0f) && fw_is_finite(-3.4e38f) && fw_is_finite(1e-45f));
  assert_false(fw_is_finite(NAN) || fw_is_finite(INFINITY) || fw_is_finite(-INFINITY));
}

static void square_root_is_right_over_the_whole_range(void **unused) {
  (void)unused;
  for (int e = -37; e < 38; e++) {
    const float x = (float)(1.7 * pow(10.0, e));
    assert_near(fw_sqrt(x) / sqrtf(x), 1.0f, 3e-7f);
  }
  assert_near(fw_sqrt(-1.0f), 0.0f, 0.0f);
  assert_near(fw_sqrt(0.0f), 0.0f, 0.0f);
  assert_near(fw_sqrt(NAN), 0.0f, 0.0f);
  assert_near(fw_sqrt(INFINITY), 0.0f, 0.0f);
}

static void small_helpers(void **unused) {
  (void)unused;
  assert_near(fw_min(1.0f, 2.0f) + fw_min(2.0f, 1.0f), 2.0f, 0.0f);
  assert_near(fw_max(1.0f, 2.0f) + fw_max(2.0f, 1.0f), 4.0f, 0.0f);
  assert_near(fw_clamp(5.0f, -1.0f, 1.0f) - fw_clamp(-5.0f, -1.0f, 1.0f), 2.0f, 0.0f);
}

/* ---- local law ---- */

static void law_is_spring_and_damper_around_q0(void **unused) {
  (void)unused;
  const struct local_law_config config = {1000.0f, 10.0f, 0.0f};
  const struct setpoint s = {2.0f, 0.5f, 100.0f, 3.0f};
  assert_near(local_law_force(&config, &s, 0.6f, 1.0f), 2.0f - 10.0f - 3.0f, 1e-5f);
  assert_near(local_law_force(&config, &s, 0.5f, 0.0f), 2.0f, 0.0f);
}

static void law_leads_by_the_time_the_force_takes(void **unused) {
  (void)unused;
  const struct local_law_config config = {1000.0f, 10.0f, 0.001f};
  const struct setpoint s = {0.0f, 0.0f, 100.0f, 0.0f};
  assert_near(local_law_force(&config, &s, 0.0f, 2.0f), -0.2f, 1e-6f);
}

static void law_is_cut_to_what_the_device_can_render(void **unused) {
  (void)unused;
  const struct local_law_config config = {1000.0f, 10.0f, 0.0f};
  const struct setpoint wild = {7.0f, 1.0f, 1e9f, -5.0f};
  struct setpoint cut = local_law_limit(&config, &wild);
  assert_near(cut.stiffness, 1000.0f, 0.0f);
  assert_near(cut.damping, 0.0f, 0.0f);
  assert_near(cut.force, 7.0f, 0.0f);
  const struct setpoint negative = {0.0f, 0.0f, -1e9f, 1e9f};
  cut = local_law_limit(&config, &negative);
  assert_near(cut.stiffness, -1000.0f, 0.0f);
  assert_near(cut.damping, 10.0f, 0.0f);
}

static void zero_and_finite_set_points_are_known(void **unused) {
  (void)unused;
  struct setpoint s = {0.0f, 3.0f, 0.0f, -0.0f};
  assert_true(setpoint_is_zero(&s) && setpoint_is_finite(&s));
  for (int i = 0; i < 4; i++) {
    float *numbers[] = {&s.force, &s.position, &s.stiffness, &s.damping};
    *numbers[i] = NAN;
    assert_false(setpoint_is_finite(&s));
    *numbers[i] = 0.0f;
  }
  s.damping = 1e-30f;
  assert_false(setpoint_is_zero(&s));
  s.damping = NAN; /* a NaN is refused before anyone asks whether it is zero */
  s.force = -1.0f;
  assert_false(setpoint_is_zero(&s));
}

/* ---- heat ---- */

static const struct thermal_config winding = {1.0f, 3.0f, 10.0f, 0.5f};

static void heat_allows_the_peak_only_while_cool(void **unused) {
  (void)unused;
  struct thermal thermal;
  thermal_init(&thermal, &winding);
  assert_near(thermal.heat, 0.5f, 0.0f);
  assert_near(thermal_limit_A(&thermal), 3.0f, 0.0f);
  thermal.heat = 1.0f;
  assert_near(thermal_limit_A(&thermal), 1.0 / sqrt(1.1), 1e-6);
  thermal.heat = 0.75f;
  assert_near(thermal_limit_A(&thermal), 0.5 * (3.0 + 1.0 / sqrt(1.1)), 1e-5);
  thermal.heat = 9.0f;
  assert_near(thermal_limit_A(&thermal), 1.0 / sqrt(1.1), 1e-6);
}

static void mean_square_over_any_window_stays_at_the_rating(void **unused) {
  (void)unused;
  struct thermal thermal;
  thermal_init(&thermal, &winding);
  thermal.heat = 0.0f; /* cold: the worst case for the window that follows */
  double squares = 0.0, worst = 0.0;
  static double history[10000];
  memset(history, 0, sizeof history);
  for (int t = 0; t < 40000; t++) { /* 40 s in steps of 1 ms, always all that is allowed, pauses now and then */
    const double i = t % 15000 < 12000 ? (double)thermal_limit_A(&thermal) : 0.0;
    thermal_step(&thermal, (float)i, 1.0e-3f);
    squares += i * i - history[t % 10000];
    history[t % 10000] = i * i;
    worst = fmax(worst, sqrt(squares / 10000.0));
  }
  assert_true(worst <= 1.0);
  assert_true(worst > 0.95); /* and not by being timid */
}

/* ---- limits ---- */

static const struct limits_config bounds = {.force_max = 10.0f,
                                            .slew_max = 1000.0f,
                                            .velocity_soft = 1.0f,
                                            .velocity_max = 2.0f,
                                            .velocity_fault = 3.0f,
                                            .tank_J = 0.0f,
                                            .thermal = {1.0f, 20.0f, 10.0f, 0.5f}};

static float settle(struct limits *limits, float force, float gain, float qd) {
  float out = 0.0f;
  for (int i = 0; i < 500; i++)
    out = limits_apply(limits, force, gain, qd, 1.0f, DT);
  return out;
}

static void force_is_clamped_and_slewed(void **unused) {
  (void)unused;
  struct limits limits;
  limits_init(&limits, &bounds);
  assert_near(limits_apply(&limits, 50.0f, 1.0f, 0.0f, 1.0f, DT), 0.1f, 1e-6f);
  assert_int_equal(limits.limited, PROTOCOL_LIMITED_SLEW | PROTOCOL_LIMITED_THERMAL);
  assert_near(settle(&limits, 50.0f, 1.0f, 0.0f), 10.0f, 0.0f);
  assert_true(limits.limited & PROTOCOL_LIMITED_CLAMP);
  assert_near(settle(&limits, 5.0f, 1.0f, 0.0f), 5.0f, 0.0f);
  assert_int_equal(limits.limited, 0);
  limits_off(&limits);
  assert_near(limits.force, 0.0f, 0.0f);
}

static void ramp_scales_the_clamp_too(void **unused) {
  (void)unused;
  struct limits limits;
  limits_init(&limits, &bounds);
  assert_near(settle(&limits, 1e6f, 0.1f, 0.0f), 1.0f, 1e-6f);
  assert_true(limits.limited & PROTOCOL_LIMITED_RAMP);
}

static void only_force_along_the_motion_fades_with_speed(void **unused) {
  (void)unused;
  struct limits limits;
  limits_init(&limits, &bounds);
  assert_near(settle(&limits, 8.0f, 1.0f, 0.9f), 8.0f, 0.0f);
  assert_near(settle(&limits, 8.0f, 1.0f, 1.5f), 4.0f, 1e-5f);
  assert_near(settle(&limits, 8.0f, 1.0f, 5.0f), 0.0f, 0.0f);
  assert_true(limits.limited & PROTOCOL_LIMITED_VELOCITY);
  assert_near(settle(&limits, 8.0f, 1.0f, -5.0f), 8.0f, 0.0f);
  assert_near(settle(&limits, -8.0f, 1.0f, -1.5f), -4.0f, 1e-5f);
}

static void an_empty_tank_gives_nothing_more(void **unused) {
  (void)unused;
  struct limits_config config = bounds;
  struct limits limits;
  config.tank_J = 0.01f;
  config.tank_refill_W = 0.1f;
  limits_init(&limits, &config);
  float given = 0.0f;
  for (int i = 0; i < 10000; i++)
    given += limits_apply(&limits, 5.0f, 1.0f, 0.5f, 1.0f, DT) * 0.5f * DT;
  assert_true(limits.limited & PROTOCOL_LIMITED_PASSIVITY || limits.tank_J < 0.01f);
  assert_true(given <= 0.01f + 0.1f * 1.0f + 0.02f);            /* tank, refill over 1 s, and what the slew lets pass */
  assert_near(settle(&limits, -5.0f, 1.0f, 0.5f), -5.0f, 0.0f); /* braking is free, and fills the tank again */
  assert_near(limits.tank_J, 0.01f, 1e-6f);
}

static void what_is_not_a_number_becomes_zero(void **unused) {
  (void)unused;
  struct limits limits;
  limits_init(&limits, &bounds);
  (void)settle(&limits, 5.0f, 1.0f, 0.0f);
  assert_near(limits_apply(&limits, NAN, 1.0f, 0.0f, 1.0f, DT), 0.0f, 0.0f);
  assert_int_equal(limits.limited, PROTOCOL_LIMITED_FINITE);
  assert_near(limits_apply(&limits, INFINITY, 1.0f, 0.0f, 1.0f, DT), 0.0f, 0.0f);
  assert_near(limits_apply(&limits, 1.0f, 1.0f, NAN, 1.0f, DT), 0.0f, 0.0f);
}

/* ---- current loop ---- */

static const struct current_pi_config coil = {4.0f, 0.002f, 4000.0f, 15.0f};

static void current_follows_as_a_first_order_lag(void **unused) {
  (void)unused;
  struct current_pi pi;
  current_pi_init(&pi, &coil);
  double i = 0.0, at_1ms = 0.0, most = 0.0;
  for (int t = 0; t < 100; t++) {
    const double volt = 24.0 * (double)current_pi_step(&pi, 1.0f, (float)i, 0.2f, 24.0f, DT);
    for (int s = 0; s < 100; s++)
      i += 1e-6 / 0.002 * (volt - 4.0 * i - 15.0 * 0.2);
    if (t == 9)
      at_1ms = i;
    most = fmax(most, i);
  }
  assert_true(at_1ms > 0.95 && at_1ms < 1.05); /* w = 4000 rad/s */
  assert_near(i, 1.0, 1e-3);
  assert_true(most < 1.06);
}

static void duty_stays_at_the_rail_without_winding_up(void **unused) {
  (void)unused;
  struct current_pi pi;
  current_pi_init(&pi, &coil);
  for (int t = 0; t < 1000; t++)
    assert_near(current_pi_step(&pi, 100.0f, 0.0f, 0.0f, 24.0f, DT), 1.0f, 0.0f);
  assert_true(fw_abs(pi.integral_V) <= 24.0f);
  assert_true(current_pi_step(&pi, -1.0f, 0.0f, 0.0f, 24.0f, DT) < 0.1f);
  current_pi_reset(&pi);
  assert_near(pi.integral_V, 0.0f, 0.0f);
}

static void current_loop_never_yields_nonsense(void **unused) {
  (void)unused;
  struct current_pi pi;
  current_pi_init(&pi, &coil);
  assert_near(current_pi_step(&pi, NAN, 0.0f, 0.0f, 24.0f, DT), 0.0f, 0.0f);
  assert_near(current_pi_step(&pi, 1.0f, 0.0f, 0.0f, 0.0f, DT), 0.0f, 0.0f);
  assert_near(current_pi_step(&pi, 1.0f, 0.0f, 0.0f, NAN, DT), 0.0f, 0.0f);
  assert_near(pi.integral_V, 0.0f, 0.0f);
}

/* ---- acquisition ---- */

static const struct channel channel = {"c", "V", PROTOCOL_KIND_HALL, 0.001f, 100, 900, 0, 4, 5000};

static void sample_is_accepted_averaged_and_ages(void **unused) {
  (void)unused;
  struct channel_state state = {0};
  assert_int_equal(acquisition_age_us(&state, 50), ACQUISITION_NEVER);
  for (int i = 0; i < 6; i++)
    assert_true(acquisition_step(&channel, &state, 200 + 10 * i, true, (uint32_t)i * 100u));
  assert_int_equal(acquisition_mean(&channel, &state), 235); /* of the last four */
  assert_int_equal(acquisition_age_us(&state, 1500), 1000);
  assert_int_equal(acquisition_age_us(&state, 400), 0); /* a clock a little behind */
  struct channel one = channel;
  one.average = 1;
  assert_int_equal(acquisition_mean(&one, &state), 250);
}

static void sample_is_refused_when_stale_out_of_range_or_frozen(void **unused) {
  (void)unused;
  struct channel_state state = {0};
  assert_false(acquisition_step(&channel, &state, 99, true, 0));
  assert_true(state.refused);
  assert_false(acquisition_step(&channel, &state, 901, true, 0));
  assert_false(acquisition_step(&channel, &state, 500, false, 0));
  assert_false(state.refused);
  assert_int_equal(acquisition_mean(&channel, &state), 0);
  for (uint32_t t = 0; t <= 5000; t += 100)
    assert_true(acquisition_step(&channel, &state, 500, true, t));
  assert_false(acquisition_step(&channel, &state, 500, true, 5100));
  assert_true(state.refused);
  assert_true(acquisition_step(&channel, &state, 501, true, 5200));
}

static void an_old_sample_never_looks_young_again(void **unused) {
  (void)unused;
  struct channel_state state = {0};
  (void)acquisition_step(&channel, &state, 500, true, 0);
  for (uint32_t minute = 1; minute < 80; minute++) {
    const uint32_t age = acquisition_age_us(&state, minute * 60000000u);
    assert_true(age >= 60000000u); /* also after 71.6 minutes, when the clock has wrapped */
  }
}

static void positions_follow_the_calibration(void **unused) {
  (void)unused;
  const struct channel channels[2] = {{.scale = 0.001f}, {.scale = 0.001f}};
  struct channel_state states[2] = {{.raw = 2000}, {.raw = 1000}};
  struct calibration calibration = {CALIBRATION_MAGIC, {0.002f, 0.0f}, {0.5f, 0.0f}};
  struct position_config hall = {.kind = POSITION_HALL_PAIR, .channel = 0, .channel_rear = 1, .ratio = 0.5f};
  assert_near(acquisition_position(&hall, channels, states, &calibration), 0.5f * (0.002f * 3.0f + 0.5f), 1e-6f);
  struct position_config counts = {.kind = POSITION_COUNTS, .channel = 1, .ratio = 2.0f, .centre = 900};
  calibration.gain[1] = 0.01f;
  calibration.offset[1] = 0.25f;
  assert_near(acquisition_position(&counts, channels, states, &calibration), 1.5f, 1e-6f);
}

static void a_wrong_calibration_is_none(void **unused) {
  (void)unused;
  const struct position_config config = {.channel = 0, .offset_max = 1.0f, .gain_low = 0.5f, .gain_high = 2.0f};
  const struct calibration good = {CALIBRATION_MAGIC, {1.0f}, {0.0f}};
  assert_true(acquisition_calibrated(&config, &good));
  struct calibration bad = good;
  bad.magic = 0xFFFFFFFFu;
  assert_false(acquisition_calibrated(&config, &bad));
  const float gains[] = {NAN, 0.0f, 0.4f, 3.0f, -1.0f, INFINITY};
  for (unsigned i = 0; i < sizeof gains / sizeof gains[0]; i++) {
    bad = good;
    bad.gain[0] = gains[i];
    assert_false(acquisition_calibrated(&config, &bad));
  }
  bad = good;
  bad.offset[0] = 1.5f;
  assert_false(acquisition_calibrated(&config, &bad));
}

static void a_wrong_calibration_of_a_coil_is_none(void **unused) {
  (void)unused;
  const struct velocity_config sensor_config = {
      .kind = VELOCITY_COIL, .channel = 1, .gain_low = 0.5f, .gain_high = 2.0f};
  const struct velocity_config tracking = {.kind = VELOCITY_TRACKING};
  struct calibration calibration = {CALIBRATION_MAGIC, {0.0f, 1.0f}, {0.0f, 1.65f}};
  assert_true(velocity_calibrated(&sensor_config, &calibration));
  calibration.offset[1] = NAN;
  assert_false(velocity_calibrated(&sensor_config, &calibration));
  calibration.offset[1] = 0.0f;
  calibration.gain[1] = NAN;
  assert_false(velocity_calibrated(&sensor_config, &calibration));
  assert_true(velocity_calibrated(&tracking, &calibration)); /* needs none */
}

/* ---- velocity ---- */

static void tracking_finds_the_velocity_of_a_ramp(void **unused) {
  (void)unused;
  const struct velocity_config config = {.kind = VELOCITY_TRACKING, .bandwidth_rad_s = 1000.0f};
  struct velocity velocity;
  velocity_init(&velocity, &config);
  float qd = 0.0f;
  for (int t = 0; t < 1000; t++)
    qd = velocity_step(&velocity, 0.3f * DT * (float)t, 0.0f, DT);
  assert_near(qd, 0.3f, 1e-3f);
  assert_false(velocity_implausible(&velocity));
}

static const struct velocity_config sensor = {
    .kind = VELOCITY_COIL, .bandwidth_rad_s = 60.0f, .step_max = 0.1f, .disagree_max = 0.3f, .disagree_us = 20000};

static void coil_spikes_are_refused_and_real_steps_are_not(void **unused) {
  (void)unused;
  struct velocity velocity;
  velocity_init(&velocity, &sensor);
  (void)velocity_step(&velocity, 0.0f, 0.0f, DT);
  assert_near(velocity_step(&velocity, 0.0f, 0.8f, DT), 0.0f, 1e-3f);
  assert_true(velocity.spike);
  assert_near(velocity_step(&velocity, 0.0f, 0.01f, DT), 0.01f, 1e-3f);
  assert_false(velocity.spike);
  for (int t = 0; t < 5; t++)
    assert_near(velocity_step(&velocity, 0.0f, 0.5f, DT), 0.01f, 1e-2f);
  assert_near(velocity_step(&velocity, 0.0f, 0.5f, DT), 0.5f, 1e-2f); /* it stays: it is motion */
}

static void coil_offset_is_removed_by_the_position(void **unused) {
  (void)unused;
  struct velocity velocity;
  velocity_init(&velocity, &sensor);
  float qd = 0.0f;
  for (int t = 0; t < 5000; t++)
    qd = velocity_step(&velocity, 0.01f, 0.05f, DT); /* stands still, coil says 50 mm/s */
  assert_near(qd, 0.0f, 1e-3f);
  assert_false(velocity_implausible(&velocity));
}

static void coil_and_position_that_disagree_are_implausible(void **unused) {
  (void)unused;
  struct velocity velocity;
  velocity_init(&velocity, &sensor);
  for (int t = 0; t < 5000; t++)
    (void)velocity_step(&velocity, 0.01f, 0.6f, DT);
  assert_true(velocity_implausible(&velocity));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finite_is_told_by_bits),
      cmocka_unit_test(square_root_is_right_over_the_whole_range),
      cmocka_unit_test(small_helpers),
      cmocka_unit_test(law_is_spring_and_damper_around_q0),
      cmocka_unit_test(law_leads_by_the_time_the_force_takes),
      cmocka_unit_test(law_is_cut_to_what_the_device_can_render),
      cmocka_unit_test(zero_and_finite_set_points_are_known),
      cmocka_unit_test(heat_allows_the_peak_only_while_cool),
      cmocka_unit_test(mean_square_over_any_window_stays_at_the_rating),
      cmocka_unit_test(force_is_clamped_and_slewed),
      cmocka_unit_test(ramp_scales_the_clamp_too),
      cmocka_unit_test(only_force_along_the_motion_fades_with_speed),
      cmocka_unit_test(an_empty_tank_gives_nothing_more),
      cmocka_unit_test(what_is_not_a_number_becomes_zero),
      cmocka_unit_test(current_follows_as_a_first_order_lag),
      cmocka_unit_test(duty_stays_at_the_rail_without_winding_up),
      cmocka_unit_test(current_loop_never_yields_nonsense),
      cmocka_unit_test(sample_is_accepted_averaged_and_ages),
      cmocka_unit_test(sample_is_refused_when_stale_out_of_range_or_frozen),
      cmocka_unit_test(an_old_sample_never_looks_young_again),
      cmocka_unit_test(positions_follow_the_calibration),
      cmocka_unit_test(a_wrong_calibration_is_none),
      cmocka_unit_test(a_wrong_calibration_of_a_coil_is_none),
      cmocka_unit_test(tracking_finds_the_velocity_of_a_ramp),
      cmocka_unit_test(coil_spikes_are_refused_and_real_steps_are_not),
      cmocka_unit_test(coil_offset_is_removed_by_the_position),
      cmocka_unit_test(coil_and_position_that_disagree_are_implausible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
