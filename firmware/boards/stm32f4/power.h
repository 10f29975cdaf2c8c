/* Power stages: two H-bridges on timer 1 (20 kHz, centre aligned), each with an enable pin. The emergency stop is wired
 * to the timer's break input too, which takes the outputs away without any software. */
#ifndef POWER_H
#define POWER_H

#include "hal.h"

void power_init(void);
void power_duty(unsigned actuator, float duty);
void power_gate(unsigned actuator, enum hal_gate gate);
bool power_estop(void);        /* the input itself, open contact = active */
bool power_driver_fault(void); /* a bridge pulls its fault pin low */

#endif
