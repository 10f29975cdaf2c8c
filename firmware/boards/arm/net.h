/* As much of the Internet as a device needs: answer ARP, and exchange UDP datagrams with whoever spoke last.
 *
 * Pure functions on frames, without a controller, so that they are tested on the host. The peer's addresses are learnt
 * from its datagrams, hence no ARP requests, no routes and no time-outs. IP fragments and options are not accepted. */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_HEADERS 42u    /* Ethernet 14, IPv4 20, UDP 8 */
#define NET_FRAME_MIN 60u  /* without the checksum that the controller appends */
#define NET_ARP_LENGTH 42u

struct net_config {
  uint8_t mac[6];
  uint8_t ip[4];
  uint16_t port;
};

struct net_state {
  bool has_peer;
  uint8_t peer_mac[6];
  uint8_t peer_ip[4];
  uint16_t peer_port;
  uint16_t identification;
};

enum net_kind {
  NET_NOTHING,  /* not for us, or damaged */
  NET_ANSWER,   /* an answer was written in place of the frame: send it */
  NET_DATAGRAM, /* `payload` points into the frame; net_adopt makes its sender the peer */
};

struct net_result {
  enum net_kind kind;
  size_t length; /* of the answer or of the payload */
  uint8_t *payload;
};

/* Look at a received frame; an ARP request for us is turned into its answer in place. */
struct net_result net_input(const struct net_config *config, uint8_t *frame, size_t length);

/* Make the sender of this frame the one that answers go to. */
void net_adopt(struct net_state *state, const uint8_t *frame);

/* Write the headers for a payload that already stands at frame + NET_HEADERS; return the frame's length, 0 when there
 * is no peer yet. */
size_t net_output(const struct net_config *config, struct net_state *state, uint8_t *frame, size_t payload_length);

/* Write an ARP announcement of our own address, so that nobody has to ask; return its length. */
size_t net_announce(const struct net_config *config, uint8_t *frame);

#endif
