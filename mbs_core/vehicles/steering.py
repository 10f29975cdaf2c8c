"""From the steering wheel to the rack: column, pinion, friction, end stops, and an assisted column with a torsion bar."""

import math

from mbs_core.description import friction, prismatic, revolute
from mbs_core.symbolic import absolute, exp, maximum, select, sin

STOP_ONSET = 0.05          # rad over which the end stop comes to its full rate
PROBE_FASTEST, PROBE_BACK = 200.0, 20.0     # Hz; 1/s with which a sweep that ended goes back to its start
RACK, WHEEL = 2.5, 0.5     # kg
MASS = RACK + WHEEL        # belongs to the sprung mass
PINION = 0.002             # kg m2, pinion and lower column
COLUMN = 0.004             # kg m2 of the modelled column; the rim belongs to the device


def add_rack(m, chassis):
    """Return the rack, sliding along y of the chassis, in whose axes it is mounted."""
    return m.body('rack', chassis.at(), prismatic('y'), mass=RACK, com=(0.9, 0.0, 0.32), inertia=(0.15, 0.01, 0.15))


def add_probe(m, wheel):
    """Add a sine of torque to the steering wheel, for measuring what a device makes of it; off by default.

    With a sweep it is a chirp: its frequency grows by that share of itself every second; sweep 0 takes it back to the start.
    """
    size = m.parameter('probe.torque', 0.0, 'N m', (0.0, 2.0), 'Amplitude of the test torque on the steering wheel')
    start = m.parameter('probe.frequency', 1.0, 'Hz', (0.1, PROBE_FASTEST), 'Frequency of the test torque, or where its sweep begins')
    sweep = m.parameter('probe.sweep', 0.0, '1/s', (0.0, 5.0), 'Growth of the frequency, relative to itself; 0: no sweep')
    climb, phase = m.state('probe.climb'), m.state('probe.phase')
    frequency = start * exp(climb)
    m.derivative(climb, select(0.0 < sweep, select(frequency < PROBE_FASTEST, sweep, 0.0), -PROBE_BACK * climb))
    m.derivative(phase, 2.0 * math.pi * frequency)
    m.push_joint(wheel, size * sin(phase), 'probe')


def add_column(m, chassis, rack, arm, rim=0.0, assist=False):
    """Add steering wheel, column and pinion; return (steering wheel, local stiffness, local damping).

    The wheel turns positive to the left; the rack, behind the axle, then goes to the right. With `assist` a torsion
    bar stands between wheel and pinion, and the motor adds a torque to the pinion that grows with the bar's.
    """
    ratio = m.parameter('steering.ratio', 16.0, '1', (8.0, 30.0), 'Steering wheel angle per angle of the front wheels')
    dry = m.parameter('column.friction', 0.05, 'N m', (0.0, 5.0), 'Dry friction of the column')
    loss = m.parameter('column.damping', 0.30, 'N m s/rad', (0.0, 3.0), 'Viscous damping of column and rack')
    travel = m.parameter('stop.angle', 8.2, 'rad', (1.0, 8.5), 'Steering wheel angle of the end stops')
    rate = m.parameter('stop.rate', 40.0, 'N m/rad', (0.0, 200.0), 'Stiffness of the end stops')
    wheel = m.body('steering_wheel', chassis.at(0.3, 0.35, 0.9), revolute('-x'), mass=WHEEL, inertia=COLUMN + rim)
    over, under = maximum(wheel.q - travel, 0.0), maximum(-wheel.q - travel, 0.0)
    m.push_joint(wheel, rate * (under * under / (under + STOP_ONSET) - over * over / (over + STOP_ONSET)), 'stop')
    past = over + under
    stiffness = rate * past * (past + 2.0 * STOP_ONSET) / ((past + STOP_ONSET) * (past + STOP_ONSET))
    radius = arm / ratio
    if not assist:
        m.add(friction(wheel, dry, viscous=loss, smooth=0.05, name='column'))
        m.constrain('pinion', rack.q + radius * wheel.q)
        return wheel, stiffness, loss
    bar = m.parameter('bar.rate', 115.0, 'N m/rad', (20.0, 500.0), 'Stiffness of the torsion bar')
    bar_loss = m.parameter('bar.damping', 0.6, 'N m s/rad', (0.05, 5.0), 'Damping of the torsion bar')
    gain = m.parameter('assist.gain', 2.0, '1', (0.0, 20.0), 'Assist per torque of the driver beyond the dead zone')
    dead = m.parameter('assist.dead_zone', 0.5, 'N m', (0.0, 5.0), 'Torque of the driver that is not assisted')
    pinion = m.body('pinion', chassis.at(0.9, 0.35, 0.32), revolute('-x'), inertia=PINION)
    twist = bar * (wheel.q - pinion.q)
    torque = twist + bar_loss * (wheel.qd - pinion.qd)
    beyond = maximum(absolute(twist) - dead, 0.0)
    help_ = gain * beyond * twist / (absolute(twist) + 1e-6)
    m.push_joint(wheel, -torque, 'bar')
    m.push_joint(pinion, torque + help_, 'bar')
    m.add(friction(pinion, dry, viscous=loss, smooth=0.05, name='column'))
    m.constrain('pinion_rack', rack.q + radius * pinion.q)
    return wheel, stiffness + bar, bar_loss
