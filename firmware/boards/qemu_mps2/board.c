/* The board: QEMU's mps2-an386, a Cortex-M4F with Ethernet and UARTs.
 *
 * The timer's interrupt runs the fast periods that are due, the main loop is PendSV below it, the links interrupt in
 * between. There is no power stage and no sensor: the plant runs on the emulated processor, or outside, as a process of the
 * host behind the mailbox; either way one step ahead of each fast period. */
#include "clock.h"
#include "cortex_m4.h"
#include "ethernet.h"
#include "fw.h"
#include "mailbox.h"
#include "mps2.h"
#include "plant.h"
#include "startup.h"
#include "uart.h"

#define INTERRUPT_HZ 1000u /* ten fast periods each; 10 kHz works too, at three times the load of the host */
#define CATCH_UP_MOST (FW_FAST_HZ / 2u)
#define UART_DIVIDER (FW_FAST_HZ / 500u) /* QEMU handles each byte of a UART by itself: 1 kHz is too much for it */
#define AHEAD_OF_MAIN 5u /* fast periods that may pass while the main loop waits its turn, as on hardware */
#define ANSWER_US 300000u /* the plant outside may be that late, for machines that are shared; then the sensors are silent */
#define IRQ_PEND(irq) (*(volatile uint32_t *)0xE000E200u = 1u << (irq))

static volatile struct mailbox *const mailbox = (volatile struct mailbox *)(uintptr_t)PSRAM_BASE;

static struct {
  struct plant plant;
  struct hal_sample sample;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  struct clock_pace pace;
  uint32_t due;            /* fast periods still to run */
  uint32_t ahead;          /* of them, run since the main loop was asked for */
  volatile bool main_due;
  volatile uint32_t tick;
  volatile bool in_fast;
  bool plant_lost;         /* the plant outside did not answer in time */
  bool has_host;           /* the mailbox was filled in */
} self;

/* ---- the board, as the core sees it ---- */

void hal_init(void) {
  self.has_host = mailbox->magic == MAILBOX_MAGIC;
  (void)plant_init(&self.plant, app.name, self.has_host ? mailbox->seed : 1u);
  plant_sample(&self.plant, &self.sample);
}

/* Device time stands at the fast period, plus what has really passed since: see boards/posix/device.c. */
uint32_t hal_time_us(void) {
  const uint32_t tick_us = self.tick * FW_FAST_US;
  if (self.in_fast) {
    return tick_us;
  }
  const int32_t passed_us = (int32_t)(clock_us() - tick_us);
  return tick_us + (passed_us < 0 ? 0u : passed_us >= (int32_t)FW_FAST_US ? FW_FAST_US - 1u : (uint32_t)passed_us);
}

void hal_sample(struct hal_sample *sample) { *sample = self.sample; }

void hal_pwm_set(unsigned actuator, float duty) { self.duty[actuator] = duty; }

void hal_gate(unsigned actuator, enum hal_gate gate) { self.gate[actuator] = gate; }

bool hal_link_is_datagram(void) { return !(self.has_host && mailbox->use_uart); }

size_t hal_link_read(uint8_t *bytes, size_t size) {
  return hal_link_is_datagram() ? ethernet_read(bytes, size) : uart_read(bytes, size);
}

bool hal_link_write(const uint8_t *bytes, size_t size) {
  return hal_link_is_datagram() ? ethernet_write(bytes, size) : uart_write(bytes, size);
}

bool hal_calibration(struct calibration *calibration) {
  plant_calibration(&self.plant, calibration);
  return true;
}

uint32_t hal_watchdog_us(void) { return self.has_host ? mailbox->watchdog_us : SAFETY_WATCHDOG_US; }

uint32_t hal_irq_save(void) { return cortex_irq_save(); }

void hal_irq_restore(uint32_t saved) { cortex_irq_restore(saved); }

void hal_wdt_kick(void) {}

void hal_idle(void) { cortex_wait(); }

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  static const uint8_t ours[FW_UID_BYTES] = {'q', 'e', 'm', 'u', ' ', 'm', 'p', 's', '2'};
  for (unsigned i = 0; i < FW_UID_BYTES; i++) {
    uid[i] = ours[i];
  }
}

void hal_fault(unsigned number) { mailbox->fault = number; }

/* ---- interrupts ---- */

/* Hand the duties over and wait for the counts. Device time stands still meanwhile. */
static void ask_outside(void) {
  const uint32_t request = mailbox->request + 1u;
  const uint32_t from_us = clock_us();
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    mailbox->gate[i] = (uint32_t)self.gate[i];
    mailbox->duty[i] = self.duty[i];
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  mailbox->request = request;
  /* A plant that missed an answer is gone, or comes back: it is no longer waited for, so that the loops keep their pace. */
  const uint32_t patience_us = self.plant_lost ? 1u : ANSWER_US;
  while (mailbox->answer != request && clock_us() - from_us < patience_us) {
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  self.plant_lost = mailbox->answer != request;
  if (self.plant_lost) {
    mailbox->late_answers++;
    self.sample.fresh = 0u;
    return;
  }
  for (unsigned i = 0; i < FW_CHANNELS_MAX; i++) {
    self.sample.raw[i] = mailbox->sample.raw[i];
  }
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    self.sample.current_raw[i] = mailbox->sample.current_raw[i];
  }
  self.sample.fresh = mailbox->sample.fresh;
  self.sample.supply_raw = mailbox->sample.supply_raw;
  self.sample.estop = mailbox->sample.estop != 0u;
  self.sample.driver_fault = mailbox->sample.driver_fault != 0u;
}

static void step_inside(void) {
  /* In single precision the plant's own time would stop to grow after some minutes. */
  (void)plant_set(&self.plant, "t_s", (double)self.tick * (1.0 / FW_FAST_HZ));
  plant_step(&self.plant, 1.0 / FW_FAST_HZ, self.duty, self.gate);
  plant_sample(&self.plant, &self.sample);
}

static void step_world(void) {
  if (self.has_host && mailbox->outside != 0u) {
    ask_outside();
  } else {
    step_inside();
  }
  if (self.has_host) {
    self.sample.fresh &= ~mailbox->silent;
    self.sample.estop = self.sample.estop || mailbox->estop != 0u;
  }
}

static void report(void) {
  mailbox->fast_ticks = self.tick;
  mailbox->dropped_ticks = self.pace.dropped;
  mailbox->fault_us = fw_safety()->fault_us;
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    mailbox->gate[i] = (uint32_t)self.gate[i];
    mailbox->duty[i] = self.duty[i];
  }
}

static void fast_interrupt(void) {
  clock_acknowledge();
  const uint32_t dropped = self.pace.dropped;
  self.due += clock_due(&self.pace, clock_us());
  self.tick += self.pace.dropped - dropped; /* device time goes with the counter even then */
  for (; self.due > 0u && !(self.main_due && self.ahead >= AHEAD_OF_MAIN); self.due--) {
    step_world();
    self.tick++;
    self.ahead++;
    self.in_fast = true;
    const enum hal_gate before = self.gate[0];
    const bool main_due = fw_fast_isr();
    if (before == HAL_GATE_DRIVE && self.gate[0] != HAL_GATE_DRIVE) {
      mailbox->off_us = self.tick * FW_FAST_US;
    }
    self.in_fast = false;
    if (main_due) {
      self.ahead = self.main_due ? self.ahead : 0u;
      self.main_due = true;
      cortex_pend_main();
    }
  }
  report();
}

static void main_interrupt(void) {
  self.main_due = false;
  /* Fast periods come in bursts here, unlike on hardware: none between a frame's arrival and its effect, least of ESTOP's. */
  const uint32_t saved = cortex_irq_save();
  fw_link_poll();
  cortex_irq_restore(saved);
  fw_main_isr();
  if (self.due > 0u) {
    IRQ_PEND(IRQ_TIMER0); /* the rest of what is due */
  }
}

/* What arrives is taken at once, after the fast periods that are due by then. */
static void ethernet_interrupt(void) {
  ethernet_isr();
  IRQ_PEND(IRQ_TIMER0);
  cortex_pend_main();
}

static void uart_interrupt(void) {
  if (uart_isr()) { /* an interrupt a byte: only the end of a frame is worth more */
    IRQ_PEND(IRQ_TIMER0);
    cortex_pend_main();
  }
}

static void stop(void) {
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    mailbox->gate[i] = HAL_GATE_OFF;
  }
  mailbox->fault = FAULT_INTERNAL;
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static const vector vectors[16 + MPS2_IRQS] = {
    CORTEX_VECTORS(linker_stack_top, stop, stop, main_interrupt),
    [16 + IRQ_UART0_RX] = uart_interrupt,
    [16 + IRQ_TIMER0] = fast_interrupt,
    [16 + IRQ_ETHERNET] = ethernet_interrupt,
};

int main(void) {
  const uint32_t wish_hz = mailbox->magic == MAILBOX_MAGIC ? mailbox->interrupt_hz : 0u;
  static struct app slower;
  hal_init();
  slower = app;
  if (!hal_link_is_datagram()) {
    slower.link_divider = UART_DIVIDER;
  }
  fw_init(&slower);
  cortex_pendsv_priority(PRIORITY_MAIN);
  if (!hal_link_is_datagram()) {
    uart_init();
  } else if (!ethernet_init()) {
    stop();
  }
  const struct clock_pace pace = {.period_us = FW_FAST_US, .most = CATCH_UP_MOST, .next_us = FW_FAST_US};
  self.pace = pace;
  clock_init(wish_hz != 0u ? wish_hz : INTERRUPT_HZ);
  for (;;) {
    hal_idle();
  }
}
