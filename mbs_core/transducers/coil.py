"""The coil velocity sensor of the piano key (001 eq. 18)."""

from dataclasses import dataclass
from typing import ClassVar

from mbs_core.transducers.base import Linear


@dataclass(frozen=True)
class Coil(Linear):
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
    def slope(self) -> float:
        """Return the velocity of one count."""
        return self.volts_per_count / self.kappa / (self.lever or 1.0)

    def with_slope(self, slope):
        """Return the coil with the kappa that gives this velocity of one count."""
        return self.replace(kappa=self.volts_per_count / slope / (self.lever or 1.0))
