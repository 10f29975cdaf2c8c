"""Inertia of the bodies about their joints, regrouped so that the recursion meets the fewest terms.

A body enters as mass m, first moment b = m c and pseudo-inertia E (the integral of r r' dm) about its origin, in
its own frame. What sits on a joint's axis moves as if it belonged to the carrier: mass, first moment along the axis
and E along the axis are handed down (a sliding body hands down all of E). Only parameters are involved, so this is
evaluated once per change; the equations of motion are exactly the same and a third shorter.
"""

from dataclasses import dataclass

from mbs_core.formalism import vectors as ve
from mbs_core.formalism.kinematics import inertia_matrix


@dataclass
class Moments:
    """Mass, first moment and pseudo-inertia about a body's origin, in its frame."""

    mass: object
    first: tuple
    second: tuple


def moments_of(body) -> Moments:
    """Return a body's own moments."""
    i = inertia_matrix(body.inertia)
    half = 0.5 * (i[0][0] + i[1][1] + i[2][2])
    c, m = body.com, body.mass
    second = ve.mirror(*(m * c[j] * c[k] + (half if j == k else 0.0) - i[j][k] for j, k in ve.SIX))
    return Moments(m, ve.scale(m, c), second)


def own_moments(mechanism) -> dict:
    """Return {body: Moments} as described (for reactions and energies)."""
    return {b: moments_of(b) for b in mechanism.bodies.values()}


def regrouped_moments(mechanism) -> dict:
    """Return {body: Moments} with everything that sits on a joint axis handed down to the carrier."""
    moments = own_moments(mechanism)
    for body in sorted(mechanism.bodies.values(), key=lambda b: -b.order):
        if body.parent is None:
            continue
        kind = body.joint.kind
        own = moments[body]
        if kind == 'revolute':
            a = body.joint.axis
            given = Moments(own.mass, ve.scale(ve.dot(own.first, a), a),
                            _along(a, ve.dot(a, ve.matvec(own.second, a))))
            kept = Moments(0.0, _remove_vector(own.first, given.first, a), _remove_tensor(own.second, given.second, a))
        elif kind == 'prismatic':
            given, kept = Moments(0.0, ve.ZERO, own.second), Moments(own.mass, own.first, _NONE)
        elif kind == 'spherical':
            given, kept = Moments(own.mass, ve.ZERO, _NONE), Moments(0.0, own.first, own.second)
        else:
            given, kept = own, Moments(0.0, ve.ZERO, _NONE)
        moments[body] = kept
        up = moments[body.parent]
        moments[body.parent] = _sum(up, _moved(given, body.mount.offset, body.mount.rotation))
    return moments


_NONE = (ve.ZERO, ve.ZERO, ve.ZERO)


def _along(a, e):
    return ve.mirror(*(e * a[i] * a[j] for i, j in ve.SIX))


def _remove_vector(v, part, a):
    axis = ve.unit_axis(a)
    if axis:                                   # the removed component is exactly zero, not a difference
        return tuple(0.0 if k == axis[0] else v[k] for k in range(3))
    return ve.sub(v, part)


def _remove_tensor(t, part, a):
    axis = ve.unit_axis(a)
    if axis:
        k = axis[0]
        return tuple(tuple(0.0 if i == j == k else t[i][j] for j in range(3)) for i in range(3))
    return ve.mirror(*(t[i][j] - part[i][j] for i, j in ve.SIX))


def _sum(p, q):
    return Moments(p.mass + q.mass, ve.add(p.first, q.first), ve.symmetric_sum(p.second, q.second))


def _moved(given, offset, rotation):
    """Return moments seen from a frame in which they sit at `offset`, turned by `rotation`."""
    b = ve.matvec(rotation, given.first)
    e = ve.rotate_tensor(rotation, given.second)
    return Moments(given.mass, ve.add(b, ve.scale(given.mass, offset)), shifted(given.mass, b, e, offset))


def seen_from(m, point):
    """Return moments about another point of the same frame."""
    return _moved(m, ve.scale(-1.0, point), ve.EYE)


def shifted(mass, first, second, arm):
    """Return the pseudo-inertia about a point from which the old origin is at `arm`."""
    w = ve.add(first, ve.scale(0.5 * mass if not ve.is_number(mass, 0.0) else 0.0, arm))
    return ve.mirror(*(second[i][j] + (w[i] * arm[j] + arm[i] * w[j]) for i, j in ve.SIX))
