/* Safety: who may drive the actuators, and when that ends.
 *
 *     BOOT -> IDLE -> RAMP -> ACTIVE        safety_arm() starts a ramp, always from zero force
 *      any state  ->  FAULT                 latched; only safety_reset() at a zero set-point leads back to IDLE
 *
 * Requests (arm, disarm, estop, reset, setpoint) come from the link at low priority and mask the fast interrupt
 * themselves; safety_step() is called once per fast period and decides what the power stages may do. There is no
 * request that lengthens a time-out, raises a limit or skips a check. */
#ifndef SAFETY_H
#define SAFETY_H

#include "faults.h"
#include "hal.h"
#include "local_law.h"

#define SAFETY_WATCHDOG_US 10000u      /* the shortest and the normal time-out; a board may only lengthen it */
#define SAFETY_WATCHDOG_MAX_US 500000u /* the longest that a board on a shared machine may ask for */

enum safety_mode {
    SAFETY_BOOT = 0,
    SAFETY_IDLE = 1,
    SAFETY_RAMP = 2,
    SAFETY_ACTIVE = 3,
    SAFETY_FAULT = 4
};

struct safety_config {
    uint32_t watchdog_us;        /* see above; raised to SAFETY_WATCHDOG_US if smaller */
    uint32_t ramp_us;            /* from zero to full force after every arming */
    uint32_t brake_us;           /* after a time-out: winding shorted this long (damping), then open */
    uint32_t sensor_stale_us;    /* older than this: force starts to decay */
    uint32_t sensor_decayed_us;  /* older than this: force is zero */
    uint32_t sensor_lost_us;     /* older than this: latched fault */
    unsigned actuators;          /* 1 or 2 */
    struct local_law_config law[FW_ACTUATORS_MAX];
};

/* What the rest of the firmware found out in this fast period. */
struct safety_input {
    uint32_t now_us;
    uint32_t sensor_age_us;  /* of the oldest sensor that the control needs */
    enum fault found;        /* worst finding of the plausibility checks, FAULT_NONE if all is well */
    bool estop;              /* emergency stop input */
};

/* What the power stages may do in this fast period. */
struct safety_output {
    enum hal_gate gate;
    float gain;              /* 0..1 on every force: ramp times decay of a stale sensor */
};

struct safety {
    struct safety_config config;
    volatile uint8_t mode;       /* enum safety_mode */
    volatile uint8_t fault;      /* enum fault; the first one stays until reset */
    bool calibrated;             /* set at start by safety_start() */
    bool estop_input;
    enum fault found;            /* of the last fast period: an implausible device is not armed */
    uint32_t now_us;             /* time of the last fast period */
    uint32_t setpoint_us;        /* when the last set-point was accepted, or the device armed */
    uint32_t armed_us;
    uint32_t fault_us;
    uint32_t faults_total;
    bool setpoint_seen;          /* a set-point came since the fault (or since start) */
    struct setpoint setpoint[FW_ACTUATORS_MAX];
};

/* Cleared, in BOOT: nothing is driven. */
void safety_init(struct safety *safety, const struct safety_config *config);

/* End of start-up: to IDLE. Not calibrated: it stays disarmable for ever, sensing goes on. */
void safety_start(struct safety *safety, bool calibrated);

/* Requests of the link. Each returns FAULT_NONE when done, otherwise the reason (see faults.h). */
enum fault safety_setpoint(struct safety *safety, const struct setpoint *setpoints, unsigned count, uint32_t now_us);
enum fault safety_arm(struct safety *safety, uint32_t now_us);
enum fault safety_reset(struct safety *safety);
void safety_disarm(struct safety *safety);
void safety_estop(struct safety *safety);

/* Latch a fault found elsewhere. */
void safety_trip(struct safety *safety, enum fault fault, uint32_t now_us);

/* Once per fast period, after the sensors were read and before anything is driven. */
struct safety_output safety_step(struct safety *safety, const struct safety_input *input);

/* Age of the last accepted set-point. */
uint32_t safety_setpoint_age_us(const struct safety *safety, uint32_t now_us);

#endif
