/* The UDP link: frames from the controller become datagrams in a short queue, and back. */
#ifndef ETHERNET_H
#define ETHERNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The address that QEMU's own network gives its guest, and the port that the host's is forwarded to. */
#define ETHERNET_PORT 7000u

bool ethernet_init(void);
void ethernet_isr(void);
/* Copy the next datagram and return its length, 0 if there is none; a longer one is cut. Its sender gets the answers. */
size_t ethernet_read(uint8_t *to, size_t most);
bool ethernet_write(const uint8_t *from, size_t length);

#endif
