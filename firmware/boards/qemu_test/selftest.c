/* Tests that run on the emulated Cortex-M4F itself, in simulated time, and count instructions.
 *
 * A small host speaks the protocol to the firmware in the same program. QEMU runs it with -icount shift=10: every
 * instruction then takes 1024 ns of the board's clock, so that the free counter (40 ns) tells the instructions of one call
 * exactly. Prints one figure a line ("name value") and ends with an exit code by semihosting. */
#include "cortex_m4.h"
#include "framing.h"
#include "fw.h"
#include "mps2.h"
#include "plant.h"
#include "semihosting.h"
#include "session.h"
#include "startup.h"

#define NS_PER_INSTRUCTION 1024u
#define NS_PER_COUNT (1000000000u / FPGA_COUNTER_HZ)
#define RUN_TICKS (4u * FW_FAST_HZ)
#define FRAMES 8u

struct worst {
  uint32_t most;
  uint32_t total; /* 2^32 is not reached within a run */
  uint32_t calls;
};

static struct {
  struct plant plant;
  struct hal_sample sample;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  uint32_t tick;
  uint32_t silent;
  uint8_t frames[FRAMES][PROTOCOL_FRAME_MAX];
  size_t lengths[FRAMES];
  unsigned frame_count; /* waiting to be read by the device */
  unsigned frame_next;
  struct protocol_hello hello;
  struct protocol_reply reply;
  uint16_t seq;
  uint32_t states;
  uint32_t random;
  uint32_t overhead; /* instructions of an empty measurement */
  struct worst fast, main, loop;
  struct app app; /* the application, with its own loop measured */
} self;

/* ---- figures and checks ---- */

static void print_number(uint32_t value) {
  char text[12];
  unsigned at = sizeof text;
  text[--at] = '\0';
  do {
    text[--at] = (char)('0' + value % 10u);
    value /= 10u;
  } while (value > 0u);
  semihosting_print(text + at);
}

static void figure(const char *name, uint32_t value) {
  semihosting_print(name);
  semihosting_print(" ");
  print_number(value);
  semihosting_print("\n");
}

static void check(bool holds, const char *claim) {
  if (!holds) {
    semihosting_print("failed: ");
    semihosting_print(claim);
    semihosting_print("\n");
    semihosting_exit(1u);
  }
}

/* ---- the board, as the core sees it: all in simulated time ---- */

void hal_init(void) {}
uint32_t hal_time_us(void) { return self.tick * FW_FAST_US; }
void hal_sample(struct hal_sample *sample) { *sample = self.sample; }
void hal_pwm_set(unsigned actuator, float duty) { self.duty[actuator] = duty; }
void hal_gate(unsigned actuator, enum hal_gate gate) { self.gate[actuator] = gate; }
bool hal_link_is_datagram(void) { return true; }
uint32_t hal_watchdog_us(void) { return SAFETY_WATCHDOG_US; }
uint32_t hal_irq_save(void) { return cortex_irq_save(); }
void hal_irq_restore(uint32_t saved) { cortex_irq_restore(saved); }
void hal_wdt_kick(void) {}
void hal_idle(void) {}
void hal_fault(unsigned number) { (void)number; }

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  for (unsigned i = 0; i < FW_UID_BYTES; i++) {
    uid[i] = (uint8_t)i;
  }
}

bool hal_calibration(struct calibration *calibration) {
  plant_calibration(&self.plant, calibration);
  return true;
}

size_t hal_link_read(uint8_t *bytes, size_t size) {
  if (self.frame_next == self.frame_count) {
    self.frame_next = 0u;
    self.frame_count = 0u;
    return 0u;
  }
  const size_t n = self.lengths[self.frame_next];
  check(n <= size, "a frame fits into the core's buffer");
  for (size_t i = 0; i < n; i++) {
    bytes[i] = self.frames[self.frame_next][i];
  }
  self.frame_next++;
  return n;
}

bool hal_link_write(const uint8_t *bytes, size_t size) {
  check(framing_check(bytes, size, false) == FRAMING_GOOD, "the device sends good frames only");
  switch (bytes[0]) {
    case PROTOCOL_HELLO:
      protocol_get_hello(bytes + PROTOCOL_HEADER_SIZE, &self.hello);
      break;
    case PROTOCOL_REPLY:
      protocol_get_reply(bytes + PROTOCOL_HEADER_SIZE, &self.reply);
      self.hello.ticket = self.reply.ticket;
      break;
    case PROTOCOL_STATE1:
    case PROTOCOL_STATE2:
      self.states++;
      break;
    default:
      break;
  }
  return true;
}

/* ---- the host ---- */

static uint8_t *body(void) { return self.frames[self.frame_count] + PROTOCOL_HEADER_SIZE; }

static void post(uint8_t type) {
  const struct protocol_header header = {
      .type = type, .seq = (type == PROTOCOL_SETPOINT1 || type == PROTOCOL_SETPOINT2) ? ++self.seq : 0u, .t_us = hal_time_us()};
  check(self.frame_count < FRAMES, "the device reads what is sent");
  self.lengths[self.frame_count] = framing_seal(self.frames[self.frame_count], &header);
  self.frame_count++;
}

static void post_hello(void) {
  const struct protocol_hello_request request = {.version = PROTOCOL_VERSION};
  protocol_put_hello_request(body(), &request);
  post(PROTOCOL_HELLO_REQUEST);
}

static void post_arm(void) {
  struct protocol_arm request = {
      .version = PROTOCOL_VERSION, .schema_crc = self.hello.schema_crc, .ticket = self.hello.ticket};
  for (unsigned i = 0; i < PROTOCOL_UID_SIZE; i++) {
    request.uid[i] = self.hello.uid[i];
  }
  protocol_put_arm(body(), &request);
  post(PROTOCOL_ARM);
}

static void post_reset(void) {
  const struct protocol_reset request = {.fault = (uint16_t)fw_safety()->latched.fault, .ticket = self.hello.ticket};
  protocol_put_reset(body(), &request);
  post(PROTOCOL_RESET);
}

static void post_setpoint(float force, float stiffness, float damping) {
  const struct protocol_law law = {.F0 = force, .q0 = 0.0f, .K = stiffness, .B = damping};
  for (unsigned i = 0; i < app.actuator_count; i++) {
    protocol_put_law(body() + PROTOCOL_LAW_SIZE * i, &law);
  }
  post(app.actuator_count == 1u ? PROTOCOL_SETPOINT1 : PROTOCOL_SETPOINT2);
}

/* ---- time ---- */

static uint32_t instructions(uint32_t from, uint32_t to) {
  return (uint32_t)(((uint64_t)(to - from) * NS_PER_COUNT + NS_PER_INSTRUCTION / 2u) / NS_PER_INSTRUCTION);
}

static void note(struct worst *worst, uint32_t from, uint32_t to) {
  const uint32_t n = instructions(from, to) - self.overhead;
  worst->most = n > worst->most ? n : worst->most;
  worst->total += n;
  worst->calls++;
}

/* The application's own loop, with what it calls: a generated model, if it has one. */
static void measured_loop(struct app_io *io) {
  const uint32_t before = FPGA_COUNTER;
  app.loop(io);
  note(&self.loop, before, FPGA_COUNTER);
  for (unsigned i = 0; i < app.actuator_count; i++) {
    check(io->force[i] - io->force[i] == 0.0f, "the model gives finite forces");
  }
}

static void fast_period(void) {
  plant_step(&self.plant, 1.0 / FW_FAST_HZ, self.duty, self.gate);
  plant_sample(&self.plant, &self.sample);
  self.sample.fresh &= ~self.silent;
  self.tick++;
  const uint32_t before = FPGA_COUNTER;
  const bool main_due = fw_fast_isr();
  const uint32_t between = FPGA_COUNTER;
  note(&self.fast, before, between);
  if (main_due) {
    const uint32_t start = FPGA_COUNTER;
    fw_main_isr();
    note(&self.main, start, FPGA_COUNTER);
  }
}

static void milliseconds(uint32_t n, float force, float stiffness, float damping) {
  for (; n > 0u; n--) {
    post_setpoint(force, stiffness, damping);
    for (unsigned i = 0; i < FW_FAST_HZ / 1000u; i++) {
      fast_period();
    }
  }
}

static void silence(uint32_t ticks) {
  for (; ticks > 0u; ticks--) {
    fast_period();
  }
}

static bool is_state(enum protocol_state state) { return fw_safety()->state == (uint8_t)state; }

static void arm(void) {
  if (fw_safety()->latched.fault != FAULT_NONE) {
    post_reset();
    milliseconds(5u, 0.0f, 0.0f, 0.0f);
  }
  post_arm();
  milliseconds(5u, 0.0f, 0.0f, 0.0f);
}

/* ---- the tests ---- */

static void test_arithmetic(void) {
  static const uint8_t digits[9] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  check(framing_crc16(digits, sizeof digits, 0xFFFFu) == 0x29B1u, "CRC-16/CCITT-FALSE of the standard's own text");
  check(framing_crc32(digits, sizeof digits, 0u) == 0xCBF43926u, "CRC-32 of the standard's own text");
}

static void test_start_and_arming(void) {
  silence(2000u);
  check(is_state(PROTOCOL_STATE_IDLE), "calibrated, it starts into IDLE");
  check(self.states > 50u, "it sends states by itself");
  post_hello();
  milliseconds(5u, 0.0f, 0.0f, 0.0f);
  check(self.hello.schema_crc != 0u, "it answers HELLO");
  arm();
  check(self.reply.result == PROTOCOL_RESULT_OK, "it arms");
  milliseconds(1500u, 0.0f, 0.0f, 0.0f);
  check(is_state(PROTOCOL_STATE_ACTIVE), "the ramp ends in ACTIVE");
}

static void test_watchdog(void) {
  /* From the fast period in which the last set-point was taken. */
  const uint32_t last_us = fw_safety()->setpoint_us;
  while (self.gate[0] == HAL_GATE_DRIVE && hal_time_us() - last_us < 1000000u) {
    fast_period();
  }
  figure("watchdog_us", hal_time_us() - last_us);
  check(hal_time_us() - last_us == SAFETY_WATCHDOG_US, "drive ends 10.0 ms after the last set-point");
  check(fw_safety()->latched.fault == FAULT_SETPOINT_TIMEOUT, "with the fault of that");
  milliseconds(100u, 0.0f, 0.0f, 0.0f);
  check(self.gate[0] != HAL_GATE_DRIVE, "and set-points alone do not bring it back");
}

static float random_float(float low, float high) {
  self.random ^= self.random << 13;
  self.random ^= self.random >> 17;
  self.random ^= self.random << 5;
  return low + (high - low) * ((float)(self.random >> 8) / 16777216.0f);
}

/* Everything that makes the loops long: limits at work, sensors that drop out, every request, faults and new arming. */
static void test_worst_case(void) {
  const struct actuator *actuator = &app.actuators[0];
  const uint32_t end = self.tick + RUN_TICKS;
  while ((int32_t)(end - self.tick) > 0) {
    arm();
    for (unsigned i = 0; i < 40u; i++) {
      const float force = random_float(-1.5f, 1.5f) * actuator->limits.force_max;
      self.silent = random_float(0.0f, 1.0f) < 0.2f ? (uint32_t)random_float(0.0f, 63.0f) : 0u;
      if (i % 10u == 0u) {
        post(PROTOCOL_COUNTERS_REQUEST);
        const struct protocol_sync_request request = {.t1_us = i};
        protocol_put_sync_request(body(), &request);
        post(PROTOCOL_SYNC_REQUEST);
      }
      milliseconds(2u, force, random_float(0.0f, actuator->law.stiffness_max), random_float(0.0f, actuator->law.damping_max));
      for (unsigned k = 0; k < app.actuator_count; k++) {
        check(self.duty[k] >= -1.0f && self.duty[k] <= 1.0f, "the duty is within its range, and a number");
      }
    }
    self.silent = 0u;
    if (random_float(0.0f, 1.0f) < 0.3f) {
      post(PROTOCOL_ESTOP);
      silence(20u);
      check(self.gate[0] == HAL_GATE_OFF, "ESTOP opens the power stage");
    }
    milliseconds(30u, 0.0f, 0.0f, 0.0f);
  }
}

static void calibrate_counter(void) {
  FPGA_PRESCALE = 0u;
  const uint32_t before = FPGA_COUNTER;
  const uint32_t after = FPGA_COUNTER;
  self.overhead = instructions(before, after);
}

static void stop(void) {
  semihosting_print("failed: a fault of the processor\n");
  semihosting_exit(2u);
}

__attribute__((section(".vectors"), used)) static const vector vectors[16 + MPS2_IRQS] = {
    CORTEX_VECTORS(linker_stack_top, stop, stop, stop),
};

int main(void) {
  self.random = 2463534242u;
  check(plant_init(&self.plant, app.name, 1u) == 0, "there is a plant for the application");
  plant_sample(&self.plant, &self.sample);
  self.app = app;
  self.app.loop = app.loop != NULL ? measured_loop : NULL;
  calibrate_counter();
  fw_init(&self.app);
  test_arithmetic();
  test_start_and_arming();
  test_watchdog();
  test_worst_case();
  figure("fast_instructions_max", self.fast.most);
  figure("fast_instructions_mean", self.fast.total / self.fast.calls);
  figure("main_instructions_max", self.main.most);
  figure("main_instructions_mean", self.main.total / self.main.calls);
  figure("fast_calls", self.fast.calls);
  if (self.loop.calls > 0u) {
    figure("loop_instructions_max", self.loop.most);
    figure("loop_instructions_mean", self.loop.total / self.loop.calls);
    figure("loop_calls", self.loop.calls);
  }
  semihosting_exit(0u);
  return 0;
}
