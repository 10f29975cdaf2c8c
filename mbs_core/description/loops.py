"""Loops: what closes a tree into a mechanism. Each yields its equations h = 0, Jacobian and J-dot q-dot (001 eq. 3).

Everything is written in the computing frame of the nearest common body of the two sides, so a loop knows only
the joints inside it: a car's suspension equations do not hold the car's motion.
"""

from dataclasses import dataclass

from mbs_core.description.joints import align_z, as_axis
from mbs_core.errors import MbsError
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import Expr, diff, needed, tangent

PLANES = {'xy': (0, 1), 'yx': (0, 1), 'yz': (1, 2), 'zy': (1, 2), 'xz': (0, 2), 'zx': (0, 2)}


@dataclass
class Row:
    """One scalar constraint: its value, its Jacobian {coordinate: expression}, and J-dot q-dot."""

    h: object
    jacobian: dict
    gamma: object
    loop: object


def _accumulate(jacobian, c, value):
    total = jacobian.get(c, 0.0) + value
    if ve.is_number(total, 0.0):
        jacobian.pop(c, None)
    else:
        jacobian[c] = total


class _Pair:
    """What loops between two points share: the common body and the relative motion of both sides."""

    def __init__(self, mechanism, name, a, b):
        self.m, self.name, self.a, self.b = mechanism, name, a, b
        if a.body is b.body:
            raise MbsError(f"loop '{name}': both points are on '{a.body.name}', there is nothing to close")

    def bodies(self):
        """Return the names of the two bodies."""
        return self.a.body.name, self.b.body.name

    def _gap(self):
        """Return base body, gap vector a - b, its Jacobian columns [(coordinate, vector)], its velocity and bias."""
        kin = self.m.kinematics
        base = kin.common(self.a.body, self.b.body)
        pa, pb = kin.point(self.a, base), kin.point(self.b, base)
        columns = []
        for point, p, sign in ((self.a, pa, 1.0), (self.b, pb, -1.0)):
            for c, kind, axis, origin in kin.columns(point.body, base):
                move = axis if kind == 'prismatic' else ve.cross(axis, ve.sub(p, origin))
                columns.append((c, ve.scale(sign, move)))
        bias = ve.sub(kin.point_bias(self.a, base), kin.point_bias(self.b, base))
        return base, ve.sub(pa, pb), columns, bias

    def sides(self):
        """Return [(point, sign)]: where the loop force acts."""
        return (self.a, 1.0), (self.b, -1.0)

    def wrench(self, lam):
        """Return (base body, force, torque) on side a in base's computing frame, for the multipliers `lam`."""
        base = self.m.kinematics.common(self.a.body, self.b.body)
        attitude = self.m.kinematics.link(base).attitude
        force = [0.0] * 3
        for k, value in zip(self.components, lam):
            force[k] = value
        torque = ve.ZERO
        for (u, v), value in zip(self.directions(), lam[len(self.components):]):
            torque = ve.add(torque, ve.scale(value, ve.cross(*self._aligned(base, u, v))))
        return base, ve.matvec(attitude, tuple(force)), torque

    def directions(self):
        """Return the pairs of mount directions that stay orthogonal (none for point loops)."""
        return ()

    def _coincide(self, components):
        base, gap, columns, bias = self._gap()
        if not ve.is_identity(attitude := self.m.kinematics.link(base).attitude):     # axes of the common body itself
            back = ve.transpose(attitude)
            gap, bias = ve.matvec(back, gap), ve.matvec(back, bias)
            columns = [(c, ve.matvec(back, move)) for c, move in columns]
        rows = []
        for k in components:
            jacobian = {}
            for c, move in columns:
                _accumulate(jacobian, c, move[k])
            rows.append(Row(gap[k], jacobian, bias[k], self))
        return rows

    def _aligned(self, base, u, v):
        """Return mount directions u of side a and v of side b in base's computing frame."""
        kin = self.m.kinematics
        return [ve.matvec(kin.relative(p.body, base)[0], ve.matvec(p.rotation, d)) for p, d in ((self.a, u), (self.b, v))]

    def _orthogonal(self, base, u, v):
        """Return the row u . v = 0, with u a constant direction of a's mount and v one of b's."""
        kin = self.m.kinematics
        x, y = self._aligned(base, u, v)
        n = ve.cross(x, y)                                  # d(x.y)/dt = (w_a - w_b) . (x cross y)
        jacobian = {}
        for point, sign in ((self.a, 1.0), (self.b, -1.0)):
            for c, kind, axis, _ in kin.columns(point.body, base):
                if kind == 'revolute':
                    _accumulate(jacobian, c, sign * ve.dot(axis, n))
        wa, wb = kin.twist(self.a.body, base)[0], kin.twist(self.b.body, base)[0]
        da, db = kin.bias(self.a.body, base)[0], kin.bias(self.b.body, base)[0]
        nd = ve.add(ve.cross(ve.cross(wa, x), y), ve.cross(x, ve.cross(wb, y)))
        gamma = ve.dot(ve.sub(da, db), n) + ve.dot(ve.sub(wa, wb), nd)
        return Row(ve.dot(x, y), jacobian, gamma, self)


class PointLoop(_Pair):
    """Two points coincide: 3 equations, or 2 in a plane of the nearest common body."""

    def __init__(self, mechanism, name, a, b, plane):
        super().__init__(mechanism, name, a, b)
        if plane is not None and plane not in PLANES:
            raise MbsError(f"loop '{name}': the plane '{plane}' is unknown; use 'xy', 'yz' or 'xz'")
        self.components = PLANES[plane] if plane else (0, 1, 2)
        self.size = len(self.components)
        self.kind = f'point ({plane})' if plane else 'point'

    def rows(self):
        """Return the equations."""
        return self._coincide(self.components)


class RodLoop(_Pair):
    """Two points keep their distance: 1 equation, (gap . gap - length^2) / 2."""

    size, kind = 1, 'rod'

    def wrench(self, lam):
        """Return (base body, force, torque) on side a: along the rod."""
        base, gap, _, _ = self._gap()
        return base, ve.scale(lam[0], gap), ve.ZERO

    def __init__(self, mechanism, name, a, b, length):
        super().__init__(mechanism, name, a, b)
        self.length = mechanism.number(length, f"length of rod '{name}'")
        if not isinstance(self.length, Expr) and self.length <= 0:
            raise MbsError(f"rod '{name}': its length {self.length:g} m must be positive; use a point loop for zero")

    def rows(self):
        """Return the equation."""
        base, gap, columns, bias = self._gap()
        kin = self.m.kinematics
        rate = ve.sub(kin.point_velocity(self.a, base), kin.point_velocity(self.b, base))
        jacobian = {}
        for c, move in columns:
            _accumulate(jacobian, c, ve.dot(gap, move))
        h = 0.5 * (ve.dot(gap, gap) - self.length * self.length)
        return [Row(h, jacobian, ve.dot(gap, bias) + ve.dot(rate, rate), self)]


class RevoluteLoop(_Pair):
    """Two points coincide and an axis is shared: 5 equations."""

    size, kind, components = 5, 'revolute', (0, 1, 2)

    def __init__(self, mechanism, name, a, b, axis):
        super().__init__(mechanism, name, a, b)
        self.axis = as_axis(axis, f"loop '{name}'")

    def directions(self):
        """Return the pairs of mount directions that stay orthogonal."""
        x, y, z = ve.transpose(align_z(self.axis))
        return (x, z), (y, z)

    def rows(self):
        """Return the equations."""
        base = self.m.kinematics.common(self.a.body, self.b.body)
        return self._coincide((0, 1, 2)) + [self._orthogonal(base, *p) for p in self.directions()]


class SolidLoop(_Pair):
    """Two points and their frames coincide: 6 equations."""

    size, kind, components = 6, 'solid', (0, 1, 2)

    def directions(self):
        """Return the pairs of mount directions that stay orthogonal."""
        x, y, z = ve.EYE
        return (x, z), (y, z), (x, y)

    def rows(self):
        """Return the equations."""
        base = self.m.kinematics.common(self.a.body, self.b.body)
        return self._coincide((0, 1, 2)) + [self._orthogonal(base, *p) for p in self.directions()]


class Formula:
    """A user's equation: expression of coordinates = 0."""

    size, kind = 1, 'formula'

    def __init__(self, mechanism, name, expression):
        self.m, self.name, self.expression = mechanism, name, expression
        for e in needed([expression]):
            if e.op == 'sym' and e.data[1] not in ('q', 'par'):
                raise MbsError(f"constraint '{name}' holds '{e.data[0]}': it may hold coordinates and parameters only; "
                               'drive a coordinate to impose a motion')
        if not formula_coordinates(mechanism, expression):
            raise MbsError(f"constraint '{name}' holds no coordinate of '{mechanism.name}': it can't be imposed")

    def bodies(self):
        """Return the names of the bodies whose coordinates it holds."""
        return tuple(c.body.name if c.body else c.name for c in formula_coordinates(self.m, self.expression))

    def rows(self):
        """Return the equation, differentiated symbolically."""
        return [formula_row(self.m, self.expression, self)]


def formula_coordinates(m, expression):
    """Return the coordinates an expression depends on (ball joints by their three rates)."""
    symbols = {e for e in needed([expression]) if e.op == 'sym' and e.data[1] == 'q'}
    return [c for c in m.coordinates if (c.q in symbols if c.q is not None else symbols & set(c.body.quaternion))]


def formula_row(m, expression, loop):
    """Return the Row of expression(q) = 0."""
    seeds = m.kinematics.seeds()
    rate = tangent([expression], seeds)[0]
    jacobian = {}
    for c in formula_coordinates(m, expression):
        _accumulate(jacobian, c, diff(rate, c.v))
    return Row(expression, jacobian, tangent([rate], seeds)[0], loop)


class Cam:
    """A point stays on a curve of another body: 2 equations and one more coordinate, the abscissa s (000 eq. 10)."""

    size, kind = 2, 'cam'

    def __init__(self, mechanism, name, point, on, curve, s):
        self.m, self.name, self.point, self.on, self.curve, self.s = mechanism, name, point, on, curve, s

    def bodies(self):
        """Return the names of the follower and of the body that carries the curve."""
        return self.point.body.name, self.on.name

    def sides(self):
        """Return [(point, sign)]: the follower (the curve's body gets the opposite through the tree's base)."""
        return ((self.point, 1.0),)

    def wrench(self, lam):
        """Return (base body, force, torque) on the follower."""
        if self.on is not self.m.ground:
            raise MbsError(f"reactions can't be given: the cam '{self.name}' is on the moving body '{self.on.name}'")
        attitude = self.m.kinematics.link(self.on).attitude
        return self.on, ve.matvec(attitude, (lam[0], lam[1], 0.0)), ve.ZERO

    def rows(self):
        """Return the equations, in the plane xy of the curve's body."""
        kin = self.m.kinematics
        if kin.common(self.point.body, self.on) is not self.on:
            raise MbsError(f"cam '{self.name}': '{self.on.name}' must carry '{self.point.body.name}' in the tree; "
                           'put the curve on the nearest common body')
        attitude = ve.transpose(self.m.kinematics.link(self.on).attitude)
        place = ve.matvec(attitude, kin.point(self.point, self.on))
        bias = ve.matvec(attitude, kin.point_bias(self.point, self.on))
        columns = [(c, ve.matvec(attitude, axis if kind == 'prismatic' else
                                 ve.cross(axis, ve.sub(kin.point(self.point, self.on), origin))))
                   for c, kind, axis, origin in kin.columns(self.point.body, self.on)]
        curve = self.curve.at(self.s.q)[:2]
        rows = []
        for k in (0, 1):
            jacobian = {}
            for c, move in columns:
                _accumulate(jacobian, c, move[k])
            slope = diff(curve[k], self.s.q)
            _accumulate(jacobian, self.s, -slope)
            bend = diff(slope, self.s.q) if isinstance(slope, Expr) else 0.0
            rows.append(Row(place[k] - curve[k], jacobian, bias[k] - bend * self.s.v * self.s.v, self))
        return rows


def make(m, name, a, b, kind, plane, axis, length):
    """Return the loop of the given kind."""
    if kind == 'point':
        return PointLoop(m, name, a, b, plane)
    if plane is not None:
        raise MbsError(f"loop '{name}': only point loops take a plane, not kind '{kind}'")
    if kind == 'rod':
        if length is None:
            raise MbsError(f"rod '{name}' needs its length")
        return RodLoop(m, name, a, b, length)
    if kind == 'revolute':
        return RevoluteLoop(m, name, a, b, axis)
    if kind == 'solid':
        return SolidLoop(m, name, a, b)
    raise MbsError(f"loop '{name}': the kind '{kind}' is unknown; use point, rod, revolute or solid")
