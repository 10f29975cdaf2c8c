"""Forward kinematics in computing frames: where vectors of each body are written.

A body whose joint axis is fixed in its parent's computing frame keeps that frame (its orientation in it is then a
plane rotation, and sines of angle sums appear by condensation: 001 section 3.2); any other gets a frame of its own.
A planar mechanism is so written entirely in the ground's axes, and no vector is ever rotated.
"""

from dataclasses import dataclass

from mbs_core.description.joints import align_z
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic.expr import cos, sin


class Frame:
    """A computing frame: its parent frame and its orientation in it, as a product of simple rotations."""

    def __init__(self, parent, *steps):
        self.parent = parent
        self.steps = [s for s in steps if not ve.is_identity(s)]
        self.back = [ve.transpose(s) for s in self.steps]
        self._rotation = None

    @property
    def rotation(self):
        """The orientation in the parent frame as one matrix."""
        if self._rotation is None:
            self._rotation = ve.EYE
            for step in self.steps:
                self._rotation = ve.matmul(self._rotation, step)
        return self._rotation

    def up(self, a):
        """Return a vector of this frame in the parent frame."""
        for step in reversed(self.steps):
            a = ve.matvec(step, a)
        return a

    def down(self, a):
        """Return a vector of the parent frame in this frame."""
        for step in self.back:
            a = ve.matvec(step, a)
        return a

    def up_tensor(self, t, symmetric=True):
        """Return a tensor of this frame in the parent frame."""
        for step in reversed(self.steps):
            t = ve.rotate_tensor(step, t, symmetric)
        return t


@dataclass(eq=False)
class Link:
    """Kinematics of one body: written in `frame` unless said otherwise."""

    body: object
    parent: object            # Link of the carrier
    frame: Frame
    attitude: tuple           # orientation of the body's frame in `frame`
    arm: tuple                # from the carrier's origin to this body's, in the carrier's frame
    axis: tuple               # joint axis in the carrier's frame (revolute, prismatic)
    own_axis: tuple           # joint axis in `frame`
    depth: int


class Kinematics:
    """Positions, velocities and accelerations of a mechanism's bodies as expressions, each made once."""

    def __init__(self, mechanism):
        self.m = mechanism
        self._links, self._memo = {}, {}

    # -- structure -------------------------------------------------------------------------------
    def link(self, body) -> Link:
        """Return the kinematic data of a body."""
        found = self._links.get(body)
        if found is None:
            chain = []
            while body is not None and body not in self._links:
                chain.append(body)
                body = body.parent
            for b in reversed(chain):
                found = self._links[b] = self._make(b)
        return found

    def _make(self, body) -> Link:
        if body.parent is None:
            return Link(body, None, Frame(None), ve.EYE, ve.ZERO, ve.ZERO, ve.ZERO, 0)
        p = self._links[body.parent]
        arm = ve.matvec(p.attitude, body.mount.offset)
        mount = ve.matmul(p.attitude, body.mount.rotation)     # before the joint moves
        kind = body.joint.kind
        depth = p.depth + 1
        if kind == 'fixed':
            return Link(body, p, p.frame, mount, arm, ve.ZERO, ve.ZERO, depth)
        if kind == 'prismatic':
            axis = ve.matvec(mount, body.joint.axis)
            return Link(body, p, p.frame, mount, ve.add(arm, ve.scale(body.q, axis)), axis, axis, depth)
        if kind == 'spherical':
            frame = Frame(p.frame, mount, _quaternion_rotation(*body.quaternion))
            return Link(body, p, frame, ve.EYE, arm, ve.ZERO, ve.ZERO, depth)
        axis = ve.matvec(mount, body.joint.axis)
        turn = _turn(body.joint.axis, body.q)
        if ve.unit_axis(axis):
            return Link(body, p, p.frame, ve.matmul(mount, turn), arm, axis, axis, depth)
        along = ve.unit_axis(body.joint.axis)
        if along:
            frame = Frame(p.frame, mount, turn)
            return Link(body, p, frame, ve.EYE, arm, axis, body.joint.axis, depth)
        aligned = align_z(body.joint.axis)                     # turn about z of a frame aligned with the axis
        frame = Frame(p.frame, mount, aligned, _turn((0.0, 0.0, 1.0), body.q))
        return Link(body, p, frame, ve.transpose(aligned), arm, axis, (0.0, 0.0, 1.0), depth)

    def chain(self, body, stop) -> list:
        """Return the links from just after `stop` down to `body`."""
        out, link = [], self.link(body)
        while link.body is not stop:
            out.append(link)
            link = link.parent
        return out[::-1]

    def common(self, a, b):
        """Return the nearest body that carries both a and b."""
        seen, link = set(), self.link(a)
        while link is not None:
            seen.add(link.body)
            link = link.parent
        link = self.link(b)
        while link.body not in seen:
            link = link.parent
        return link.body

    def seeds(self) -> dict:
        """Return {position symbol: its rate}: the time derivative of every entry of q."""
        return dict(zip(self.position_symbols(), self.position_rates()))

    def position_symbols(self) -> list:
        """Return the symbols of the array q, in order."""
        out = []
        for c in self.m.coordinates:
            if c.q is not None:
                out.append(c.q)
            elif c is c.body.coordinates[0]:
                out += c.body.quaternion
        return sorted(out, key=lambda s: s.data[2])

    def position_rates(self) -> list:
        """Return dq/dt for every entry of q: v itself, or half the quaternion product for ball joints."""
        rate = {}
        for c in self.m.coordinates:
            if c.q is not None:
                rate[c.q] = c.v
            elif c is c.body.coordinates[0]:
                w = [k.v for k in c.body.coordinates]
                rate.update(zip(c.body.quaternion, quaternion_rate(c.body.quaternion, w)))
        return [rate[s] for s in self.position_symbols()]

    # -- relative motion, in the computing frame of an ancestor, which is regarded as fixed -------
    def frame_in(self, frame, stop):
        """Return the orientation of a computing frame in the frame `stop` above it."""
        if frame is stop:
            return ve.EYE
        key = ('frame', frame, stop)
        if key not in self._memo:
            self._memo[key] = ve.matmul(self.frame_in(frame.parent, stop), frame.rotation)
        return self._memo[key]

    def relative(self, body, base):
        """Return (attitude of body, position of its origin) relative to `base`, in base's computing frame."""
        top = self.link(base)
        if body is base:
            return top.attitude, ve.ZERO
        key = ('relative', body, base)
        if key not in self._memo:
            link = self.link(body)
            _, position = self.relative(link.parent.body, base)
            lift = self.frame_in(link.parent.frame, top.frame)
            attitude = ve.matmul(self.frame_in(link.frame, top.frame), link.attitude)
            self._memo[key] = attitude, ve.add(position, ve.matvec(lift, link.arm))
        return self._memo[key]

    def point(self, point, base):
        """Return the position of a point from base's origin, in base's computing frame."""
        attitude, position = self.relative(point.body, base)
        return ve.add(position, ve.matvec(attitude, point.offset))

    def columns(self, body, base) -> list:
        """Return [(coordinate, kind, axis, origin)] of the joints between base and body, in base's computing frame.

        A revolute column moves a point p by axis x (p - origin), a prismatic one by axis.
        """
        top, out = self.link(base), []
        for link in self.chain(body, base):
            kind = link.body.joint.kind
            if kind == 'fixed':
                continue
            _, origin = self.relative(link.body, base)
            if kind == 'spherical':
                axes = ve.transpose(self.frame_in(link.frame, top.frame))
                out += [(c, 'revolute', a, origin) for c, a in zip(link.body.coordinates, axes)]
            else:
                lift = self.frame_in(link.parent.frame, top.frame)
                out.append((link.body.coordinate, kind, ve.matvec(lift, link.axis), origin))
        return out

    def twist(self, body, base):
        """Return (angular velocity, velocity of the origin) relative to `base`, in base's computing frame."""
        if body is base:
            return ve.ZERO, ve.ZERO
        key = ('twist', body, base)
        if key not in self._memo:
            link = self.link(body)
            w, v = self.twist(link.parent.body, base)
            lift = self.frame_in(link.parent.frame, self.link(base).frame)
            v = ve.add(v, ve.cross(w, ve.matvec(lift, link.arm)))
            kind = body.joint.kind
            if kind == 'revolute':
                w = ve.add(w, ve.scale(body.qd, ve.matvec(lift, link.axis)))
            elif kind == 'prismatic':
                v = ve.add(v, ve.scale(body.qd, ve.matvec(lift, link.axis)))
            elif kind == 'spherical':
                own = self.frame_in(link.frame, self.link(base).frame)
                w = ve.add(w, ve.matvec(own, tuple(c.v for c in body.coordinates)))
            self._memo[key] = w, v
        return self._memo[key]

    def bias(self, body, base, accelerated=False):
        """Return (angular, linear) acceleration of the origin relative to base, in base's computing frame.

        Without `accelerated` all joint accelerations are taken as zero: the J-dot q-dot part.
        """
        if body is base:
            return ve.ZERO, ve.ZERO
        key = ('bias', body, base, accelerated)
        if key not in self._memo:
            link = self.link(body)
            up = link.parent.body
            w, _ = self.twist(up, base)
            alpha, a = self.bias(up, base, accelerated)
            lift = self.frame_in(link.parent.frame, self.link(base).frame)
            arm = ve.matvec(lift, link.arm)
            a = ve.add(a, ve.add(ve.cross(alpha, arm), ve.cross(w, ve.cross(w, arm))))
            kind = body.joint.kind
            if kind == 'fixed':
                pass
            elif kind == 'spherical':
                own = self.frame_in(link.frame, self.link(base).frame)
                rel = ve.matvec(own, tuple(c.v for c in body.coordinates))
                alpha = ve.add(alpha, ve.cross(w, rel))
                if accelerated:
                    alpha = ve.add(alpha, ve.matvec(own, tuple(c.vd for c in body.coordinates)))
            else:
                axis = ve.matvec(lift, link.axis)
                rel = ve.scale(body.qd, axis)
                if kind == 'revolute':
                    alpha = ve.add(alpha, ve.cross(w, rel))
                    if accelerated:
                        alpha = ve.add(alpha, ve.scale(body.qdd, axis))
                else:
                    a = ve.add(a, ve.scale(2.0, ve.cross(w, rel)))
                    if accelerated:
                        a = ve.add(a, ve.scale(body.qdd, axis))
            self._memo[key] = alpha, a
        return self._memo[key]

    def point_velocity(self, point, base):
        """Return the velocity of a point relative to `base`, in base's computing frame."""
        attitude, _ = self.relative(point.body, base)
        w, v = self.twist(point.body, base)
        return ve.add(v, ve.cross(w, ve.matvec(attitude, point.offset)))

    def point_bias(self, point, base, accelerated=False):
        """Return the acceleration of a point relative to `base` (J-dot q-dot, or all of it)."""
        attitude, _ = self.relative(point.body, base)
        w, _ = self.twist(point.body, base)
        alpha, a = self.bias(point.body, base, accelerated)
        arm = ve.matvec(attitude, point.offset)
        return ve.add(a, ve.add(ve.cross(alpha, arm), ve.cross(w, ve.cross(w, arm))))

    # -- what a user asks for --------------------------------------------------------------------
    def _seen(self, body, seen_from):
        """Return (common body, attitude of seen_from in the common computing frame)."""
        base = self.common(body, seen_from)
        return base, self.relative(seen_from, base)

    def position(self, point, seen_from):
        """Return a point's position from the origin of `seen_from`, in that body's axes."""
        base, (attitude, origin) = self._seen(point.body, seen_from)
        return ve.matvec(ve.transpose(attitude), ve.sub(self.point(point, base), origin))

    def velocity(self, point, seen_from):
        """Return a point's velocity as seen from a body, in that body's axes."""
        base, (attitude, origin) = self._seen(point.body, seen_from)
        w, v = self.twist(seen_from, base)
        arm = ve.sub(self.point(point, base), origin)
        rel = ve.sub(ve.sub(self.point_velocity(point, base), v), ve.cross(w, arm))
        return ve.matvec(ve.transpose(attitude), rel)

    def rotation(self, body, seen_from):
        """Return the orientation of a body in the axes of another."""
        base, (attitude, _) = self._seen(body, seen_from)
        return ve.matmul(ve.transpose(attitude), self.relative(body, base)[0])

    def angular_velocity(self, body, seen_from):
        """Return the angular velocity of a body relative to another, in the latter's axes."""
        base, (attitude, _) = self._seen(body, seen_from)
        return ve.matvec(ve.transpose(attitude), ve.sub(self.twist(body, base)[0], self.twist(seen_from, base)[0]))

    def acceleration(self, point):
        """Return a point's acceleration in ground axes."""
        return self.point_bias(point, self.m.ground, True)


def inertia_matrix(i):
    """Return the 3x3 matrix of (xx, yy, zz, xy, xz, yz)."""
    return (i[0], i[3], i[4]), (i[3], i[1], i[5]), (i[4], i[5], i[2])


def quaternion_rate(quaternion, w):
    """Return dq/dt of a quaternion (x, y, z, w) for the angular velocity w in the body's frame."""
    x, y, z, s = quaternion
    return (0.5 * (s * w[0] - z * w[1] + y * w[2]), 0.5 * (z * w[0] + s * w[1] - x * w[2]),
            0.5 * (x * w[1] - y * w[0] + s * w[2]), -0.5 * (x * w[0] + y * w[1] + z * w[2]))


def _quaternion_rotation(x, y, z, w):
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    return ((1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)),
            (2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)),
            (2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)))


def _turn(axis, angle):
    """Return the rotation by `angle` about a constant unit axis (Rodrigues)."""
    c, s = cos(angle), sin(angle)
    along = ve.unit_axis(axis)
    if along:
        k, sign = along
        i, j = (k + 1) % 3, (k + 2) % 3
        r = [[0.0] * 3 for _ in range(3)]
        r[k][k], r[i][i], r[j][j], r[i][j], r[j][i] = 1.0, c, c, -sign * s, sign * s
        return tuple(map(tuple, r))
    x, y, z = axis
    d = 1.0 - c
    return ((c + x * x * d, x * y * d - z * s, x * z * d + y * s),
            (x * y * d + z * s, c + y * y * d, y * z * d - x * s),
            (x * z * d - y * s, y * z * d + x * s, c + z * z * d))
