/* A steering column: wheel and direct-drive motor on one shaft, absolute multiturn encoder, three pedals.
 *
 * Angle in rad, torque in N m. End stops are soft; arms hold the wheel as a spring and a damper. Muscles take their time:
 * where the arms pull to follows hand.target with the lag arm_lag_s, and hands that hold the wheel turn with it. */
#include <math.h>

#include "parts.h"

#define COUNTS_PER_RAD (262144.0 / 6.283185307179586)
#define MIDDLE 536870912.0 /* 2^29: half of 12 bit of turns and 18 bit of angle */
#define CHANNELS 4u

struct column {
  struct common common; /* first */
  double position, velocity;
  double inertia, viscous, coulomb;
  double travel, stop_stiffness, stop_damping;
  double encoder_offset_counts;
  double throttle, brake, clutch; /* 0..1 */
  double force;                   /* torque of the motor */
  double arm_lag_s, arm_inertia;  /* of the muscles; of arms that hold the wheel */
  double reach;                   /* where the arms pull to */
};

static void column_init(void *state, uint64_t seed) {
  struct column *column = state;
  common_init(&column->common, seed);
  column->common.actuators = 1;
  column->common.supply_V = 48.0;
  column->common.ampere_per_count = 40.0 / 65520.0;
  column->common.winding[0] = (struct winding){1.0, 0.003, 1.2, 0.0, 0.0};
  column->common.hand = (struct hand){.stiffness = 12.0,
                                      .damping = 0.6,
                                      .drive_stiffness = 5000.0,
                                      .drive_damping = 40.0,
                                      .speed = 1.0,
                                      .dip = 1.57,
                                      .hold_s = 0.2};
  column->inertia = 0.040;
  column->viscous = 0.03;
  column->coulomb = 0.08;
  column->travel = 9.42;
  column->stop_stiffness = 400.0;
  column->stop_damping = 4.0;
}

static double stop_torque(const struct column *column) {
  const double over = fabs(column->position) - column->travel;
  if (over <= 0.0) {
    return 0.0;
  }
  return -copysign(column->stop_stiffness * over, column->position) - column->stop_damping * column->velocity;
}

static double arm_torque(struct column *column, double h) {
  struct hand *hand = &column->common.hand;
  const double wanted = hand->target;
  double torque;
  column->reach += (wanted - column->reach) * (h / (column->arm_lag_s + h));
  hand->target = column->reach;
  torque = hand_step(hand, column->common.t_s, column->position, column->velocity);
  hand->target = wanted;
  return torque;
}

static void column_step(void *state, double dt_s, const float *duty, const enum hal_gate *gate) {
  struct column *column = state;
  struct common *common = &column->common;
  const double h = dt_s / PLANT_STEPS;
  unsigned i;
  for (i = 0; i < PLANT_STEPS; i++) {
    const double arms = arm_torque(column, h);
    const double held = (int)common->hand.mode == HAND_IMPEDANCE ? column->arm_inertia : 0.0;
    column->force = winding_step(&common->winding[0], h, common->supply_V, (double)duty[0], gate[0], column->velocity);
    column->velocity = slide(column->velocity, column->force + arms + stop_torque(column),
                             column->inertia + held, column->coulomb, column->viscous, h);
    column->position += column->velocity * h;
    common->t_s += h;
  }
}

/* A potentiometer between 0.3 and 2.7 V. */
static int32_t pedal(struct common *common, double travel) {
  return common_adc(common, 0.3 + 2.4 * fmin(fmax(travel, 0.0), 1.0));
}

static void column_sample(void *state, struct hal_sample *sample) {
  struct column *column = state;
  struct common *common = &column->common;
  sample->raw[0] = (int32_t)MIDDLE + (int32_t)floor(column->encoder_offset_counts + column->position * COUNTS_PER_RAD);
  sample->raw[1] = pedal(common, column->throttle);
  sample->raw[2] = pedal(common, column->brake);
  sample->raw[3] = pedal(common, column->clutch);
  common_sample(common, sample, CHANNELS);
}

static void column_calibration(const void *state, struct calibration *calibration) {
  unsigned i;
  (void)state;
  calibration->gain[0] = (float)(1.0 / COUNTS_PER_RAD);
  calibration->offset[0] = 0.0f;
  for (i = 1; i < CHANNELS; i++) {
    calibration->gain[i] = (float)(1.0 / 2.4);
    calibration->offset[i] = 0.3f;
  }
}

typedef char column_fits[sizeof(struct column) <= PLANT_STATE_BYTES ? 1 : -1];

#define FIELD(member) {#member, offsetof(struct column, member)}
static const struct field fields[] = {FIELD(position),     FIELD(velocity),
                                      FIELD(force),        FIELD(inertia),
                                      FIELD(viscous),      FIELD(coulomb),
                                      FIELD(travel),       FIELD(stop_stiffness),
                                      FIELD(stop_damping), FIELD(encoder_offset_counts),
                                      FIELD(throttle),     FIELD(brake),
                                      FIELD(clutch),       FIELD(arm_lag_s),
                                      FIELD(arm_inertia),  {NULL, 0}};

const struct plant_type plant_column = {"steering_wheel", column_init,        column_step,
                                        column_sample,    column_calibration, fields};
