/* Sweeps through the whole firmware with its plant, written in C because they take 10^7 fast periods. */
#include <math.h>
#include <string.h>

#include "../../plants/parts.h"
#include "sim.h"

#define WINDOW_TICKS_MAX 600001u /* a minute */

/* Random commands: held values, steps to the limits, sines, noise; often far beyond what is allowed. */
static void random_law(struct chance *chance, const struct actuator *actuator, float law[4]) {
  const double full = (double)actuator->limits.force_max;
  const double kind = chance_uniform(chance);
  memset(law, 0, 4 * sizeof law[0]);
  if (kind < 0.4) {
    law[0] = (float)(full * (4.0 * chance_uniform(chance) - 2.0));
  } else if (kind < 0.7) {
    law[0] = (float)(kind < 0.55 ? 10.0 * full : -10.0 * full);
  } else if (kind < 0.9) {
    law[0] = (float)(full * chance_normal(chance));
    law[1] = (float)(actuator->position.min
                     + (actuator->position.max - actuator->position.min) * (float)chance_uniform(chance));
    law[2] = (float)((double)actuator->law.stiffness_max * (2.0 * chance_uniform(chance) - 0.5));
    law[3] = (float)((double)actuator->law.damping_max * chance_uniform(chance));
  }
}

/* Squares of the current over one thermal window, with their sum. */
struct window {
  double squares[WINDOW_TICKS_MAX];
  double sum;
  unsigned length, at;
};

/* Take one more current into the window; return the RMS over it. */
static double window_rms(struct window *window, double current_A) {
  double *slot = &window->squares[window->at];
  window->sum += current_A * current_A - *slot;
  *slot = current_A * current_A;
  window->at = (window->at + 1u) % window->length;
  return sqrt(fmax(window->sum, 0.0) / window->length);
}

static bool is_driving(void) {
  const uint8_t state = fw_safety()->state;
  return state == (uint8_t)PROTOCOL_STATE_RAMP || state == (uint8_t)PROTOCOL_STATE_ACTIVE;
}

/* A device that stopped at a fault (a stop hit too fast, say) is reset and armed again, as a stubborn user would. */
static void keep_armed(void) {
  static const float zero[FW_ACTUATORS_MAX * 4];
  if (!is_driving()) {
    (void)sim_setpoint(zero, fw_app()->actuator_count);
    (void)safety_reset(fw_safety(), hal_time_us());
    (void)safety_arm(fw_safety(), hal_time_us());
  }
}

/* For each of `sequences` random command sequences of `ticks` fast periods, one after the other (every hundredth starts
 * with a new device): the largest RMS of the plant's true current over any thermal window so far, as a share of the
 * rating. worst: that share, its sequence, share of the time that was driven. */
void sim_sweep_thermal(unsigned sequences, unsigned ticks, uint64_t seed, double worst[3]) {
  static struct window windows[FW_ACTUATORS_MAX];
  struct chance chance = {seed * 2u + 1u};
  unsigned s, t, i;
  worst[0] = worst[1] = worst[2] = 0.0;
  for (s = 0; s < sequences; s++) {
    const struct app *device;
    float laws[FW_ACTUATORS_MAX * 4] = {0.0f};
    unsigned hold = 0;
    if (s % 100u == 0) {
      (void)sim_reset(seed + s);
      (void)sim_run(1100, NULL, 1);
      memset(windows, 0, sizeof windows);
    }
    device = fw_app();
    for (t = 0; t < ticks; t++) {
      if (hold-- == 0) {
        hold = (unsigned)(chance_uniform(&chance) * chance_uniform(&chance) * (double)ticks);
        for (i = 0; i < device->actuator_count; i++) {
          random_law(&chance, &device->actuators[i], &laws[4 * i]);
        }
      }
      if (t % 10 == 0) {
        keep_armed();
        (void)sim_setpoint(laws, device->actuator_count);
      }
      (void)sim_run(1, NULL, 1);
      worst[2] += fw_safety()->state == (uint8_t)PROTOCOL_STATE_FAULT ? 0.0 : 1.0 / ((double)sequences * ticks);
      for (i = 0; i < device->actuator_count; i++) {
        const struct thermal_config *thermal = &device->actuators[i].limits.thermal;
        double share;
        windows[i].length = (unsigned)((double)thermal->window_s * FW_FAST_HZ + 0.5);
        share = window_rms(&windows[i], sim_get(i == 0 ? "actuator0.current_A" : "actuator1.current_A"))
                / (double)thermal->rated_A;
        if (share > worst[0]) {
          worst[0] = share;
          worst[1] = (double)s;
        }
      }
    }
  }
}

static float random_bits(struct chance *chance) {
  union {
    uint32_t bits;
    float number;
  } both;
  both.bits = (uint32_t)(chance_uniform(chance) * 4294967296.0);
  return both.number;
}

/* A number to hurt with: any bit pattern (NaN, infinities, subnormals), huge, tiny, or plausible. */
static float random_number(struct chance *chance) {
  const double kind = chance_uniform(chance);
  if (kind < 0.02) {
    return random_bits(chance);
  }
  if (kind < 0.1) {
    return (float)(chance_normal(chance) * 1e30);
  }
  return (float)(chance_normal(chance) * pow(10.0, 4.0 * chance_uniform(chance) - 2.0));
}

#define PHASE_TICKS 20000u

/* How wild it is in this phase. Calm ones last long enough to reach full force; stormy ones break everything at once. */
struct weather {
  bool storm;
  unsigned silence; /* fast periods without a set-point still to come */
};

static void random_setpoint(struct chance *chance, const struct weather *weather, double *not_finite) {
  const struct app *device = fw_app();
  float laws[FW_ACTUATORS_MAX * 4];
  unsigned i;
  for (i = 0; i < 4 * device->actuator_count; i++) {
    do {
      laws[i] = random_number(chance);
    } while (!weather->storm && !isfinite(laws[i]));
  }
  if (!weather->storm) {
    for (i = 0; i < device->actuator_count; i++) {
      random_law(chance, &device->actuators[i], &laws[4 * i]);
    }
  }
  *not_finite += sim_setpoint(laws, device->actuator_count) == (int)FAULT_SETPOINT_NOT_FINITE ? 1.0 : 0.0;
}

/* Now and then a channel shows anything for a while, or the plant again. */
static void random_sensors(struct chance *chance) {
  unsigned i;
  for (i = 0; i < fw_app()->channel_count; i++) {
    const double fate = chance_uniform(chance);
    if (fate < 0.002) {
      const double raw = chance_uniform(chance) < 0.5 ? 65520.0 * chance_uniform(chance)
                                                      : 4294967295.0 * chance_uniform(chance) - 2147483648.0;
      sim_override(i, (int32_t)raw, fate < 0.001);
    }
  }
}

static void calm_down(void) {
  unsigned i;
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    sim_override(i, 0, 0);
  }
}

/* Random set-points, requests, silences and sensor counts. seen: periods driven, violations, faults latched, set-points
 * that were not finite, periods at full ramp, watchdog trips, largest force as a share of the clamp. */
void sim_sweep_random(unsigned ticks, uint64_t seed, double seen[7]) {
  struct chance chance = {seed * 2u + 1u};
  struct weather weather = {false, 0};
  unsigned t, i;
  (void)sim_reset(seed);
  (void)sim_run(1100, NULL, 1);
  memset(seen, 0, 7 * sizeof seen[0]);
  for (t = 0; t < ticks; t++) {
    const double kind = chance_uniform(&chance);
    if (t % PHASE_TICKS == 0) {
      weather.storm = chance_uniform(&chance) < 0.5;
      calm_down();
    }
    if (weather.silence > 0) {
      weather.silence--;
    } else if (kind < (weather.storm ? 0.0003 : 0.00003)) {
      weather.silence = (unsigned)(300.0 * chance_uniform(&chance));
    } else if (weather.storm ? kind < 0.3 : kind < 0.15) {
      random_setpoint(&chance, &weather, &seen[3]);
    } else if (weather.storm && kind < 0.303) {
      safety_disarm(fw_safety());
    } else if (weather.storm && kind < 0.304) {
      safety_estop(fw_safety(), hal_time_us());
    } else if (kind < 0.5) {
      keep_armed();
    }
    if (weather.storm) {
      random_sensors(&chance);
    }
    (void)sim_run(1, NULL, 1);
    seen[0] += is_driving() ? 1.0 : 0.0;
    seen[4] += fw_safety()->state == (uint8_t)PROTOCOL_STATE_ACTIVE ? 1.0 : 0.0;
    for (i = 0; i < fw_app()->actuator_count; i++) {
      struct fw_view view;
      fw_view(i, &view);
      seen[6] = fmax(seen[6], fabs((double)view.force) / (double)fw_app()->actuators[i].limits.force_max);
    }
  }
  for (i = 0; i < SIM_VIOLATIONS; i++) {
    seen[1] += (double)sim_violations()[i];
  }
  seen[2] = (double)fw_safety()->faults;
  seen[5] = (double)fw_safety()->watchdog_trips;
}
