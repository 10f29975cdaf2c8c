/* The plant behind the emulated board, as a process of the host: it maps the board's shared memory, and for every fast
 * period that the board asks for it moves the plant by 100 us under the duties and hands the sensors' counts over.
 *
 *   plant_host APP FILE SEED     prints "plant APP" when it is ready; lines on standard input: set NAME VALUE | get NAME
 *
 * The board waits for each answer, so the two stay in step whatever the machine does. Between two bursts of fast periods
 * this process sleeps; it ends with its standard input. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "mailbox.h"
#include "plant.h"

#define SPINS 3000u       /* polls, some 20 us: the next period of a burst comes within that */
#define NAP_NS 40000L
#define NAPS_PER_LOOK 16u /* standard input is looked at each millisecond or two */

static volatile struct mailbox *mailbox;
static struct plant plant;

static void answer(uint32_t request) {
  struct hal_sample sample;
  float duty[FW_ACTUATORS_MAX];
  enum hal_gate gate[FW_ACTUATORS_MAX];
  unsigned i;
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    duty[i] = mailbox->duty[i];
    gate[i] = (enum hal_gate)mailbox->gate[i];
  }
  plant_step(&plant, 1.0 / FW_FAST_HZ, duty, gate);
  plant_sample(&plant, &sample);
  for (i = 0; i < FW_CHANNELS_MAX; i++) {
    mailbox->sample.raw[i] = sample.raw[i];
  }
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    mailbox->sample.current_raw[i] = sample.current_raw[i];
  }
  mailbox->sample.fresh = sample.fresh;
  mailbox->sample.supply_raw = sample.supply_raw;
  mailbox->sample.estop = sample.estop ? 1u : 0u;
  mailbox->sample.driver_fault = sample.driver_fault ? 1u : 0u;
  __atomic_store_n(&mailbox->answer, request, __ATOMIC_RELEASE);
}

static void run_command(const char *line) {
  char name[64], verb[8];
  double value;
  const int words = sscanf(line, "%7s %63s %lf", verb, name, &value);
  if (words == 3 && strcmp(verb, "set") == 0 && plant_set(&plant, name, value) == 0) {
    return;
  }
  if (words == 2 && strcmp(verb, "get") == 0) {
    printf("%s %.9g\n", name, plant_get(&plant, name));
  } else {
    fprintf(stderr, "not understood: %.80s; commands: set NAME VALUE | get NAME\n", line);
  }
  fflush(stdout);
}

/* Carry out the commands that wait; return 0 at the end of standard input. */
static int look_at_input(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  static char lines[512];
  static size_t length;
  while (poll(&input, 1, 0) > 0) {
    const ssize_t n = read(STDIN_FILENO, lines + length, sizeof lines - 1u - length);
    char *end;
    if (n <= 0) {
      return 0;
    }
    length += (size_t)n;
    lines[length] = '\0';
    while ((end = strchr(lines, '\n')) != NULL) {
      *end = '\0';
      run_command(lines);
      length -= (size_t)(end + 1 - lines);
      memmove(lines, end + 1, length + 1u);
    }
    length = length == sizeof lines - 1u ? 0u : length; /* too long to be a command */
  }
  return 1;
}

static void serve(void) {
  const struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NS};
  uint32_t done = mailbox->answer;
  unsigned idle = 0u, naps = 0u;
  for (;;) {
    const uint32_t request = __atomic_load_n(&mailbox->request, __ATOMIC_ACQUIRE);
    if (request != done) {
      answer(request);
      done = request;
      idle = 0u;
    } else if (++idle > SPINS) {
      (void)nanosleep(&nap, NULL);
      if (++naps % NAPS_PER_LOOK == 0u && !look_at_input()) {
        return;
      }
    }
  }
}

int main(int argc, char **argv) {
  int file;
  void *memory;
  if (argc != 4 || plant_init(&plant, argv[1], strtoull(argv[3], NULL, 10)) != 0) {
    fprintf(stderr, "plant_host: APP FILE SEED, with an application that has a plant\n");
    return 2;
  }
  file = open(argv[2], O_RDWR | O_CLOEXEC);
  memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *mailbox, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    perror("plant_host: the shared memory");
    return 1;
  }
  mailbox = memory;
  (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  printf("plant %s\n", argv[1]);
  fflush(stdout);
  serve();
  return 0;
}
