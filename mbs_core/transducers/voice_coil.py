"""The voice-coil actuator of the piano key."""

from dataclasses import dataclass
from typing import ClassVar

from mbs_core.errors import MbsError
from mbs_core.transducers.base import Fit, Transducer, arrays, fitted, solve


@dataclass(frozen=True)
class VoiceCoil(Transducer):
    """Force (N) <-> current (A): F = force_constant i; at the joint it acts at `lever` (m): effort = lever F.

    lever = 1 leaves forces as they are. Positions transform with it: x = lever q.
    """

    force_constant: float
    resistance: float
    current_max: float
    current_continuous: float
    inductance: float = 0.0
    lever: float = 1.0

    kind: ClassVar[str] = 'voice_coil'
    inputs: ClassVar[int] = 1

    def __post_init__(self):
        """Refuse an actuator that can't be."""
        super().__post_init__()
        self.nonzero('force_constant', 'lever')
        self.positive('resistance', 'current_max', 'current_continuous')
        if self.current_continuous > self.current_max:
            raise MbsError(f"'current_continuous' {self.current_continuous:g} A of a {self.kind} is above "
                           f"'current_max' {self.current_max:g} A")

    @property
    def ratio(self) -> float:
        """Return effort at the joint per force of the actuator."""
        return self.lever

    @property
    def effort_max(self) -> float:
        """Return the largest effort at the joint."""
        return abs(self.force_constant * self.current_max * self.lever)

    @property
    def effort_continuous(self) -> float:
        """Return the effort at the joint that may last."""
        return abs(self.force_constant * self.current_continuous * self.lever)

    def current(self, effort):
        """Return the current (A) of an effort at the joint."""
        return effort / (self.force_constant * self.lever)

    def effort(self, current):
        """Return the effort at the joint of a current (A)."""
        return current * self.force_constant * self.lever

    si = effort

    def voltage(self, current, velocity=0.0, current_rate=0.0):
        """Return the voltage that keeps a current (A) at a velocity of the joint: R i + L di/dt + k v."""
        return self.resistance * current + self.inductance * current_rate + self.force_constant * self.lever * velocity

    def fit(self, counts, reference) -> Fit:
        """Fit the force constant to reference efforts; counts: one array of currents (A)."""
        (current,), reference = arrays(self, counts, reference, 1)
        (slope,) = solve(self, [current], reference)
        sensor = self.replace(force_constant=slope / self.lever)
        return fitted(sensor, (current,), reference)

    def residuals(self, counts, reference):
        """Return effort of the currents minus reference."""
        return self.effort(counts[0]) - reference
