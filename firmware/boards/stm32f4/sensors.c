#include "sensors.h"

#include "pins.h"
#include "stm32f4.h"

#define OVERSAMPLING 16u /* hal.h promises the sum of so many conversions */
#define SEQUENCE_MAX (FW_CHANNELS_MAX + FW_ACTUATORS_MAX + 1u)
#define ENCODERS 2u
#define SSI_WORDS 2u
#define INPUT_CURRENT0 10u /* C0, C1 */
#define INPUT_SUPPLY 12u   /* C2 */

/* ADC inputs of the sensor channels in order, and their pins. */
static const struct input {
  uint8_t number;
  uint8_t pin;
  bool on_port_c;
} inputs[FW_CHANNELS_MAX] = {
    {0, 0, false}, {1, 1, false}, {4, 4, false}, {5, 5, false}, {14, 4, true}, {15, 5, true},
};

static struct timer *const encoder_timers[ENCODERS] = {TIM3, TIM4};

static struct {
  const struct app *app;
  unsigned sequence_length;
  uint8_t position[FW_CHANNELS_MAX];      /* of each channel in the sequence */
  uint8_t encoder_of[FW_CHANNELS_MAX];
  uint16_t encoder_before[ENCODERS];
  int32_t encoder_count[ENCODERS];
  volatile uint16_t ssi[SSI_WORDS];
  volatile uint16_t conversions[OVERSAMPLING * SEQUENCE_MAX];
} self;

static bool is_analog(enum protocol_kind kind) {
  return kind == PROTOCOL_KIND_HALL || kind == PROTOCOL_KIND_COIL || kind == PROTOCOL_KIND_POTENTIOMETER ||
         kind == PROTOCOL_KIND_STRAIN_GAUGE;
}

static void append(uint32_t input) {
  const unsigned at = self.sequence_length++;
  reg *const registers[3] = {&ADC1->SQR3, &ADC1->SQR2, &ADC1->SQR1};
  *registers[at / 6u] |= input << (5u * (at % 6u));
}

static void init_encoder(unsigned number) {
  struct gpio *port = number == 0u ? GPIOA : GPIOB; /* A6 and A7, or B6 and B7 */
  pin_alternate(port, 6u, 2u);
  pin_alternate(port, 7u, 2u);
  encoder_timers[number]->ARR = 0xFFFFu;
  encoder_timers[number]->CCMR1 = TIM_CCMR_INPUT_FILTERED;
  encoder_timers[number]->SMCR = TIM_SMCR_ENCODER;
  encoder_timers[number]->CR1 = TIM_CR1_CEN;
}

/* Ask the absolute encoder for 32 bits (SSI, most significant first); they are there one fast period later. */
static void ask_absolute_encoder(void) {
  DMA1->LIFCR = DMA_LOW_STREAM3;
  DMA1->HIFCR = DMA_HIGH_STREAM4;
  DMA1->stream[3].NDTR = SSI_WORDS;
  DMA1->stream[4].NDTR = SSI_WORDS;
  DMA1->stream[3].CR = DMA_MEMORY_STEP | DMA_HALFWORDS | DMA_CHANNEL(0) | DMA_ENABLE;
  DMA1->stream[4].CR = DMA_TO_PERIPHERAL | DMA_HALFWORDS | DMA_CHANNEL(0) | DMA_ENABLE;
}

static void init_absolute_encoder(void) {
  static const uint16_t zero = 0u; /* only the clock matters */
  pin_alternate(GPIOB, 13u, 5u);
  pin_alternate(GPIOB, 14u, 5u);
  DMA1->stream[3].PAR = (uint32_t)(uintptr_t)&SPI2->DR;
  DMA1->stream[3].M0AR = (uint32_t)(uintptr_t)self.ssi;
  DMA1->stream[4].PAR = (uint32_t)(uintptr_t)&SPI2->DR;
  DMA1->stream[4].M0AR = (uint32_t)(uintptr_t)&zero;
  SPI2->CR2 = SPI_CR2_DMA;
  SPI2->CR1 = SPI_CR1_MASTER_ON | SPI_CR1_DIVIDE_8 | SPI_CR1_SECOND_EDGE;
  ask_absolute_encoder();
}

static void init_adc(void) {
  const uint32_t last = self.sequence_length - 1u;
  ADC_COMMON_CCR = ADC_CCR_DIVIDE_4;
  ADC1->SQR1 |= last << 20;
  DMA2->stream[0].PAR = (uint32_t)(uintptr_t)&ADC1->DR;
  DMA2->stream[0].M0AR = (uint32_t)(uintptr_t)self.conversions;
  DMA2->stream[0].NDTR = OVERSAMPLING * self.sequence_length;
  DMA2->LIFCR = DMA_LOW_STREAM0;
  DMA2->stream[0].CR = DMA_CIRCULAR | DMA_MEMORY_STEP | DMA_HALFWORDS | DMA_CHANNEL(0) | DMA_ENABLE;
  ADC1->CR1 = ADC_CR1_SCAN;
  ADC1->CR2 = ADC_CR2_ON_CONTINUOUS_DMA;
  ADC1->CR2 |= ADC_CR2_START;
}

void sensors_init(const struct app *application) {
  unsigned encoders = 0u;
  self.app = application;
  for (unsigned i = 0; i < application->channel_count; i++) {
    const enum protocol_kind kind = application->channels[i].kind;
    if (is_analog(kind)) {
      self.position[i] = (uint8_t)self.sequence_length;
      pin_analog(inputs[i].on_port_c ? GPIOC : GPIOA, inputs[i].pin);
      append(inputs[i].number);
    } else if (kind == PROTOCOL_KIND_ENCODER && encoders < ENCODERS) {
      self.encoder_of[i] = (uint8_t)encoders;
      init_encoder(encoders++);
    } else if (kind == PROTOCOL_KIND_ABSOLUTE_ENCODER) {
      init_absolute_encoder();
    }
  }
  for (unsigned i = 0; i < application->actuator_count; i++) {
    pin_analog(GPIOC, i);
    append(INPUT_CURRENT0 + i);
  }
  pin_analog(GPIOC, 2u);
  append(INPUT_SUPPLY);
  init_adc();
}

static int32_t sum(unsigned at) {
  int32_t total = 0;
  for (unsigned i = 0; i < OVERSAMPLING; i++) {
    total += self.conversions[i * self.sequence_length + at];
  }
  return total;
}

/* Sixteen bits of the timer become a count that does not wrap with them. */
static int32_t encoder(unsigned number) {
  const uint16_t now = (uint16_t)encoder_timers[number]->CNT;
  self.encoder_count[number] += (int16_t)(uint16_t)(now - self.encoder_before[number]);
  self.encoder_before[number] = now;
  return self.encoder_count[number];
}

/* The answer to the last period's request; the next request goes out at once. */
static bool absolute_encoder(unsigned bits, int32_t *raw) {
  if (DMA1->stream[3].NDTR != 0u) {
    return false;
  }
  const uint32_t word = (uint32_t)self.ssi[0] << 16 | self.ssi[1];
  *raw = (int32_t)(word >> (32u - bits));
  ask_absolute_encoder();
  return true;
}

void sensors_read(struct hal_sample *sample) {
  const bool converted = (DMA2->LISR & DMA_LOW_STREAM0_COMPLETE) != 0u;
  unsigned analog = 0u;
  DMA2->LIFCR = DMA_LOW_STREAM0;
  sample->fresh = 0u;
  for (unsigned i = 0; i < self.app->channel_count; i++) {
    const enum protocol_kind kind = self.app->channels[i].kind;
    bool fresh = true;
    if (is_analog(kind)) {
      sample->raw[i] = sum(self.position[i]);
      fresh = converted;
      analog++;
    } else if (kind == PROTOCOL_KIND_ENCODER) {
      sample->raw[i] = encoder(self.encoder_of[i]);
    } else {
      fresh = absolute_encoder(self.app->channels[i].bits, &sample->raw[i]);
    }
    sample->fresh |= fresh ? 1u << i : 0u;
  }
  for (unsigned i = 0; i < self.app->actuator_count; i++) {
    sample->current_raw[i] = sum(analog + i);
  }
  sample->supply_raw = sum(analog + self.app->actuator_count);
}
