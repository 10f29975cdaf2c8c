"""A discrete PID controller with output limits and anti-windup; the caller brings the time."""

import math
from dataclasses import dataclass

from mbs_core.errors import MbsError


@dataclass(frozen=True)
class Gains:
    """Gains and limits: output = kp e + ki integral(e) + kd e', with e = target - measured.

    `filter` (s) is the time constant of the derivative when no measured rate is given; 0 for none.
    """

    kp: float
    ki: float = 0.0
    kd: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    filter: float = 0.0

    def __post_init__(self):
        for name in ('kp', 'ki', 'kd', 'filter'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise MbsError(f"PID gain '{name}' is {value}; it must be finite and not negative")
        if not self.low < self.high:
            raise MbsError(f'the PID output limits [{self.low:g}, {self.high:g}] are empty: put the lower one first')


class Pid:
    """One PID loop; `update` returns the limited output and remembers what the next call needs."""

    def __init__(self, gains: Gains):
        self.gains = gains
        self.reset()

    def reset(self, integral=0.0):
        """Forget the past; the next update starts from this integral term (in units of the output)."""
        self.integral, self._t, self._measured, self._rate = integral, None, None, 0.0

    def update(self, t, target, measured, target_rate=0.0, measured_rate=None) -> float:
        """Return the output at time t (s, increasing).

        The derivative acts on the measurement, so a step of the target gives no kick. The integral stands still
        while the output is at a limit and the error would drive it further out.
        """
        g = self.gains
        dt = 0.0 if self._t is None else t - self._t
        if not dt >= 0.0:
            raise MbsError(f'PID: time went back from {self._t:g} to {t:g} s; call reset before starting again')
        rate = self._differentiate(measured, dt) if measured_rate is None else measured_rate
        error = target - measured
        fixed = g.kp * error + g.kd * (target_rate - rate)
        grown = self.integral + g.ki * error * dt
        wanted = fixed + grown
        if g.low <= wanted <= g.high or (wanted > g.high and error < 0) or (wanted < g.low and error > 0):
            self.integral = grown
        self._t, self._measured, self._rate = t, measured, rate
        return min(max(fixed + self.integral, g.low), g.high)

    def _differentiate(self, measured, dt):
        if dt == 0.0:
            return self._rate
        raw = (measured - self._measured) / dt
        return self._rate + (raw - self._rate) * dt / (dt + self.gains.filter)
