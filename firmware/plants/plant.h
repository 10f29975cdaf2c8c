/* A simulated device behind the firmware: actuator, mechanics, sensors and the hand that touches it.
 *
 * One plant per application, found by the application's name. Seeded and deterministic: the same seed and the same
 * duties give the same counts. Uses double and <math.h>: it runs on a host, never on the device. */
#ifndef PLANT_H
#define PLANT_H

#include "../core/hal.h"

#define PLANT_STATE_BYTES 4096

/* Opaque storage, so that a board can keep it static or in shared memory. */
struct plant {
  const struct plant_type *type;
  union {
    double align;
    unsigned char bytes[PLANT_STATE_BYTES];
  } state;
};

/* Return 0, or -1 if no plant belongs to this application. */
int plant_init(struct plant *plant, const char *app_name, uint64_t seed);

/* Advance by dt_s (split inside as the plant needs) with these duties and gates. */
void plant_step(struct plant *plant, double dt_s, const float duty[FW_ACTUATORS_MAX],
                const enum hal_gate gate[FW_ACTUATORS_MAX]);

/* Convert all sensors, as hal_sample() must. */
void plant_sample(struct plant *plant, struct hal_sample *sample);

/* The plant's true calibration, as hal_calibration() must deliver it. */
void plant_calibration(const struct plant *plant, struct calibration *calibration);

/* Parameters and signals by name ("hand.stiffness", "actuator0.current_A", ...). Set returns 0, or -1 if unknown;
 * get returns NaN if unknown. */
int plant_set(struct plant *plant, const char *name, double value);
double plant_get(const struct plant *plant, const char *name);

#endif
