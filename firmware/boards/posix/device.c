/* The firmware as a process: the same core as on a microcontroller, a simulated world behind it, real time in front.
 *
 * One thread. It sleeps until an absolute deadline (each millisecond, or each fast period with --wake-fast) or until
 * the link has something, then runs every fast period that is due. Device time stands still between two fast periods
 * except for the fraction that has really passed, so the core never sees time go back, and a late wake-up never looks
 * like a late fast loop: ten periods in a row are ten periods. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fw.h"
#include "link.h"
#include "options.h"
#include "truth.h"
#include "world.h"

#define NS_PER_S 1000000000LL
#define NS_PER_FAST (NS_PER_S / FW_FAST_HZ)
#define FAST_PER_MS (FW_FAST_HZ / 1000u)
/* After a longer pause of the whole process (a suspended machine), device time goes on from where it stood. */
#define CATCH_UP_NS (2LL * NS_PER_S)

static struct {
  struct options options;
  struct world world;
  FILE *log;
  long long origin_ns;   /* monotonic time of tick 0 */
  uint64_t tick;         /* the last fast period that was run */
  bool in_fast;
  unsigned next_command;
  uint64_t late_max_ns;
  uint64_t skipped;
  char line[256];        /* of standard input */
  size_t line_length;
  bool input_open;
  bool input_is_pipe;
} self;

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
  (void)number;
  stopped = 1;
}

static long long now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- the board, as the core sees it ---- */

void hal_init(void) {}

uint32_t hal_time_us(void) {
  const uint64_t tick_us = self.tick * FW_FAST_US;
  if (self.in_fast) {
    return (uint32_t)tick_us;
  }
  const long long passed_us = (now_ns() - self.origin_ns) / 1000 - (long long)tick_us;
  const long long fraction_us = passed_us < 0 ? 0 : passed_us >= FW_FAST_US ? FW_FAST_US - 1 : passed_us;
  return (uint32_t)(tick_us + (uint64_t)fraction_us);
}

void hal_sample(struct hal_sample *sample) { *sample = self.world.sample; }

void hal_pwm_set(unsigned actuator, float duty) { self.world.duty[actuator] = duty; }

void hal_gate(unsigned actuator, enum hal_gate gate) {
  if (actuator == 0u && self.world.gate[0] == HAL_GATE_DRIVE && gate != HAL_GATE_DRIVE) {
    self.world.off_us = (uint32_t)(self.tick * FW_FAST_US);
  }
  self.world.gate[actuator] = gate;
}

size_t hal_link_read(uint8_t *bytes, size_t size) { return link_read(bytes, size); }

bool hal_link_write(const uint8_t *bytes, size_t size) { return link_write(bytes, size); }

bool hal_link_is_datagram(void) { return link_is_datagram(); }

bool hal_calibration(struct calibration *calibration) {
  plant_calibration(&self.world.plant, calibration);
  return !self.options.uncalibrated;
}

uint32_t hal_watchdog_us(void) { return self.options.watchdog_us; }

uint32_t hal_irq_save(void) { return 0u; } /* one thread: nothing interrupts */

void hal_irq_restore(uint32_t saved) { (void)saved; }

void hal_wdt_kick(void) {}

void hal_idle(void) {}

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  static const uint8_t posix_uid[FW_UID_BYTES] = {'p', 'o', 's', 'i', 'x'};
  memcpy(uid, posix_uid, FW_UID_BYTES);
  uid[FW_UID_BYTES - 1u] = self.options.uid;
}

void hal_fault(unsigned number) { (void)number; } /* log_changes() tells it, with the time */

/* ---- the loop ---- */

/* Write a line when the state, the fault or a power stage has changed; exact to the fast period. */
static void log_changes(void) {
  static int before[2 + FW_ACTUATORS_MAX] = {-1};
  const struct safety *safety = fw_safety();
  int now[2 + FW_ACTUATORS_MAX] = {safety->state, (int)safety->latched.fault};
  for (unsigned i = 0; i < FW_ACTUATORS_MAX; i++) {
    now[2u + i] = (int)self.world.gate[i];
  }
  if (memcmp(now, before, sizeof now) != 0) {
    memcpy(before, now, sizeof now);
    fprintf(self.log, "t_us=%u state=%d fault=%d gate0=%d gate1=%d setpoint_us=%u fault_us=%u\n",
            (unsigned)(self.tick * FW_FAST_US), now[0], now[1], now[2], now[3], safety->setpoint_us, safety->fault_us);
    fflush(self.log);
  }
}

static void run_command(const char *text) {
  char answer[512];
  const bool good = world_command(&self.world, text, answer, sizeof answer);
  if (answer[0] != '\0') {
    fprintf(good ? stdout : stderr, "%s\n", answer);
    fflush(good ? stdout : stderr);
  }
}

static void run_timed_commands(void) {
  const double now_s = (double)self.tick / FW_FAST_HZ;
  while (self.next_command < self.options.command_count &&
         self.options.commands[self.next_command].at_s <= now_s) {
    run_command(self.options.commands[self.next_command++].text);
  }
}

static void fast_period(void) {
  run_timed_commands();
  world_step(&self.world);
  self.tick++;
  self.in_fast = true;
  const bool main_due = fw_fast_isr();
  self.in_fast = false;
  if (self.log != NULL) {
    log_changes();
  }
  if (main_due) {
    fw_main_isr();
    truth_write(&self.world.plant, self.origin_ns + (long long)self.tick * NS_PER_FAST);
  }
}

static void catch_up(void) {
  const long long now = now_ns();
  long long behind_ns = now - (self.origin_ns + (long long)(self.tick + 1u) * NS_PER_FAST);
  if (behind_ns > CATCH_UP_NS) {
    const long long skip = behind_ns / NS_PER_FAST;
    self.origin_ns += skip * NS_PER_FAST;
    self.skipped += (uint64_t)skip;
    behind_ns -= skip * NS_PER_FAST;
  }
  if (behind_ns > (long long)self.late_max_ns) {
    self.late_max_ns = (uint64_t)behind_ns;
  }
  for (; behind_ns >= 0; behind_ns -= NS_PER_FAST) {
    fast_period();
  }
}

/* Lines on standard input are commands. The end of a pipe is the end of who started us, and then ours. */
static void read_commands(void) {
  const ssize_t n = read(STDIN_FILENO, self.line + self.line_length, sizeof self.line - 1u - self.line_length);
  if (n <= 0) {
    self.input_open = n < 0 && (errno == EINTR || errno == EAGAIN);
    stopped = !self.input_open && self.input_is_pipe;
    return;
  }
  self.line_length += (size_t)n;
  self.line[self.line_length] = '\0';
  char *start = self.line;
  for (char *end = strchr(start, '\n'); end != NULL; end = strchr(start, '\n')) {
    *end = '\0';
    run_command(start);
    start = end + 1;
  }
  self.line_length = (size_t)(self.line + self.line_length - start);
  memmove(self.line, start, self.line_length);
  if (self.line_length == sizeof self.line - 1u) {
    self.line_length = 0u; /* too long to be a command */
  }
}

static void sleep_until_due(void) {
  const uint64_t step = self.options.wake_fast ? 1u : FAST_PER_MS;
  const uint64_t wake_tick = (self.tick / step + 1u) * step;
  const long long left_ns = self.origin_ns + (long long)wake_tick * NS_PER_FAST - now_ns();
  if (left_ns <= 0) {
    return;
  }
  struct pollfd fds[2] = {{.fd = link_fd(), .events = POLLIN},
                          {.fd = self.input_open ? STDIN_FILENO : -1, .events = POLLIN}};
  const struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
  if (ppoll(fds, 2, &left, NULL) <= 0) {
    return;
  }
  if (fds[0].revents & POLLIN) {
    catch_up(); /* device time first: the set-point belongs to now */
    fw_link_poll();
  }
  if (fds[1].revents & (POLLIN | POLLHUP)) {
    read_commands();
  }
}

static void stall(void) {
  const struct timespec pause = {.tv_sec = (time_t)self.world.stall_s,
                                 .tv_nsec = (long)((self.world.stall_s - (double)(time_t)self.world.stall_s) * 1e9)};
  self.world.stall_s = 0.0;
  (void)nanosleep(&pause, NULL);
}

static void ask_for_priority(void) {
  const struct sched_param priority = {.sched_priority = 70};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    fprintf(stderr, "device: no real-time priority: %s\n", strerror(errno));
  }
}

static bool start(int argc, char **argv, int *code) {
  *code = options_parse(&self.options, argc, argv);
  if (*code >= 0) {
    return false;
  }
  *code = 1;
  if (self.options.log_path != NULL && (self.log = fopen(self.options.log_path, "ae")) == NULL) {
    fprintf(stderr, "device: %s cannot be written: %s\n", self.options.log_path, strerror(errno));
    return false;
  }
  if (!world_init(&self.world, app.name, self.options.seed)) {
    fprintf(stderr, "device: there is no plant for %s\n", app.name);
    return false;
  }
  if (self.options.truth != NULL && !truth_open(&self.world.plant, self.options.truth)) {
    return false;
  }
  return link_open(&self.options.link);
}

int main(int argc, char **argv) {
  int code;
  if (!start(argc, argv, &code)) {
    return code;
  }
  const struct sigaction action = {.sa_handler = on_signal};
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  if (self.options.realtime) {
    ask_for_priority();
  }
  struct stat input;
  self.input_open = true;
  self.input_is_pipe = fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode);
  printf("device %s %s %s\n", app.name, link_is_datagram() ? "udp" : "pty", link_address());
  fflush(stdout);

  hal_init();
  self.origin_ns = now_ns();
  fw_init(&app);
  while (!stopped && !self.world.quit &&
         (self.options.seconds <= 0.0 || (double)self.tick / FW_FAST_HZ < self.options.seconds)) {
    sleep_until_due();
    catch_up();
    if (self.world.stall_s > 0.0) {
      stall();
    }
  }
  fprintf(stderr, "device: ended after %.3f s, latest wake-up %.3f ms, skipped %.3f ms\n",
          (double)self.tick / FW_FAST_HZ, (double)self.late_max_ns * 1e-6,
          (double)self.skipped * 1e3 / FW_FAST_HZ);
  link_close();
  truth_close();
  return 0;
}
