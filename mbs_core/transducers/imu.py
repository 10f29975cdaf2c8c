"""Inertial sensors: the rate of a gyroscope, an accelerometer, and the tilt that two accelerometers see (001 5.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mbs_core.transducers.base import Fit, Linear, Sensor, arrays, fitted, solve


@dataclass(frozen=True)
class _Inertial(Linear):
    scale: float
    zero: float = 0.0
    noise: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        self.nonzero('scale')


@dataclass(frozen=True)
class Gyroscope(_Inertial):
    """One axis of a gyroscope: rate = scale (counts - zero), rad/s."""

    kind: ClassVar[str] = 'gyroscope'
    quantity: ClassVar[str] = 'velocity'


@dataclass(frozen=True)
class Accelerometer(_Inertial):
    """One axis of an accelerometer across gravity: acceleration = scale (counts - zero), m/s2."""

    kind: ClassVar[str] = 'accelerometer'
    quantity: ClassVar[str] = 'acceleration'


@dataclass(frozen=True)
class Inclinometer(Sensor):
    """Two axes of an accelerometer: tilt = atan2(lateral, vertical) - zero, rad; right while nothing else accelerates."""

    zero: float = 0.0
    lateral_zero: float = 0.0
    vertical_zero: float = 0.0
    lateral_gain: float = 1.0     # of the lateral axis relative to the vertical one
    noise: float = 0.0

    kind: ClassVar[str] = 'inclinometer'
    inputs: ClassVar[int] = 2

    def __post_init__(self):
        """Refuse a lateral axis without a gain."""
        super().__post_init__()
        self.nonzero('lateral_gain')

    def si(self, lateral, vertical):
        """Return the tilt (rad)."""
        x, y = (lateral - self.lateral_zero) * self.lateral_gain, vertical - self.vertical_zero
        return (np.arctan2(x, y) if isinstance(x, np.ndarray) else math.atan2(x, y)) - self.zero

    def counts(self, value, gravity=1000.0):
        """Return (lateral, vertical) counts (not rounded) of a tilt, with gravity worth this many vertical counts."""
        angle = value + self.zero
        return (gravity * math.sin(angle) / self.lateral_gain + self.lateral_zero,
                gravity * math.cos(angle) + self.vertical_zero)

    def fit(self, counts, reference) -> Fit:
        """Fit zeros and gain to reference tilts spread over at least some tens of degrees.

        lateral = gx sin a + lateral_zero and vertical = gy cos a + vertical_zero are each linear in two unknowns; the
        mounting angle `zero` is kept.
        """
        (lateral, vertical), reference = arrays(self, counts, reference, 4)
        angle, one = reference + self.zero, np.ones_like(reference)
        gx, x0 = solve(self, [np.sin(angle), one], lateral)
        gy, y0 = solve(self, [np.cos(angle), one], vertical)
        return fitted(self.replace(lateral_zero=x0, vertical_zero=y0, lateral_gain=gy / gx), (lateral, vertical), reference)
