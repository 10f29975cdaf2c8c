#include "clock.h"

#include "cortex_m4.h"
#include "mps2.h"

void clock_init(uint32_t interrupt_hz) {
  FPGA_PRESCALE = FPGA_COUNTER_HZ / 1000000u - 1u;
  FPGA_COUNTER = 0u;
  TIMER0_RELOAD = MPS2_SYSCLK_HZ / interrupt_hz - 1u;
  TIMER0_VALUE = MPS2_SYSCLK_HZ / interrupt_hz - 1u;
  TIMER0_CTRL = TIMER_CTRL_ENABLE | TIMER_CTRL_IRQ;
  cortex_irq_enable(IRQ_TIMER0, PRIORITY_FAST);
}

void clock_acknowledge(void) { TIMER0_INTCLEAR = 1u; }

uint32_t clock_us(void) { return FPGA_COUNTER; }

uint32_t clock_due(struct clock_pace *pace, uint32_t now_us) {
  const int32_t late_us = (int32_t)(now_us - pace->next_us);
  if (late_us < 0) {
    return 0u;
  }
  uint32_t due = (uint32_t)late_us / pace->period_us + 1u;
  pace->next_us += due * pace->period_us;
  if (due > pace->most) {
    pace->dropped += due - pace->most;
    due = pace->most;
  }
  return due;
}
