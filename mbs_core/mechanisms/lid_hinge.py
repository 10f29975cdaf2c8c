"""The lid hinge of paper 000: ten joints r1..r10 (Table 1), joints A to D as loops, and a cam with its abscissa s.

Pulling r1 first lifts the lid (cam piece D1), then turns it by 100 degrees (C2), with a transition (C1) between.
The lengths are our own, since the paper hides its values; the tree, the constraints, the make-up of the cam,
m_o and l_o are the paper's. x points to the rear, y up; only the lid B9 has mass. Soft stops hold it closed and
open; they do nothing inside the stroke.
"""

import math
from typing import NamedTuple

import numpy as np

from mbs_core.control.generic import atan2, cos, sin, sqrt
from mbs_core.description import Curve, Mechanism, arc, effort, felt, friction, lugre, prismatic, revolute, segment
from mbs_core.errors import MbsError, suggest
from mbs_core.mechanisms import _lid_stroke

# name: (default mm, lowest, highest, what it is)
LENGTHS = {
    'l2': (60, 56, 70, 'Rod B2: slider pin to joint B2/B3/B4'),
    'l3': (34, 33, 35, 'Rod B3: joint B2/B3/B4 to C'),
    'l4': (40, 39, 41, 'Arm B4: joint B2/B3/B4 to joint B4/B5'),
    'l6': (48, 47, 49, 'Rod B6: joint B5/B6 to C; also the radius R2 of the cam'),
    'x56': (28, 27, 29, 'Joint B5/B6 in F5, x'),
    'y56': (0, -1, 1, 'Joint B5/B6 in F5, y'),
    'x57': (-20, -40, 0, 'Joint B5/B7 in F5, x'),
    'y57': (4, -10, 15, 'Joint B5/B7 in F5, y'),
    'xB': (20, 5, 35, 'Point B in F4, x'),
    'yB': (24, 15, 35, 'Point B in F4, y'),
    'xD': (-10, -30, 0, 'Point D in F4, x'),
    'yD': (24, 15, 35, 'Point D in F4, y'),
    'xV': (72, 60, 90, 'Centre the lid turns about, behind joint B4/B5'),
    'yV': (54, 45, 65, 'Centre the lid turns about, above joint B4/B5'),
    'xA': (0, -1, 1, 'Vertical slide A'),
    'y5': (-45, -47, -43, 'Height of joint B4/B5 at rest; the actuator moves along y = 0'),
    'h1': (8, 2, 12, 'Cam piece D1, the lift without rotation'),
    'R1': (12, 8, 16, 'Cam piece C1, radius'),
}
OPEN = math.radians(100)      # tilt of the open lid
RUBBING = ('none', 'stribeck', 'lugre')
variants = {'stops': (True, False), 'rubbing': RUBBING}


def lid_hinge(stops=True, rubbing='none') -> Mechanism:
    """Return the hinge, at rest and closed; its input F1 pulls the actuator r1 (000 eq. 10).

    rubbing: friction of the screw, 'none' as in the paper's model, 'stribeck', or 'lugre' with a state for its bristles.
    """
    m = Mechanism('lid_hinge', gravity=(0.0, -9.81, 0.0), doc='Lid hinge with cam and follower of 000')
    hinge = assemble(m)
    m.add(effort(hinge.B1, m.input('F1', 'N', doc='Pull of the actuator'), 'F1'))
    _rub(m, hinge.B1, rubbing)
    if stops:
        closed = m.parameter('stop.closed', 5e4, 'N/m', (1e3, 1e6), 'Stop under the closed lid')
        opened = m.parameter('stop.open', 200.0, 'N m/rad', (1.0, 1e4), 'Stop of the open lid')
        m.add(felt(-hinge.h_o, closed, exponent=1.0, hysteresis=5.0, name='stop.closed'))
        m.add(felt(hinge.theta_o - OPEN, opened, exponent=1.0, hysteresis=1.0, name='stop.open'))
    tell(m, hinge)
    return m


class Hinge(NamedTuple):
    """The tree and its loops in a mechanism, with what the lid does."""

    p: dict                          # lengths, as parameters
    m_o: object
    m_1: object
    B1: object
    lid: object                      # its centre of mass
    h_o: object
    theta_o: object
    J_h: object
    J_theta: object


def assemble(m, massless=False) -> Hinge:
    """Put the ten joints, eight loop equations and the cam into a mechanism; massless: where the device itself has the mass."""
    p = {name: m.parameter(name, d, 'mm', (low, high), doc) for name, (d, low, high, doc) in LENGTHS.items()}
    p['l_o'] = m.parameter('l_o', 230, 'mm', (50, 500), 'Lid, from the centre it turns about to its front')
    m_o = m.parameter('m_o', 1.2, 'kg', (0.05, 5.0), 'Mass of the lid')
    m_1 = m.parameter('m_1', 0.0, 'kg', (0.0, 20.0), 'Rotors and screws, as a mass that moves with r1; none in the paper')
    g = geometry(p)
    start = rest_pose(lengths())

    def body(j, on, x=0.0, y=0.0, joint=revolute('z'), **inertia):
        kept = {'initial' if j == 1 else 'guess': start[j - 1]}
        return m.body(f'r{j}', on=on.at(x, y, 0), joint=joint, **kept, **inertia)

    B1 = body(1, m.ground, joint=prismatic('x'), **({} if massless else {'mass': m_1}))
    m.independent(B1)
    B2 = body(2, B1)
    B3 = body(3, B2, p['l2'])
    B4 = body(4, B2, p['l2'])
    B5 = body(5, B4, p['l4'])
    B6 = body(6, B5, p['x56'], p['y56'])
    B7 = body(7, B5, p['x57'], p['y57'])
    B8 = body(8, B7, g['l7'])
    lid = {} if massless else {'mass': m_o, 'com': (*g['G'], 0), 'inertia': m_o * p['l_o'] * p['l_o'] / 12}
    B9 = body(9, B8, g['l8'], **lid)
    B10 = body(10, B9, g['l9'])

    height = m.position(B5)
    m.constrain('A.x', height[0] - p['xA'])                     # prismatic joint B0/B5
    m.constrain('A.angle', B2.q + B4.q + B5.q)
    m.close(B4.at(p['xB'], p['yB']), B8.at(*g['B']), plane='xy', name='B')
    m.close(B3.at(p['l3']), B6.at(p['l6']), plane='xy', name='C')
    m.close(B4.at(p['xD'], p['yD']), B10.at(g['l10']), plane='xy', name='D')
    cam = Curve(g['start'], math.pi / 2, [segment(p['h1']), arc(p['R1'], angle=g['b1'], turn='right'),
                                          arc(p['l6'], angle=g['b2'] - g['b1'], turn='right')])
    s = m.on_curve(B6.at(p['l6']), cam, name='cam')
    J_h, J_theta = rates(p, B2.q, B3.q, B4.q, B6.q, cam.at(s.q)[2])
    return Hinge(p, m_o, m_1, B1, B9.at(*g['G']), height[1] - p['y5'], -(B2.q + B4.q), J_h, J_theta)


def tell(m, hinge):
    """Declare the outputs of fig. 6 and where the lid is."""
    m.output('h_o', hinge.h_o, 'm', 'Height of the lid')
    m.output('theta_o', hinge.theta_o, 'rad', 'Tilt of the lid')
    m.output('J_hr', hinge.J_h, '1', 'Rate of h_o for a unit rate of r1')
    m.output('J_thetar', hinge.J_theta, 'rad/m', 'Rate of theta_o for a unit rate of r1')
    x, y, _ = m.position(hinge.lid)
    m.output('lid.x', x, 'm', 'Centre of mass of the lid, to the rear')
    m.output('lid.y', y, 'm', 'Centre of mass of the lid, upward')


def _rub(m, joint, rubbing):
    """Add the friction of the screw; the levels are those of two small ball screws with gearheads."""
    if rubbing == 'none':
        return
    coulomb = m.parameter('friction.coulomb', 4.0, 'N', (0.1, 50.0), 'Dry friction while it slides')
    static = m.parameter('friction.static', 5.0, 'N', (0.1, 60.0), 'Dry friction before it slides')
    stribeck = m.parameter('friction.stribeck', 2.0, 'mm/s', (0.1, 50.0), 'Speed over which it falls from static to sliding')
    viscous = m.parameter('friction.viscous', 80.0, 'N s/m', (0.0, 1000.0), 'Viscous friction')
    if rubbing == 'stribeck':
        m.add(friction(joint, coulomb, viscous, static, stribeck, smooth=2e-4))
    else:
        bristle = m.parameter('friction.bristle', 2e5, 'N/m', (1e3, 1e7), 'Stiffness of the bristles')
        m.add(lugre(joint, bristle, 2.0 * sqrt(bristle), coulomb, static, stribeck, viscous))


def lengths(**changed_mm) -> dict:
    """Return all lengths in m, the changed ones given in mm; refuses names that are none."""
    known = {**{name: v[0] for name, v in LENGTHS.items()}, 'l_o': 230}
    for name, value in changed_mm.items():
        if name not in known:
            raise MbsError(f"the lid hinge has no length '{name}'{suggest(name, known)}")
        if not (isinstance(value, (int, float)) and math.isfinite(value)):
            raise MbsError(f"the length '{name}' must be a finite number in mm, not {value!r}")
    return {name: value * 1e-3 for name, value in {**known, **changed_mm}.items()}


def stroke(count=400, **changed_mm):
    """Return every pose of a geometry (lengths in mm, others as they are) in closed form, checked over the whole stroke.

    Refuses a geometry that comes apart, nears a dead point, is singular (rank of B below 9) or turns back, with the pose.
    """
    p = lengths(**changed_mm)
    with np.errstate(invalid='ignore'):
        return _lid_stroke.check(p, geometry(p), count)


def _elevation(p, theta):
    """Return the elevation b of rod B6 above -x when the four-bar B5-B4-B3-B6 has tilted by theta (C on the upper side)."""
    x, y = p['x56'] + p['l4'] * cos(theta), p['y56'] - p['l4'] * sin(theta)
    square = x * x + y * y
    c = (square + p['l6'] * p['l6'] - p['l3'] * p['l3']) / (2 * p['l6'] * sqrt(square))
    return atan2(sqrt(1 - c * c), c) - atan2(y, x)


def geometry(p) -> dict:
    """Return what follows from the lengths p (numbers or expressions, m): closure at rest, tangent cam, parallel lid.

    b0, b1, b2: elevation of B6 at rest, at the junction C1/C2, open; lift: what C1 adds to h1; start: cam at rest;
    l7..l10, B (in F8) make B5-B7-B8-B4 and B4-B8-B9-B10 parallelograms, so that the lid turns about V with B4.
    """
    b0, b2 = _elevation(p, 0.0), _elevation(p, OPEN)
    c1 = (p['l6'] * cos(b0) - p['R1']) / (p['l6'] - p['R1'])    # C1 and C2 meet with one tangent
    s1 = sqrt(1 - c1 * c1)
    b1 = atan2(s1, c1)
    bx, by = p['xB'] - p['l4'], p['yB']                         # joint B4/B5 to B
    dx, dy = p['xD'] - p['xB'], p['yD'] - p['yB']               # B to D
    ex, ey = p['x57'], p['y57']
    wx, wy = p['xV'] - ex, p['yV'] - ey
    l8, l9 = sqrt(wx * wx + wy * wy), sqrt(dx * dx + dy * dy)
    gx, gy = -p['l_o'] / 2 - bx, -by                            # joint B8/B9 to the lid's centre, in axes of B4
    return {'b0': b0, 'b1': b1, 'b2': b2, 'lift': p['l6'] * (sin(b0) - s1) + p['R1'] * s1,
            'start': (p['xA'] + p['x56'] - p['l6'] * cos(b0), p['y5'] + p['y56'] + p['l6'] * sin(b0)),
            'l7': sqrt(bx * bx + by * by), 'l8': l8, 'l9': l9, 'l10': sqrt(p['xV'] * p['xV'] + p['yV'] * p['yV']),
            'B': (-(wx * ex + wy * ey) / l8, (wy * ex - wx * ey) / l8),
            'G': ((dx * gx + dy * gy) / l9, (dx * gy - dy * gx) / l9)}


def rest_pose(p) -> list:
    """Return r1..r10 (m, rad) of the closed lid for numeric lengths p."""
    b0 = geometry(p)['b0']
    px, py = p['xA'] - p['l4'], p['y5']                         # joint B2/B3/B4
    r1 = px + sqrt(p['l2'] ** 2 - py ** 2)
    a2 = atan2(py, px - r1) % (2 * math.pi)
    a3 = atan2(p['y56'] + p['l6'] * sin(b0), p['x56'] + p['l4'] - p['l6'] * cos(b0))
    a7 = atan2(p['yB'], p['xB'] - p['l4'])
    a8 = atan2(p['yV'] - p['y57'], p['xV'] - p['x57'])
    a9 = atan2(p['yD'] - p['yB'], p['xD'] - p['xB'])
    a10 = atan2(-p['yV'], -p['xV'])
    return [r1, a2, a3 - a2, -a2, 0.0, math.pi - b0, a7, a8 - a7, a9 - a8, a10 - a9]


def rates(p, r2, r3, r4, r6, theta_c):
    """Return (h_o', theta_o') for r1' = 1, from the cam's normal, rod B3 and rod B2 (H of 000 in closed form).

    The cam allows l6 cos(theta_c + b) b' + cos(theta_c) h' = 0, with b = pi - r6; so b' and h' are known up to a factor.
    """
    a3, tilt, b = r2 + r3, -(r2 + r4), math.pi - r6
    b_rate, h_rate = -cos(theta_c), p['l6'] * cos(theta_c + b)
    rigid_6 = p['l6'] * (cos(a3) * sin(b) + sin(a3) * cos(b))           # rod B3 keeps its length
    rigid_4 = p['l4'] * (cos(a3) * sin(tilt) + sin(a3) * cos(tilt))
    tilt_rate = b_rate * rigid_6 / rigid_4
    r1_rate = (p['l4'] * tilt_rate * (cos(r2) * sin(tilt) + sin(r2) * cos(tilt)) + sin(r2) * h_rate) / cos(r2)
    return h_rate / r1_rate, tilt_rate / r1_rate
