/* The simulated world behind a device that is a process: the plant, faults of its sensors, and commands that change
 * either while it runs. */
#ifndef POSIX_WORLD_H
#define POSIX_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hal.h"
#include "plant.h"

struct world {
  struct plant plant;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  struct hal_sample sample;            /* of this fast period */
  uint32_t off_us;                     /* device time at which power stage 0 last ceased to drive */
  uint32_t frozen;                     /* bit per channel: repeats its last value */
  uint32_t silent;                     /* bit per channel: not fresh */
  int32_t jump[FW_CHANNELS_MAX];       /* counts added */
  bool estop;
  bool driver_fault;
  double stall_s;                      /* the loop is to stand still for this long, once */
  bool quit;
};

/* Returns false if there is no plant for the application. */
bool world_init(struct world *world, const char *app_name, uint64_t seed);

/* Advance by one fast period and sample the sensors. */
void world_step(struct world *world);

/* Carry out one command, e.g. "freeze 1 on", and write the answer (a line, perhaps empty) into `answer`. Returns false
 * if it is not understood; the answer then says so. */
bool world_command(struct world *world, const char *text, char *answer, size_t room);

#endif
