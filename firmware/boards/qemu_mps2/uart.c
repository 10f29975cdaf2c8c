#include "uart.h"

#include "cortex_m4.h"
#include "mps2.h"

#define RING 4096u /* a power of two; eight of the largest frames */

static volatile uint8_t ring[RING];
static volatile uint32_t head; /* written by the interrupt only */
static volatile uint32_t tail; /* written by the reader only */

void uart_init(void) {
  UART0_BAUDDIV = 16u;
  UART0_CTRL = UART_CTRL_TX | UART_CTRL_RX | UART_CTRL_RX_IRQ;
  /* Before the fast loop: QEMU sends no second byte until the first was read, and ten fast periods in a row are long. */
  cortex_irq_enable(IRQ_UART0_RX, PRIORITY_BYTES);
}

bool uart_isr(void) {
  /* One interrupt, one byte, and no questions: each access of a register takes QEMU's big lock. */
  UART0_INTCLEAR = UART_INT_RX;
  const uint8_t byte = (uint8_t)UART0_DATA;
  if (head - tail < RING) {
    ring[head % RING] = byte;
    head = head + 1u;
  }
  return byte == 0u;
}

size_t uart_read(uint8_t *to, size_t most) {
  size_t n = 0u;
  while (n < most && tail != head) {
    to[n++] = ring[tail % RING];
    tail = tail + 1u;
  }
  return n;
}

bool uart_write(const uint8_t *from, size_t length) {
  /* QEMU takes each byte at once unless nobody reads the other side. Asking it before each would double the work. */
  UART0_STATE = UART_STATE_TX_OVERRUN;
  for (size_t i = 0; i < length; i++) {
    UART0_DATA = from[i];
  }
  return (UART0_STATE & UART_STATE_TX_OVERRUN) == 0u;
}
