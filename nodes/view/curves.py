"""The live curves: what was felt, over position and over time, kept for some seconds and drawn as small pictures (SVG).

viser's own uPlot needs abscissae that grow, which a force-position curve has not; Plotly would weigh more than the whole
page. A polyline of some hundred points does.
"""

import math
from collections import deque

SECONDS = 6.0           # that the curves reach back
POINTS = 240            # that a curve is drawn with, at most
WIDTH, HEIGHT = 372, 236
LEFT, RIGHT, TOP, BOTTOM = 54, 10, 26, 34
BLUE, ORANGE, GREY = '#3a6ea5', '#e28743', '#98a1ab'


class History:
    """The last seconds of (time, position, velocity, force) of one joint."""

    def __init__(self, seconds=SECONDS):
        self.seconds, self.rows = seconds, deque()

    def add(self, t, position, velocity, force):
        """Append a row; a time that jumps back begins anew."""
        if not all(map(math.isfinite, (t, position, velocity, force))):
            return
        if self.rows and t < self.rows[-1][0]:
            self.rows.clear()
        self.rows.append((t, position, velocity, force))
        while t - self.rows[0][0] > self.seconds:
            self.rows.popleft()

    def columns(self, points=POINTS) -> tuple:
        """Return (times before now, positions, velocities, forces), thinned to so many points at most; the last one stays."""
        rows = list(self.rows)
        if not rows:
            return (), (), (), ()
        stride = max(1, math.ceil(len(rows) / points))
        kept = rows[(len(rows) - 1) % stride::stride]
        now = kept[-1][0]
        t, q, v, f = zip(*kept)
        return tuple(k - now for k in t), q, v, f


def ticks(low, high, count=5) -> list:
    """Return round numbers that divide a range."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def span(values, least) -> tuple:
    """Return (low, high) around values, at least so wide, with a little room."""
    low, high = min(values), max(values)
    wide = max(high - low, least)
    middle = (low + high) / 2
    return middle - 0.56 * wide, middle + 0.56 * wide


def svg(title, x_name, lines, x_span=None, dot=False, height=HEIGHT) -> str:
    """Return a picture of [(name, colour, xs, ys)] as SVG: axes, a grid, the lines, and a dot at the end if asked for."""
    xs, ys = [x for line in lines for x in line[2]], [y for line in lines for y in line[3]]
    if not xs:
        xs, ys = [0.0, 1.0], [0.0, 1.0]
    left, right = x_span or span(xs, 1e-3 * max(map(abs, xs)) + 1e-3)
    low, high = span(ys, 0.02 * max(map(abs, ys)) + 1e-3)

    def at(x, y):
        return (LEFT + (x - left) / (right - left) * (WIDTH - LEFT - RIGHT), TOP + (high - y) / (high - low) * (height - TOP - BOTTOM))
    out = [f'<svg viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg" style="width:100%;display:block;font:11px sans-serif">',
           f'<text x="{LEFT}" y="16" font-weight="600" fill="currentColor">{title}</text>']
    for y in ticks(low, high):
        _, py = at(left, y)
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py:.1f}" y2="{py:.1f}" stroke="{GREY}" stroke-opacity="{0.8 if abs(y) < 1e-12 else 0.25}"/>',
                f'<text x="{LEFT - 5}" y="{py + 4:.1f}" text-anchor="end" fill="{GREY}">{number(y)}</text>']
    for x in ticks(left, right, 6):
        px, _ = at(x, low)
        out += [f'<line x1="{px:.1f}" x2="{px:.1f}" y1="{TOP}" y2="{height - BOTTOM}" stroke="{GREY}" stroke-opacity="0.25"/>',
                f'<text x="{px:.1f}" y="{height - BOTTOM + 14}" text-anchor="middle" fill="{GREY}">{number(x)}</text>']
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 4}" text-anchor="middle" fill="{GREY}">{x_name}</text>')
    for k, (name, colour, xs, ys) in enumerate(lines):
        places = [at(x, y) for x, y in zip(xs, ys)]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round" points="'
                   + ' '.join(f'{x:.1f},{y:.1f}' for x, y in places) + '"/>')
        if dot and places:
            out.append(f'<circle cx="{places[-1][0]:.1f}" cy="{places[-1][1]:.1f}" r="4.5" fill="{ORANGE}"/>')
        if name:
            out.append(f'<text x="{WIDTH - RIGHT}" y="{16 + 13 * k}" text-anchor="end" fill="{colour}">{name}</text>')
    return ''.join(out) + '</svg>'


def number(value) -> str:
    """Return a number of an axis, short."""
    return f'{0.0 if abs(value) < 1e-12 else value:.4g}'
