#define _GNU_SOURCE
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#define UNSENT_MAX 2048u
#define SOCKET_BUFFER (1 << 20) /* a host that stalls for a second and then bursts loses nothing */

static struct {
  struct link_config config;
  struct link_harm harm;
  int fd;       /* the pty's master, or the socket */
  int slave_fd; /* kept open, so that a host may come and go */
  char address[64];
  bool has_peer;
  struct sockaddr_in peer;
  uint8_t unsent[UNSENT_MAX]; /* the end of a frame that the pty took only partly */
  size_t unsent_length;
  uint32_t random;
} self = {.fd = -1, .slave_fd = -1};

static bool fail(const char *what) {
  fprintf(stderr, "device: %s failed: %s\n", what, strerror(errno));
  return false;
}

static bool open_udp(void) {
  const int size = SOCKET_BUFFER;
  struct sockaddr_in here = {.sin_family = AF_INET};
  socklen_t length = sizeof here;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* never reachable from outside */
  here.sin_port = htons(self.config.port);
  self.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (self.fd < 0) {
    return fail("opening a UDP socket");
  }
  (void)setsockopt(self.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  (void)setsockopt(self.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  if (bind(self.fd, (struct sockaddr *)&here, sizeof here) != 0) {
    return fail("binding the UDP port");
  }
  if (getsockname(self.fd, (struct sockaddr *)&here, &length) != 0) {
    return fail("asking for the UDP port");
  }
  (void)snprintf(self.address, sizeof self.address, "127.0.0.1:%u", (unsigned)ntohs(here.sin_port));
  return true;
}

/* Make the symbolic link in one step, so that a host never finds none where there was one. */
static bool name_it(void) {
  char fresh[512];
  if (snprintf(fresh, sizeof fresh, "%s.%ld", self.config.name, (long)getpid()) >= (int)sizeof fresh) {
    errno = ENAMETOOLONG;
    return fail("naming the pty");
  }
  (void)unlink(fresh);
  if (symlink(self.address, fresh) != 0 || rename(fresh, self.config.name) != 0) {
    (void)unlink(fresh);
    return fail("naming the pty");
  }
  return true;
}

static bool open_pty(void) {
  struct termios raw;
  self.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (self.fd < 0 || grantpt(self.fd) != 0 || unlockpt(self.fd) != 0 ||
      ptsname_r(self.fd, self.address, sizeof self.address) != 0) {
    return fail("opening a pty");
  }
  self.slave_fd = open(self.address, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (self.slave_fd < 0 || tcgetattr(self.slave_fd, &raw) != 0) {
    return fail("opening the pty's other side");
  }
  cfmakeraw(&raw);
  if (tcsetattr(self.slave_fd, TCSANOW, &raw) != 0 || fcntl(self.fd, F_SETFL, O_NONBLOCK) != 0) {
    return fail("setting up the pty");
  }
  return self.config.name == NULL || name_it();
}

bool link_open(const struct link_config *config) {
  self.config = *config;
  self.random = config->seed | 1u;
  return config->is_udp ? open_udp() : open_pty();
}

void link_close(void) {
  if (self.config.name != NULL) {
    /* Only our own link: another device may have taken the name meanwhile. */
    char target[sizeof self.address];
    const ssize_t n = readlink(self.config.name, target, sizeof target);
    if (n == (ssize_t)strlen(self.address) && memcmp(target, self.address, (size_t)n) == 0) {
      (void)unlink(self.config.name);
    }
  }
  (void)close(self.fd);
  if (self.slave_fd >= 0) {
    (void)close(self.slave_fd);
  }
}

int link_fd(void) { return self.fd; }

const char *link_address(void) { return self.address; }

bool link_is_datagram(void) { return self.config.is_udp; }

void link_set_harm(struct link_harm harm) { self.harm = harm; }

static uint32_t next_random(void) {
  self.random ^= self.random << 13;
  self.random ^= self.random >> 17;
  self.random ^= self.random << 5;
  return self.random;
}

static bool chance(double probability) { return probability > 0.0 && next_random() < probability * 4294967295.0; }

/* Return the length that is left: 0 if the piece was lost. */
static size_t harmed(uint8_t *bytes, size_t n) {
  if (n > 0u && chance(self.harm.lose)) {
    return 0u;
  }
  if (n > 0u && chance(self.harm.corrupt)) {
    bytes[next_random() % n] ^= (uint8_t)(1u << (next_random() & 7u));
  }
  return n;
}

size_t link_read(uint8_t *bytes, size_t size) {
  for (;;) {
    ssize_t n;
    if (self.config.is_udp) {
      struct sockaddr_in from;
      socklen_t length = sizeof from;
      n = recvfrom(self.fd, bytes, size, 0, (struct sockaddr *)&from, &length);
      if (n >= 0) {
        self.peer = from;
        self.has_peer = true;
      }
    } else {
      n = read(self.fd, bytes, size);
    }
    if (n < 0 && (errno == EINTR || errno == ECONNREFUSED)) {
      continue; /* refused: the host of an earlier answer has gone; the next datagram may be waiting */
    }
    if (n <= 0) {
      return 0u;
    }
    const size_t left = harmed(bytes, (size_t)n);
    if (left > 0u) {
      return left;
    }
  }
}

static bool write_udp(const uint8_t *bytes, size_t size) {
  return self.has_peer && sendto(self.fd, bytes, size, 0, (struct sockaddr *)&self.peer, sizeof self.peer) >= 0;
}

static bool flush_unsent(void) {
  if (self.unsent_length > 0u) {
    const ssize_t n = write(self.fd, self.unsent, self.unsent_length);
    if (n > 0) {
      self.unsent_length -= (size_t)n;
      memmove(self.unsent, self.unsent + n, self.unsent_length);
    }
  }
  return self.unsent_length == 0u;
}

static bool write_pty(const uint8_t *bytes, size_t size) {
  if (size > UNSENT_MAX) {
    return false;
  }
  if (!flush_unsent()) {
    /* The host has not read for more than half a second. What waits is stale: throw it away, as a wire would. */
    (void)tcflush(self.slave_fd, TCIFLUSH);
    self.unsent_length = 0u;
    return false;
  }
  const ssize_t n = write(self.fd, bytes, size);
  if (n <= 0) {
    (void)tcflush(self.slave_fd, TCIFLUSH);
    return false;
  }
  self.unsent_length = size - (size_t)n;
  memcpy(self.unsent, bytes + n, self.unsent_length);
  return true;
}

bool link_write(const uint8_t *bytes, size_t size) {
  uint8_t piece[UNSENT_MAX];
  if (self.harm.lose > 0.0 || self.harm.corrupt > 0.0) {
    if (size > sizeof piece) {
      return false;
    }
    memcpy(piece, bytes, size);
    size = harmed(piece, size);
    if (size == 0u) {
      return true; /* lost on the way: the sender does not know */
    }
    bytes = piece;
  }
  return self.config.is_udp ? write_udp(bytes, size) : write_pty(bytes, size);
}
