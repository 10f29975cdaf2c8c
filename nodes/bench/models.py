"""The mechanisms of the benchmark: chains with full offsets and inertias, a five-bar, the ten-joint hinge."""

import math

from mbs_core.description import Mechanism, prismatic, revolute, spring
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


def hinge(tilt=60.0) -> Mechanism:
    """Return the lid hinge in its opening phase, `tilt` degrees open: 10 joints, 9 loop equations, every part with mass.

    While the cam follower runs on the arc C2, part B5 stands still at the top of its slide; that replaces the cam
    here, because the peers have none. The actuator r1 holds the lid like a spring, so that it swings when let go.
    """
    m = Mechanism('bench_hinge', gravity=(0.0, -9.81, 0.0))
    p = {name: v[0] * 1e-3 for name, v in LENGTHS.items()} | {'l_o': 0.230}
    g = geometry(p)
    top = (p['xA'], p['y5'] + p['h1'] + g['lift'])
    start = pose(p, top, math.radians(tilt))
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
    m.close(b5.at(), m.ground.at(*top), plane='xy', name='A')
    m.constrain('A.angle', b2.q + b4.q + b5.q)
    m.close(b4.at(p['xB'], p['yB']), b8.at(*g['B']), plane='xy', name='B')
    m.close(b3.at(value['l3']), b6.at(value['l6']), plane='xy', name='C')
    m.close(b4.at(p['xD'], p['yD']), b10.at(g['l10']), plane='xy', name='D')
    m.add(spring(b1, HOLD[0], rest=HOLD[1]))
    m.output('tilt', -(b2.q + b4.q), 'rad')
    return m


def pose(p, top, tilt) -> list:
    """Return r1..r10 with joint B4/B5 at `top` and the lid tilted: B4 and the lid turn, B8 and B10 keep their directions."""
    rest = rest_pose(p)
    a7, a8 = rest[6], rest[6] + rest[7]
    a9 = a8 + rest[8]
    a10 = a9 + rest[9]
    px, py = top[0] - p['l4'] * math.cos(tilt), top[1] + p['l4'] * math.sin(tilt)      # joint B2/B3/B4
    r1 = px + math.sqrt(p['l2'] ** 2 - py ** 2)
    a2 = math.atan2(py, px - r1)
    fx, fy = top[0] + p['x56'], top[1] + p['y56']                                      # joint B5/B6
    reach = math.hypot(px - fx, py - fy)
    corner = math.acos((reach ** 2 + p['l6'] ** 2 - p['l3'] ** 2) / (2 * reach * p['l6']))
    a6 = math.atan2(py - fy, px - fx) - corner                                         # C above the line of both joints
    cx, cy = fx + p['l6'] * math.cos(a6), fy + p['l6'] * math.sin(a6)
    a3 = math.atan2(cy - py, cx - px)
    return [r1, a2, a3 - a2, -tilt - a2, tilt, a6, a7 - tilt, a8 - a7 + tilt, a9 - tilt - a8, a10 - a9 + tilt]


HOLD = (3000.0, 0.0415)      # N/m and m: the actuator's spring and its rest, for all engines
SPRINGS = {'r1': HOLD}
# planar loops of the hinge that also keep the angle: their peers' versions are welds
WELDED = {'A'}
