"""Planar cam curves g(s) in arc length: chains of segments and arcs, and splines.

A curve gives position and tangent angle as expressions of the abscissa s, piece by piece with `select`;
lengths may be parameters. Joined pieces are C1 when each starts where, and as, the last one ends.
"""

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.symbolic import cos, select, sin


def segment(length):
    """Return a straight piece of the given length."""
    return 'segment', length


def arc(radius, length=None, angle=None, turn='left'):
    """Return an arc of the given radius; its extent is a length or an angle; it turns 'left' or 'right'."""
    if (length is None) == (angle is None):
        raise MbsError('an arc of a curve needs either its length or its angle')
    if turn not in ('left', 'right'):
        raise MbsError(f"an arc turns 'left' or 'right', not {turn!r}")
    return 'arc', radius, (radius * angle if length is None else length), (1.0 if turn == 'left' else -1.0)


class Curve:
    """A chain of segments and arcs from `start`, leaving it at tangent angle `heading` (plane xy, radians).

    The first and last piece go on beyond their ends, so that a solver may overshoot without a jump.
    """

    def __init__(self, start, heading, pieces):
        if not pieces:
            raise MbsError('a curve needs at least one segment or arc')
        self.start, self.heading, self.pieces = tuple(start), heading, list(pieces)
        self.length = 0.0
        for p in self.pieces:
            self.length = self.length + (p[1] if p[0] == 'segment' else p[2])

    def at(self, s):
        """Return (x, y, tangent angle) at abscissa s."""
        x, y, heading, s0 = self.start[0], self.start[1], self.heading, 0.0
        found, ends = [], []
        for piece in self.pieces:
            d = s - s0
            if piece[0] == 'segment':
                extent = piece[1]
                here = (x + d * cos(heading), y + d * sin(heading), heading)
                end = (x + extent * cos(heading), y + extent * sin(heading), heading)
            else:
                _, radius, extent, turn = piece
                cx, cy = x - turn * radius * sin(heading), y + turn * radius * cos(heading)
                there = heading + turn * d / radius
                here = (cx + turn * radius * sin(there), cy - turn * radius * cos(there), there)
                stop = heading + turn * extent / radius
                end = (cx + turn * radius * sin(stop), cy - turn * radius * cos(stop), stop)
            found.append(here)
            x, y, heading = end
            s0 = s0 + extent
            ends.append(s0)
        result = found[-1]
        for here, stop in zip(reversed(found[:-1]), reversed(ends[:-1])):
            result = tuple(select(s < stop, a, b) for a, b in zip(here, result))
        return result


class _Spline(Curve):
    def __init__(self, points):
        p = np.array(points, float)
        if p.ndim != 2 or p.shape[1] != 2 or len(p) < 3 or not np.all(np.isfinite(p)):
            raise MbsError('a spline curve needs at least three finite (x, y) points')
        if np.min(np.hypot(*np.diff(p, axis=0).T)) < 1e-12:
            raise MbsError('two neighbouring points of a spline curve coincide: remove one')
        from scipy.interpolate import CubicSpline
        t = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(p, axis=0).T))])
        for _ in range(6):                     # make the parameter the arc length
            f = CubicSpline(t, p)
            nodes, weights = np.polynomial.legendre.leggauss(8)
            lengths = []
            for a, b in zip(t[:-1], t[1:]):
                u = 0.5 * (b - a) * nodes + 0.5 * (a + b)
                lengths.append(0.5 * (b - a) * np.dot(weights, np.hypot(*f(u, 1).T)))
            t = np.concatenate([[0.0], np.cumsum(lengths)])
        self.spline = CubicSpline(t, p)
        self.knots, self.length = t, float(t[-1])

    def at(self, s):
        """Return (x, y, tangent angle) at s; the tangent angle is atan2 of the derivative."""
        from mbs_core.symbolic import atan2
        c = self.spline.c                       # (4, pieces, 2)
        found = []
        for k in range(c.shape[1]):
            d = s - float(self.knots[k])
            pos = [((c[0, k, j] * d + c[1, k, j]) * d + c[2, k, j]) * d + c[3, k, j] for j in (0, 1)]
            tan = [(3 * c[0, k, j] * d + 2 * c[1, k, j]) * d + c[2, k, j] for j in (0, 1)]
            found.append((*pos, *tan))
        result = found[-1]
        for k in range(len(found) - 2, -1, -1):
            result = tuple(select(s < float(self.knots[k + 1]), a, b) for a, b in zip(found[k], result))
        x, y, tx, ty = result
        return x, y, atan2(ty, tx)


def spline(points) -> Curve:
    """Return the smooth (C2) curve through the given (x, y) points, its abscissa measured from the first one."""
    return _Spline(points)


