/* See sim.h. */
#include "sim.h"

#include <math.h>
#include <string.h>

#define LINK_BYTES (1u << 18)
#define DATAGRAMS 256u

struct pipe {
  uint8_t bytes[LINK_BYTES];
  size_t head, tail;         /* bytes in tail..head */
  uint16_t sizes[DATAGRAMS]; /* of datagrams, in order */
  unsigned first, count;
};

static struct {
  struct plant plant;
  struct app app;
  struct actuator actuators[FW_ACTUATORS_MAX];
  uint64_t tick;
  uint32_t stalled_us;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  struct hal_sample sample;
  uint32_t override_mask;
  int32_t override_raw[FW_CHANNELS_MAX];
  struct pipe to_device, to_host;
  bool link_dropped;
  unsigned fault_shown;

  /* board */
  uint32_t watchdog_us;
  bool calibrated, datagrams;
  double window_s;
  double gain[FW_CHANNELS_MAX], offset[FW_CHANNELS_MAX];
  uint32_t miscalibrated;

  /* monitor */
  uint64_t violations[SIM_VIOLATIONS];
  float last_force[FW_ACTUATORS_MAX];
  float last_heat[FW_ACTUATORS_MAX];
  uint8_t last_state;
  uint64_t armed_tick;

  /* host inside */
  struct {
    int on, local;
    double q0, stiffness, damping;
    unsigned delay_ticks;
    float law[FW_ACTUATORS_MAX * 4];
    uint64_t due_tick;
    bool waiting;
  } wall;
} sim = {.calibrated = true};

/* ---- the board, as the core sees it ---- */

void hal_init(void) {}

uint32_t hal_time_us(void) {
  return (uint32_t)(sim.tick * FW_FAST_US + sim.stalled_us);
}

void hal_sample(struct hal_sample *sample) {
  *sample = sim.sample;
}

void hal_pwm_set(unsigned actuator, float duty) {
  sim.duty[actuator] = duty;
}

void hal_gate(unsigned actuator, enum hal_gate gate) {
  sim.gate[actuator] = gate;
}

static size_t pipe_read(struct pipe *pipe, uint8_t *bytes, size_t size, bool datagram) {
  size_t n = pipe->head - pipe->tail;
  if (datagram) {
    n = pipe->count > 0 ? pipe->sizes[pipe->first] : 0;
    pipe->first = pipe->count > 0 ? (pipe->first + 1) % DATAGRAMS : pipe->first;
    pipe->count -= pipe->count > 0 ? 1 : 0;
  }
  n = n < size ? n : size;
  memcpy(bytes, pipe->bytes + pipe->tail, n);
  pipe->tail += n;
  if (pipe->tail == pipe->head) {
    pipe->head = pipe->tail = 0;
  }
  return n;
}

static bool pipe_write(struct pipe *pipe, const uint8_t *bytes, size_t size, bool datagram) {
  if (pipe->head + size > LINK_BYTES || (datagram && pipe->count == DATAGRAMS)) {
    return false;
  }
  memcpy(pipe->bytes + pipe->head, bytes, size);
  pipe->head += size;
  if (datagram) {
    pipe->sizes[(pipe->first + pipe->count) % DATAGRAMS] = (uint16_t)size;
    pipe->count++;
  }
  return true;
}

size_t hal_link_read(uint8_t *bytes, size_t size) {
  return pipe_read(&sim.to_device, bytes, size, sim.datagrams);
}

bool hal_link_write(const uint8_t *bytes, size_t size) {
  return !sim.link_dropped && pipe_write(&sim.to_host, bytes, size, sim.datagrams);
}

bool hal_link_is_datagram(void) {
  return sim.datagrams;
}

bool hal_calibration(struct calibration *calibration) {
  unsigned i;
  plant_calibration(&sim.plant, calibration);
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    if ((sim.miscalibrated >> i & 1u) != 0) {
      calibration->gain[i] = isnan(sim.gain[i]) ? calibration->gain[i] : (float)sim.gain[i];
      calibration->offset[i] = isnan(sim.offset[i]) ? calibration->offset[i] : (float)sim.offset[i];
    }
  }
  return sim.calibrated;
}

uint32_t hal_watchdog_us(void) {
  return sim.watchdog_us;
}

uint32_t hal_irq_save(void) {
  return 0;
}

void hal_irq_restore(uint32_t saved) {
  (void)saved;
}

void hal_wdt_kick(void) {}

void hal_idle(void) {}

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  memcpy(uid, "sim-device-0", FW_UID_BYTES);
}

void hal_fault(unsigned number) {
  sim.fault_shown = number;
}

/* ---- setting up ---- */

void sim_board(uint32_t watchdog_us, int calibrated, int datagrams) {
  sim.watchdog_us = watchdog_us;
  sim.calibrated = calibrated != 0;
  sim.datagrams = datagrams != 0;
  sim.miscalibrated = 0;
}

void sim_miscalibrate(unsigned channel, double gain, double offset) {
  sim.gain[channel] = gain;
  sim.offset[channel] = offset;
  sim.miscalibrated |= 1u << channel;
}

void sim_thermal_window(double window_s) {
  sim.window_s = window_s;
}

static void forget_monitor(void) {
  unsigned i;
  memset(sim.violations, 0, sizeof sim.violations);
  sim.last_state = (uint8_t)PROTOCOL_STATE_BOOT;
  sim.armed_tick = 0;
  for (i = 0; i < sim.app.actuator_count; i++) {
    struct fw_view view;
    fw_view(i, &view);
    sim.last_force[i] = 0.0f;
    sim.last_heat[i] = view.heat;
  }
}

int sim_reset(uint64_t seed) {
  unsigned i;
  sim.app = app;
  for (i = 0; i < app.actuator_count; i++) {
    sim.actuators[i] = app.actuators[i];
    if (sim.window_s > 0.0) {
      sim.actuators[i].limits.thermal.window_s = (float)sim.window_s;
    }
  }
  sim.app.actuators = sim.actuators;
  sim.tick = 0;
  sim.stalled_us = 0;
  sim.override_mask = 0;
  sim.link_dropped = false;
  sim.wall.on = 0;
  sim.wall.waiting = false;
  sim.to_device.head = sim.to_device.tail = sim.to_device.count = 0;
  sim.to_host.head = sim.to_host.tail = sim.to_host.count = 0;
  if (plant_init(&sim.plant, app.name, seed) != 0) {
    return -1;
  }
  plant_sample(&sim.plant, &sim.sample);
  hal_init();
  fw_init(&sim.app);
  forget_monitor();
  return 0;
}

/* ---- the monitor: knows the promises and the application's numbers, not how they are kept ---- */

static void count(enum sim_violation kind, bool broken) {
  sim.violations[kind] += broken ? 1 : 0;
}

static void watch(unsigned i, uint8_t state) {
  const struct actuator *actuator = &sim.actuators[i];
  const struct limits_config *limits = &actuator->limits;
  const struct thermal_config *thermal = &limits->thermal;
  const bool armed = state == (uint8_t)PROTOCOL_STATE_RAMP || state == (uint8_t)PROTOCOL_STATE_ACTIVE;
  const bool driven = sim.gate[i] == HAL_GATE_DRIVE;
  const double passed = (double)(sim.tick - sim.armed_tick + 1u) * FW_FAST_US / (double)sim.app.safety.ramp_us;
  struct fw_view view;
  double force, change, cooling;
  bool falling;
  fw_view(i, &view);
  force = fabs((double)view.force);
  change = fabs((double)view.force - (double)sim.last_force[i]);
  cooling = (double)sim.last_heat[i] * (1.0 - 10.0 / (double)(thermal->window_s * (float)FW_FAST_HZ));
  count(SIM_NOT_FINITE, !isfinite(view.force) || !isfinite(sim.duty[i]) || !isfinite(view.heat) || !isfinite(view.q)
                            || !isfinite(view.qd));
  count(SIM_DUTY_RANGE, !(fabs((double)sim.duty[i]) <= 1.0));
  count(SIM_FORCE_RANGE, !(force <= (double)limits->force_max * 1.000001));
  falling = force <= fabs((double)sim.last_force[i]) && view.force * sim.last_force[i] >= 0.0f;
  count(SIM_SLEW, driven && !falling && !(change <= (double)limits->slew_max / FW_FAST_HZ * 1.0001 + 1e-6));
  count(SIM_DRIVEN_UNARMED, (driven && !armed) || (!driven && (sim.duty[i] < 0.0f || sim.duty[i] > 0.0f)));
  count(SIM_DRIVEN_LATE, driven && hal_time_us() - fw_safety()->setpoint_us >= fw_safety()->config.watchdog_us);
  count(SIM_RAMP, driven && passed < 1.0 && !(force <= passed * (double)limits->force_max * 1.000001));
  count(SIM_HEAT_DROP, !((double)view.heat >= cooling * 0.99999 - 1e-6));
  sim.last_force[i] = driven ? view.force : 0.0f;
  sim.last_heat[i] = view.heat;
}

static void monitor(void) {
  const uint8_t state = fw_safety()->state;
  unsigned i;
  if (state == (uint8_t)PROTOCOL_STATE_RAMP && sim.last_state != state) {
    sim.armed_tick = sim.tick;
  }
  sim.last_state = state;
  for (i = 0; i < sim.app.actuator_count; i++) {
    watch(i, state);
  }
}

const uint64_t *sim_violations(void) {
  return sim.violations;
}

/* ---- running ---- */

static void host_inside(void) {
  struct fw_snapshot snapshot;
  unsigned i;
  if (!sim.wall.on) {
    return;
  }
  fw_read(&snapshot);
  for (i = 0; i < sim.app.actuator_count; i++) {
    const double depth = (double)snapshot.position[i] - sim.wall.q0;
    const bool inside = sim.wall.on == 2 || depth > 0.0;
    const double k = inside ? sim.wall.stiffness : 0.0;
    const double b = inside ? sim.wall.damping : 0.0;
    float *law = &sim.wall.law[i * 4];
    law[0] = sim.wall.local ? 0.0f : (float)(-k * depth - b * (double)snapshot.velocity[i]);
    law[1] = (float)sim.wall.q0;
    law[2] = sim.wall.local ? (float)k : 0.0f;
    law[3] = sim.wall.local ? (float)b : 0.0f;
  }
  sim.wall.due_tick = sim.tick + sim.wall.delay_ticks;
  sim.wall.waiting = true;
}

static void step(void) {
  bool main_due;
  unsigned i;
  plant_step(&sim.plant, 1.0 / FW_FAST_HZ, sim.duty, sim.gate);
  plant_sample(&sim.plant, &sim.sample);
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    if ((sim.override_mask >> i & 1u) != 0) {
      sim.sample.raw[i] = sim.override_raw[i];
    }
  }
  sim.tick++;
  if (sim.wall.waiting && sim.tick >= sim.wall.due_tick) {
    sim.wall.waiting = false;
    (void)sim_setpoint(sim.wall.law, sim.app.actuator_count);
  }
  main_due = fw_fast_isr();
  monitor(); /* here: a request that the link brings acts in the next fast period */
  if (main_due) {
    fw_main_isr();
    if (sim.tick % sim.app.link_divider == 0) {
      host_inside();
    }
  } else if (sim.to_device.head != sim.to_device.tail) {
    fw_link_poll(); /* as from a receive interrupt */
  }
}

static void log_row(double *row) {
  const struct safety *safety = fw_safety();
  struct fw_view view;
  unsigned i;
  *row++ = sim_time_s();
  *row++ = (double)safety->state;
  *row++ = (double)safety->latched.fault;
  *row++ = plant_get(&sim.plant, "hand.force");
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    static const char *const names[2][4] = {{"position", "velocity", "force", "actuator0.current_A"},
                                            {"position1", "velocity1", "force1", "actuator1.current_A"}};
    fw_view(i, &view);
    *row++ = plant_get(&sim.plant, names[i][0]);
    *row++ = plant_get(&sim.plant, names[i][1]);
    *row++ = plant_get(&sim.plant, names[i][3]);
    *row++ = (double)view.q;
    *row++ = (double)view.qd;
    *row++ = (double)view.force;
    *row++ = (double)sim.duty[i];
    *row++ = (double)sim.gate[i];
  }
}

const char *sim_columns(void) {
  return "t state fault hand position velocity current q qd force duty gate "
         "position1 velocity1 current1 q1 qd1 force1 duty1 gate1";
}

unsigned sim_run(unsigned n, double *log, unsigned every) {
  unsigned i, rows = 0;
  for (i = 0; i < n; i++) {
    step();
    if (log != NULL && (i + 1) % every == 0) {
      log_row(log + (size_t)rows * SIM_COLUMNS);
      rows++;
    }
  }
  return rows;
}

double sim_time_s(void) {
  return (double)sim.tick / FW_FAST_HZ + sim.stalled_us * 1e-6;
}

void sim_stall(uint32_t us) {
  sim.stalled_us += us;
}

void sim_send(const uint8_t *bytes, size_t size) {
  (void)pipe_write(&sim.to_device, bytes, size, sim.datagrams);
}

size_t sim_receive(uint8_t *bytes, size_t size) {
  return pipe_read(&sim.to_host, bytes, size, sim.datagrams);
}

void sim_drop_link(int dropped) {
  sim.link_dropped = dropped != 0;
}

int sim_set(const char *name, double value) {
  return plant_set(&sim.plant, name, value);
}

double sim_get(const char *name) {
  return plant_get(&sim.plant, name);
}

void sim_override(unsigned channel, int32_t raw, int on) {
  sim.override_raw[channel] = raw;
  sim.override_mask = on ? sim.override_mask | 1u << channel : sim.override_mask & ~(1u << channel);
}

void sim_view(unsigned actuator, double out[10]) {
  struct fw_view view;
  fw_view(actuator, &view);
  out[0] = (double)view.q;
  out[1] = (double)view.qd;
  out[2] = (double)view.force;
  out[3] = (double)view.current_A;
  out[4] = (double)view.duty;
  out[5] = (double)view.heat;
  out[6] = (double)view.allowed_A;
  out[7] = (double)view.tank_J;
  out[8] = (double)view.limited;
  out[9] = (double)sim.fault_shown;
}

void sim_wall(int mode, double q0, double stiffness, double damping, unsigned delay_ticks, int local) {
  sim.wall.on = mode;
  sim.wall.q0 = q0;
  sim.wall.stiffness = stiffness;
  sim.wall.damping = damping;
  sim.wall.delay_ticks = delay_ticks;
  sim.wall.local = local;
}

int sim_setpoint(const float *laws, unsigned actuators) {
  struct setpoint setpoints[FW_ACTUATORS_MAX];
  unsigned i;
  for (i = 0; i < actuators && i < FW_ACTUATORS_MAX; i++) {
    setpoints[i] = (struct setpoint){laws[4 * i], laws[4 * i + 1], laws[4 * i + 2], laws[4 * i + 3]};
  }
  return safety_setpoint(fw_safety(), setpoints, actuators, hal_time_us());
}

int sim_arm(void) {
  static const float zero[FW_ACTUATORS_MAX * 4];
  int result;
  (void)sim_setpoint(zero, sim.app.actuator_count);
  result = safety_arm(fw_safety(), hal_time_us());
  while (result == 0 && fw_safety()->state == (uint8_t)PROTOCOL_STATE_RAMP) {
    (void)sim_setpoint(zero, sim.app.actuator_count);
    step();
  }
  return result;
}
