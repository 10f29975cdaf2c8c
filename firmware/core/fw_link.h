/* Where the session meets the rest of the firmware: its requests become requests of the safety block. */
#ifndef FW_LINK_H
#define FW_LINK_H

#include "app.h"

void fw_link_init(const struct app *app, uint32_t watchdog_us);

/* One main period: take what arrived, send the state, once a second the counters, and every new fault. */
void fw_link_step(void);

#endif
