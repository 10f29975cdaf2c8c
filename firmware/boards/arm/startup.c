/* What runs before main on a Cortex-M4F: copy the initialised data, clear the rest, switch the floating-point unit on.
 * The vector table itself is the board's, because its interrupts are. */
#include <stdint.h>

#include "cortex_m4.h"
#include "startup.h"

/* Set by the linker script. */
extern uint32_t linker_data_load[];
extern uint32_t linker_data_start[];
extern uint32_t linker_data_end[];
extern uint32_t linker_bss_start[];
extern uint32_t linker_bss_end[];

void Reset_Handler(void) {
  /* Before anything that the compiler might do in a floating-point register. */
  SCB_CPACR |= SCB_CPACR_FPU;
  cortex_barrier();

  const uint32_t *from = linker_data_load;
  for (uint32_t *to = linker_data_start; to < linker_data_end; to++) {
    *to = *from++;
  }
  for (uint32_t *to = linker_bss_start; to < linker_bss_end; to++) {
    *to = 0u;
  }
  main();
  for (;;) {
    cortex_wait();
  }
}
