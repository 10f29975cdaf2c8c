"""The two opposed Hall sensors under a piano key (001 eq. 17)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mbs_core.transducers.base import Fit, Sensor, arrays, fitted, solve


@dataclass(frozen=True)
class HallPair(Sensor):
    """Front and rear Hall sensor: height of the key front U = k (Uf^2 - Ur^2) + O (m), 001 eq. 17.

    The voltages are volts_per_count * counts. With `lever` (m, pivot to key front) the value is the angle
    asin(U / lever) in rad; with lever = 0 it is the height.
    """

    k: float
    O: float = 0.0      # noqa: E741 (the name of the paper)
    volts_per_count: float = 5.0 / 4096
    lever: float = 0.0
    noise: float = 0.0

    kind: ClassVar[str] = 'hall_pair'
    inputs: ClassVar[int] = 2

    def __post_init__(self):
        """Refuse a pair without a slope."""
        super().__post_init__()
        self.nonzero('k', 'volts_per_count')

    def height(self, front, rear):
        """Return the height of the key front (m) of the two counts."""
        return self.k * self.volts_per_count**2 * (front * front - rear * rear) + self.O

    def si(self, front, rear):
        """Return the height (m), or the angle (rad) when there is a lever; beyond the lever it saturates."""
        height = self.height(front, rear)
        if not self.lever:
            return height
        if isinstance(height, np.ndarray):
            return np.arcsin(np.clip(height / self.lever, -1.0, 1.0))
        return math.asin(min(max(height / self.lever, -1.0), 1.0))

    def counts(self, value, mean=2048.0):
        """Return (front, rear) counts of a value, given their mean, which eq. 17 leaves open."""
        height = self.lever * math.sin(value) if self.lever else value
        half = (height - self.O) / (self.k * self.volts_per_count**2) / (4.0 * mean)
        return mean + half, mean - half

    def fit(self, counts, reference) -> Fit:
        """Fit k and O to reference values of the same kind as si() returns."""
        (front, rear), reference = arrays(self, counts, reference, 2)
        height = self.lever * np.sin(reference) if self.lever else reference
        combined = self.volts_per_count**2 * (front**2 - rear**2)
        k, offset = solve(self, [combined, np.ones_like(combined)], height)
        return fitted(self.replace(k=k, O=offset), (front, rear), reference)
