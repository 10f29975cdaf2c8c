"""Find the phases A-B-C-D of 001, Fig. 24 in a curve of force over key travel, by rules and not by eye.

A: the force rises from nothing to the weight of the action. B: it travels, nearly level, the damper picked up on the way.
C: the escapement, a hump before the bottom. D: the felt under the key. Positions in m, forces in N.
"""

from dataclasses import dataclass

import numpy as np

STEP = 2e-5             # m between points of the smoothed curve
SMOOTH = 3e-4           # m over which it is averaged
HUMP = 0.12             # N that an escapement stands out at least
WALL = 4000.0           # N/m from which on a rise is that of a felt under the key
REACHED = 0.8           # part of the level of the travel that ends the first rise
ONSET = 0.25            # part of the hump's height where it begins
NEAR = 2.5e-3           # m before the bottom: where an escapement may be


@dataclass(frozen=True)
class Phases:
    """The curve (x, f), smoothed, and its phases: (begin, end) in m, or None where there is none.

    `level` is the force of the travel (N), `peak` = (position, force) of the escapement, `pick_up` where the damper is met.
    """

    x: np.ndarray
    f: np.ndarray
    a: tuple | None
    b: tuple | None
    c: tuple | None
    d: tuple | None
    level: float
    peak: tuple | None
    pick_up: float | None

    @property
    def found(self) -> str:
        """Return the letters of the phases that are there, e.g. 'ABCD'."""
        return ''.join(letter for letter in 'ABCD' if getattr(self, letter.lower()) is not None)


def smooth_curve(x, f, smooth=SMOOTH):
    """Return (x, f) of a downward stroke on a regular grid, averaged over `smooth` metres."""
    x, f = np.asarray(x, float), np.asarray(f, float)
    order = np.argsort(x, kind='stable')
    grid = np.arange(max(x.min(), 0.0), x.max(), STEP)
    total = np.concatenate([[0.0], np.cumsum(f[order])])
    first, last = (np.searchsorted(x[order], grid + side * smooth / 2) for side in (-1, 1))
    count = np.maximum(last - first, 1)
    mean = np.where(last > first, (total[last] - total[first]) / count, np.interp(grid, x[order], f[order]))
    return grid, mean


def find_phases(x, f) -> Phases:
    """Return the phases of a slow downward stroke from rest: positions x (m, growing), forces f (N)."""
    x, f = np.asarray(x, float), np.asarray(f, float)
    grid, force = smooth_curve(x, f)
    d = bottom(x, f)
    end = d[0] if d else grid[-1]
    before = grid < end - 1e-4
    travel = before & (grid > 0.1 * end) & (grid < 0.7 * end)
    level = float(np.median(force[travel])) if travel.any() else float('nan')
    c, peak = escapement(grid[before], force[before], end)
    a = first_rise(*smooth_curve(x, f, 5e-5), level, c[0] if c else end)
    b = (a[1], c[0] if c else end) if a and (c[0] if c else end) - a[1] > 0.2 * end else None
    return Phases(grid, force, a, b, c, d, level, peak, pick_up(grid, force, b))


def bottom(x, f):
    """Return (begin, end) of the rise on the felt under the key: the last stretch, steeper than a felt's least."""
    x, f = smooth_curve(x, f, 6e-5)
    if len(x) < 10:
        return None
    slope = np.gradient(f, x)
    if slope[-4:].max() < WALL:
        return None
    soft = np.flatnonzero(slope[:-3] < WALL)
    begin = soft[-1] + 1 if soft.size else 0
    return (float(x[begin]), float(x[-1])) if f[-1] - f[begin] > 1.0 else None


def first_rise(x, f, level, limit):
    """Return (begin, end) of the first rise: to where the force reaches most of the level of the travel, early on."""
    if not np.isfinite(level) or level <= 0.05 or not len(x):
        return None
    if f[0] >= REACHED * level and x[0] > 2e-4:         # the stroke began under load: no rise to see
        return None
    reached = np.flatnonzero(f >= REACHED * level)
    if not reached.size or x[reached[0]] > 0.35 * limit:
        return None
    return (float(x[0]), float(max(x[reached[0]], x[0] + STEP)))


def escapement(x, f, end):
    """Return ((begin, end), (position, force) of the peak) of the hump before the bottom, or (None, None).

    Its height is measured from the lower level on either side: behind it the force has to fall, if only to a level above the
    travel's, unless the bottom comes at once.
    """
    near = x > end - NEAR
    if near.sum() < 10 or not (x < end - NEAR).any():
        return None, None
    base = float(np.median(f[(x > 0.5 * end) & (x < end - NEAR)]))
    k = np.flatnonzero(near)
    top = k[np.argmax(f[k])]
    height = f[top] - base
    if height < HUMP:
        return None, None
    rising = f < base + ONSET * height
    begin = np.flatnonzero(rising[:top])
    return (float(x[begin[-1] + 1] if begin.size else x[0]), float(x[-1])), (float(x[top]), float(f[top]))


def pick_up(x, f, b):
    """Return where within the travel the damper is met: the greatest step of the level over 1 mm, if it is one."""
    if b is None:
        return None
    inside = (x > b[0] + 1.2e-3) & (x < b[0] + 0.65 * (b[1] - b[0]))
    if not inside.any():
        return None
    half = int(1e-3 / STEP)
    total = np.concatenate([[0.0], np.cumsum(f)])
    k = np.flatnonzero(inside)
    k = k[(k >= half) & (k + half < len(f))]
    if not k.size:
        return None
    step = (total[k + half] - 2 * total[k] + total[k - half]) / half
    best = int(np.argmax(step))
    return float(x[k[best]]) if step[best] > 0.13 else None
