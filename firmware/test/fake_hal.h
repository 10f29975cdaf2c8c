/* A board made of variables, for unit tests: what the core reads is set here, what it drives is seen here. */
#ifndef FAKE_HAL_H
#define FAKE_HAL_H

#include "fw.h"

struct fake_hal {
  uint32_t now_us;
  uint32_t took_us; /* time that passes between two questions for the time */
  struct hal_sample sample;
  struct calibration calibration;
  bool stored; /* a calibration is */
  uint32_t watchdog_us;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  unsigned fault;
  uint8_t inbox[512];
  size_t inbox_size;
  unsigned sent;
  bool datagrams;
  int masked; /* depth of hal_irq_save() */
};

extern struct fake_hal fake;

/* A healthy, calibrated piano key at rest, armed at will. Defined with the tests that use it. */
void fake_reset(void);

#endif
