"""A key-like lever, balanced in its middle, with a spring, a damper and a soft end stop: the first thing to feel."""

from mbs_core.description import Mechanism, effort, revolute
from mbs_core.symbolic import diff, log, maximum

variants = {'driven': (True, False)}
ONSET = 0.003           # rad over which the felt of the stop comes to its full rate


def lever(driven=True) -> Mechanism:
    """Return the lever: `driven` (its angle given, its effort felt), or moved by a torque from outside.

    The angle is positive when the front, at negative x, goes down. Gravity does nothing on a balanced lever.
    """
    m = Mechanism('lever', gravity=(0.0, -9.81, 0.0), doc='Balanced lever with a spring, a damper and a soft end stop')
    length = m.parameter('lever.length', 0.436, 'm', (0.05, 2.0), 'Lever, end to end', structural=True)
    mass = m.parameter('lever.mass', 0.126, 'kg', (0.001, 10.0), 'Mass of the lever')
    rate = m.parameter('spring.rate', 4.0, 'N m/rad', (0.0, 50.0), 'Spring that brings the lever back')
    preload = m.parameter('spring.preload', 0.06, 'N m', (0.0, 2.0), 'Torque of the spring at angle zero')
    loss = m.parameter('damper.rate', 0.004, 'N m s/rad', (0.0, 0.2), 'Viscous damping of the lever')
    angle = m.parameter('stop.angle', 0.040, 'rad', (0.005, 0.5), 'Angle at which the felt of the stop is met')
    felt = m.parameter('stop.rate', 30.0, 'N m/rad', (0.0, 200.0), 'Stiffness of the felt once it is pressed')
    beam = m.body('lever', on=m.ground, joint=revolute('z'), mass=mass, inertia=mass * length * length / 12)
    q, v = beam.q, m.coordinate_of(beam).v
    depth = maximum(q - angle, 0.0)
    resistance = rate * q + preload + loss * v + felt * depth * depth / (depth + ONSET)
    m.add(effort(beam, -resistance, 'touch'))
    pressed = 0.5 * depth * depth - ONSET * depth + ONSET * ONSET * log(1.0 + depth / ONSET)
    m.store(0.5 * rate * q * q + preload * q + felt * pressed, 'touch')
    if driven:
        m.drive(beam)
        m.output('lever.effort', m.effort(beam), 'N m', 'What a hand on the lever feels (001 eq. 13)')
    else:
        m.add(effort(beam, m.input('hand.torque', 'N m', doc='Torque of the hand, positive downward'), 'hand'))
    m.output('lever.stiffness', diff(resistance, q), 'N m/rad', 'How the effort changes with the angle')
    m.output('lever.damping', diff(resistance, v), 'N m s/rad', 'How the effort changes with the rate')
    m.output('front.y', m.position(beam.at(-length / 2, 0, 0))[1], 'm', 'Height of the front')
    return m
