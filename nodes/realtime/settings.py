"""What a loop is to do: its channels, their limits, its clock and its patience; checked once, before anything runs.

A channel is one driven direction of the device: a measured joint, the coordinate of the model it moves, and the
actuator that answers. Units are those of the joint: N, m or N m, rad; times in seconds.
"""

import math
from dataclasses import dataclass, field, fields

from mbs_core.errors import MbsError

IMPEDANCE, ADMITTANCE = 'impedance', 'admittance'
TIMER, SAMPLE = 'timer', 'sample'


@dataclass(frozen=True)
class Limits:
    """The limit chain of one channel; every number is finite and positive, so none of them can be switched off."""

    force: float = 10.0                 # most that ever leaves (clamp)
    slew: float = 5000.0                # most change of force, per second
    continuous: float = 5.0             # force that may last for ever
    thermal_time: float = 10.0          # time constant of the winding, s
    thermal_start: float = 0.8          # fraction of the continuous heat where derating starts
    speed_soft: float = 10.0            # from here on accelerating forces are reduced ...
    speed_hard: float = 20.0            # ... to nothing here
    energy: float = 0.05                # J that may be given more than was taken (stored energy of the model)
    energy_kept: float = 1.0            # J of past dissipation that count at most
    damping: float = 1.0                # most damping the passivity control may add

    def __post_init__(self):
        for f in fields(self):
            _positive(f'limit {f.name}', getattr(self, f.name))
        if self.speed_soft >= self.speed_hard:
            raise MbsError(f'limit speed_soft ({self.speed_soft:g}) must be below speed_hard ({self.speed_hard:g})')
        if self.thermal_start >= 1.0:
            raise MbsError(f'limit thermal_start is a fraction of the continuous heat below 1, not {self.thermal_start:g}')


@dataclass(frozen=True)
class Channel:
    """One direction of the device.

    Impedance: the joint's motion (times `ratio`) drives `coordinate`, whose effort, turned back onto the joint, is the
    force: -ratio * effort; `effort_output` names an output that is rendered in place of the effort, for devices that
    have a part of the mechanism themselves (the wood of a key, its bed). Admittance: the joint's measured effort enters the model's input `force_input`, and the force
    is the coupling `stiffness`, `damping` between model and joint. `stiffness_output` and `damping_output` name outputs
    of the model for the local law of impedance channels; without them it carries zero.
    """

    joint: str
    coordinate: str = ''
    mode: str = IMPEDANCE
    ratio: float = 1.0
    limits: Limits = field(default_factory=Limits)
    plausible_speed: float = 50.0       # faster samples are refused
    frozen_speed: float = 2.5           # from this measured rate on the position has to change as well
    effort_output: str = ''
    force_input: str = ''
    stiffness: float = 0.0
    damping: float = 0.0
    stiffness_output: str = ''
    damping_output: str = ''
    stiffness_max: float = 1e5          # bounds of the local law that is sent
    damping_max: float = 1e3

    def __post_init__(self):
        if not self.joint:
            raise MbsError('a channel needs the name of its joint')
        if self.mode not in (IMPEDANCE, ADMITTANCE):
            raise MbsError(f"channel '{self.joint}': the mode is '{IMPEDANCE}' or '{ADMITTANCE}', not '{self.mode}'")
        if self.mode == ADMITTANCE and not (self.coordinate and self.force_input and self.stiffness > 0):
            raise MbsError(f"channel '{self.joint}': admittance needs a coordinate, a force_input and a stiffness above 0")
        if not math.isfinite(self.ratio) or self.ratio == 0:
            raise MbsError(f"channel '{self.joint}': the ratio must be finite and not 0, not {self.ratio}")
        for name in ('plausible_speed', 'frozen_speed', 'stiffness_max', 'damping_max'):
            _positive(f"channel '{self.joint}': {name}", getattr(self, name))
        for name in ('stiffness', 'damping'):
            if not 0 <= getattr(self, name) < math.inf:
                raise MbsError(f"channel '{self.joint}': {name} must be 0 or more, not {getattr(self, name)}")


@dataclass(frozen=True)
class Input:
    """One input of the model that is no channel's force: measured at a joint of the samples, or commanded.

    Measured: gain * position + offset, clamped to low..high, moving no faster than `slew` (units per second; 0: the whole
    range within a parameter ramp). A sample that is not finite is left out; after `stale_after` without a good one the
    input goes to `safe`. Commanded (no joint): starts at `value` and moves over a parameter ramp to what is set.
    """

    name: str
    joint: str = ''
    gain: float = 1.0
    offset: float = 0.0
    low: float = 0.0
    high: float = 1.0
    safe: float = 0.0
    slew: float = 0.0
    value: float = 0.0

    def __post_init__(self):
        for name in ('gain', 'offset', 'low', 'high', 'safe', 'slew', 'value'):
            if not math.isfinite(getattr(self, name)):
                raise MbsError(f"input '{self.name}': {name} must be finite, not {getattr(self, name)}")
        if not self.low < self.high:
            raise MbsError(f"input '{self.name}': low ({self.low:g}) must be below high ({self.high:g})")
        if self.slew < 0 or self.gain == 0:
            raise MbsError(f"input '{self.name}': slew must not be below 0 and gain not 0, not {self.slew:g} and {self.gain:g}")
        start = 'safe' if self.joint else 'value'
        if not self.low <= getattr(self, start) <= self.high:
            raise MbsError(f"input '{self.name}': {start} ({getattr(self, start):g}) must be within {self.low:g} to {self.high:g}")


@dataclass(frozen=True)
class Settings:
    """The whole loop. The defaults are those of the safety promise; shared machines need more patience."""

    channels: tuple
    rate_hz: float = 1000.0
    wake: str = SAMPLE                  # by the sample, or at absolute deadlines
    spin: float = 0.0                   # last part of the wait spent polling the clock
    stale_after: float = 0.003          # a sample older than this: the force decays ...
    decay: float = 0.007                # ... to zero within this time, so at 10 ms, when the device would refuse its set-points
    fault_after: float = 0.020          # older: latched fault
    ramp: float = 0.2                   # every activation rises over this time
    parameter_ramp: float = 0.020       # a change of model parameters is spread over this time
    most_missed: int = 20               # deadlines missed in a row: latched fault
    frozen_samples: int = 10            # samples with a rate but an unchanged position: refused
    acceleration_filter: float = 0.0    # 0: driven accelerations are zero; (0, 1]: weight of a new rate difference
    clock_step: float = 0.5             # a jump of the stamps beyond this is a set clock, not a late sample
    method: str = 'rk4'
    substeps: int = 1
    outputs: bool = False               # evaluate the model's outputs in every tick
    trace: int = 0                      # ticks kept one by one, for analysis and tests
    inputs: tuple = ()                  # inputs of the model that are measured or commanded

    def __post_init__(self):
        if not self.channels:
            raise MbsError('a loop needs at least one channel')
        joints = [c.joint for c in self.channels]
        if len(set(joints)) != len(joints):
            raise MbsError(f"a joint may appear in one channel only, not as in {', '.join(joints)}")
        names = [i.name for i in self.inputs]
        if len(set(names)) != len(names):
            raise MbsError(f"an input may be given once only, not as in {', '.join(names)}")
        for name in ('rate_hz', 'stale_after', 'decay', 'fault_after', 'ramp', 'parameter_ramp', 'clock_step'):
            _positive(name, getattr(self, name))
        for name, least in (('most_missed', 1), ('frozen_samples', 1), ('substeps', 1), ('trace', 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise MbsError(f'{name} must be a whole number from {least} on, not {value!r}')
        if self.rate_hz > 20000:
            raise MbsError(f'rate_hz must be at most 20000, not {self.rate_hz:g}')
        if self.wake not in (TIMER, SAMPLE):
            raise MbsError(f"wake is '{TIMER}' or '{SAMPLE}', not '{self.wake}'")
        if not 0 <= self.spin < 1 / self.rate_hz:
            raise MbsError(f'spin must be at least 0 and shorter than a period, not {self.spin} s')
        if not 0 <= self.acceleration_filter <= 1:
            raise MbsError(f'acceleration_filter is a weight from 0 to 1, not {self.acceleration_filter}')
        if self.fault_after < self.stale_after + self.decay:
            raise MbsError(f'fault_after ({self.fault_after:g} s) must not be before the force has decayed '
                           f'({self.stale_after:g} + {self.decay:g} s)')

    @property
    def measured(self) -> tuple:
        """The inputs that are measured."""
        return tuple(i for i in self.inputs if i.joint)

    @property
    def commanded(self) -> tuple:
        """The inputs that are set live."""
        return tuple(i for i in self.inputs if not i.joint)

    @property
    def step(self) -> float:
        """The nominal step in seconds, whatever the clock did."""
        return self.period_ns * 1e-9

    @property
    def period_ns(self) -> int:
        """The period in nanoseconds."""
        return round(1e9 / self.rate_hz)


def _positive(name, value):
    if not (isinstance(value, (int, float)) and 0 < value < math.inf):
        raise MbsError(f'{name} must be finite and above 0, not {value!r}')
