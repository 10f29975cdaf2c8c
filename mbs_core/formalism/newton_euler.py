"""Recursive Newton-Euler (001 eq. 1, 2, 15): inverse dynamics and bias in O(n), without the mass matrix.

The acceleration of a point at arm r from a body's origin is a + beta r with beta = alpha~ + omega~ omega~, and the
moment of a body about its origin is b x a + axial(beta E) with the pseudo-inertia E: the shortest known form.
"""

from dataclasses import dataclass, field

from mbs_core.formalism import vectors as ve
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
    inertia: dict             # body: (mass, first moment, pseudo-inertia) in its computing frame
    wrenches: dict = field(default_factory=dict)    # body: (force, moment about its origin) in its computing frame
    equations: list = field(default_factory=list)   # every recursive component written, for the dead-equation figure

    def note(self, vector):
        """Record a recursive vector equation and return it."""
        self.equations.extend(vector)
        return vector


def make_tree(mechanism, moments, wrenches=None) -> Tree:
    """Return the tree of a mechanism with the given {body: Moments}."""
    kin = mechanism.kinematics
    bodies = [b for b in mechanism.bodies.values() if b.parent is not None]
    links = sorted((kin.link(b) for b in bodies), key=lambda link: (link.depth, link.body.order))
    inertia = {}
    for link in links:
        m = moments[link.body]
        inertia[link.body] = (m.mass, ve.matvec(link.attitude, m.first), ve.rotate_tensor(link.attitude, m.second))
    return Tree(kin, links, inertia, wrenches or {})


def motions(tree: Tree, accelerations, moving=True, gravity=None) -> dict:
    """Return {body: Motion}; `accelerations` maps coordinates to vd (missing ones are zero)."""
    ground = tree.kinematics.m.ground
    out = {ground: make_motion(ve.ZERO, ve.ZERO, ve.scale(-1.0, gravity) if gravity else ve.ZERO)}
    for link in tree.links:
        body, up = link.body, out[link.parent.body]
        a = ve.add(up.a, ve.matvec(up.beta, link.arm))
        w, alpha, kind = up.w, up.alpha, body.joint.kind
        fresh = link.frame is not link.parent.frame
        if kind == 'prismatic':
            c = body.coordinate
            if moving:
                a = ve.add(a, ve.scale(2.0 * c.v, ve.cross(w, link.axis)))
            if (vd := accelerations.get(c, 0.0)) is not None:
                a = ve.add(a, ve.scale(vd, link.axis))
        if fresh:
            a, w, alpha = link.frame.down(a), link.frame.down(w), link.frame.down(alpha)
        if kind == 'revolute':
            c = body.coordinate
            if moving:
                turn = ve.scale(c.v, link.own_axis)
                alpha = ve.add(alpha, ve.cross(w, turn))
                w = ve.add(w, turn)
            alpha = ve.add(alpha, ve.scale(accelerations.get(c, 0.0), link.own_axis))
        elif kind == 'spherical':
            if moving:
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
    return out


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


def net_wrenches(tree: Tree, motion: dict) -> dict:
    """Return {body: inertial wrench minus external wrench}."""
    out = {}
    for link in tree.links:
        force, moment = inertial_wrench(tree.inertia[link.body], motion[link.body])
        if link.body in tree.wrenches:
            f, n = tree.wrenches[link.body]
            force, moment = ve.sub(force, f), ve.sub(moment, n)
        out[link.body] = force, moment
    return out


def inverse_dynamics(tree: Tree, accelerations, gravity, moving=True) -> dict:
    """Return {coordinate: Q} of 001 eq. 2, the external wrenches of the tree included."""
    return backward(tree, net_wrenches(tree, motions(tree, accelerations, moving, gravity)))[0]
