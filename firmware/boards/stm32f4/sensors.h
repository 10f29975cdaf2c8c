/* Sensors: ADC 1 converts what the application has, over and over, into memory; encoders count in timers 3 and 4; an
 * absolute encoder answers on SPI 2. */
#ifndef SENSORS_H
#define SENSORS_H

#include "app.h"
#include "hal.h"

void sensors_init(const struct app *app);
void sensors_read(struct hal_sample *sample);

#endif
