/* Acquisition: raw counts to positions, with what can be known about a sample's worth.
 *
 * Each ADC channel arrives as the sum of 16 conversions (hal.h) and is averaged further for the link. A sample is refused,
 * and the channel grows old, when it is not fresh, outside what the sensor can deliver, or suspiciously unchanging. */
#ifndef ACQUISITION_H
#define ACQUISITION_H

#include "hal.h"
#include "protocol.h"

#define ACQUISITION_AVERAGE_MAX 16u
#define ACQUISITION_NEVER 0x7FFFFFFFu
#define ADC_COUNTS 65520 /* 16 x 4095 */

struct channel {
  const char *name; /* at most 15 characters */
  const char *unit; /* of raw * scale, at most 7 characters */
  enum protocol_kind kind;
  float scale;     /* unit per count */
  int32_t raw_min; /* outside: broken wire or short */
  int32_t raw_max;
  uint8_t bits;       /* the count wraps at 2^bits; 0: never */
  uint8_t average;    /* samples averaged for the link, 1..ACQUISITION_AVERAGE_MAX */
  uint32_t frozen_us; /* a noisy sensor that repeats exactly for so long is dead; 0 = may stand still */
};

struct channel_state {
  int32_t raw; /* last accepted */
  uint32_t accepted_us;
  uint32_t changed_us;
  bool seen;    /* accepted, and not for ever ago */
  bool refused; /* the newest sample was fresh but not plausible */
  uint8_t head;
  uint8_t filled;
  int32_t history[ACQUISITION_AVERAGE_MAX];
};

enum position_kind {
  POSITION_HALL_PAIR = 1, /* z = k (Uf^2 - Ur^2) + O, channels front and rear: gain[front] = k, offset[front] = O */
  POSITION_COUNTS = 2     /* q = gain * (raw - centre) - offset */
};

struct position_config {
  enum position_kind kind;
  uint8_t channel; /* front, or the only one */
  uint8_t channel_rear;
  int32_t centre; /* counts in the middle of a multiturn encoder: a float could not hold them */
  float ratio;    /* actuator travel per sensor travel */
  float min, max; /* travel; outside by more than margin: fault */
  float margin;
  float step_max; /* a larger jump between two fast samples is refused */
  float offset_max;
  float gain_low, gain_high; /* calibrated gain outside: not a calibration of this device */
};

/* Take one sample; return true if it was accepted. */
bool acquisition_step(const struct channel *channel, struct channel_state *state, int32_t raw, bool fresh,
                      uint32_t now_us);

/* Return the time since a sample was accepted, ACQUISITION_NEVER if that is long ago. */
uint32_t acquisition_age_us(struct channel_state *state, uint32_t now_us);

/* Return the mean of the last samples in counts, for the link. */
int32_t acquisition_mean(const struct channel *channel, const struct channel_state *state);

/* Return q in the actuator's coordinate. */
float acquisition_position(const struct position_config *config, const struct channel *channels,
                           const struct channel_state *states, const struct calibration *calibration);

/* True if the stored calibration is one, finite, and within what this device can have. */
bool acquisition_calibrated(const struct position_config *config, const struct calibration *calibration);

#endif
