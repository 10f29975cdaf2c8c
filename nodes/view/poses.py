"""Where every body of a mechanism is: its forward kinematics as one straight-line Python function.

The page needs poses thirty times a second for people's eyes, so plain Python is quick enough (some microseconds for a
planar linkage) and nothing has to be compiled.
"""

import math

from mbs_core.symbolic import Expr, evaluate
from mbs_core.symbolic.printers.python import emit_python
from mbs_core.symbolic.program import Layout, Program
from mbs_haptics.skeleton import symbol_values

SIZE = 12               # numbers of a pose: position, then the rotation by rows


class Poses:
    """Poses of all bodies but the ground, for positions q and parameters in SI; call it to get them."""

    def __init__(self, mechanism):
        self.mechanism = mechanism
        self.bodies = [b for b in mechanism.bodies.values() if b is not mechanism.ground]
        self.layout = Layout()
        for name, size in (('q', len(mechanism.positions)), ('par', len(mechanism.parameters)), ('time', 1),
                           ('in', len(mechanism.inputs)), ('z', len(mechanism.states)), ('pose', SIZE * len(self.bodies))):
            self.layout.add(name, size)
        stores = []
        for k, body in enumerate(self.bodies):
            numbers = [*mechanism.position(body.at()), *(c for row in mechanism.rotation(body) for c in row)]
            stores += [('pose', SIZE * k + i, number) for i, number in enumerate(numbers)]
        program = Program('poses', self.layout)
        program.function('poses', stores)
        program.finish()
        self._code = {}
        exec(compile(emit_python(program), 'poses of ' + mechanism.name, 'exec'), self._code)      # our own text
        self._x = [0.0] * self.layout.total
        self._x[self.layout.slice('z')] = [entry[1] for entry in mechanism.states.values()]
        self.set({name: p.default for name, p in mechanism.parameters.items()})

    def set(self, values):
        """Take parameters {name: value in its declared unit}; those left out stay as they are."""
        for name, value in values.items():
            p = self.mechanism.parameters[name]
            self._x[self.layout.at('par', p.index)] = value * p.factor
        self._code['pre'](self._x)

    @property
    def parameters(self) -> dict:
        """The parameters in SI, by name."""
        numbers = self._x[self.layout.slice('par')]
        return {name: numbers[p.index] for name, p in self.mechanism.parameters.items()}

    def __call__(self, q) -> dict:
        """Return {body: ((x, y, z), (w, x, y, z))} at q."""
        self._x[self.layout.slice('q')] = q
        self._code['poses'](self._x)
        first, out = self.layout.offset('pose'), {}
        for k, body in enumerate(self.bodies):
            numbers = self._x[first + SIZE * k:first + SIZE * (k + 1)]
            out[body.name] = tuple(numbers[:3]), quaternion(numbers[3:])
        return out

    def numbers(self, expressions) -> list:
        """Return expressions of parameters alone as numbers."""
        values = symbol_values(self.mechanism, self.mechanism.positions, self.parameters)
        return [evaluate([e], values)[0] if isinstance(e, Expr) else float(e) for e in expressions]

    def offset(self, point) -> tuple:
        """Return where a point is on its body, in the body's frame."""
        return tuple(self.numbers(point.offset))


def quaternion(r) -> tuple:
    """Return the unit quaternion (w, x, y, z) of a rotation given by rows; the largest component is the divisor."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = r
    squares = (1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz)      # 4 w^2, 4 x^2, 4 y^2, 4 z^2
    best = max(range(4), key=squares.__getitem__)
    big = math.sqrt(max(squares[best], 1e-12))
    rows = ((big * big, zy - yz, xz - zx, yx - xy), (zy - yz, big * big, xy + yx, xz + zx),
            (xz - zx, xy + yx, big * big, yz + zy), (yx - xy, xz + zx, yz + zy, big * big))
    return tuple(c / (2 * big) for c in rows[best])


def rotated(wxyz, point) -> tuple:
    """Return a point turned by a unit quaternion."""
    w, x, y, z = wxyz
    a, b, c = point
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx)


def placed(pose, point) -> tuple:
    """Return where a point of a body is when the body has this pose."""
    where, wxyz = pose
    return tuple(a + b for a, b in zip(where, rotated(wxyz, point)))
