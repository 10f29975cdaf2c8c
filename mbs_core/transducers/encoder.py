"""Incremental and absolute (multiturn) encoders, and counters that wrap."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.transducers.base import Fit, Linear, Sensor, arrays, fitted, solve


def unwrap(raw, before, bits):
    """Return the count nearest to `before` that equals raw modulo 2^bits; bits = 0: raw as it is.

    Right as long as the counter moves less than half its range between two calls.
    """
    if not bits:
        return raw
    span = 1 << bits
    return before + (raw - before + span // 2) % span - span // 2


@dataclass(frozen=True)
class Encoder(Linear):
    """An incremental encoder: position = scale (counts - zero); scale in m or rad per count, its sign the direction.

    Its zero is only known after homing (or `haptic calibrate`). Its counter wraps at 2^bits; see unwrap.
    """

    scale: float
    zero: float = 0.0
    bits: int = 0
    noise: float = 0.0

    kind: ClassVar[str] = 'encoder'

    def __post_init__(self):
        """Refuse an encoder without a scale."""
        super().__post_init__()
        self.nonzero('scale')
        if not 0 <= self.bits <= 32:
            raise MbsError(f"'bits' of an {self.kind} is {self.bits}; it must be 0 (never wraps) to 32")

    @classmethod
    def from_lines(cls, lines, ratio=1.0, quadrature=4, **more):
        """Return the encoder of a data sheet: lines per turn, edges per line, and output per turn of its shaft (rad/rad)."""
        return cls(scale=2 * math.pi * ratio / (lines * quadrature), **more)

    @property
    def quantisation(self) -> float:
        """Return the standard deviation of its rounding, in SI: one step / sqrt(12)."""
        return abs(self.scale) / math.sqrt(12.0)

    def fit(self, counts, reference) -> Fit:
        """Fit scale and zero to reference positions; the counts may wrap, in the order they were read."""
        return super().fit([self.unwrapped(column) for column in counts], reference)

    def unwrapped(self, counts) -> np.ndarray:
        """Return readings in order with the jumps of the counter taken out."""
        if not self.bits:
            return np.asarray(counts, float)
        return np.unwrap(np.asarray(counts, float), period=float(1 << self.bits))


@dataclass(frozen=True)
class AbsoluteEncoder(Sensor):
    """An absolute multiturn encoder: 2^bits counts a turn, 2^turn_bits turns; known from the first reading.

    Position = ratio (counts - zero) 2 pi / 2^bits, with the count taken within half the whole range around zero;
    ratio is the output per rad of its shaft, its sign the direction.
    """

    bits: int
    turn_bits: int = 0
    zero: float = 0.0
    ratio: float = 1.0
    noise: float = 0.0

    kind: ClassVar[str] = 'absolute_encoder'

    def __post_init__(self):
        """Refuse an encoder that has no steps or does not fit into 32 bits."""
        super().__post_init__()
        self.nonzero('ratio')
        if not (1 <= self.bits and 0 <= self.turn_bits and self.bits + self.turn_bits <= 32):
            raise MbsError(f"an {self.kind} of {self.bits} + {self.turn_bits} bits can't be: 1 to 32 in all")

    @property
    def scale(self) -> float:
        """Return the position of one count."""
        return self.ratio * 2 * math.pi / (1 << self.bits)

    @property
    def span(self) -> int:
        """Return the counts of the whole range."""
        return 1 << (self.bits + self.turn_bits)

    @property
    def quantisation(self) -> float:
        """Return the standard deviation of its rounding, in SI: one step / sqrt(12)."""
        return abs(self.scale) / math.sqrt(12.0)

    def si(self, counts):
        """Return the position (m or rad), within half the range on either side of zero."""
        half = self.span / 2
        return ((counts - self.zero + half) % self.span - half) * self.scale

    def counts(self, value):
        """Return the counts (not rounded) of a position."""
        return (value / self.scale + self.zero) % self.span

    def fit(self, counts, reference) -> Fit:
        """Fit zero and ratio to reference positions, read in order."""
        (counts,), reference = arrays(self, counts, reference, 2)
        smooth = np.unwrap(counts, period=float(self.span))
        slope, offset = solve(self, [smooth, np.ones_like(smooth)], reference)
        sensor = self.replace(ratio=slope * (1 << self.bits) / (2 * math.pi), zero=(-offset / slope) % self.span)
        return fitted(sensor, (counts,), reference)
