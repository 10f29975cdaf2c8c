"""The device's clock as the host sees it: four time stamps, the quickest exchanges, a line through them."""

from collections import deque

WRAP = 1 << 32


def unwrap32(low, near) -> int:
    """Return the number nearest to `near` whose low 32 bits are `low`."""
    return near + ((low - near + WRAP // 2) % WRAP) - WRAP // 2


class ClockSync:
    """Offset and rate of a device's microsecond counter against the host's monotonic clock.

    Each exchange gives t1 (host, sent), t2 (device, received), t3 (device, sent), t4 (host, received). Its offset
    ((t2 - t1) + (t3 - t4)) / 2 is wrong by at most half its round trip (t4 - t1) - (t3 - t2): so only the quickest exchange
    of each span counts, and a line through the quickest of several spans follows the drift of the two quartzes.
    """

    SPANS, PER_SPAN = 6, 10         # at 10 exchanges a second: the last 6 s
    DRIFT_MAX = 300e-6              # more than any quartz; a noisy line is not believed beyond

    def __init__(self):
        self._spans = deque(maxlen=self.SPANS)      # [exchanges, t4, offset, round trip] of the quickest in each span
        self._line = None                           # (host time, offset there, drift)
        self.exchanges = 0
        self.round_trip_us = float('nan')           # the quickest that counts

    @property
    def is_known(self) -> bool:
        """Tell whether there was an exchange."""
        return self._line is not None

    @property
    def drift(self) -> float:
        """Return how much faster the device's clock runs, 1e-6 = 1 ppm."""
        return self._line[2]

    def add(self, t1, t2, t3, t4):
        """Take the stamps of one exchange, in us and already unwrapped; one that goes back in time is left out."""
        round_trip = (t4 - t1) - (t3 - t2)
        if t4 < t1 or t3 < t2 or round_trip < 0:
            return
        self.exchanges += 1
        offset = ((t2 - t1) + (t3 - t4)) / 2
        if not self._spans or self._spans[-1][0] >= self.PER_SPAN:
            self._spans.append([0, t4, offset, round_trip])
        last = self._spans[-1]
        last[0] += 1
        if round_trip <= last[3]:
            last[1:] = [t4, offset, round_trip]
        self._fit()

    def _fit(self):
        """Put a line through the spans, each weighed by what its round trip leaves open."""
        weights = [1.0 / (span[3] + 10.0)**2 for span in self._spans]
        total = sum(weights)
        t = sum(w * span[1] for w, span in zip(weights, self._spans)) / total
        offset = sum(w * span[2] for w, span in zip(weights, self._spans)) / total
        spread = sum(w * (span[1] - t)**2 for w, span in zip(weights, self._spans))
        drift = 0.0
        if len(self._spans) > 2 and spread > 0:
            drift = sum(w * (span[1] - t) * (span[2] - offset) for w, span in zip(weights, self._spans)) / spread
            drift = max(-self.DRIFT_MAX, min(self.DRIFT_MAX, drift))
        self._line = t, offset, drift
        self.round_trip_us = min(span[3] for span in self._spans)

    def to_device(self, host_us) -> float:
        """Return the device's time (us) at a host time (us)."""
        t, offset, drift = self._line
        return host_us + offset + drift * (host_us - t)

    def to_host(self, device_us) -> float:
        """Return the host's time (us) at a device time (us)."""
        t, offset, drift = self._line
        return t + (device_us - offset - t) / (1.0 + drift)
