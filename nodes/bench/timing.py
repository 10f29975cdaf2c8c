"""Time several ways of doing one thing, interleaved, so that the noise of the machine hits all of them alike."""

import gc
import statistics
import time

LEAST = 2e-3         # seconds per measurement: long against the clock, short against the scheduler


def interleaved(runs: dict, rounds: int = 15, least: float = LEAST) -> dict:
    """Return {name: seconds per call}, the best of `rounds`; `runs` maps names to run(n), which makes n calls.

    Each run is first sized to last `least` seconds; then all take turns. The best round is the one with the least
    disturbance, for every candidate alike.
    """
    sizes = {name: _size(run, least) for name, run in runs.items()}
    seen = {name: [] for name in runs}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                start = time.perf_counter()
                run(sizes[name])
                seen[name].append((time.perf_counter() - start) / sizes[name])
    finally:
        if enabled:
            gc.enable()
    return {name: min(times) for name, times in seen.items()}


def _size(run, least):
    """Return how many calls last about `least` seconds."""
    batch = getattr(run, 'batch', 1)      # some runs come in whole batches only
    run(1)
    n = batch
    while True:
        start = time.perf_counter()
        run(n)
        took = time.perf_counter() - start
        if took >= least:
            return n
        n = max(2 * n, min(100 * n, int(1.2 * n * least / max(took, 1e-7)) // batch * batch))


def once(action):
    """Return (result, seconds) of one call."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def median(values) -> float:
    """Return the median of the values."""
    return float(statistics.median(values))
