/* Session: the handshake with the host, and what to do with each good frame.
 *
 * It decides who may speak (handshake, ticket, sequence, age of set-points); whether power may flow is decided by the
 * safety block behind struct session_port. Nothing here can raise a limit: no frame carries one. All functions are to be
 * called from one context, the one that serves the link. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "framing.h"
#include "protocol.h"

/* A set-point that passed sequence and age. Laws beyond the device's actuators are zero. */
struct session_setpoint {
  uint16_t seq;
  uint32_t t_us; /* device time of the sample it was computed from */
  struct protocol_law law[PROTOCOL_ACTUATORS];
};

/* What the device measured; becomes STATE1 or STATE2. */
struct session_measurement {
  uint32_t t_us; /* time of the sample */
  uint16_t fault;
  uint8_t fresh;   /* bit i: sensor i has a new valid sample */
  uint8_t limited; /* bits of enum protocol_limited */
  int32_t counts[PROTOCOL_SENSORS];
  struct protocol_measured measured[PROTOCOL_ACTUATORS];
};

/* The rest of the firmware as the session sees it. All are called from session_*() only, in the caller's context. */
struct session_port {
  void *context;
  /* Requests that were in order so far. Each returns 0, or what goes to the host in REPLY: the number of a fault
   * (faults.h) or of enum protocol_result, which agree from 64 on. */
  uint8_t (*arm)(void *context, uint32_t now_us);
  uint8_t (*disarm)(void *context, uint32_t now_us);
  uint8_t (*estop)(void *context, uint32_t now_us);
  /* fault is the latched one: that was checked. */
  uint8_t (*reset)(void *context, uint16_t fault, uint32_t now_us);
  /* Called in every state, so that zero can be shown before RESET and ARM. Anything but 0: refused, not echoed. */
  uint8_t (*setpoint)(void *context, const struct session_setpoint *setpoint, uint32_t now_us);
  uint8_t (*state)(void *context);  /* enum protocol_state, as enum safety_mode */
  uint16_t (*fault)(void *context); /* number of the latched fault, 0: none */
  /* Add what the session does not know: watchdog_trips, faults, overruns, fast_us, thermal. */
  void (*counters)(void *context, struct protocol_counters *counters);
  /* Describe the latched fault (fault, channel, before, value, limit) and when; only called when there is one. */
  void (*describe_fault)(void *context, struct protocol_fault *fault, uint32_t *t_us);
  /* Hand bytes to the link, all or none; false: it did not take them. Never waits. */
  bool (*send)(void *context, const uint8_t *bytes, size_t size);
  uint32_t (*time_us)(void *context);
};

struct session_config {
  bool datagrams;           /* frames bare in datagrams (UDP), else coded with COBS (serial) */
  uint16_t main_rate_hz;
  uint32_t fast_rate_hz;
  uint32_t watchdog_us;     /* shown to the host; a set-point of an older sample is refused */
  uint32_t lead_max_us;     /* a set-point may be ahead of the device's clock by this much */
  uint8_t uid[PROTOCOL_UID_SIZE];
  char firmware[16];
  char app[16];
  uint8_t sensors;          /* at most PROTOCOL_SENSORS */
  uint8_t actuators;        /* 1 to PROTOCOL_ACTUATORS */
  struct protocol_sensor sensor[PROTOCOL_SENSORS];
  struct protocol_actuator actuator[PROTOCOL_ACTUATORS];
};

struct session {
  const struct session_config *config;
  const struct session_port *port;
  uint32_t schema_crc;
  uint32_t ticket;
  uint32_t tickets;        /* how many were made */
  bool greeted;            /* a handshake took place */
  bool in_sequence;        /* a set-point was accepted since the handshake: the next one must follow it */
  bool any_setpoint;       /* one was accepted in the last half hour: its age is known */
  uint16_t last_seq;       /* of the last accepted set-point */
  uint32_t last_t_us;      /* its t_us */
  uint32_t last_arrival_us;
  uint16_t state_seq;
  uint16_t fault_seq;
  struct protocol_counters counters;
  struct framing_stream stream;
  uint8_t frame[PROTOCOL_FRAME_MAX];        /* the frame that is being sent */
  uint8_t coded[PROTOCOL_ENCODED_MAX + 1u]; /* the same, with COBS */
};

/* Begin; config and port stay the caller's and must live on. */
void session_init(struct session *session, const struct session_config *config, const struct session_port *port);

/* Bytes that arrived at now_us: any portion of a stream, or exactly one datagram, as config says. */
void session_receive(struct session *session, const uint8_t *bytes, size_t size, uint32_t now_us);

/* Send the state frame of this main period. */
bool session_send_state(struct session *session, const struct session_measurement *measurement);

/* Send COUNTERS: once a second is enough. */
bool session_send_counters(struct session *session);

/* Send FAULT: when one has just been latched. */
bool session_send_fault(struct session *session);

#endif
