"""Chains and random trees with full offsets and full inertias, for tests and benchmarks."""

import numpy as np

from mbs_core.description import Mechanism, fixed, prismatic, revolute, spherical
from mbs_core.errors import MbsError

variants = {'kind': ('chain', 'random')}
_JOINTS = {'revolute': revolute, 'prismatic': prismatic}
_SHORT = ('xx', 'yy', 'zz', 'xy', 'xz', 'yz')


def tree(kind='chain', n=6, seed=0) -> Mechanism:
    """Return chain(n) or random_tree(n, seed)."""
    return chain(n, seed) if kind == 'chain' else random_tree(n, seed)


def chain(n=6, seed=0, joints=('revolute',), parameters=False) -> Mechanism:
    """Return a chain of n one-dof joints whose axes cycle through x, y, z."""
    return _grow(f'chain{n}', n, seed, joints, lambda k, rng: k - 1, lambda k, rng: 'xyz'[k % 3], parameters, cycle=True)


def random_tree(n, seed=0, joints=('revolute', 'prismatic'), branching=0.3, axes='xyz', parameters=False) -> Mechanism:
    """Return a random tree of n bodies.

    A body branches off from any earlier one with probability `branching`, else it continues the last one. `joints`
    are drawn from 'revolute', 'prismatic', 'spherical', 'fixed'; `axes` is 'xyz' or 'any' (oblique). With `parameters`
    every mass, centre of mass, inertia and offset is a parameter of the model instead of a number.
    """
    def carrier(k, rng):
        return int(rng.integers(-1, k)) if rng.random() < branching else k - 1

    def axis(k, rng):
        return 'xyz'[rng.integers(3)] if axes == 'xyz' else tuple(rng.standard_normal(3))

    return _grow(f'tree{n}', n, seed, joints, carrier, axis, parameters)


def random_inertia(rng, mass, size=0.2):
    """Return (xx, yy, zz, xy, xz, yz) of a random body: I = tr(S) 1 - S, S its positive second moments."""
    spread = rng.standard_normal((3, 3)) * size
    second = mass * (spread @ spread.T / 3 + 0.01 * size * size * np.eye(3))
    i = np.trace(second) * np.eye(3) - second
    return tuple(float(c) for c in (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]))


def _grow(name, n, seed, joints, carrier, axis, parameters, cycle=False):
    if not isinstance(n, int) or n < 1:
        raise MbsError(f"mechanism '{name}': it needs at least one body, not {n!r}")
    if unknown := set(joints) - {*_JOINTS, 'spherical', 'fixed'}:
        raise MbsError(f"mechanism '{name}': the joint kind '{sorted(unknown)[0]}' is unknown; use revolute, prismatic, "
                       'spherical or fixed')
    rng = np.random.default_rng(seed)
    m = Mechanism(name, gravity=(0.0, 0.0, -9.81), doc=f'{"Chain" if cycle else "Random tree"} of {n} bodies, seed {seed}')

    def number(what, value, unit):
        return m.parameter(what, float(value), unit, (-1e3, 1e3)) if parameters else float(value)

    bodies = []
    for k in range(n):
        me = f'b{k + 1}'
        on = carrier(k, rng)
        kind = joints[k % len(joints)] if cycle else joints[rng.integers(len(joints))]
        offset = [number(f'{me}.offset.{a}', v, 'm') for a, v in zip('xyz', rng.uniform(-0.4, 0.4, 3))]
        mass = rng.uniform(0.5, 3.0)
        inertia = [number(f'{me}.inertia.{a}', v, 'kg m2') for a, v in zip(_SHORT, random_inertia(rng, mass))]
        com = [number(f'{me}.com.{a}', v, 'm') for a, v in zip('xyz', rng.uniform(-0.2, 0.2, 3))]
        direction = axis(k, rng)
        joint = _JOINTS[kind](direction) if kind in _JOINTS else spherical() if kind == 'spherical' else fixed()
        start = float(rng.uniform(-1.0, 1.0)) if kind in _JOINTS else None
        bodies.append(m.body(me, on=(m.ground if on < 0 else bodies[on]).at(*offset), joint=joint,
                             mass=number(f'{me}.mass', mass, 'kg'), com=com, inertia=inertia, initial=start))
    return m
