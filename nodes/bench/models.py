"""The mechanisms of the benchmark: chains with full offsets and inertias, a five-bar, the ten-joint hinge."""

from mbs_core.description import Mechanism, prismatic, revolute
from mbs_core.mechanisms.lid_hinge import LENGTHS, geometry, rest_pose
from mbs_core.mechanisms.tree import chain as tree_chain


def chain(n) -> Mechanism:
    """Return the hardest chain: hinges about x, y, z in turn, full offsets and inertias; all of them run-time parameters."""
    return tree_chain(n, seed=n, parameters=True)


def arm(n) -> Mechanism:
    """Return a chain as robot arms are: offsets and centres of mass along the links, principal inertias; all parameters."""
    m = Mechanism(f'arm{n}')
    last = m.ground
    for k in range(n):
        length, centre = (m.parameter(f'{what}{k}', x, 'm', (0, 1)) for what, x in (('length', 0.2), ('centre', 0.1)))
        inertia = [m.parameter(f'inertia{k}.{a}', 0.01, 'kg m2', (0, 1)) for a in 'xyz']
        last = m.body(f'link{k}', last.at(0, 0, length), revolute('zyy'[k % 3]), mass=m.parameter(f'mass{k}', 1.0, 'kg', (0, 10)),
                      com=(0, 0, centre), inertia=inertia)
    return m


def five_bar() -> Mechanism:
    """Return a five-bar linkage of two freedoms (4 joints, 1 planar loop) that falls from two pivots."""
    m = Mechanism('bench_five_bar', gravity=(0.0, -9.81, 0.0))
    tips = []
    for side, x, upper, lower in (('left', 0.0, 2.2, -1.0), ('right', 0.12, 0.9, 1.0)):
        a = m.parameter(f'{side}.upper', 0.15, 'm', (0.05, 0.5))
        b = m.parameter(f'{side}.lower', 0.20, 'm', (0.05, 0.5))
        arm = m.body(f'{side}.arm', m.ground.at(x, 0, 0), revolute('z'), mass=0.3, com=(a / 2, 0, 0), inertia=6e-4,
                     initial=upper)
        fore = m.body(f'{side}.fore', arm.at(a, 0, 0), revolute('z'), mass=0.25, com=(b / 2, 0, 0), inertia=9e-4,
                      initial=lower)
        tips.append(fore.at(b, 0, 0))
    m.close(*tips, plane='xy', name='tip')
    return m


def hinge() -> Mechanism:
    """Return the lid hinge in its opening phase: 10 joints, 9 loop equations, every part with a little mass.

    While the cam follower runs on the arc C2, part B5 stands still; that replaces the cam here, because the peers
    have none.
    """
    m = Mechanism('bench_hinge', gravity=(0.0, -9.81, 0.0))
    p = {name: v[0] * 1e-3 for name, v in LENGTHS.items()} | {'l_o': 0.230}
    g, start = geometry(p), rest_pose(p)
    value = {k: m.parameter(k, 1e3 * p[k], 'mm', (-500, 500)) for k in ('l2', 'l3', 'l4', 'l6')}

    def part(j, on, x=0.0, y=0.0, joint=revolute('z'), mass=0.02, com=(0.0, 0.0, 0.0), inertia=2e-6):
        return m.body(f'r{j}', on.at(x, y, 0), joint, mass=mass, com=com, inertia=inertia, initial=start[j - 1])

    b1 = part(1, m.ground, joint=prismatic('x'))
    b2 = part(2, b1)
    b3 = part(3, b2, value['l2'])
    b4 = part(4, b2, value['l2'])
    b5 = part(5, b4, value['l4'])
    b6 = part(6, b5, p['x56'], p['y56'])
    b7 = part(7, b5, p['x57'], p['y57'])
    b8 = part(8, b7, g['l7'])
    b9 = part(9, b8, g['l8'], mass=1.2, com=(*g['G'], 0.0), inertia=1.2 * p['l_o'] ** 2 / 12)
    b10 = part(10, b9, g['l9'])
    m.close(b5.at(), m.ground.at(p['xA'], p['y5']), plane='xy', name='A')
    m.constrain('A.angle', b2.q + b4.q + b5.q)
    m.close(b4.at(p['xB'], p['yB']), b8.at(*g['B']), plane='xy', name='B')
    m.close(b3.at(value['l3']), b6.at(value['l6']), plane='xy', name='C')
    m.close(b4.at(p['xD'], p['yD']), b10.at(g['l10']), plane='xy', name='D')
    return m


# planar loops of the hinge that also keep the angle: their peers' versions are welds
WELDED = {'A'}
