#include "serial.h"

#include "pins.h"
#include "protocol.h"
#include "stm32f4.h"

#define APB1_HZ 42000000u
#define BAUD 2000000u
#define RX_RING 1024u /* 5 ms of an uninterrupted stream: read each millisecond */
#define TX_BUFFER 2048u

static volatile uint8_t received[RX_RING];
static uint32_t read_at;
static uint8_t sending[TX_BUFFER];  /* owned by the DMA while it runs */
static uint8_t waiting[TX_BUFFER];  /* frames that came meanwhile */
static size_t waiting_length;

void serial_init(void) {
  pin_alternate(GPIOA, 2u, 7u);
  pin_alternate(GPIOA, 3u, 7u);
  USART2->BRR = (APB1_HZ + BAUD / 2u) / BAUD;
  USART2->CR3 = USART_CR3_DMA;
  DMA1->stream[5].PAR = (uint32_t)(uintptr_t)&USART2->DR;
  DMA1->stream[5].M0AR = (uint32_t)(uintptr_t)received;
  DMA1->stream[5].NDTR = RX_RING;
  DMA1->stream[5].CR = DMA_CIRCULAR | DMA_MEMORY_STEP | DMA_CHANNEL(4) | DMA_ENABLE;
  DMA1->stream[6].PAR = (uint32_t)(uintptr_t)&USART2->DR;
  USART2->CR1 = USART_CR1_ON_RX_TX | USART_CR1_IDLE_IRQ;
}

void serial_isr(void) {
  (void)USART2->SR; /* these two reads, in this order, clear the flag; the DMA has taken the byte long before */
  (void)USART2->DR;
}

size_t serial_read(uint8_t *bytes, size_t size) {
  const uint32_t write_at = RX_RING - DMA1->stream[5].NDTR;
  size_t n = 0u;
  while (n < size && read_at != write_at % RX_RING) {
    bytes[n++] = received[read_at];
    read_at = (read_at + 1u) % RX_RING;
  }
  return n;
}

static void send_waiting(void) {
  if (waiting_length == 0u || (DMA1->stream[6].CR & DMA_ENABLE)) {
    return;
  }
  for (size_t i = 0; i < waiting_length; i++) {
    sending[i] = waiting[i];
  }
  DMA1->HIFCR = DMA_HIGH_STREAM6;
  DMA1->stream[6].M0AR = (uint32_t)(uintptr_t)sending;
  DMA1->stream[6].NDTR = waiting_length;
  DMA1->stream[6].CR = DMA_TO_PERIPHERAL | DMA_MEMORY_STEP | DMA_CHANNEL(4) | DMA_ENABLE;
  waiting_length = 0u;
}

bool serial_write(const uint8_t *bytes, size_t size) {
  send_waiting();
  if (size > TX_BUFFER - waiting_length) {
    return false;
  }
  for (size_t i = 0; i < size; i++) {
    waiting[waiting_length++] = bytes[i];
  }
  send_waiting();
  return true;
}
