/* Session: handshake, tickets, sequence and age of set-points, answers. */
#include "session.h"

/* Age of an accepted set-point from which on it counts as never: the clock would wrap around it. */
#define FORGOTTEN_US 0x80000000u

static uint32_t now_of(const struct session *session) { return session->port->time_us(session->port->context); }

/* Seal the body that stands in session->frame and hand it to the link. */
static bool send_frame(struct session *session, uint8_t type, uint16_t seq, uint32_t t_us) {
  const struct session_port *port = session->port;
  const struct protocol_header header = {
    .type = type, .flags = port->state(port->context), .seq = seq, .t_us = t_us,
  };
  const size_t size = framing_seal(session->frame, &header);
  bool sent;
  if (session->config->datagrams) {
    sent = port->send(port->context, session->frame, size);
  } else {
    const size_t coded = framing_encode(session->coded, sizeof session->coded, session->frame, size);
    sent = port->send(port->context, session->coded, coded);
  }
  if (!sent) session->counters.unsent++;
  return sent;
}

/* A ticket that no earlier frame carries: what was on its way when it was made can't lead to power. */
static void renew_ticket(struct session *session) {
  const uint32_t before = session->ticket;
  uint8_t seed[8];
  session->tickets++;
  protocol_put_u32(seed, session->tickets);
  protocol_put_u32(seed + 4, now_of(session));
  session->ticket = framing_crc32(seed, sizeof seed, framing_crc32(session->config->uid, PROTOCOL_UID_SIZE, before));
  if (session->ticket == before) session->ticket++;
}

static void put_schema(uint8_t *body, const struct session_config *config) {
  struct protocol_hello hello = {
    .version = PROTOCOL_VERSION,
    .main_rate_hz = config->main_rate_hz,
    .fast_rate_hz = config->fast_rate_hz,
    .watchdog_us = config->watchdog_us,
    .layout_crc = PROTOCOL_LAYOUT_CRC,
    .sensors = config->sensors,
    .actuators = config->actuators,
  };
  for (size_t i = 0; i < PROTOCOL_UID_SIZE; i++) hello.uid[i] = config->uid[i];
  for (size_t i = 0; i < sizeof hello.firmware; i++) hello.firmware[i] = config->firmware[i];
  for (size_t i = 0; i < sizeof hello.app; i++) hello.app[i] = config->app[i];
  for (size_t i = 0; i < PROTOCOL_SENSORS; i++) hello.sensor[i] = config->sensor[i];
  for (size_t i = 0; i < PROTOCOL_ACTUATORS; i++) hello.actuator[i] = config->actuator[i];
  protocol_put_hello(body, &hello);
}

/* From the bytes of HELLO's body, as the host computes it too. */
static uint32_t schema_crc(const uint8_t *body) {
  uint8_t layout[4];
  protocol_put_u32(layout, PROTOCOL_LAYOUT_CRC);
  return framing_crc32(body + PROTOCOL_HELLO_SCHEMA, PROTOCOL_HELLO_BODY - PROTOCOL_HELLO_SCHEMA,
                       framing_crc32(layout, sizeof layout, 0u));
}

void session_init(struct session *session, const struct session_config *config, const struct session_port *port) {
  *session = (struct session){.config = config, .port = port, .stream = {.to_device = true}};
  uint8_t *body = session->frame + PROTOCOL_HEADER_SIZE;
  put_schema(body, config);
  session->schema_crc = schema_crc(body);
  renew_ticket(session);
}

static void send_hello(struct session *session, uint16_t seq) {
  uint8_t *body = session->frame + PROTOCOL_HEADER_SIZE;
  put_schema(body, session->config);
  protocol_put_u32(body + PROTOCOL_HELLO_TICKET, session->ticket);
  protocol_put_u32(body + PROTOCOL_HELLO_SCHEMA_CRC, session->schema_crc);
  (void)send_frame(session, PROTOCOL_HELLO, seq, now_of(session));
}

static void send_reply(struct session *session, const struct protocol_header *request, uint8_t result) {
  const struct protocol_reply reply = {
    .request = request->type,
    .result = result,
    .fault = session->port->fault(session->port->context),
    .ticket = session->ticket,
  };
  if (result != PROTOCOL_RESULT_OK) session->counters.refused++;
  protocol_put_reply(session->frame + PROTOCOL_HEADER_SIZE, &reply);
  (void)send_frame(session, PROTOCOL_REPLY, request->seq, now_of(session));
}

/* A handshake always begins with power off: whoever sends it may be another host than the one that armed. */
static void on_hello(struct session *session, const struct protocol_header *header, const uint8_t *body,
                     uint32_t now_us) {
  const struct session_port *port = session->port;
  struct protocol_hello_request request;
  protocol_get_hello_request(body, &request);
  const uint8_t state = port->state(port->context);
  if (state == PROTOCOL_STATE_RAMP || state == PROTOCOL_STATE_ACTIVE) (void)port->disarm(port->context, now_us);
  renew_ticket(session);
  session->greeted = request.version == PROTOCOL_VERSION;
  session->in_sequence = false;
  send_hello(session, header->seq); /* also to a host of another version: it must be able to say what is wrong */
}

static uint8_t arm(struct session *session, const uint8_t *body, uint32_t now_us) {
  struct protocol_arm request;
  protocol_get_arm(body, &request);
  if (request.version != PROTOCOL_VERSION) return PROTOCOL_RESULT_VERSION;
  if (!session->greeted) return PROTOCOL_RESULT_NO_HELLO;
  if (request.schema_crc != session->schema_crc) return PROTOCOL_RESULT_SCHEMA;
  for (size_t i = 0; i < PROTOCOL_UID_SIZE; i++) {
    if (request.uid[i] != session->config->uid[i]) return PROTOCOL_RESULT_UID;
  }
  if (request.ticket != session->ticket) return PROTOCOL_RESULT_TICKET;
  renew_ticket(session);
  return session->port->arm(session->port->context, now_us);
}

static uint8_t reset(struct session *session, const uint8_t *body, uint32_t now_us) {
  const struct session_port *port = session->port;
  struct protocol_reset request;
  protocol_get_reset(body, &request);
  if (!session->greeted) return PROTOCOL_RESULT_NO_HELLO;
  if (request.ticket != session->ticket) return PROTOCOL_RESULT_TICKET;
  renew_ticket(session);
  const uint16_t fault = port->fault(port->context);
  if (fault == 0u) return PROTOCOL_RESULT_STATE;
  if (request.fault != fault) return PROTOCOL_RESULT_OTHER_FAULT;
  return port->reset(port->context, fault, now_us);
}

static void count_setpoint(struct protocol_counters *counters, uint8_t result) {
  switch (result) {
    case PROTOCOL_RESULT_OK: counters->setpoints++; break;
    case PROTOCOL_RESULT_DUPLICATE:
    case PROTOCOL_RESULT_OUT_OF_ORDER: counters->repeated++; break;
    case PROTOCOL_RESULT_STALE: counters->stale++; break;
    default: counters->refused++; break;
  }
}

/* Whether a set-point is in order; *missing is the number of those lost before it. */
static uint8_t order(const struct session *session, const struct protocol_header *header, uint32_t now_us,
                     uint32_t *missing) {
  const struct session_config *config = session->config;
  *missing = 0u;
  if (!session->greeted) return PROTOCOL_RESULT_NO_HELLO;
  if ((header->type == PROTOCOL_SETPOINT1 ? 1u : 2u) != config->actuators) return PROTOCOL_RESULT_ACTUATORS;
  /* Differences modulo 2^16 and 2^32: the clock and the counter may wrap. After a silence longer than the watchdog seq
   * says nothing (32768 lost ones would look like the past), and the age below still refuses what is old. */
  if (session->in_sequence && now_us - session->last_arrival_us <= config->watchdog_us) {
    const uint16_t ahead = (uint16_t)(header->seq - session->last_seq);
    if (ahead == 0u) return PROTOCOL_RESULT_DUPLICATE;
    if (ahead >= 0x8000u || header->t_us - session->last_t_us >= 0x80000000u) return PROTOCOL_RESULT_OUT_OF_ORDER;
    *missing = (uint32_t)ahead - 1u;
  }
  const uint32_t age_us = now_us - header->t_us;
  const uint32_t lead_us = header->t_us - now_us;
  if (age_us > config->watchdog_us && lead_us > config->lead_max_us) return PROTOCOL_RESULT_STALE;
  return PROTOCOL_RESULT_OK;
}

static void on_setpoint(struct session *session, const struct protocol_header *header, const uint8_t *body,
                        uint32_t now_us) {
  uint32_t missing;
  uint8_t result = order(session, header, now_us, &missing);
  if (result == PROTOCOL_RESULT_OK) {
    struct session_setpoint setpoint = {.seq = header->seq, .t_us = header->t_us};
    /* SETPOINT1 and SETPOINT2 are laws one after another. */
    for (size_t i = 0; i < session->config->actuators; i++) {
      protocol_get_law(body + PROTOCOL_LAW_SIZE * i, &setpoint.law[i]);
    }
    result = session->port->setpoint(session->port->context, &setpoint, now_us);
  }
  count_setpoint(&session->counters, result);
  if (result != PROTOCOL_RESULT_OK) return;
  session->counters.lost += missing;
  session->in_sequence = true;
  session->any_setpoint = true;
  session->last_seq = header->seq;
  session->last_t_us = header->t_us;
  session->last_arrival_us = now_us;
}

static void on_sync(struct session *session, const struct protocol_header *header, const uint8_t *body,
                    uint32_t now_us) {
  struct protocol_sync_request request;
  protocol_get_sync_request(body, &request);
  const struct protocol_sync sync = {.t1_us = request.t1_us, .t2_us = now_us};
  protocol_put_sync(session->frame + PROTOCOL_HEADER_SIZE, &sync);
  (void)send_frame(session, PROTOCOL_SYNC, header->seq, now_of(session));
}

static void on_frame(struct session *session, const uint8_t *frame, uint32_t now_us) {
  const struct session_port *port = session->port;
  const uint8_t *body = frame + PROTOCOL_HEADER_SIZE;
  struct protocol_header header;
  protocol_get_header(frame, &header);
  session->counters.frames++;
  switch (header.type) {
    case PROTOCOL_SETPOINT1:
    case PROTOCOL_SETPOINT2: on_setpoint(session, &header, body, now_us); break;
    case PROTOCOL_HELLO_REQUEST: on_hello(session, &header, body, now_us); break;
    case PROTOCOL_ARM: send_reply(session, &header, arm(session, body, now_us)); break;
    case PROTOCOL_RESET: send_reply(session, &header, reset(session, body, now_us)); break;
    /* Whatever makes the device safer needs neither handshake nor ticket; it voids an ARM that is overtaken by it. */
    case PROTOCOL_DISARM:
      renew_ticket(session);
      send_reply(session, &header, port->disarm(port->context, now_us));
      break;
    case PROTOCOL_ESTOP:
      renew_ticket(session);
      send_reply(session, &header, port->estop(port->context, now_us));
      break;
    case PROTOCOL_SYNC_REQUEST: on_sync(session, &header, body, now_us); break;
    case PROTOCOL_COUNTERS_REQUEST:
      (void)session_send_counters(session);
      (void)session_send_fault(session);
      break;
    default: break; /* framing_check() lets no other type through */
  }
}

static void on_verdict(struct session *session, enum framing_verdict verdict, const uint8_t *frame, uint32_t now_us) {
  struct protocol_counters *counters = &session->counters;
  switch (verdict) {
    case FRAMING_NOTHING: break;
    case FRAMING_GOOD: on_frame(session, frame, now_us); break;
    case FRAMING_LONG:
    case FRAMING_COBS: counters->bad_cobs++; break;
    case FRAMING_SHORT:
    case FRAMING_LENGTH: counters->bad_length++; break;
    case FRAMING_TYPE:
    case FRAMING_WAY:
    case FRAMING_FLAGS: counters->bad_type++; break;
    case FRAMING_CRC: counters->bad_crc++; break;
  }
}

void session_receive(struct session *session, const uint8_t *bytes, size_t size, uint32_t now_us) {
  if (session->config->datagrams) {
    on_verdict(session, framing_check(bytes, size, true), bytes, now_us);
    return;
  }
  for (size_t i = 0; i < size; i++) {
    on_verdict(session, framing_push(&session->stream, bytes[i]), session->stream.frame, now_us);
  }
}

bool session_send_state(struct session *session, const struct session_measurement *measurement) {
  const struct protocol_counters *c = &session->counters;
  const uint32_t age_us = now_of(session) - session->last_arrival_us;
  if (age_us >= FORGOTTEN_US) session->any_setpoint = false;
  struct protocol_state2 state = {
    .echo_seq = session->last_seq,
    .fault = measurement->fault,
    .echo_t_us = session->last_t_us,
    .age_us = session->any_setpoint ? age_us : 0xFFFFFFFFu,
    .refused = (uint16_t)(c->bad_cobs + c->bad_length + c->bad_type + c->bad_crc + c->repeated + c->stale + c->refused),
    .fresh = measurement->fresh,
    .limited = measurement->limited,
  };
  for (size_t i = 0; i < PROTOCOL_SENSORS; i++) state.counts[i] = measurement->counts[i];
  for (size_t i = 0; i < PROTOCOL_ACTUATORS; i++) state.measured[i] = measurement->measured[i];
  /* STATE1 is the beginning of STATE2. */
  protocol_put_state2(session->frame + PROTOCOL_HEADER_SIZE, &state);
  const uint8_t type = session->config->actuators == 1u ? PROTOCOL_STATE1 : PROTOCOL_STATE2;
  const uint16_t seq = session->state_seq;
  session->state_seq = (uint16_t)(seq + 1u); /* also when the link takes nothing: the host sees the gap */
  return send_frame(session, type, seq, measurement->t_us);
}

bool session_send_counters(struct session *session) {
  struct protocol_counters counters = session->counters;
  session->port->counters(session->port->context, &counters);
  protocol_put_counters(session->frame + PROTOCOL_HEADER_SIZE, &counters);
  return send_frame(session, PROTOCOL_COUNTERS, 0u, now_of(session));
}

bool session_send_fault(struct session *session) {
  const struct session_port *port = session->port;
  if (port->fault(port->context) == 0u) return false;
  struct protocol_fault fault = {.channel = 255u};
  uint32_t t_us = 0u;
  port->describe_fault(port->context, &fault, &t_us);
  protocol_put_fault(session->frame + PROTOCOL_HEADER_SIZE, &fault);
  const uint16_t seq = session->fault_seq;
  session->fault_seq = (uint16_t)(seq + 1u);
  return send_frame(session, PROTOCOL_FAULT, seq, t_us);
}
