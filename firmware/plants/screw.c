/* Two linear actuators (DC motor, ball screw, encoder) that carry a lid over the hinge of PA.COTTE.
 *
 * Stroke r1 of each rod in m, force in N, positive when the lid opens. The hinge appears at a rod as a mass m_r(r1) and the
 * weight m_o g dy/dr1, tabulated from its geometry (stroke of 67 mm); each rod carries half of the lid. The lid couples both
 * rods by its stiffness. The screw adds the rotor's mass, dry friction with a Stribeck peak, viscous friction and backlash; the
 * encoder sits on the motor's side of it and is noisy. */
#include <math.h>

#include "parts.h"

#define G 9.81
#define COUNTS_PER_M 1.024e6
#define ROWS 257
#define R_FIRST -0.0003137303
#define R_STEP 0.000261711348611
#define CHANNELS 2u
#define FLANK_N 2.0         /* force that presses the nut fully on a flank */
#define CROSSING_M_S 0.005 /* of the nut in its play */

/* Per stroke: rise of the lid's centre of mass, mass at the rod per mass of the lid, way of the lid's front edge. From the
 * closed forms of the stroke (mbs_core/control/lid_map.py, 257 rows), not from the model that runs in the firmware. */
static const double rise[ROWS] = {
    0.88192, 0.89234, 0.90292, 0.91367, 0.92460, 0.93571, 0.94701, 0.95851, 0.97020, 0.98211, 0.99423, 1.00657,
    1.01915, 1.03197, 1.04504, 1.05837, 1.07197, 1.08586, 1.10004, 1.11452, 1.12933, 1.14447, 1.15996, 1.17581,
    1.19205, 1.20868, 1.22573, 1.24322, 1.26117, 1.31224, 1.52670, 1.73253, 1.93046, 2.12102, 2.30448, 2.48102,
    2.65065, 2.81331, 2.96890, 3.11723, 3.25813, 3.39138, 3.51681, 3.63424, 3.74353, 3.84455, 3.93725, 4.02161,
    4.09764, 4.16542, 4.22508, 4.27089, 4.26785, 4.26385, 4.25892, 4.25305, 4.24626, 4.23857, 4.23000, 4.22054,
    4.21023, 4.19908, 4.18709, 4.17430, 4.16071, 4.14635, 4.13123, 4.11537, 4.09878, 4.08149, 4.06351, 4.04487,
    4.02558, 4.00566, 3.98513, 3.96400, 3.94231, 3.92005, 3.89727, 3.87396, 3.85016, 3.82588, 3.80114, 3.77595,
    3.75034, 3.72433, 3.69792, 3.67114, 3.64401, 3.61654, 3.58875, 3.56065, 3.53226, 3.50361, 3.47469, 3.44553,
    3.41615, 3.38656, 3.35676, 3.32679, 3.29664, 3.26634, 3.23589, 3.20531, 3.17462, 3.14381, 3.11292, 3.08193,
    3.05088, 3.01977, 2.98860, 2.95740, 2.92616, 2.89490, 2.86363, 2.83235, 2.80108, 2.76983, 2.73859, 2.70738,
    2.67621, 2.64509, 2.61401, 2.58299, 2.55203, 2.52114, 2.49032, 2.45958, 2.42893, 2.39837, 2.36791, 2.33754,
    2.30728, 2.27712, 2.24708, 2.21715, 2.18734, 2.15766, 2.12809, 2.09866, 2.06935, 2.04018, 2.01115, 1.98225,
    1.95349, 1.92488, 1.89640, 1.86808, 1.83989, 1.81186, 1.78397, 1.75623, 1.72865, 1.70121, 1.67393, 1.64680,
    1.61982, 1.59300, 1.56632, 1.53980, 1.51344, 1.48723, 1.46117, 1.43526, 1.40951, 1.38391, 1.35846, 1.33316,
    1.30802, 1.28302, 1.25817, 1.23347, 1.20891, 1.18451, 1.16025, 1.13613, 1.11215, 1.08832, 1.06463, 1.04108,
    1.01766, 0.99439, 0.97125, 0.94824, 0.92537, 0.90262, 0.88001, 0.85752, 0.83516, 0.81293, 0.79082, 0.76883,
    0.74696, 0.72521, 0.70357, 0.68205, 0.66064, 0.63935, 0.61816, 0.59708, 0.57610, 0.55523, 0.53446, 0.51379,
    0.49321, 0.47273, 0.45235, 0.43206, 0.41185, 0.39173, 0.37170, 0.35175, 0.33188, 0.31209, 0.29238, 0.27274,
    0.25317, 0.23368, 0.21425, 0.19488, 0.17558, 0.15634, 0.13716, 0.11804, 0.09897, 0.07995, 0.06097, 0.04205,
    0.02317, 0.00433, -0.01447, -0.03323, -0.05196, -0.07066, -0.08933, -0.10798, -0.12660, -0.14520, -0.16378,
    -0.18235, -0.20091, -0.21946, -0.23800, -0.25653, -0.27507, -0.29361, -0.31216, -0.33072, -0.34929, -0.36787,
    -0.38648, -0.40510, -0.42376, -0.44244, -0.46115, -0.47991, -0.49870
};
static const double mass_ratio[ROWS] = {
    0.7778, 0.7963, 0.8153, 0.8348, 0.8549, 0.8756, 0.8968, 0.9187, 0.9413, 0.9645, 0.9885, 1.0132, 1.0387, 1.0650,
    1.0921, 1.1201, 1.1491, 1.1791, 1.2101, 1.2422, 1.2754, 1.3098, 1.3455, 1.3825, 1.4210, 1.4609, 1.5024, 1.5456,
    1.5906, 1.7228, 2.3716, 3.1366, 4.0031, 4.9581, 5.9896, 7.0860, 8.2360, 9.4285, 10.6521, 11.8957, 13.1481,
    14.3984, 15.6361, 16.8512, 18.0340, 19.1761, 20.2695, 21.3076, 22.2845, 23.1956, 24.0375, 24.7259, 24.7557,
    24.7794, 24.7969, 24.8084, 24.8141, 24.8140, 24.8083, 24.7970, 24.7803, 24.7584, 24.7313, 24.6991, 24.6621,
    24.6204, 24.5740, 24.5232, 24.4680, 24.4086, 24.3452, 24.2778, 24.2067, 24.1319, 24.0536, 23.9719, 23.8870,
    23.7989, 23.7079, 23.6141, 23.5175, 23.4184, 23.3168, 23.2129, 23.1068, 22.9986, 22.8884, 22.7764, 22.6626,
    22.5473, 22.4303, 22.3120, 22.1924, 22.0715, 21.9496, 21.8266, 21.7027, 21.5780, 21.4525, 21.3264, 21.1997,
    21.0725, 20.9449, 20.8169, 20.6887, 20.5603, 20.4317, 20.3031, 20.1745, 20.0459, 19.9175, 19.7892, 19.6612,
    19.5334, 19.4060, 19.2789, 19.1523, 19.0261, 18.9004, 18.7753, 18.6507, 18.5268, 18.4036, 18.2810, 18.1591,
    18.0380, 17.9177, 17.7982, 17.6795, 17.5616, 17.4446, 17.3285, 17.2134, 17.0991, 16.9859, 16.8735, 16.7622,
    16.6519, 16.5425, 16.4342, 16.3270, 16.2207, 16.1155, 16.0114, 15.9084, 15.8064, 15.7055, 15.6057, 15.5070,
    15.4094, 15.3128, 15.2174, 15.1231, 15.0299, 14.9378, 14.8469, 14.7570, 14.6682, 14.5806, 14.4941, 14.4087,
    14.3244, 14.2412, 14.1591, 14.0781, 13.9982, 13.9194, 13.8417, 13.7651, 13.6896, 13.6152, 13.5419, 13.4697,
    13.3985, 13.3284, 13.2594, 13.1914, 13.1245, 13.0587, 12.9939, 12.9302, 12.8675, 12.8059, 12.7453, 12.6857,
    12.6272, 12.5697, 12.5132, 12.4577, 12.4032, 12.3498, 12.2973, 12.2459, 12.1954, 12.1460, 12.0975, 12.0501,
    12.0036, 11.9581, 11.9135, 11.8700, 11.8274, 11.7858, 11.7452, 11.7055, 11.6668, 11.6290, 11.5922, 11.5564,
    11.5215, 11.4875, 11.4546, 11.4226, 11.3915, 11.3614, 11.3322, 11.3040, 11.2767, 11.2504, 11.2250, 11.2006,
    11.1772, 11.1547, 11.1332, 11.1126, 11.0930, 11.0744, 11.0567, 11.0400, 11.0243, 11.0096, 10.9958, 10.9831,
    10.9714, 10.9606, 10.9509, 10.9422, 10.9345, 10.9278, 10.9222, 10.9177, 10.9142, 10.9117, 10.9104, 10.9101,
    10.9110, 10.9129, 10.9160, 10.9203, 10.9257, 10.9322, 10.9400, 10.9489, 10.9591, 10.9705, 10.9832, 10.9972
};
static const double edge[ROWS] = {
    0.8819, 0.8923, 0.9029, 0.9137, 0.9246, 0.9357, 0.9470, 0.9585, 0.9702, 0.9821, 0.9942, 1.0066, 1.0191, 1.0320,
    1.0450, 1.0584, 1.0720, 1.0859, 1.1000, 1.1145, 1.1293, 1.1445, 1.1600, 1.1758, 1.1920, 1.2087, 1.2257, 1.2432,
    1.2612, 1.3623, 1.8767, 2.3688, 2.8410, 3.2949, 3.7315, 4.1515, 4.5554, 4.9433, 5.3151, 5.6709, 6.0103, 6.3333,
    6.6394, 6.9287, 7.2008, 7.4557, 7.6934, 7.9139, 8.1175, 8.3043, 8.4747, 8.6127, 8.6178, 8.6220, 8.6250, 8.6270,
    8.6280, 8.6280, 8.6270, 8.6250, 8.6221, 8.6183, 8.6136, 8.6080, 8.6015, 8.5943, 8.5862, 8.5773, 8.5676, 8.5572,
    8.5461, 8.5343, 8.5217, 8.5086, 8.4947, 8.4803, 8.4653, 8.4497, 8.4335, 8.4168, 8.3996, 8.3818, 8.3636, 8.3450,
    8.3259, 8.3064, 8.2865, 8.2662, 8.2455, 8.2245, 8.2031, 8.1814, 8.1595, 8.1372, 8.1147, 8.0920, 8.0690, 8.0457,
    8.0223, 7.9987, 7.9749, 7.9509, 7.9268, 7.9026, 7.8782, 7.8537, 7.8291, 7.8044, 7.7797, 7.7549, 7.7300, 7.7050,
    7.6801, 7.6551, 7.6301, 7.6050, 7.5800, 7.5550, 7.5300, 7.5051, 7.4801, 7.4552, 7.4304, 7.4056, 7.3809, 7.3562,
    7.3316, 7.3072, 7.2827, 7.2584, 7.2342, 7.2101, 7.1861, 7.1622, 7.1385, 7.1148, 7.0913, 7.0679, 7.0447, 7.0216,
    6.9986, 6.9758, 6.9532, 6.9307, 6.9083, 6.8862, 6.8641, 6.8423, 6.8206, 6.7991, 6.7778, 6.7566, 6.7357, 6.7149,
    6.6943, 6.6739, 6.6536, 6.6336, 6.6138, 6.5941, 6.5746, 6.5554, 6.5363, 6.5175, 6.4988, 6.4803, 6.4621, 6.4440,
    6.4262, 6.4085, 6.3911, 6.3738, 6.3568, 6.3400, 6.3234, 6.3070, 6.2908, 6.2748, 6.2591, 6.2435, 6.2282, 6.2131,
    6.1982, 6.1835, 6.1690, 6.1548, 6.1408, 6.1269, 6.1134, 6.1000, 6.0868, 6.0739, 6.0612, 6.0487, 6.0364, 6.0243,
    6.0125, 6.0009, 5.9895, 5.9783, 5.9674, 5.9567, 5.9462, 5.9359, 5.9259, 5.9161, 5.9065, 5.8972, 5.8880, 5.8792,
    5.8705, 5.8621, 5.8539, 5.8459, 5.8382, 5.8307, 5.8234, 5.8164, 5.8096, 5.8030, 5.7967, 5.7906, 5.7848, 5.7792,
    5.7739, 5.7688, 5.7639, 5.7594, 5.7550, 5.7509, 5.7471, 5.7435, 5.7401, 5.7371, 5.7343, 5.7317, 5.7294, 5.7274,
    5.7257, 5.7242, 5.7230, 5.7221, 5.7215, 5.7211, 5.7210, 5.7213, 5.7218, 5.7226, 5.7237, 5.7251, 5.7268, 5.7289,
    5.7312, 5.7339, 5.7369, 5.7402, 5.7438
};

struct screw {
  struct common common; /* first */
  double position[2], velocity[2], force[2];
  double gap[2];      /* encoder minus rod: the screw's nut rests on one flank or the other */
  double strength[2]; /* force made per force that the current stands for: below 1 for a weak hinge */
  double rotor_mass, coulomb, stiction, stribeck, viscous;
  double backlash;      /* between screw and nut, m */
  double encoder_noise; /* one deviation, m */
  double lid_mass, lid_stiffness, lid_damping;
  double travel_min, travel_max, stop_stiffness, stop_damping;
  double obstacle; /* force against the opening at each rod */
  double push;     /* of a hand across the lid's front edge, N, positive when it opens */
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
    screw->strength[i] = 1.0;
  }
  screw->rotor_mass = 2.0;
  screw->coulomb = 2.0;
  screw->stiction = 2.5;
  screw->stribeck = 0.002;
  screw->encoder_noise = 1.0e-6;
  screw->backlash = 2.0e-5;
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

/* Dry friction at this speed: the Stribeck curve. */
static double dry(const struct screw *screw, double v) {
  const double slow = v / screw->stribeck;
  return screw->coulomb + (screw->stiction - screw->coulomb) * exp(-slow * slow);
}

/* The nut crosses its play to the flank that the force presses it on, slowly as the screw turns; balls give way a little. */
static double cross(const struct screw *screw, double gap, double force, double dt_s) {
  const double to = 0.5 * screw->backlash * fmin(fmax(force / FLANK_N, -1.0), 1.0);
  const double most = CROSSING_M_S * dt_s;
  return gap + fmin(fmax(to - gap, -most), most);
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
      const double load = -half_kg * G * look_up(rise, r) - 0.5 * slope * v * v - screw->obstacle
                          + 0.5 * screw->push * look_up(edge, r);
      screw->force[i] =
          screw->strength[i] * winding_step(&common->winding[i], h, common->supply_V, (double)duty[i], gate[i], v);
      screw->gap[i] = cross(screw, screw->gap[i], screw->force[i], h);
      screw->velocity[i] = slide(v, screw->force[i] + load + (i == 0 ? twist : -twist) + stop_force(screw, r, v),
                                 screw->rotor_mass + m_r, dry(screw, v), screw->viscous, h);
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
    const double seen = screw->position[i] + screw->gap[i] + screw->encoder_noise * chance_normal(&screw->common.chance);
    sample->raw[i] = (int32_t)floor(seen * COUNTS_PER_M);
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
                                      {"strength", offsetof(struct screw, strength[0])},
                                      {"strength1", offsetof(struct screw, strength[1])},
                                      FIELD(stiction),
                                      FIELD(stribeck),
                                      FIELD(backlash),
                                      FIELD(encoder_noise),
                                      FIELD(push),
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
