"""How the estimated numbers of the action were found: least squares on published behaviour, a few minutes on one core.

Run `python -m mbs_core.mechanisms.piano.fit`; it prints the numbers to be put into numbers.py and what they give. Targets
marked `at least` only count when they are missed. Geometry, masses and felts not listed here are not touched.
"""

import numpy as np

from mbs_core.mechanisms import build
from mbs_core.mechanisms.piano import measures as ms
from mbs_core.mechanisms.piano import numbers as nb
from mbs_core.runtime import compile_model

# parameter: (value to start from, how much is one step of the search)
FREE = {
    'tune.capstan.y': (nb.GEOMETRY['capstan.y'] * 1e-3, 5e-5), 'tune.button.y': (nb.GEOMETRY['button.y'] * 1e-3, 1e-4),
    'tune.drop.y': (nb.GEOMETRY['drop.y'] * 1e-3, 1e-4), 'tune.check.x': (nb.GEOMETRY['check.x'] * 1e-3, 3e-4),
    'regulation.repetition_spring': (nb.SPRINGS['lever'][0], 3e-3), 'key.balance': (nb.KEY['balance'], 2e-3),
    'tune.jack.preload': (nb.SPRINGS['jack'][0], 5e-4),
}
BLOWS = (3.0, 8.0, 20.0)                                # N


def models():
    """Return the driven and the free action with every number as a parameter."""
    return tuple(compile_model(build('piano_action', key=key, tuning=True)) for key in ('driven', 'free'))


def regulations(driven, free, given) -> dict:
    """Return the slow strokes that figures 24, 25 and 26 of 001 compare, by name."""
    mass = nb.MASSES['hammer'][0] * 1e-3
    cases = {'normal': {}, 'bare': {'damper.on': 0.0}, 'low': {'regulation.button': -0.5e-3}, 'high': {'regulation.button': 0.5e-3},
             'light': {'hammer.mass': mass - 0.003}, 'heavy': {'hammer.mass': mass + 0.003}, 'heaviest': {'hammer.mass': mass + 0.006}}
    return {name: ms.slow_stroke(driven, free, {**given, **change}) for name, change in cases.items()}


def orders(runs) -> dict:
    """Return by how much (N, the worst place) the curves of figures 25 and 26 are in their published order."""
    c, before = ms.between(8.0, 9.0), ms.between(0.5, 9.1)
    force = {name: ms.curve(run) for name, run in runs.items()}
    pairs = {'low': ('normal', 'low', c), 'high': ('high', 'normal', c), 'light': ('normal', 'light', before),
             'heavy': ('heavy', 'normal', before), 'heaviest': ('heaviest', 'heavy', before)}
    return {name: (force[above] - force[below])[where].min() for name, (above, below, where) in pairs.items()}


def misses(driven, free, given) -> dict:
    """Return every target's miss, in units of what is tolerable."""
    runs = regulations(driven, free, given)
    slow, order = ms.slow_figures(runs['normal'], runs['bare']), orders(runs)

    def at_least(value, wanted, tolerance):
        return min(0.0, (value - wanted) / tolerance)
    out = {'blow': (ms.settled(free, given).outputs()['hammer.gap'] - 0.048) / 2e-4, 'pilot': (slow['pilot.held'] - 3.0) / 0.05,
           'let-off': (slow['gap.least'] - 4.0e-3) / 1e-3, 'clear': at_least(runs['high']['hammer.gap'].min(), 0.8e-3, 2e-4),
           'down weight': (slow['down'] - 0.49) / 0.01, 'up weight': at_least(slow['up'], 0.24, 0.01)}
    out.update((f'order {name}', at_least(value, 0.02, 0.01)) for name, value in order.items())
    for newton in BLOWS:
        out[f'check {newton:g} N'] = (ms.blow_figures(free, newton, given)['gap.end'] - 0.015) / 1e-3
    again = ms.repetition(driven, free, 6.5e-3, given)
    out['repetition'] = at_least(again[1][1] if len(again) > 1 else 0.0, 0.9, 0.1)
    return out


def fit(rounds=12) -> dict:
    """Return {parameter: fitted value}."""
    from scipy.optimize import least_squares
    driven, free = models()

    def given(x):
        return {name: start + (u - 1.0) * step for u, (name, (start, step)) in zip(x, FREE.items())}
    found = least_squares(lambda x: np.clip(list(misses(driven, free, given(x)).values()), -20.0, 20.0), np.ones(len(FREE)), diff_step=0.2,
                          loss='soft_l1', max_nfev=rounds)
    return given(found.x)


def main():
    """Fit, and print the numbers, the action at rest and what is still missed."""
    result = fit()
    driven, free = models()
    for name, value in result.items():
        print(f'{name} = {value:.6g}')
    rest = ms.settled(free, result)
    print('rest:', dict(zip(free.coordinates, rest.q.round(6).tolist())))
    print('misses:', {name: round(float(value), 2) for name, value in misses(driven, free, result).items()})


if __name__ == '__main__':
    main()
