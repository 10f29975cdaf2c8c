#include "power.h"

#include "pins.h"
#include "stm32f4.h"

#define TIMER_HZ 168000000u
#define PWM_HZ 20000u
#define PWM_TOP (TIMER_HZ / (2u * PWM_HZ))

/* Half-bridge inputs A8..A11 (TIM1 channels 1 to 4), break and emergency stop B12, enables C6 and C7, faults C8 and C9. */
enum { PIN_BREAK = 12, PIN_ENABLE0 = 6, PIN_FAULT0 = 8 };

static enum hal_gate gates[FW_ACTUATORS_MAX];

void power_init(void) {
  for (unsigned pin = 8u; pin <= 11u; pin++) {
    pin_alternate(GPIOA, pin, 1u);
  }
  pin_alternate(GPIOB, PIN_BREAK, 1u);
  pin_pull_up(GPIOB, PIN_BREAK);
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    power_gate(i, HAL_GATE_OFF);
    pin_output(GPIOC, PIN_ENABLE0 + i);
    pin_pull_up(GPIOC, PIN_FAULT0 + i);
  }
  TIM1->ARR = PWM_TOP;
  TIM1->CCMR1 = TIM_CCMR_PWM1_PRELOAD;
  TIM1->CCMR2 = TIM_CCMR_PWM1_PRELOAD;
  TIM1->CCER = TIM_CCER_ALL_OUTPUTS;
  /* The emergency stop contact opens: the pull-up would read high, so the break input is active high there. */
  TIM1->BDTR = TIM_BDTR_BREAK | TIM_BDTR_BREAK_HIGH | TIM_BDTR_OUTPUTS;
  TIM1->CR1 = TIM_CR1_CENTRE | TIM_CR1_ARPE | TIM_CR1_CEN;
  TIM1->EGR = TIM_EGR_UG;
}

void power_duty(unsigned actuator, float duty) {
  /* Both half bridges move, in opposite directions: the current ripples at twice the frequency. */
  const float half = gates[actuator] == HAL_GATE_DRIVE ? 0.5f * duty : 0.0f;
  const float centre = gates[actuator] == HAL_GATE_DRIVE ? 0.5f : 0.0f;
  TIM1->CCR[2u * actuator] = (uint32_t)((centre + half) * (float)PWM_TOP);
  TIM1->CCR[2u * actuator + 1u] = (uint32_t)((centre - half) * (float)PWM_TOP);
}

void power_gate(unsigned actuator, enum hal_gate gate) {
  gates[actuator] = gate;
  if (gate != HAL_GATE_DRIVE) {
    power_duty(actuator, 0.0f); /* both low-side switches: shorted while enabled */
  } else if (!power_estop()) {
    TIM1->BDTR |= TIM_BDTR_OUTPUTS; /* a break cleared it, and only an arming after the stop comes here */
  }
  pin_write(GPIOC, PIN_ENABLE0 + actuator, gate != HAL_GATE_OFF);
}

bool power_estop(void) { return pin_read(GPIOB, PIN_BREAK); }

bool power_driver_fault(void) { return !pin_read(GPIOC, PIN_FAULT0) || !pin_read(GPIOC, PIN_FAULT0 + 1u); }
