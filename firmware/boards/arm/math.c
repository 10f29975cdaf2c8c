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

/* e^x as 2^k e^r with |r| <= ln(2)/2; the series to r^6 then errs by less than 3e-7 of the result. */
float exp(float x) {
  union {
    uint32_t bits;
    float value;
  } power;
  if (!(x > -87.0f)) {
    return x == x ? 0.0f : x; /* below the smallest normal number; what is not a number stays so */
  }
  const float bounded = fmin(x, 88.0f);
  const float k = floor(bounded * 1.44269504f + 0.5f);
  const float r = (bounded - k * 0.693359375f) + k * 2.12194440e-4f;
  power.bits = (uint32_t)((int32_t)k + 127) << 23;
  return power.value * (1.0f + r * (1.0f + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r / 720))))));
}
