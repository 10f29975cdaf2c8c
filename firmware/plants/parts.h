/* Parts that every plant is made of: chance, a winding, converters, the hand. */
#ifndef PARTS_H
#define PARTS_H

#include <stddef.h>

#include "plant.h"

/* ---- chance: seeded, the same on every machine ---- */
struct chance {
  uint64_t state;
};
double chance_uniform(struct chance *chance); /* 0..1 */
double chance_normal(struct chance *chance);  /* mean 0, deviation 1 (sum of four uniform numbers) */

/* ---- winding of a voice coil or DC motor, with its power stage ---- */
struct winding {
  double resistance_ohm;
  double inductance_H;
  double force_per_ampere; /* and back EMF per velocity */
  double current_A;
  double broken; /* 1: wire cut */
};

/* Advance the current; return the force. OFF lets it run out through the diodes, BRAKE shorts the winding. */
double winding_step(struct winding *winding, double dt_s, double supply_V, double duty, enum hal_gate gate,
                    double velocity);

/* ---- the hand: an impedance that follows a profile, or nothing ---- */
enum hand_mode {
  HAND_RELEASED = 0,
  HAND_IMPEDANCE = 1, /* spring and damper to hand.target */
  HAND_PROFILE = 2, /* stiff drive, hand.speed over hand.dip, hold, and back: the linear motor of the paper's Fig. 23 */
  HAND_DOUBLE = 3,  /* double keystroke: down, half way up, down again, up */
  HAND_FORCE = 4,   /* constant hand.push */
  HAND_STROKES = 5, /* stiff drive: hand.count strokes of hand.move_s down to hand.dip, held, and back up to hand.low */
  HAND_BLOWS = 6,   /* a pianist's force: hand.count pulses of hand.push, each hand.period_s after the other */
  HAND_SINE = 7     /* stiff drive: up and down over hand.dip, hand.rate_hz times a second */
};

struct hand {
  double mode;
  double stiffness, damping;             /* of a finger or of arms */
  double drive_stiffness, drive_damping; /* of the stiff drive */
  double target;
  double speed, dip, hold_s;
  double count, move_s, low, rest_s; /* strokes: how many, how quick, how far up between them, and how long there */
  double rise_s, period_s;           /* blows: how the force grows, from one to the next */
  double rate_hz;
  double push;
  double one_sided; /* 1: it can push, not pull */
  double start_s;
  double force; /* out: on the device */
};

/* Return the force on the device at position x, velocity v; t_s since the plant began. */
double hand_step(struct hand *hand, double t_s, double x, double v);

/* ---- what all plants have ---- */
struct common {
  struct chance chance;
  double t_s;
  double supply_V;
  double adc_noise;       /* counts of 12 bit, of one conversion */
  double current_noise_A; /* of the current sensor, before its 16 conversions are summed */
  double dropout_rate_hz; /* of each channel */
  double dropout_s;
  double silent_mask; /* bit per channel: no sample */
  double frozen_mask; /* bit per channel: repeats the last sample */
  double estop, driver_fault;
  double silent_until_s[FW_CHANNELS_MAX];
  int32_t last[FW_CHANNELS_MAX];
  unsigned actuators;
  double ampere_per_count;
  struct winding winding[FW_ACTUATORS_MAX];
  struct hand hand;
};

void common_init(struct common *common, uint64_t seed);
/* Sum of 16 conversions of 12 bit of a voltage between 0 and 3.3 V. */
int32_t common_adc(struct common *common, double volt);
/* Fill in currents, supply and inputs; drop and freeze channels as asked. */
void common_sample(struct common *common, struct hal_sample *sample, unsigned channels);

/* Velocity after dt with this force, dry friction that can hold, and viscous friction. */
double slide(double v, double force, double mass, double coulomb, double viscous, double dt_s);

/* ---- a kind of plant, and its numbers by name ---- */
struct field {
  const char *name;
  size_t offset; /* of a double in the state */
};

struct plant_type {
  const char *app;
  void (*init)(void *state, uint64_t seed);
  void (*step)(void *state, double dt_s, const float *duty, const enum hal_gate *gate);
  void (*sample)(void *state, struct hal_sample *sample);
  void (*calibration)(const void *state, struct calibration *calibration);
  const struct field *fields; /* ended by a NULL name; `struct common` is the first member of every state */
};

extern const struct plant_type plant_lever;
extern const struct plant_type plant_column;
extern const struct plant_type plant_screw;

#define PLANT_STEPS 10u /* inside a fast period: stops and currents need 10 us */

#endif
