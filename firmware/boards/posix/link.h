/* The link of a device that is a process: a pseudo terminal (COBS frames, like a serial port) or UDP on the loopback
 * interface (one frame per datagram). Nothing here blocks.
 *
 * Damage on the way can be asked for: frames lost or with a flipped bit, each with its probability. */
#ifndef POSIX_LINK_H
#define POSIX_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_config {
  bool is_udp;
  uint16_t port;           /* UDP: 0 takes any free one */
  const char *name;        /* pty: symbolic link to make, or NULL */
  uint32_t seed;
};

/* Probability of harm to each piece that is read or written. */
struct link_harm {
  double lose;
  double corrupt;
};

/* Returns false after saying on standard error what failed. */
bool link_open(const struct link_config *config);
void link_close(void);
int link_fd(void);
/* Where the host finds the device: "/dev/pts/3" or "127.0.0.1:40123". */
const char *link_address(void);
bool link_is_datagram(void);
size_t link_read(uint8_t *bytes, size_t size);
bool link_write(const uint8_t *bytes, size_t size);
void link_set_harm(struct link_harm harm);

#endif
