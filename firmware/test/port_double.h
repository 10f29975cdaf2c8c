/* Stand-in for everything behind a session: notes what it is asked, keeps what is sent, and has a clock to set. */
#ifndef PORT_DOUBLE_H
#define PORT_DOUBLE_H

#include "session.h"

struct port_double {
  uint32_t now_us;
  uint8_t state;
  uint16_t fault;
  uint8_t answer; /* what arm, disarm, estop, reset and setpoint return */
  bool link_full;
  unsigned arms, disarms, estops, resets, setpoints, sent;
  struct session_setpoint setpoint; /* the last one */
  size_t size;                      /* of the last bytes sent */
  uint8_t bytes[PROTOCOL_ENCODED_MAX + 1u];
};

static inline uint8_t port_double_arm(void *context, uint32_t now_us) {
  struct port_double *port = context;
  (void)now_us;
  port->arms++;
  if (port->answer == 0u) port->state = PROTOCOL_STATE_RAMP;
  return port->answer;
}

static inline uint8_t port_double_disarm(void *context, uint32_t now_us) {
  struct port_double *port = context;
  (void)now_us;
  port->disarms++;
  if (port->state != PROTOCOL_STATE_FAULT) port->state = PROTOCOL_STATE_IDLE;
  return port->answer;
}

static inline uint8_t port_double_estop(void *context, uint32_t now_us) {
  struct port_double *port = context;
  (void)now_us;
  port->estops++;
  port->state = PROTOCOL_STATE_FAULT;
  if (port->fault == 0u) port->fault = 2u;
  return port->answer;
}

static inline uint8_t port_double_reset(void *context, uint16_t fault, uint32_t now_us) {
  struct port_double *port = context;
  (void)now_us;
  port->resets++;
  if (port->answer == 0u && fault == port->fault) {
    port->state = PROTOCOL_STATE_IDLE;
    port->fault = 0u;
  }
  return port->answer;
}

static inline uint8_t port_double_setpoint(void *context, const struct session_setpoint *setpoint, uint32_t now_us) {
  struct port_double *port = context;
  (void)now_us;
  port->setpoints++;
  port->setpoint = *setpoint;
  return port->answer;
}

static inline uint8_t port_double_state(void *context) { return ((struct port_double *)context)->state; }

static inline uint16_t port_double_fault(void *context) { return ((struct port_double *)context)->fault; }

static inline void port_double_counters(void *context, struct protocol_counters *counters) {
  counters->watchdog_trips = 7u;
  counters->faults = ((struct port_double *)context)->fault;
}

static inline void port_double_describe(void *context, struct protocol_fault *fault, uint32_t *t_us) {
  fault->fault = ((struct port_double *)context)->fault;
  fault->value = 1.5f;
  *t_us = 1234u;
}

static inline bool port_double_send(void *context, const uint8_t *bytes, size_t size) {
  struct port_double *port = context;
  if (port->link_full) return false;
  port->sent++;
  port->size = size;
  for (size_t i = 0; i < size; i++) port->bytes[i] = bytes[i];
  return true;
}

static inline uint32_t port_double_time(void *context) { return ((struct port_double *)context)->now_us; }

static inline struct session_port port_double_interface(struct port_double *port) {
  return (struct session_port){
    .context = port,
    .arm = port_double_arm,
    .disarm = port_double_disarm,
    .estop = port_double_estop,
    .reset = port_double_reset,
    .setpoint = port_double_setpoint,
    .state = port_double_state,
    .fault = port_double_fault,
    .counters = port_double_counters,
    .describe_fault = port_double_describe,
    .send = port_double_send,
    .time_us = port_double_time,
  };
}

static inline struct session_config port_double_config(bool datagrams, uint8_t actuators) {
  return (struct session_config){
    .datagrams = datagrams,
    .main_rate_hz = 1000u,
    .fast_rate_hz = 10000u,
    .watchdog_us = 10000u,
    .lead_max_us = 1000u,
    .uid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0},
    .firmware = "0.1.0",
    .app = "piano_key",
    .sensors = 3u,
    .actuators = actuators,
    .sensor = {{.name = "hall_front", .unit = "m", .scale = 1e-6f, .kind = PROTOCOL_KIND_HALL, .rate_hz = 10000u}},
    .actuator = {{.name = "coil", .unit = "N", .force_max = 50.0f, .kind = PROTOCOL_KIND_VOICE_COIL}},
  };
}

#endif
