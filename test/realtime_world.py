"""A world for loops under test: virtual time, scripted samples, every published message kept. No ROS, no waiting.

The same script runs the native loop (through C callbacks) and the Python one, so that they can be compared bit by bit.
"""

import ctypes
from types import SimpleNamespace

from mbs_haptics.realtime import messages
from mbs_haptics.realtime.fallback import PythonLoop
from mbs_haptics.realtime.loop import Buffer, NativeLoop, address

EPOCH, WALL = 10 ** 12, 1_700_000_000 * 10 ** 9
MS = 10 ** 6


def codec():
    """Return the codec of JointState by rosbags, an implementation of CDR of its own."""
    return messages.rosbags_codec()


class World:
    """Virtual time around one loop.

    `arrivals` is [(time in ns, bytes)]; `busy(k)` is how long tick k takes, `late(k)` how late sleep k ends, both in ns;
    `actions` {tick: function(loop)} run when that tick publishes. Time is zero at the loop's start.
    """

    def __init__(self, settings, native, model=None, arrivals=(), busy=None, late=None, actions=None, ticks=50, joints=None):
        self.t, self.sleeps, self.ticks = 0, 0, ticks
        self.arrivals, self.busy, self.late, self.actions = sorted(arrivals), busy, late, actions or {}
        self.sent = []
        names = [c.joint for c in settings.channels]
        self.sample, self.setpoint = messages.joint_state(codec(), joints or names), messages.setpoint(codec(), names)
        if native:
            self.loop = NativeLoop(settings, self.sample, self.setpoint, model)
            self._native()
        else:
            self.loop = PythonLoop(settings, self.sample, self.setpoint, model, clock=lambda: EPOCH + self.t,
                                   wall=lambda: WALL + self.t, sleep=self.sleep)
            self.loop.inbox = self
            self.loop.senders[0] = self.publish

    # -- what both worlds do ---------------------------------------------------------------------
    def sleep(self, until):
        """Let time pass."""
        self.t = max(self.t, until - EPOCH)
        if self.late:
            self.t += int(self.late(self.sleeps))
        self.sleeps += 1

    def popleft(self):
        """Return the next message that has come and when, or None."""
        if not len(self):
            return None
        t, data = self.arrivals.pop(0)
        return data, EPOCH + t

    def __len__(self):
        return int(bool(self.arrivals and self.arrivals[0][0] <= self.t))

    def publish(self, data):
        """Keep a set-point, spend the tick's time, do what the script says."""
        k = len(self.sent)
        self.sent.append((self.t, bytes(data)))
        if self.busy:
            self.t += int(self.busy(k))
        if k in self.actions:
            self.actions[k](self.loop)
        if k + 1 >= self.ticks:
            self.loop.block['stop'] = 1.0
        return 0

    # -- C callbacks -----------------------------------------------------------------------------
    def _native(self):
        i32, i64, p = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p

        def write_time(at, ns):
            (i64 * 2).from_address(at)[:] = divmod(ns, 10 ** 9)
            return 0

        def nanosleep(clock, flags, at, rest):
            s, n = (i64 * 2).from_address(at)
            self.sleep(s * 10 ** 9 + n)
            return 0

        def take(handle, array, info, room):
            got = self.popleft()
            if got is None:
                return 401
            data, came = got
            (i64 * 2).from_address(info)[1] = came - EPOCH + WALL
            words = (i64 * 3).from_address(array)
            assert len(data) <= words[2]
            ctypes.memmove(words[0], data, len(data))
            words[1] = len(data)
            return 0

        def publish(handle, array, room):
            words = (i64 * 3).from_address(array)
            return self.publish(ctypes.string_at(words[0], words[1]))
        self.callbacks = {
            'clock_gettime': ctypes.CFUNCTYPE(i32, i32, p)(lambda c, at: write_time(at, (EPOCH if c else WALL) + self.t)),
            'clock_nanosleep': ctypes.CFUNCTYPE(i32, i32, i32, p, p)(nanosleep),
            'take': ctypes.CFUNCTYPE(i32, p, p, p, p)(take), 'publish': ctypes.CFUNCTYPE(i32, p, p, p)(publish)}
        for name, function in self.callbacks.items():
            self.loop.set_word(name, address(function))
        self.buffers = [Buffer(self.sample, capacity=4096), Buffer(self.setpoint)]
        for k, buffer in enumerate(self.buffers):
            self.loop.set_slot(k, buffer.words(0))

    # -- running ---------------------------------------------------------------------------------
    def run(self, rule='run'):
        """Run the loop in this thread until its script ends; return the set-points as a list of objects."""
        self.loop.prepare()
        self.loop.call(rule)
        return self.setpoints()

    def setpoints(self):
        """Return what was published, decoded."""
        n, out = len(self.loop.settings.channels), []
        for t, data in self.sent:
            stamp, sequence, answered = self.setpoint.read_head(data)
            effort = [self.setpoint.read(data, f'effort[{k}]') for k in range(3 * n)]
            out.append(SimpleNamespace(t=t, stamp=stamp, sequence=sequence, answered=answered, force=effort[:n], k=effort[n:2 * n],
                                       b=effort[2 * n:], q=[self.setpoint.read(data, f'position[{i}]') for i in range(n)]))
        return out


def samples(layout, motion, n, start=MS // 2, period=MS, first=0):
    """Return n arrivals, one a period: `motion(seconds)` gives a list of (q, v, effort) of every joint."""
    out = []
    for k in range(n):
        t = start + k * period
        values = {f'{a}[{j}]': v for j, row in enumerate(motion(t * 1e-9)) for a, v in zip(('position', 'velocity', 'effort'), row)}
        out.append((t, layout.message(WALL + t, first + k, values)))
    return out
