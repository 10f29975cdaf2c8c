/* UART 0 with a ring for what arrives; what leaves goes straight to the register, which QEMU never keeps waiting. */
#ifndef UART_H
#define UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void uart_init(void);
/* Take the byte that has arrived; true if it ends a frame (is zero). */
bool uart_isr(void);
size_t uart_read(uint8_t *to, size_t most);
/* False if bytes were lost, because nobody reads the other side. */
bool uart_write(const uint8_t *from, size_t length);

#endif
