"""The conversation with a device over any link: handshake, sequence, clock, requests, loss, and coming back after loss.

A session never waits longer than the timeout of `poll` and is used by one thread; only `request` may be called by others.
"""

import collections
import random
import threading
import time
from typing import NamedTuple

from mbs_core.errors import MbsError
from mbs_haptics.links.base import LinkEnded, LinkError
from mbs_haptics.links.clock import ClockSync, unwrap32
from mbs_haptics.wire import codec, handshake
from mbs_haptics.wire import definition as wire

CLOSED, GREETING, READY = 'closed', 'greeting', 'ready'
STATES = {number: name for name, (number, _) in wire.ENUMS['state'].items()}
ARMED = tuple(wire.ENUMS['state'][name][0] for name in ('RAMP', 'ACTIVE'))
ZERO = (0.0, 0.0, 0.0, 0.0)
REQUESTS = ('ARM', 'DISARM', 'ESTOP', 'RESET')
RING = 1 << 10              # set-points whose sending time is remembered


class State(NamedTuple):
    """A state frame with its numbers continued: sequence and device time (us) never wrap; `lost` were missing before it."""

    sequence: int
    t_us: int
    lost: int
    is_first: bool          # of a connection: nothing before it is related
    frame: codec.Frame
    arrived_ns: int


class Pending:
    """A request on its way; `wait` returns '' when the device has done it, else one sentence."""

    def __init__(self, name):
        self.name, self.sentence = name, None
        self.deadline_ns = None
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Tell whether there is an answer."""
        return self._done.is_set()

    def finish(self, sentence):
        """Note the answer."""
        self.sentence = sentence
        self._done.set()

    def wait(self, timeout=2.0) -> str:
        """Return '' or the reason why it was not done."""
        return self.sentence if self._done.wait(timeout) else f'{self.name} got no answer in {timeout:g} s: is the link running?'


class Session:
    """One device over one link; call `poll` all the time, it returns the new states."""

    SILENCE_S = 0.5             # nothing comes for so long: the device is gone
    GREETING_S = 2.0            # no HELLO for so long: nobody there who speaks this protocol
    ANSWER_S = 0.5
    BACK_OFF_S = (0.1, 2.0)     # between attempts to reconnect: first, longest; doubled each time
    UNACKNOWLEDGED = 4          # set-points on a stream that the device has not echoed: more would only grow old

    def __init__(self, link, app=None, sync_hz=10.0, first_sequence=0, clock=time.monotonic_ns, sleep=time.sleep):
        self.link, self.app = link, app
        self.phase, self.device, self.problem = CLOSED, None, ''
        self.clock_sync = ClockSync()
        self.states = self.lost = self.repeated = self.connections = self.skipped = 0
        self.counters, self.fault_report, self.flags, self.fault = {}, {}, 0, 0
        self.round_trips_us = collections.deque(maxlen=4096)     # of clock exchanges
        self.largest_gap_us = 0                                  # between arrivals
        self._now, self._sleep = clock, sleep
        self._sync_ns = round(1e9 / sync_hz)
        self._back_off = self.BACK_OFF_S[0]
        self._next_try = self._deadline = self._last_heard = self._next_hello = self._next_sync = self._next_counters = 0
        self._queue, self._waiting = collections.deque(), None
        self._last_seq, self._sequence, self._t_us = None, first_sequence, 0
        self._setpoint_seq, self._setpoint_ns, self._echo = random.randrange(1 << 16), 0, None
        self._ticket = None

    # -- what the caller wants ----------------------------------------------------------------
    @property
    def is_ready(self) -> bool:
        """Tell whether the handshake is done and the device is heard."""
        return self.phase == READY

    @property
    def is_armed(self) -> bool:
        """Tell whether the device is allowed to apply force, by its last state."""
        return self.phase == READY and self.flags in ARMED

    @property
    def state_name(self) -> str:
        """Return the device's state as a word."""
        return STATES.get(self.flags, f'state {self.flags}').lower() if self.phase == READY else self.phase

    def connect(self, timeout=5.0):
        """Poll until the device has introduced itself; MbsError says why it did not.

        The time counts from when the link is open: opening that of a virtual device may build its firmware first.
        """
        self.poll(0.0)
        end = self._now() + round(timeout * 1e9)
        while self.phase != READY:
            self.poll(0.02)
            if self.problem and self.phase == CLOSED:
                problem = self.problem
                self.close()
                raise MbsError(problem)
            if self._now() > end:
                self.close()
                raise MbsError(self._nobody())
        return self.device

    def poll(self, timeout) -> list:
        """Return the States that came within timeout (s), after doing all that is due."""
        now = self._now()
        if self.phase == CLOSED and not self._reopen(now, timeout):
            return []
        try:
            frames = self.link.read(timeout)
        except LinkEnded as error:
            self._drop(str(error))
            raise
        except LinkError as error:
            self._drop(str(error))
            return []
        now = self._now()
        states = []
        for frame in frames:
            self._take(frame, now, states)
        if frames:
            self._note_arrival(now)
        self._keep_house(now)
        return states

    def setpoint(self, laws, t_us) -> bool:
        """Send a local law (F0, q0, K, B) per actuator, computed from the sample of device time t_us.

        Zero goes out while the device is not armed, so that it can be armed and reset. Returns whether it was sent: not when
        the link is down or the device is several set-points behind.
        """
        if self.phase != READY:
            return False
        now = self._now()
        if self.link.is_stream and self._echo is not None and now - self._setpoint_ns < 20_000_000 and \
                (self._setpoint_seq - self._echo) & 0xFFFF > self.UNACKNOWLEDGED:
            self.skipped += 1
            return False
        if self.flags not in ARMED:
            laws = (ZERO,) * len(laws)
        return self._send_setpoint([number for law in laws for number in law], t_us, now)

    def request(self, name) -> Pending:
        """Ask for ARM, DISARM, ESTOP or RESET, from any thread; an ESTOP overtakes the others."""
        pending = Pending(name)
        if name not in REQUESTS:
            pending.finish(f"there is no request '{name}'")
        elif self.phase != READY:
            pending.finish(f'the device is not connected: {self.problem or "wait for the handshake"}')
        elif name == 'ESTOP':
            self._queue.appendleft(pending)
        else:
            self._queue.append(pending)
        return pending

    def close(self):
        """Send zero force, disarm and close the link."""
        if self.phase == READY:
            self._send_setpoint([0.0] * 4 * len(self.device.actuators), self._t_us, self._now())
            self.link.write(codec.encode('DISARM'))
        self._finish_all('the link was closed')
        self.phase = CLOSED
        self.link.close()
        getattr(self.link, 'shut', lambda: None)()

    # -- connection -----------------------------------------------------------------------------
    def _nobody(self):
        return (f"no device answers at '{self.link.name}': is it the right port, is the device powered and its firmware flashed "
                '(`haptic firmware flash`)?')

    def _reopen(self, now, timeout) -> bool:
        if now < self._next_try:
            self._sleep(min(timeout, (self._next_try - now) * 1e-9))
            return False
        try:
            self.link.open()
        except LinkError as error:
            self._drop(str(error))
            return False
        now = self._now()               # opening may have taken its time
        self.phase, self._deadline, self._next_hello = GREETING, now + round(self.GREETING_S * 1e9), now
        self._keep_house(now)
        return True

    def _drop(self, problem):
        """Close the link and say when to try again."""
        self.problem, self.phase, self.flags = problem, CLOSED, 0
        self._finish_all(problem)
        self.link.close()
        self._next_try = self._now() + round(self._back_off * 1e9)
        self._back_off = min(2 * self._back_off, self.BACK_OFF_S[1])

    def _greet(self, frame):
        try:
            self.device = handshake.greet(frame, self.app)
        except codec.WireError as error:
            self._drop(str(error))
            return
        self.phase, self.problem, self._back_off = READY, '', self.BACK_OFF_S[0]
        self.connections += 1
        self.clock_sync = ClockSync()
        self._ticket, self._last_seq, self._echo = self.device.ticket, None, None
        self._state = wire.BY_NAME[self.device.state]
        self._last_heard = self._next_sync = self._next_counters = self._now()

    def _keep_house(self, now):
        if self.phase == GREETING:
            if self.link.foreign is not None:
                self._drop(codec.version_sentence(self.link.foreign))
            elif now > self._deadline:
                self._drop(self._nobody())
            elif now >= self._next_hello:
                self._next_hello = now + 200_000_000
                self.link.write(handshake.hello_request())
        elif self.phase == READY:
            if now - self._last_heard > self.SILENCE_S * 1e9:
                self._drop(f"the device at '{self.link.name}' has fallen silent: check its power and cable")
                return
            if now >= self._next_sync:
                self._next_sync = now + self._sync_ns
                self.link.write(codec.encode('SYNC_REQUEST', (self._now() // 1000 & 0xFFFFFFFF,)))
            if now >= self._next_counters:
                self._next_counters = now + 1_000_000_000
                self.link.write(codec.encode('COUNTERS_REQUEST'))
            self._serve(now)

    # -- frames ---------------------------------------------------------------------------------
    def _take(self, frame, now, states):
        if self.phase == READY and frame.message is self._state:
            state = self._continue(frame, now)
            if state is not None:
                states.append(state)
            return
        handler = self._HANDLERS.get(frame.name)
        if handler is not None:
            handler(self, frame, now)

    def _continue(self, frame, now):
        """Return the State of a state frame, None for one that came twice or late."""
        first = self._last_seq is None
        ahead = 1 if first else (frame.seq - self._last_seq) & 0xFFFF
        if ahead == 0 or ahead >= 0x8000:
            self.repeated += 1
            return None
        self._last_seq = frame.seq
        self._sequence += ahead
        self._t_us = frame.t_us if first else unwrap32(frame.t_us, self._t_us)
        self.states += 1
        self.lost += ahead - 1
        self.flags, self.fault = frame.flags, frame.values[1]
        self._echo = frame.values[0]
        return State(self._sequence, self._t_us, ahead - 1, first, frame, now)

    def _note_arrival(self, now):
        if self.phase == READY:
            gap = (now - self._last_heard) // 1000
            if gap > self.largest_gap_us:
                self.largest_gap_us = gap
            self._last_heard = now

    def _on_hello(self, frame, now):
        if self.phase == GREETING:
            self._greet(frame)

    def _on_sync(self, frame, now):
        t4 = now // 1000
        t1 = unwrap32(frame['t1_us'], t4)
        t2 = unwrap32(frame['t2_us'], self._t_us)
        t3 = unwrap32(frame.t_us, t2)
        self.round_trips_us.append((t4 - t1) - (t3 - t2))
        self.clock_sync.add(t1, t2, t3, t4)

    def _on_reply(self, frame, now):
        self._ticket = frame['ticket']
        if self._waiting is not None and wire.BY_NAME[self._waiting.name].type == frame['request']:
            self._waiting.finish(handshake.answer(frame))
            self._waiting = None

    def _on_counters(self, frame, now):
        self.counters = frame.as_dict()

    def _on_fault(self, frame, now):
        self.fault_report = frame.as_dict()

    _HANDLERS = {'HELLO': _on_hello, 'SYNC': _on_sync, 'REPLY': _on_reply, 'COUNTERS': _on_counters, 'FAULT': _on_fault}

    # -- set-points and requests ----------------------------------------------------------------
    def _send_setpoint(self, numbers, t_us, now) -> bool:
        self._setpoint_seq = (self._setpoint_seq + 1) & 0xFFFF
        self._setpoint_ns = now
        return self.link.write(codec.encode(self.device.setpoint, numbers, self._setpoint_seq, t_us))

    def _serve(self, now):
        """Send the next request, or give up on the one that got no answer."""
        waiting = self._waiting
        if waiting is not None:
            if now > waiting.deadline_ns:
                waiting.finish(f'the device did not answer {waiting.name} in {self.ANSWER_S:g} s: check the link with `haptic doctor`')
                self._waiting = None
            elif not (self._queue and self._queue[0].name == 'ESTOP'):
                return
        if not self._queue:
            return
        if self._waiting is not None:
            self._waiting.finish(f'{self._waiting.name} was overtaken by an emergency stop')
        pending = self._waiting = self._queue.popleft()
        pending.deadline_ns = now + round(self.ANSWER_S * 1e9)
        if pending.name in ('ARM', 'RESET'):
            self._send_setpoint([0.0] * 4 * len(self.device.actuators), self._t_us, now)
        if pending.name == 'ARM':
            self.link.write(self.device.arm(self._ticket))
        elif pending.name == 'RESET':
            self.link.write(handshake.reset(self.fault, self._ticket))
        else:
            self.link.write(codec.encode(pending.name))

    def _finish_all(self, sentence):
        if self._waiting is not None:
            self._waiting.finish(sentence)
            self._waiting = None
        while self._queue:
            self._queue.popleft().finish(sentence)
