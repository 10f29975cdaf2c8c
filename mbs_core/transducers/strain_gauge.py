"""Strain-gauge load cells, as the binocular beam that measures the steering torque of the tilting vehicle (001 5.3)."""

from dataclasses import dataclass
from typing import ClassVar

from mbs_core.transducers.base import Linear


@dataclass(frozen=True)
class StrainGauge(Linear):
    """A full bridge on a binocular beam: force = scale (counts - zero); N, or N m with `arm` (m) from beam to axis.

    A binocular beam bends in an S, so its four gauges see the force and not where it acts: one scale is enough.
    """

    scale: float
    zero: float = 0.0
    arm: float = 1.0
    noise: float = 0.0

    kind: ClassVar[str] = 'strain_gauge'
    quantity: ClassVar[str] = 'force'

    def __post_init__(self):
        """Refuse a cell without a scale."""
        super().__post_init__()
        self.nonzero('scale', 'arm')

    @classmethod
    def from_data_sheet(cls, capacity_N, output_V_per_V, excitation_V, volts_per_count, **more):
        """Return the cell of a data sheet: capacity, rated output, bridge supply, and volts at the bridge per count."""
        return cls(scale=capacity_N * volts_per_count / (output_V_per_V * excitation_V), **more)

    @property
    def slope(self) -> float:
        """Return the force of one count (N), or the torque (N m) when there is an arm."""
        return self.scale * self.arm

    def with_slope(self, slope):
        """Return the cell with the scale that gives this force or torque of one count."""
        return self.replace(scale=slope / self.arm)
