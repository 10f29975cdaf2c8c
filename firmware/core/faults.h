/* Numbered faults. Each has a section of the same number in docs/faults.md: what happened, what the device does, remedy.
 *
 * Numbers below 64 latch: outputs stay off until RESET at a zero set-point. Numbers from 64 only refuse a request. */
#ifndef FAULTS_H
#define FAULTS_H

enum fault {
    FAULT_NONE = 0,
    FAULT_SETPOINT_TIMEOUT = 1,
    FAULT_ESTOP_COMMAND = 2,
    FAULT_ESTOP_INPUT = 3,
    FAULT_SETPOINT_NOT_FINITE = 4,
    FAULT_SENSOR_LOST = 5,
    FAULT_SENSOR_IMPLAUSIBLE = 6,
    FAULT_TRAVEL = 7,
    FAULT_OVERSPEED = 8,
    FAULT_OVERCURRENT = 9,
    FAULT_CURRENT_TRACKING = 10,
    FAULT_SUPPLY = 11,
    FAULT_DRIVER = 12,
    FAULT_SKEW = 13,
    FAULT_FAST_LOOP_LATE = 14,
    FAULT_INTERNAL = 15,

    FAULT_REFUSED = 64, /* first number that refuses without latching */
    FAULT_REFUSED_STATE = 64,
    FAULT_REFUSED_UNCALIBRATED = 65,
    FAULT_REFUSED_IMPLAUSIBLE = 66,
    FAULT_REFUSED_SETPOINT_NOT_ZERO = 67,
    FAULT_REFUSED_ESTOP_ACTIVE = 68,
    FAULT_REFUSED_SCHEMA = 69, /* ARM did not echo the schema CRC and uid: returned by the session */
    FAULT_REFUSED_SUPPLY = 70
};

#endif
