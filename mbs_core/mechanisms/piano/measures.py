"""What a technician, a pianist or paper 001 would measure on the action, computed from strokes of the model."""

import numpy as np

from mbs_core.mechanisms.piano.strokes import FRONT, blow, impacts, path, play, ramp

BOTTOM = 9.9e-3                             # m: the front pressed firmly into its felt
GRID = np.arange(0.3e-3, 9.81e-3, 0.05e-3)  # m: places of the front where curves are compared


def settled(free, parameters=None):
    """Return the free action after it has come to rest."""
    s = free.state()
    s.set(parameters or {})
    s.run(400, 1e-3, 'rk4', 40)
    return s


def at_rest(driven, free, parameters=None):
    """Return a state of the driven action at the rest that these parameters give, and the angle of its key."""
    rest, s = settled(free, parameters), driven.state()
    s.set(parameters or {})
    s.q[:], s.z[:] = rest.q, rest.z
    return s, rest.q[0]


def slow_stroke(driven, free, parameters=None, speed=0.010, hold=0.4) -> dict:
    """Return a stroke at constant speed, down, held and up, with 'force' (N at the front) and the time it is 'held'."""
    s, start = at_rest(driven, free, parameters)
    motion, seconds = ramp(BOTTOM, speed, hold, start)
    run = play(s, seconds, motion)
    run['force'] = run['key.effort'] / FRONT
    run['held'] = np.array([seconds / 2 - hold, seconds / 2])
    return run


def curve(run, name='force', up=False) -> np.ndarray:
    """Return an output over GRID, on the way down or up."""
    part = run['t'] > run['held'][1] if up else run['t'] < run['held'][0]
    x, y = run['key.front'][part], run[name][part]
    order = np.argsort(x)
    return np.interp(GRID, x[order], y[order])


def between(low, high):
    """Return the mask of GRID between two places (mm)."""
    return (GRID >= low * 1e-3) & (GRID <= high * 1e-3)


def slow_figures(run, off) -> dict:
    """Return what is read off a slow stroke `run`, and of one with the damper `off` the string."""
    force, bare, rise = curve(run), curve(off), curve(off, up=True)
    travel, c = between(1.0, 6.3), between(7.3, 9.1)
    hold = (run['t'] > run['held'][1] - 0.1) & (run['t'] < run['held'][1])
    wave = bare[travel] - np.polyval(np.polyfit(GRID[travel], bare[travel], 2), GRID[travel])
    gap = curve(off, 'hammer.gap')
    return {'down': bare[travel].mean(), 'up': rise[travel].mean(), 'peak': force[c].max(), 'peak.at': GRID[c][force[c].argmax()],
            'damper': (force - bare)[between(4.5, 6.3)].mean(), 'ripple': np.abs(wave).max(),
            'pilot.held': run['pilot.force'][hold].mean(), 'gap.least': run['hammer.gap'].min(), 'gap.held': run['hammer.gap'][hold].mean(),
            'ratio': -np.polyfit(GRID[travel], gap[travel], 1)[0], 'string': run['string.force'].max()}


def blow_figures(free, newton, parameters=None, seconds=0.35, h=1e-4) -> dict:
    """Return what one blow of a finger does: speeds (m/s), times (s), forces (N), where the hammer ends (m)."""
    s = settled(free, parameters)
    run = play(s, seconds, force=blow(newton), h=h)
    struck = impacts(run)
    t, x = run['t'], run['key.front']
    rate = np.gradient(x, t)
    bottom = t[np.argmax(run['front.force'] > 0.5)]
    out = {'count': len(struck), 'gap.end': run['hammer.gap'][-1], 'travel': bottom - t[np.argmax(x > 0.3e-3)], 'bed': run['front.force'].max()}
    if struck:
        off = np.argmax(run['hammer.speed'] * (t <= struck[0][0]))      # let off: the hammer is fastest there
        out.update(speed=struck[0][1], lasting=struck[0][2], force=struck[0][3], before=struck[0][0] - bottom,
                   ratio=struck[0][1] / rate[:off + 1].max())
    return out


def repetition(driven, free, depth, parameters=None, h=2.5e-4) -> list:
    """Return the speeds of the blows of: press, hold, release to `depth` (m), press again."""
    s, start = at_rest(driven, free, parameters)
    motion = path([(0.04, BOTTOM), (0.12, BOTTOM), (0.16, depth), (0.19, depth), (0.23, BOTTOM), (0.29, BOTTOM)], start)
    run = play(s, 0.29, motion, h=h)
    return [(t, v) for t, v, _, _ in impacts(run)]
