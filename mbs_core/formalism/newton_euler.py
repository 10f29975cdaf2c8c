"""Recursive Newton-Euler (001 eq. 1, 2, 15): inverse dynamics and bias in O(n), without the mass matrix.

The acceleration of a point at arm r from a body's origin is a + beta r with beta = alpha~ + omega~ omega~, and the
moment of a body about its origin is b x a + axial(beta E) with the pseudo-inertia E: the shortest known form.
"""

from dataclasses import dataclass, field, replace

from mbs_core.formalism import vectors as ve
from mbs_core.formalism.inertia import seen_from
from mbs_core.symbolic.expr import Expr


@dataclass
class Motion:
    """Velocity and acceleration of one body in its computing frame; gravity counts as acceleration of the ground."""

    w: tuple                  # angular velocity
    alpha: tuple              # angular acceleration
    a: tuple                  # acceleration of the origin, minus gravity
    beta: tuple               # alpha~ + w~ w~
    squares: tuple            # (wy^2 - wx^2, wz^2 - wy^2, wx^2 - wz^2): differences of beta's diagonal


@dataclass
class Tree:
    """What the recursions share: links in order, body inertias in computing frames, external wrenches."""

    kinematics: object
    links: list               # without the ground, carriers first
    inertia: dict             # body: (mass, first moment, pseudo-inertia) about its origin in its computing frame
    origins: dict             # body: its origin of calculation in its own frame (see `calculation_origins`)
    wrenches: dict = field(default_factory=dict)    # body: (force, moment about its origin) in its computing frame
    equations: list = field(default_factory=list)   # every recursive component written, for the dead-equation figure

    def note(self, vector):
        """Record a recursive vector equation and return it."""
        self.equations.extend(vector)
        return vector


def make_tree(mechanism, moments, wrenches=None, moved=False) -> Tree:
    """Return the tree of a mechanism with the given {body: Moments}; with `moved` about the origins of calculation."""
    kin = mechanism.kinematics
    bodies = [b for b in mechanism.bodies.values() if b.parent is not None]
    links = sorted((kin.link(b) for b in bodies), key=lambda link: (link.depth, link.body.order))
    origins = calculation_origins(links) if moved else {}
    if moved:
        new = {}
        for link in links:
            new[link.body] = replace(link, arm=_arm(link, origins), parent=new.get(link.parent.body, link.parent))
        links = list(new.values())
        moments = {b: m if ve.all_zero(origins.get(b, ve.ZERO)) else seen_from(m, origins[b]) for b, m in moments.items()}
        wrenches = {b: (f, ve.sub(n, ve.cross(ve.matvec(kin.link(b).attitude, origins[b]), f)))
                    for b, (f, n) in (wrenches or {}).items()}
    return Tree(kin, links, Inertias(kin, moments), origins, wrenches or {})


def calculation_origins(links) -> dict:
    """Return {body: point of its frame} about which the recursions write it.

    Any point of a hinge's axis will do as the body's origin. It is taken so that the arm from the carrier's origin has
    no component along the axis (and for a slide so that only the sliding is left): one product less in every place.
    """
    out = {link.parent.body: ve.ZERO for link in links if link.parent.body.parent is None}
    for link in links:
        body, kind = link.body, link.body.joint.kind
        offset = ve.sub(body.mount.offset, out[body.parent])
        turned = ve.matvec(ve.transpose(body.mount.rotation), offset)      # in the joint's axes before it moves
        if kind == 'revolute':
            out[body] = ve.scale(-ve.dot(turned, body.joint.axis), body.joint.axis)
        elif kind in ('prismatic', 'fixed'):
            out[body] = ve.scale(-1.0, turned)
        else:
            out[body] = ve.ZERO
    return out


def _arm(link, origins):
    """Return the arm between origins of calculation, in the carrier's computing frame."""
    body, kind = link.body, link.body.joint.kind
    if kind in ('prismatic', 'fixed'):
        return ve.scale(body.q, link.axis) if kind == 'prismatic' else ve.ZERO
    offset = ve.sub(body.mount.offset, origins[body.parent])
    axis = ve.matvec(body.mount.rotation, origins[body])
    total = list(ve.add(offset, axis))
    along = ve.unit_axis(ve.matvec(body.mount.rotation, body.joint.axis))
    if along and kind == 'revolute':
        total[along[0]] = 0.0                                  # exactly, not as a difference
    return ve.matvec(link.parent.attitude, tuple(total))


class Inertias(dict):
    """{body: (mass, first moment, pseudo-inertia)} in computing frames, each written when it is first asked for."""

    def __init__(self, kinematics, moments):
        super().__init__()
        self.kinematics, self.moments = kinematics, moments

    def __missing__(self, body):
        m, attitude = self.moments[body], self.kinematics.link(body).attitude
        self[body] = (m.mass, ve.matvec(attitude, m.first), ve.rotate_tensor(attitude, m.second))
        return self[body]


def outward(tree: Tree, accelerations, gravity) -> dict:
    """Return {body: inertial wrench minus external wrench}; `accelerations` maps coordinates to vd (missing: zero).

    Each wrench is written right after its body's motion: the order is kept to the machine code, and few values have to
    be kept in registers this way.
    """
    ground = tree.kinematics.m.ground
    out = {ground: make_motion(ve.ZERO, ve.ZERO, ve.scale(-1.0, gravity))}
    wrenches = {}
    for link in tree.links:
        body, up = link.body, out[link.parent.body]
        a = ve.add(up.a, ve.matvec(up.beta, link.arm))
        w, alpha, kind = up.w, up.alpha, body.joint.kind
        fresh = link.frame is not link.parent.frame
        if kind == 'prismatic':
            c = body.coordinate
            a = ve.add(a, ve.scale(2.0 * c.v, ve.cross(w, link.axis)))
            a = ve.add(a, ve.scale(accelerations.get(c, 0.0), link.axis))
        if fresh:
            a, w, alpha = link.frame.down(a), link.frame.down(w), link.frame.down(alpha)
        if kind == 'revolute':
            c = body.coordinate
            turn = ve.scale(c.v, link.own_axis)
            alpha = ve.add(alpha, ve.cross(w, turn))
            w = ve.add(w, turn)
            alpha = ve.add(alpha, ve.scale(accelerations.get(c, 0.0), link.own_axis))
        elif kind == 'spherical':
            turn = tuple(c.v for c in body.coordinates)
            alpha = ve.add(alpha, ve.cross(w, turn))
            w = ve.add(w, turn)
            alpha = ve.add(alpha, tuple(accelerations.get(c, 0.0) for c in body.coordinates))
        tree.note(w), tree.note(alpha), tree.note(a)
        if not fresh and w is up.w and alpha is up.alpha:
            out[body] = Motion(w, alpha, a, up.beta, up.squares)
        else:
            out[body] = make_motion(w, alpha, a)
            for row in out[body].beta:
                tree.note(row)
        force, moment = inertial_wrench(tree.inertia[body], out[body])
        if body in tree.wrenches:
            f, n = tree.wrenches[body]
            force, moment = ve.sub(force, f), ve.sub(moment, n)
        wrenches[body] = force, moment
    return wrenches


def make_motion(w, alpha, a) -> Motion:
    """Return the Motion with its beta matrix."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    beta = ((-(yy + zz), xy - alpha[2], xz + alpha[1]),
            (xy + alpha[2], -(xx + zz), yz - alpha[0]),
            (xz - alpha[1], yz + alpha[0], -(xx + yy)))
    return Motion(w, alpha, a, beta, (yy - xx, zz - yy, xx - zz))


def inertial_wrench(inertia, motion: Motion):
    """Return (force, moment about the origin) that give a body its motion (Newton and Euler)."""
    mass, b, e = inertia
    force = ve.add(ve.scale(mass, motion.a), ve.matvec(motion.beta, b))
    moment = ve.add(ve.cross(b, motion.a), _axial(motion, e))
    return force, moment


def _axial(motion, e):
    """Return the axial vector of beta E - (beta E)'."""
    t, (yx, zy, xz) = motion.beta, motion.squares
    return (_turned(t[2][1], e[1][1], t[1][2], e[2][2]) + zy * e[1][2] + (t[2][0] * e[0][1] - t[1][0] * e[0][2]),
            _turned(t[0][2], e[2][2], t[2][0], e[0][0]) + xz * e[0][2] + (t[0][1] * e[1][2] - t[2][1] * e[0][1]),
            _turned(t[1][0], e[0][0], t[0][1], e[1][1]) + yx * e[0][1] + (t[1][2] * e[0][2] - t[0][2] * e[1][2]))


def _turned(p, e, q, f):
    """Return p e - q f; where q = -p (plane motion) as p (e + f), whose sum holds parameters only."""
    if type(p) is Expr and p + q == 0.0:
        return p * (e + f)
    return p * e - q * f


def backward(tree: Tree, wrench: dict):
    """Carry the wrenches {body: (force, moment)} down to the ground; return (efforts {coordinate: Q}, totals {body})."""
    total, effort = dict(wrench), {}
    for link in reversed(tree.links):
        body = link.body
        force, moment = total[body]
        tree.note(force), tree.note(moment)
        kind = body.joint.kind
        if kind == 'revolute':
            effort[body.coordinate] = ve.dot(link.own_axis, moment)
        elif kind == 'spherical':
            effort.update(zip(body.coordinates, moment))
        if link.frame is not link.parent.frame:
            force, moment = link.frame.up(force), link.frame.up(moment)
        if kind == 'prismatic':
            effort[body.coordinate] = ve.dot(link.axis, force)
        up = link.parent.body
        if up.parent is not None:
            f, n = total[up]
            total[up] = ve.add(f, force), ve.add(n, ve.add(moment, ve.cross(link.arm, force)))
    return effort, total


def inverse_dynamics(tree: Tree, accelerations, gravity) -> dict:
    """Return {coordinate: Q} of 001 eq. 2, the external wrenches of the tree included."""
    return backward(tree, outward(tree, accelerations, gravity))[0]
