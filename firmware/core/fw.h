/* The firmware as a whole: the two upcalls of a board, and what the link may read.
 *
 * A board does:  hal_init(); fw_init(&app);  then, from a timer at FW_FAST_HZ:
 *     if (fw_fast_isr()) pend_low_priority_interrupt();      and in that:  fw_main_isr();
 * A board that simply calls `if (fw_fast_isr()) fw_main_isr();` in one loop is right too. */
#ifndef FW_H
#define FW_H

#include "app.h"
#include "safety.h"

/* One consistent picture of the device, taken in the fast period that made a state frame due. */
struct fw_snapshot {
  uint32_t t_us;                    /* device time of the samples */
  int32_t raw[FW_CHANNELS_MAX];     /* counts, averaged as the channel says */
  float position[FW_ACTUATORS_MAX]; /* q of the local law */
  float velocity[FW_ACTUATORS_MAX]; /* qd of the local law */
  float force[FW_ACTUATORS_MAX];    /* from the measured current */
  float current_A[FW_ACTUATORS_MAX];
  float heat[FW_ACTUATORS_MAX]; /* thermal state, 1 = rating */
  uint8_t fresh;                /* bit per channel: accepted in this fast period */
  uint8_t limited;              /* bits of enum protocol_limited */
};

/* One actuator as the fast loop sees it, for tests and for a debugger: call it between fast periods. */
struct fw_view {
  float q, qd;
  float force;     /* asked of the current loop, after all limits */
  float current_A; /* measured */
  float duty;
  float heat;      /* 1 = rating */
  float allowed_A; /* by the thermal model, now */
  float tank_J;
  uint8_t limited;
};

/* Counted since start; wrap around. */
struct fw_counters {
  uint32_t fast_ticks;
  uint32_t fast_late;     /* fast periods that came more than half a period late */
  uint32_t fast_us_max;   /* longest run of fw_fast_isr() */
  uint32_t main_overruns; /* fw_main_isr() not finished when the next one was due */
  uint32_t dropouts;      /* sensor samples missing or refused */
  uint32_t spikes;        /* coil samples refused */
  uint32_t limited;       /* fast periods in which a limit cut the force */
};

void fw_init(const struct app *app);

/* Every 1 / FW_FAST_HZ: sensors, safety, local law, limits, current loop. True: fw_main_isr() has work. */
bool fw_fast_isr(void);

/* Link and the application's own main loop, whichever is due. */
void fw_main_isr(void);

/* Take bytes of the link now, at the priority of fw_main_isr(), which does the same: for a board with a receive interrupt.
 * Then an e-stop acts in the next fast period, not only after the next main period. */
void fw_link_poll(void);

struct safety *fw_safety(void);
void fw_read(struct fw_snapshot *snapshot); /* consistent, from any priority */
const struct fw_counters *fw_counters(void);
const struct app *fw_app(void);
void fw_view(unsigned actuator, struct fw_view *view);

#endif
