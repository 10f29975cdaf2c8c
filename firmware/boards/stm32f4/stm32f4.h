/* Registers of the STM32F405/407, written from its reference manual (RM0090): only what this board uses. */
#ifndef STM32F4_H
#define STM32F4_H

#include <stdint.h>

typedef volatile uint32_t reg;

struct rcc {
  reg CR, PLLCFGR, CFGR, CIR, AHB1RSTR, AHB2RSTR, AHB3RSTR, reserved0, APB1RSTR, APB2RSTR, reserved1[2];
  reg AHB1ENR, AHB2ENR, AHB3ENR, reserved2, APB1ENR, APB2ENR;
};
struct gpio {
  reg MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR, AFR[2];
};
struct timer {
  reg CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT, PSC, ARR, RCR, CCR[4], BDTR, DCR, DMAR;
};
struct adc {
  reg SR, CR1, CR2, SMPR1, SMPR2, JOFR[4], HTR, LTR, SQR1, SQR2, SQR3, JSQR, JDR[4], DR;
};
struct dma_stream {
  reg CR, NDTR, PAR, M0AR, M1AR, FCR;
};
struct dma {
  reg LISR, HISR, LIFCR, HIFCR;
  struct dma_stream stream[8];
};
struct usart {
  reg SR, DR, BRR, CR1, CR2, CR3, GTPR;
};
struct spi {
  reg CR1, CR2, SR, DR;
};
struct iwdg {
  reg KR, PR, RLR, SR;
};
struct flash {
  reg ACR;
};

#define RCC ((struct rcc *)0x40023800u)
#define FLASH ((struct flash *)0x40023C00u)
#define GPIOA ((struct gpio *)0x40020000u)
#define GPIOB ((struct gpio *)0x40020400u)
#define GPIOC ((struct gpio *)0x40020800u)
#define TIM1 ((struct timer *)0x40010000u)
#define TIM3 ((struct timer *)0x40000400u)
#define TIM4 ((struct timer *)0x40000800u)
#define TIM5 ((struct timer *)0x40000C00u)
#define TIM6 ((struct timer *)0x40001000u)
#define ADC1 ((struct adc *)0x40012000u)
#define ADC_COMMON_CCR (*(reg *)0x40012304u)
#define DMA1 ((struct dma *)0x40026000u)
#define DMA2 ((struct dma *)0x40026400u)
#define USART2 ((struct usart *)0x40004400u)
#define SPI2 ((struct spi *)0x40003800u)
#define IWDG ((struct iwdg *)0x40003000u)
#define UNIQUE_ID ((const volatile uint8_t *)0x1FFF7A10u)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_CSSON (1u << 19)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR_HSE (1u << 22)
#define RCC_CFGR_SW_PLL 2u
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_PPRE1_4 (5u << 10)
#define RCC_CFGR_PPRE2_2 (4u << 13)
#define RCC_AHB1_GPIO_ABC 7u
#define RCC_AHB1_DMA (3u << 21)
#define RCC_APB1_TIM3_TO_6 (0xFu << 1)
#define RCC_APB1_SPI2 (1u << 14)
#define RCC_APB1_USART2 (1u << 17)
#define RCC_APB2_TIM1 (1u << 0)
#define RCC_APB2_ADC1 (1u << 8)

#define FLASH_ACR_5_WAITS_CACHED (5u | (7u << 8))

#define TIM_CR1_CEN (1u << 0)
#define TIM_CR1_CENTRE (1u << 5)
#define TIM_CR1_ARPE (1u << 7)
#define TIM_DIER_UIE (1u << 0)
#define TIM_SR_UIF (1u << 0)
#define TIM_EGR_UG (1u << 0)
#define TIM_SMCR_ENCODER 3u
#define TIM_CCMR_INPUT_FILTERED 0x3131u      /* both channels to their own input, 8 equal samples */
#define TIM_CCMR_PWM1_PRELOAD 0x6868u        /* both channels PWM mode 1, preloaded */
#define TIM_CCER_ALL_OUTPUTS 0x1111u
#define TIM_BDTR_BREAK (1u << 12)
#define TIM_BDTR_BREAK_HIGH (1u << 13)
#define TIM_BDTR_OUTPUTS (1u << 15)

#define ADC_CR1_SCAN (1u << 8)
#define ADC_CR2_ON_CONTINUOUS_DMA ((1u << 0) | (1u << 1) | (1u << 8) | (1u << 9))
#define ADC_CR2_START (1u << 30)
#define ADC_CCR_DIVIDE_4 (1u << 16)

#define DMA_ENABLE (1u << 0)
#define DMA_TO_PERIPHERAL (1u << 6)
#define DMA_CIRCULAR (1u << 8)
#define DMA_MEMORY_STEP (1u << 10)
#define DMA_HALFWORDS ((1u << 11) | (1u << 13))
#define DMA_CHANNEL(n) ((uint32_t)(n) << 25)
#define DMA_LOW_STREAM0 0x3Du                /* all flags of stream 0 in LISR and LIFCR */
#define DMA_LOW_STREAM0_COMPLETE (1u << 5)
#define DMA_LOW_STREAM3 (0x3Du << 22)        /* of stream 3 */
#define DMA_HIGH_STREAM4 0x3Du               /* of stream 4 in HISR and HIFCR */
#define DMA_HIGH_STREAM6 (0x3Du << 16)       /* all flags of stream 6 in HISR and HIFCR */

#define USART_CR1_ON_RX_TX ((1u << 13) | (1u << 2) | (1u << 3))
#define USART_CR1_IDLE_IRQ (1u << 4)
#define USART_CR3_DMA ((1u << 6) | (1u << 7))

#define SPI_CR1_MASTER_ON ((1u << 2) | (1u << 6) | (1u << 8) | (1u << 9) | (1u << 11)) /* 16 bits, software select */
#define SPI_CR1_DIVIDE_8 (2u << 3)
#define SPI_CR1_SECOND_EDGE (1u << 0)
#define SPI_CR2_DMA 3u

#define IWDG_KICK 0xAAAAu
#define IWDG_UNLOCK 0x5555u
#define IWDG_START 0xCCCCu

enum stm32f4_irq { IRQ_USART2 = 38, IRQ_TIM6 = 54, STM32F4_IRQS = 82 };

#endif
