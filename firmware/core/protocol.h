/* The wire protocol: numbers, lengths, and bodies as structs with their way to and from bytes.
 *
 * Generated from nodes/wire/definition.py by nodes/wire/generate.py: change the definition, not this file.
 * Bytes are moved one by one, so neither alignment nor byte order of the processor matters. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ENCODED_MAX leaves out the final zero. HELLO_TICKET, _SCHEMA_CRC and _SCHEMA are places in its body; from the
 * last one to the end it is covered by the schema CRC. */
#define PROTOCOL_VERSION 1u
#define PROTOCOL_LAYOUT_CRC 0x8CB44920u
#define PROTOCOL_SENSORS 6u
#define PROTOCOL_ACTUATORS 2u
#define PROTOCOL_HEADER_SIZE 8u
#define PROTOCOL_FRAME_MIN 10u
#define PROTOCOL_FRAME_MAX 340u
#define PROTOCOL_FRAME_MAX_TO_DEVICE 44u
#define PROTOCOL_ENCODED_MAX 342u
#define PROTOCOL_UID_SIZE 12u
#define PROTOCOL_HELLO_BODY 328u
#define PROTOCOL_HELLO_TICKET 20u
#define PROTOCOL_HELLO_SCHEMA_CRC 32u
#define PROTOCOL_HELLO_SCHEMA 52u
#define PROTOCOL_LAW_SIZE 16u

enum protocol_type {
  PROTOCOL_HELLO_REQUEST = 0x01, /* Begin a handshake: power goes off, earlier tickets are void. */
  PROTOCOL_ARM = 0x02, /* Enable power, with the ramp; must echo what HELLO said. */
  PROTOCOL_DISARM = 0x03, /* Power off; not a fault. */
  PROTOCOL_ESTOP = 0x04, /* Power off at once, latched; needs no handshake. */
  PROTOCOL_RESET = 0x05, /* Clear the latched fault, at zero set-point; power stays off until ARM. */
  PROTOCOL_SYNC_REQUEST = 0x06, /* Clock synchronisation, host to device. */
  PROTOCOL_COUNTERS_REQUEST = 0x07, /* Ask for COUNTERS and, if a fault is latched, FAULT. */
  PROTOCOL_SETPOINT1 = 0x11, /* Local law for 1 actuator; seq is its own counter, t_us the device time of the sample it was computed from. */
  PROTOCOL_SETPOINT2 = 0x12, /* Local law for 2 actuators; seq is its own counter, t_us the device time of the sample it was computed from. */
  PROTOCOL_HELLO = 0x81, /* Who the device is. From app to the end it is the schema. */
  PROTOCOL_REPLY = 0x82, /* Answer to ARM, DISARM, ESTOP and RESET. */
  PROTOCOL_SYNC = 0x83, /* Clock synchronisation, device to host; t_us is t3, when it was sent. */
  PROTOCOL_COUNTERS = 0x84, /* What went well and what did not since start; each wraps. */
  PROTOCOL_FAULT = 0x85, /* A fault was latched; t_us says when. seq counts these reports. */
  PROTOCOL_STATE1 = 0x91, /* Measured state of a device with 1 actuator, at the main rate; t_us is the time of the sample. */
  PROTOCOL_STATE2 = 0x92, /* Measured state of a device with 2 actuators, at the main rate; t_us is the time of the sample. */
};

/* What is fixed for a type of frame; length 0: there is no such type. */
struct protocol_shape {
  uint16_t length; /* whole frame: header, body and CRC */
  uint8_t crc;     /* bytes of CRC: 2 or 4 */
  bool to_device;  /* else to the host */
};

static inline struct protocol_shape protocol_shape_of(uint8_t type) {
  switch (type) {
    case PROTOCOL_HELLO_REQUEST: return (struct protocol_shape){12u, 2u, true};
    case PROTOCOL_ARM: return (struct protocol_shape){36u, 4u, true};
    case PROTOCOL_DISARM: return (struct protocol_shape){10u, 2u, true};
    case PROTOCOL_ESTOP: return (struct protocol_shape){10u, 2u, true};
    case PROTOCOL_RESET: return (struct protocol_shape){20u, 4u, true};
    case PROTOCOL_SYNC_REQUEST: return (struct protocol_shape){14u, 2u, true};
    case PROTOCOL_COUNTERS_REQUEST: return (struct protocol_shape){10u, 2u, true};
    case PROTOCOL_SETPOINT1: return (struct protocol_shape){28u, 4u, true};
    case PROTOCOL_SETPOINT2: return (struct protocol_shape){44u, 4u, true};
    case PROTOCOL_HELLO: return (struct protocol_shape){340u, 4u, false};
    case PROTOCOL_REPLY: return (struct protocol_shape){18u, 2u, false};
    case PROTOCOL_SYNC: return (struct protocol_shape){18u, 2u, false};
    case PROTOCOL_COUNTERS: return (struct protocol_shape){78u, 2u, false};
    case PROTOCOL_FAULT: return (struct protocol_shape){22u, 2u, false};
    case PROTOCOL_STATE1: return (struct protocol_shape){68u, 4u, false};
    case PROTOCOL_STATE2: return (struct protocol_shape){84u, 4u, false};
    default: return (struct protocol_shape){0u, 0u, false};
  }
}

enum protocol_state {
  PROTOCOL_STATE_BOOT = 0, /* starting; outputs off */
  PROTOCOL_STATE_IDLE = 1, /* outputs off, sensing */
  PROTOCOL_STATE_RAMP = 2, /* armed; the force rises from zero */
  PROTOCOL_STATE_ACTIVE = 3, /* armed; the whole force is allowed */
  PROTOCOL_STATE_FAULT = 4, /* latched until RESET: outputs off, after damping where the fault allows it; sensing goes on */
};

enum protocol_result {
  PROTOCOL_RESULT_OK = 0, /* done */
  PROTOCOL_RESULT_STATE = 64, /* not possible in the present state */
  PROTOCOL_RESULT_UNCALIBRATED = 65, /* the device is not calibrated */
  PROTOCOL_RESULT_IMPLAUSIBLE = 66, /* a sensor reads what it cannot */
  PROTOCOL_RESULT_SETPOINT_NOT_ZERO = 67, /* no set-point, or not a zero one, was accepted before */
  PROTOCOL_RESULT_ESTOP_ACTIVE = 68, /* the emergency stop input is active */
  PROTOCOL_RESULT_SCHEMA = 69, /* the echoed schema is not this device's */
  PROTOCOL_RESULT_SUPPLY = 70, /* the supply voltage is out of range */
  PROTOCOL_RESULT_VERSION = 71, /* the host speaks another version of the protocol */
  PROTOCOL_RESULT_UID = 72, /* the echoed uid is not this device's */
  PROTOCOL_RESULT_TICKET = 73, /* the ticket was used before or is of another handshake */
  PROTOCOL_RESULT_NO_HELLO = 74, /* no handshake yet */
  PROTOCOL_RESULT_OTHER_FAULT = 75, /* RESET names another fault than the one latched */
  PROTOCOL_RESULT_DUPLICATE = 76, /* the set-point's seq was accepted before */
  PROTOCOL_RESULT_OUT_OF_ORDER = 77, /* the set-point is older than the last accepted one */
  PROTOCOL_RESULT_STALE = 78, /* the set-point belongs to a sample that is too old, or to the future */
  PROTOCOL_RESULT_ACTUATORS = 79, /* a set-point for another number of actuators */
};

enum protocol_kind {
  PROTOCOL_KIND_NONE = 0, /* not used */
  PROTOCOL_KIND_HALL = 1, /* Hall sensor */
  PROTOCOL_KIND_COIL = 2, /* coil velocity sensor */
  PROTOCOL_KIND_ENCODER = 3, /* incremental encoder */
  PROTOCOL_KIND_ABSOLUTE_ENCODER = 4, /* absolute encoder */
  PROTOCOL_KIND_POTENTIOMETER = 5, /* potentiometer */
  PROTOCOL_KIND_STRAIN_GAUGE = 6, /* strain gauge */
  PROTOCOL_KIND_IMU = 7, /* inertial sensor */
  PROTOCOL_KIND_CURRENT = 8, /* current sensor */
  PROTOCOL_KIND_VOICE_COIL = 9, /* voice-coil actuator */
  PROTOCOL_KIND_DC_MOTOR = 10, /* DC motor */
  PROTOCOL_KIND_DIRECT_DRIVE = 11, /* direct-drive motor */
};

enum protocol_limited {
  PROTOCOL_LIMITED_FINITE = 1, /* a value was not finite */
  PROTOCOL_LIMITED_VELOCITY = 2, /* the velocity limit takes force away */
  PROTOCOL_LIMITED_THERMAL = 4, /* I2t derating */
  PROTOCOL_LIMITED_SLEW = 8, /* the rate of change is limited */
  PROTOCOL_LIMITED_CLAMP = 16, /* the force is limited */
  PROTOCOL_LIMITED_RAMP = 32, /* the force still rises after arming */
  PROTOCOL_LIMITED_PASSIVITY = 64, /* the energy tank is empty: only what brakes the motion may pass */
};

static inline void protocol_put_u8(uint8_t *to, uint8_t value) { to[0] = value; }

static inline void protocol_put_u16(uint8_t *to, uint16_t value) {
  to[0] = (uint8_t)(value & 0xFFu);
  to[1] = (uint8_t)(value >> 8);
}

static inline void protocol_put_u32(uint8_t *to, uint32_t value) {
  protocol_put_u16(to, (uint16_t)(value & 0xFFFFu));
  protocol_put_u16(to + 2, (uint16_t)(value >> 16));
}

static inline void protocol_put_i32(uint8_t *to, int32_t value) { protocol_put_u32(to, (uint32_t)value); }

static inline void protocol_put_f32(uint8_t *to, float value) {
  union { float number; uint32_t bits; } both;
  both.number = value;
  protocol_put_u32(to, both.bits);
}

static inline uint8_t protocol_get_u8(const uint8_t *from) { return from[0]; }

static inline uint16_t protocol_get_u16(const uint8_t *from) {
  return (uint16_t)(from[0] | ((uint32_t)from[1] << 8));
}

static inline uint32_t protocol_get_u32(const uint8_t *from) {
  return protocol_get_u16(from) | ((uint32_t)protocol_get_u16(from + 2) << 16);
}

static inline int32_t protocol_get_i32(const uint8_t *from) { return (int32_t)protocol_get_u32(from); }

static inline float protocol_get_f32(const uint8_t *from) {
  union { float number; uint32_t bits; } both;
  both.bits = protocol_get_u32(from);
  return both.number;
}

/* The header of every frame. */
struct protocol_header {
  uint8_t type; /* number of the message type */
  uint8_t flags; /* to the host: the state; to the device: 0, anything else is refused */
  uint16_t seq; /* set-points, states and fault reports count, each on its own; an answer repeats its request's */
  uint32_t t_us; /* time of the device that a set-point or state belongs to; wraps after 71.6 minutes [us] */
};

static inline void protocol_put_header(uint8_t *bytes, const struct protocol_header *body) {
  protocol_put_u8(bytes, body->type);
  protocol_put_u8(bytes + 1, body->flags);
  protocol_put_u16(bytes + 2, body->seq);
  protocol_put_u32(bytes + 4, body->t_us);
}
static inline void protocol_get_header(const uint8_t *bytes, struct protocol_header *body) {
  body->type = protocol_get_u8(bytes);
  body->flags = protocol_get_u8(bytes + 1);
  body->seq = protocol_get_u16(bytes + 2);
  body->t_us = protocol_get_u32(bytes + 4);
}

/* The local law F = F0 - K (q - q0) - B qd of one actuator, rendered at the fast rate. */
struct protocol_law {
  float F0; /* force at q0 at rest [N or N m] */
  float q0; /* position where the force is F0 [m or rad] */
  float K; /* stiffness; 0 is legal [N/m or N m/rad] */
  float B; /* damping; 0 is legal [N s/m or N m s/rad] */
};

static inline void protocol_put_law(uint8_t *bytes, const struct protocol_law *body) {
  protocol_put_f32(bytes, body->F0);
  protocol_put_f32(bytes + 4, body->q0);
  protocol_put_f32(bytes + 8, body->K);
  protocol_put_f32(bytes + 12, body->B);
}
static inline void protocol_get_law(const uint8_t *bytes, struct protocol_law *body) {
  body->F0 = protocol_get_f32(bytes);
  body->q0 = protocol_get_f32(bytes + 4);
  body->K = protocol_get_f32(bytes + 8);
  body->B = protocol_get_f32(bytes + 12);
}

/* What the device measures of one actuator. */
struct protocol_measured {
  float force; /* force from the measured current [N or N m] */
  float current; /* measured current [A] */
  float position; /* position that the local law uses [m or rad] */
  float velocity; /* velocity that the local law uses [m/s or rad/s] */
};

static inline void protocol_put_measured(uint8_t *bytes, const struct protocol_measured *body) {
  protocol_put_f32(bytes, body->force);
  protocol_put_f32(bytes + 4, body->current);
  protocol_put_f32(bytes + 8, body->position);
  protocol_put_f32(bytes + 12, body->velocity);
}
static inline void protocol_get_measured(const uint8_t *bytes, struct protocol_measured *body) {
  body->force = protocol_get_f32(bytes);
  body->current = protocol_get_f32(bytes + 4);
  body->position = protocol_get_f32(bytes + 8);
  body->velocity = protocol_get_f32(bytes + 12);
}

/* Descriptor of one sensor channel. */
struct protocol_sensor {
  char name[16]; /* name of the channel */
  char unit[8]; /* unit after scaling */
  float scale; /* nominal units per count [unit] */
  uint8_t kind; /* one of kind */
  uint8_t bits; /* the count wraps at 2^bits; 0: never */
  uint16_t rate_hz; /* samples per second [Hz] */
};

static inline void protocol_put_sensor(uint8_t *bytes, const struct protocol_sensor *body) {
  for (size_t i = 0; i < 16u; i++) bytes[0u + i] = (uint8_t)body->name[i];
  for (size_t i = 0; i < 8u; i++) bytes[16u + i] = (uint8_t)body->unit[i];
  protocol_put_f32(bytes + 24, body->scale);
  protocol_put_u8(bytes + 28, body->kind);
  protocol_put_u8(bytes + 29, body->bits);
  protocol_put_u16(bytes + 30, body->rate_hz);
}
static inline void protocol_get_sensor(const uint8_t *bytes, struct protocol_sensor *body) {
  for (size_t i = 0; i < 16u; i++) body->name[i] = (char)bytes[0u + i];
  for (size_t i = 0; i < 8u; i++) body->unit[i] = (char)bytes[16u + i];
  body->scale = protocol_get_f32(bytes + 24);
  body->kind = protocol_get_u8(bytes + 28);
  body->bits = protocol_get_u8(bytes + 29);
  body->rate_hz = protocol_get_u16(bytes + 30);
}

/* Descriptor of one actuator. */
struct protocol_actuator {
  char name[16]; /* name of the actuator */
  char unit[8]; /* unit of its force: N or N m */
  float force_max; /* clamp of the force [unit] */
  uint8_t kind; /* one of kind */
  uint8_t spare; /* 0 */
  uint16_t rate_hz; /* rate of the local law [Hz] */
};

static inline void protocol_put_actuator(uint8_t *bytes, const struct protocol_actuator *body) {
  for (size_t i = 0; i < 16u; i++) bytes[0u + i] = (uint8_t)body->name[i];
  for (size_t i = 0; i < 8u; i++) bytes[16u + i] = (uint8_t)body->unit[i];
  protocol_put_f32(bytes + 24, body->force_max);
  protocol_put_u8(bytes + 28, body->kind);
  protocol_put_u8(bytes + 29, body->spare);
  protocol_put_u16(bytes + 30, body->rate_hz);
}
static inline void protocol_get_actuator(const uint8_t *bytes, struct protocol_actuator *body) {
  for (size_t i = 0; i < 16u; i++) body->name[i] = (char)bytes[0u + i];
  for (size_t i = 0; i < 8u; i++) body->unit[i] = (char)bytes[16u + i];
  body->force_max = protocol_get_f32(bytes + 24);
  body->kind = protocol_get_u8(bytes + 28);
  body->spare = protocol_get_u8(bytes + 29);
  body->rate_hz = protocol_get_u16(bytes + 30);
}

/* Begin a handshake: power goes off, earlier tickets are void. */
struct protocol_hello_request {
  uint16_t version; /* version of the protocol that the host speaks */
};

static inline void protocol_put_hello_request(uint8_t *bytes, const struct protocol_hello_request *body) {
  protocol_put_u16(bytes, body->version);
}
static inline void protocol_get_hello_request(const uint8_t *bytes, struct protocol_hello_request *body) {
  body->version = protocol_get_u16(bytes);
}

/* Enable power, with the ramp; must echo what HELLO said. */
struct protocol_arm {
  uint16_t version; /* version of the protocol that the host speaks */
  uint16_t spare; /* 0 */
  uint8_t uid[12]; /* uid of the device that is meant */
  uint32_t schema_crc; /* schema of the device that is meant */
  uint32_t ticket; /* the newest ticket, of HELLO or REPLY; each works once */
};

static inline void protocol_put_arm(uint8_t *bytes, const struct protocol_arm *body) {
  protocol_put_u16(bytes, body->version);
  protocol_put_u16(bytes + 2, body->spare);
  for (size_t i = 0; i < 12u; i++) bytes[4u + i] = (uint8_t)body->uid[i];
  protocol_put_u32(bytes + 16, body->schema_crc);
  protocol_put_u32(bytes + 20, body->ticket);
}
static inline void protocol_get_arm(const uint8_t *bytes, struct protocol_arm *body) {
  body->version = protocol_get_u16(bytes);
  body->spare = protocol_get_u16(bytes + 2);
  for (size_t i = 0; i < 12u; i++) body->uid[i] = (uint8_t)bytes[4u + i];
  body->schema_crc = protocol_get_u32(bytes + 16);
  body->ticket = protocol_get_u32(bytes + 20);
}

/* Clear the latched fault, at zero set-point; power stays off until ARM. */
struct protocol_reset {
  uint16_t fault; /* the fault that is meant: one not yet seen cannot be cleared */
  uint16_t spare; /* 0 */
  uint32_t ticket; /* the newest ticket, of HELLO or REPLY; each works once */
};

static inline void protocol_put_reset(uint8_t *bytes, const struct protocol_reset *body) {
  protocol_put_u16(bytes, body->fault);
  protocol_put_u16(bytes + 2, body->spare);
  protocol_put_u32(bytes + 4, body->ticket);
}
static inline void protocol_get_reset(const uint8_t *bytes, struct protocol_reset *body) {
  body->fault = protocol_get_u16(bytes);
  body->spare = protocol_get_u16(bytes + 2);
  body->ticket = protocol_get_u32(bytes + 4);
}

/* Clock synchronisation, host to device. */
struct protocol_sync_request {
  uint32_t t1_us; /* host time when it was sent [us] */
};

static inline void protocol_put_sync_request(uint8_t *bytes, const struct protocol_sync_request *body) {
  protocol_put_u32(bytes, body->t1_us);
}
static inline void protocol_get_sync_request(const uint8_t *bytes, struct protocol_sync_request *body) {
  body->t1_us = protocol_get_u32(bytes);
}

/* Local law for 1 actuator; seq is its own counter, t_us the device time of the sample it was computed from. */
struct protocol_setpoint1 {
  struct protocol_law law[1]; /* one per actuator */
};

static inline void protocol_put_setpoint1(uint8_t *bytes, const struct protocol_setpoint1 *body) {
  for (size_t i = 0; i < 1u; i++)
    protocol_put_law(bytes + 16u * i, &body->law[i]);
}
static inline void protocol_get_setpoint1(const uint8_t *bytes, struct protocol_setpoint1 *body) {
  for (size_t i = 0; i < 1u; i++)
    protocol_get_law(bytes + 16u * i, &body->law[i]);
}

/* Local law for 2 actuators; seq is its own counter, t_us the device time of the sample it was computed from. */
struct protocol_setpoint2 {
  struct protocol_law law[2]; /* one per actuator */
};

static inline void protocol_put_setpoint2(uint8_t *bytes, const struct protocol_setpoint2 *body) {
  for (size_t i = 0; i < 2u; i++)
    protocol_put_law(bytes + 16u * i, &body->law[i]);
}
static inline void protocol_get_setpoint2(const uint8_t *bytes, struct protocol_setpoint2 *body) {
  for (size_t i = 0; i < 2u; i++)
    protocol_get_law(bytes + 16u * i, &body->law[i]);
}

/* Who the device is. From app to the end it is the schema. */
struct protocol_hello {
  uint16_t version; /* version of the protocol; stays first in every version */
  uint16_t main_rate_hz; /* rate of the state frames [Hz] */
  uint32_t fast_rate_hz; /* rate of the local law [Hz] */
  uint8_t uid[12]; /* unique number of the device */
  uint32_t ticket; /* to be echoed by the next ARM or RESET */
  uint32_t watchdog_us; /* a set-point older than this stops the device [us] */
  uint32_t layout_crc; /* CRC-32 of the protocol definition that the firmware was built from */
  uint32_t schema_crc; /* CRC-32 of layout_crc and everything from app to the end */
  char firmware[16]; /* version of the firmware */
  char app[16]; /* application: piano_key, steering_wheel, lid_hinge */
  uint8_t sensors; /* number of sensors */
  uint8_t actuators; /* number of actuators; says which SETPOINT and STATE it speaks */
  uint16_t spare; /* 0 */
  struct protocol_sensor sensor[6]; /* descriptors, zero where there is none */
  struct protocol_actuator actuator[2]; /* descriptors, zero where there is none */
};

static inline void protocol_put_hello(uint8_t *bytes, const struct protocol_hello *body) {
  protocol_put_u16(bytes, body->version);
  protocol_put_u16(bytes + 2, body->main_rate_hz);
  protocol_put_u32(bytes + 4, body->fast_rate_hz);
  for (size_t i = 0; i < 12u; i++) bytes[8u + i] = (uint8_t)body->uid[i];
  protocol_put_u32(bytes + 20, body->ticket);
  protocol_put_u32(bytes + 24, body->watchdog_us);
  protocol_put_u32(bytes + 28, body->layout_crc);
  protocol_put_u32(bytes + 32, body->schema_crc);
  for (size_t i = 0; i < 16u; i++) bytes[36u + i] = (uint8_t)body->firmware[i];
  for (size_t i = 0; i < 16u; i++) bytes[52u + i] = (uint8_t)body->app[i];
  protocol_put_u8(bytes + 68, body->sensors);
  protocol_put_u8(bytes + 69, body->actuators);
  protocol_put_u16(bytes + 70, body->spare);
  for (size_t i = 0; i < 6u; i++)
    protocol_put_sensor(bytes + 72 + 32u * i, &body->sensor[i]);
  for (size_t i = 0; i < 2u; i++)
    protocol_put_actuator(bytes + 264 + 32u * i, &body->actuator[i]);
}
static inline void protocol_get_hello(const uint8_t *bytes, struct protocol_hello *body) {
  body->version = protocol_get_u16(bytes);
  body->main_rate_hz = protocol_get_u16(bytes + 2);
  body->fast_rate_hz = protocol_get_u32(bytes + 4);
  for (size_t i = 0; i < 12u; i++) body->uid[i] = (uint8_t)bytes[8u + i];
  body->ticket = protocol_get_u32(bytes + 20);
  body->watchdog_us = protocol_get_u32(bytes + 24);
  body->layout_crc = protocol_get_u32(bytes + 28);
  body->schema_crc = protocol_get_u32(bytes + 32);
  for (size_t i = 0; i < 16u; i++) body->firmware[i] = (char)bytes[36u + i];
  for (size_t i = 0; i < 16u; i++) body->app[i] = (char)bytes[52u + i];
  body->sensors = protocol_get_u8(bytes + 68);
  body->actuators = protocol_get_u8(bytes + 69);
  body->spare = protocol_get_u16(bytes + 70);
  for (size_t i = 0; i < 6u; i++)
    protocol_get_sensor(bytes + 72 + 32u * i, &body->sensor[i]);
  for (size_t i = 0; i < 2u; i++)
    protocol_get_actuator(bytes + 264 + 32u * i, &body->actuator[i]);
}

/* Answer to ARM, DISARM, ESTOP and RESET. */
struct protocol_reply {
  uint8_t request; /* type of the request */
  uint8_t result; /* one of result */
  uint16_t fault; /* number of the latched fault, 0: none */
  uint32_t ticket; /* to be echoed by the next ARM or RESET */
};

static inline void protocol_put_reply(uint8_t *bytes, const struct protocol_reply *body) {
  protocol_put_u8(bytes, body->request);
  protocol_put_u8(bytes + 1, body->result);
  protocol_put_u16(bytes + 2, body->fault);
  protocol_put_u32(bytes + 4, body->ticket);
}
static inline void protocol_get_reply(const uint8_t *bytes, struct protocol_reply *body) {
  body->request = protocol_get_u8(bytes);
  body->result = protocol_get_u8(bytes + 1);
  body->fault = protocol_get_u16(bytes + 2);
  body->ticket = protocol_get_u32(bytes + 4);
}

/* Clock synchronisation, device to host; t_us is t3, when it was sent. */
struct protocol_sync {
  uint32_t t1_us; /* host time of the request, repeated [us] */
  uint32_t t2_us; /* device time when the request arrived [us] */
};

static inline void protocol_put_sync(uint8_t *bytes, const struct protocol_sync *body) {
  protocol_put_u32(bytes, body->t1_us);
  protocol_put_u32(bytes + 4, body->t2_us);
}
static inline void protocol_get_sync(const uint8_t *bytes, struct protocol_sync *body) {
  body->t1_us = protocol_get_u32(bytes);
  body->t2_us = protocol_get_u32(bytes + 4);
}

/* What went well and what did not since start; each wraps. */
struct protocol_counters {
  uint32_t frames; /* good frames received */
  uint32_t bad_cobs; /* not decodable by COBS, or too long to be a frame */
  uint32_t bad_length; /* length is not that of the type */
  uint32_t bad_type; /* unknown type, of the other direction, or flags not 0 */
  uint32_t bad_crc; /* CRC does not match */
  uint32_t setpoints; /* set-points accepted */
  uint32_t lost; /* set-points missing between accepted ones */
  uint32_t repeated; /* set-points refused: duplicate or out of order */
  uint32_t stale; /* set-points refused: too old */
  uint32_t refused; /* set-points and requests refused for other reasons */
  uint32_t unsent; /* frames that the link did not take */
  uint32_t watchdog_trips; /* stops for want of set-points */
  uint32_t faults; /* faults since start */
  uint32_t overruns; /* loops that came too late */
  float fast_us; /* longest fast loop [us] */
  float thermal[2]; /* thermal load of each actuator, 1: rated */
};

static inline void protocol_put_counters(uint8_t *bytes, const struct protocol_counters *body) {
  protocol_put_u32(bytes, body->frames);
  protocol_put_u32(bytes + 4, body->bad_cobs);
  protocol_put_u32(bytes + 8, body->bad_length);
  protocol_put_u32(bytes + 12, body->bad_type);
  protocol_put_u32(bytes + 16, body->bad_crc);
  protocol_put_u32(bytes + 20, body->setpoints);
  protocol_put_u32(bytes + 24, body->lost);
  protocol_put_u32(bytes + 28, body->repeated);
  protocol_put_u32(bytes + 32, body->stale);
  protocol_put_u32(bytes + 36, body->refused);
  protocol_put_u32(bytes + 40, body->unsent);
  protocol_put_u32(bytes + 44, body->watchdog_trips);
  protocol_put_u32(bytes + 48, body->faults);
  protocol_put_u32(bytes + 52, body->overruns);
  protocol_put_f32(bytes + 56, body->fast_us);
  for (size_t i = 0; i < 2u; i++) protocol_put_f32(bytes + 60 + 4u * i, body->thermal[i]);
}
static inline void protocol_get_counters(const uint8_t *bytes, struct protocol_counters *body) {
  body->frames = protocol_get_u32(bytes);
  body->bad_cobs = protocol_get_u32(bytes + 4);
  body->bad_length = protocol_get_u32(bytes + 8);
  body->bad_type = protocol_get_u32(bytes + 12);
  body->bad_crc = protocol_get_u32(bytes + 16);
  body->setpoints = protocol_get_u32(bytes + 20);
  body->lost = protocol_get_u32(bytes + 24);
  body->repeated = protocol_get_u32(bytes + 28);
  body->stale = protocol_get_u32(bytes + 32);
  body->refused = protocol_get_u32(bytes + 36);
  body->unsent = protocol_get_u32(bytes + 40);
  body->watchdog_trips = protocol_get_u32(bytes + 44);
  body->faults = protocol_get_u32(bytes + 48);
  body->overruns = protocol_get_u32(bytes + 52);
  body->fast_us = protocol_get_f32(bytes + 56);
  for (size_t i = 0; i < 2u; i++) body->thermal[i] = protocol_get_f32(bytes + 60 + 4u * i);
}

/* A fault was latched; t_us says when. seq counts these reports. */
struct protocol_fault {
  uint16_t fault; /* number of the fault; see docs/faults.md */
  uint8_t channel; /* sensor or actuator that is concerned, 255: none */
  uint8_t before; /* state before it */
  float value; /* what was seen */
  float limit; /* what was allowed */
};

static inline void protocol_put_fault(uint8_t *bytes, const struct protocol_fault *body) {
  protocol_put_u16(bytes, body->fault);
  protocol_put_u8(bytes + 2, body->channel);
  protocol_put_u8(bytes + 3, body->before);
  protocol_put_f32(bytes + 4, body->value);
  protocol_put_f32(bytes + 8, body->limit);
}
static inline void protocol_get_fault(const uint8_t *bytes, struct protocol_fault *body) {
  body->fault = protocol_get_u16(bytes);
  body->channel = protocol_get_u8(bytes + 2);
  body->before = protocol_get_u8(bytes + 3);
  body->value = protocol_get_f32(bytes + 4);
  body->limit = protocol_get_f32(bytes + 8);
}

/* Measured state of a device with 1 actuator, at the main rate; t_us is the time of the sample. */
struct protocol_state1 {
  uint16_t echo_seq; /* seq of the last accepted set-point */
  uint16_t fault; /* number of the latched fault, 0: none; see docs/faults.md */
  uint32_t echo_t_us; /* t_us of the last accepted set-point [us] */
  uint32_t age_us; /* time since a set-point was accepted; 2^32-1: not in the last half hour [us] */
  uint16_t refused; /* frames and set-points refused so far, modulo 2^16 */
  uint8_t fresh; /* bit i: sensor i has a new valid sample */
  uint8_t limited; /* bits of limited: what limits the force now */
  int32_t counts[6]; /* raw counts of the sensors, 0 where there is none [count] */
  struct protocol_measured measured[1]; /* one per actuator */
};

static inline void protocol_put_state1(uint8_t *bytes, const struct protocol_state1 *body) {
  protocol_put_u16(bytes, body->echo_seq);
  protocol_put_u16(bytes + 2, body->fault);
  protocol_put_u32(bytes + 4, body->echo_t_us);
  protocol_put_u32(bytes + 8, body->age_us);
  protocol_put_u16(bytes + 12, body->refused);
  protocol_put_u8(bytes + 14, body->fresh);
  protocol_put_u8(bytes + 15, body->limited);
  for (size_t i = 0; i < 6u; i++) protocol_put_i32(bytes + 16 + 4u * i, body->counts[i]);
  for (size_t i = 0; i < 1u; i++)
    protocol_put_measured(bytes + 40 + 16u * i, &body->measured[i]);
}
static inline void protocol_get_state1(const uint8_t *bytes, struct protocol_state1 *body) {
  body->echo_seq = protocol_get_u16(bytes);
  body->fault = protocol_get_u16(bytes + 2);
  body->echo_t_us = protocol_get_u32(bytes + 4);
  body->age_us = protocol_get_u32(bytes + 8);
  body->refused = protocol_get_u16(bytes + 12);
  body->fresh = protocol_get_u8(bytes + 14);
  body->limited = protocol_get_u8(bytes + 15);
  for (size_t i = 0; i < 6u; i++) body->counts[i] = protocol_get_i32(bytes + 16 + 4u * i);
  for (size_t i = 0; i < 1u; i++)
    protocol_get_measured(bytes + 40 + 16u * i, &body->measured[i]);
}

/* Measured state of a device with 2 actuators, at the main rate; t_us is the time of the sample. */
struct protocol_state2 {
  uint16_t echo_seq; /* seq of the last accepted set-point */
  uint16_t fault; /* number of the latched fault, 0: none; see docs/faults.md */
  uint32_t echo_t_us; /* t_us of the last accepted set-point [us] */
  uint32_t age_us; /* time since a set-point was accepted; 2^32-1: not in the last half hour [us] */
  uint16_t refused; /* frames and set-points refused so far, modulo 2^16 */
  uint8_t fresh; /* bit i: sensor i has a new valid sample */
  uint8_t limited; /* bits of limited: what limits the force now */
  int32_t counts[6]; /* raw counts of the sensors, 0 where there is none [count] */
  struct protocol_measured measured[2]; /* one per actuator */
};

static inline void protocol_put_state2(uint8_t *bytes, const struct protocol_state2 *body) {
  protocol_put_u16(bytes, body->echo_seq);
  protocol_put_u16(bytes + 2, body->fault);
  protocol_put_u32(bytes + 4, body->echo_t_us);
  protocol_put_u32(bytes + 8, body->age_us);
  protocol_put_u16(bytes + 12, body->refused);
  protocol_put_u8(bytes + 14, body->fresh);
  protocol_put_u8(bytes + 15, body->limited);
  for (size_t i = 0; i < 6u; i++) protocol_put_i32(bytes + 16 + 4u * i, body->counts[i]);
  for (size_t i = 0; i < 2u; i++)
    protocol_put_measured(bytes + 40 + 16u * i, &body->measured[i]);
}
static inline void protocol_get_state2(const uint8_t *bytes, struct protocol_state2 *body) {
  body->echo_seq = protocol_get_u16(bytes);
  body->fault = protocol_get_u16(bytes + 2);
  body->echo_t_us = protocol_get_u32(bytes + 4);
  body->age_us = protocol_get_u32(bytes + 8);
  body->refused = protocol_get_u16(bytes + 12);
  body->fresh = protocol_get_u8(bytes + 14);
  body->limited = protocol_get_u8(bytes + 15);
  for (size_t i = 0; i < 6u; i++) body->counts[i] = protocol_get_i32(bytes + 16 + 4u * i);
  for (size_t i = 0; i < 2u; i++)
    protocol_get_measured(bytes + 40 + 16u * i, &body->measured[i]);
}

#endif
