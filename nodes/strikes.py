"""Find the hammer's strikes on the string in samples of its gap and speed, and turn their speed into MIDI's velocity.

A strike lasts one to four milliseconds, so its force may fall between two samples of 1 kHz. What can't: the hammer comes
toward the string in one sample and goes away from it a few samples later. That turn, close to the string, is a strike.
"""

import math
from dataclasses import dataclass

LOOK_BACK = 8           # samples (ms): the longest contact, and the approach before it
LEAST = 0.10            # m/s: slower touches are not heard
TURNED = -0.02          # part of the speed before, from which on it goes away
NEAR = 1.2e-3           # m: the head's centre line at the string, with what felt and string give way
AGAIN = 2.5e-3          # m that the hammer must fall away before it can strike again
SOFTEST, LOUDEST = 0.25, 6.0        # m/s at velocities 1 and 127, on a logarithmic scale


@dataclass(frozen=True)
class Strike:
    """One strike: when (s, in the samples' time), at what speed of the hammer (m/s), and MIDI's velocity, 1 to 127."""

    t: float
    speed: float

    @property
    def velocity(self) -> int:
        """Return the velocity of MIDI."""
        share = math.log(max(self.speed, SOFTEST) / SOFTEST) / math.log(LOUDEST / SOFTEST)
        return max(1, min(127, round(1 + 126 * share)))


class Strikes:
    """Follows samples one by one; `feed` returns the strike that a sample completes, or None."""

    def __init__(self):
        self._past = []             # (t, gap, speed) of the last samples
        self._armed = True

    def feed(self, t, gap, speed, force=0.0):
        """Take one sample: time (s), gap (m), speed toward the string (m/s), force on the string (N)."""
        if not all(map(math.isfinite, (t, gap, speed, force))):
            return None
        self._past.append((t, gap, speed, force))
        del self._past[:-LOOK_BACK]
        if not self._armed:
            self._armed = gap > AGAIN
            return None
        best = max(self._past, key=lambda row: row[2])
        if best[2] < LEAST or speed > TURNED * best[2]:
            return None
        reach = min(row[1] - max(row[2], 0.0) * 1e-3 for row in self._past)     # as far as it would have come before the next
        if reach > NEAR and not any(row[3] > 0.0 for row in self._past):
            return None
        self._armed, self._past = False, []
        return Strike(best[0], best[2])


def strikes_of(t, gap, speed, force) -> list:
    """Return the strikes in arrays of samples."""
    follow = Strikes()
    return [strike for row in zip(t, gap, speed, force) if (strike := follow.feed(*map(float, row)))]
