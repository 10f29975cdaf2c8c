/* Velocity: from a coil (spikes refused, offset removed with the help of the position) or from an encoder (tracking loop). */
#ifndef VELOCITY_H
#define VELOCITY_H

#include <stdbool.h>
#include <stdint.h>

#include "hal.h"

enum velocity_kind {
  VELOCITY_COIL = 1,    /* v = gain * (u - offset) */
  VELOCITY_TRACKING = 2 /* second-order observer on the position */
};

struct velocity_config {
  enum velocity_kind kind;
  uint8_t channel;           /* of the coil */
  float gain_low, gain_high; /* of a coil; calibrated gain outside: not a calibration of this device */
  float ratio;               /* actuator velocity per coil velocity */
  float bandwidth_rad_s;     /* observer; for a coil: below it the position decides, above it the coil */
  float step_max;            /* a coil sample further than this from the last is a spike */
  float disagree_max;        /* coil and position may differ so much for disagree_us */
  uint32_t disagree_us;
};

struct velocity {
  struct velocity_config config;
  float q_hat;
  float qd;
  float bias; /* of the coil, learned */
  float coil_last;
  uint8_t spike_run;
  bool started;
  bool spike; /* the last coil sample was refused */
  uint32_t disagree_for_us;
};

void velocity_init(struct velocity *velocity, const struct velocity_config *config);

/* Advance by dt with position q and, for a coil, its velocity reading; return qd. */
float velocity_step(struct velocity *velocity, float q, float coil_velocity, float dt_s);

/* True if what was calibrated for a coil is finite and within what this device can have. */
bool velocity_calibrated(const struct velocity_config *config, const struct calibration *calibration);

/* True if coil and position have disagreed for longer than allowed. */
bool velocity_implausible(const struct velocity *velocity);

#endif
