/* The board, as the core sees it: the only functions that a port has to write.
 *
 * The core never touches a register. A board implements the hal_* functions, runs a timer at FW_FAST_HZ that
 * calls fw_fast_isr(), and lets fw_main_isr() run at lower priority whenever that returns true (see fw.h). */
#ifndef HAL_H
#define HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_FAST_HZ 10000u
#define FW_FAST_US (1000000u / FW_FAST_HZ)
#define FW_CHANNELS_MAX 6u
#define FW_ACTUATORS_MAX 2u
#define FW_UID_BYTES 12u

/* What the power stage of one actuator does. BRAKE shorts the winding through the low-side switches: it damps by
 * the back EMF and cannot take energy from the supply. */
enum hal_gate { HAL_GATE_OFF = 0, HAL_GATE_BRAKE = 1, HAL_GATE_DRIVE = 2 };

/* One set of conversions, taken together at the start of a fast period. */
struct hal_sample {
  int32_t raw[FW_CHANNELS_MAX];          /* counts; an ADC channel is the sum of 16 conversions of 12 bit */
  uint32_t fresh;                        /* bit per channel: converted since the last call; clear = dropped out */
  int32_t current_raw[FW_ACTUATORS_MAX]; /* counts of the current sensors, 16 x 12 bit, zero current at 32760 */
  int32_t supply_raw;                    /* counts of the supply voltage, 16 x 12 bit */
  bool estop;                            /* emergency stop input is active (wired normally closed: open = active) */
  bool driver_fault;                     /* a power stage reports a fault */
};

/* What was measured when the device was calibrated; kept in non-volatile memory by the board. */
#define CALIBRATION_MAGIC 0x43414C31u /* "CAL1" */
struct calibration {
  uint32_t magic;              /* anything else: uncalibrated, and the device refuses to start */
  float gain[FW_CHANNELS_MAX]; /* meaning: acquisition.h (position), velocity.h (coil) */
  float offset[FW_CHANNELS_MAX];
};

void hal_init(void);
uint32_t hal_time_us(void); /* free running, wraps after 71 minutes */
void hal_sample(struct hal_sample *sample);
void hal_pwm_set(unsigned actuator, float duty); /* -1..1 of the supply voltage, used while the gate drives */
void hal_gate(unsigned actuator, enum hal_gate gate);
size_t hal_link_read(uint8_t *bytes, size_t size);      /* never blocks; a datagram link returns one datagram */
bool hal_link_write(const uint8_t *bytes, size_t size); /* never blocks; all of a frame or nothing */
bool hal_link_is_datagram(void);                        /* true: no COBS, one frame per datagram */
bool hal_calibration(struct calibration *calibration);  /* false: nothing stored */
uint32_t hal_watchdog_us(void);                         /* wish for the set-point time-out; never below 10 ms */
uint32_t hal_irq_save(void);                            /* masks the fast interrupt */
void hal_irq_restore(uint32_t saved);
void hal_wdt_kick(void);
void hal_idle(void);
void hal_uid(uint8_t uid[FW_UID_BYTES]);
void hal_fault(unsigned number); /* shows a fault (lamp, log); 0 clears it */

#endif
