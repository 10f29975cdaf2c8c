/* Lid hinge: two linear actuators (DC motor, ball screw, encoder), current loops at 2 kHz, own main loop at 400 Hz.
 *
 * The main loop runs the reduced model of the hinge: generated C (`haptic generate lid_hinge --emit c`) behind
 * lid_hinge_model(), which gives the force that the lid's weight and motion need. The host's set-point adds the
 * controller's part as a local law (q0 and K, B follow the reference), so that F1 = F1m + F1c as in the paper. A force
 * between both rods keeps them together.
 * Coordinate: stroke r1 of each rod in m, positive when the lid opens. Numbers are those of plants/screw.c. */
#include "lid_hinge.h"

#include "../core/app.h"

/* Without a generated model the lid is not compensated. The linker prefers a strong definition elsewhere. */
__attribute__((weak)) float lid_hinge_model(float r1_m, float v1_m_s, unsigned actuator) {
  (void)r1_m;
  (void)v1_m_s;
  (void)actuator;
  return 0.0f;
}

/* What keeps both rods together: a stiff lid would carry the difference otherwise. Bounded, so that a jammed rod is not
 * broken by the other one: the difference then grows to skew_max, and FAULT_SKEW lets go of both. */
#define SYNC_N_PER_M 10000.0f
#define SYNC_NS_PER_M 60.0f
#define SYNC_MAX_N 15.0f

static float synchronise(const struct app_io *io) {
  const float force = SYNC_N_PER_M * (io->q[1] - io->q[0]) + SYNC_NS_PER_M * (io->qd[1] - io->qd[0]);
  return force > SYNC_MAX_N ? SYNC_MAX_N : force < -SYNC_MAX_N ? -SYNC_MAX_N : force;
}

static void main_loop(struct app_io *io) {
  const float together = synchronise(io);
  unsigned i;
  for (i = 0; i < 2u; i++) {
    io->force[i] = lid_hinge_model(io->q[i], io->qd[i], i) + (i == 0u ? together : -together);
  }
}

#define METRE_PER_COUNT 9.765625e-7f /* 2 mm of screw per 2048 counts */

static const struct channel channels[] = {
    {"encoder_left", "m", PROTOCOL_KIND_ENCODER, METRE_PER_COUNT, -200000, 200000, 32, 1, 0},
    {"encoder_right", "m", PROTOCOL_KIND_ENCODER, METRE_PER_COUNT, -200000, 200000, 32, 1, 0},
};

#define ACTUATOR(given_name, given_channel)                                                         \
  {                                                                                                 \
      .name = given_name,                                                                           \
      .unit = "N",                                                                                  \
      .kind = PROTOCOL_KIND_DC_MOTOR,                                                               \
      .force_per_ampere = 28.0f,                                                                    \
      .ampere_per_count = 16.0f / (float)ADC_COUNTS,                                                \
      .position =                                                                                   \
          {                                                                                         \
              .kind = POSITION_COUNTS,                                                              \
              .channel = given_channel,                                                             \
              .ratio = 1.0f,                                                                        \
              .min = -0.0005f,                                                                      \
              .max = 0.0670f,                                                                       \
              .margin = 0.0020f,                                                                    \
              .step_max = 0.0002f,                                                                  \
              .offset_max = 0.01f,                                                                  \
              .gain_low = 9.0e-7f,                                                                  \
              .gain_high = 1.1e-6f,                                                                 \
          },                                                                                        \
      .velocity = {.kind = VELOCITY_TRACKING, .bandwidth_rad_s = 1000.0f},                          \
      .law = {.stiffness_max = 60000.0f, .damping_max = 1000.0f, .lead_s = 0.0f},                   \
      .limits =                                                                                     \
          {                                                                                         \
              .force_max = 100.0f,                                                                  \
              .slew_max = 5000.0f,                                                                  \
              .velocity_soft = 0.15f,                                                               \
              .velocity_max = 0.20f,                                                                \
              .velocity_fault = 0.30f,                                                              \
              .tank_J = 0.0f, /* it lifts a lid: it may give energy */                              \
              .thermal = {.rated_A = 2.0f, .peak_A = 4.0f, .window_s = 30.0f, .derate_from = 0.5f}, \
          },                                                                                        \
      .current =                                                                                    \
          {                                                                                         \
              .resistance_ohm = 1.5f,                                                               \
              .inductance_H = 0.00015f,                                                             \
              .bandwidth_rad_s = 600.0f,                                                            \
              .emf_V_per_velocity = 28.0f,                                                          \
          },                                                                                        \
      .current_divider = 5,                                                                         \
  }

static const struct actuator actuators[] = {ACTUATOR("left", 0), ACTUATOR("right", 1)};

const struct app app = {
    .name = "lid_hinge",
    .channels = channels,
    .channel_count = 2,
    .actuators = actuators,
    .actuator_count = 2,
    .link_divider = 10,
    .loop_divider = 25,
    .loop = main_loop,
    .volt_per_count = 66.0f / (float)ADC_COUNTS,
    .supply_min_V = 10.0f,
    .supply_max_V = 14.0f,
    .skew_max = 0.0015f,
    .safety =
        {
            .ramp_us = 500000,
            .brake_us = 300000, /* the lid sinks slowly instead of falling */
            .sensor_stale_us = 3000,
            .sensor_decayed_us = 10000,
            .sensor_lost_us = 20000,
        },
};
