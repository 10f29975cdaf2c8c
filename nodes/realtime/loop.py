"""The native loop: one compiled function on a thread of its own, holding no lock of Python's."""

import ctypes

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.realtime import program
from mbs_haptics.realtime.base import Loop


def address(function) -> int:
    """Return the address of a ctypes function."""
    return ctypes.cast(function, ctypes.c_void_p).value


class Buffer:
    """A serialised message in native memory: the words of a rcutils_uint8_array_t, with template and mask beside."""

    def __init__(self, layout, allocator=(0, 0, 0, 0, 0), memory=None, capacity=0):
        self.layout = layout
        size = len(layout.data)
        self.bytes = np.zeros(max(capacity, size), np.uint8)
        self.bytes[:size] = np.frombuffer(layout.data, np.uint8)
        self.template = np.zeros(8 + size, np.uint8)
        self.template[:8] = np.frombuffer(np.int64(size).tobytes(), np.uint8)
        self.template[8:] = np.frombuffer(layout.data, np.uint8)
        self.mask = np.frombuffer(layout.mask, np.uint8).copy()
        self.array = np.array([memory or self.bytes.ctypes.data, size, capacity or size, *allocator], np.int64)

    def words(self, handle) -> tuple:
        """Return the words of its slot."""
        return handle, self.array.ctypes.data, self.template.ctypes.data, self.mask.ctypes.data


class NativeLoop(Loop):
    """The loop as native code. A link connects its words to messages before it starts (see ros.connect)."""

    native = True

    def __init__(self, *args, cache=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.library = program.compile_native(self.program, cache)
        self.link = None
        libc = ctypes.CDLL(None)
        functions = {name: address(getattr(libc, name)) for name in ('clock_gettime', 'clock_nanosleep', 'sched_setscheduler')}
        if self.model:
            functions.update((name, self.model.address(name)) for name in ('advance', 'pre', 'outputs')
                             if name in self.model.unit.signatures)
        for name, value in functions.items():
            self.set_word(name, value)

    def set_word(self, name, value):
        """Set an integer cell that the native code reads: the address of a function, or a number."""
        self.block.words[self.block.word(name)] = value

    def set_slot(self, k, words):
        """Set handle, message, template and mask of message k: 0 is the sample, 1 the set-point, then the other outlets."""
        self.block.words[self.block.slot(k)] = words

    def call(self, name, *args):
        """Run a rule natively."""
        return self.library.call(name, self.block.x, *args)

    def prepare(self):
        """Set the loop's zero of time and let the link open."""
        if not self.block.words[self.block.word('take')]:
            raise MbsError('the loop has no messages: connect it to topics before it starts')
        self.set_word('epoch', self.epoch())
        self.set_word('lock', 0)
        self.set_word('priority', 0)
        if self.link:
            self.link.open(self)

    def epoch(self) -> int:
        """Return the present time on the clock in use, in ns."""
        room = (ctypes.c_int64 * 2)()
        get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(int(self.block.words[self.block.word('clock_gettime')]))
        get(1, room)
        return room[0] * 10 ** 9 + room[1]

    def thread_ready(self, fifo):
        """Let the thread that receives samples rise to the same priority, if this one was permitted to."""
        if fifo:
            self.set_word('priority', self.priority)
            self.block['raised'] = 0.0          # a sample may have come before

    def stop(self, timeout=2.0):
        """Close the link's callback first, so that no tick starts any more, then stop."""
        if self.link and self.running:
            self.link.close(self)
        super().stop(timeout)
