#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safety.h"

static const char help[] =
    "The firmware as a process, with a simulated device behind it.\n\n"
    "  --pty [NAME]        serve on a pseudo terminal; NAME becomes a symbolic link to it (default: without a name)\n"
    "  --udp PORT          serve on 127.0.0.1:PORT instead; 0 takes any free port\n"
    "  --watchdog-ms MS    set-point time-out, 10 (as on hardware) to 500 (for machines shared with others)\n"
    "  --seed N            of everything random (default 1)\n"
    "  --seconds S         end after this time\n"
    "  --do COMMAND        carry out a command at the start; `--do 'help'` lists them\n"
    "  --at S:COMMAND      carry out a command after S seconds; more are read from standard input, one a line;\n"
    "                      when that is a pipe, its end is the end of the device\n"
    "  --log FILE          append a line each time that the state, the fault or a power stage changes\n"
    "  --truth FILE=A,B    write numbers of the plant (doubles: s since 1970, A, B, ...) to a file each millisecond\n"
    "  --uid N             last byte of the device's unique number (default 0)\n"
    "  --uncalibrated      start without a stored calibration\n"
    "  --wake-fast         wake 10000 times a second, not 1000: finer in time, costs more\n"
    "  --realtime          real-time priority and locked memory, where permitted\n";

enum option_value {
  OPTION_PTY = 256,
  OPTION_UDP,
  OPTION_WATCHDOG,
  OPTION_SEED,
  OPTION_SECONDS,
  OPTION_DO,
  OPTION_AT,
  OPTION_LOG,
  OPTION_TRUTH,
  OPTION_UID,
  OPTION_UNCALIBRATED,
  OPTION_WAKE_FAST,
  OPTION_REALTIME,
  OPTION_HELP
};

static const struct known_option {
  const char *name;
  int argument;
  int value;
} names[] = {
    {"pty", optional_argument, OPTION_PTY},
    {"udp", required_argument, OPTION_UDP},
    {"watchdog-ms", required_argument, OPTION_WATCHDOG},
    {"seed", required_argument, OPTION_SEED},
    {"seconds", required_argument, OPTION_SECONDS},
    {"do", required_argument, OPTION_DO},
    {"at", required_argument, OPTION_AT},
    {"log", required_argument, OPTION_LOG},
    {"truth", required_argument, OPTION_TRUTH},
    {"uid", required_argument, OPTION_UID},
    {"uncalibrated", no_argument, OPTION_UNCALIBRATED},
    {"wake-fast", no_argument, OPTION_WAKE_FAST},
    {"realtime", no_argument, OPTION_REALTIME},
    {"help", no_argument, OPTION_HELP},
};

#define NAMES (sizeof names / sizeof names[0])

static bool number(const char *text, double low, double high, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*value) && *value >= low && *value <= high;
}

static bool keep_command(struct options *options, double at_s, const char *text) {
  if (options->command_count == OPTIONS_COMMANDS_MAX) {
    return false;
  }
  options->commands[options->command_count].at_s = at_s;
  options->commands[options->command_count].text = text;
  options->command_count++;
  return true;
}

static bool timed(struct options *options, char *text) {
  char *colon = strchr(text, ':');
  double at_s;
  if (colon == NULL) {
    return false;
  }
  *colon = '\0';
  return number(text, 0.0, 1e6, &at_s) && keep_command(options, at_s, colon + 1);
}

/* Take one option; false: its value makes no sense. */
static bool take(struct options *options, int option, char *value) {
  double x = 0.0;
  bool good = true;
  switch (option) {
    case OPTION_PTY:
      options->link.is_udp = false;
      options->link.name = value;
      break;
    case OPTION_UDP:
      good = number(value, 0.0, 65535.0, &x);
      options->link.is_udp = true;
      options->link.port = (uint16_t)x;
      break;
    case OPTION_WATCHDOG:
      good = number(value, SAFETY_WATCHDOG_US / 1000.0, SAFETY_WATCHDOG_MAX_US / 1000.0, &x);
      options->watchdog_us = (uint32_t)(x * 1000.0);
      break;
    case OPTION_SEED:
      good = number(value, 0.0, 9007199254740992.0, &x);
      options->seed = (uint64_t)x;
      options->link.seed = (uint32_t)(options->seed & 0xFFFFFFFFu);
      break;
    case OPTION_SECONDS:
      good = number(value, 0.0, 1e6, &options->seconds);
      break;
    case OPTION_DO:
      good = keep_command(options, 0.0, value);
      break;
    case OPTION_AT:
      good = timed(options, value);
      break;
    case OPTION_LOG:
      options->log_path = value;
      break;
    case OPTION_TRUTH:
      good = strchr(value, '=') != NULL;
      options->truth = value;
      break;
    case OPTION_UID:
      good = number(value, 0.0, 255.0, &x);
      options->uid = (uint8_t)x;
      break;
    case OPTION_UNCALIBRATED:
      options->uncalibrated = true;
      break;
    case OPTION_WAKE_FAST:
      options->wake_fast = true;
      break;
    case OPTION_REALTIME:
      options->realtime = true;
      break;
    default:
      good = false;
      break;
  }
  return good;
}

int options_parse(struct options *options, int argc, char **argv) {
  struct option table[NAMES + 1u];
  memset(table, 0, sizeof table);
  for (size_t i = 0; i < NAMES; i++) {
    table[i].name = names[i].name;
    table[i].has_arg = names[i].argument;
    table[i].val = names[i].value;
  }
  const struct options defaults = {.watchdog_us = SAFETY_WATCHDOG_US, .seed = 1u, .link = {.seed = 1u}};
  *options = defaults;
  for (;;) {
    int index = 0;
    const int option = getopt_long(argc, argv, "", table, &index);
    if (option == -1) {
      break;
    }
    if (option == OPTION_HELP) {
      fputs(help, stdout);
      return 0;
    }
    if (option == '?') {
      return 2; /* getopt has complained */
    }
    /* `--pty NAME` as well as `--pty=NAME`. */
    char *value = optarg;
    if (option == OPTION_PTY && value == NULL && optind < argc && argv[optind][0] != '-') {
      value = argv[optind++];
    }
    if (!take(options, option, value)) {
      fprintf(stderr, "device: --%s does not take '%s'; see --help\n", table[index].name, value ? value : "");
      return 2;
    }
  }
  if (optind < argc) {
    fprintf(stderr, "device: '%s' is no option; see --help\n", argv[optind]);
    return 2;
  }
  return -1;
}
