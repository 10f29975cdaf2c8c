/* See acquisition.h. */
#include "acquisition.h"

#include "fwmath.h"

bool acquisition_step(const struct channel *channel, struct channel_state *state, int32_t raw, bool fresh,
                      uint32_t now_us) {
  const bool in_range = raw >= channel->raw_min && raw <= channel->raw_max;
  state->refused = fresh && !in_range;
  if (!fresh || !in_range) {
    return false;
  }
  if (!state->seen || raw != state->raw) {
    state->changed_us = now_us;
  }
  state->raw = raw;
  if (channel->frozen_us > 0u && now_us - state->changed_us > channel->frozen_us) {
    state->refused = true;
    return false;
  }
  state->seen = true;
  state->accepted_us = now_us;
  state->history[state->head] = raw;
  state->head = (uint8_t)((state->head + 1u) % channel->average);
  if (state->filled < channel->average) {
    state->filled++;
  }
  return true;
}

uint32_t acquisition_age_us(struct channel_state *state, uint32_t now_us) {
  const uint32_t age_us = now_us - state->accepted_us;
  if (state->seen && age_us > ACQUISITION_NEVER) {
    return 0u; /* the sample is of this very period, and the board's clock a little behind */
  }
  /* Forgotten long before the clock wraps and makes it look young again. */
  state->seen = state->seen && age_us < ACQUISITION_NEVER / 2u;
  return state->seen ? age_us : ACQUISITION_NEVER;
}

int32_t acquisition_mean(const struct channel *channel, const struct channel_state *state) {
  int64_t sum = 0;
  unsigned i;
  if (channel->average <= 1u || state->filled == 0u) {
    return state->raw;
  }
  for (i = 0; i < state->filled; i++) {
    sum += state->history[i];
  }
  return (int32_t)(sum / (int64_t)state->filled);
}

float acquisition_position(const struct position_config *config, const struct channel *channels,
                           const struct channel_state *states, const struct calibration *calibration) {
  const uint8_t c = config->channel;
  if (config->kind == POSITION_HALL_PAIR) {
    const float front_V = (float)states[c].raw * channels[c].scale;
    const float rear_V = (float)states[config->channel_rear].raw * channels[config->channel_rear].scale;
    const float height = calibration->gain[c] * (front_V * front_V - rear_V * rear_V) + calibration->offset[c];
    return config->ratio * height;
  }
  return config->ratio * (calibration->gain[c] * (float)(states[c].raw - config->centre) - calibration->offset[c]);
}

bool acquisition_calibrated(const struct position_config *config, const struct calibration *calibration) {
  const float gain = calibration->gain[config->channel];
  const float offset = calibration->offset[config->channel];
  return calibration->magic == CALIBRATION_MAGIC && fw_is_finite(gain) && fw_is_finite(offset)
         && fw_abs(offset) <= config->offset_max && gain >= config->gain_low && gain <= config->gain_high;
}
