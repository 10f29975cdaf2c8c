/* Numbered faults. Each has a section of the same number in docs/faults.md: what happened, what the device does, remedy.
 *
 * A fault latches: outputs stay off until RESET at a zero set-point. Requests that are merely refused (not calibrated,
 * set-point not zero, ...) change nothing and are answered with a protocol_result. Numbers are never reused. */
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
  FAULT_INTERNAL = 15
};

#endif
