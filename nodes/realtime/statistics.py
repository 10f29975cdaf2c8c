"""Bookkeeping of the loop: histograms of nanoseconds filled by kernels, read as percentiles by everybody else.

A histogram has 32 bins per octave (3 % wide) up to 18 minutes: no range to choose, nothing to allocate, the largest
value is kept exactly beside it.
"""

import numpy as np

HISTOGRAMS = ('lateness', 'period', 'execution', 'age')
BINS = 36 * 32


def record(x, h: int, ns: int) -> None:
    """Count a time in histogram h and keep the largest."""
    v = max(ns, 0)
    x[LARGEST + h] = max(x[LARGEST + h], float(v))
    octave = 0
    while v >= 64:
        v = v // 2
        octave += 1
    place = 32 * octave + v
    if place >= BINS:
        place = BINS - 1
    x[HISTOGRAM + h * BINS + place] += 1.0


def edges() -> np.ndarray:
    """Return the upper edge of every bin in nanoseconds."""
    k = np.arange(BINS)
    octave = np.maximum(k // 32 - 1, 0)
    return (k - 32 * octave + 1) * 2.0 ** octave


def percentile(counts, largest: float, share: float) -> float:
    """Return the time in ns below which `share` (0 to 1) of the counted values lie, NaN if nothing was counted."""
    total = counts.sum()
    if not total:
        return float('nan')
    place = int(np.searchsorted(np.cumsum(counts), share * total))
    return float(min(edges()[place], largest))


def summary(counts, largest: float) -> dict:
    """Return count, mean (to a bin), p50, p99, p99.9 and the largest of a histogram, in microseconds."""
    total = float(counts.sum())
    mean = float((counts * edges()).sum() / total) if total else float('nan')
    out = {'count': int(total), 'mean_us': mean / 1e3}
    for name, share in (('p50_us', 0.5), ('p99_us', 0.99), ('p99.9_us', 0.999)):
        out[name] = percentile(counts, largest, share) / 1e3
    out['max_us'] = largest / 1e3 if total else float('nan')
    return out
