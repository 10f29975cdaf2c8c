/* Two linear actuators (DC motor, ball screw, encoder) that carry a lid over the hinge of PA.COTTE.
 *
 * Stroke r1 of each rod in m, force in N, positive when the lid opens. The hinge appears at a rod as a mass m_r(r1) and the
 * weight m_o g dy/dr1, tabulated from its geometry (stroke of 67 mm); each rod carries half of the lid. The lid couples both
 * rods by its stiffness. The screw adds the rotor's mass, dry and viscous friction. */
#include <math.h>

#include "parts.h"

#define G 9.81
#define COUNTS_PER_M 1.024e6
#define ROWS 49
#define R_FIRST -0.00031373
#define R_STEP 0.0013957938541666664
#define CHANNELS 2u

/* Rise of the lid's centre of mass per stroke, and mass at the rod per mass of the lid, over the stroke. */
static const double rise[ROWS] = {0.8875, 0.9395, 1.0025, 1.0720,  1.1497,  1.2374,  1.9303,  2.8659,  3.5958, 4.0975,
                                  4.2622, 4.2237, 4.1606, 4.0755,  3.9710,  3.8501,  3.7155,  3.5700,  3.4161, 3.2562,
                                  3.0923, 2.9262, 2.7594, 2.5933,  2.4289,  2.2671,  2.1085,  1.9535,  1.8026, 1.6558,
                                  1.5135, 1.3754, 1.2417, 1.1122,  0.9867,  0.8650,  0.7470,  0.6323,  0.5207, 0.4119,
                                  0.3055, 0.2013, 0.0990, -0.0019, -0.1018, -0.2009, -0.2998, -0.3989, -0.4921};
static const double mass_ratio[ROWS] = {
    0.7877,  0.8827,  1.0050,  1.1493,  1.3218,  1.5312,  4.0032,  9.8327,  16.4481, 22.2833, 24.7849, 24.8006, 24.6615,
    24.3873, 23.9989, 23.5170, 22.9617, 22.3513, 21.7024, 21.0298, 20.3459, 19.6610, 18.9840, 18.3218, 17.6794, 17.0612,
    16.4701, 15.9084, 15.3771, 14.8771, 14.4087, 13.9718, 13.5663, 13.1914, 12.8469, 12.5319, 12.2459, 11.9883, 11.7587,
    11.5565, 11.3813, 11.2334, 11.1127, 11.0193, 10.9541, 10.9177, 10.9116, 10.9373, 10.9921};

struct screw {
  struct common common; /* first */
  double position[2], velocity[2], force[2];
  double rotor_mass, coulomb, viscous;
  double lid_mass, lid_stiffness, lid_damping;
  double travel_min, travel_max, stop_stiffness, stop_damping;
  double obstacle; /* force against the opening at each rod */
};

static void screw_init(void *state, uint64_t seed) {
  struct screw *screw = state;
  unsigned i;
  common_init(&screw->common, seed);
  screw->common.actuators = 2;
  screw->common.supply_V = 12.0;
  screw->common.ampere_per_count = 16.0 / 65520.0;
  for (i = 0; i < 2; i++) {
    screw->common.winding[i] = (struct winding){1.5, 0.00015, 28.0, 0.0, 0.0};
    screw->position[i] = R_FIRST;
  }
  screw->rotor_mass = 2.0;
  screw->coulomb = 2.0;
  screw->viscous = 40.0;
  screw->lid_mass = 1.2;
  screw->lid_stiffness = 2.0e5;
  screw->lid_damping = 400.0;
  screw->travel_min = R_FIRST;
  screw->travel_max = 0.0667;
  screw->stop_stiffness = 2.0e5;
  screw->stop_damping = 500.0;
}

static double look_up(const double *table, double r) {
  const double at = fmin(fmax((r - R_FIRST) / R_STEP, 0.0), ROWS - 1.000001);
  const unsigned row = (unsigned)at;
  return table[row] + (at - row) * (table[row + 1] - table[row]);
}

static double stop_force(const struct screw *screw, double r, double v) {
  const double below = screw->travel_min - r;
  const double above = r - screw->travel_max;
  if (below > 0.0) {
    return fmax(screw->stop_stiffness * below - screw->stop_damping * v, 0.0);
  }
  return above > 0.0 ? -fmax(screw->stop_stiffness * above + screw->stop_damping * v, 0.0) : 0.0;
}

static void screw_step(void *state, double dt_s, const float *duty, const enum hal_gate *gate) {
  struct screw *screw = state;
  struct common *common = &screw->common;
  const double h = dt_s / PLANT_STEPS;
  const double half_kg = 0.5 * screw->lid_mass;
  unsigned step, i;
  for (step = 0; step < PLANT_STEPS; step++) {
    const double twist = screw->lid_stiffness * (screw->position[1] - screw->position[0])
                         + screw->lid_damping * (screw->velocity[1] - screw->velocity[0]);
    for (i = 0; i < 2; i++) {
      const double r = screw->position[i];
      const double v = screw->velocity[i];
      const double m_r = half_kg * look_up(mass_ratio, r);
      const double slope = half_kg * (look_up(mass_ratio, r + 1e-5) - look_up(mass_ratio, r - 1e-5)) / 2e-5;
      /* Lagrange: (m_r v)' - m_r' v^2 / 2 = F, so the changing mass costs m_r' v^2 / 2. */
      const double load = -half_kg * G * look_up(rise, r) - 0.5 * slope * v * v - screw->obstacle;
      screw->force[i] = winding_step(&common->winding[i], h, common->supply_V, (double)duty[i], gate[i], v);
      screw->velocity[i] = slide(v, screw->force[i] + load + (i == 0 ? twist : -twist) + stop_force(screw, r, v),
                                 screw->rotor_mass + m_r, screw->coulomb, screw->viscous, h);
    }
    for (i = 0; i < 2; i++) {
      screw->position[i] += screw->velocity[i] * h;
    }
    common->t_s += h;
  }
}

static void screw_sample(void *state, struct hal_sample *sample) {
  struct screw *screw = state;
  unsigned i;
  for (i = 0; i < 2; i++) {
    sample->raw[i] = (int32_t)floor(screw->position[i] * COUNTS_PER_M);
  }
  common_sample(&screw->common, sample, CHANNELS);
}

static void screw_calibration(const void *state, struct calibration *calibration) {
  unsigned i;
  (void)state;
  for (i = 0; i < 2; i++) {
    calibration->gain[i] = (float)(1.0 / COUNTS_PER_M);
    calibration->offset[i] = 0.0f;
  }
}

typedef char screw_fits[sizeof(struct screw) <= PLANT_STATE_BYTES ? 1 : -1];

#define FIELD(member) {#member, offsetof(struct screw, member)}
static const struct field fields[] = {{"position", offsetof(struct screw, position[0])},
                                      {"velocity", offsetof(struct screw, velocity[0])},
                                      {"force", offsetof(struct screw, force[0])},
                                      {"position1", offsetof(struct screw, position[1])},
                                      {"velocity1", offsetof(struct screw, velocity[1])},
                                      {"force1", offsetof(struct screw, force[1])},
                                      FIELD(rotor_mass),
                                      FIELD(coulomb),
                                      FIELD(viscous),
                                      FIELD(lid_mass),
                                      FIELD(lid_stiffness),
                                      FIELD(lid_damping),
                                      FIELD(travel_min),
                                      FIELD(travel_max),
                                      FIELD(stop_stiffness),
                                      FIELD(stop_damping),
                                      FIELD(obstacle),
                                      {NULL, 0}};

const struct plant_type plant_screw = {"lid_hinge", screw_init, screw_step, screw_sample, screw_calibration, fields};
