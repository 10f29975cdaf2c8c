/* UART 0 with a ring for what arrives; what leaves goes straight to the register, which QEMU never keeps waiting. */
#ifndef UART_H
#define UART_H

#include <stddef.h>
#include <stdint.h>

void uart_init(void);
void uart_isr(void);
size_t uart_read(uint8_t *to, size_t most);
/* Return how many bytes were taken: all, unless nobody reads the other side. */
size_t uart_write(const uint8_t *from, size_t length);

#endif
