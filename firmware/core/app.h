/* An application: everything that distinguishes a piano key from a steering wheel, as one constant table.
 *
 * firmware/apps/<name>.c defines `const struct app app`; exactly one of them is linked. */
#ifndef APP_H
#define APP_H

#include "acquisition.h"
#include "current_pi.h"
#include "hal.h"
#include "limits.h"
#include "local_law.h"
#include "safety.h"
#include "velocity.h"

/* One actuator with the sensors that close its loop. */
struct actuator {
  const char *name;
  const char *unit; /* of its force: "N" or "N.m" */
  enum protocol_kind kind;
  float force_per_ampere; /* N/A or N m/A */
  float ampere_per_count; /* current sensor */
  struct position_config position;
  struct velocity_config velocity;
  struct local_law_config law;
  struct limits_config limits;
  struct current_pi_config current;
  uint8_t current_divider; /* current loop at FW_FAST_HZ / divider: 1 = 10 kHz, 5 = 2 kHz */
};

/* What an application's own main loop sees and may ask for; forces pass through every limit like those of the host. */
struct app_io {
  float dt_s;
  float q[FW_ACTUATORS_MAX];
  float qd[FW_ACTUATORS_MAX];
  float force[FW_ACTUATORS_MAX]; /* in: zero; out: added to the force of the local law */
};

struct app {
  const char *name; /* at most 15 characters */
  const struct channel *channels;
  unsigned channel_count; /* <= FW_CHANNELS_MAX */
  const struct actuator *actuators;
  unsigned actuator_count; /* <= FW_ACTUATORS_MAX */
  uint16_t link_divider;   /* state frames at FW_FAST_HZ / divider: 10 = 1 kHz */
  uint16_t loop_divider;   /* own main loop at FW_FAST_HZ / divider: 25 = 400 Hz; 0 = none */
  float volt_per_count;    /* supply sensor */
  float supply_min_V, supply_max_V;
  float skew_max; /* largest |q0 - q1| of two coupled actuators; 0 = independent */
  void (*loop)(struct app_io *io);
  struct safety_config safety; /* watchdog_us, actuators and law are filled in by fw_init() */
};

extern const struct app app;

#endif
