/* Fuzzer of decoder and session, for clang's libFuzzer.
 *
 * An input is a program: after a byte that chooses the link, each operation is a byte, then what it needs. A fuzzer
 * cannot guess a CRC or a ticket, so there are operations that seal a frame rightly and that echo what HELLO said; else
 * everything behind the first check would stay untouched. What is not allowed to happen ends in abort(). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "port_double.h"
#include "session.h"

#define DEMAND(claim) do { if (!(claim)) abort(); } while (0)

enum operation { RAW, SEALED, ECHOED, TIME, STATE, ANSWER, OPERATIONS };

static const uint8_t to_device[] = {
  PROTOCOL_HELLO_REQUEST, PROTOCOL_ARM, PROTOCOL_DISARM, PROTOCOL_ESTOP, PROTOCOL_RESET, PROTOCOL_SYNC_REQUEST,
  PROTOCOL_COUNTERS_REQUEST, PROTOCOL_SETPOINT1, PROTOCOL_SETPOINT2,
};

static struct port_double port;
static struct session session;

static bool send_checked(void *context, const uint8_t *bytes, size_t size) {
  /* Whatever leaves is one good frame to the host. */
  if (session.config->datagrams) {
    DEMAND(framing_check(bytes, size, false) == FRAMING_GOOD);
  } else {
    struct framing_stream stream = {.to_device = false};
    for (size_t i = 0; i + 1u < size; i++) DEMAND(framing_push(&stream, bytes[i]) == FRAMING_NOTHING);
    DEMAND(framing_push(&stream, bytes[size - 1u]) == FRAMING_GOOD);
  }
  return port_double_send(context, bytes, size);
}

static uint8_t setpoint_checked(void *context, const struct session_setpoint *setpoint, uint32_t now_us) {
  /* In sequence, and not of an old sample. */
  const uint32_t age_us = now_us - setpoint->t_us;
  DEMAND(session.greeted);
  DEMAND(age_us <= session.config->watchdog_us || 0u - age_us <= session.config->lead_max_us);
  if (session.in_sequence && now_us - session.last_arrival_us <= session.config->watchdog_us) {
    DEMAND((uint16_t)(setpoint->seq - session.last_seq - 1u) < 0x7FFFu);
  }
  return port_double_setpoint(context, setpoint, now_us);
}

static void give(const uint8_t *frame, size_t size) {
  static uint8_t coded[PROTOCOL_ENCODED_MAX + 1u];
  if (session.config->datagrams) {
    session_receive(&session, frame, size, port.now_us);
  } else {
    const uint8_t zero = 0u; /* ends what raw bytes may have begun */
    session_receive(&session, &zero, 1u, port.now_us);
    session_receive(&session, coded, framing_encode(coded, sizeof coded, frame, size), port.now_us);
  }
}

/* Take a frame out of the input: type, seq, age, body; return the bytes used. */
static size_t sealed(const uint8_t *data, size_t size, bool echoed) {
  uint8_t frame[PROTOCOL_FRAME_MAX] = {0};
  if (size < 3u) return size;
  const uint8_t type = to_device[data[0] % sizeof to_device];
  const struct protocol_shape shape = protocol_shape_of(type);
  const struct protocol_header header = {.type = type, .seq = data[1], .t_us = port.now_us - 100u * data[2]};
  const size_t body = (size_t)shape.length - shape.crc - PROTOCOL_HEADER_SIZE;
  const size_t given = size - 3u < body ? size - 3u : body;
  memcpy(frame + PROTOCOL_HEADER_SIZE, data + 3u, given);
  uint8_t *start = frame + PROTOCOL_HEADER_SIZE;
  if (echoed && type == PROTOCOL_HELLO_REQUEST) protocol_put_u16(start, PROTOCOL_VERSION);
  if (echoed && type == PROTOCOL_RESET) {
    const struct protocol_reset reset = {.fault = port.fault, .ticket = session.ticket};
    protocol_put_reset(start, &reset);
  }
  if (echoed && type == PROTOCOL_ARM) {
    struct protocol_arm arm = {
      .version = PROTOCOL_VERSION, .schema_crc = session.schema_crc, .ticket = session.ticket};
    memcpy(arm.uid, session.config->uid, sizeof arm.uid);
    protocol_put_arm(start, &arm);
  }
  const struct port_double before = port;
  const uint32_t ticket = session.ticket;
  const bool greeted = session.greeted;
  give(frame, framing_seal(frame, &header));
  /* Power needs the whole handshake; and what leads to it works once. */
  if (port.arms != before.arms) {
    struct protocol_arm arm;
    protocol_get_arm(start, &arm);
    DEMAND(type == PROTOCOL_ARM && greeted && arm.ticket == ticket && arm.schema_crc == session.schema_crc &&
           memcmp(arm.uid, session.config->uid, sizeof arm.uid) == 0);
    DEMAND(session.ticket != ticket);
  }
  if (port.resets != before.resets) DEMAND(type == PROTOCOL_RESET && greeted && session.ticket != ticket);
  if (type == PROTOCOL_HELLO_REQUEST) DEMAND(port.state != PROTOCOL_STATE_RAMP && port.state != PROTOCOL_STATE_ACTIVE);
  if (type == PROTOCOL_ESTOP) DEMAND(port.estops == before.estops + 1u && session.ticket != ticket);
  return 3u + given;
}

static void run(const uint8_t *data, size_t size) {
  size_t at = 0;
  while (at < size) {
    const uint8_t operation = data[at++] % OPERATIONS;
    const size_t left = size - at;
    if (operation == RAW) {
      const size_t length = left == 0u ? 0u : data[at] < left - 1u ? data[at] : left - 1u;
      session_receive(&session, data + at + (left > 0u), length, port.now_us);
      at += length + (left > 0u);
    } else if (operation == SEALED || operation == ECHOED) {
      at += sealed(data + at, left, operation == ECHOED);
    } else if (operation == TIME && left > 0u) {
      port.now_us += (uint32_t)data[at] * data[at] * 100u; /* up to 6.5 s */
      at++;
    } else if (operation == STATE) {
      const struct session_measurement measurement = {.t_us = port.now_us, .fault = port.fault};
      (void)session_send_state(&session, &measurement);
    } else if (operation == ANSWER && left > 0u) {
      port.answer = data[at] & 0x43u;
      port.link_full = data[at] >= 0x80u;
      if ((data[at] & 0x20u) != 0u && port.state == PROTOCOL_STATE_RAMP) port.state = PROTOCOL_STATE_ACTIVE;
      at++;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct session_config config;
  static struct session_port interface;
  if (size == 0u) return 0;
  memset(&port, 0, sizeof port);
  port.state = PROTOCOL_STATE_IDLE;
  port.now_us = 0xFFFF0000u; /* soon wraps */
  interface = port_double_interface(&port);
  interface.send = send_checked;
  interface.setpoint = setpoint_checked;
  config = port_double_config((data[0] & 1u) != 0u, (data[0] & 2u) != 0u ? 2u : 1u);
  session_init(&session, &config, &interface);
  run(data + 1u, size - 1u);
  return 0;
}
