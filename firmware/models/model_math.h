/* The functions of <math.h> by the names that generated C uses, in single precision: see single.h. */
#ifndef MODEL_MATH_H
#define MODEL_MATH_H

#include "single.h"

/* The double branch of generated C is never taken here, but has to compile. */
#define sinf model_sinf
#define cosf model_cosf
#define sqrtf model_sqrtf
#define fabsf model_fabsf
#define atan2f model_atan2f
#define sin(x) ((double)model_sinf((float)(x)))
#define cos(x) ((double)model_cosf((float)(x)))
#define sqrt(x) ((double)model_sqrtf((float)(x)))
#define fabs(x) ((double)model_fabsf((float)(x)))
#define atan2(y, x) ((double)model_atan2f((float)(y), (float)(x)))
#define isfinite(x) __builtin_isfinite(x)

#endif
