"""A virtual driver: looks ahead along a path, decides on a steering-wheel angle, and turns it with arms that give way.

The arms are a spring and a damper, so the torque of the wheel matters: it pushes the hands away from where they want to be.
What a driver expects of the torque (`anticipation`) is part of where he aims; a car that steers heavier surprises him.
"""

import math
from dataclasses import dataclass

from mbs_core.errors import MbsError


@dataclass(frozen=True)
class Evasion:
    """A straight lane with an evasive manoeuvre to the left and back: y(x), smooth to the second derivative."""

    start: float                 # m, where the car begins to leave its lane
    width: float = 2.5           # m to the left
    leave: float = 28.0          # m to get there
    stay: float = 12.0           # m beside the obstacle
    back: float = 36.0           # m to come back

    def y(self, x) -> float:
        """Return the wanted place across the road at x along it."""
        x -= self.start
        if x < self.leave + self.stay:
            return self.width * _ease(x / self.leave)
        return self.width * (1.0 - _ease((x - self.leave - self.stay) / self.back))

    @property
    def obstacle(self) -> tuple:
        """Where the obstacle stands: x from, x to, y from, y to."""
        return self.start + self.leave - 2.0, self.start + self.leave + self.stay - 4.0, -1.0, 0.9


def _ease(u):
    u = min(max(u, 0.0), 1.0)
    return u ** 3 * (10.0 - 15.0 * u + 6.0 * u * u)


@dataclass
class Driver:
    """A driver who looks `preview` seconds ahead; `angle` is where the hands should be, `aim` where the arms pull to.

    wheelbase, understeer (s2/m: extra road-wheel angle per side acceleration) and ratio are what he has learnt of the car.
    """

    preview: float = 0.75        # s
    wheelbase: float = 2.579
    understeer: float = 0.0006
    ratio: float = 16.0
    most: float = 3.0            # rad, what he dares
    stiffness: float = 40.0      # of the arms, N m/rad
    damping: float = 1.0         # N m s/rad
    anticipation: float = 12.0   # N m of torque expected per rad of angle

    def __post_init__(self):
        for name in ('preview', 'wheelbase', 'ratio', 'most', 'stiffness'):
            if not 0 < getattr(self, name) < math.inf:
                raise MbsError(f"a driver's {name} must be finite and above 0, not {getattr(self, name)}")

    def angle(self, path, x, y, yaw, speed) -> float:
        """Return the steering-wheel angle that leads to the path one preview ahead, on an arc (positive to the left)."""
        if not all(map(math.isfinite, (x, y, yaw, speed))):
            raise MbsError('the driver was shown a car without a finite place')
        reach = max(speed, 3.0) * self.preview
        miss = path(x + reach * math.cos(yaw)) - (y + reach * math.sin(yaw))
        road = 2.0 * miss / reach ** 2 * (self.wheelbase + self.understeer * speed * speed)
        return min(max(self.ratio * road, -self.most), self.most)

    def aim(self, angle) -> float:
        """Return where the arms have to pull to, so that against the expected torque the wheel comes to `angle`."""
        return angle * (1.0 + self.anticipation / self.stiffness)

    def torque(self, aim, angle, rate) -> float:
        """Return the torque of the arms on the wheel."""
        return self.stiffness * (aim - angle) - self.damping * rate
