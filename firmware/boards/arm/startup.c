/* What runs before main on a Cortex-M4F: copy the initialised data, clear the rest, switch the floating-point unit on.
 * The vector table itself is the board's, because its interrupts are. */
#include <stddef.h>
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

  const size_t data_words = ((uintptr_t)linker_data_end - (uintptr_t)linker_data_start) / sizeof(uint32_t);
  const size_t bss_words = ((uintptr_t)linker_bss_end - (uintptr_t)linker_bss_start) / sizeof(uint32_t);
  for (size_t i = 0; i < data_words; i++) {
    linker_data_start[i] = linker_data_load[i];
  }
  for (size_t i = 0; i < bss_words; i++) {
    linker_bss_start[i] = 0u;
  }
  main();
  for (;;) {
    cortex_wait();
  }
}
