/* See plant.h: finds the plant of an application, and its numbers by name. */
#include "plant.h"

#include <math.h>
#include <string.h>

#include "parts.h"

static const struct plant_type *const types[] = {&plant_lever, &plant_column, &plant_screw};

#define COMMON(name, member) {name, offsetof(struct common, member)}
static const struct field common_fields[] = {COMMON("t_s", t_s),
                                             COMMON("supply_V", supply_V),
                                             COMMON("adc_noise", adc_noise),
                                             COMMON("current_noise_A", current_noise_A),
                                             COMMON("dropout_rate_hz", dropout_rate_hz),
                                             COMMON("dropout_s", dropout_s),
                                             COMMON("silent_mask", silent_mask),
                                             COMMON("frozen_mask", frozen_mask),
                                             COMMON("estop", estop),
                                             COMMON("driver_fault", driver_fault),
                                             COMMON("actuator0.current_A", winding[0].current_A),
                                             COMMON("actuator0.resistance_ohm", winding[0].resistance_ohm),
                                             COMMON("actuator0.inductance_H", winding[0].inductance_H),
                                             COMMON("actuator0.force_per_ampere", winding[0].force_per_ampere),
                                             COMMON("actuator0.broken", winding[0].broken),
                                             COMMON("actuator1.current_A", winding[1].current_A),
                                             COMMON("actuator1.resistance_ohm", winding[1].resistance_ohm),
                                             COMMON("actuator1.inductance_H", winding[1].inductance_H),
                                             COMMON("actuator1.force_per_ampere", winding[1].force_per_ampere),
                                             COMMON("actuator1.broken", winding[1].broken),
                                             COMMON("hand.mode", hand.mode),
                                             COMMON("hand.stiffness", hand.stiffness),
                                             COMMON("hand.damping", hand.damping),
                                             COMMON("hand.drive_stiffness", hand.drive_stiffness),
                                             COMMON("hand.drive_damping", hand.drive_damping),
                                             COMMON("hand.target", hand.target),
                                             COMMON("hand.speed", hand.speed),
                                             COMMON("hand.dip", hand.dip),
                                             COMMON("hand.hold_s", hand.hold_s),
                                             COMMON("hand.count", hand.count),
                                             COMMON("hand.move_s", hand.move_s),
                                             COMMON("hand.low", hand.low),
                                             COMMON("hand.rest_s", hand.rest_s),
                                             COMMON("hand.rise_s", hand.rise_s),
                                             COMMON("hand.period_s", hand.period_s),
                                             COMMON("hand.rate_hz", hand.rate_hz),
                                             COMMON("hand.push", hand.push),
                                             COMMON("hand.one_sided", hand.one_sided),
                                             COMMON("hand.start_s", hand.start_s),
                                             COMMON("hand.force", hand.force),
                                             {NULL, 0}};

int plant_init(struct plant *plant, const char *app_name, uint64_t seed) {
  unsigned i;
  memset(plant, 0, sizeof *plant);
  for (i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strcmp(types[i]->app, app_name) == 0) {
      plant->type = types[i];
      plant->type->init(plant->state.bytes, seed);
      return 0;
    }
  }
  return -1;
}

void plant_step(struct plant *plant, double dt_s, const float duty[FW_ACTUATORS_MAX],
                const enum hal_gate gate[FW_ACTUATORS_MAX]) {
  plant->type->step(plant->state.bytes, dt_s, duty, gate);
}

void plant_sample(struct plant *plant, struct hal_sample *sample) {
  plant->type->sample(plant->state.bytes, sample);
}

void plant_calibration(const struct plant *plant, struct calibration *calibration) {
  memset(calibration, 0, sizeof *calibration);
  calibration->magic = CALIBRATION_MAGIC;
  plant->type->calibration(plant->state.bytes, calibration);
}

/* Return where the number of this name stands in the state, or -1. */
static ptrdiff_t find(const struct plant *plant, const char *name) {
  const struct field *const tables[] = {plant->type->fields, common_fields};
  unsigned i;
  for (i = 0; i < 2; i++) {
    const struct field *field;
    for (field = tables[i]; field->name != NULL; field++) {
      if (strcmp(field->name, name) == 0) {
        return (ptrdiff_t)field->offset;
      }
    }
  }
  return -1;
}

int plant_set(struct plant *plant, const char *name, double value) {
  const ptrdiff_t offset = find(plant, name);
  if (offset < 0) {
    return -1;
  }
  memcpy(plant->state.bytes + offset, &value, sizeof value);
  return 0;
}

double plant_get(const struct plant *plant, const char *name) {
  const ptrdiff_t offset = find(plant, name);
  double value = NAN;
  if (offset >= 0) {
    memcpy(&value, plant->state.bytes + offset, sizeof value);
  }
  return value;
}
