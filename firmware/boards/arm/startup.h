/* The entry into a board's program, and the shape of its vector table. */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdint.h>

typedef void (*vector)(void);

/* The sixteen words that every Cortex-M4 vector table starts with. `fault` takes all faults. */
#define CORTEX_VECTORS(stack, fault, unused, pendsv) \
  (vector)(uintptr_t)(stack), Reset_Handler, fault, fault, fault, fault, fault, unused, unused, unused, unused, \
      unused, unused, unused, pendsv, unused

extern uint32_t linker_stack_top[];

int main(void);
void Reset_Handler(void);

#endif
