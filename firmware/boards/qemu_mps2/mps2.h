/* Registers of the Arm MPS2 board with image AN386 (Cortex-M4F), as QEMU's machine mps2-an386 models them: only what
 * this firmware touches. */
#ifndef MPS2_H
#define MPS2_H

#include <stdint.h>

#define MPS2_SYSCLK_HZ 25000000u

#define MPS2_REG(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Timer 0 of the CMSDK: counts down from RELOAD at the system clock, then interrupts. */
#define TIMER0_CTRL MPS2_REG(0x40000000u)
#define TIMER0_VALUE MPS2_REG(0x40000004u)
#define TIMER0_RELOAD MPS2_REG(0x40000008u)
#define TIMER0_INTCLEAR MPS2_REG(0x4000000Cu)
#define TIMER_CTRL_ENABLE 0x1u
#define TIMER_CTRL_IRQ 0x8u

/* UART 0 of the CMSDK. QEMU has no baud pacing; the divisor must only be at least 16. */
#define UART0_DATA MPS2_REG(0x40004000u)
#define UART0_STATE MPS2_REG(0x40004004u)
#define UART0_CTRL MPS2_REG(0x40004008u)
#define UART0_INTCLEAR MPS2_REG(0x4000400Cu)
#define UART0_BAUDDIV MPS2_REG(0x40004010u)
#define UART_STATE_TX_OVERRUN 0x4u /* written as 1 it is cleared */
#define UART_CTRL_TX 0x1u
#define UART_CTRL_RX 0x2u
#define UART_CTRL_RX_IRQ 0x8u
#define UART_INT_RX 0x2u

/* The FPGA's free counter: one count each (PRESCALE + 1) periods of 25 MHz. It follows the host's clock, which the
 * count of timer interrupts does not (late ones merge), so it is the only source of time here. */
#define FPGA_COUNTER_HZ 25000000u
#define FPGA_COUNTER MPS2_REG(0x40028018u)
#define FPGA_PRESCALE MPS2_REG(0x4002801Cu)

#define LAN9118_BASE 0x40200000u

/* 16 MB of PSRAM, which QEMU can share with a file on the host: the mailbox lives at its start. */
#define PSRAM_BASE 0x21000000u

enum mps2_irq {
  IRQ_UART0_RX = 0,
  IRQ_TIMER0 = 8,
  IRQ_ETHERNET = 13,
  MPS2_IRQS = 32
};

#endif
