/* Driver of the LAN9118 Ethernet controller: whole frames in and out, no copies beyond the FIFO. */
#ifndef LAN9118_H
#define LAN9118_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Header and payload of the largest frame that this firmware takes; longer ones are dropped. */
#define LAN9118_FRAME_MAX 1536u

struct lan9118_counters {
  uint32_t received;
  uint32_t sent;
  uint32_t dropped; /* too long, damaged, or no room to send */
};

/* Returns false if the controller does not answer, or its reset does not end. */
bool lan9118_init(const uint8_t mac[6]);
/* Acknowledge the interrupt; call it before draining, or a frame that arrives in between stays in the FIFO. */
void lan9118_acknowledge(void);
/* Copy the next frame into `frame` (word aligned) and return its length, 0 if there is none. */
size_t lan9118_receive(uint8_t frame[LAN9118_FRAME_MAX]);
bool lan9118_send(const uint8_t *frame, size_t length);
const struct lan9118_counters *lan9118_counters(void);

#endif
