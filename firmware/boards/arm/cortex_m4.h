/* The part of every Cortex-M4F that the boards here use: interrupts, exceptions, floating point, sleep. */
#ifndef CORTEX_M4_H
#define CORTEX_M4_H

#include <stdint.h>

#define SCB_ICSR (*(volatile uint32_t *)0xE000ED04u)
#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define SCB_SHPR3 (*(volatile uint32_t *)0xE000ED20u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)
#define NVIC_ISER(n) (*(volatile uint32_t *)(0xE000E100u + 4u * (n)))
#define NVIC_IPR(n) (*(volatile uint8_t *)(0xE000E400u + (n)))

#define SCB_ICSR_PENDSVSET (1u << 28)
#define SCB_AIRCR_RESET 0x05FA0004u
#define SCB_CPACR_FPU (0xFu << 20)

/* Priorities, smaller is more urgent: taking single bytes, the fast loop, links with whole frames, the main loop. */
enum cortex_priority { PRIORITY_BYTES = 0x00, PRIORITY_FAST = 0x20, PRIORITY_LINK = 0x40, PRIORITY_MAIN = 0xE0 };

static inline void cortex_irq_enable(uint32_t irq, uint8_t priority) {
  NVIC_IPR(irq) = priority;
  NVIC_ISER(irq >> 5) = 1u << (irq & 31u);
}

static inline void cortex_pendsv_priority(uint8_t priority) {
  SCB_SHPR3 = (SCB_SHPR3 & ~0x00FF0000u) | ((uint32_t)priority << 16);
}

static inline void cortex_pend_main(void) { SCB_ICSR = SCB_ICSR_PENDSVSET; }

static inline uint32_t cortex_irq_save(void) {
  uint32_t primask;
  __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask) : : "memory");
  return primask;
}

static inline void cortex_irq_restore(uint32_t primask) {
  __asm volatile("msr primask, %0" : : "r"(primask) : "memory");
}

static inline void cortex_wait(void) { __asm volatile("wfi" : : : "memory"); }

static inline void cortex_barrier(void) { __asm volatile("dsb\n\tisb" : : : "memory"); }

#endif
