/* Pins: mode, alternate function, level. */
#ifndef PINS_H
#define PINS_H

#include <stdbool.h>

#include "stm32f4.h"

static inline void pin_mode(struct gpio *port, unsigned pin, uint32_t mode) {
  port->MODER = (port->MODER & ~(3u << (2u * pin))) | mode << (2u * pin);
}

static inline void pin_output(struct gpio *port, unsigned pin) { pin_mode(port, pin, 1u); }

static inline void pin_analog(struct gpio *port, unsigned pin) { pin_mode(port, pin, 3u); }

static inline void pin_alternate(struct gpio *port, unsigned pin, uint32_t function) {
  reg *half = &port->AFR[pin / 8u];
  *half = (*half & ~(15u << (4u * (pin % 8u)))) | function << (4u * (pin % 8u));
  port->OSPEEDR |= 2u << (2u * pin);
  pin_mode(port, pin, 2u);
}

static inline void pin_pull_up(struct gpio *port, unsigned pin) {
  port->PUPDR = (port->PUPDR & ~(3u << (2u * pin))) | 1u << (2u * pin);
}

static inline void pin_write(struct gpio *port, unsigned pin, bool high) {
  port->BSRR = 1u << (high ? pin : pin + 16u);
}

static inline bool pin_read(const struct gpio *port, unsigned pin) { return (port->IDR >> pin & 1u) != 0u; }

#endif
