/* The mailbox at the start of the PSRAM, which QEMU shares with a file of the host: what the host asks of the emulated
 * board, and what it may watch. All words are little endian and 32 bits, so that Python's struct reads it too. */
#ifndef MAILBOX_H
#define MAILBOX_H

#include <stdint.h>

#define MAILBOX_MAGIC 0x4D425331u /* "MBS1", written by the host before the start; otherwise defaults hold */

struct mailbox {
  /* Written by the host before the start. */
  uint32_t magic;
  uint32_t watchdog_us;
  uint32_t seed;
  uint32_t use_uart;       /* 0: UDP over Ethernet, 1: UART 0 */
  uint32_t interrupt_hz;   /* of the timer; fast periods that are due are caught up */
  uint32_t outside;        /* 1: the plant is a process of the host, boards/plant; 0: it runs on the emulated processor */
  /* Written by the host at any time. */
  uint32_t estop;
  uint32_t silent;         /* bit per sensor channel: not fresh */
  /* Written by the board. */
  uint32_t fast_ticks;
  uint32_t dropped_ticks;
  uint32_t fault;
  uint32_t gate[2];
  float duty[2];
  uint32_t fault_us;       /* device time of the last fault, and ... */
  uint32_t off_us;         /* ... of the fast period in which power stage 0 ceased to drive */
  uint32_t late_answers;   /* fast periods that got no sample from the plant outside */
  uint32_t request;        /* counts the samples asked for */
  /* Written by the plant outside. */
  uint32_t answer;         /* the request that `sample` belongs to */
  struct {
    int32_t raw[6];
    uint32_t fresh;
    int32_t current_raw[2];
    int32_t supply_raw;
    uint32_t estop;
    uint32_t driver_fault;
  } sample;
};

#endif
