/* What a device that is a process is told on its command line. */
#ifndef POSIX_OPTIONS_H
#define POSIX_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "link.h"

#define OPTIONS_COMMANDS_MAX 32

/* A command of the simulated world (see world.h) and when to carry it out. */
struct timed_command {
  double at_s;
  const char *text;
};

struct options {
  struct link_config link;
  uint32_t watchdog_us;
  uint64_t seed;
  double seconds;        /* 0: until told otherwise */
  bool realtime;         /* ask for SCHED_FIFO and locked memory */
  bool wake_fast;        /* wake each fast period instead of each millisecond */
  bool uncalibrated;
  const char *log_path;  /* changes of state, fault and power stage, or NULL */
  char *truth;           /* FILE=NAME,NAME,...: numbers of the plant to write each millisecond, or NULL */
  uint8_t uid;           /* last byte of the uid: tells devices on one machine apart */
  unsigned command_count;
  struct timed_command commands[OPTIONS_COMMANDS_MAX];
};

/* Returns -1 to go on, otherwise the exit code of the process (after --help or a complaint). */
int options_parse(struct options *options, int argc, char **argv);

#endif
