/* See fw.h. The fast loop reads from top to bottom in the order in which data flows. */
#include "fw.h"

#include "fw_link.h"
#include "fwmath.h"

#define DT_S (1.0f / (float)FW_FAST_HZ)
#define BOOT_TICKS 1024u       /* outputs off: zero of the current sensors is learned, sensors settle */
#define PERSIST_TICKS 10u      /* a bad reading must last this long (1 ms) to count */
#define JUMP_TICKS 30u         /* a position that has jumped for longer than this (3 ms) is no glitch */
#define TRACKING_TICKS 200u    /* current off its target for so long (20 ms): no connection */
#define TRACKING_SHARE 0.25f   /* of the peak current */
#define OVERCURRENT_SHARE 1.3f /* of the peak current */

struct actuator_state {
  struct velocity velocity;
  struct limits limits;
  struct current_pi pi;
  float q, qd;
  float app_force;
  float current_zero; /* counts */
  float current_A;
  float target_A;
  float duty;
  uint16_t jump_ticks, tracking_ticks, overcurrent_ticks, overspeed_ticks;
};

static struct {
  const struct app *app;
  struct calibration calibration;
  struct safety safety;
  struct channel_state channels[FW_CHANNELS_MAX];
  uint32_t control_channels; /* bit per channel that a control loop needs */
  struct actuator_state actuators[FW_ACTUATORS_MAX];
  struct fw_snapshot snapshot;
  struct fw_counters counters;
  float supply_V;
  uint16_t supply_ticks;
  uint32_t last_us;
  uint16_t link_phase, loop_phase;
  bool link_due, loop_due;
} fw;

struct safety *fw_safety(void) {
  return &fw.safety;
}

const struct fw_counters *fw_counters(void) {
  return &fw.counters;
}

const struct app *fw_app(void) {
  return fw.app;
}

void fw_read(struct fw_snapshot *snapshot) {
  const uint32_t saved = hal_irq_save();
  *snapshot = fw.snapshot;
  hal_irq_restore(saved);
}

void fw_view(unsigned actuator, struct fw_view *view) {
  const struct actuator_state *state = &fw.actuators[actuator];
  view->q = state->q;
  view->qd = state->qd;
  view->force = state->limits.force;
  view->current_A = state->current_A;
  view->duty = state->duty;
  view->heat = state->limits.thermal.heat;
  view->allowed_A = thermal_limit_A(&state->limits.thermal);
  view->tank_J = state->limits.tank_J;
  view->limited = state->limits.limited;
}

static bool is_calibrated(void) {
  bool good = hal_calibration(&fw.calibration);
  unsigned i;
  for (i = 0; i < fw.app->actuator_count; i++) {
    const struct actuator *actuator = &fw.app->actuators[i];
    good = good && acquisition_calibrated(&actuator->position, &fw.calibration)
           && velocity_calibrated(&actuator->velocity, &fw.calibration);
  }
  return good;
}

/* What is no calibration is not used either: positions then stay zero, and no NaN of an erased flash leaves the device. */
static bool take_calibration(void) {
  static const struct calibration none = {0};
  if (!is_calibrated()) {
    fw.calibration = none;
    return false;
  }
  return true;
}

void fw_init(const struct app *app) {
  static const struct channel_state no_channel = {0};
  static const struct actuator_state no_actuator = {0};
  static const struct fw_snapshot no_snapshot = {0};
  static const struct fw_counters no_counters = {0};
  static const struct calibration no_calibration = {0};
  struct safety_config config = app->safety;
  unsigned i;
  fw.app = app;
  fw.calibration = no_calibration;
  fw.snapshot = no_snapshot;
  fw.counters = no_counters;
  fw.control_channels = 0u;
  fw.supply_V = 0.0f;
  fw.supply_ticks = 0u;
  fw.link_phase = 0u;
  fw.loop_phase = 0u;
  fw.link_due = false;
  fw.loop_due = false;
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    fw.channels[i] = no_channel;
  }
  config.watchdog_us = hal_watchdog_us();
  config.actuators = app->actuator_count;
  for (i = 0; i < app->actuator_count; i++) {
    const struct actuator *actuator = &app->actuators[i];
    struct actuator_state *state = &fw.actuators[i];
    *state = no_actuator;
    velocity_init(&state->velocity, &actuator->velocity);
    limits_init(&state->limits, &actuator->limits);
    current_pi_init(&state->pi, &actuator->current);
    config.law[i] = actuator->law;
    fw.control_channels |= 1u << actuator->position.channel;
    if (actuator->position.kind == POSITION_HALL_PAIR) {
      fw.control_channels |= 1u << actuator->position.channel_rear;
    }
    if (actuator->velocity.kind == VELOCITY_COIL) {
      fw.control_channels |= 1u << actuator->velocity.channel;
    }
    hal_gate(i, HAL_GATE_OFF);
    hal_pwm_set(i, 0.0f);
  }
  safety_init(&fw.safety, &config);
  fw_link_init(app, fw.safety.config.watchdog_us);
  fw.last_us = hal_time_us();
}

/* Return bits of the channels whose sample was accepted. */
static uint32_t acquire(const struct hal_sample *sample, uint32_t now_us) {
  uint32_t accepted = 0u;
  unsigned i;
  for (i = 0; i < fw.app->channel_count; i++) {
    const bool fresh = ((sample->fresh >> i) & 1u) != 0u;
    if (acquisition_step(&fw.app->channels[i], &fw.channels[i], sample->raw[i], fresh, now_us)) {
      accepted |= 1u << i;
    } else {
      fw.counters.dropouts++;
    }
  }
  return accepted;
}

static bool has_all(uint32_t accepted, const struct position_config *position) {
  uint32_t needed = 1u << position->channel;
  if (position->kind == POSITION_HALL_PAIR) {
    needed |= 1u << position->channel_rear;
  }
  return (accepted & needed) == needed;
}

static float coil_velocity(const struct velocity_config *config) {
  const uint8_t c = config->channel;
  const float coil_V = (float)fw.channels[c].raw * fw.app->channels[c].scale;
  return config->ratio * fw.calibration.gain[c] * (coil_V - fw.calibration.offset[c]);
}

static bool is_driving(void) {
  return fw.safety.state == (uint8_t)PROTOCOL_STATE_RAMP || fw.safety.state == (uint8_t)PROTOCOL_STATE_ACTIVE;
}

/* Position and velocity of one actuator; without a good sample the last velocity carries the position on. */
static void estimate(unsigned i, uint32_t accepted) {
  const struct actuator *actuator = &fw.app->actuators[i];
  struct actuator_state *state = &fw.actuators[i];
  float q = state->q + state->qd * DT_S;
  float coil = 0.0f;
  if (has_all(accepted, &actuator->position)) {
    const float measured = acquisition_position(&actuator->position, fw.app->channels, fw.channels, &fw.calibration);
    const bool jumped = state->velocity.started && fw_abs(measured - q) > actuator->position.step_max;
    state->jump_ticks = jumped ? (uint16_t)(state->jump_ticks + (state->jump_ticks < 0xFFFFu)) : 0u;
    /* While nothing is driven the device follows wherever it has been carried. */
    if (!jumped || !is_driving()) {
      q = measured;
    }
  }
  if (actuator->velocity.kind == VELOCITY_COIL) {
    coil = coil_velocity(&actuator->velocity);
  }
  state->q = q;
  state->qd = velocity_step(&state->velocity, q, coil, DT_S);
  fw.counters.spikes += state->velocity.spike ? 1u : 0u;
}

static void measure_current(unsigned i, int32_t raw) {
  struct actuator_state *state = &fw.actuators[i];
  if (fw.safety.state == (uint8_t)PROTOCOL_STATE_BOOT) {
    state->current_zero += (float)raw / (float)BOOT_TICKS;
    return;
  }
  state->current_A = ((float)raw - state->current_zero) * fw.app->actuators[i].ampere_per_count;
}

/* Count how long a condition has held; return true once that is longer than allowed. */
static bool persists(uint16_t *ticks, bool condition, unsigned allowed) {
  *ticks = condition ? (uint16_t)(*ticks + (*ticks < 0xFFFFu)) : 0u;
  return *ticks > allowed;
}

static void find(struct finding *found, enum fault fault, unsigned channel, float value, float limit) {
  if (found->fault == FAULT_NONE) {
    found->fault = fault;
    found->channel = (uint8_t)channel;
    found->value = value;
    found->limit = limit;
  }
}

static void check_actuator(unsigned i, struct finding *found) {
  const struct actuator *actuator = &fw.app->actuators[i];
  struct actuator_state *state = &fw.actuators[i];
  const struct position_config *position = &actuator->position;
  const float peak_A = actuator->limits.thermal.peak_A;
  const float error_A = fw_abs(state->target_A - state->current_A);
  if (persists(&state->overcurrent_ticks, fw_abs(state->current_A) > OVERCURRENT_SHARE * peak_A, PERSIST_TICKS)) {
    find(found, FAULT_OVERCURRENT, i, state->current_A, OVERCURRENT_SHARE * peak_A);
  }
  if (persists(&state->tracking_ticks, is_driving() && error_A > TRACKING_SHARE * peak_A, TRACKING_TICKS)) {
    find(found, FAULT_CURRENT_TRACKING, i, state->current_A, state->target_A);
  }
  if (persists(&state->overspeed_ticks, fw_abs(state->qd) > actuator->limits.velocity_fault, PERSIST_TICKS)) {
    find(found, FAULT_OVERSPEED, i, state->qd, actuator->limits.velocity_fault);
  }
  if (state->jump_ticks > JUMP_TICKS || velocity_implausible(&state->velocity)) {
    find(found, FAULT_SENSOR_IMPLAUSIBLE, position->channel, state->velocity.bias, position->step_max);
  }
  if (state->q < position->min - position->margin || state->q > position->max + position->margin) {
    find(found, FAULT_TRAVEL, i, state->q, state->q < position->min ? position->min : position->max);
  }
}

static struct finding check_all(const struct hal_sample *sample, uint32_t now_us, uint32_t late_us) {
  const struct app *device = fw.app;
  struct finding found = {FAULT_NONE, SAFETY_NO_CHANNEL, 0.0f, 0.0f};
  const bool supply_bad = fw.supply_V < device->supply_min_V || fw.supply_V > device->supply_max_V;
  unsigned i;
  if (late_us >= fw.safety.config.watchdog_us) {
    find(&found, FAULT_FAST_LOOP_LATE, SAFETY_NO_CHANNEL, (float)late_us * 1.0e-3f,
         (float)fw.safety.config.watchdog_us * 1.0e-3f);
  }
  if (sample->driver_fault) {
    find(&found, FAULT_DRIVER, SAFETY_NO_CHANNEL, 0.0f, 0.0f);
  }
  if (persists(&fw.supply_ticks, supply_bad, PERSIST_TICKS)) {
    find(&found, FAULT_SUPPLY, SAFETY_NO_CHANNEL, fw.supply_V,
         fw.supply_V < device->supply_min_V ? device->supply_min_V : device->supply_max_V);
  }
  for (i = 0; i < device->channel_count; i++) {
    const uint32_t age_us = acquisition_age_us(&fw.channels[i], now_us);
    if (((fw.control_channels >> i) & 1u) != 0u && fw.channels[i].refused && age_us > fw.safety.config.sensor_lost_us) {
      find(&found, FAULT_SENSOR_IMPLAUSIBLE, i, (float)fw.channels[i].raw, (float)device->channels[i].raw_max);
    }
  }
  for (i = 0; i < device->actuator_count; i++) {
    check_actuator(i, &found);
  }
  if (device->skew_max > 0.0f && fw_abs(fw.actuators[0].q - fw.actuators[1].q) > device->skew_max) {
    find(&found, FAULT_SKEW, 0u, fw.actuators[0].q - fw.actuators[1].q, device->skew_max);
  }
  return found;
}

/* Fill in the oldest sensor that a control loop needs. */
static void find_oldest(struct safety_input *input) {
  unsigned i;
  input->sensor_age_us = 0u;
  input->sensor_channel = SAFETY_NO_CHANNEL;
  for (i = 0; i < fw.app->channel_count; i++) {
    const uint32_t age_us = acquisition_age_us(&fw.channels[i], input->now_us);
    if (((fw.control_channels >> i) & 1u) != 0u && age_us > input->sensor_age_us) {
      input->sensor_age_us = age_us;
      input->sensor_channel = (uint8_t)i;
    }
  }
}

/* Force, current target and duty of one actuator. */
static void drive(unsigned i, const struct safety_output *allowed, uint32_t now_us) {
  const struct actuator *actuator = &fw.app->actuators[i];
  struct actuator_state *state = &fw.actuators[i];
  /* Two slow current loops are spread over the fast periods instead of sharing one. */
  const bool current_due = (fw.counters.fast_ticks + 2u * i) % actuator->current_divider == 0u;
  const float current_dt_s = DT_S * (float)actuator->current_divider;
  if (allowed->gate == HAL_GATE_DRIVE) {
    const float law = local_law_force(&actuator->law, &fw.safety.setpoint[i], state->q, state->qd);
    const float force = limits_apply(&state->limits, law + state->app_force, allowed->gain, state->qd,
                                     actuator->force_per_ampere, DT_S);
    state->target_A = force / actuator->force_per_ampere;
    if ((state->limits.limited & (unsigned)PROTOCOL_LIMITED_FINITE) != 0u) {
      const struct finding broken = {FAULT_INTERNAL, (uint8_t)i, 0.0f, 0.0f};
      safety_trip(&fw.safety, &broken, now_us);
    }
    if (current_due) {
      state->duty =
          current_pi_step(&state->pi, state->target_A, state->current_A, state->qd, fw.supply_V, current_dt_s);
    }
  }
  /* Also when the trip came just now, from here or from the other actuator. */
  if (allowed->gate != HAL_GATE_DRIVE || !is_driving()) {
    limits_off(&state->limits);
    current_pi_reset(&state->pi);
    state->target_A = 0.0f;
    state->duty = 0.0f;
  }
  thermal_step(&state->limits.thermal, fw_max(fw_abs(state->target_A), fw_abs(state->current_A)), DT_S);
  fw.counters.limited += state->limits.limited != 0u ? 1u : 0u;
}

static void apply(const struct safety_output *allowed) {
  const bool driving = is_driving();
  unsigned i;
  for (i = 0; i < fw.app->actuator_count; i++) {
    hal_pwm_set(i, driving ? fw.actuators[i].duty : 0.0f);
    hal_gate(i, driving || allowed->gate != HAL_GATE_DRIVE ? allowed->gate : HAL_GATE_OFF);
  }
}

static void take_snapshot(uint32_t now_us, uint32_t accepted) {
  struct fw_snapshot *snapshot = &fw.snapshot;
  unsigned i;
  snapshot->t_us = now_us;
  snapshot->fresh = (uint8_t)accepted;
  snapshot->limited = 0u;
  for (i = 0; i < fw.app->channel_count; i++) {
    snapshot->raw[i] = acquisition_mean(&fw.app->channels[i], &fw.channels[i]);
  }
  for (i = 0; i < fw.app->actuator_count; i++) {
    const struct actuator_state *state = &fw.actuators[i];
    snapshot->position[i] = state->q;
    snapshot->velocity[i] = state->qd;
    snapshot->current_A[i] = state->current_A;
    snapshot->force[i] = state->current_A * fw.app->actuators[i].force_per_ampere;
    snapshot->heat[i] = state->limits.thermal.heat;
    snapshot->limited = (uint8_t)(snapshot->limited | state->limits.limited);
  }
}

/* Advance a divider; return true when its turn has come. */
static bool turn(uint16_t *phase, uint16_t divider) {
  if (divider == 0u || ++*phase < divider) {
    return false;
  }
  *phase = 0u;
  return true;
}

static bool schedule(uint32_t now_us, uint32_t accepted) {
  const bool link = turn(&fw.link_phase, fw.app->link_divider);
  const bool loop = turn(&fw.loop_phase, fw.app->loop_divider);
  if ((link && fw.link_due) || (loop && fw.loop_due)) {
    fw.counters.main_overruns++;
  }
  if (link) {
    take_snapshot(now_us, accepted);
  }
  fw.link_due = fw.link_due || link;
  fw.loop_due = fw.loop_due || loop;
  return link || loop;
}

bool fw_fast_isr(void) {
  const uint32_t now_us = hal_time_us();
  const uint32_t gap_us = now_us - fw.last_us;
  struct hal_sample sample;
  struct safety_input input;
  struct safety_output allowed;
  uint32_t accepted, took_us;
  unsigned i;

  fw.counters.fast_ticks++;
  fw.counters.fast_late += gap_us > FW_FAST_US * 3u / 2u ? 1u : 0u;
  fw.last_us = now_us;

  hal_sample(&sample);
  fw.supply_V = (float)sample.supply_raw * fw.app->volt_per_count;
  accepted = acquire(&sample, now_us);
  for (i = 0; i < fw.app->actuator_count; i++) {
    measure_current(i, sample.current_raw[i]);
    estimate(i, accepted);
  }
  if (fw.safety.state == (uint8_t)PROTOCOL_STATE_BOOT && fw.counters.fast_ticks >= BOOT_TICKS) {
    safety_start(&fw.safety, take_calibration());
  }
  input.now_us = now_us;
  input.estop = sample.estop;
  input.found = check_all(&sample, now_us, gap_us);
  find_oldest(&input);
  allowed = safety_step(&fw.safety, &input);
  for (i = 0; i < fw.app->actuator_count; i++) {
    drive(i, &allowed, now_us);
  }
  apply(&allowed);
  hal_wdt_kick();

  took_us = hal_time_us() - now_us;
  if (took_us > fw.counters.fast_us_max) {
    fw.counters.fast_us_max = took_us;
  }
  return schedule(now_us, accepted);
}

/* Run the application's own loop on one consistent picture, and take over its forces if they are numbers. */
static void run_app_loop(void) {
  struct app_io io;
  uint32_t saved;
  unsigned i;
  io.dt_s = DT_S * (float)fw.app->loop_divider;
  saved = hal_irq_save();
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    io.q[i] = fw.actuators[i].q;
    io.qd[i] = fw.actuators[i].qd;
    io.force[i] = 0.0f;
  }
  hal_irq_restore(saved);
  fw.app->loop(&io);
  saved = hal_irq_save();
  for (i = 0; i < fw.app->actuator_count; i++) {
    fw.actuators[i].app_force = io.force[i];
  }
  hal_irq_restore(saved);
}

void fw_main_isr(void) {
  const uint32_t saved = hal_irq_save();
  const bool link = fw.link_due;
  const bool loop = fw.loop_due;
  fw.link_due = false;
  fw.loop_due = false;
  hal_irq_restore(saved);
  if (link) {
    fw_link_step();
  }
  if (loop) {
    run_app_loop();
  }
}
