"""The fallback: the same rules as plain Python on rclpy, for machines where librcl's C interface can't be used.

Same settings, same face, same set-points to the last bit; what differs is how late it is when Python is busy.
"""

import struct
import threading
import time
from collections import deque

from mbs_haptics.realtime import program
from mbs_haptics.realtime.base import Loop


class PythonLoop(Loop):
    """The loop as Python functions. Its link puts (raw message, time on `clock`) into `inbox` and publishes through `senders`.

    `clock` and `sleep` can be replaced: now in ns, and wait until a time in ns, both on one monotonic clock.
    """

    def __init__(self, *args, clock=time.monotonic_ns, wall=time.time_ns, sleep=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.inbox = deque(maxlen=64)
        self.senders = [None] * len(self.outlets)
        self.clock, self.wall = clock, wall
        self.sleep = sleep or (lambda until: time.sleep(max(0.0, (until - self.clock()) * 1e-9)))
        self.link = None
        self._sample = self.block.sample
        self._buffers = [bytearray(self._sample.data), *(bytearray(o.layout.data) for o in self.outlets)]
        self._lock = threading.Lock()
        self._memory = memoryview(self.block.x)
        self._whole = memoryview(self.block.x.view('int64'))
        self._epoch = self._came = 0
        self._rules = program.as_python(self.program, self._primitives())

    def call(self, name, *args):
        """Run a rule in Python."""
        return self._rules[name](self._memory, *args)

    def prepare(self):
        """Set the loop's zero of time and let the link open."""
        self._epoch = self.clock()
        if self._lock.locked():
            self._lock.release()
        if self.link:
            self.link.open(self)

    def stop(self, timeout=2.0):
        """Close the link, then stop."""
        if self.link and self.running:
            self.link.close(self)
        super().stop(timeout)

    def _take(self, x):
        if not self.inbox:
            return 0
        data, self._came = self.inbox.popleft()
        self._buffers[0] = data
        return 1 if self._sample.matches(data) else 2

    def _publish(self, x, slot):
        try:
            self.senders[slot - 1](bytes(self._buffers[slot]))
        except Exception:                     # whatever the middleware raises counts as not published
            return 1
        return 0

    def _primitives(self):
        """Return the primitives by name, each on the block `x` like the native ones."""
        def put_byte(x, slot, at, value):
            self._buffers[slot][at] = value

        def put_int(x, slot, at, value):
            struct.pack_into('<i', self._buffers[slot], at, value)

        def put_float(x, slot, at, value):
            struct.pack_into('<d', self._buffers[slot], at, value)

        def set_word(x, k, value):
            self._whole[k] = value
        out = {
            'now': lambda x: self.clock() - self._epoch, 'wall': lambda x: self.wall(),
            'sleep_until': lambda x, due: self.sleep(due + self._epoch),
            'try_lock': lambda x: int(self._lock.acquire(blocking=False)), 'unlock': lambda x: self._lock.release(),
            'take': self._take, 'waited': lambda x: self.clock() - self._came, 'publish': self._publish,
            'get_byte': lambda x, slot, at: self._buffers[slot][at], 'put_byte': put_byte,
            'get_int': lambda x, slot, at: struct.unpack_from('<i', self._buffers[slot], at)[0], 'put_int': put_int,
            'get_float': lambda x, slot, at: struct.unpack_from('<d', self._buffers[slot], at)[0], 'put_float': put_float,
            'get_word': lambda x, k: self._whole[k], 'set_word': set_word, 'raise_priority': lambda x: None}
        if self.model:
            library, block = self.model.unit.library, self.block.x.ctypes.data
            advance, pre = library.function('advance'), library.function('pre')
            outputs = library.function('outputs') if 'outputs' in library.signatures else pre
            out.update(model_advance=lambda x, h, substeps, method: advance(block, h, substeps, 1, method),
                       model_pre=lambda x: pre(block), model_outputs=lambda x: outputs(block))
        return out
