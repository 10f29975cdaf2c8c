"""The limit chain that every force passes, in this order: finite, passivity, velocity, thermal (I2t), slew, clamp.

The one definition on the host; the firmware repeats it (firmware/core/limits.h) with the same words. Each stage may only
take force away, except slew, which ties a force to the one before:

1. finite: a force, position or velocity that is not a number asks for zero force.
2. passivity: the force may not give more energy in one step than the tank holds. The tank is drained by what the held
   force really gave, F (q - q_before), filled by what it took and by `refill`, and never holds more than `tank`.
3. velocity: a force along the motion fades out between `velocity_soft` and `velocity_max`; a braking one stays.
4. thermal: heat' = ((F / F_c)^2 - heat) / tau; below `derate_from` all of force_max is allowed, at heat = 1 only F_c,
   linearly in between. With tau = window / 10 and F_c^2 = force_continuous^2 / 1.1 the mean of F^2 over any window is at
   most force_continuous^2, whatever came before (plus what one step adds).
5. slew: the force changes by at most slew_max h. This may hold a force for some steps longer than 2 and 3 want it; what
   that gives is drawn from the tank, which then is negative until it is paid back.
6. clamp: the force is within -force_max..force_max.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

from mbs_core.errors import MbsError

# Bits of the flags that tell which stage took force away; those of the wire protocol have the same values.
FINITE, VELOCITY, THERMAL, SLEW, CLAMP, PASSIVITY = 1, 2, 4, 8, 16, 64
STAGES = {'finite': FINITE, 'passivity': PASSIVITY, 'velocity': VELOCITY, 'thermal': THERMAL, 'slew': SLEW, 'clamp': CLAMP}

STATE_SIZE = 5
FORCE, HEAT, TANK, POSITION, FLAGS = range(STATE_SIZE)      # places in the state
WINDOW_PER_TAU, HEADROOM = 10.0, 1.1                        # the proof of 4 wants 1 + tau / window = HEADROOM


@dataclass(frozen=True)
class Limits:
    """The limits of one joint, in N or N m, m or rad, s, J; `tank` = inf leaves energy unbounded (a device that lifts)."""

    force_max: float
    slew_max: float
    velocity_soft: float
    velocity_max: float
    force_continuous: float
    window: float = 10.0
    derate_from: float = 0.7
    tank: float = math.inf
    refill: float = 0.0

    def __post_init__(self):
        for name in ('force_max', 'slew_max', 'velocity_soft', 'velocity_max', 'force_continuous', 'window', 'tank'):
            if not getattr(self, name) > 0:
                raise MbsError(f"the limit '{name}' is {getattr(self, name)}; it must be positive")
        if not self.velocity_soft < self.velocity_max:
            raise MbsError(f"the limit 'velocity_soft' {self.velocity_soft:g} must be below 'velocity_max' {self.velocity_max:g}")
        if not self.force_continuous <= self.force_max < math.inf:
            raise MbsError(f"the limit 'force_continuous' {self.force_continuous:g} must not be above 'force_max' "
                           f'{self.force_max:g}, which must be finite')
        if not 0 <= self.derate_from < 1:
            raise MbsError(f"the limit 'derate_from' is {self.derate_from}; it must be in 0..1")
        if not self.refill >= 0:
            raise MbsError(f"the limit 'refill' is {self.refill}; it must not be negative")
        if self.slew_max < self.fastest_derating:
            raise MbsError(f"the limit 'slew_max' {self.slew_max:g} is below {self.fastest_derating:.3g}, so the force could "
                           "not follow the thermal limit: raise it, or lengthen 'window'")

    @property
    def lasting(self) -> float:
        """Return F_c, the force at which heat settles at 1."""
        return self.force_continuous / math.sqrt(HEADROOM)

    @property
    def fastest_derating(self) -> float:
        """Return how fast the thermal limit can fall (N/s or N m/s)."""
        rate = ((self.force_max / self.lasting)**2 - self.derate_from) * WINDOW_PER_TAU / self.window
        return (self.force_max - self.lasting) / (1.0 - self.derate_from) * rate

    def pack(self) -> np.ndarray:
        """Return the numbers in the order in which `limit` wants them."""
        return np.array([getattr(self, field.name) for field in fields(self)])


def start(limits: Limits, position=0.0) -> np.ndarray:
    """Return the state before the first step: zero force, a winding that is already warm, a full tank."""
    return np.array([0.0, limits.derate_from, limits.tank, position, 0.0])


def off(state, position):
    """Note that the outputs were off: the next force starts from zero. Heat and tank are nobody's to clear."""
    state[0] = 0.0
    state[3] = position
    state[4] = 0.0


def limit(force, q, qd, h, config, state):
    """Return the force that may be applied for the next h seconds, and keep what the next call needs in `state`.

    config: Limits.pack(); state: start(...), changed in place; state[FLAGS] tells which stages took force away.
    """
    flags = 0
    force_max, slew_max, velocity_soft, velocity_max = config[0], config[1], config[2], config[3]
    before, heat, tank = state[0], state[1], state[2]
    lasting_squared = config[4] * config[4] / 1.1
    tank = min(tank + config[8] * h, config[7])
    if not (math.isfinite(force) and math.isfinite(q) and math.isfinite(qd)):
        flags |= 1
        force, qd = 0.0, 0.0
    else:
        tank = min(tank - before * (q - state[3]), config[7])
        state[3] = q
    given = force * qd * h
    if given > 0.0 and given > tank:
        flags |= 64
        force = max(tank, 0.0) / (qd * h)
    speed = abs(qd)
    if force * qd > 0.0 and speed > velocity_soft:
        flags |= 2
        force *= max(velocity_max - speed, 0.0) / (velocity_max - velocity_soft)
    lasting = math.sqrt(lasting_squared)
    share = min(max((1.0 - heat) / (1.0 - config[6]), 0.0), 1.0)
    allowed = lasting + (force_max - lasting) * share
    if abs(force) > allowed and share < 1.0:
        flags |= 4
        force = allowed if force > 0.0 else -allowed
    if abs(force - before) > slew_max * h:
        flags |= 8
        force = before + slew_max * h if force > before else before - slew_max * h
    if abs(force) > force_max:
        flags |= 16
        force = force_max if force > 0.0 else -force_max
    state[0] = force
    state[1] = heat + (force * force / lasting_squared - heat) * -math.expm1(-h * 10.0 / config[5])
    state[2] = tank
    state[4] = flags
    return force
