"""Is a sensor to be believed: out of range, dropped out, jumped, frozen, or at odds with the others.

Each sample of each sensor gets a verdict; those at OK form the bit mask that the estimator takes. A test needs what it
compares with: range, jump and dropout look at one sensor alone; frozen at an analogue sensor's own noise, or at the motion
that the others see; the residual test at the estimate, which with two or more sensors the others hold in place.
"""

import math
from dataclasses import dataclass

from mbs_core.errors import MbsError

OK, DROPOUT, NOT_FINITE, RANGE, JUMP, FROZEN, RESIDUAL = range(7)
WORDS = ('ok', 'gives no new samples', 'is not a number', 'is out of its range', 'jumped', 'is frozen',
         'disagrees with the other sensors')


@dataclass(frozen=True)
class Checks:
    """What a sensor may do, in SI; inf or 0 switches a test off.

    low..high: its range. jump: largest change in one period. dropout: samples without a fresh one after which it
    is left out. frozen: equal samples after which it is frozen, if it is analogue or the joint moved more than `moved`
    meanwhile. residual: largest difference from the estimate, exceeded `patience` times in a row. After a jump or residual
    it is believed again once `patience` samples in a row pass.
    """

    low: float = -math.inf
    high: float = math.inf
    jump: float = math.inf
    dropout: int = 3
    frozen: int = 0
    analogue: bool = False
    moved: float = math.inf
    residual: float = math.inf
    patience: int = 5

    def __post_init__(self):
        if not self.low < self.high:
            raise MbsError(f"the plausible range 'low' {self.low:g} to 'high' {self.high:g} is empty: put the lower one first")
        for name in ('jump', 'moved', 'residual', 'patience'):
            if not getattr(self, name) > 0:
                raise MbsError(f"the plausibility check '{name}' is {getattr(self, name)}; it must be positive")


class Plausibility:
    """The verdicts of the sensors of one joint; `check` is called once per sample."""

    def __init__(self, checks):
        self.checks = tuple(checks)
        n = len(self.checks)
        self.verdicts = [OK] * n
        self.events = [0] * n              # how often a sensor left OK
        self._last = [None] * n            # last fresh value
        self._periods = 1.0                # since the last sample
        self._stale = [0] * n              # samples without a fresh one
        self._equal = [0] * n              # equal samples in a row
        self._equal_from = [0.0] * n       # estimate when they began
        self._bad = [0] * n                # residuals too large in a row
        self._good = [0] * n               # samples in a row that passed, after a jump or a residual

    def check(self, values, fresh, predicted, periods=1.0) -> int:
        """Return the mask of believable sensors.

        values: SI, one per sensor; fresh: bit k says that sensor k has a new sample; predicted: what the estimator expects
        of each sensor, or None before it has started; periods: since the sample before, more than 1 after loss.
        """
        mask = 0
        self._periods = max(periods, 1.0)
        for k, check in enumerate(self.checks):
            value = values[k]
            verdict = self._verdict(k, check, value, fresh >> k & 1, None if predicted is None else predicted[k])
            if verdict != OK and self.verdicts[k] == OK:
                self.events[k] += 1
            self.verdicts[k] = verdict
            if verdict == OK and fresh >> k & 1:
                mask |= 1 << k
        return mask

    def _verdict(self, k, check, value, is_fresh, predicted):
        if not is_fresh:
            self._stale[k] += 1
            return DROPOUT if self._stale[k] >= check.dropout else self.verdicts[k]
        stale, self._stale[k] = self._stale[k], 0
        if not math.isfinite(value):
            self._good[k] = check.patience
            return NOT_FINITE
        last, self._last[k] = self._last[k], value
        if not check.low <= value <= check.high:
            return RANGE
        if last is not None and abs(value - last) > check.jump * (self._periods + stale):
            self._good[k] = check.patience
            return JUMP
        if self._is_frozen(k, check, value, last, predicted):
            return FROZEN
        return self._settled(k, check, value, predicted)

    def _is_frozen(self, k, check, value, last, predicted):
        if value != last or not check.frozen:
            self._equal[k], self._equal_from[k] = 0, predicted
            return False
        self._equal[k] += 1
        if self._equal[k] < check.frozen:
            return False
        start = self._equal_from[k]
        return check.analogue or (predicted is not None and start is not None and abs(predicted - start) > check.moved)

    def _settled(self, k, check, value, predicted):
        if predicted is not None and abs(value - predicted) > check.residual:
            self._bad[k] += 1
            if self._bad[k] >= check.patience:
                self._good[k] = check.patience
                return RESIDUAL
            return self.verdicts[k] if self._good[k] else OK
        self._bad[k] = 0
        if self._good[k] > 0:
            self._good[k] -= 1
            return self.verdicts[k] if self.verdicts[k] != OK else JUMP
        return OK

    def complaint(self, names) -> str:
        """Return one sentence about the sensors that are not believed, '' when all are."""
        return '; '.join(f"'{name}' {WORDS[verdict]}" for name, verdict in zip(names, self.verdicts) if verdict != OK)
