/* See safety.h. */
#include "safety.h"

#include "fwmath.h"

void safety_init(struct safety *safety, const struct safety_config *config) {
  static const struct safety cleared = {0};
  *safety = cleared;
  safety->config = *config;
  if (safety->config.watchdog_us < SAFETY_WATCHDOG_US) {
    safety->config.watchdog_us = SAFETY_WATCHDOG_US;
  }
  if (safety->config.watchdog_us > SAFETY_WATCHDOG_MAX_US) {
    safety->config.watchdog_us = SAFETY_WATCHDOG_MAX_US;
  }
  safety->state = (uint8_t)PROTOCOL_STATE_BOOT;
}

void safety_start(struct safety *safety, bool calibrated) {
  safety->calibrated = calibrated;
  safety->state = (uint8_t)PROTOCOL_STATE_IDLE;
}

static bool is_armed(const struct safety *safety) {
  return safety->state == (uint8_t)PROTOCOL_STATE_RAMP || safety->state == (uint8_t)PROTOCOL_STATE_ACTIVE;
}

static bool is_latched(const struct safety *safety) {
  return safety->state == (uint8_t)PROTOCOL_STATE_FAULT;
}

/* Time since then, 0 if the board's clocks disagree by a little; only for spans well below half an hour. */
static uint32_t since(uint32_t then_us, uint32_t now_us) {
  const uint32_t span_us = now_us - then_us;
  return span_us < 0x80000000u ? span_us : 0u;
}

static void forget_setpoint(struct safety *safety) {
  static const struct setpoint nothing = {0};
  unsigned i;
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    safety->setpoint[i] = nothing;
  }
  safety->setpoint_seen = false;
}

/* With the fast interrupt masked, or from it. */
static void latch(struct safety *safety, const struct finding *finding, uint32_t now_us) {
  if (is_latched(safety)) {
    return;
  }
  safety->before = safety->state;
  safety->latched = *finding;
  safety->fault_us = now_us;
  safety->faults++;
  safety->state = (uint8_t)PROTOCOL_STATE_FAULT;
  forget_setpoint(safety);
}

void safety_trip(struct safety *safety, const struct finding *finding, uint32_t now_us) {
  const uint32_t saved = hal_irq_save();
  latch(safety, finding, now_us);
  hal_irq_restore(saved);
}

void safety_estop(struct safety *safety, uint32_t now_us) {
  const struct finding pressed = {FAULT_ESTOP_COMMAND, SAFETY_NO_CHANNEL, 0.0f, 0.0f};
  const uint32_t saved = hal_irq_save();
  latch(safety, &pressed, now_us);
  safety->braking = false; /* a time-out that still damps is opened too */
  hal_irq_restore(saved);
}

uint8_t safety_setpoint(struct safety *safety, const struct setpoint *setpoints, unsigned count, uint32_t now_us) {
  struct setpoint limited[FW_ACTUATORS_MAX];
  uint32_t saved;
  unsigned i;
  if (count != safety->config.actuators) {
    return (uint8_t)PROTOCOL_RESULT_ACTUATORS;
  }
  for (i = 0; i < count; i++) {
    if (!setpoint_is_finite(&setpoints[i])) {
      /* A host that computes NaN has lost the device's state: it must not stay in charge. */
      const struct finding broken = {FAULT_SETPOINT_NOT_FINITE, (uint8_t)i, 0.0f, 0.0f};
      safety_trip(safety, &broken, now_us);
      return (uint8_t)FAULT_SETPOINT_NOT_FINITE;
    }
    limited[i] = local_law_limit(&safety->config.law[i], &setpoints[i]);
  }
  saved = hal_irq_save();
  for (i = 0; i < count; i++) {
    safety->setpoint[i] = limited[i];
  }
  safety->setpoint_us = now_us;
  safety->setpoint_seen = true;
  hal_irq_restore(saved);
  return (uint8_t)PROTOCOL_RESULT_OK;
}

static bool setpoint_expired(const struct safety *safety, uint32_t now_us) {
  return since(safety->setpoint_us, now_us) >= safety->config.watchdog_us;
}

/* What arming and reset have in common: the host is there, and asks for nothing. */
static enum protocol_result check_zero(const struct safety *safety, uint32_t now_us) {
  unsigned i;
  if (!safety->setpoint_seen || setpoint_expired(safety, now_us)) {
    return PROTOCOL_RESULT_SETPOINT_NOT_ZERO;
  }
  for (i = 0; i < safety->config.actuators; i++) {
    if (!setpoint_is_zero(&safety->setpoint[i])) {
      return PROTOCOL_RESULT_SETPOINT_NOT_ZERO;
    }
  }
  return PROTOCOL_RESULT_OK;
}

static enum protocol_result check_arm(const struct safety *safety, uint32_t now_us) {
  if (safety->state != (uint8_t)PROTOCOL_STATE_IDLE) {
    return PROTOCOL_RESULT_STATE;
  }
  if (!safety->calibrated) {
    return PROTOCOL_RESULT_UNCALIBRATED;
  }
  if (safety->found == FAULT_SUPPLY) {
    return PROTOCOL_RESULT_SUPPLY;
  }
  if (safety->found != FAULT_NONE) {
    return PROTOCOL_RESULT_IMPLAUSIBLE;
  }
  return check_zero(safety, now_us);
}

uint8_t safety_arm(struct safety *safety, uint32_t now_us) {
  const uint32_t saved = hal_irq_save();
  const enum protocol_result result = check_arm(safety, now_us);
  if (result == PROTOCOL_RESULT_OK) {
    safety->armed_us = now_us;
    safety->state = (uint8_t)PROTOCOL_STATE_RAMP;
  }
  hal_irq_restore(saved);
  return (uint8_t)result;
}

static enum protocol_result check_reset(const struct safety *safety, uint32_t now_us) {
  if (!is_latched(safety) || safety->braking) {
    return PROTOCOL_RESULT_STATE;
  }
  if (safety->estop_input) {
    return PROTOCOL_RESULT_ESTOP_ACTIVE;
  }
  return check_zero(safety, now_us);
}

uint8_t safety_reset(struct safety *safety, uint32_t now_us) {
  static const struct finding nothing = {0};
  const uint32_t saved = hal_irq_save();
  const enum protocol_result result = check_reset(safety, now_us);
  if (result == PROTOCOL_RESULT_OK) {
    safety->latched = nothing;
    safety->state = (uint8_t)PROTOCOL_STATE_IDLE;
  }
  hal_irq_restore(saved);
  return (uint8_t)result;
}

void safety_disarm(struct safety *safety) {
  const uint32_t saved = hal_irq_save();
  if (is_armed(safety)) {
    safety->state = (uint8_t)PROTOCOL_STATE_IDLE;
    forget_setpoint(safety);
  }
  hal_irq_restore(saved);
}

/* Return what must stop an armed device in this period, if anything. */
static struct finding check_running(const struct safety *safety, const struct safety_input *input) {
  struct finding finding = input->found;
  const float age_ms = (float)input->sensor_age_us * 1.0e-3f;
  if (finding.fault == FAULT_NONE && input->sensor_age_us > safety->config.sensor_lost_us) {
    finding.fault = FAULT_SENSOR_LOST;
    finding.channel = input->sensor_channel;
    finding.value = age_ms;
    finding.limit = (float)safety->config.sensor_lost_us * 1.0e-3f;
  }
  return finding;
}

/* Return the ramp's gain; a finished ramp is remembered as ACTIVE, or it would start anew when the clock wraps. */
static float ramp(struct safety *safety, uint32_t now_us) {
  const uint32_t since_us = since(safety->armed_us, now_us);
  if (safety->state == (uint8_t)PROTOCOL_STATE_RAMP && since_us < safety->config.ramp_us) {
    return (float)since_us / (float)safety->config.ramp_us;
  }
  safety->state = (uint8_t)PROTOCOL_STATE_ACTIVE;
  return 1.0f;
}

static float decay(const struct safety *safety, uint32_t age_us) {
  const struct safety_config *config = &safety->config;
  if (age_us <= config->sensor_stale_us) {
    return 1.0f;
  }
  if (age_us >= config->sensor_decayed_us) {
    return 0.0f;
  }
  return (float)(config->sensor_decayed_us - age_us) / (float)(config->sensor_decayed_us - config->sensor_stale_us);
}

static void watch_setpoints(struct safety *safety, uint32_t now_us) {
  const struct finding late = {FAULT_SETPOINT_TIMEOUT, SAFETY_NO_CHANNEL,
                               (float)since(safety->setpoint_us, now_us) * 1.0e-3f,
                               (float)safety->config.watchdog_us * 1.0e-3f};
  if (is_armed(safety) && setpoint_expired(safety, now_us)) {
    safety->watchdog_trips++;
    latch(safety, &late, now_us);
    safety->braking = true;
  } else if (safety->setpoint_seen && setpoint_expired(safety, now_us)) {
    safety->setpoint_seen = false; /* also keeps a wrapped clock from making an old one young again */
  }
}

struct safety_output safety_step(struct safety *safety, const struct safety_input *input) {
  struct safety_output output = {HAL_GATE_OFF, 0.0f};
  const struct finding finding = check_running(safety, input);
  safety->estop_input = input->estop;
  safety->found = finding.fault;
  if (input->estop) {
    const struct finding pressed = {FAULT_ESTOP_INPUT, SAFETY_NO_CHANNEL, 0.0f, 0.0f};
    latch(safety, &pressed, input->now_us);
    safety->braking = false;
  }
  if (is_armed(safety) && finding.fault != FAULT_NONE) {
    latch(safety, &finding, input->now_us);
  }
  watch_setpoints(safety, input->now_us);
  if (safety->braking) {
    safety->braking = since(safety->fault_us, input->now_us) < safety->config.brake_us;
    output.gate = safety->braking ? HAL_GATE_BRAKE : HAL_GATE_OFF;
  } else if (is_armed(safety)) {
    output.gate = HAL_GATE_DRIVE;
    output.gain = ramp(safety, input->now_us) * decay(safety, input->sensor_age_us);
  }
  return output;
}
