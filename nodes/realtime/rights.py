"""Rights of a real-time thread: priority, locked memory, a processor of its own, a quiet garbage collector.

Each is taken when permitted; where it isn't, one sentence says so and what to do. None of them is needed for correctness.
"""

import ctypes
import gc
import os

_CURRENT, _FUTURE = 1, 2              # mlockall
_TIMER_SLACK = 29                     # prctl


def _libc():
    return ctypes.CDLL(None, use_errno=True)


def thread(priority=0, cpu=None) -> list:
    """Give the calling thread exact timers, SCHED_FIFO at `priority` (0: leave it) and a processor; return the notices."""
    notices = []
    _libc().prctl(_TIMER_SLACK, 1, 0, 0, 0)     # 50 us by default, which every wake-up of a normal thread would be late
    if priority:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except (OSError, ValueError) as error:
            notices.append(f'SCHED_FIFO {priority} was refused ({_why(error)}), wake-ups may be late under load: run as root, or put '
                           "'@realtime - rtprio 90' into /etc/security/limits.d/ and join that group")
    if cpu is not None:
        try:
            os.sched_setaffinity(0, {cpu})
        except (OSError, ValueError) as error:
            notices.append(f'processor {cpu} was refused ({_why(error)}): choose one of {sorted(os.sched_getaffinity(0))}')
    return notices


def is_fifo() -> bool:
    """Tell whether the calling thread runs under SCHED_FIFO."""
    return os.sched_getscheduler(0) == os.SCHED_FIFO


def memory() -> list:
    """Lock all memory of the process, now and later; return the notices."""
    libc = _libc()
    if libc.mlockall(_CURRENT | _FUTURE) == 0:
        return []
    libc.munlockall()
    return [f'memory could not be locked ({os.strerror(ctypes.get_errno())}), a page fault may delay a tick: run as root, or put '
            "'@realtime - memlock unlimited' into /etc/security/limits.d/ and join that group"]


def collector() -> list:
    """Tidy up once and exempt what lives now from collection; the native loop doesn't care, the fallback does."""
    gc.collect()
    gc.freeze()
    return []


def _why(error):
    return os.strerror(error.errno) if getattr(error, 'errno', None) else str(error)
