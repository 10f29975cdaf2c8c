#include "uart.h"

#include "cortex_m4.h"
#include "mps2.h"

#define RING 4096u /* a power of two; eight of the largest frames */
#define PATIENCE 10000u

static volatile uint8_t ring[RING];
static volatile uint32_t head; /* written by the interrupt only */
static volatile uint32_t tail; /* written by the reader only */

void uart_init(void) {
  UART0_BAUDDIV = 16u;
  UART0_CTRL = UART_CTRL_TX | UART_CTRL_RX | UART_CTRL_RX_IRQ;
  cortex_irq_enable(IRQ_UART0_RX, PRIORITY_LINK);
}

void uart_isr(void) {
  UART0_INTCLEAR = UART_INT_RX;
  while (UART0_STATE & UART_STATE_RX_FULL) {
    const uint8_t byte = (uint8_t)UART0_DATA;
    if (head - tail < RING) {
      ring[head % RING] = byte;
      head = head + 1u;
    }
  }
}

size_t uart_read(uint8_t *to, size_t most) {
  size_t n = 0u;
  while (n < most && tail != head) {
    to[n++] = ring[tail % RING];
    tail = tail + 1u;
  }
  return n;
}

size_t uart_write(const uint8_t *from, size_t length) {
  for (size_t i = 0; i < length; i++) {
    for (uint32_t wait = 0; (UART0_STATE & UART_STATE_TX_FULL) != 0u; wait++) {
      if (wait > PATIENCE) {
        return i; /* nobody reads the host's side: the rest of the frame is lost, and COBS finds the next one */
      }
    }
    UART0_DATA = from[i];
  }
  return length;
}
