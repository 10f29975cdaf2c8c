/* The link: USART 2 (A2, A3) at 2 Mbaud, both ways by DMA. */
#ifndef SERIAL_H
#define SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void serial_init(void);
/* The line has fallen silent after a frame: the board polls the link then, and does not wait for the main period. */
void serial_isr(void);
size_t serial_read(uint8_t *bytes, size_t size);
bool serial_write(const uint8_t *bytes, size_t size);

#endif
