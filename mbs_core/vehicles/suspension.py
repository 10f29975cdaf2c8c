"""Corners of a car: double wishbones closed by loops, or a simpler slide; springs, dampers, bump stops and anti-roll bars.

Live geometry (caster, toe, camber) enters as positions of the joints on the upright and on the arms, chosen so that the wheel
stays where it is in the design pose: a change while driving moves nothing at once.
"""

import math
from dataclasses import dataclass

from mbs_core.description import link, prismatic, revolute
from mbs_core.description.joints import as_rotation
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import atan2, cos, maximum, sin, tan

STOP_RATE, STOP_ONSET = 2.0e5, 0.01    # N/m at the wheel, m over which a bump stop comes to its full rate


@dataclass(frozen=True)
class Alignment:
    """Settings of one axle as expressions: rad and m; camber positive with the top outwards, toe positive inwards."""

    caster: object                # angle of the kingpin, its top to the rear
    trail: object                 # m, where the kingpin meets the ground ahead of the contact (caster distance)
    toe: object
    camber: object


@dataclass(frozen=True)
class Ride:
    """Springs and dampers of one axle as expressions, all at the wheel."""

    spring: object
    damping: object
    anti_roll: object             # N m/rad of roll
    bump: object                  # m of travel to either stop


@dataclass
class Corner:
    """One built corner: the wheel, what carries it, where, and how its jounce is measured."""

    wheel: object
    carrier: object
    centre: object                # Point of the wheel's centre on the carrier
    jounce: object                # coordinate that lifts the wheel
    lift: float                   # m of wheel travel per unit of it
    independent: tuple


def kingpin_x(align, height):
    """Return how far the kingpin passes ahead of the wheel's centre at a height over the ground."""
    return align.trail - height * tan(align.caster)


def steering_arm(points) -> float:
    """Return rack travel per kingpin angle, m/rad, in the design pose."""
    below, above = points.lower, points.upper
    share = (points.tie[1] - below[1]) / (above[1] - below[1])
    side = points.tie[0] - (below[0] + share * (above[0] - below[0]))
    run, out = -points.tie_run, points.tie[0] - points.tie_inner[0]
    return points.steering_arm + side * run / out


def wishbone(m, chassis, name, axle, side, align, points, car, rack=None) -> Corner:
    """Build a double wishbone: lower and upper arm on the chassis, upright between them, tie rod to the rack or chassis."""
    y, z = 0.5 * axle.track, car.radius - axle.load / car.tyre_rate
    hinge = revolute('x' if side > 0 else '-x')
    low_y, low_z = points.lower[0] - points.lower_inner[0], points.lower[1] - points.lower_inner[1]
    up_y, up_z = points.upper[0] - points.upper_inner[0], points.upper[1] - points.upper_inner[1]
    low = (kingpin_x(align, z + points.lower[1]), side * points.lower[0], points.lower[1])       # from the wheel's centre
    top = (kingpin_x(align, z + points.upper[1]), side * points.upper[0], points.upper[1])
    tie_x = kingpin_x(align, z + points.tie[1]) - points.steering_arm
    tie = (tie_x, side * points.tie[0], points.tie[1])

    arm = m.body(f'{name}.arm', chassis.at(axle.x, side * (y + points.lower_inner[0]), z + points.lower_inner[1]), hinge,
                 mass=car.arm, com=(0.0, side * 0.5 * low_y, 0.5 * low_z),
                 inertia=(car.arm * low_y ** 2 / 12, 0.01, car.arm * low_y ** 2 / 12 + 0.01))
    upper = m.body(f'{name}.upper', chassis.at(axle.x, side * (y + points.upper_inner[0]), z + points.upper_inner[1]), hinge,
                   mass=car.upper_arm, com=(0.0, side * 0.5 * up_y, 0.5 * up_z),
                   inertia=(car.upper_arm * up_y ** 2 / 12, 0.005, car.upper_arm * up_y ** 2 / 12 + 0.005), guess=0.0)
    yaw, lean = -side * align.toe, -side * align.camber
    steer = m.body(f'{name}.steer', arm.at(low[0], side * low_y, low_z), revolute('z'))
    tilt = m.body(f'{name}.tilt', steer, revolute('x'))
    mass = 0.5 * axle.unsprung - car.wheel - car.arm - car.upper_arm
    back = ve.transpose(_attitude(yaw, lean))

    def own(point):
        """Return a design point (from the wheel's centre) in the upright's frame, whose origin is the lower ball joint."""
        return ve.matvec(back, ve.sub(point, low))
    upright = m.body(f'{name}.upright', tilt, revolute('y'), mass=mass, com=own((0.0, side * -0.05, 0.0)),
                     inertia=(0.15, 0.15, 0.10))
    centre = upright.at(*own((0.0, 0.0, 0.0)))
    wheel = _wheel(m, name, centre, car)
    m.close(upper.at(top[0], side * up_y, up_z), upright.at(*own(top)), name=f'{name}.joint')
    inner = (tie_x + points.tie_run, side * points.tie_inner[0], points.tie_inner[1])
    place = (axle.x + inner[0], side * y + inner[1], z + inner[2])
    anchor = rack.at(*place) if rack is not None else chassis.at(*place)
    rod = math.hypot(points.tie_run, points.tie[0] - points.tie_inner[0], points.tie[1] - points.tie_inner[1])
    m.close(upright.at(*own(tie)), anchor, length=rod, name=f'{name}.tie_rod')
    camber_rate = low_y * up_z / ((points.upper[1] - points.lower[1]) * up_y - (points.upper[0] - points.lower[0]) * up_z)
    lift = low_y + camber_rate * -points.lower[0]
    return Corner(wheel, upright, centre, arm.coordinate, lift, (arm.coordinate, wheel.coordinate))


def _attitude(yaw, lean):
    """Return the orientation of the upright in the design pose: about z, then about x."""
    return as_rotation([('z', yaw), ('x', lean)], 'upright')


def slide(m, chassis, name, axle, side, align, points, car, rack=None) -> Corner:
    """Build a corner that slides along z of the chassis; a steered one turns about a kingpin without inclination, by the rack."""
    y, z = 0.5 * axle.track, car.radius - axle.load / car.tyre_rate
    mass = 0.5 * axle.unsprung - car.wheel
    ahead = kingpin_x(align, z)
    yaw, lean = -side * align.toe, -side * align.camber
    if rack is None:
        carrier = m.body(f'{name}.carrier', chassis.at(axle.x, side * y, z), prismatic('z'), mass=mass, inertia=(0.3, 0.3, 0.2))
        centre = carrier.at(0.0, 0.0, 0.0, rotation=[('z', yaw), ('x', lean)])
        wheel = _wheel(m, name, centre, car)
        return Corner(wheel, carrier, centre, carrier.coordinate, 1.0, (carrier.coordinate, wheel.coordinate))
    slider = m.body(f'{name}.slider', chassis.at(axle.x + ahead, side * y, z), prismatic('z'))
    upright = m.body(f'{name}.upright', slider.at(rotation=('y', -align.caster)), revolute('z'), mass=mass,
                     inertia=(0.3, 0.3, 0.2))
    c, s = cos(align.caster), sin(align.caster)

    def own(x, across, up):
        """Return a design point (from the kingpin at the height of the wheel's centre) in the upright's frame."""
        return c * x + s * up, across, c * up - s * x
    centre = upright.at(*own(-ahead, 0.0, 0.0), rotation=[('y', align.caster), ('z', yaw), ('x', lean)])
    wheel = _wheel(m, name, centre, car)
    m.constrain(f'{name}.tie_rod', rack.q + points.steering_arm * upright.q)      # a rod that wheel travel does not turn
    return Corner(wheel, upright, centre, slider.coordinate, 1.0, (slider.coordinate, wheel.coordinate))


def _wheel(m, name, centre, car):
    return m.body(f'{name}.wheel', centre, revolute('y'), mass=car.wheel, inertia=(0.9, car.spin_inertia, 0.9))


def _stop(travel, most):
    """Return the force of the bump stops at a wheel travel, positive upwards on the body."""
    over, under = maximum(travel - most, 0.0), maximum(-travel - most, 0.0)
    return STOP_RATE * (over * over / (over + STOP_ONSET) - under * under / (under + STOP_ONSET))


@dataclass(frozen=True)
class Strut:
    """Where spring and damper of a wishbone stand, and how they see the wheel."""

    head: tuple                   # on the chassis
    foot: tuple                   # on the lower arm
    length: float                 # m, in the design pose
    ratio: float                  # strut per wheel travel
    share: float                  # N at the wheel that it carries in the design pose


def strut_of(axle, side, lift, points, car) -> Strut:
    """Return the strut of a wishbone whose lower arm lifts the wheel by `lift` m/rad."""
    y, z = 0.5 * axle.track, car.radius - axle.load / car.tyre_rate
    low_y, low_z = points.lower[0] - points.lower_inner[0], points.lower[1] - points.lower_inner[1]
    foot = (points.strut * low_y, points.strut * low_z)
    length = math.hypot(*points.strut_top)
    ratio = (foot[0] * points.strut_top[1] + foot[1] * points.strut_top[0]) / length / lift
    head = (axle.x, side * (y + points.lower_inner[0] + foot[0] - points.strut_top[0]),
            z + points.lower_inner[1] + foot[1] + points.strut_top[1])
    return Strut(head, (0.0, side * foot[0], foot[1]), length, ratio, _sprung_load(axle) + 0.5 * (car.arm + car.upper_arm) * 9.81 * 0.5)


def _sprung_load(axle):
    return axle.load - 0.5 * axle.unsprung * 9.81


def add_strut(m, chassis, name, axle, side, corner, ride, points, car):
    """Stand the body on a wheel: spring, damper and bump stops, preloaded to carry the design load."""
    if corner.lift == 1.0:                                  # a slide: straight on its coordinate
        travel, speed = corner.jounce.q, corner.jounce.v
        push = _sprung_load(axle) + ride.spring * travel + ride.damping * speed + _stop(travel, ride.bump)
        m.push_joint(corner.jounce, -push, f'{name}.strut')
        return
    strut = strut_of(axle, side, corner.lift, points, car)

    def pull(l, rate):
        """Return the force of the strut, positive when it pulls."""
        travel, speed = (strut.length - l) / strut.ratio, -rate / strut.ratio
        return -(strut.share + ride.spring * travel + ride.damping * speed + _stop(travel, ride.bump)) / strut.ratio
    m.add(link(chassis.at(*strut.head), corner.jounce.body.at(*strut.foot), force=pull, name=f'{name}.strut'))


def add_anti_roll(m, axle, left, right, ride):
    """Twist a bar between the wheels of an axle: a roll moment proportional to the roll against the wheels."""
    lift = left.lift
    rate = ride.anti_roll * (lift / axle.track) * (lift / axle.track)
    twist = left.jounce.q - right.jounce.q
    m.push_joint(left.jounce, -rate * twist, f'{axle.name}.bar')
    m.push_joint(right.jounce, rate * twist, f'{axle.name}.bar')


def steer_angle(m, chassis, corner):
    """Return the angle of the wheel in the chassis, positive to the left."""
    axis = ve.matvec(m.rotation(corner.carrier, chassis), ve.column(corner.centre.rotation, 1))
    return atan2(-axis[0], axis[1])


def travel_of(corner):
    """Return the wheel travel in m, positive upwards on the body, near the design pose."""
    return corner.lift * corner.jounce.q

