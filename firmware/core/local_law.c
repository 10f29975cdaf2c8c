/* See local_law.h. */
#include "local_law.h"

#include "fwmath.h"

bool setpoint_is_finite(const struct setpoint *setpoint) {
  return fw_is_finite(setpoint->force) && fw_is_finite(setpoint->position) && fw_is_finite(setpoint->stiffness)
         && fw_is_finite(setpoint->damping);
}

static bool is_nothing(float x) {
  return !(x < 0.0f) && !(x > 0.0f);
}

bool setpoint_is_zero(const struct setpoint *setpoint) {
  return is_nothing(setpoint->force) && is_nothing(setpoint->stiffness) && is_nothing(setpoint->damping);
}

struct setpoint local_law_limit(const struct local_law_config *config, const struct setpoint *setpoint) {
  struct setpoint limited = *setpoint;
  limited.stiffness = fw_clamp(setpoint->stiffness, -config->stiffness_max, config->stiffness_max);
  limited.damping = fw_clamp(setpoint->damping, 0.0f, config->damping_max);
  return limited;
}

float local_law_force(const struct local_law_config *config, const struct setpoint *setpoint, float q, float qd) {
  const float q_then = q + qd * config->lead_s;
  return setpoint->force - setpoint->stiffness * (q_then - setpoint->position) - setpoint->damping * qd;
}
