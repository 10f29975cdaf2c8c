/* Current loop of a voice coil or DC motor: PI with the plant's pole cancelled, and the back EMF fed forward.
 *
 * kp = L w, ki = R w gives a first-order loop of bandwidth w. Anti-windup by conditional integration. */
#ifndef CURRENT_PI_H
#define CURRENT_PI_H

struct current_pi_config {
  float resistance_ohm;
  float inductance_H;
  float bandwidth_rad_s;
  float emf_V_per_velocity; /* equals force_per_ampere in SI */
};

struct current_pi {
  struct current_pi_config config;
  float integral_V;
};

void current_pi_init(struct current_pi *pi, const struct current_pi_config *config);
void current_pi_reset(struct current_pi *pi);

/* Return the duty, -1..1, that brings the measured current to the target at this supply voltage. */
float current_pi_step(struct current_pi *pi, float target_A, float measured_A, float qd, float supply_V, float dt_s);

#endif
