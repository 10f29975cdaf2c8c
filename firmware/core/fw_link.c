/* See fw_link.h. */
#include "fw_link.h"

#include "fw.h"
#include "session.h"

#define FIRMWARE_VERSION "0.1.0"
#define READS_MAX 8u /* per main period: a flooding host must not hold up the state frames */
#define LEAD_MAX_US 2000u

static struct {
  struct session session;
  struct session_config config;
  uint32_t faults_told;
  unsigned fault_shown;
  uint16_t counters_phase;
} link_;

static uint8_t on_arm(void *context, uint32_t now_us) {
  (void)context;
  return safety_arm(fw_safety(), now_us);
}

static uint8_t on_disarm(void *context, uint32_t now_us) {
  (void)context;
  (void)now_us;
  safety_disarm(fw_safety());
  return (uint8_t)PROTOCOL_RESULT_OK;
}

static uint8_t on_estop(void *context, uint32_t now_us) {
  (void)context;
  safety_estop(fw_safety(), now_us);
  return (uint8_t)PROTOCOL_RESULT_OK;
}

static uint8_t on_reset(void *context, uint16_t fault, uint32_t now_us) {
  (void)context;
  (void)fault;
  return safety_reset(fw_safety(), now_us);
}

static uint8_t on_setpoint(void *context, const struct session_setpoint *setpoint, uint32_t now_us) {
  struct setpoint setpoints[FW_ACTUATORS_MAX];
  const unsigned count = fw_app()->actuator_count;
  unsigned i;
  (void)context;
  for (i = 0; i < count; i++) {
    setpoints[i].force = setpoint->law[i].F0;
    setpoints[i].position = setpoint->law[i].q0;
    setpoints[i].stiffness = setpoint->law[i].K;
    setpoints[i].damping = setpoint->law[i].B;
  }
  return safety_setpoint(fw_safety(), setpoints, count, now_us);
}

static uint8_t get_state(void *context) {
  (void)context;
  return fw_safety()->state;
}

static uint16_t get_fault(void *context) {
  (void)context;
  return (uint16_t)fw_safety()->latched.fault;
}

static void add_counters(void *context, struct protocol_counters *counters) {
  struct fw_snapshot snapshot;
  unsigned i;
  (void)context;
  fw_read(&snapshot);
  counters->watchdog_trips = fw_safety()->watchdog_trips;
  counters->faults = fw_safety()->faults;
  counters->overruns = fw_counters()->fast_late + fw_counters()->main_overruns;
  counters->fast_us = (float)fw_counters()->fast_us_max;
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    counters->thermal[i] = snapshot.heat[i];
  }
}

static void describe_fault(void *context, struct protocol_fault *fault, uint32_t *t_us) {
  const struct safety *safety = fw_safety();
  (void)context;
  fault->fault = (uint16_t)safety->latched.fault;
  fault->channel = safety->latched.channel;
  fault->before = safety->before;
  fault->value = safety->latched.value;
  fault->limit = safety->latched.limit;
  *t_us = safety->fault_us;
}

static bool send(void *context, const uint8_t *bytes, size_t size) {
  (void)context;
  return hal_link_write(bytes, size);
}

static uint32_t time_us(void *context) {
  (void)context;
  return hal_time_us();
}

static const struct session_port port = {NULL,      on_arm,    on_disarm,    on_estop,       on_reset, on_setpoint,
                                         get_state, get_fault, add_counters, describe_fault, send,     time_us};

/* Copy at most size - 1 characters; the rest is zero. */
static void copy_text(char *to, const char *from, size_t size) {
  size_t i = 0;
  for (; i + 1u < size && from[i] != '\0'; i++) {
    to[i] = from[i];
  }
  for (; i < size; i++) {
    to[i] = '\0';
  }
}

static void describe(struct session_config *config, const struct app *app) {
  unsigned i;
  copy_text(config->app, app->name, sizeof config->app);
  copy_text(config->firmware, FIRMWARE_VERSION, sizeof config->firmware);
  config->sensors = (uint8_t)app->channel_count;
  config->actuators = (uint8_t)app->actuator_count;
  for (i = 0; i < app->channel_count; i++) {
    struct protocol_sensor *sensor = &config->sensor[i];
    copy_text(sensor->name, app->channels[i].name, sizeof sensor->name);
    copy_text(sensor->unit, app->channels[i].unit, sizeof sensor->unit);
    sensor->scale = app->channels[i].scale;
    sensor->kind = (uint8_t)app->channels[i].kind;
    sensor->bits = app->channels[i].bits;
    sensor->rate_hz = (uint16_t)FW_FAST_HZ;
  }
  for (i = 0; i < app->actuator_count; i++) {
    struct protocol_actuator *actuator = &config->actuator[i];
    copy_text(actuator->name, app->actuators[i].name, sizeof actuator->name);
    copy_text(actuator->unit, app->actuators[i].unit, sizeof actuator->unit);
    actuator->force_max = app->actuators[i].limits.force_max;
    actuator->kind = (uint8_t)app->actuators[i].kind;
    actuator->rate_hz = (uint16_t)FW_FAST_HZ;
  }
}

void fw_link_init(const struct app *app, uint32_t watchdog_us) {
  static const struct session_config empty = {0};
  link_.config = empty;
  link_.config.datagrams = hal_link_is_datagram();
  link_.config.main_rate_hz = (uint16_t)(FW_FAST_HZ / app->link_divider);
  link_.config.fast_rate_hz = FW_FAST_HZ;
  link_.config.watchdog_us = watchdog_us;
  link_.config.lead_max_us = LEAD_MAX_US;
  hal_uid(link_.config.uid);
  describe(&link_.config, app);
  link_.faults_told = 0u;
  link_.fault_shown = 0u;
  link_.counters_phase = 0u;
  session_init(&link_.session, &link_.config, &port);
}

void fw_link_poll(void) {
  uint8_t bytes[512];
  unsigned reads;
  for (reads = 0; reads < READS_MAX; reads++) {
    const size_t size = hal_link_read(bytes, sizeof bytes);
    if (size == 0u) {
      return;
    }
    session_receive(&link_.session, bytes, size, hal_time_us());
  }
}

static void send_state(void) {
  struct fw_snapshot snapshot;
  struct session_measurement measurement;
  unsigned i;
  fw_read(&snapshot);
  measurement.t_us = snapshot.t_us;
  measurement.fault = get_fault(NULL);
  measurement.fresh = snapshot.fresh;
  measurement.limited = snapshot.limited;
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    measurement.counts[i] = snapshot.raw[i];
  }
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    measurement.measured[i].force = snapshot.force[i];
    measurement.measured[i].current = snapshot.current_A[i];
    measurement.measured[i].position = snapshot.position[i];
    measurement.measured[i].velocity = snapshot.velocity[i];
  }
  (void)session_send_state(&link_.session, &measurement);
}

/* Show a fault on the board, its end too, and report each one to the host. */
static void tell_fault(void) {
  const unsigned fault = get_fault(NULL);
  const uint32_t faults = fw_safety()->faults;
  if (fault != link_.fault_shown) {
    hal_fault(fault);
    link_.fault_shown = fault;
  }
  if (faults != link_.faults_told) {
    link_.faults_told = faults;
    if (fault != 0u) {
      (void)session_send_fault(&link_.session);
    }
  }
}

void fw_link_step(void) {
  fw_link_poll();
  send_state();
  tell_fault();
  if (++link_.counters_phase >= link_.config.main_rate_hz) {
    link_.counters_phase = 0u;
    (void)session_send_counters(&link_.session);
  }
}
