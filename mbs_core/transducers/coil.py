"""The coil velocity sensor of the piano key (001 eq. 18)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mbs_core.transducers.base import Fit, Sensor, arrays, fitted, solve


@dataclass(frozen=True)
class Coil(Sensor):
    """A coil beside a moving magnet: U_coil = kappa zd (001 eq. 18), read as volts_per_count * (counts - zero).

    With `lever` (m, pivot to magnet) the value is the angular velocity zd / lever in rad/s; with lever = 0 it is zd.
    """

    kappa: float
    zero: float = 0.0
    volts_per_count: float = 5.0 / 4096
    lever: float = 0.0
    noise: float = 0.0

    kind: ClassVar[str] = 'coil'
    quantity: ClassVar[str] = 'velocity'

    def __post_init__(self):
        """Refuse a coil without a slope."""
        super().__post_init__()
        self.nonzero('kappa', 'volts_per_count')

    @property
    def scale(self) -> float:
        """Return the velocity of one count."""
        return self.volts_per_count / self.kappa / (self.lever or 1.0)

    def si(self, counts):
        """Return the velocity (m/s, or rad/s with a lever)."""
        return (counts - self.zero) * self.scale

    def counts(self, value):
        """Return the counts (not rounded) of a velocity."""
        return value / self.scale + self.zero

    def fit(self, counts, reference) -> Fit:
        """Fit kappa and the zero to reference velocities."""
        (counts,), reference = arrays(self, counts, reference, 2)
        slope, offset = solve(self, [counts, np.ones_like(counts)], reference)
        sensor = self.replace(kappa=self.volts_per_count / slope / (self.lever or 1.0), zero=-offset / slope)
        return fitted(sensor, (counts,), reference)
