/* The truth of the simulated plant, written to a file each millisecond beside what the sensors say of it. */
#ifndef POSIX_TRUTH_H
#define POSIX_TRUTH_H

#include <stdbool.h>

#include "plant.h"

/* Begin: `text` is FILE=NAME,NAME,... with numbers of the plant. False, after a complaint, if that can't be done. */
bool truth_open(const struct plant *plant, char *text);

/* Write one row of doubles: the time (s since 1970) that belongs to this monotonic time, then the numbers. */
void truth_write(const struct plant *plant, long long monotonic_ns);

void truth_close(void);

#endif
