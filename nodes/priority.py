"""The priority of the middleware's threads, which the loop and the link wait for now and then."""

import contextlib
import os

MIDDLEWARE = 75         # below the loop (80), above the link (70)


@contextlib.contextmanager
def inherited_priority(priority):
    """Let threads that are started inside run under SCHED_FIFO, where permitted; the calling thread itself goes back.

    Publishing waits for locks that the middleware's discovery holds for a moment. Were those threads of normal priority, a busy
    machine could keep them, and with them the loop, waiting for a tenth of a second.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass                        # the loop tells about missing rights
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
