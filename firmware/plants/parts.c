/* See parts.h. */
#include "parts.h"

#include <math.h>

#define ADC_SUM 16
#define ADC_MAX 4095.0
#define ADC_V 3.3

double chance_uniform(struct chance *chance) {
  uint64_t x = chance->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  chance->state = x;
  return (double)((x * 2685821657736338717ULL) >> 11) * (1.0 / 9007199254740992.0);
}

double chance_normal(struct chance *chance) {
  const double sum = chance_uniform(chance) + chance_uniform(chance) + chance_uniform(chance) + chance_uniform(chance);
  return (sum - 2.0) * 1.7320508075688772;
}

double winding_step(struct winding *winding, double dt_s, double supply_V, double duty, enum hal_gate gate,
                    double velocity) {
  const double emf_V = winding->force_per_ampere * velocity;
  const double before_A = winding->current_A;
  const double step = dt_s / winding->inductance_H;
  double volt = 0.0;
  if (winding->broken > 0.0) {
    winding->current_A = 0.0;
    return 0.0;
  }
  if (gate == HAL_GATE_DRIVE) {
    volt = fmin(fmax(duty, -1.0), 1.0) * supply_V;
  } else if (gate == HAL_GATE_OFF) {
    /* The diodes put the supply against the current until it has run out; then only an EMF above it could flow. */
    volt = before_A > 0.0 ? -supply_V : (before_A < 0.0 ? supply_V : emf_V);
  }
  winding->current_A = (before_A + step * (volt - emf_V)) / (1.0 + step * winding->resistance_ohm);
  if (gate == HAL_GATE_OFF && winding->current_A * before_A <= 0.0) {
    winding->current_A = 0.0;
  }
  return winding->force_per_ampere * winding->current_A;
}

/* Position and velocity of a move from a to b that lasts `span`, with soft ends. */
static void soft_move(double t, double span, double a, double b, double *x, double *v) {
  const double s = t / span;
  *x = a + (b - a) * s * s * (3.0 - 2.0 * s);
  *v = (b - a) * 6.0 * s * (1.0 - s) / span;
}

static void profile(const struct hand *hand, double t, double *x, double *v) {
  const double down_s = hand->dip / hand->speed;
  const double up = t - down_s - hand->hold_s;
  *x = t < 0.0 ? 0.0 : fmin(hand->speed * t, hand->dip);
  *v = t > 0.0 && t < down_s ? hand->speed : 0.0;
  if (up > 0.0) {
    *x = fmax(hand->dip - hand->speed * up, 0.0);
    *v = up < down_s ? -hand->speed : 0.0;
  }
}

static void double_keystroke(const struct hand *hand, double t, double *x, double *v) {
  static const double ends_s[] = {0.00, 0.06, 0.12, 0.18, 0.24, 0.34, 0.40};
  static const double depth[] = {0.0, 1.0, 1.0, 0.4, 1.0, 1.0, 0.0};
  unsigned i;
  *x = 0.0;
  *v = 0.0;
  for (i = 0; i + 1 < sizeof ends_s / sizeof ends_s[0]; i++) {
    if (t >= ends_s[i] && t < ends_s[i + 1]) {
      soft_move(t - ends_s[i], ends_s[i + 1] - ends_s[i], depth[i] * hand->dip, depth[i + 1] * hand->dip, x, v);
    }
  }
}

/* hand->count strokes, each down from hand->low (the first from the top) and back there, the last one to the top. */
static void strokes(const struct hand *hand, double t, double *x, double *v) {
  const double whole_s = 2.0 * hand->move_s + hand->hold_s + hand->rest_s;
  const double n = floor(t / whole_s);
  const double at = t - n * whole_s;
  const double up = at - hand->move_s - hand->hold_s;
  *x = n < 0.0 || n >= hand->count ? 0.0 : hand->dip;
  *v = 0.0;
  if (n < 0.0 || n >= hand->count) {
    return;
  }
  if (at < hand->move_s) {
    soft_move(at, hand->move_s, n > 0.0 ? hand->low : 0.0, hand->dip, x, v);
  } else if (up > 0.0) {
    const double end = n + 1.0 < hand->count ? hand->low : 0.0;
    if (up < hand->move_s) {
      soft_move(up, hand->move_s, hand->dip, end, x, v);
    } else {
      *x = end;
    }
  }
}

/* What a pianist's finger does to a key: the force grows over rise_s, stays for hold_s, and lets go as it came. */
static double blows(const struct hand *hand, double t) {
  const double n = floor(t / hand->period_s);
  const double at = t - n * hand->period_s;
  const double grown = fmin(at / hand->rise_s, 1.0) - fmin(fmax(at - hand->rise_s - hand->hold_s, 0.0) / hand->rise_s, 1.0);
  return n < 0.0 || n >= hand->count ? 0.0 : hand->push * grown * grown * (3.0 - 2.0 * grown);
}

static void sine(const struct hand *hand, double t, double *x, double *v) {
  const double w = 2.0 * 3.14159265358979 * hand->rate_hz;
  const int on = t > 0.0 && t * hand->rate_hz < hand->count;
  *x = on ? 0.5 * hand->dip * (1.0 - cos(w * t)) : 0.0;
  *v = on ? 0.5 * hand->dip * w * sin(w * t) : 0.0;
}

double hand_step(struct hand *hand, double t_s, double x, double v) {
  const int mode = (int)hand->mode;
  const double t = t_s - hand->start_s;
  const int stiff = mode == HAND_PROFILE || mode == HAND_STROKES || mode == HAND_SINE;
  double target = hand->target;
  double target_v = 0.0;
  if (mode == HAND_PROFILE) {
    profile(hand, t, &target, &target_v);
  } else if (mode == HAND_DOUBLE) {
    double_keystroke(hand, t, &target, &target_v);
  } else if (mode == HAND_STROKES) {
    strokes(hand, t, &target, &target_v);
  } else if (mode == HAND_SINE) {
    sine(hand, t, &target, &target_v);
  }
  hand->force = (stiff ? hand->drive_stiffness : hand->stiffness) * (target - x)
                + (stiff ? hand->drive_damping : hand->damping) * (target_v - v);
  if (mode == HAND_FORCE) {
    hand->force = hand->push;
  } else if (mode == HAND_BLOWS) {
    hand->force = blows(hand, t);
    hand->force -= hand->force > 0.0 ? hand->damping * v : 0.0; /* a finger pushes less the faster the key gives way */
  } else if (mode == HAND_RELEASED) {
    hand->force = 0.0;
  }
  /* The stiff drive is fixed to the device; a finger is not. */
  if (hand->one_sided > 0.0 && !stiff && hand->force < 0.0) {
    hand->force = 0.0;
  }
  return hand->force;
}

void common_init(struct common *common, uint64_t seed) {
  unsigned i;
  common->chance.state = seed * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
  if (common->chance.state == 0) {
    common->chance.state = 1;
  }
  for (i = 0; i < 8; i++) {
    (void)chance_uniform(&common->chance);
  }
  common->adc_noise = 1.0;
  common->current_noise_A = 0.01;
  common->dropout_s = 0.001;
}

/* Counts of 16 summed conversions: the noise of one dithers the steps of 12 bit, so the sum resolves more than they do. */
static int32_t convert(struct common *common, double counts) {
  const double noisy = counts * ADC_SUM + common->adc_noise * 4.0 * chance_normal(&common->chance);
  return (int32_t)fmin(fmax(floor(noisy + 0.5), 0.0), ADC_MAX * ADC_SUM);
}

int32_t common_adc(struct common *common, double volt) {
  return convert(common, volt / ADC_V * ADC_MAX);
}

static int bit(double mask, unsigned i) {
  return (int)(((unsigned)mask >> i) & 1u);
}

void common_sample(struct common *common, struct hal_sample *sample, unsigned channels) {
  unsigned i;
  sample->fresh = 0;
  for (i = 0; i < channels; i++) {
    if (common->dropout_rate_hz > 0.0
        && chance_uniform(&common->chance) < common->dropout_rate_hz / (double)FW_FAST_HZ) {
      common->silent_until_s[i] = common->t_s + common->dropout_s;
    }
    if (bit(common->frozen_mask, i)) {
      sample->raw[i] = common->last[i];
    }
    common->last[i] = sample->raw[i];
    if (common->t_s >= common->silent_until_s[i] && !bit(common->silent_mask, i)) {
      sample->fresh |= 1u << i;
    }
  }
  for (i = channels; i < FW_CHANNELS_MAX; i++) {
    sample->raw[i] = 0;
  }
  for (i = 0; i < FW_ACTUATORS_MAX; i++) {
    const double noise_A = common->current_noise_A / 4.0 * chance_normal(&common->chance);
    const double counts =
        i < common->actuators ? (common->winding[i].current_A + noise_A) / common->ampere_per_count : 0.0;
    sample->current_raw[i] = (int32_t)fmin(fmax(floor(32760.5 + counts), 0.0), ADC_MAX * ADC_SUM);
  }
  sample->supply_raw = convert(common, common->supply_V / 66.0 * ADC_MAX);
  sample->estop = common->estop > 0.0;
  sample->driver_fault = common->driver_fault > 0.0;
}

double slide(double v, double force, double mass, double coulomb, double viscous, double dt_s) {
  const double free_v = (v + force / mass * dt_s) / (1.0 + viscous / mass * dt_s);
  const double grip = coulomb / mass * dt_s;
  return free_v > grip ? free_v - grip : (free_v < -grip ? free_v + grip : 0.0);
}
