"""Hirai's 2-dof link mechanisms: an open chain of two links, and two such arms joined at their ends (paper 003).

Links are the slides' cylinders (length 2 m, radius 0.05 m, density 1 kg/m3). Joints 1 and 2 of the open chain, 1 and 3
of the closed one, are active: torques from outside, the sample torques of the slides, or PD, PI, PID control.
"""

import math

from mbs_core.description import Mechanism, effort, revolute
from mbs_core.errors import MbsError
from mbs_core.symbolic import select, sin

variants = {'closed': (False, True), 'control': ('none', 'input', 'torques', 'pd', 'pi', 'pid')}

# (start s, desired angles rad of the two active joints): the slides' two set-points
SETPOINTS = ((0.0, (math.pi / 3, math.pi / 6)), (5.0, (math.pi / 4, -math.pi / 6)))
# (K_P, K_D, K_I) of the public sample programs
GAINS = {'pd': (3.0, 0.5, 0.0), 'pi': (3.0, 0.0, 0.5), 'pid': (2.5, 0.8, 0.5)}
CLOSED_PD = (3.0, 0.8, 0.0)
CLOSED_START = (math.pi / 2, -math.pi / 6, math.pi / 2, math.pi / 6)


def two_link(closed=False, control='pd', setpoints=1, start=None) -> Mechanism:
    """Return the open or closed 2-dof link mechanism of 003.

    `setpoints` is how many of the slides' set-points to follow, or a list of (start s, (rad, rad)); `start` is the
    joint angles in rad: open from (0, 0), closed from (pi/2, -pi/6, pi/2, pi/6) if omitted.
    """
    doc = f'{"Closed" if closed else "Open"} 2-dof link mechanism of 003, control: {control}'
    return link_mechanism('two_link', doc, closed, control, setpoints, start)


def link_mechanism(name, doc, closed, control, setpoints, start) -> Mechanism:
    """Return the mechanism of `two_link` under another name."""
    m = Mechanism(name, gravity=(0.0, -9.8, 0.0), doc=doc)
    start = tuple(start or (CLOSED_START if closed else (0.0, 0.0)))
    if len(start) != (4 if closed else 2):
        raise MbsError(f"mechanism '{name}': start holds {len(start)} angles; give {4 if closed else 2}, one for each joint")
    if closed:
        half = m.parameter('base.half_distance', 1.0, 'm', (0.1, 5.0), 'Half the distance of the two bases')
        left, tip = _arm(m, 1, m.ground.at(-half, 0, 0), start[:2])
        right, other = _arm(m, 3, m.ground.at(half, 0, 0), start[2:])
        loop = m.close(tip, other, plane='xy', name='R')
        active = {1: left[0], 3: right[0]}
    else:
        left, tip = _arm(m, 1, m.ground, start)
        active = {1: left[0], 2: left[1]}
    for k, value in _torques(m, control, closed, active, setpoints).items():
        m.add(effort(active[k], value, f'tau{k}'))
        m.output(f'tau{k}', value, 'N m', f'Torque of active joint {k}')
    x, y, _ = m.position(tip)
    m.output('tip.x', x, 'm', 'End point, forward')
    m.output('tip.y', y, 'm', 'End point, upward')
    if closed:
        m.output('lambda.x', m.multiplier(loop, 0), 'N', 'Constraint force on the left arm, forward')
        m.output('lambda.y', m.multiplier(loop, 1), 'N', 'Constraint force on the left arm, upward')
    return m


def _arm(m, first, base, start):
    """Return two cylinder links (class Link_Cylinder of 003) on `base`, numbered from `first`, and their end point."""
    links, mount = [], base
    for k, angle in zip((first, first + 1), start):
        length = m.parameter(f'link{k}.length', 2.0, 'm', (0.2, 10.0), f'Link {k}, joint to joint')
        radius = m.parameter(f'link{k}.radius', 0.05, 'm', (0.001, 0.5), f'Link {k}, radius of the cylinder')
        density = m.parameter(f'link{k}.density', 1.0, 'kg/m3', (0.01, 2e4), f'Link {k}, density')
        mass = math.pi * density * length * radius * radius
        about_centre = mass * (3 * radius * radius + length * length) / 12
        link = m.body(f'link{k}', on=mount, joint=revolute('z'), mass=mass, com=(length / 2, 0, 0), inertia=about_centre,
                      initial=angle)
        links.append(link)
        mount = link.at(length, 0, 0)
    return links, mount


def _torques(m, control, closed, active, setpoints):
    """Return {joint number: torque} of the chosen control; `active` is {joint number: body}."""
    if control not in variants['control']:
        raise MbsError(f"mechanism '{m.name}': the control '{control}' is unknown; use {', '.join(variants['control'])}")
    if control == 'none':
        return {}
    if control == 'input':
        return {k: m.input(f'tau{k}', 'N m', doc=f'Torque of joint {k}') for k in active}
    if control == 'torques':                # sample program open_mechanism_2DOF_external_torques
        wave = sin(math.pi * m.time)
        return dict(zip(active, (0.1 * wave + 0.2, -0.05 * wave - 0.01)))
    gains = CLOSED_PD if closed and control == 'pd' else GAINS[control]
    desired = _desired(m, active, setpoints)
    return {k: _pid(m, k, active[k], desired[k], control, gains) for k in active}


def _desired(m, active, setpoints):
    """Return {joint number: desired angle}, switched by time; angles and times are parameters."""
    if isinstance(setpoints, int):
        if not 1 <= setpoints <= len(SETPOINTS):
            raise MbsError(f"mechanism '{m.name}': {setpoints} set-points are not defined; use 1 to {len(SETPOINTS)}, "
                           'or give a list of (start s, (rad, rad))')
        setpoints = SETPOINTS[:setpoints]
    angle = {}
    for n, (begin, targets) in enumerate(setpoints, 1):
        if n > 1:
            begin = m.parameter(f'setpoint{n}.start', begin, 's', (0.0, 3600.0), f'When set-point {n} begins')
        for k, target in zip(active, targets):
            new = m.parameter(f'setpoint{n}.theta{k}', target, 'rad', (-20.0, 20.0), f'Desired angle {n} of joint {k}')
            angle[k] = new if n == 1 else select(m.time < begin, angle[k], new)
    return angle


def _pid(m, k, joint, target, control, gains):
    """Return tau = -K_P (theta - theta_d) - K_D theta' - K_I xi, xi' = theta - theta_d (003)."""
    error = joint.q - target
    kp, kd, ki = gains
    torque = -m.parameter(f'K_P{k}', kp, 'N m/rad', (0.0, 1e4), f'Proportional gain of joint {k}') * error
    if 'd' in control:
        torque -= m.parameter(f'K_D{k}', kd, 'N m s/rad', (0.0, 1e4), f'Derivative gain of joint {k}') * joint.qd
    if 'i' in control:
        xi = m.state(f'xi{k}')
        m.derivative(xi, error)
        torque -= m.parameter(f'K_I{k}', ki, 'N m/(rad s)', (0.0, 1e4), f'Integral gain of joint {k}') * xi
    return torque
