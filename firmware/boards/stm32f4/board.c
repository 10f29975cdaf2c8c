/* The board: STM32F405/407 at 168 MHz, with the pins that pins.h, power.c, sensors.c and serial.c name.
 *
 * TIM6 interrupts at the fast rate; the main loop is PendSV, at the lowest priority. TIM5 counts microseconds. */
#include "cortex_m4.h"
#include "fw.h"
#include "pins.h"
#include "power.h"
#include "sensors.h"
#include "serial.h"
#include "startup.h"
#include "stm32f4.h"

#define PATIENCE 1000000u
#define TIMER_APB1_HZ 84000000u
#define LAMP 13u /* C13, lights when low */

extern const struct calibration linker_calibration;

/* 8 MHz of the crystal (or 16 MHz of the internal oscillator, if there is none) to 168 MHz. */
static void clocks_init(void) {
  RCC->CR |= RCC_CR_HSEON;
  uint32_t wait = 0u;
  while (!(RCC->CR & RCC_CR_HSERDY) && wait < PATIENCE) {
    wait++;
  }
  const bool crystal = (RCC->CR & RCC_CR_HSERDY) != 0u;
  const uint32_t divide_to_2MHz = crystal ? 4u : 8u;
  RCC->PLLCFGR = divide_to_2MHz | 168u << 6 | 0u << 16 | 7u << 24 | (crystal ? RCC_PLLCFGR_HSE : 0u);
  RCC->CR |= RCC_CR_PLLON | (crystal ? RCC_CR_CSSON : 0u);
  while (!(RCC->CR & RCC_CR_PLLRDY)) {
  }
  FLASH->ACR = FLASH_ACR_5_WAITS_CACHED;
  RCC->CFGR = RCC_CFGR_PPRE1_4 | RCC_CFGR_PPRE2_2 | RCC_CFGR_SW_PLL;
  while ((RCC->CFGR & (3u << 2)) != RCC_CFGR_SWS_PLL) {
  }
  RCC->AHB1ENR |= RCC_AHB1_GPIO_ABC | RCC_AHB1_DMA;
  RCC->APB1ENR |= RCC_APB1_TIM3_TO_6 | RCC_APB1_SPI2 | RCC_APB1_USART2;
  RCC->APB2ENR |= RCC_APB2_TIM1 | RCC_APB2_ADC1;
  cortex_barrier();
}

static void watchdog_init(void) {
  IWDG->KR = IWDG_UNLOCK;
  IWDG->PR = 0u;    /* 32 kHz / 4 */
  IWDG->RLR = 160u; /* 20 ms: twice the time in which set-points may cease */
  IWDG->KR = IWDG_KICK;
  IWDG->KR = IWDG_START;
}

void hal_init(void) {
  clocks_init();
  power_init(); /* first of all: its pins must not float */
  pin_output(GPIOC, LAMP);
  TIM5->PSC = TIMER_APB1_HZ / 1000000u - 1u;
  TIM5->ARR = 0xFFFFFFFFu;
  TIM5->EGR = TIM_EGR_UG;
  TIM5->CR1 = TIM_CR1_CEN;
  serial_init();
  sensors_init(&app);
  watchdog_init();
}

uint32_t hal_time_us(void) { return TIM5->CNT; }

void hal_sample(struct hal_sample *sample) {
  sensors_read(sample);
  sample->estop = power_estop();
  sample->driver_fault = power_driver_fault();
}

void hal_pwm_set(unsigned actuator, float duty) { power_duty(actuator, duty); }

void hal_gate(unsigned actuator, enum hal_gate gate) { power_gate(actuator, gate); }

size_t hal_link_read(uint8_t *bytes, size_t size) { return serial_read(bytes, size); }

bool hal_link_write(const uint8_t *bytes, size_t size) { return serial_write(bytes, size); }

bool hal_link_is_datagram(void) { return false; }

bool hal_calibration(struct calibration *calibration) {
  *calibration = linker_calibration;
  return calibration->magic == CALIBRATION_MAGIC; /* erased flash reads as ones */
}

uint32_t hal_watchdog_us(void) { return SAFETY_WATCHDOG_US; }

uint32_t hal_irq_save(void) { return cortex_irq_save(); }

void hal_irq_restore(uint32_t saved) { cortex_irq_restore(saved); }

void hal_wdt_kick(void) { IWDG->KR = IWDG_KICK; }

void hal_idle(void) { cortex_wait(); }

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  for (unsigned i = 0; i < FW_UID_BYTES; i++) {
    uid[i] = UNIQUE_ID[i];
  }
}

void hal_fault(unsigned number) { pin_write(GPIOC, LAMP, number == 0u); }

/* Anything that must not happen: power off, then wait for the watchdog's reset. */
static void stop(void) {
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    power_gate(i, HAL_GATE_OFF);
  }
  hal_fault(1u);
  for (;;) {
  }
}

static void fast_interrupt(void) {
  TIM6->SR = ~TIM_SR_UIF;
  if (fw_fast_isr()) {
    cortex_pend_main();
  }
}

static void link_interrupt(void) {
  serial_isr();
  cortex_pend_main();
}

/* At the lowest priority, whether a main period or a frame asked for it. */
static void main_interrupt(void) {
  fw_main_isr();
  fw_link_poll();
}

__attribute__((section(".vectors"), used)) static const vector vectors[16 + STM32F4_IRQS] = {
    CORTEX_VECTORS(linker_stack_top, stop, stop, main_interrupt),
    [16 + IRQ_USART2] = link_interrupt,
    [16 + IRQ_TIM6] = fast_interrupt,
};

int main(void) {
  hal_init();
  fw_init(&app);
  cortex_pendsv_priority(PRIORITY_MAIN);
  TIM6->ARR = TIMER_APB1_HZ / FW_FAST_HZ - 1u;
  TIM6->DIER = TIM_DIER_UIE;
  cortex_irq_enable(IRQ_TIM6, PRIORITY_FAST);
  cortex_irq_enable(IRQ_USART2, PRIORITY_LINK);
  TIM6->CR1 = TIM_CR1_CEN;
  for (;;) {
    hal_idle();
  }
}
