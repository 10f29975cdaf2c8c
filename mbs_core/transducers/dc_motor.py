"""DC motors, direct or behind a gear, a belt or a ball screw."""

import math
from dataclasses import dataclass
from typing import ClassVar

from mbs_core.errors import MbsError
from mbs_core.transducers.base import Fit, Transducer, arrays, fitted, solve


@dataclass(frozen=True)
class Gear:
    """A reduction: `ratio` turns of the motor for one of the output."""

    ratio: float

    @property
    def travel(self) -> float:
        """Return the output (rad) per rad of the motor."""
        return 1.0 / self.ratio


@dataclass(frozen=True)
class Belt:
    """A belt on a pulley of this radius (m) on the motor."""

    radius: float

    @property
    def travel(self) -> float:
        """Return the output (m) per rad of the motor."""
        return self.radius


@dataclass(frozen=True)
class BallScrew:
    """A screw that advances `lead` (m) per turn of the motor."""

    lead: float

    @property
    def travel(self) -> float:
        """Return the output (m) per rad of the motor."""
        return self.lead / (2 * math.pi)


@dataclass(frozen=True)
class DcMotor(Transducer):
    """Effort at the output <-> current: effort = torque_constant i efficiency / travel.

    `travel` is the output (rad or m) per rad of the motor: the product of the travels of Gear, Belt and BallScrew, 1 for
    direct drive. `efficiency` is that of the transmission while the motor drives the load; a driven motor sees 1/efficiency,
    which is left to the model's friction.
    """

    torque_constant: float
    resistance: float
    current_max: float
    current_continuous: float
    inductance: float = 0.0
    travel: float = 1.0
    efficiency: float = 1.0
    rotor_inertia: float = 0.0

    kind: ClassVar[str] = 'dc_motor'
    inputs: ClassVar[int] = 1

    def __post_init__(self):
        """Refuse a motor that can't be."""
        super().__post_init__()
        self.nonzero('torque_constant', 'travel')
        self.positive('resistance', 'current_max', 'current_continuous', 'efficiency')
        if self.efficiency > 1.0:
            raise MbsError(f"'efficiency' {self.efficiency:g} of a {self.kind} is above 1")
        if self.current_continuous > self.current_max:
            raise MbsError(f"'current_continuous' {self.current_continuous:g} A of a {self.kind} is above "
                           f"'current_max' {self.current_max:g} A")

    @classmethod
    def behind(cls, *stages, **values):
        """Return the motor behind stages, from the motor to the output: DcMotor.behind(Belt(0.01), torque_constant=...)."""
        return cls(travel=math.prod(stage.travel for stage in stages), **values)

    @property
    def ratio(self) -> float:
        """Return effort at the output per torque of the motor."""
        return self.efficiency / self.travel

    @property
    def effort_max(self) -> float:
        """Return the largest effort at the output."""
        return abs(self.torque_constant * self.current_max * self.ratio)

    @property
    def effort_continuous(self) -> float:
        """Return the effort at the output that may last."""
        return abs(self.torque_constant * self.current_continuous * self.ratio)

    @property
    def reflected_inertia(self) -> float:
        """Return the rotor's inertia as felt at the output (kg m2, or kg for a linear one)."""
        return self.rotor_inertia / self.travel**2

    def current(self, effort):
        """Return the current (A) of an effort at the output (N m or N)."""
        return effort / (self.torque_constant * self.ratio)

    def effort(self, current):
        """Return the effort at the output (N m or N) of a current (A)."""
        return current * self.torque_constant * self.ratio

    si = effort

    def voltage(self, current, velocity=0.0, current_rate=0.0):
        """Return the voltage that keeps a current (A) at an output velocity: R i + L di/dt + k velocity / travel."""
        return self.resistance * current + self.inductance * current_rate + self.torque_constant * velocity / self.travel

    def fit(self, counts, reference) -> Fit:
        """Fit the torque constant to reference efforts at the output; counts: one array of currents (A)."""
        (current,), reference = arrays(self, counts, reference, 1)
        (slope,) = solve(self, [current], reference)
        return fitted(self.replace(torque_constant=slope / self.ratio), (current,), reference)

    def residuals(self, counts, reference):
        """Return effort of the currents minus reference."""
        return self.effort(counts[0]) - reference
