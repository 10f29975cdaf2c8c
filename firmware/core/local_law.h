/* The local law: what a set-point asks for between two messages of the host,
 *
 *     F = F0 - K (q - q0) - B qd
 *
 * evaluated at the fast rate on the device's own position and velocity. K > 0 is a spring towards q0, B > 0 damps;
 * K = B = 0 is plain force. q is led by the time that current loop and converters
 * take, q + qd lead, so that the force fits the position at which it acts: that delay is what makes stiff springs
 * oscillate. Units: N, m, N/m, N s/m or N m, rad, N m/rad, N m s/rad. */
#ifndef LOCAL_LAW_H
#define LOCAL_LAW_H

#include <stdbool.h>

struct setpoint {
  float force;     /* F0 */
  float position;  /* q0 */
  float stiffness; /* K */
  float damping;   /* B */
};

struct local_law_config {
  float stiffness_max; /* |K| is cut to this: beyond it the loop would oscillate by itself */
  float damping_max;   /* B is cut to 0..this: a negative B would feed energy in */
  float lead_s;        /* from the sample until half of the force stands */
};

/* True if all four numbers are finite. */
bool setpoint_is_finite(const struct setpoint *setpoint);

/* True if it asks for no force wherever the device stands: F0 = K = B = 0. */
bool setpoint_is_zero(const struct setpoint *setpoint);

/* Return the set-point with K and B cut to what the device can render. */
struct setpoint local_law_limit(const struct local_law_config *config, const struct setpoint *setpoint);

/* Return F. */
float local_law_force(const struct local_law_config *config, const struct setpoint *setpoint, float q, float qd);

#endif
