/* See fake_hal.h. */
#include "fake_hal.h"

#include <string.h>

struct fake_hal fake;

void fake_reset(void) {
  memset(&fake, 0, sizeof fake);
  fake.stored = true;
}

void hal_init(void) {}

uint32_t hal_time_us(void) {
  const uint32_t now_us = fake.now_us;
  fake.now_us += fake.took_us;
  return now_us;
}

void hal_sample(struct hal_sample *sample) {
  *sample = fake.sample;
}

void hal_pwm_set(unsigned actuator, float duty) {
  fake.duty[actuator] = duty;
}

void hal_gate(unsigned actuator, enum hal_gate gate) {
  fake.gate[actuator] = gate;
}

size_t hal_link_read(uint8_t *bytes, size_t size) {
  const size_t n = fake.inbox_size < size ? fake.inbox_size : size;
  memcpy(bytes, fake.inbox, n);
  fake.inbox_size = 0;
  return n;
}

bool hal_link_write(const uint8_t *bytes, size_t size) {
  (void)bytes;
  (void)size;
  fake.sent++;
  return true;
}

bool hal_link_is_datagram(void) {
  return fake.datagrams;
}

bool hal_calibration(struct calibration *calibration) {
  *calibration = fake.calibration;
  return fake.stored;
}

uint32_t hal_watchdog_us(void) {
  return fake.watchdog_us;
}

uint32_t hal_irq_save(void) {
  fake.masked++;
  return (uint32_t)fake.masked;
}

void hal_irq_restore(uint32_t saved) {
  (void)saved;
  fake.masked--;
}

void hal_wdt_kick(void) {}

void hal_idle(void) {}

void hal_uid(uint8_t uid[FW_UID_BYTES]) {
  memset(uid, 7, FW_UID_BYTES);
}

void hal_fault(unsigned number) {
  fake.fault = number;
}
