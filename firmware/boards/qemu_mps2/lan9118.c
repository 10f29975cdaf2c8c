#include "lan9118.h"

#include "mps2.h"

#define LAN_REG(offset) MPS2_REG(LAN9118_BASE + (offset))
#define LAN_RX_DATA LAN_REG(0x00u)
#define LAN_TX_DATA LAN_REG(0x20u)
#define LAN_RX_STATUS LAN_REG(0x40u)
#define LAN_TX_STATUS LAN_REG(0x48u)
#define LAN_ID LAN_REG(0x50u)
#define LAN_IRQ_CFG LAN_REG(0x54u)
#define LAN_INT_STS LAN_REG(0x58u)
#define LAN_INT_EN LAN_REG(0x5Cu)
#define LAN_FIFO_INT LAN_REG(0x68u)
#define LAN_RX_CFG LAN_REG(0x6Cu)
#define LAN_TX_CFG LAN_REG(0x70u)
#define LAN_HW_CFG LAN_REG(0x74u)
#define LAN_RX_DP_CTRL LAN_REG(0x78u)
#define LAN_RX_FIFO_INF LAN_REG(0x7Cu)
#define LAN_TX_FIFO_INF LAN_REG(0x80u)
#define LAN_MAC_COMMAND LAN_REG(0xA4u)
#define LAN_MAC_DATA LAN_REG(0xA8u)

#define LAN_CHIP_9118 0x01180000u
#define LAN_IRQ_ENABLED 0x00000111u   /* enabled, active high, push-pull */
#define LAN_INT_RX_LEVEL (1u << 3)    /* more in the status FIFO than FIFO_INT says */
#define LAN_HW_RESET 0x1u
#define LAN_HW_MUST_BE_ONE (1u << 20) /* and a transmit FIFO of 5 KiB below it */
#define LAN_HW_TX_5K (5u << 16)
#define LAN_TX_ON 0x2u
#define LAN_RX_FAST_FORWARD (1u << 31)
#define LAN_RX_ERROR (1u << 15)
#define LAN_MAC_BUSY (1u << 31)
#define LAN_MAC_CR 1u
#define LAN_MAC_ADDRESS_HIGH 2u
#define LAN_MAC_ADDRESS_LOW 3u
#define LAN_MAC_CR_RX_TX ((1u << 2) | (1u << 3))
#define LAN_TX_FIRST_AND_LAST ((1u << 13) | (1u << 12))

#define LAN_PATIENCE 100000u
#define LAN_CHECKSUM_BYTES 4u /* the controller appends the frame's CRC */

static struct lan9118_counters counters;

static bool mac_ready(void) {
  for (uint32_t i = 0; i < LAN_PATIENCE; i++) {
    if (!(LAN_MAC_COMMAND & LAN_MAC_BUSY)) {
      return true;
    }
  }
  return false;
}

static bool mac_write(uint32_t index, uint32_t value) {
  if (!mac_ready()) {
    return false;
  }
  LAN_MAC_DATA = value;
  LAN_MAC_COMMAND = LAN_MAC_BUSY | index;
  return mac_ready();
}

static bool reset(void) {
  LAN_HW_CFG = LAN_HW_RESET;
  for (uint32_t i = 0; i < LAN_PATIENCE; i++) {
    if (!(LAN_HW_CFG & LAN_HW_RESET)) {
      return true;
    }
  }
  return false;
}

bool lan9118_init(const uint8_t mac[6]) {
  if ((LAN_ID & 0xFFFF0000u) != LAN_CHIP_9118 || !reset()) {
    return false;
  }
  LAN_HW_CFG = LAN_HW_MUST_BE_ONE | LAN_HW_TX_5K;
  const uint32_t low = (uint32_t)mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24;
  const uint32_t high = (uint32_t)mac[4] | (uint32_t)mac[5] << 8;
  if (!mac_write(LAN_MAC_ADDRESS_LOW, low) || !mac_write(LAN_MAC_ADDRESS_HIGH, high)) {
    return false;
  }
  LAN_FIFO_INT = 0xFF000000u; /* interrupt as soon as the receive status FIFO holds one entry */
  LAN_IRQ_CFG = LAN_IRQ_ENABLED;
  LAN_INT_STS = 0xFFFFFFFFu;
  LAN_INT_EN = LAN_INT_RX_LEVEL;
  LAN_RX_CFG = 0u;
  LAN_TX_CFG = LAN_TX_ON;
  return mac_write(LAN_MAC_CR, LAN_MAC_CR_RX_TX);
}

void lan9118_acknowledge(void) { LAN_INT_STS = 0xFFFFFFFFu; }

/* Skip the frame at the head of the FIFO. Fast forward needs four words or more. */
static void discard(uint32_t words) {
  if (words >= 4u) {
    LAN_RX_DP_CTRL = LAN_RX_FAST_FORWARD;
    for (uint32_t i = 0; i < LAN_PATIENCE && (LAN_RX_DP_CTRL & LAN_RX_FAST_FORWARD); i++) {
    }
  } else {
    while (words-- > 0u) {
      (void)LAN_RX_DATA;
    }
  }
}

size_t lan9118_receive(uint8_t frame[LAN9118_FRAME_MAX]) {
  while ((LAN_RX_FIFO_INF >> 16) & 0xFFu) {
    const uint32_t status = LAN_RX_STATUS;
    const uint32_t length = (status >> 16) & 0x3FFFu;
    const uint32_t words = (length + 3u) / 4u;
    if ((status & LAN_RX_ERROR) || length <= LAN_CHECKSUM_BYTES || words * 4u > LAN9118_FRAME_MAX) {
      discard(words);
      counters.dropped++;
      continue;
    }
    for (uint32_t i = 0; i < words; i++) {
      const uint32_t word = LAN_RX_DATA;
      frame[4u * i] = (uint8_t)word;
      frame[4u * i + 1u] = (uint8_t)(word >> 8);
      frame[4u * i + 2u] = (uint8_t)(word >> 16);
      frame[4u * i + 3u] = (uint8_t)(word >> 24);
    }
    counters.received++;
    return length - LAN_CHECKSUM_BYTES;
  }
  return 0u;
}

bool lan9118_send(const uint8_t *frame, size_t length) {
  const uint32_t words = ((uint32_t)length + 3u) / 4u;
  const uint32_t free_bytes = LAN_TX_FIFO_INF & 0xFFFFu;
  if (length == 0u || length > LAN9118_FRAME_MAX || free_bytes < 4u * words + 8u) {
    counters.dropped++;
    return false;
  }
  LAN_TX_DATA = LAN_TX_FIRST_AND_LAST | (uint32_t)length;
  LAN_TX_DATA = (uint32_t)length;
  for (uint32_t i = 0; i < words; i++) {
    uint32_t word = 0u;
    for (uint32_t k = 0; k < 4u; k++) {
      const size_t at = 4u * i + k;
      word |= (uint32_t)(at < length ? frame[at] : 0u) << (8u * k);
    }
    LAN_TX_DATA = word;
  }
  while ((LAN_TX_FIFO_INF >> 16) & 0xFFu) {
    (void)LAN_TX_STATUS; /* an unread status FIFO stops the transmitter when it is full */
  }
  counters.sent++;
  return true;
}

const struct lan9118_counters *lan9118_counters(void) { return &counters; }
