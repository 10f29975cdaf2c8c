/* See velocity.h. */
#include "velocity.h"

#include "fwmath.h"

#define SPIKE_RUN_MAX 5u /* a "spike" that lasts longer is motion */

void velocity_init(struct velocity *velocity, const struct velocity_config *config) {
  velocity->config = *config;
  velocity->q_hat = 0.0f;
  velocity->qd = 0.0f;
  velocity->bias = 0.0f;
  velocity->coil_last = 0.0f;
  velocity->spike_run = 0u;
  velocity->started = false;
  velocity->spike = false;
  velocity->disagree_for_us = 0u;
}

/* Return the coil's reading, or the last good one in place of a spike. */
static float refuse_spike(struct velocity *velocity, float coil) {
  velocity->spike =
      fw_abs(coil - velocity->coil_last) > velocity->config.step_max && velocity->spike_run < SPIKE_RUN_MAX;
  if (velocity->spike) {
    velocity->spike_run++;
  } else {
    velocity->spike_run = 0u;
    velocity->coil_last = coil;
  }
  return velocity->coil_last;
}

/* Both kinds are one observer: the model velocity is the coil's (plus a learned bias) or the bias alone. The error of the
 * position corrects both slowly, so position rules below the bandwidth and the coil above it. */
float velocity_step(struct velocity *velocity, float q, float coil_velocity, float dt_s) {
  const struct velocity_config *config = &velocity->config;
  const float w = config->bandwidth_rad_s;
  float coil = 0.0f;
  float error;
  if (!velocity->started) {
    velocity->started = true;
    velocity->q_hat = q;
    velocity->coil_last = coil_velocity;
  }
  if (config->kind == VELOCITY_COIL) {
    coil = refuse_spike(velocity, coil_velocity);
  }
  error = q - velocity->q_hat;
  velocity->bias += w * w * error * dt_s;
  velocity->qd = coil + velocity->bias;
  velocity->q_hat += (velocity->qd + 2.0f * w * error) * dt_s;
  if (config->kind == VELOCITY_COIL) {
    const bool disagree = fw_abs(velocity->bias) > config->disagree_max;
    const uint32_t dt_us = (uint32_t)(dt_s * 1.0e6f + 0.5f);
    velocity->disagree_for_us = disagree ? velocity->disagree_for_us + dt_us : 0u;
  }
  return velocity->qd;
}

bool velocity_implausible(const struct velocity *velocity) {
  return velocity->config.kind == VELOCITY_COIL && velocity->disagree_for_us > velocity->config.disagree_us;
}

bool velocity_calibrated(const struct velocity_config *config, const struct calibration *calibration) {
  const float gain = calibration->gain[config->channel];
  return config->kind != VELOCITY_COIL
         || (fw_is_finite(calibration->offset[config->channel]) && gain >= config->gain_low
             && gain <= config->gain_high);
}
