/* Safety: who may drive the actuators, and when that ends.
 *
 *     BOOT -> IDLE -> RAMP -> ACTIVE     safety_arm() starts a ramp, always from zero force
 *      any state  ->  FAULT              latched; only safety_reset() at a zero set-point leads back to IDLE
 *
 * When set-points cease, drive ends at the time-out: from then on no energy is given out; the winding is shorted for a
 * while (damping by the back EMF), then open. Every other fault opens it at once.
 *
 * Requests (arm, disarm, estop, reset, setpoint) come from the link at low priority and mask the fast interrupt
 * themselves; safety_step() is called once per fast period and decides what the power stages may do. There is no
 * request that lengthens a time-out, raises a limit or skips a check. */
#ifndef SAFETY_H
#define SAFETY_H

#include "faults.h"
#include "hal.h"
#include "local_law.h"
#include "protocol.h"

#define SAFETY_WATCHDOG_US 10000u      /* the shortest and the normal time-out; a board may only lengthen it */
#define SAFETY_WATCHDOG_MAX_US 500000u /* the longest that a board on a shared machine may ask for */
#define SAFETY_NO_CHANNEL 255u

struct safety_config {
  uint32_t watchdog_us;       /* see above; raised to SAFETY_WATCHDOG_US if smaller */
  uint32_t ramp_us;           /* from zero to full force after every arming */
  uint32_t brake_us;          /* after a time-out: winding shorted this long (damping), then open */
  uint32_t sensor_stale_us;   /* older than this: force starts to decay */
  uint32_t sensor_decayed_us; /* older than this: force is zero */
  uint32_t sensor_lost_us;    /* older than this: latched fault */
  unsigned actuators;         /* 1 or 2 */
  struct local_law_config law[FW_ACTUATORS_MAX];
};

/* Something that is not as it should be; fault = FAULT_NONE: all is well. */
struct finding {
  enum fault fault;
  uint8_t channel; /* sensor or actuator that is concerned, SAFETY_NO_CHANNEL: none */
  float value;     /* what was seen */
  float limit;     /* what was allowed */
};

/* What the rest of the firmware found out in this fast period. */
struct safety_input {
  uint32_t now_us;
  uint32_t sensor_age_us; /* of the oldest sensor that the control needs */
  uint8_t sensor_channel; /* and which it is */
  struct finding found;   /* worst finding of the plausibility checks */
  bool estop;             /* emergency stop input */
};

/* What the power stages may do in this fast period. */
struct safety_output {
  enum hal_gate gate;
  float gain; /* 0..1 on every force: ramp times decay of a stale sensor */
};

struct safety {
  struct safety_config config;
  volatile uint8_t state; /* enum protocol_state */
  bool calibrated;
  bool estop_input;
  enum fault found;     /* of the last fast period: an implausible device is not armed */
  uint32_t setpoint_us; /* when the last set-point came, or the device was armed */
  bool setpoint_seen;   /* one came since start or since the fault, and is not older than the watchdog */
  uint32_t armed_us;
  struct setpoint setpoint[FW_ACTUATORS_MAX];

  struct finding latched; /* why it is stopped; fault = FAULT_NONE: it is not */
  bool braking;           /* winding still shorted after a time-out */
  uint8_t before;         /* state before the fault */
  uint32_t fault_us;
  uint32_t faults; /* counted since start */
  uint32_t watchdog_trips;
};

/* Cleared, in BOOT: nothing is driven. */
void safety_init(struct safety *safety, const struct safety_config *config);

/* End of start-up: to IDLE. Uncalibrated, it never arms, but sensing and the link work. */
void safety_start(struct safety *safety, bool calibrated);

/* Requests of the link. Each returns 0, or the number of a fault or of enum protocol_result that the host is told. A
 * set-point is taken in every state, so that zero can be shown before reset and arming; one that is not finite stops the
 * device. Arming and reset ask for a zero set-point not older than the watchdog. */
uint8_t safety_setpoint(struct safety *safety, const struct setpoint *setpoints, unsigned count, uint32_t now_us);
uint8_t safety_arm(struct safety *safety, uint32_t now_us);
uint8_t safety_reset(struct safety *safety, uint32_t now_us);
void safety_disarm(struct safety *safety);
void safety_estop(struct safety *safety, uint32_t now_us);

/* Latch a fault found elsewhere; the first one stays. */
void safety_trip(struct safety *safety, const struct finding *finding, uint32_t now_us);

/* Once per fast period, after the sensors were read and before anything is driven. */
struct safety_output safety_step(struct safety *safety, const struct safety_input *input);

#endif
