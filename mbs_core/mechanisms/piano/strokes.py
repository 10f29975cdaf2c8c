"""How a key is played: strokes of a given motion and blows of a given force, run on the model and recorded.

Motions are functions t -> (angle, rate, acceleration) of the key; forces are functions t -> N at its front.
"""

import math

import numpy as np

from mbs_core.mechanisms.piano.numbers import GEOMETRY

FRONT = -GEOMETRY['front.x'] * 1e-3         # m, balance pin to the finger
SUBSTEPS = 32                               # of a tick of 1 ms (rk4): half the sub-step changes the force by less than 0.1 %


def play(state, seconds, motion=None, force=None, h=1e-3, substeps=None, each=None) -> dict:
    """Run a state of the action and return {output: array}, with 't', 'kinetic' and 'potential'; one row per step h.

    `each(state, t)` may change parameters on the way.
    """
    steps = int(round(seconds / h))
    substeps = substeps or max(1, round(SUBSTEPS * h / 1e-3))
    rows = np.empty((steps, len(state.out) + 3))
    now = motion(0.0) if motion else None
    for k in range(steps):
        if each:
            each(state, k * h)
        if motion:
            then = motion((k + 1) * h)
            state.drive('key', *now, then=then)
            now = then
        else:
            state.input('finger.force', force((k + 0.5) * h))
        if state.step(h, 'rk4', substeps):
            raise ArithmeticError(f'the action left the finite numbers at {k * h:.4f} s')
        rows[k, 1:3] = state.energy()
        state._results()
        rows[k, 0], rows[k, 3:] = (k + 1) * h, state.out
    names = ['t', 'kinetic', 'potential', *state.model.outputs]
    return {name: rows[:, i] for i, name in enumerate(names)}


def path(points, start=0.0):
    """Return the motion through [(time s, depth of the front m), ...]: quintic pieces, at rest at each point."""
    times = [0.0] + [t for t, _ in points]
    places = [start] + [d / FRONT for _, d in points]

    def motion(t):
        k = min(max(int(np.searchsorted(times, t, side='right')) - 1, 0), len(times) - 2)
        span, step = times[k + 1] - times[k], places[k + 1] - places[k]
        u = min(max((t - times[k]) / span, 0.0), 1.0)
        return (places[k] + step * u ** 3 * (10 - 15 * u + 6 * u * u), step * 30 * u * u * (1 - u) ** 2 / span,
                step * 60 * u * (1 - u) * (1 - 2 * u) / span ** 2)
    return motion


def ramp(depth, speed, hold=0.3, start=0.0, soft=0.02, back=True):
    """Return (motion, seconds) of a stroke at constant speed (m/s) down to `depth`, a hold and the way back.

    Its ends are rounded over `soft` seconds.
    """
    rate = speed / FRONT
    length = (depth / FRONT - start) / rate

    def eased(t):                               # a ramp of slope 1 from 0 to `length`, with cosine ends of `soft`
        def corner(s):
            if s <= 0.0:
                return 0.0, 0.0, 0.0
            if s >= soft:
                return s - 0.5 * soft, 1.0, 0.0
            w = math.pi / soft
            return 0.5 * (s - math.sin(w * s) / w), 0.5 * (1 - math.cos(w * s)), 0.5 * w * math.sin(w * s)
        a, b = corner(t), corner(t - length)
        return tuple(x - y for x, y in zip(a, b))

    def motion(t):
        down = eased(t)
        up = eased(t - length - soft - hold) if back else (0.0, 0.0, 0.0)
        return (start + rate * (down[0] - up[0]), rate * (down[1] - up[1]), rate * (down[2] - up[2]))
    return motion, (length + soft + hold) * (2 if back else 1)


def blow(newton, rise=0.02):
    """Return the force of a finger that comes down within `rise` seconds and stays."""
    return lambda t: 0.5 * newton * (1.0 - math.cos(math.pi * min(t / rise, 1.0)))


def impacts(run, least=1e-3) -> list:
    """Return [(time, hammer speed before it, how long it lasts, greatest force)] of the hammer's blows on the string."""
    on = run['string.force'] > least
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    h = run['t'][1] - run['t'][0]
    return [(run['t'][a], run['hammer.speed'][max(a - 1, 0)], (b - a) * h, run['string.force'][a:b].max())
            for a, b in zip(edges[::2], edges[1::2])]
