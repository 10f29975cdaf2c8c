/* Sines and their like in single precision, without a library: for generated models, where the simulator and the device
 * then give the same numbers, and for the plants on an emulated board. Errors are below 1.5e-7 (arc tangent: 3e-7), and
 * angles beyond +-8192 rad give NaN, which the models refuse.
 *
 * The polynomials are least-maximum fits over +-pi/4 (sine, cosine) and +-tan(pi/8) (arc tangent). */
#ifndef SINGLE_H
#define SINGLE_H

#define MODEL_NAN __builtin_nanf("")
#define MODEL_PI 3.14159265f
#define MODEL_ANGLE_MOST 8192.0f

static inline float model_fabsf(float x) {
  return x < 0.0f ? -x : x;
}

static inline float model_sqrtf(float x) {
  return __builtin_sqrtf(x); /* one instruction on the Cortex-M4F; -fno-math-errno keeps it so */
}

/* Return x minus the nearest multiple of pi/2, whose number modulo 4 goes to *quarter. */
static inline float model_reduce(float x, int *quarter) {
  const int k = (int)(x * 0.636619772f + (x < 0.0f ? -0.5f : 0.5f));
  const float n = (float)k;
  *quarter = k & 3;
  /* pi/2 in three parts; n times the first two is exact. */
  return ((x - n * 1.5703125f) - n * 4.83751297e-4f) - n * 7.54979013e-8f;
}

static inline float model_sine_of(float r) {
  const float z = r * r;
  return r + r * z * (-1.66666501e-1f + z * (8.33191943e-3f + z * -1.94886667e-4f));
}

static inline float model_cosine_of(float r) {
  const float z = r * r;
  return 1.0f - 0.5f * z + z * z * (4.16666457e-2f + z * (-1.38873063e-3f + z * 2.44312407e-5f));
}

/* Return the sine of x plus so many quarter turns. Not inlined: a model has 70 of them, and flash is not free. */
__attribute__((noinline)) static float model_sine(float x, int turns) {
  int quarter;
  float r, size;
  if (!(model_fabsf(x) < MODEL_ANGLE_MOST)) {
    return MODEL_NAN;
  }
  r = model_reduce(x, &quarter);
  quarter = (quarter + turns) & 3;
  size = (quarter & 1) != 0 ? model_cosine_of(r) : model_sine_of(r);
  return (quarter & 2) != 0 ? -size : size;
}

static inline float model_sinf(float x) {
  return model_sine(x, 0);
}

static inline float model_cosf(float x) {
  return model_sine(x, 1);
}

/* Return the arc tangent of x between 0 and 1. */
static inline float model_arc(float x) {
  const int is_far = x > 0.414213562f; /* tan(pi/8) */
  const float t = is_far ? (x - 1.0f) / (x + 1.0f) : x;
  const float z = t * t;
  const float arc = t + t * z * (-3.33327140e-1f + z * (1.99703570e-1f + z * (-1.38086090e-1f + z * 7.85220300e-2f)));
  return is_far ? arc + 0.25f * MODEL_PI : arc;
}

static inline float model_atan2f(float y, float x) {
  const float wide = model_fabsf(x), high = model_fabsf(y);
  const float most = wide > high ? wide : high;
  float arc;
  if (!(wide + high > 0.0f)) {
    return wide + high + 0.0f; /* 0 at the origin, NaN stays NaN */
  }
  arc = model_arc((wide > high ? high : wide) / most);
  arc = high > wide ? 0.5f * MODEL_PI - arc : arc;
  arc = x < 0.0f ? MODEL_PI - arc : arc;
  return y < 0.0f ? -arc : arc;
}

#endif
