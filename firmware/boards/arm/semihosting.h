/* Semihosting: what a program on the target asks of the debugger, or of QEMU, that runs it. On-target tests print their
 * figures and end with an exit code through it; nothing of it is linked into a device. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

enum semihosting_call { SEMIHOSTING_WRITE0 = 0x04, SEMIHOSTING_GET_CMDLINE = 0x15, SEMIHOSTING_EXIT_EXTENDED = 0x20 };

static inline uint32_t semihosting(uint32_t call, const void *argument) {
  register uint32_t r0 __asm__("r0") = call;
  register const void *r1 __asm__("r1") = argument;
  __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static inline void semihosting_print(const char *text) { (void)semihosting(SEMIHOSTING_WRITE0, text); }

static inline void semihosting_exit(uint32_t code) {
  const uint32_t stopped_by_application = 0x20026u;
  const uint32_t block[2] = {stopped_by_application, code};
  for (;;) {
    (void)semihosting(SEMIHOSTING_EXIT_EXTENDED, block);
  }
}

#endif
