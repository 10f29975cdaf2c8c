"""Force laws in the words of the workshop: springs, dampers, friction, links, contacts, felts.

Each is a few lines on the mechanism's own primitives (`push_joint`, `push`, `work`, `state`), which a user's law may
use just as well; a law may carry states of its own and may call an external compiled function.
"""

from dataclasses import dataclass, field
from typing import Callable

from mbs_core.errors import MbsError
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import Expr, absolute, exp, maximum, power, select, sqrt, tanh


@dataclass(frozen=True)
class Law:
    """A force law: what it does when added to a mechanism, and what expressions it lets be seen then (for outputs)."""

    name: str
    apply: Callable
    seen: dict = field(default_factory=dict)


def effort(joint, value, name='effort') -> Law:
    """Return a given effort (force or torque) on a joint: any expression of coordinates, inputs, states, time."""
    return Law(name, lambda m: m.push_joint(joint, value, name))


def spring(joint, rate, rest=0.0, preload=0.0, name='spring') -> Law:
    """Return a joint spring: effort = -preload - rate (q - rest)."""
    def apply(m):
        stretch = m.coordinate_of(joint).q - rest
        m.push_joint(joint, -rate * stretch - preload, name)
        m.store(0.5 * rate * stretch * stretch + preload * stretch, name)
    return Law(name, apply)


def damper(joint, rate, name='damper') -> Law:
    """Return a joint damper: effort = -rate qd."""
    return Law(name, lambda m: m.push_joint(joint, -rate * m.coordinate_of(joint).v, name))


def friction(joint, coulomb, viscous=0.0, static=None, stribeck=0.1, smooth=0.01, name='friction') -> Law:
    """Return joint friction: Coulomb (with Stribeck peak `static` below the speed `stribeck`) and viscous.

    The sign is rounded over the speed `smooth`, so that the law has a finite slope.
    """
    def apply(m):
        v = m.coordinate_of(joint).v
        level = coulomb
        if static is not None:
            level = coulomb + (static - coulomb) * exp(-(v / stribeck) * (v / stribeck))
        m.push_joint(joint, -level * tanh(v / smooth) - viscous * v, name)
    return Law(name, apply)


def lugre(joint, stiffness, damping, coulomb, static, stribeck, viscous=0.0, name=None) -> Law:
    """Return LuGre friction on a joint: bristle deflection z is a state of its own."""
    def apply(m):
        c = m.coordinate_of(joint)
        v = c.v
        level = coulomb + (static - coulomb) * exp(-(v / stribeck) * (v / stribeck))
        z = m.state(f'{name or c.name}.bristle')
        rate = v - stiffness * absolute(v) / level * z
        m.derivative(z, rate)
        m.push_joint(c, -(stiffness * z + damping * rate + viscous * v), name or 'lugre')
    return Law(name or 'lugre', apply)


def link(first, second, rate=0.0, length=0.0, damping=0.0, force=None, name='link') -> Law:
    """Return a force along the line of two points: rate (l - length) + damping l', positive when it pulls.

    `force` may be a function of (l, l') that returns the pull, instead of spring and damper.
    """
    def apply(m):
        a, b = m._point(first), m._point(second)
        if a.body is b.body:
            raise MbsError(f"link '{name}': both ends are on '{a.body.name}', it can't do anything")
        base = m.kinematics.common(a.body, b.body)
        gap = ve.sub(m.kinematics.point(a, base), m.kinematics.point(b, base))
        l = sqrt(ve.dot(gap, gap))
        rate_of = ve.dot(gap, ve.sub(m.kinematics.point_velocity(a, base), m.kinematics.point_velocity(b, base))) / l
        pull = force(l, rate_of) if force else rate * (l - length) + damping * rate_of
        back = ve.transpose(m.kinematics.link(base).attitude)          # computing axes -> axes of the base body
        # central: its reaction, taken at the same place, has the same moment
        m.push(a, ve.matvec(back, ve.scale(-pull / l, gap)), on=b.body, name=name, frame=base)
        if not force:
            m.store(0.5 * rate * (l - length) * (l - length), name)
    return Law(name, apply)


def hunt_crossley(depth, speed, stiffness, exponent, hysteresis, loss=None):
    """Return the normal force of a contact at penetration `depth` and its rate: k d^p (1 + h d'), never pulling.

    With `loss` below 1, h d' is bounded by it, as h d' / (1 + h |d'| / loss): felt that is worked fast loses no larger share.
    """
    d = maximum(depth, 0.0)
    if loss is not None:
        share = hysteresis * speed / (1.0 + hysteresis / loss * absolute(speed))
        return stiffness * power(d, exponent) * (1.0 + share)
    return select(0.0 < depth, maximum(stiffness * power(d, exponent) * (1.0 + hysteresis * speed), 0.0), 0.0)


def contact(point, on, normal, origin=(0.0, 0.0, 0.0), stiffness=1e6, exponent=1.5, hysteresis=0.0, radius=0.0,
            friction=0.0, smooth=0.001, name='contact') -> Law:
    """Return the contact of a ball (a point with `radius`) with a plane of body `on`.

    The plane passes through `origin` with unit `normal`, both in the frame of `on`; friction is Coulomb, rounded
    over the sliding speed `smooth`.
    """
    def apply(m):
        p, v = m.position(point, seen_from=on), m.velocity(point, seen_from=on)
        n = m._vector(normal, f"normal of contact '{name}'")
        if not any(isinstance(c, Expr) for c in n) and abs(ve.dot(n, n) - 1.0) > 1e-9:
            raise MbsError(f"contact '{name}': its normal {n} must have length one")
        depth = radius - ve.dot(ve.sub(p, origin), n)
        approach = -ve.dot(v, n)
        push = hunt_crossley(depth, approach, stiffness, exponent, hysteresis)
        force = ve.scale(push, n)
        if not ve.is_number(friction, 0.0):
            slide = ve.add(v, ve.scale(approach, n))
            force = ve.sub(force, ve.scale(friction * push / sqrt(ve.dot(slide, slide) + smooth * smooth), slide))
        m.push(point, force, on=on, name=name, frame=on)
    return Law(name, apply)


def felt(displacement, stiffness, exponent=2.5, hysteresis=0.0, relaxation=None, fraction=0.0, name='felt') -> Law:
    """Return a felt compressed by `displacement` (an expression, positive when pressed).

    Without `relaxation`: k x^p (1 + hysteresis x'). With it (Stulov): f0 [x^p - w], the memory w following
    w' = (fraction x^p - w) / relaxation, a state of its own.
    """
    def apply(m):
        x = maximum(displacement, 0.0)
        p = power(x, exponent)
        if relaxation is None:
            force = hunt_crossley(displacement, m.rate(displacement), stiffness, exponent, hysteresis)
        else:
            w = m.state(f'{name}.memory')
            m.derivative(w, (fraction * p - w) / relaxation)
            force = maximum(stiffness * (p - w), 0.0)
        m.work(-force, displacement, name)
    if relaxation is not None and name == 'felt':
        raise MbsError("a felt with memory needs a name of its own: felt(..., name='knuckle.felt')")
    return Law(name, apply)
