/* As much of <string.h> as the plants use, for an emulated board without a C library: see ../memory.c. */
#ifndef ARM_STRING_H
#define ARM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);

#endif
