/* See current_pi.h. */
#include "current_pi.h"

#include "fwmath.h"

void current_pi_init(struct current_pi *pi, const struct current_pi_config *config) {
  pi->config = *config;
  pi->integral_V = 0.0f;
}

void current_pi_reset(struct current_pi *pi) {
  pi->integral_V = 0.0f;
}

float current_pi_step(struct current_pi *pi, float target_A, float measured_A, float qd, float supply_V, float dt_s) {
  const struct current_pi_config *config = &pi->config;
  const float error_A = target_A - measured_A;
  const float kp = config->inductance_H * config->bandwidth_rad_s;
  const float ki = config->resistance_ohm * config->bandwidth_rad_s;
  const float integral_V = pi->integral_V + ki * error_A * dt_s;
  const float wanted_V = kp * error_A + integral_V + config->emf_V_per_velocity * qd;
  if (!fw_is_finite(wanted_V) || !(supply_V > 0.0f)) {
    pi->integral_V = 0.0f;
    return 0.0f;
  }
  /* At the rail integrate only what leads away from it, or the loop would take long to come back. */
  if (fw_abs(wanted_V) <= supply_V || wanted_V * error_A < 0.0f) {
    pi->integral_V = fw_clamp(integral_V, -supply_V, supply_V);
  }
  return fw_clamp(wanted_V / supply_V, -1.0f, 1.0f);
}
