"""A mechanism: bodies on joints, closed by loops, moved by forces. Describe it once; the engine does the rest."""

import ctypes
import math
import re

import numpy as np

from mbs_core.description import loops as lp
from mbs_core.description.body import Body, Coordinate, Input, Parameter, Point
from mbs_core.description.joints import Joint, fixed
from mbs_core.description.units import unit_of
from mbs_core.errors import MbsError, suggest
from mbs_core.formalism.energy import energy
from mbs_core.formalism.kinematics import Kinematics
from mbs_core.symbolic import Expr, Graph, call, tangent

_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$')
_BODY_AXES = ('x', 'y', 'z')


class Mechanism:
    """The description of one mechanism. Everything is in SI; expressions and numbers mix freely."""

    def __init__(self, name: str, gravity=(0.0, 0.0, -9.81), doc: str = ''):
        self.name, self.doc = self._name(name, 'mechanism'), doc
        self.graph = Graph(name)
        self.time = self.graph.symbol('t', 'parameter', 'time', 0)
        self.parameters, self.inputs, self.coordinates, self.driven = {}, {}, [], []
        self.states, self.loops, self.outputs = {}, [], {}
        self.efforts, self.wrenches, self.works, self.energies = [], [], [], []
        self.positions = []                     # start value of every entry of q
        self.externals = {}                     # name: address of a compiled function
        self.ground = Body('ground', self, None, None, fixed())
        self.bodies = {'ground': self.ground}
        self.gravity = self._vector(gravity, f"gravity of '{name}'")
        self.kinematics = Kinematics(self)

    # -- words -----------------------------------------------------------------------------------
    def _name(self, name, what):
        if not isinstance(name, str) or not _NAME.match(name):
            raise MbsError(f'{what}: {name!r} is no name; use letters, digits, _ and dots, starting with a letter')
        return name

    def number(self, x, where):
        """Return `x` as a finite float or an expression of this mechanism, or refuse it by name."""
        if isinstance(x, Expr):
            if x.g is not self.graph:
                raise MbsError(f"{where}: the expression {x} belongs to mechanism '{x.g.name}', not '{self.name}'")
            return x
        try:
            value = float(x)
        except (TypeError, ValueError):
            raise MbsError(f'{where}: {x!r} is neither a number nor an expression') from None
        if not math.isfinite(value):
            raise MbsError(f'{where}: {value} is not finite')
        return value

    def _vector(self, v, where):
        try:
            v = tuple(v)
        except TypeError:
            raise MbsError(f'{where}: {v!r} is not three components') from None
        if len(v) != 3:
            raise MbsError(f'{where}: {len(v)} components given, three needed')
        return tuple(self.number(c, where) for c in v)

    def parameter(self, name, default, unit='1', range=None, doc='', structural=False) -> Expr:
        """Declare a parameter and return its value in SI; default and closed range are in `unit`."""
        where = f"parameter '{self._name(name, 'parameter')}'"
        if name in self.parameters:
            raise MbsError(f'{where} is declared twice: choose another name')
        factor, kind = unit_of(unit, where)
        default = self.number(default, where)
        try:
            low, high = (self.number(r, f'range of {where}') for r in (range or (-math.inf, math.inf)))
        except (MbsError, TypeError, ValueError) as e:
            if range is None:
                low, high = -1e9, 1e9
            else:
                raise MbsError(f'{where}: the range {range!r} must be two finite numbers in {unit}') from e
        if isinstance(default, Expr) or isinstance(low, Expr) or isinstance(high, Expr):
            raise MbsError(f'{where}: default and range must be plain numbers in {unit}')
        if not low < high or not low <= default <= high:
            raise MbsError(f'{where}: the default {default:g} {unit} must lie in the range [{low:g}, {high:g}] {unit}, '
                           'lowest value first; check that both are in the same unit')
        index = len(self.parameters)
        self.parameters[name] = Parameter(name, default, unit, low, high, doc, factor, index, structural)
        return self.graph.symbol(name, kind, 'par', index)

    def input(self, name, unit='1', default=0.0, doc='') -> Expr:
        """Declare a quantity given from outside at every step and return it."""
        where = f"input '{self._name(name, 'input')}'"
        unit_of(unit, where)
        if name in self.inputs:
            raise MbsError(f'{where} is declared twice: choose another name')
        index = len(self.inputs)
        self.inputs[name] = Input(name, unit, self.number(default, where), doc, index)
        return self.graph.symbol(name, 'force', 'in', index)

    def state(self, name, initial=0.0) -> Expr:
        """Declare a state of a force law and return it; give its rate with `derivative`."""
        where = f"state '{self._name(name, 'state')}'"
        if name in self.states:
            raise MbsError(f'{where} is declared twice: choose another name')
        index = len(self.states)
        z = self.graph.symbol(name, 'coordinate', 'z', index)
        self.states[name] = [z, self.number(initial, where), None]
        return z

    def derivative(self, state: Expr, rate):
        """Give the rate of a state: state' = rate."""
        for entry in self.states.values():
            if entry[0] is state:
                entry[2] = self.number(rate, f"rate of state '{state}'")
                return
        raise MbsError(f"'{state}' is no state of '{self.name}': make it with state() first")

    def _coordinate(self, name, initial=0.0, rate=0.0, body=None, massless=False, position=True) -> Coordinate:
        i = len(self.coordinates)
        p = len(self.positions)
        g = self.graph
        q = g.symbol(f'q.{name}', 'coordinate', 'q', p) if position else None
        if position:
            self.positions.append(self.number(initial, f"initial value of '{name}'"))
        c = Coordinate(name, i, p, q, g.symbol(f'v.{name}', 'coordinate', 'v', i),
                       g.symbol(f'a.{name}', 'coordinate', 'vd', i), initial, rate, -1, massless, body)
        self.coordinates.append(c)
        return c

    # -- bodies ----------------------------------------------------------------------------------
    def body(self, name, on, joint: Joint | None = None, mass=0.0, com=(0.0, 0.0, 0.0), inertia=None, initial=None,
             rate=None, guess=None) -> Body:
        """Add a body carried by `on` (a body or a point of one) through `joint`, and return it.

        `com` is in the body's frame; `inertia` is about the centre of mass: one number (about the joint axis,
        planar use), three (xx, yy, zz) or six (xx, yy, zz, xy, xz, yz). `initial` and `rate` are the start
        values of the joint: one number, or a list for ball and free joints (translations, then x, y, z, w).
        `guess` is a start value that may move when the loops are closed: it says which way they are assembled.
        """
        where = f"body '{self._name(name, 'body')}'"
        if name in self.bodies:
            raise MbsError(f'{where} is described twice: choose another name')
        if isinstance(on, str):
            raise MbsError(f"{where}: it is mounted on '{on}', which is {'a name' if on in self.bodies else 'unknown'}: "
                           f"give the body itself{suggest(on, self.bodies) if on not in self.bodies else ''}")
        mount = on if isinstance(on, Point) else on.at() if isinstance(on, Body) else None
        if mount is None or mount.body.mechanism is not self:
            raise MbsError(f"{where}: what it is mounted on is no body of mechanism '{self.name}'")
        joint = joint or fixed()
        if not isinstance(joint, Joint):
            raise MbsError(f'{where}: {joint!r} is no joint; use revolute, prismatic, spherical, free or fixed')
        body = Body(name, self, mount.body, mount, joint, self.number(mass, f'mass of {where}'),
                    self._vector(com, f'centre of mass of {where}'), self._inertia(inertia, joint, where))
        if not isinstance(body.mass, Expr) and body.mass < 0:
            raise MbsError(f'{where}: its mass {body.mass:g} kg is negative')
        start, rates = self._start(joint, initial if initial is not None else guess, rate, where)
        if joint.kind == 'free':
            carrier = mount
            for k, axis in enumerate(_BODY_AXES):
                slide = self.body(f'{name}.{axis}', carrier, Joint('prismatic', tuple(float(j == k) for j in range(3))),
                                  initial=start[k] if initial is not None else None, guess=start[k], rate=rates[k])
                carrier = slide.at()
            body.parent, body.mount, body.joint = carrier.body, carrier, Joint('spherical')
            start, rates = start[3:], rates[3:]
        self._joint_coordinates(body, start, rates, initial is not None)
        body.order = len(self.bodies)
        self.bodies[name] = body
        return body

    def _start(self, joint, initial, rate, where):
        """Return start positions and rates of a joint as lists of the right length, or refuse them."""
        sizes = {'revolute': (1, 1), 'prismatic': (1, 1), 'spherical': (4, 3), 'free': (7, 6), 'fixed': (0, 0)}
        if joint.kind not in sizes:
            raise MbsError(f"{where}: the joint kind '{joint.kind}' is unknown")
        out = []
        for values, size, what in ((initial, sizes[joint.kind][0], 'start'), (rate, sizes[joint.kind][1], 'start rate')):
            if values is None:
                values = [0.0] * size
                if size in (4, 7):
                    values[-1] = 1.0
            elif size == 1:
                values = [values]
            try:
                values = [self.number(v, f'{what} of {where}') for v in values]
            except TypeError:
                values = [values]
            if size == 7 and len(values) == 3:
                values += [0.0, 0.0, 0.0, 1.0]
            if len(values) != size or any(isinstance(v, Expr) for v in values):
                raise MbsError(f'{where}: the {what} of a {joint.kind} joint takes {size} plain numbers'
                               f"{' (the last four a quaternion x, y, z, w)' if what == 'start' and size > 1 else ''}, not {values}")
            out.append(values)
        if joint.kind in ('spherical', 'free'):
            norm = math.sqrt(sum(c * c for c in out[0][-4:]))
            if norm < 1e-6:
                raise MbsError(f'{where}: a ball joint starts from a quaternion x, y, z, w of length one, not {out[0][-4:]}')
            out[0][-4:] = [c / norm for c in out[0][-4:]]
        return out

    def _joint_coordinates(self, body, start, rates, given):
        kind, name = body.joint.kind, body.name
        if kind in ('revolute', 'prismatic'):
            body.coordinates.append(self._coordinate(name, start[0], rates[0], body))
            body.coordinates[0].given = given
        elif kind == 'spherical':
            first = len(self.positions)
            body.quaternion = tuple(self.graph.symbol(f'q.{name}.{a}', 'coordinate', 'q', first + k)
                                    for k, a in enumerate(('qx', 'qy', 'qz', 'qw')))
            self.positions += start
            for k, axis in enumerate(_BODY_AXES):
                c = self._coordinate(f'{name}.w{axis}', 0.0, rates[k], body, position=False)
                c.position = first
                c.given = given
                body.coordinates.append(c)

    def _inertia(self, inertia, joint, where):
        where = f'inertia of {where}'
        if inertia is None:
            return (0.0,) * 6
        if isinstance(inertia, (int, float, Expr)):
            k = self.number(inertia, where)
            if not isinstance(k, Expr) and k < 0:
                raise MbsError(f'{where}: {k:g} kg m2 is negative')
            axis = [abs(c) for c in joint.axis]
            if joint.kind not in ('revolute', 'prismatic') or sorted(axis) != [0.0, 0.0, 1.0]:
                return k, k, k, 0.0, 0.0, 0.0
            if joint.kind == 'prismatic':
                return k, k, k, 0.0, 0.0, 0.0
            return tuple(k if axis[j] else 0.0 for j in range(3)) + (0.0,) * 3
        values = [self.number(c, where) for c in np.array(inertia, dtype=object).ravel()]
        if len(values) == 9:
            values = [values[0], values[4], values[8], values[1], values[2], values[5]]
        if len(values) == 3:
            values += [0.0] * 3
        if len(values) != 6:
            raise MbsError(f'{where}: {len(values)} numbers given; give 1, 3 (xx, yy, zz) or 6 (xx, yy, zz, xy, xz, yz)')
        if not any(isinstance(v, Expr) for v in values):
            xx, yy, zz, xy, xz, yz = values
            eig = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if eig[0] < -1e-12 * max(1e-30, eig[2]) or eig[2] > (eig[0] + eig[1]) * (1 + 1e-9) + 1e-15:
                if joint.kind != 'revolute' or eig[0] < -1e-12 * eig[2]:
                    raise MbsError(f'{where}: no real body has the principal moments {eig.round(9).tolist()} kg m2 '
                                   '(each at most the sum of the other two, none negative)')
        return tuple(values)

    def __getitem__(self, name) -> Body:
        if name not in self.bodies:
            raise MbsError(f"mechanism '{self.name}' has no body '{name}'{suggest(str(name), self.bodies)}")
        return self.bodies[name]

    def coordinate_of(self, what) -> Coordinate:
        """Return the coordinate meant by a body with a one-dof joint, a coordinate or a coordinate's name."""
        if isinstance(what, Coordinate) and what in self.coordinates:
            return what
        if isinstance(what, Body) and what.mechanism is self:
            return what.coordinate
        if isinstance(what, (Body, Coordinate)):
            raise MbsError(f"'{what.name}' belongs to another mechanism than '{self.name}': use one of its own joints")
        for c in self.coordinates:
            if c.name == what:
                return c
        raise MbsError(f"mechanism '{self.name}' has no coordinate '{what}'"
                       f'{suggest(str(what), [c.name for c in self.coordinates])}')

    # -- closing and driving ---------------------------------------------------------------------
    def close(self, a, b, kind=None, plane=None, name=None, axis='z', length=None):
        """Close a loop between two points (or bodies).

        kind 'point' (default): they coincide, 2 equations with `plane` ('xy', 'yz', 'xz' of the nearest common
        body), else 3; 'rod': they keep the distance `length`; 'revolute': coincide and share `axis` (5);
        'solid': coincide with equal frames (6).
        """
        a, b = (p.at() if isinstance(p, Body) else p for p in (a, b))
        for p in (a, b):
            if not isinstance(p, Point) or p.body.mechanism is not self:
                raise MbsError(f"loop in '{self.name}': {p!r} is no point of this mechanism; use body.at(x, y, z)")
        name = name or f'{a.body.name}-{b.body.name}'
        if any(existing.name == name for existing in self.loops):
            name = f'{name}.{len(self.loops)}'
        self.loops.append(lp.make(self, name, a, b, kind or ('rod' if length is not None else 'point'), plane, axis, length))
        return self.loops[-1]

    def on_curve(self, point, curve, on=None, name=None, initial=0.0) -> Coordinate:
        """Keep `point` on a planar `curve` of the body `on` (plane xy); return the abscissa's coordinate (000 eq. 10)."""
        on, point = self._member(on or self.ground), self._point(point)
        name = self._name(name or f'{point.body.name}.cam', 'cam')
        if not callable(getattr(curve, 'at', None)):
            raise MbsError(f"cam '{name}': {curve!r} is no curve; use Curve(start, heading, [segment(...), arc(...)]) or spline(...)")
        s = self._coordinate(f'{name}.s', initial, massless=True)
        self.loops.append(lp.Cam(self, name, point, on, curve, s))
        return s

    def constrain(self, name, expression):
        """Impose expression(q, parameters) = 0, an expression of coordinates."""
        expression = self.number(expression, f"constraint '{name}'")
        if not isinstance(expression, Expr):
            raise MbsError(f"constraint '{name}' holds no coordinate: it can't be imposed")
        self.loops.append(lp.Formula(self, self._name(name, 'constraint'), expression))
        return self.loops[-1]

    def auxiliary(self, name, initial=0.0) -> Coordinate:
        """Add a coordinate without a body (to be determined by constraints), and return it."""
        return self._coordinate(self._name(name, 'coordinate'), initial, massless=True)

    def independent(self, *what):
        """Wish coordinates to be independent (001 eq. 5) where the loops leave a choice."""
        for w in what:
            self.coordinate_of(w).wished = True

    def drive(self, *what):
        """Make coordinates driven: their motion is given from outside (001 eq. 9-10), their effort is an output."""
        for w in what:
            c = self.coordinate_of(w)
            if c.q is None:
                raise MbsError(f"'{c.name}' belongs to a ball joint: drive a revolute or prismatic joint instead")
            if c.massless:
                raise MbsError(f"'{c.name}' carries no body: drive a joint instead")
            if c.driven < 0:
                c.driven = len(self.driven)
                self.driven.append(c)

    def effort(self, what) -> Expr:
        """Return the effort that moves a driven joint (001 eq. 13), for use in outputs."""
        c = self.coordinate_of(what)
        if c.driven < 0:
            raise MbsError(f"'{c.name}' is not driven: call drive first, or use an input")
        return self._late(f'effort.{c.name}', 'eff', c.driven)

    def multiplier(self, loop, k=0) -> Expr:
        """Return the Lagrange multiplier of equation k of a loop, for use in outputs."""
        loop = self.loop_of(loop)
        row = 0
        for one in self.loops:
            if one is loop:
                break
            row += one.size
        if not 0 <= k < loop.size:
            raise MbsError(f"loop '{loop.name}' has {loop.size} equations; there is no multiplier {k}")
        return self._late(f'lambda.{loop.name}.{k}', 'lam', row + k)

    def loop_of(self, loop):
        """Return the loop meant by itself or its name."""
        for one in self.loops:
            if one is loop or one.name == loop:
                return one
        raise MbsError(f"mechanism '{self.name}' has no loop '{loop}'{suggest(str(loop), [one.name for one in self.loops])}")

    def _late(self, name, array, index):
        found = self.graph.symbols.get(name)
        return self.graph.symbol(name, 'force', array, index) if found is None else found

    # -- forces ----------------------------------------------------------------------------------
    def add(self, law):
        """Add a force law (spring, damper, friction, link, contact, felt, ...)."""
        if not callable(getattr(law, 'apply', None)):
            raise MbsError(f"{law!r} is no force law of '{self.name}'; use spring(), link(), contact(), ... ")
        law.apply(self)
        return law

    def push_joint(self, what, effort, name='effort'):
        """Apply an effort (force or torque) along a coordinate."""
        c = self.coordinate_of(what)
        self.efforts.append((name, c, self.number(effort, f"effort on '{c.name}'")))

    def push(self, point, force, on=None, torque=(0.0, 0.0, 0.0), name='force', frame=None):
        """Apply a force (and torque) at a point of a body, and the opposite on body `on` at the same place.

        Components are along the axes of `frame` (a body; the ground if omitted).
        """
        point = self._point(point)
        where = f"force '{name}' on '{point.body.name}'"
        self.wrenches.append((name, point, self._vector(force, where), self._vector(torque, where),
                              self._member(on or self.ground), self._member(frame or self.ground)))

    def work(self, force, displacement, name='work'):
        """Apply the efforts whose virtual work is force * d(displacement), an expression of coordinates."""
        where = f"work '{name}'"
        self.works.append((name, self.number(force, where), self.number(displacement, where)))

    def external(self, name, function, inputs, count) -> list:
        """Return the `count` results of an external compiled function `void f(const double *in, double *out)`.

        `function` is its address: a number, a ctypes function or a numba cfunc. It runs inside the native model, so it
        must be quick, must not allocate and must keep no reference to its arguments.
        """
        where = f"external function '{self._name(name, 'external function')}'"
        address = getattr(function, 'address', function)
        if not isinstance(address, int):
            try:
                address = ctypes.cast(function, ctypes.c_void_p).value
            except (TypeError, ctypes.ArgumentError):
                address = None
        if not address:
            raise MbsError(f'{where}: {function!r} has no address; give a ctypes function, a numba cfunc or an address')
        if self.externals.setdefault(name, (address, function))[0] != address:
            raise MbsError(f'{where} stands for two different functions: use two names')
        if not (isinstance(count, int) and count > 0):
            raise MbsError(f'{where}: the number of its results must be a positive whole number, not {count!r}')
        return call(name.replace('.', '_'), [self.number(i, f'input of {where}') for i in inputs], count)

    def store(self, energy, name='energy'):
        """Add potential energy to the balance (springs do it by themselves)."""
        self.energies.append((name, self.number(energy, f"energy '{name}'")))

    # -- measures --------------------------------------------------------------------------------
    def rate(self, expression):
        """Return the time derivative of an expression of coordinates."""
        return tangent([expression], self.kinematics.seeds())[0]

    def position(self, point, seen_from=None):
        """Return the position of a point in the frame of a body (the ground if omitted), three components."""
        return self.kinematics.position(self._point(point), self._member(seen_from or self.ground))

    def velocity(self, point, seen_from=None):
        """Return the velocity of a point relative to a body, in that body's axes (the ground if omitted)."""
        return self.kinematics.velocity(self._point(point), self._member(seen_from or self.ground))

    def acceleration(self, point):
        """Return the acceleration of a point in ground axes (for outputs)."""
        return self.kinematics.acceleration(self._point(point))

    def rotation(self, body, seen_from=None):
        """Return the 3x3 orientation of a body in the frame of another (the ground if omitted)."""
        return self.kinematics.rotation(self._member(body), self._member(seen_from or self.ground))

    def angular_velocity(self, body, seen_from=None):
        """Return the angular velocity of a body relative to another, in the latter's axes."""
        return self.kinematics.angular_velocity(self._member(body), self._member(seen_from or self.ground))

    def _member(self, body) -> Body:
        """Return a body of this mechanism, or refuse what is none."""
        if not isinstance(body, Body) or body.mechanism is not self:
            raise MbsError(f"{body!r} is no body of mechanism '{self.name}'")
        return body

    def _point(self, p):
        if isinstance(p, Body):
            p = p.at()
        if not isinstance(p, Point) or p.body.mechanism is not self:
            raise MbsError(f"{p!r} is no point of mechanism '{self.name}'; use body.at(x, y, z)")
        return p

    def energy(self):
        """Return (kinetic, potential) energy: gravity, and what force laws declare they store."""
        return energy(self)

    def reaction(self, body):
        """Return the reaction (Fx, Fy, Fz, Mx, My, Mz) the carrier exerts on `body` at its joint, for outputs.

        It is the whole wrench through the joint, about its origin, in the axes of the body's computing frame
        (the ground's for planar mechanisms on the ground).
        """
        if self._member(body) is self.ground:
            raise MbsError(f"the ground of '{self.name}' has no joint: a reaction needs another body")
        return tuple(self._late(f'reaction.{body.name}.{k}', 'reaction', 6 * (body.order - 1) + j)
                     for j, k in enumerate(('fx', 'fy', 'fz', 'mx', 'my', 'mz')))

    def output(self, name, expression, unit='1', doc=''):
        """Declare an output: any expression of coordinates, velocities, accelerations, efforts, multipliers."""
        self._name(name, 'output')
        unit_of(unit, f"output '{name}'")
        if name in self.outputs:
            raise MbsError(f"output '{name}' is declared twice: choose another name")
        self.outputs[name] = (self.number(expression, f"output '{name}'"), unit, doc)


