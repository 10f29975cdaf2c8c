/* The little mathematics and memory handling that the core needs: it is linked without a C library. */
#ifndef FWMATH_H
#define FWMATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Infinities and NaN have all exponent bits set. Bits instead of comparisons: -ffast-math could not break it. */
static inline bool fw_is_finite(float x) {
  union {
    float number;
    uint32_t bits;
  } both;
  both.number = x;
  return (both.bits & 0x7F800000u) != 0x7F800000u;
}

static inline float fw_abs(float x) {
  return x < 0.0f ? -x : x;
}

static inline float fw_clamp(float x, float low, float high) {
  return x < low ? low : (x > high ? high : x);
}

static inline float fw_max(float a, float b) {
  return a > b ? a : b;
}

static inline float fw_min(float a, float b) {
  return a < b ? a : b;
}

/* Square root of a finite x >= 0 (0 otherwise), good to one unit in the last place or so. For start-up, not the fast loop. */
float fw_sqrt(float x);

#endif
