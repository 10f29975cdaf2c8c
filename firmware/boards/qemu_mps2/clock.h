/* Time from the free counter, and the interrupt that paces the fast loop.
 *
 * Late timer interrupts merge under QEMU, so their number says nothing: each interrupt asks here how many fast periods
 * are due by the counter, and runs them all. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

void clock_init(uint32_t interrupt_hz);
void clock_acknowledge(void);
uint32_t clock_us(void);

/* Periods due since the last call. More than `most` behind: the rest is dropped and counted. */
struct clock_pace {
  uint32_t period_us;
  uint32_t most;
  uint32_t next_us;
  uint32_t dropped;
};
uint32_t clock_due(struct clock_pace *pace, uint32_t now_us);

#endif
