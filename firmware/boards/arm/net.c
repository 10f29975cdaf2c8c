#include "net.h"

enum {
  ETHER_DESTINATION = 0,
  ETHER_SOURCE = 6,
  ETHER_TYPE = 12,
  ETHER_LENGTH = 14,
  IP_START = ETHER_LENGTH,
  IP_TOTAL = IP_START + 2,
  IP_IDENTIFICATION = IP_START + 4,
  IP_FRAGMENT = IP_START + 6,
  IP_TTL = IP_START + 8,
  IP_PROTOCOL = IP_START + 9,
  IP_CHECKSUM = IP_START + 10,
  IP_SOURCE = IP_START + 12,
  IP_DESTINATION = IP_START + 16,
  IP_LENGTH = 20,
  UDP_START = IP_START + IP_LENGTH,
  UDP_SOURCE = UDP_START,
  UDP_DESTINATION = UDP_START + 2,
  UDP_TOTAL = UDP_START + 4,
  UDP_CHECKSUM = UDP_START + 6,
  UDP_LENGTH = 8,
  ARP_START = ETHER_LENGTH,
  ARP_OPERATION = ARP_START + 6,
  ARP_SENDER_MAC = ARP_START + 8,
  ARP_SENDER_IP = ARP_START + 14,
  ARP_TARGET_MAC = ARP_START + 18,
  ARP_TARGET_IP = ARP_START + 24,
};

#define TYPE_IP 0x0800u
#define TYPE_ARP 0x0806u
#define PROTOCOL_UDP 17u
#define ARP_REQUEST 1u
#define ARP_REPLY 2u
#define TTL 64u

static uint16_t get16(const uint8_t *at) { return (uint16_t)((uint16_t)(at[0] << 8) | at[1]); }

static void put16(uint8_t *at, uint32_t value) {
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

static void copy(uint8_t *to, const uint8_t *from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    to[i] = from[i];
  }
}

static bool equal(const uint8_t *a, const uint8_t *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

static uint16_t ones_sum(const uint8_t *at, size_t n, uint32_t sum) {
  for (size_t i = 0; i + 1u < n; i += 2u) {
    sum += get16(at + i);
  }
  if (n & 1u) {
    sum += (uint32_t)at[n - 1u] << 8;
  }
  while (sum >> 16) {
    sum = (sum & 0xFFFFu) + (sum >> 16);
  }
  return (uint16_t)sum;
}

/* The sum over the pseudo header, the UDP header and the payload; 0xFFFF for an intact datagram. */
static uint16_t udp_sum(const uint8_t *frame, size_t udp_length) {
  const uint32_t pseudo = PROTOCOL_UDP + (uint32_t)udp_length + ones_sum(frame + IP_SOURCE, 8u, 0u);
  return ones_sum(frame + UDP_START, udp_length, pseudo);
}

static void put_arp(const struct net_config *config, uint8_t *frame, uint32_t operation) {
  static const uint8_t ethernet_ip[6] = {0, 1, 8, 0, 6, 4};
  copy(frame + ETHER_SOURCE, config->mac, 6u);
  put16(frame + ETHER_TYPE, TYPE_ARP);
  copy(frame + ARP_START, ethernet_ip, 6u);
  put16(frame + ARP_OPERATION, operation);
  copy(frame + ARP_SENDER_MAC, config->mac, 6u);
  copy(frame + ARP_SENDER_IP, config->ip, 4u);
}

static struct net_result arp_input(const struct net_config *config, uint8_t *frame, size_t length) {
  const struct net_result nothing = {NET_NOTHING, 0u, 0};
  if (length < NET_ARP_LENGTH || get16(frame + ARP_OPERATION) != ARP_REQUEST ||
      !equal(frame + ARP_TARGET_IP, config->ip, 4u)) {
    return nothing;
  }
  copy(frame + ETHER_DESTINATION, frame + ARP_SENDER_MAC, 6u);
  copy(frame + ARP_TARGET_MAC, frame + ARP_SENDER_MAC, 10u); /* with the address that follows it */
  put_arp(config, frame, ARP_REPLY);
  const struct net_result answer = {NET_ANSWER, NET_ARP_LENGTH, 0};
  return answer;
}

static struct net_result udp_input(const struct net_config *config, uint8_t *frame, size_t length) {
  const struct net_result nothing = {NET_NOTHING, 0u, 0};
  if (length < NET_HEADERS || frame[IP_START] != 0x45u || frame[IP_PROTOCOL] != PROTOCOL_UDP ||
      (get16(frame + IP_FRAGMENT) & 0x3FFFu) != 0u || !equal(frame + IP_DESTINATION, config->ip, 4u) ||
      ones_sum(frame + IP_START, IP_LENGTH, 0u) != 0xFFFFu) {
    return nothing;
  }
  const size_t total = get16(frame + IP_TOTAL);
  const size_t udp = get16(frame + UDP_TOTAL);
  if (total + ETHER_LENGTH > length || udp < UDP_LENGTH || udp + IP_LENGTH != total ||
      get16(frame + UDP_DESTINATION) != config->port) {
    return nothing;
  }
  if (get16(frame + UDP_CHECKSUM) != 0u && udp_sum(frame, udp) != 0xFFFFu) {
    return nothing;
  }
  const struct net_result datagram = {NET_DATAGRAM, udp - UDP_LENGTH, frame + NET_HEADERS};
  return datagram;
}

struct net_result net_input(const struct net_config *config, uint8_t *frame, size_t length) {
  const struct net_result nothing = {NET_NOTHING, 0u, 0};
  if (length < ETHER_LENGTH) {
    return nothing;
  }
  switch (get16(frame + ETHER_TYPE)) {
    case TYPE_ARP:
      return arp_input(config, frame, length);
    case TYPE_IP:
      return udp_input(config, frame, length);
    default:
      return nothing;
  }
}

void net_adopt(struct net_state *state, const uint8_t *frame) {
  copy(state->peer_mac, frame + ETHER_SOURCE, 6u);
  copy(state->peer_ip, frame + IP_SOURCE, 4u);
  state->peer_port = get16(frame + UDP_SOURCE);
  state->has_peer = true;
}

size_t net_output(const struct net_config *config, struct net_state *state, uint8_t *frame, size_t payload_length) {
  if (!state->has_peer) {
    return 0u;
  }
  const uint32_t udp = UDP_LENGTH + (uint32_t)payload_length;
  copy(frame + ETHER_DESTINATION, state->peer_mac, 6u);
  copy(frame + ETHER_SOURCE, config->mac, 6u);
  put16(frame + ETHER_TYPE, TYPE_IP);
  put16(frame + IP_START, 0x4500u);
  put16(frame + IP_TOTAL, IP_LENGTH + udp);
  put16(frame + IP_IDENTIFICATION, state->identification++);
  put16(frame + IP_FRAGMENT, 0x4000u); /* don't fragment */
  frame[IP_TTL] = TTL;
  frame[IP_PROTOCOL] = PROTOCOL_UDP;
  put16(frame + IP_CHECKSUM, 0u);
  copy(frame + IP_SOURCE, config->ip, 4u);
  copy(frame + IP_DESTINATION, state->peer_ip, 4u);
  put16(frame + IP_CHECKSUM, (uint32_t)ones_sum(frame + IP_START, IP_LENGTH, 0u) ^ 0xFFFFu);
  put16(frame + UDP_SOURCE, config->port);
  put16(frame + UDP_DESTINATION, state->peer_port);
  put16(frame + UDP_TOTAL, udp);
  put16(frame + UDP_CHECKSUM, 0u);
  const uint32_t sum = (uint32_t)udp_sum(frame, udp) ^ 0xFFFFu;
  put16(frame + UDP_CHECKSUM, sum == 0u ? 0xFFFFu : sum); /* 0 would mean: no checksum */

  size_t length = NET_HEADERS + payload_length;
  while (length < NET_FRAME_MIN) {
    frame[length++] = 0u;
  }
  return length;
}

size_t net_announce(const struct net_config *config, uint8_t *frame) {
  for (size_t i = 0; i < NET_ARP_LENGTH; i++) {
    frame[i] = 0xFFu; /* to everybody */
  }
  put_arp(config, frame, ARP_REQUEST);
  for (size_t i = 0; i < 6u; i++) {
    frame[ARP_TARGET_MAC + i] = 0u;
  }
  copy(frame + ARP_TARGET_IP, config->ip, 4u);
  return NET_ARP_LENGTH;
}
