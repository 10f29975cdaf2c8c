"""What a driver in the browser does, made into what the simulated arms and feet at a virtual steering wheel do.

Arms of a keyboard are quick and know no angle, so a held key moves the hands at a steady rate, less far the faster the car goes, and
back to the middle when it is let go. A mouse or a gamepad says an angle. Hands that are not heard of any more let go of everything.
"""

import math

from mbs_core.control.driver import Driver
from mbs_haptics.view.hand import FREE, IMPEDANCE

SILENT = 0.6            # s without a word from the page after which wheel and pedals are let go
RATE, BACK = 2.5, 4.0   # rad/s that held keys move the hands, and that they come back
MOST = 2.5              # rad, the hands' way at rest
CALM = 11.5             # m/s at which it has halved: 0.6 rad are left at 75 km/h
LAG, ARMS = 0.06, 0.06  # s of muscles, kg m2 of arms: as the virtual driver has them
PEDALS = ('throttle', 'brake')


def number(value, low, high, default=0.0):
    """Return a number of a message between its limits; what is none becomes the default."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return min(max(float(value), low), high) if good else default


class Seat:
    """The driver: `take` what the page says, `step` often; step returns what has to be told to the plant, {} if nothing changed."""

    def __init__(self):
        self.aim, self.turn, self.angle, self.pedals, self.hands = 0.0, 0.0, None, dict.fromkeys(PEDALS, 0.0), False
        self._heard, self._told, self._last = -math.inf, {}, None

    def take(self, message, now):
        """Take a message {'turn': -1..1 to the left, 'angle': rad or none, 'throttle', 'brake': 0..1, 'hands': on the wheel or off}."""
        self._heard = now
        self.turn = number(message.get('turn'), -1.0, 1.0)
        self.angle = number(message.get('angle'), -MOST, MOST, None)
        self.pedals = {name: number(message.get(name), 0.0, 1.0) for name in PEDALS}
        self.hands = message.get('hands') is True

    def step(self, now, speed) -> dict:
        """Move hands and feet on; return {name of the plant: value} of what changed."""
        passed = 0.0 if self._last is None else min(now - self._last, 0.1)
        self._last = now
        here = now - self._heard < SILENT
        if not here:
            self.turn, self.angle, self.pedals, self.hands = 0.0, None, dict.fromkeys(PEDALS, 0.0), False
        if not self.hands:
            self.aim = 0.0
        elif self.angle is not None:
            self.aim = self.angle
        else:
            wish = self.turn * MOST / (1.0 + (speed / CALM) ** 2)
            most = (RATE if self.turn else BACK) * passed
            self.aim += min(max(wish - self.aim, -most), most)
        wanted = {**self.pedals, 'hand.mode': float(IMPEDANCE if self.hands else FREE)}
        if self.hands:
            arms = Driver()
            wanted = {'hand.stiffness': arms.stiffness, 'hand.damping': arms.damping, 'arm_lag_s': LAG, 'arm_inertia': ARMS,
                      'hand.target': self.aim, **wanted}
        if not here and not self._told:
            return {}                   # nobody has ever sat here: the wheel may be in other hands
        changed = {name: value for name, value in wanted.items() if self._told.get(name) != value}
        self._told = dict(wanted) if here else {}
        return changed
