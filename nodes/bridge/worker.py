"""The thread of the bridge: frames in, samples out, set-points back; it alone touches the link."""

import collections
import os
import threading
import time

from mbs_core.errors import MbsError
from mbs_haptics.links import LinkEnded

POLL_S = 0.02


def real_minus_monotonic() -> int:
    """Return the difference of the two clocks in ns, from the quickest of a few readings."""
    tries = []
    for _ in range(5):
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, real - (before + after) // 2))
    return min(tries)[1]


class Worker:
    """Runs a session: every believable state becomes `publish(stamp ns, sequence, motions)`, every message that `take()`
    returns becomes a set-point. Services and diagnostics read its numbers; requests go through the session."""

    def __init__(self, session, pipeline, publish, take, read, on_end=None):
        self.session, self.pipeline = session, pipeline
        self._publish, self._take, self._read, self._on_end = publish, take, read, on_end
        self.active = False             # whether samples are published and set-points forwarded
        self.published = self.setpoints = 0
        self.setpoint_ns = 0            # when the last one was forwarded (monotonic)
        self.motions = None
        self.latencies_us = collections.deque(maxlen=1000)      # sample to accepted set-point, in the device's clock
        self.error = None
        self.notices = []
        self._offset, self._offset_due = real_minus_monotonic(), 0
        self._look_ns, self._look_due = 10_000_000, 0
        self._stop, self._thread = threading.Event(), None
        self._tap = self._echo = None
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        session.link.wake_fd = self._wake

    def look_always(self):
        """Look for set-points at every sample: nothing wakes the thread for them."""
        self._look_ns = 0

    @property
    def wake_fd(self) -> int:
        """Return the descriptor that wakes the thread when something is written to it."""
        return self._wake

    def start(self, priority=0):
        """Start the thread, with real-time priority where that is permitted."""
        self._thread = threading.Thread(target=self._main, args=(priority,), name='link', daemon=True)
        self._thread.start()

    def stop(self):
        """End the thread; the link gets zero force and is closed."""
        self._stop.set()
        os.eventfd_write(self._wake, 1)
        if self._thread is not None:
            self._thread.join(5.0)
            self._thread = None
        self.session.close()

    def readings(self, seconds, what=None) -> list:
        """Return what(state) of every state of the next seconds, from another thread; default: its raw counts."""
        found, end = [], time.monotonic() + seconds
        self._tap = (found, what or (lambda state: state.frame.values[7:13]))
        time.sleep(max(0.0, end - time.monotonic()))
        self._tap = None
        return found

    def _main(self, priority):
        if priority:
            from mbs_haptics.realtime import rights
            self.notices = rights.thread(priority)
        try:
            while not self._stop.is_set():
                self._turn()
        except LinkEnded as error:
            self.error = error
        except Exception as error:      # the node has to learn of it, whatever it is
            self.error = error
        if self._on_end is not None and not self._stop.is_set():
            self._on_end()

    def _turn(self):
        for state in self.session.poll(POLL_S):
            self._forward(state)
        link, now = self.session.link, time.monotonic_ns()
        if link.is_woken or now >= self._look_due:
            # Now and then also unasked: a wake-up may have come while the link was down.
            link.is_woken, self._look_due = False, now + self._look_ns
            try:
                os.eventfd_read(self._wake)
            except BlockingIOError:
                pass
            while (message := self._take()) is not None:
                self._back(message)

    def _note_latency(self, state):
        """Note how old the sample was that the last accepted set-point answers, when it was accepted."""
        echo, _, sample_us, age_us = state.frame.values[:4]
        if age_us < 100_000 and echo != self._echo:
            self._echo = echo
            self.latencies_us.append((state.t_us - age_us - sample_us) & 0xFFFFFFFF)

    def _forward(self, state):
        self._note_latency(state)
        tap = self._tap
        if tap is not None:
            tap[0].append(tap[1](state))
        motions = self.pipeline.take(state)
        self.motions = motions
        if motions is None or not self.active:
            return
        now = time.monotonic_ns()
        if now >= self._offset_due:
            self._offset, self._offset_due = real_minus_monotonic(), now + 1_000_000_000
        sync = self.session.clock_sync
        born = round(sync.to_host(state.t_us) * 1e3) if sync.is_known else state.arrived_ns
        self._publish(min(born, now) + self._offset, state.sequence, motions)
        self.published += 1

    def _back(self, message):
        found = self._read(message)
        if found is None or not self.active:
            return
        laws = self.pipeline.laws(found[1], found[2])
        if laws is not None and self.session.setpoint(*laws):
            self.setpoints += 1
            self.setpoint_ns = time.monotonic_ns()

    @property
    def setpoint_age(self) -> float:
        """Return how long ago a set-point was forwarded (s)."""
        return (time.monotonic_ns() - self.setpoint_ns) * 1e-9

    # -- requests, from other threads -------------------------------------------------------------
    def request(self, name) -> str:
        """Ask the device for ARM, DISARM, ESTOP or RESET; return '' or why it was not done."""
        if name == 'ARM' and self.setpoint_age > 0.2:
            return 'no set-points arrive, so the device would stop at once: start rosbotran, then enable again'
        pending = self.session.request(name)
        os.eventfd_write(self._wake, 1)
        return pending.wait()

    def tare(self, seconds=0.3) -> str:
        """Set the zero of velocity and force sensors from readings at rest; return what was done.

        Refused while the device is armed or the joint moves. Positions keep their zero: that is what `haptic calibrate` is for.
        """
        if self.session.is_armed:
            raise MbsError('calibration is refused while the device is armed: disable it first')
        moving = self.readings(0.1, lambda state: None if self.motions is None else [abs(m.qd) for m in self.motions])
        rows = self.readings(seconds)
        if len(rows) < 10 or not all(moving):
            raise MbsError('calibration is refused: the device gives no believable samples; run `haptic doctor`')
        done = [text for joint in self.pipeline.joints for text in joint.tare(rows)]
        return 'zeroed ' + ', '.join(done) if done else 'nothing to zero: the sensors of this device have fixed zeros'
