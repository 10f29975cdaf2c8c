/* The board `sim`: the firmware and its plant in one shared library, in virtual time.
 *
 * One fast period is: the plant moves by 100 us under the last duties, time steps, fw_fast_isr(), and fw_main_isr() when it
 * is due, or the link is read when something came. Nothing depends on the machine's clock: every run with the same seed and
 * the same calls is the same. In every fast period a monitor, which shares no code with the limits, checks what is driven. */
#ifndef SIM_H
#define SIM_H

#include "../../core/fw.h"
#include "../../plants/plant.h"

/* What the monitor found; each is a broken promise and must stay 0. */
enum sim_violation {
  SIM_NOT_FINITE = 0,  /* duty, force or heat is not a number */
  SIM_DUTY_RANGE = 1,  /* |duty| > 1 */
  SIM_FORCE_RANGE = 2, /* force beyond the clamp */
  SIM_SLEW = 3,        /* force grew or turned faster than allowed; it may fall faster */
  SIM_DRIVEN_UNARMED =
      4,               /* power stage driven in another state than RAMP and ACTIVE, or duty with the gate not driving */
  SIM_DRIVEN_LATE = 5, /* driven with a set-point as old as the watchdog */
  SIM_RAMP = 6,        /* more than the ramp's share of the clamp after arming */
  SIM_HEAT_DROP = 7,   /* the thermal state fell faster than a winding cools */
  SIM_VIOLATIONS = 8
};

#define SIM_COLUMNS 20

/* Begin anew: plant with this seed, firmware from power-up, time 0. Returns 0. */
int sim_reset(uint64_t seed);
/* Before sim_reset(): what the board is asked at start. */
void sim_board(uint32_t watchdog_us, int calibrated, int datagrams);
/* Before sim_reset(): replace calibrated gain and offset of a channel (NaN: leave). */
void sim_miscalibrate(unsigned channel, double gain, double offset);
/* Before sim_reset(): shorten the thermal window of all actuators, for sweeps; 0: as the application says. */
void sim_thermal_window(double window_s);

/* Advance n fast periods; rows of SIM_COLUMNS numbers go to log (if not NULL) every `every` periods. Returns rows. */
unsigned sim_run(unsigned n, double *log, unsigned every);
const char *sim_columns(void);
double sim_time_s(void);
const uint64_t *sim_violations(void);

/* The link. */
void sim_send(const uint8_t *bytes, size_t size); /* to the device; one datagram if the board says datagrams */
size_t sim_receive(uint8_t *bytes, size_t size);  /* from the device; 0: nothing */
void sim_drop_link(int dropped);                  /* 1: bytes from the device are refused */

/* The plant's numbers by name, and overrides of its samples. */
int sim_set(const char *name, double value);
double sim_get(const char *name);
void sim_override(unsigned channel, int32_t raw, int on);
void sim_view(unsigned actuator, double view[10]);
void sim_stall(uint32_t us); /* the fast loop does not run for so long */

/* A host inside the library, for maps that take many runs: renders a wall (K, B from q0 on) at the main rate, from the
 * state of one main period, in effect `delay` fast periods later. local = 0: force only; 1: as local law. */
void sim_wall(int mode, double q0, double stiffness, double damping, unsigned delay_ticks, int local);
/* HELLO and ARM without bytes: shows zero, arms, and waits out the ramp. Returns the result of arming. */
int sim_arm(void);
/* Set-point without bytes. */
int sim_setpoint(const float *laws, unsigned count);

/* Sweeps; see sweep.c. */
void sim_sweep_thermal(unsigned sequences, unsigned ticks, uint64_t seed, double worst[3]);
void sim_sweep_random(unsigned ticks, uint64_t seed, double seen[7]);

#endif
