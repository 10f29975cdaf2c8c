/* The functions of <math.h> that the plants use. Only emulated boards link them: a device has no plant inside. */
#include "include/math.h"

#include <stdint.h>

#include "../../models/single.h"

float fmin(float a, float b) { return a < b ? a : b; }

float fmax(float a, float b) { return a > b ? a : b; }

float fabs(float x) { return x < 0.0f ? -x : x; }

float floor(float x) {
  if (!(fabs(x) < 2147483648.0f)) {
    return x; /* the plants' counts are smaller; what is not a number stays so */
  }
  const float whole = (float)(int32_t)x;
  return whole > x ? whole - 1.0f : whole;
}

float sqrt(float x) {
  __asm("vsqrt.f32 %0, %0" : "+t"(x));
  return x;
}

float copysign(float size, float sign) { return (sign < 0.0f) == (size < 0.0f) ? size : -size; }

float sin(float x) { return model_sinf(x); }

float cos(float x) { return model_cosf(x); }

float atan2(float y, float x) { return model_atan2f(y, x); }
