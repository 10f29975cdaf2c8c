/* The generated model of the lid hinge in its main loop: F1m, the force that holds and moves the lid (000, sec. 5).
 *
 * lid_hinge_generated.c is what `haptic firmware model` writes from the mechanism: change that, not the file. The build
 * links this file with the application, where it replaces the weak lid_hinge_model(). The generated functions tell
 * accelerations from forces, a = (F - Q) / m_r; two evaluations yield m_r and Q, and so the force for no acceleration. All
 * in single precision, as on the device. */
#define MBS_REAL float
#define MBS_MATH_H "model_math.h"
#include "lid_hinge_generated.c"

#include "../apps/lid_hinge.h"

#define RODS 2u
#define SHARE 0.5f       /* each rod carries half of the lid */
#define RESIDUAL 1.0e-4f /* of the loops, in m: beyond it the pose was not found */
#define CLOSED 1.0e-6f   /* of the loops, in m: what single precision reaches */
#define STEPS 4u         /* of Newton's method in a call: from the pose of 2.5 ms before it takes two */
#define STRIDE 1.0e-3f   /* m in a call, 0.4 m/s: faster than the lid ever is, and small enough to stay on its branch */
#define PATIENCE 20u     /* calls without the pose before it is looked for from the start */

/* One model per rod: each starts its loops from the pose that it found 2.5 ms before. */
static struct {
  real x[LID_HINGE_TOTAL];
  unsigned lost; /* calls in a row without the pose */
  int started;
} rods[RODS];

/* Lead the model's r1 towards the measured one. At power-up the lid may stand anywhere, and a leap there could close the
 * loops in a pose that this hinge cannot have: so it walks, within 0.2 s. Return 1 if it has arrived. */
static int approach(real *x, real r1_m) {
  const real gap = r1_m - x[LID_HINGE_Q];
  if (gap > STRIDE || gap < -STRIDE) {
    x[LID_HINGE_Q] += gap > 0 ? STRIDE : -STRIDE;
    return 0;
  }
  x[LID_HINGE_Q] = r1_m;
  return 1;
}

/* Close the loops at x's r1, and so all joints; return 0 if that has not succeeded yet. */
static int find_pose(real *x) {
  unsigned i;
  for (i = 0; i < STEPS; i++) {
    lid_hinge_newton_0(x);
    if (x[LID_HINGE_INFO] < CLOSED) {
      return 1;
    }
  }
  return x[LID_HINGE_INFO] < RESIDUAL;
}

/* Return the acceleration of r1 under this force in the pose that was found. */
static real acceleration(real *x, real force) {
  x[LID_HINGE_IN] = force;
  lid_hinge_forward_0(x);
  return x[LID_HINGE_VD];
}

float lid_hinge_model(float r1_m, float v1_m_s, unsigned actuator) {
  real *x = rods[actuator % RODS].x;
  unsigned *lost = &rods[actuator % RODS].lost;
  real a0, a1, force;
  int arrived;
  if (!rods[actuator % RODS].started || *lost > PATIENCE) {
    lid_hinge_start(x);
    lid_hinge_pre(x);
    rods[actuator % RODS].started = 1;
    *lost = 0;
  }
  arrived = approach(x, (real)r1_m);
  x[LID_HINGE_V] = (real)v1_m_s;
  if (!find_pose(x)) {
    (*lost)++; /* without it, the controller works alone */
    return 0.0f;
  }
  *lost = 0;
  if (!arrived) {
    return 0.0f;
  }
  a0 = acceleration(x, (real)0);
  a1 = acceleration(x, (real)1);
  force = -a0 / (a1 - a0) * (real)SHARE;
  if (!(a1 > a0) || !isfinite(force)) {
    *lost = PATIENCE + 1u; /* a pose that makes no sense: from the start next time */
    return 0.0f;
  }
  return (float)force;
}
