/* See fwmath.h. */
#include "fwmath.h"

float fw_sqrt(float x) {
  float root = 1.0f;
  int step;
  if (!(x > 0.0f) || !fw_is_finite(x)) {
    return 0.0f;
  }
  /* Powers of four first, so that Newton starts within a factor of two for any float. */
  while (root * root < x && root < 1.0e19f) {
    root *= 2.0f;
  }
  while (root * root > x * 4.0f) {
    root *= 0.5f;
  }
  for (step = 0; step < 6; step++) {
    root = 0.5f * (root + x / root);
  }
  return root;
}
