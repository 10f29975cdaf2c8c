/* As much of <math.h> as the plants use, for an emulated board without a C library, in single precision: the build makes
 * a float of every double there (see SINGLE in nodes/firmware/build.py). */
#ifndef ARM_MATH_H
#define ARM_MATH_H

#define NAN __builtin_nanf("")

float fmin(float a, float b);
float fmax(float a, float b);
float fabs(float x);
float floor(float x);
float sqrt(float x);
float copysign(float size, float sign);
float sin(float x);
float cos(float x);
float atan2(float y, float x);
float exp(float x);

#endif
