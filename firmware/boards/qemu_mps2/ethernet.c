#include "ethernet.h"

#include "cortex_m4.h"
#include "lan9118.h"
#include "mps2.h"
#include "net.h"
#include "protocol.h"

#define QUEUE 512u /* frames: a machine that stalls for half a second and then bursts loses nothing */
#define SLOT (NET_HEADERS + PROTOCOL_FRAME_MAX_TO_DEVICE)

static const struct net_config config = {
    .mac = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56},
    .ip = {10, 0, 2, 15},
    .port = ETHERNET_PORT,
};
static struct net_state state;

struct slot {
  uint16_t length; /* of the payload */
  uint8_t frame[SLOT];
};
static struct slot queue[QUEUE];
static volatile uint32_t head; /* written by the interrupt only */
static volatile uint32_t tail; /* written by the reader only */
static uint8_t incoming[LAN9118_FRAME_MAX];
static uint8_t outgoing[LAN9118_FRAME_MAX];

bool ethernet_init(void) {
  if (!lan9118_init(config.mac)) {
    return false;
  }
  (void)lan9118_send(outgoing, net_announce(&config, outgoing));
  cortex_irq_enable(IRQ_ETHERNET, PRIORITY_LINK);
  return true;
}

static void keep(const uint8_t *frame, size_t payload_length) {
  if (payload_length + NET_HEADERS > SLOT || head - tail >= QUEUE) {
    return;
  }
  struct slot *slot = &queue[head % QUEUE];
  slot->length = (uint16_t)payload_length;
  for (size_t i = 0; i < NET_HEADERS + payload_length; i++) {
    slot->frame[i] = frame[i];
  }
  head = head + 1u;
}

void ethernet_isr(void) {
  lan9118_acknowledge();
  for (size_t n = lan9118_receive(incoming); n > 0u; n = lan9118_receive(incoming)) {
    const struct net_result result = net_input(&config, incoming, n);
    if (result.kind == NET_ANSWER) {
      (void)lan9118_send(incoming, result.length);
    } else if (result.kind == NET_DATAGRAM) {
      keep(incoming, result.length);
    }
  }
}

size_t ethernet_read(uint8_t *to, size_t most) {
  if (tail == head) {
    return 0u;
  }
  const struct slot *slot = &queue[tail % QUEUE];
  const size_t n = slot->length < most ? slot->length : most;
  for (size_t i = 0; i < n; i++) {
    to[i] = slot->frame[NET_HEADERS + i];
  }
  net_adopt(&state, slot->frame);
  tail = tail + 1u;
  return n;
}

bool ethernet_write(const uint8_t *from, size_t length) {
  if (length + NET_HEADERS > LAN9118_FRAME_MAX) {
    return false;
  }
  for (size_t i = 0; i < length; i++) {
    outgoing[NET_HEADERS + i] = from[i];
  }
  const size_t n = net_output(&config, &state, outgoing, length);
  /* The interrupt answers ARP through the same FIFO: a frame must not be cut in two by another. */
  const uint32_t irq = cortex_irq_save();
  const bool sent = n > 0u && lan9118_send(outgoing, n);
  cortex_irq_restore(irq);
  return sent;
}
