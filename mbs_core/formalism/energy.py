"""Kinetic and potential energy, body by body in computing frames."""

from mbs_core.formalism import vectors as ve
from mbs_core.formalism.inertia import moments_of


def energy(m):
    """Return (kinetic, potential) of a mechanism: gravity, and what its force laws declare they store."""
    kinetic, potential = 0.0, 0.0
    bodies = sorted((b for b in m.bodies.values() if b.parent is not None), key=lambda b: b.order)
    links = sorted((m.kinematics.link(b) for b in bodies), key=lambda link: link.depth)
    # angular velocity, velocity of the origin, gravity (all in the computing frame), gravity times position of the origin
    motion = {m.ground: (ve.ZERO, ve.ZERO, m.gravity, 0.0)}
    for link in links:
        body = link.body
        w, v, g, fall = motion[link.parent.body]
        v, fall, kind = ve.add(v, ve.cross(w, link.arm)), fall + ve.dot(g, link.arm), body.joint.kind
        if kind == 'prismatic':
            v = ve.add(v, ve.scale(body.qd, link.axis))
        if link.frame is not link.parent.frame:
            w, v, g = link.frame.down(w), link.frame.down(v), link.frame.down(g)
        if kind == 'revolute':
            w = ve.add(w, ve.scale(body.qd, link.own_axis))
        elif kind == 'spherical':
            w = ve.add(w, tuple(c.v for c in body.coordinates))
        motion[body] = w, v, g, fall
        own = moments_of(body)
        b, e = ve.matvec(link.attitude, own.first), ve.rotate_tensor(link.attitude, own.second)
        spin = ve.mirror(e[1][1] + e[2][2], e[0][0] + e[2][2], e[0][0] + e[1][1], -e[0][1], -e[0][2], -e[1][2])
        twice = own.mass * ve.dot(v, v) + 2.0 * ve.dot(v, ve.cross(w, b)) + ve.dot(w, ve.matvec(spin, w))
        kinetic = kinetic + 0.5 * twice
        potential = potential - (own.mass * fall + ve.dot(g, b))
    for _, stored in m.energies:
        potential = potential + stored
    return kinetic, potential
