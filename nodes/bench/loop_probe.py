"""The other ends of the loop's benchmark, native like the loop: a bare sleeping loop, a device that times its answers, a UDP echo.

Bare loop and device are kernels on the same primitives as the loop itself, so that all of them make the same system calls.
"""

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np

from mbs_core.runtime import library
from mbs_core.symbolic.program import Layout
from mbs_haptics.realtime import primitives, program
from mbs_haptics.realtime.loop import address
from mbs_haptics.realtime.messages import DIGITS
from mbs_haptics.realtime.receive import digits
from mbs_haptics.realtime.settings import SAMPLE
from mbs_haptics.realtime.tick import write_digits

ROOM = 200_000             # round trips kept


def bare(x, n: int, period: int) -> None:
    """Sleep to n absolute deadlines and keep how late each was: the whole of a bare real-time loop."""
    due = now(x) + period
    for k in range(n):
        sleep_until(x, due)
        t = now(x)
        x[TIMES + k] = float(t - due)
        due += period
        if t >= due:
            due += (t - due) // period * period + period


def run(x) -> int:
    """Publish a sample at every deadline, with its sequence, and remember when."""
    due = now(x) + PERIOD
    while x[STOP] == 0.0:
        sleep_until(x, due)
        k = int(x[COUNT])
        stamp = wall(x)
        put_int(x, 1, OUT_STAMP, stamp // 1000000000)
        put_int(x, 1, OUT_STAMP + 4, stamp % 1000000000)
        write_digits(x, 1, OUT_DIGITS, k)
        put_float(x, 1, OUT_Q, 1.0 + 1e-4 * float(k % 100))
        t = now(x)
        x[SENT + k % ROOM] = float(t)
        x[COUNT] += 1.0
        publish(x, 1)
        due += PERIOD
        t = now(x)
        if t >= due:
            due += (t - due) // PERIOD * PERIOD + PERIOD
    return int(x[COUNT])


def on_sample(x) -> None:
    """Note the time from a sample to the set-point that answers it."""
    if x[RAISED] == 0.0:
        x[RAISED] = 1.0
        raise_priority(x)
    while True:
        kind = take(x)
        if kind == 0:
            break
        t = now(x)
        k = digits(x, 0, ANSWERED)
        if k >= 0 and k < int(x[COUNT]):
            x[TIMES + k % ROOM] = float(t) - x[SENT + k % ROOM]


class Probe:
    """A native device: samples out, answers timed. It has the parts of a loop that a link connects to."""

    class _Settings:
        wake = SAMPLE

    def __init__(self, setpoint, sample, period_ns):
        layout = Layout()
        for name, size in (('stop', 1), ('count', 1), ('raised', 1), ('times', ROOM), ('sent', ROOM), ('info', primitives.INFO),
                           ('words', len(primitives.WORDS) + 8 * primitives.SLOT)):
            layout.add(name, size)
        self.layout, self.x = layout, np.zeros(layout.total)
        constants = {name.upper(): layout.offset(name) for name in layout.names()}
        constants.update(PERIOD=period_ns, ROOM=ROOM, DIGITS=DIGITS, ANSWERED=setpoint.answered, OUT_STAMP=sample.stamp,
                         OUT_DIGITS=sample.digits, OUT_Q=sample.places['position[0]'])
        self.library = program.compile_native(program.build(layout, constants, (digits, write_digits, bare, run, on_sample), 'probe'))
        self.settings, self.block, self.sample = self._Settings, self, setpoint
        self.outlets = [type('Out', (), {'layout': sample})]
        self.words = self.x.view(np.int64)[layout.slice('words')]
        libc = ctypes.CDLL(None)
        for name in ('clock_gettime', 'clock_nanosleep', 'sched_setscheduler'):
            self.set_word(name, address(getattr(libc, name)))

    def set_word(self, name, value):
        """Set an integer cell of the native code."""
        self.words[primitives.WORDS.index(name)] = value

    def set_slot(self, k, words):
        """Set the words of a message."""
        first = len(primitives.WORDS) + primitives.SLOT * k
        self.words[first:first + primitives.SLOT] = words

    def view(self, name):
        """Return an array by name."""
        return self.x[self.layout.slice(name)]

    def call(self, name, *args):
        """Run a kernel."""
        return self.library.call(name, self.x, *args)


_UDP = """
define void @echo(ptr %recv, ptr %send, i32 %socket, ptr %room, i64 %size) {
entry:
  br label %again
again:
  %n = call i64 %recv(i32 %socket, ptr %room, i64 %size, i32 0)
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %answer, label %done
answer:
  %m = call i64 %send(i32 %socket, ptr %room, i64 %n, i32 0)
  br label %again
done:
  ret void
}
define i64 @trip(ptr %recv, ptr %send, i32 %socket, ptr %room, i64 %size) {
  %m = call i64 %send(i32 %socket, ptr %room, i64 %size, i32 0)
  %n = call i64 %recv(i32 %socket, ptr %room, i64 %size, i32 0)
  ret i64 %n
}
"""


@functools.cache
def _udp():
    module = llvm.parse_assembly(_UDP)
    library.host()
    module.triple = llvm.get_process_triple()
    made = library.Library.from_object(library.machine().emit_object(module), {'echo': ('void',), 'trip': ('int',)})
    p, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    libc = ctypes.CDLL(None)
    functions = {'echo': ctypes.CFUNCTYPE(None, p, p, i32, p, i64)(made.address('echo')),
                 'trip': ctypes.CFUNCTYPE(i64, p, p, i32, p, i64)(made.address('trip'))}
    return made, functions, address(libc.recv), address(libc.send)


def udp(name, socket, size):
    """Run 'echo' (until a packet of no bytes) or 'trip' (one there and back) natively on a connected socket."""
    _, functions, recv, send = _udp()
    room = (ctypes.c_char * size)()
    return functions[name](recv, send, socket.fileno(), room, size)
