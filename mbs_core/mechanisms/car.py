"""A whole car in space: free chassis, four wheels on wishbones, rack and tie rods, tyres; its steering wheel is held by the driver."""

import math

from mbs_core.description import Mechanism, effort, free
from mbs_core.errors import MbsError
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import absolute, atan2, minimum, sqrt
from mbs_core.vehicles import powertrain, steering
from mbs_core.vehicles import suspension as corner_parts
from mbs_core.vehicles.bakker import Bakker
from mbs_core.vehicles.contact import add_contact
from mbs_core.vehicles.data import Car, Hardpoints
from mbs_core.vehicles.pac2002 import Pac2002
from mbs_core.vehicles.suspension import Alignment, Ride

variants = {'driven': (True, False), 'suspension': ('wishbone', 'simple'), 'tyre': ('pac2002', 'commonroad', 'bakker'),
            'assist': (True, False)}
CORNERS = ('front.left', 'front.right', 'rear.left', 'rear.right')
FASTEST = 250.0            # km/h


def car(driven=True, suspension='wishbone', tyre='pac2002', assist=False, speed=75.0, rim=0.04) -> Mechanism:
    """Return the car, rolling at `speed` km/h: the steering wheel's angle given and its effort felt, or a free wheel.

    `tyre`: PAC2002, its simplification of CommonRoad (proportional to the load), or the ROBOTRAN routine. `assist` adds a
    torsion bar and a motor. A free wheel (driven=False) carries the inertia `rim` (kg m2) and takes 'hand.torque'.
    """
    if not 0.0 <= speed <= FASTEST:
        raise MbsError(f"mechanism 'car': it starts between 0 and {FASTEST:g} km/h, not at {speed}")
    numbers, points = Car(), Hardpoints()
    m = Mechanism('car', doc='A car with double wishbones, rack steering and PAC2002 tyres')
    axles = numbers.axles()
    hold = m.parameter('hold.speed', speed, 'km/h', (0.0, FASTEST), 'Speed that is held; 0: pedals only')
    road = m.parameter('road.friction', 1.0, '1', (0.05, 1.5), 'Friction of the road, of the one the tyre was measured on')
    chassis = _chassis(m, numbers, speed / 3.6)
    rack = steering.add_rack(m, chassis)
    corners, contacts = _corners(m, chassis, rack, numbers, points, axles, suspension, _tyre(tyre), road, speed / 3.6)
    arm = points.steering_arm if suspension == 'simple' else corner_parts.steering_arm(points)
    wheel, stiffness, loss = steering.add_column(m, chassis, rack, arm, 0.0 if driven else rim, assist)
    steering.add_probe(m, wheel)
    own = m.velocity(chassis.at())
    heading = ve.column(m.rotation(chassis), 0)
    pace = ve.dot(own, heading)
    m.push(chassis.at(numbers.sprung_x(), 0.0, numbers.height), (-numbers.drag * pace * absolute(pace), 0.0, 0.0),
           frame=chassis, name='air')
    sides = {axle.name: corners[2 * k:2 * k + 2] for k, axle in enumerate(axles)}
    engine, brake = powertrain.add_powertrain(m, chassis, numbers, axles, sides, pace, hold)
    if driven:
        m.drive(wheel)
        m.output('steering_wheel.effort', m.effort(wheel), 'N m', 'What hands on the steering wheel feel (001 eq. 13)')
    else:
        m.add(effort(wheel, m.input('hand.torque', 'N m', doc='Torque of the hands, positive to the left'), 'hands'))
        m.output('steering_wheel.angle', wheel.q, 'rad', 'Angle of the steering wheel, positive to the left')
    m.output('steering_wheel.stiffness', stiffness, 'N m/rad', 'How the effort changes with the angle, at once')
    m.output('steering_wheel.damping', loss, 'N m s/rad', 'How the effort changes with the rate, at once')
    _vehicle_outputs(m, chassis, pace, engine, brake)
    for name, corner, contact in zip(CORNERS, corners, contacts):
        _wheel_outputs(m, chassis, name, corner, contact)
    free_ones = [c for corner in corners for c in corner.independent]
    m.independent(*chassis.coordinates, *(m.coordinate_of(f'chassis.{k}') for k in 'xyz'), *free_ones, wheel)
    return m


def _tyre(name):
    return {'pac2002': Pac2002(), 'commonroad': Pac2002(load_sensitive=False, qdz1=0.0, qdz2=0.0), 'bakker': Bakker()}[name]


def _chassis(m, numbers, speed):
    return m.body('chassis', m.ground, free(), mass=numbers.sprung - steering.MASS, com=(numbers.sprung_x(), 0.0, numbers.height),
                  inertia=(numbers.roll_inertia, numbers.pitch_inertia, numbers.sprung_yaw_inertia()),
                  initial=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), rate=(speed, 0.0, 0.0, 0.0, 0.0, 0.0))


def _axle_settings(m, axle):
    """Declare the live settings of an axle; return (alignment, ride)."""
    n = axle.name
    caster, trail = (5.38, 13.5) if axle.steered else (0.0, 0.0)
    angle = distance = 0.0
    if axle.steered:
        angle = m.parameter('caster.angle', caster, 'deg', (-5.0, 15.0), 'Angle of the front kingpins, top to the rear')
        distance = m.parameter('caster.distance', trail, 'mm', (-20.0, 80.0), 'Where the kingpin meets the ground ahead of the contact')
    toe = m.parameter(f'{n}.toe', 0.0, 'deg', (-5.0, 5.0), f'Toe-in of each {n} wheel')
    camber = m.parameter(f'{n}.camber', 0.0, 'deg', (-8.0, 8.0), f'Camber of the {n} wheels, positive with the top outwards')
    ride = Ride(m.parameter(f'{n}.spring', axle.spring, 'N/m', (5000.0, 200000.0), f'Spring of each {n} wheel, at the wheel'),
                m.parameter(f'{n}.damping', axle.damping, 'N s/m', (0.0, 10000.0), f'Damper of each {n} wheel, at the wheel'),
                m.parameter(f'{n}.anti_roll', axle.anti_roll, 'N m/rad', (0.0, 100000.0), f'{n.capitalize()} anti-roll bar, per roll'),
                m.parameter(f'{n}.travel', 0.08, 'm', (0.02, 0.12), f'Travel of the {n} wheels to either bump stop'))
    return Alignment(angle, distance, toe, camber), ride


def _corners(m, chassis, rack, numbers, points, axles, kind, tyre, road, speed):
    """Build the four corners with their tyres; return (corners, contacts)."""
    make = corner_parts.wishbone if kind == 'wishbone' else corner_parts.slide
    rate = m.parameter('tyre.rate', numbers.tyre_rate, 'N/m', (50000.0, 500000.0), 'Vertical stiffness of a tyre')
    corners, contacts = [], []
    for axle in axles:
        align, ride = _axle_settings(m, axle)
        pair = []
        for side, word in ((1.0, 'left'), (-1.0, 'right')):
            name = f'{axle.name}.{word}'
            corner = make(m, chassis, name, axle, side, align, points, numbers, rack if axle.steered else None)
            corner_parts.add_strut(m, chassis, name, axle, side, corner, ride, points, numbers)
            corner.wheel.coordinate.initial_rate = speed / (numbers.radius - axle.load / numbers.tyre_rate / 3.0)
            contacts.append(add_contact(m, name, corner.wheel, corner.carrier, corner.centre, tyre, rate, numbers.tyre_damping,
                                        road, numbers.rolling))
            pair.append(corner)
        corner_parts.add_anti_roll(m, axle, *pair, ride)
        corners += pair
    return corners, contacts


def _vehicle_outputs(m, chassis, pace, engine, brake):
    turn = m.rotation(chassis)
    place = m.position(chassis.at())
    left = ve.column(turn, 1)
    level = sqrt(left[0] * left[0] + left[1] * left[1])
    sideways = (left[0] / level, left[1] / level)
    pull = m.acceleration(chassis.at(0.0, 0.0, 0.5))
    rate = m.angular_velocity(chassis)
    yaw = atan2(turn[1][0], turn[0][0])
    speed = m.velocity(chassis.at())
    for name, value, unit, doc in (
            ('x', place[0], 'm', 'Place of the car on the ground'), ('y', place[1], 'm', 'Place of the car on the ground, to the left'),
            ('z', place[2], 'm', 'Ride height, 0 in the design pose'), ('yaw', yaw, 'rad', 'Heading, positive to the left'),
            ('roll', atan2(turn[2][1], turn[2][2]), 'rad', 'Roll of the body, positive with the left side up'),
            ('pitch', atan2(-turn[2][0], sqrt(turn[2][1] * turn[2][1] + turn[2][2] * turn[2][2])), 'rad', 'Pitch of the body, positive nose down'),
            ('speed', pace, 'm/s', 'Speed along the car'), ('yaw_rate', rate[2], 'rad/s', 'Rate of the heading'),
            ('slip', atan2(ve.dot(speed, left), minimum(absolute(pace) + 0.1, 1e9)), 'rad', 'Side-slip angle at the centre of gravity'),
            ('ax', turn[0][0] * pull[0] + turn[1][0] * pull[1], 'm/s2', 'Acceleration along the car'),
            ('ay', sideways[0] * pull[0] + sideways[1] * pull[1], 'm/s2', 'Acceleration to the left'),
            ('engine', engine, 'N', 'Driving force that the engine is asked for'), ('brake', brake, 'N', 'Braking force that is asked for')):
        m.output(f'vehicle.{name}', value, unit, doc)


def _wheel_outputs(m, chassis, name, corner, contact):
    for part, value, unit, doc in (
            ('fx', contact.fx, 'N', 'Tyre force forward, along the wheel'), ('fy', contact.fy, 'N', 'Tyre force to the left of the wheel'),
            ('fz', contact.fz, 'N', 'Load of the tyre'), ('mz', contact.mz, 'N m', 'Aligning moment of the tyre'),
            ('kappa', contact.kappa, '1', 'Longitudinal slip'), ('slope', contact.slope, '1', 'Tangent of the slip angle'),
            ('camber', contact.camber, 'rad', 'Inclination against the road, positive to the right'),
            ('steer', corner_parts.steer_angle(m, chassis, corner), 'rad', 'Angle of the wheel in the car, positive to the left'),
            ('travel', corner_parts.travel_of(corner), 'm', 'Wheel travel, positive upwards'),
            ('x', contact.place[0], 'm', 'Contact on the ground'), ('y', contact.place[1], 'm', 'Contact on the ground, to the left')):
        m.output(f'{name}.{part}', value, unit, doc)
