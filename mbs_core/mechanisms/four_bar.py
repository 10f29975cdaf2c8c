"""A planar four-bar: crank, coupler and rocker of slender rods, with a spring on the rocker."""

import math

from mbs_core.description import Mechanism, effort, revolute, spring
from mbs_core.symbolic import diff, sin

variants = {'driven': (False, True)}


def four_bar(driven=False) -> Mechanism:
    """Return the four-bar; its crank is moved by a torque from outside, or `driven` (its motion given, its effort felt)."""
    m = Mechanism('four_bar', gravity=(0.0, -9.81, 0.0), doc='Crank, coupler and rocker, with a spring on the rocker')
    a = m.parameter('crank.length', 0.10, 'm', (0.02, 0.50), 'Crank, pivot to pivot')
    b = m.parameter('coupler.length', 0.30, 'm', (0.05, 1.00), 'Coupler, pivot to pivot')
    c = m.parameter('rocker.length', 0.25, 'm', (0.05, 1.00), 'Rocker, pivot to pivot')
    d = m.parameter('ground.length', 0.35, 'm', (0.05, 1.00), 'Distance of the two fixed pivots')
    per_length = m.parameter('rod.mass_per_length', 2.0, 'kg/m', (0.01, 50.0), 'Mass of the rods per length')
    rate = m.parameter('spring.rate', 0.5, 'N m/rad', (0.0, 100.0), 'Spring of the rocker')
    rest = m.parameter('spring.rest', 2.0, 'rad', (-math.pi, math.pi), 'Angle of the rocker where its spring is slack')

    def rod(name, on, length, **start):
        mass = per_length * length
        return m.body(name, on=on, joint=revolute('z'), mass=mass, com=(length / 2, 0, 0), inertia=mass * length * length / 12,
                      **start)

    crank = rod('crank', m.ground, a, initial=1.0)
    coupler = rod('coupler', crank.at(a, 0, 0), b, guess=-0.5)
    rocker = rod('rocker', m.ground.at(d, 0, 0), c, guess=1.8)
    m.close(coupler.at(b, 0, 0), rocker.at(c, 0, 0), plane='xy', name='pin')
    m.add(spring(rocker, rate, rest=rest))
    if driven:
        m.drive(crank)
        m.output('crank.effort', m.effort(crank), 'N m', 'What a hand on the crank feels (001 eq. 13)')
        m.output('crank.stiffness', _stiffness(m, (crank, coupler, rocker), (a, b, c), per_length, rate, rest), 'N m/rad',
                 'How the effort changes with the crank at rest: springs and weights, loop closed')
    else:
        m.add(effort(crank, m.input('crank.torque', 'N m', doc='Torque on the crank')))
    x, y, _ = m.position(coupler.at(b / 2, 0, 0))
    m.output('coupler.x', x, 'm', 'Middle of the coupler, to the right')
    m.output('coupler.y', y, 'm', 'Middle of the coupler, upward')
    return m


def _stiffness(m, bodies, lengths, per_length, rate, rest):
    """Return d2V/dq2 of the crank along the closed loop: V is the energy of the rocker's spring and of the weights.

    From a e^iq + b e^is = d + c e^ir, with s the absolute angle of the coupler and r of the rocker:
    r' = a sin(q - s) / (c sin(r - s)) and s' = a sin(r - q) / (b sin(s - r)).
    """
    (crank, coupler, rocker), (a, b, c) = bodies, lengths
    q, p, r = crank.q, coupler.q, rocker.q            # p is the coupler's angle on the crank
    s = q + p
    r_of_q = a * sin(q - s) / (c * sin(r - s))
    p_of_q = a * sin(r - q) / (b * sin(s - r)) - 1.0

    def along(e):
        return diff(e, q) + diff(e, p) * p_of_q + diff(e, r) * r_of_q
    height = a * (a / 2) * sin(q) + b * (a * sin(q) + (b / 2) * sin(s)) + c * (c / 2) * sin(r)
    energy = 0.5 * rate * (r - rest) * (r - rest) - m.gravity[1] * per_length * height
    return along(along(energy))
