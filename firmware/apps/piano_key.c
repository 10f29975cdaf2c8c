/* Piano key: two Hall sensors and a velocity coil under the key, a voice coil in place of the action (seed paper, 5.1).
 *
 * Coordinate: travel of the voice coil, in m, positive when the key front goes down; the coil stands half as far from the
 * balance pin as the key front. Numbers are those of the plant in plants/lever.c; a real key needs its own. */
#include "../core/app.h"

#define VOLT_PER_COUNT (3.3f / (float)ADC_COUNTS)
#define COIL_RATIO 0.5f /* coil travel per travel of the key front */

static const struct channel channels[] = {
    {"hall_front", "V", PROTOCOL_KIND_HALL, VOLT_PER_COUNT, 2000, 63500, 0, 4, 100000},
    {"hall_rear", "V", PROTOCOL_KIND_HALL, VOLT_PER_COUNT, 2000, 63500, 0, 4, 100000},
    {"coil", "V", PROTOCOL_KIND_COIL, VOLT_PER_COUNT, 100, 65420, 0, 4, 0},
};

static const struct actuator actuators[] = {{
    .name = "voice_coil",
    .unit = "N",
    .kind = PROTOCOL_KIND_VOICE_COIL,
    .force_per_ampere = 15.0f,
    .ampere_per_count = 10.0f / (float)ADC_COUNTS,
    .position =
        {
            .kind = POSITION_HALL_PAIR,
            .channel = 0,
            .channel_rear = 1,
            .ratio = COIL_RATIO,
            .min = 0.0f,
            .max = 0.0050f,
            .margin = 0.0010f,
            .step_max = 0.00025f, /* the fastest key (1.5 m/s) moves 0.15 mm in a period */
            .offset_max = 0.02f,
            .gain_low = 0.0005f,
            .gain_high = 0.01f,
        },
    .velocity =
        {
            .kind = VELOCITY_COIL,
            .gain_low = 0.5f,
            .gain_high = 8.0f,
            .channel = 2,
            .ratio = COIL_RATIO,
            .bandwidth_rad_s = 60.0f,
            .step_max = 0.12f, /* 50 N on 0.2 kg changes it by 0.025 m/s in a period, a stop by 0.1 */
            .disagree_max = 0.30f,
            .disagree_us = 30000,
        },
    .law = {.stiffness_max = 150000.0f, .damping_max = 150.0f, .lead_s = 0.00022f},
    .limits =
        {
            .force_max = 50.0f,
            .slew_max =
                25000.0f, /* 50 N in 2 ms: what a stiff wall asks for; the actuator is asked for 50 N in 20 ms */
            .velocity_soft = 0.8f,
            .velocity_max = 1.2f,
            .velocity_fault = 1.5f,
            .tank_J = 1.0f,
            .tank_refill_W = 2.0f,
            .thermal = {.rated_A = 1.2f, .peak_A = 3.5f, .window_s = 20.0f, .derate_from = 0.5f},
        },
    .current =
        {
            .resistance_ohm = 4.0f,
            .inductance_H = 0.002f,
            .bandwidth_rad_s = 6000.0f,
            .emf_V_per_velocity = 15.0f,
        },
    .current_divider = 1,
}};

const struct app app = {
    .name = "piano_key",
    .channels = channels,
    .channel_count = 3,
    .actuators = actuators,
    .actuator_count = 1,
    .link_divider = 10,
    .volt_per_count = 66.0f / (float)ADC_COUNTS,
    .supply_min_V = 20.0f,
    .supply_max_V = 28.0f,
    .safety =
        {
            .ramp_us = 500000,
            .brake_us = 50000,
            .sensor_stale_us = 3000,
            .sensor_decayed_us = 10000,
            .sensor_lost_us = 20000,
        },
};
