/* A haptic piano key: lever on a balance pin, voice coil at half its length, two Hall sensors and a coil below it.
 *
 * State at the voice coil (m, N); the key front moves twice as far. Inertia is the key's 2.0e-3 kg m2 at 109 mm and the
 * moving coil; the coil makes 50 N with 3.33 A. Hall voltages follow U^2 = a +- b (z - c), the field law for which
 * k (Uf^2 - Ur^2) + O is linear in the height z of the key front; within 1 mm of both ends it bends quadratically. */
#include <math.h>

#include "parts.h"

#define RATIO 0.5
#define HALL_A 3.7   /* V^2 */
#define HALL_B 437.0 /* V^2/m: the sensors see 3 mm beyond both ends */
#define HALL_CENTRE 5.0e-3
#define HALL_END 1.0e-3
#define FRONT_TRAVEL 10.0e-3
#define COIL_V 1.65
#define CHANNELS 3u

struct lever {
  struct common common; /* first */
  double position, velocity;
  double mass, viscous, coulomb, return_force;
  double travel, stop_stiffness, stop_damping;
  double height;              /* of the key front, m down */
  double hall_deviation;      /* at the very end of the travel, m */
  double hall_offset_V;       /* drift of the front sensor */
  double coil_V_per_velocity; /* kappa of eq. 18 */
  double coil_offset_V;
  double spike_rate_hz, spike_V;
  double spike_until_s, spike_sign;
  double force; /* of the voice coil */
};

static void lever_init(void *state, uint64_t seed) {
  struct lever *lever = state;
  common_init(&lever->common, seed);
  lever->common.actuators = 1;
  lever->common.supply_V = 24.0;
  lever->common.ampere_per_count = 10.0 / 65520.0;
  lever->common.winding[0] = (struct winding){4.0, 0.002, 15.0, 0.0, 0.0};
  lever->common.hand = (struct hand){.stiffness = 800.0,
                                     .damping = 3.0,
                                     .drive_stiffness = 2.0e5,
                                     .drive_damping = 200.0,
                                     .speed = 0.010,
                                     .dip = 0.0095,
                                     .hold_s = 0.2,
                                     .count = 2.0,
                                     .move_s = 0.1,
                                     .low = 0.004,
                                     .rest_s = 0.05,
                                     .rise_s = 0.03,
                                     .period_s = 0.5,
                                     .rate_hz = 1.0,
                                     .one_sided = 1.0};
  lever->mass = 0.218;
  lever->viscous = 0.4;
  lever->coulomb = 0.05;
  lever->return_force = -0.5;
  lever->travel = FRONT_TRAVEL * RATIO;
  lever->stop_stiffness = 2.0e5;
  lever->stop_damping = 60.0;
  lever->hall_deviation = 0.1e-3;
  lever->coil_V_per_velocity = 0.5;
  lever->spike_rate_hz = 0.5;
  lever->spike_V = 0.8;
}

static double stop_force(const struct lever *lever) {
  const double q = lever->position;
  const double depth = q < 0.0 ? -q : q - lever->travel;
  double force;
  if (depth <= 0.0) {
    return 0.0;
  }
  force = lever->stop_stiffness * depth + lever->stop_damping * (q < 0.0 ? -lever->velocity : lever->velocity);
  force = fmax(force, 0.0); /* felt does not pull */
  return q < 0.0 ? force : -force;
}

static void lever_step(void *state, double dt_s, const float *duty, const enum hal_gate *gate) {
  struct lever *lever = state;
  struct common *common = &lever->common;
  const double h = dt_s / PLANT_STEPS;
  unsigned i;
  for (i = 0; i < PLANT_STEPS; i++) {
    /* The lever: a force at the front counts double at the coil. */
    const double hand = hand_step(&common->hand, common->t_s, lever->position / RATIO, lever->velocity / RATIO) / RATIO;
    lever->force = winding_step(&common->winding[0], h, common->supply_V, (double)duty[0], gate[0], lever->velocity);
    lever->velocity = slide(lever->velocity, lever->force + hand + stop_force(lever) + lever->return_force, lever->mass,
                            lever->coulomb, lever->viscous, h);
    lever->position += lever->velocity * h;
    common->t_s += h;
  }
  lever->height = lever->position / RATIO;
}

/* What the Hall pair takes for the height: true between 1 and 9 mm, bent by the field's square law towards both ends. */
static double seen_height(const struct lever *lever, double z) {
  const double low = (HALL_END - z) / HALL_END;
  const double high = (z - (FRONT_TRAVEL - HALL_END)) / HALL_END;
  double seen = z;
  if (low > 0.0) {
    seen += lever->hall_deviation * low * low;
  }
  if (high > 0.0) {
    seen -= lever->hall_deviation * high * high;
  }
  return fmin(fmax(seen - HALL_CENTRE, -HALL_A / HALL_B), HALL_A / HALL_B);
}

static double spike(struct lever *lever) {
  struct common *common = &lever->common;
  if (lever->spike_rate_hz > 0.0 && chance_uniform(&common->chance) < lever->spike_rate_hz / (double)FW_FAST_HZ) {
    lever->spike_until_s = common->t_s + 3.0e-4 * chance_uniform(&common->chance);
    lever->spike_sign = chance_uniform(&common->chance) < 0.5 ? -1.0 : 1.0;
  }
  return common->t_s < lever->spike_until_s ? lever->spike_sign * lever->spike_V : 0.0;
}

static void lever_sample(void *state, struct hal_sample *sample) {
  struct lever *lever = state;
  struct common *common = &lever->common;
  const double z = seen_height(lever, lever->position / RATIO);
  const double coil_V = COIL_V + lever->coil_offset_V + lever->coil_V_per_velocity * lever->velocity / RATIO;
  sample->raw[0] = common_adc(common, sqrt(HALL_A + HALL_B * z) + lever->hall_offset_V);
  sample->raw[1] = common_adc(common, sqrt(HALL_A - HALL_B * z));
  sample->raw[2] = common_adc(common, coil_V + spike(lever));
  common_sample(common, sample, CHANNELS);
}

static void lever_calibration(const void *state, struct calibration *calibration) {
  (void)state;
  calibration->gain[0] = (float)(1.0 / (2.0 * HALL_B));
  calibration->offset[0] = (float)HALL_CENTRE;
  calibration->gain[2] = 2.0f;
  calibration->offset[2] = (float)COIL_V;
}

typedef char lever_fits[sizeof(struct lever) <= PLANT_STATE_BYTES ? 1 : -1];

#define FIELD(member) {#member, offsetof(struct lever, member)}
static const struct field fields[] = {FIELD(position),      FIELD(velocity),
                                      FIELD(height),        FIELD(force),
                                      FIELD(mass),          FIELD(viscous),
                                      FIELD(coulomb),       FIELD(return_force),
                                      FIELD(travel),        FIELD(stop_stiffness),
                                      FIELD(stop_damping),  FIELD(hall_deviation),
                                      FIELD(hall_offset_V), FIELD(coil_V_per_velocity),
                                      FIELD(coil_offset_V), FIELD(spike_rate_hz),
                                      FIELD(spike_V),       {NULL, 0}};

const struct plant_type plant_lever = {"piano_key", lever_init, lever_step, lever_sample, lever_calibration, fields};
