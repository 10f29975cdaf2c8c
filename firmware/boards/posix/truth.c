#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRUTH_MAX 16

static FILE *file;
static const char *names[TRUTH_MAX];
static unsigned count;
static long long real_minus_monotonic_ns;

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

bool truth_open(const struct plant *plant, char *text) {
  char *word = strchr(text, '=');
  *word++ = '\0';
  for (char *rest = NULL; (word = strtok_r(word, ",", &rest)) != NULL; word = NULL) {
    if (count == TRUTH_MAX || isnan(plant_get(plant, word))) {
      fprintf(stderr, "device: --truth: the plant has no number '%s', or there are more than %d\n", word, TRUTH_MAX);
      return false;
    }
    names[count++] = word;
  }
  file = fopen(text, "wbe");
  if (file == NULL) {
    fprintf(stderr, "device: %s cannot be written: %s\n", text, strerror(errno));
    return false;
  }
  real_minus_monotonic_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  return true;
}

void truth_write(const struct plant *plant, long long monotonic_ns) {
  double row[1 + TRUTH_MAX];
  if (file == NULL) {
    return;
  }
  row[0] = (double)(monotonic_ns + real_minus_monotonic_ns) * 1e-9;
  for (unsigned i = 0; i < count; i++) {
    row[1u + i] = plant_get(plant, names[i]);
  }
  (void)fwrite(row, sizeof row[0], 1u + count, file);
}

void truth_close(void) {
  if (file != NULL) {
    (void)fclose(file);
    file = NULL;
  }
}
