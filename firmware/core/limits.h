/* The limit chain of one actuator, in this order: finite, passivity, velocity, thermal, slew, clamp.
 *
 * Every force passes it, wherever it comes from, on its way to the current loop. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdint.h>

#include "protocol.h"
#include "thermal.h"

struct limits_config {
  float force_max;      /* N or N m */
  float slew_max;       /* N/s or N m/s */
  float velocity_soft;  /* from here a force along the motion fades out ... */
  float velocity_max;   /* ... and is zero */
  float velocity_fault; /* latched fault above this */
  float tank_J;         /* energy the device may give before it has received any; 0 = no bound (it lifts loads) */
  float tank_refill_W;  /* and the power it may give for ever */
  struct thermal_config thermal;
};

struct limits {
  struct limits_config config;
  struct thermal thermal;
  float tank_J;    /* left */
  float force;     /* of the last period */
  uint8_t limited; /* what cut the last force: bits of enum protocol_limited */
};

void limits_init(struct limits *limits, const struct limits_config *config);

/* Return the force that may be applied. gain (0..1) scales what is asked for; force_per_ampere converts the thermal limit. */
float limits_apply(struct limits *limits, float force, float gain, float qd, float force_per_ampere, float dt_s);

/* Outputs are off: the next force starts again from zero. The thermal model is left as it is. */
void limits_off(struct limits *limits);

#endif
