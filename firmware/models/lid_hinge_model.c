/* The generated model of the lid hinge in its main loop: F1m, the force that holds and moves the lid (000, sec. 5).
 *
 * Make the model with `haptic generate lid_hinge --emit c -o lid_hinge_generated.c` and link this file with the application:
 * it replaces the weak lid_hinge_model(). The generated functions tell accelerations from forces, a = (F - Q) / m_r; two
 * evaluations yield m_r and Q, and so the force for no acceleration. All in single precision, as on the device. */
#ifndef MBS_REAL
#define MBS_REAL float
#endif
#ifndef LID_HINGE_GENERATED
#define LID_HINGE_GENERATED "lid_hinge_generated.c"
#endif
#include LID_HINGE_GENERATED

#include "../apps/lid_hinge.h"

#define RODS 2u
#define SHARE 0.5f       /* each rod carries half of the lid */
#define RESIDUAL 1.0e-4f /* of the loops, in m: beyond it the pose was not found */
#define STATUS_NOT_FINITE 2

/* One model per rod: each starts its loops from the pose that it found 2.5 ms before. */
static real states[RODS][LID_HINGE_TOTAL];
static int started;

static void start(void) {
  unsigned i;
  for (i = 0; i < RODS; i++) {
    lid_hinge_start(states[i]);
    lid_hinge_pre(states[i]);
  }
  started = 1;
}

/* Return the acceleration of r1 under this force; 0 in *good if the model has lost the pose. */
static real acceleration(real *x, real force, int *good) {
  x[LID_HINGE_IN] = force;
  if (lid_hinge_forward(x) == STATUS_NOT_FINITE || !(x[LID_HINGE_INFO] < RESIDUAL)) {
    *good = 0;
  }
  return x[LID_HINGE_VD];
}

float lid_hinge_model(float r1_m, float v1_m_s, unsigned actuator) {
  real *x = states[actuator % RODS];
  real a0, a1;
  int good = 1;
  if (!started) {
    start();
  }
  x[LID_HINGE_Q] = (real)r1_m;
  x[LID_HINGE_V] = (real)v1_m_s;
  a0 = acceleration(x, (real)0, &good);
  a1 = acceleration(x, (real)1, &good);
  if (!good || !(a1 > a0)) {
    started = 0; /* from the start pose again; until then the controller works without it */
    return 0.0f;
  }
  return (float)(-a0 / (a1 - a0)) * SHARE;
}
