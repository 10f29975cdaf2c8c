/* The four functions that a compiler may call by itself, without a C library to take them from, and strcmp. Copies go by words where
 * both sides are aligned: the fast loop copies structures. */
#include "include/string.h"

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  uint8_t *out = to;
  const uint8_t *in = from;
  if ((((uintptr_t)out | (uintptr_t)in) & 3u) == 0u) {
    for (; n >= 4u; n -= 4u, out += 4, in += 4) {
      *(uint32_t *)(void *)out = *(const uint32_t *)(const void *)in;
    }
  }
  while (n-- > 0u) {
    *out++ = *in++;
  }
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  uint8_t *out = to;
  const uint8_t *in = from;
  if (out > in) {
    while (n-- > 0u) {
      out[n] = in[n];
    }
  } else {
    while (n-- > 0u) {
      *out++ = *in++;
    }
  }
  return to;
}

void *memset(void *to, int value, size_t n) {
  uint8_t *out = to;
  while (n-- > 0u) {
    *out++ = (uint8_t)value;
  }
  return to;
}

int memcmp(const void *a, const void *b, size_t n) {
  const uint8_t *x = a;
  const uint8_t *y = b;
  for (; n > 0u; n--, x++, y++) {
    if (*x != *y) {
      return *x - *y;
    }
  }
  return 0;
}

int strcmp(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  return (unsigned char)*a - (unsigned char)*b;
}
