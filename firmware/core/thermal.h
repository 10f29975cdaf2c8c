/* Heat of a winding, as I2t with linear derating.
 *
 * A first-order model, heat' = (i^2 / i_c^2 - heat) / tau, allows the peak current while it is cool and only the continuous
 * current i_c at heat = 1, linearly in between. With tau = window / 10 and i_c^2 = rated^2 / 1.1 the mean of i^2 over ANY
 * window of that length is at most i_c^2 (1 + tau / window) = rated^2, whatever happened before: the promise is proven by
 * the model, not tuned. The state is nobody's to clear: it runs on through e-stop, fault, reset and arming. */
#ifndef THERMAL_H
#define THERMAL_H

struct thermal_config {
  float rated_A; /* RMS over the window that the winding stands for ever */
  float peak_A;  /* allowed while cool */
  float window_s;
  float derate_from; /* heat from which the allowed current falls, 0..1 */
};

struct thermal {
  struct thermal_config config;
  float continuous_A;
  float heat; /* 1 = rating */
};

/* The winding's temperature at power-up is unknown: it starts at derate_from, as if it had just worked. */
void thermal_init(struct thermal *thermal, const struct thermal_config *config);

/* Advance by dt_s with this current (the larger of asked and measured). */
void thermal_step(struct thermal *thermal, float current_A, float dt_s);

/* Return the current allowed now. */
float thermal_limit_A(const struct thermal *thermal);

#endif
