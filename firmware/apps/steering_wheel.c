/* Steering wheel: absolute multiturn encoder on the column, direct-drive motor, three pedals with potentiometers.
 *
 * Coordinate: angle of the wheel in rad, positive to the left. Numbers are those of the plant in plants/column.c. */
#include "../core/app.h"

#define VOLT_PER_COUNT (3.3f / (float)ADC_COUNTS)
#define RAD_PER_COUNT 2.3968450e-5f /* 2 pi / 2^18: 12 bit of turns above 18 bit of interpolated angle */
#define CENTRE (1 << 29)

static const struct channel channels[] = {
    {"wheel", "rad", PROTOCOL_KIND_ABSOLUTE_ENCODER, RAD_PER_COUNT, 0, (1 << 30) - 1, 30, 1, 0},
    {"throttle", "V", PROTOCOL_KIND_POTENTIOMETER, VOLT_PER_COUNT, 3000, 62500, 0, 16, 0},
    {"brake", "V", PROTOCOL_KIND_POTENTIOMETER, VOLT_PER_COUNT, 3000, 62500, 0, 16, 0},
    {"clutch", "V", PROTOCOL_KIND_POTENTIOMETER, VOLT_PER_COUNT, 3000, 62500, 0, 16, 0},
};

static const struct actuator actuators[] = {{
    .name = "motor",
    .unit = "N.m",
    .kind = PROTOCOL_KIND_DIRECT_DRIVE,
    .force_per_ampere = 1.2f,
    .ampere_per_count = 40.0f / (float)ADC_COUNTS,
    .position =
        {
            .kind = POSITION_COUNTS,
            .channel = 0,
            .centre = CENTRE,
            .ratio = 1.0f,
            .min = -9.5f,
            .max = 9.5f,
            .margin = 0.5f,
            .step_max = 0.01f, /* 100 rad/s */
            .offset_max = 7.0f,
            .gain_low = 2.3e-5f,
            .gain_high = 2.5e-5f,
        },
    .velocity = {.kind = VELOCITY_TRACKING, .bandwidth_rad_s = 3000.0f},
    .law = {.stiffness_max = 8000.0f, .damping_max = 10.0f, .lead_s = 0.00025f},
    .limits =
        {
            .force_max = 15.0f,
            .slew_max = 10000.0f, /* half of what 48 V do through 3 mH; with less, stiff walls throw the wheel back */
            .velocity_soft = 15.0f,
            .velocity_max = 20.0f,
            .velocity_fault = 30.0f,
            .tank_J = 60.0f, /* the wheel's self-centring gives back what the arms put in, and a little more */
            .tank_refill_W = 40.0f,
            .thermal = {.rated_A = 5.0f, .peak_A = 13.0f, .window_s = 60.0f, .derate_from = 0.5f},
        },
    .current =
        {
            .resistance_ohm = 1.0f,
            .inductance_H = 0.003f,
            .bandwidth_rad_s = 5000.0f,
            .emf_V_per_velocity = 1.2f,
        },
    .current_divider = 1,
}};

const struct app app = {
    .name = "steering_wheel",
    .channels = channels,
    .channel_count = 4,
    .actuators = actuators,
    .actuator_count = 1,
    .link_divider = 10,
    .volt_per_count = 66.0f / (float)ADC_COUNTS,
    .supply_min_V = 42.0f,
    .supply_max_V = 54.0f,
    .safety =
        {
            .ramp_us = 1000000,
            .brake_us = 200000,
            .sensor_stale_us = 3000,
            .sensor_decayed_us = 10000,
            .sensor_lost_us = 20000,
        },
};
