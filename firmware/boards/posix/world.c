#define _GNU_SOURCE
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fw.h"
#include "link.h"

static const char help[] =
    "set NAME VALUE | get NAME | freeze CHANNEL on|off | silence CHANNEL on|off | jump CHANNEL COUNTS | estop on|off | "
    "driver on|off | lose PROBABILITY | corrupt PROBABILITY | stall SECONDS | status | quit";

bool world_init(struct world *world, const char *app_name, uint64_t seed) {
  memset(world, 0, sizeof *world);
  if (plant_init(&world->plant, app_name, seed) != 0) {
    return false;
  }
  plant_sample(&world->plant, &world->sample);
  return true;
}

void world_step(struct world *world) {
  const struct hal_sample before = world->sample;
  plant_step(&world->plant, 1.0 / FW_FAST_HZ, world->duty, world->gate);
  plant_sample(&world->plant, &world->sample);
  for (unsigned i = 0; i < FW_CHANNELS_MAX; i++) {
    world->sample.raw[i] = (world->frozen >> i & 1u) ? before.raw[i] : world->sample.raw[i] + world->jump[i];
  }
  world->sample.fresh &= ~world->silent;
  world->sample.estop = world->sample.estop || world->estop;
  world->sample.driver_fault = world->sample.driver_fault || world->driver_fault;
}

static bool parse_switch(const char *word, bool *on) {
  *on = strcmp(word, "on") == 0;
  return *on || strcmp(word, "off") == 0;
}

static bool parse_number(const char *word, double *value) {
  char *end;
  *value = strtod(word, &end);
  return end != word && *end == '\0' && isfinite(*value);
}

static bool parse_channel(const char *word, unsigned *channel) {
  double value;
  if (!parse_number(word, &value) || value < 0.0 || value >= FW_CHANNELS_MAX) {
    return false;
  }
  *channel = (unsigned)value;
  return true;
}

/* Commands on one sensor channel: NAME CHANNEL VALUE. */
static bool sensor_command(struct world *world, const char *name, const char *where, const char *what) {
  unsigned channel;
  bool on;
  double value;
  if (!parse_channel(where, &channel)) {
    return false;
  }
  if (strcmp(name, "jump") == 0 && parse_number(what, &value) && fabs(value) < 1e9) {
    world->jump[channel] = (int32_t)value;
    return true;
  }
  if (!parse_switch(what, &on)) {
    return false;
  }
  uint32_t *mask = strcmp(name, "freeze") == 0 ? &world->frozen : strcmp(name, "silence") == 0 ? &world->silent : NULL;
  if (mask == NULL) {
    return false;
  }
  *mask = on ? *mask | 1u << channel : *mask & ~(1u << channel);
  return true;
}

/* Commands with one value: NAME VALUE. */
static bool simple_command(struct world *world, const char *name, const char *what) {
  static struct link_harm harm;
  double value;
  if (strcmp(name, "estop") == 0) {
    return parse_switch(what, &world->estop);
  }
  if (strcmp(name, "driver") == 0) {
    return parse_switch(what, &world->driver_fault);
  }
  if (!parse_number(what, &value) || value < 0.0) {
    return false;
  }
  if (strcmp(name, "stall") == 0 && value <= 60.0) {
    world->stall_s = value;
  } else if (strcmp(name, "lose") == 0 && value <= 1.0) {
    harm.lose = value;
    link_set_harm(harm);
  } else if (strcmp(name, "corrupt") == 0 && value <= 1.0) {
    harm.corrupt = value;
    link_set_harm(harm);
  } else {
    return false;
  }
  return true;
}

static void status(const struct world *world, char *answer, size_t room) {
  struct fw_snapshot now;
  fw_read(&now);
  const struct safety *safety = fw_safety();
  const struct fw_counters *counters = fw_counters();
  (void)snprintf(answer, room,
                 "status t_us=%u state=%u fault=%d watchdog_trips=%u gate0=%d q0=%.6g qd0=%.6g force0=%.6g "
                 "fast_ticks=%u fast_late=%u main_overruns=%u fault_us=%u off_us=%u",
                 now.t_us, safety->state, (int)safety->latched.fault, safety->watchdog_trips, (int)world->gate[0],
                 (double)now.position[0], (double)now.velocity[0], (double)now.force[0], counters->fast_ticks,
                 counters->fast_late, counters->main_overruns, safety->fault_us, world->off_us);
}

bool world_command(struct world *world, const char *text, char *answer, size_t room) {
  char name[16] = "", first[64] = "", second[64] = "", excess[2] = "";
  const int words = sscanf(text, "%15s %63s %63s %1s", name, first, second, excess);
  double value;
  answer[0] = '\0';
  if (words <= 0) {
    return true;
  }
  if (words == 1 && strcmp(name, "help") == 0) {
    (void)snprintf(answer, room, "%s", help);
    return true;
  }
  if (words == 1 && strcmp(name, "quit") == 0) {
    world->quit = true;
    return true;
  }
  if (words == 1 && strcmp(name, "status") == 0) {
    status(world, answer, room);
    return true;
  }
  if (words == 2 && strcmp(name, "get") == 0) {
    (void)snprintf(answer, room, "%s %.9g", first, plant_get(&world->plant, first));
    return true;
  }
  if (words == 3 && strcmp(name, "set") == 0 && parse_number(second, &value) &&
      plant_set(&world->plant, first, value) == 0) {
    return true;
  }
  if ((words == 2 && simple_command(world, name, first)) ||
      (words == 3 && sensor_command(world, name, first, second))) {
    return true;
  }
  (void)snprintf(answer, room, "not understood: %.80s; commands: %s", text, help);
  return false;
}
