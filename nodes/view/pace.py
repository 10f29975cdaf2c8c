"""How often a page is renewed: seldom while nobody looks, and more seldom where the machine or the loop is pressed."""

import contextlib
import os
import time

NICENESS = 10           # the page gives way to whatever is more urgent
IDLE = 5.0              # Hz while nobody looks
SLOWEST = 10.0          # Hz: less would not be a moving picture
JUDGED = 1.0            # s between two decisions
LATE = 0.3              # of a period: lateness that counts as pressed
MISSED = 100            # ticks that the loop missed in a second and that count as pressed: a tenth of them


def give_way():
    """Let this process, with all threads it will start, run behind others: a low weight, and no jumping the queue when it wakes."""
    with contextlib.suppress(OSError):
        os.nice(max(0, NICENESS - os.nice(0)))
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class Pace:
    """Frames a second that adapt: quickly down when late or when the loop misses ticks, slowly up again."""

    def __init__(self, hz, clock=time.monotonic):
        self.hz, self.rate, self.clock = hz, hz, clock
        self._due, self._decide, self._late, self._missed = clock(), clock() + JUDGED, 0.0, None

    def next(self, watched=True, missed=0) -> float:
        """Return how long to sleep before the next frame; `missed` counts the ticks that the loop missed so far."""
        now = self.clock()
        self._late += 0.2 * (max(0.0, now - self._due) * self.rate - self._late)
        if now >= self._decide:
            pressed = self._late > LATE or (self._missed is not None and missed > self._missed + MISSED * (now - self._decide + JUDGED))
            self.rate = max(min(SLOWEST, self.hz), 0.6 * self.rate) if pressed else min(self.hz, 1.15 * self.rate)
            self._decide, self._missed = now + JUDGED, missed
        period = 1.0 / (self.rate if watched else min(IDLE, self.hz))
        self._due = max(self._due + period, now)
        return self._due - now
