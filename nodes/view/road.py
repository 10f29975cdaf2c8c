"""The road of the driving views: two lanes along x, and an obstacle that appears suddenly ahead of the car. Places only, no forces."""

import random

from mbs_core.control.driver import Evasion

LANE = 3.5                      # m; the car's own lane is centred on y = 0, the other one is to its left
RIGHT, LEFT = -2.25, 5.75       # m, edges of the asphalt
AHEAD = 14.0                    # m ahead of the car where an evasion has to begin
HALF_LENGTH, HALF_WIDTH = 2.2, 0.85      # m, of the car
PAUSE = (5.0, 12.0)             # s between two obstacles that come by themselves
SHOWN = 2.0                     # s for which a hit is told


class Road:
    """An obstacle that appears on request, or by itself from time to time; `obstacle` is (x from, x to, y from, y to) or None."""

    def __init__(self, chance=None):
        self.obstacle, self.by_itself, self.hits = None, False, 0
        self._chance, self._due, self._hit = chance or random.Random(), None, None

    def appear(self, x):
        """Put an obstacle into the lane of a car at x: as close as the virtual driver still avoids at 75 km/h."""
        self.obstacle, self._hit = Evasion(x + AHEAD).obstacle, None

    def step(self, now, x, y):
        """Follow the car: forget what is behind it, notice a hit, let the next obstacle appear."""
        if self.obstacle is not None:
            x0, x1, y0, y1 = self.obstacle
            if x0 - HALF_LENGTH < x < x1 + HALF_LENGTH and y0 - HALF_WIDTH < y < y1 + HALF_WIDTH and self._hit is None:
                self._hit, self.hits = now, self.hits + 1
            if not x0 - 200.0 < x < x1 + 30.0:
                self.obstacle = None
        if not self.by_itself or self.obstacle is not None:
            self._due = None
        elif self._due is None:
            self._due = now + self._chance.uniform(*PAUSE)
        elif now > self._due:
            self.appear(x)

    def is_hit(self, now) -> bool:
        """Tell whether the obstacle was hit a moment ago."""
        return self._hit is not None and now - self._hit < SHOWN
