/* See limits.h. */
#include "limits.h"

#include "fwmath.h"

void limits_init(struct limits *limits, const struct limits_config *config) {
  limits->config = *config;
  thermal_init(&limits->thermal, &config->thermal);
  limits->tank_J = config->tank_J;
  limits->force = 0.0f;
  limits->limited = 0u;
}

/* Return force cut to +-bound, and note the reason if that changed it. */
static float cut(struct limits *limits, float force, float bound, unsigned reason) {
  const float within = fw_clamp(force, -bound, bound);
  if (within < force || within > force) {
    limits->limited = (uint8_t)(limits->limited | reason);
  }
  return within;
}

/* Fade out what accelerates the motion further; braking is never reduced. */
static float limit_velocity(struct limits *limits, float force, float qd) {
  const struct limits_config *config = &limits->config;
  const float room = (config->velocity_max - fw_abs(qd)) / (config->velocity_max - config->velocity_soft);
  if (force * qd <= 0.0f || room >= 1.0f) {
    return force;
  }
  limits->limited |= (uint8_t)PROTOCOL_LIMITED_VELOCITY;
  return room > 0.0f ? force * room : 0.0f;
}

/* With an empty tank only forces that take energy out of the hand, or none, may pass. */
static float limit_passivity(struct limits *limits, float force, float qd) {
  if (!(limits->config.tank_J > 0.0f) || limits->tank_J > 0.0f || force * qd <= 0.0f) {
    return force;
  }
  limits->limited |= (uint8_t)PROTOCOL_LIMITED_PASSIVITY;
  return 0.0f;
}

static void fill_tank(struct limits *limits, float qd, float dt_s) {
  const float given_W = limits->force * qd;
  const float tank_J = limits->tank_J + (limits->config.tank_refill_W - given_W) * dt_s;
  limits->tank_J = fw_clamp(tank_J, 0.0f, limits->config.tank_J);
}

float limits_apply(struct limits *limits, float force, float gain, float qd, float force_per_ampere, float dt_s) {
  const struct limits_config *config = &limits->config;
  const float step = config->slew_max * dt_s;
  float wanted = force * gain;
  limits->limited = 0u;
  if (!fw_is_finite(wanted) || !fw_is_finite(qd)) {
    limits->limited = (uint8_t)PROTOCOL_LIMITED_FINITE;
    limits->force = 0.0f;
    return 0.0f;
  }
  if (gain < 1.0f) {
    limits->limited |= (uint8_t)PROTOCOL_LIMITED_RAMP;
  }
  fill_tank(limits, qd, dt_s);
  wanted = limit_passivity(limits, wanted, qd);
  wanted = limit_velocity(limits, wanted, qd);
  wanted =
      cut(limits, wanted, thermal_limit_A(&limits->thermal) * force_per_ampere, (unsigned)PROTOCOL_LIMITED_THERMAL);
  wanted = limits->force + cut(limits, wanted - limits->force, step, (unsigned)PROTOCOL_LIMITED_SLEW);
  /* The gain scales the clamp too, or a host that asks for ten times too much would cut the ramp to a tenth. */
  limits->force = cut(limits, wanted, config->force_max * gain, (unsigned)PROTOCOL_LIMITED_CLAMP);
  return limits->force;
}

void limits_off(struct limits *limits) {
  limits->force = 0.0f;
  limits->limited = 0u;
}
