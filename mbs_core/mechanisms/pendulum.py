"""Pendulums of point masses on massless rods: simple, double, or as many as wanted."""

import math

from mbs_core.description import Mechanism, damper, revolute
from mbs_core.errors import MbsError


def pendulum(links=1, start=None) -> Mechanism:
    """Return a pendulum of `links` rods; `start` is the absolute angle of each from the downward vertical (rad).

    It starts horizontal if omitted: one rod to the left, more of them to the right.
    """
    if not isinstance(links, int) or links < 1:
        raise MbsError(f'a pendulum needs at least one link, not {links!r}')
    start = tuple(start or ((-math.pi / 2,) if links == 1 else (math.pi / 2,) * links))
    if len(start) != links:
        raise MbsError(f'a pendulum of {links} links starts from as many angles; {len(start)} are given')
    m = Mechanism('pendulum', gravity=(0.0, -9.81, 0.0), doc=f'Pendulum of {links} point mass{"es" if links > 1 else ""} on massless rods')
    mount, absolute, before = m.ground, 0.0, 0.0
    loss = m.parameter('damping', 0.0, 'N m s/rad', (0.0, 10.0), 'Viscous damping of every joint')
    for k, angle in enumerate(start, 1):
        length = m.parameter(f'rod{k}.length', 1.0, 'm', (0.01, 10.0), f'Rod {k}, joint to mass')
        mass = m.parameter(f'rod{k}.mass', 1.0, 'kg', (1e-3, 100.0), f'Mass at the end of rod {k}')
        rod = m.body(f'rod{k}', on=mount, joint=revolute('z'), mass=mass, com=(0, -length, 0), initial=angle - before)
        m.add(damper(rod, loss))
        mount, before = rod.at(0, -length, 0), angle
        absolute = absolute + rod.q
        x, y, _ = m.position(mount)
        m.output(f'theta{k}', absolute, 'rad', f'Angle of rod {k} from the downward vertical')
        m.output(f'x{k}', x, 'm', f'Mass {k}, to the right')
        m.output(f'y{k}', y, 'm', f'Mass {k}, upward')
    return m
