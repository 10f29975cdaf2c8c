/* See thermal.h. */
#include "thermal.h"

#include "fwmath.h"

#define WINDOW_TO_TAU 0.1f

void thermal_init(struct thermal *thermal, const struct thermal_config *config) {
  thermal->config = *config;
  thermal->continuous_A = config->rated_A / fw_sqrt(1.0f + WINDOW_TO_TAU);
  thermal->heat = config->derate_from;
}

void thermal_step(struct thermal *thermal, float current_A, float dt_s) {
  const float load = current_A / thermal->continuous_A;
  const float tau_s = thermal->config.window_s * WINDOW_TO_TAU;
  thermal->heat += (load * load - thermal->heat) * (dt_s / tau_s);
}

float thermal_limit_A(const struct thermal *thermal) {
  const struct thermal_config *config = &thermal->config;
  const float over = (thermal->heat - config->derate_from) / (1.0f - config->derate_from);
  const float share = fw_clamp(over, 0.0f, 1.0f);
  return config->peak_A + share * (thermal->continuous_A - config->peak_A);
}
