"""Count what the loop's thread allocates: a counter before malloc, and the loop with and without the middleware.

The counter is a library of a few lines, built with the compiler that builds the virtual device, and loaded before libc. The
loop runs as in rosbotran; then its take and publish are exchanged for calls that do nothing, and what is left is its own.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.bench import loop as bench

TICKS = 500
COUNTER = '''
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>
#include <sys/syscall.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
volatile long watched, calls;
static void count(void) { if (watched && syscall(SYS_gettid) == watched) __sync_fetch_and_add(&calls, 1); }
void *malloc(size_t n) { count(); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { count(); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { count(); return __libc_realloc(p, n); }
'''


def measure(folder) -> dict:
    """Return allocations per tick of the loop's thread: 'own', and 'with_middleware'; the counter is built in `folder`."""
    from mbs_haptics.firmware.build import host_compiler
    source, target = Path(folder) / 'counter.c', Path(folder) / 'counter.so'
    source.write_text(COUNTER, encoding='utf-8')
    done = subprocess.run([*host_compiler(), '-O2', '-shared', '-fPIC', str(source), '-o', str(target)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MbsError(f'the counter of allocations could not be built: {done.stderr.strip().splitlines()[-1]}')
    feed = bench._start('feed', 0)
    try:
        environ = {**bench.environment(), 'LD_PRELOAD': str(target), 'HAPTIC_COUNTER': str(target)}
        done = subprocess.run([sys.executable, '-m', 'mbs_haptics.bench.allocations'], env=environ, stdout=subprocess.PIPE, text=True, check=False,
                              timeout=120)
        if done.returncode:
            raise MbsError('the measurement of allocations failed; its own words are above')
        return json.loads(done.stdout.strip().splitlines()[-1])
    finally:
        feed.stdin.close()
        feed.wait(20)


def counted() -> dict:
    """Run the loop in this process, before whose libc the counter was loaded, and count."""
    import ctypes

    from mbs_core.mechanisms import build
    from mbs_core.runtime import compile_model
    from mbs_haptics.bench.loop_peer import SAMPLES, SETPOINTS, _node, settings
    from mbs_haptics.realtime import ros
    node = _node('bench_allocations')
    loop = ros.make_loop(node, settings('timer'), compile_model(build('four_bar', driven=True)), sample_topic=SAMPLES, setpoint_topic=SETPOINTS)
    loop.start()
    counter = ctypes.CDLL(os.environ['HAPTIC_COUNTER'])
    watched, calls = (ctypes.c_long.in_dll(counter, name) for name in ('watched', 'calls'))

    def wait(done):
        end = time.monotonic() + 30.0
        while not done():
            if time.monotonic() > end:
                raise SystemExit('no sample came: the two processes did not find each other')
            time.sleep(0.01)

    def count():
        calls.value, n = 0, loop.block['ticks']
        watched.value = loop._thread.native_id
        wait(lambda: loop.block['ticks'] >= n + TICKS)
        watched.value = 0
        return calls.value / TICKS
    wait(lambda: loop.block['received'] > 50)
    loop.enable()
    wait(lambda: loop.block['gain'] == 1.0)
    out = {'with_middleware': count()}
    nothing = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value
    for name in ('take', 'publish'):           # a take that brings the same message again, a publish that does nothing
        loop.set_word(name, nothing)
    time.sleep(0.1)
    out['own'] = count()
    return out


if __name__ == '__main__':
    print(json.dumps(counted()), flush=True)
    os._exit(0)                    # the words that were exchanged must not be used for a farewell
