"""A wheel on flat ground: contact point, slips with relaxation, and the tyre's forces on the wheel."""

from dataclasses import dataclass

from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import absolute, maximum, minimum, select, sqrt

MOST_KAPPA, MOST_SLOPE = 1.5, 2.5      # the slips stop growing here (a wheel that spins on the spot)
SLOW = 1.0                             # m/s below which the slip is damped: a standing tyre is a spring
SLOW_DAMPING = 0.02                    # s/m
ONSET = 0.5                            # rad/s over which rolling resistance turns round


@dataclass
class Contact:
    """What a wheel does on the ground, as expressions: forces in contact axes, slips, contact point."""

    fx: object
    fy: object
    fz: object
    mz: object
    kappa: object
    slope: object
    camber: object
    place: tuple                       # on the ground


def add_contact(m, name, wheel, carrier, centre, tyre, rate, damping, road, rolling) -> Contact:
    """Let `wheel` (spinning about y of `carrier`, centred at the point `centre` of it) roll on the plane z = 0.

    The slips are states: sigma s' + |V| s = slip speed, with the tyre's relaxation lengths.
    """
    axis = ve.column(m.rotation(carrier), 1) if centre.rotation == ve.EYE else \
        ve.matvec(m.rotation(carrier), ve.column(centre.rotation, 1))
    flat = sqrt(axis[0] * axis[0] + axis[1] * axis[1])
    along = (axis[1] / flat, -axis[0] / flat, 0.0)
    across = (-along[1], along[0], 0.0)
    hub, speed = m.position(centre), m.velocity(centre)
    reach = hub[2] / flat                                   # hub to ground in the wheel's plane
    arm = (reach * axis[2] * axis[0] / flat, reach * axis[2] * axis[1] / flat, -hub[2])
    patch = ve.add(speed, ve.cross(m.angular_velocity(carrier), arm))
    deep = tyre.r0 - reach
    fz = select(0.0 < deep, maximum(rate * deep - damping * patch[2], 0.0), 0.0)
    forward, sideways = ve.dot(patch, along), ve.dot(patch, across)
    turning = wheel.qd
    rolling_radius = tyre.r0 - deep / 3.0
    slide = forward - rolling_radius * turning
    sigma = tyre.relaxation(fz)
    pace = absolute(forward)
    calm = SLOW_DAMPING / (1.0 + (forward / SLOW) * (forward / SLOW))
    kappa, slope = m.state(f'{name}.kappa'), m.state(f'{name}.slope')
    m.derivative(kappa, _bounded(kappa, (-slide - pace * kappa) / sigma[0], MOST_KAPPA))
    m.derivative(slope, _bounded(slope, (sideways - pace * slope) / sigma[1], MOST_SLOPE))
    fx, fy, mz = tyre.forces(kappa - calm * slide, slope + calm * sideways, fz, axis[2], road)
    force = ve.add(ve.add(ve.scale(fx, along), ve.scale(fy, across)), (0.0, 0.0, fz))
    m.push(wheel, force, torque=ve.add(ve.cross(arm, force), (0.0, 0.0, mz)), name=f'{name}.tyre')
    hold = turning / sqrt(turning * turning + ONSET * ONSET)
    m.push_joint(wheel, -rolling * fz * reach * hold, f'{name}.rolling')
    return Contact(fx, fy, fz, mz, kappa, slope, axis[2], ve.add(hub, arm))


def _bounded(state, rate, most):
    """Return the rate, without what would drive the state beyond +-most."""
    return select(most < state, minimum(rate, 0.0), select(state < -most, maximum(rate, 0.0), rate))
