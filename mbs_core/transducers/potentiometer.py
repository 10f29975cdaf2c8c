"""Potentiometers: pedals, tilt angles, linear feedback."""

from dataclasses import dataclass
from typing import ClassVar

from mbs_core.errors import MbsError
from mbs_core.transducers.base import Linear


@dataclass(frozen=True)
class Potentiometer(Linear):
    """A resistive track: position = scale (counts - zero). Outside low..high a wire is broken or shorted."""

    scale: float
    zero: float = 0.0
    low: float = 20.0
    high: float = 4075.0
    noise: float = 0.0

    kind: ClassVar[str] = 'potentiometer'

    def __post_init__(self):
        """Refuse a track without a range."""
        super().__post_init__()
        self.nonzero('scale')
        if not self.low < self.high:
            raise MbsError(f"'low' {self.low:g} and 'high' {self.high:g} of a {self.kind} leave no range: put the lower one first")

    def intact(self, counts) -> bool:
        """Tell whether the reading is one that an unbroken track can give."""
        return self.low <= counts <= self.high
