"""Hash-consed expressions: equal subexpressions are one node, simplified as they are built.

A number stays a Python float; an `Expr` is a node of a `Graph`. Both mix freely in formulas, so the
formalism is written once and zeros vanish by themselves. Terms are ordered by the multibody priority
rule of 001 eq. 14 (mass < length < force < coordinate < sin, cos < product < sum), which makes every
printed model deterministic.
"""

import math

from mbs_core.errors import MbsError

# 001 eq. 14, extended: what comes first in a commutative pair.
PRIORITY = {'const': 0, 'mass': 1, 'length': 2, 'parameter': 3, 'force': 4, 'coordinate': 5,
            'function': 6, 'product': 7, 'sum': 8}
_CLASS = {'mul': 'product', 'div': 'product', 'add': 'sum', 'sub': 'sum', 'neg': 'sum'}
_UNARY = {'sin': math.sin, 'cos': math.cos, 'sqrt': math.sqrt, 'exp': math.exp, 'log': math.log,
          'tanh': math.tanh, 'atan': math.atan, 'abs': abs}
_BINARY = {'atan2': math.atan2, 'pow': math.pow, 'min': min, 'max': max}
_NUMBERS = (int, float)


class Expr:
    """One node of a `Graph`: an operation on other nodes, a symbol or a constant. Compared by identity."""

    __slots__ = ('g', 'op', 'args', 'id', 'rank', 'par', 'data')

    def __add__(self, other):
        return self.g.add(self, other)

    def __radd__(self, other):
        return self.g.add(other, self)

    def __sub__(self, other):
        return self.g.sub(self, other)

    def __rsub__(self, other):
        return self.g.sub(other, self)

    def __mul__(self, other):
        return self.g.mul(self, other)

    def __rmul__(self, other):
        return self.g.mul(other, self)

    def __truediv__(self, other):
        return self.g.div(self, other)

    def __rtruediv__(self, other):
        return self.g.div(other, self)

    def __neg__(self):
        return self.g.neg(self)

    def __pow__(self, other):
        return power(self, other)

    def __rpow__(self, other):
        return power(other, self)

    def __abs__(self):
        return absolute(self)

    def __lt__(self, other):
        return self.g.compare('lt', self, other)

    def __le__(self, other):
        return self.g.compare('le', self, other)

    def __gt__(self, other):
        return self.g.compare('lt', other, self)

    def __ge__(self, other):
        return self.g.compare('le', other, self)

    def __bool__(self):
        raise MbsError(f'the value of the expression {self} is not known yet: use select(condition, a, b), '
                       'minimum or maximum instead of if, min or max')

    def __float__(self):
        if self.op == 'const':
            return self.data
        raise MbsError(f'the expression {self} has no value yet; evaluate it with mbs_core.symbolic.evaluate')

    def __repr__(self):
        from mbs_core.symbolic.text import formula
        return formula(self)


class Graph:
    """The table of all nodes of one mechanism; every node is made here, once."""

    def __init__(self, name: str = ''):
        self.name = name
        self.table = {}
        self.symbols = {}
        self.count = 0

    # -- nodes -----------------------------------------------------------------------------------
    def node(self, op, args, data=None):
        """Return the node for `op` on `args` (already simplified), making it if it is new."""
        key = (op, *args) if data is None else (op, data, *args)
        e = self.table.get(key)
        if e is None:
            e = self.table[key] = Expr.__new__(Expr)
            e.g, e.op, e.args, e.data, e.id = self, op, args, data, self.count
            e.rank = (PRIORITY[_CLASS.get(op, 'function')] << 40) | self.count
            par = True
            for a in args:
                par = par and a.par
            e.par = par
            self.count += 1
        return e

    def const(self, value) -> Expr:
        """Return the node of a number (only ever an operand: results that are numbers are floats)."""
        value = float(value)
        if value == 0.0:
            value = 0.0
        e = self.table.get(('const', value))
        if e is None:
            if not math.isfinite(value):
                raise MbsError(f"the number {value} in mechanism '{self.name}' is not finite: check its formula")
            e = self.node('const', (), value)
            e.rank = self.count - 1
        return e

    def symbol(self, name: str, kind: str = 'coordinate', array: str = 'x', index: int = 0) -> Expr:
        """Return a new named input, read from `array[index]`; `kind` is its place in eq. 14."""
        if name in self.symbols:
            raise MbsError(f"the name '{name}' is used twice in mechanism '{self.name}': choose another")
        e = self.node('sym', (), (name, array, index))
        e.rank = (PRIORITY[kind] << 40) | e.id
        e.par = array == 'par'
        self.symbols[name] = e
        return e

    def _own(self, x) -> Expr:
        if type(x) is Expr:
            if x.g is not self:
                raise MbsError(f"an expression of mechanism '{x.g.name}' is used in mechanism '{self.name}': "
                               'build each mechanism from its own parameters')
            return x
        if isinstance(x, _NUMBERS) or hasattr(x, '__float__'):
            return self.const(x)
        raise MbsError(f"{x!r} can't stand in an expression of mechanism '{self.name}': "
                       'use numbers, parameters and coordinates')

    # -- arithmetic ------------------------------------------------------------------------------
    def add(self, a, b):
        """Return a + b."""
        if type(a) is not Expr:
            if a == 0:
                return b
            a = self._own(a)
        elif type(b) is not Expr:
            if b == 0:
                return a
            b = self._own(b)
        if a.g is not b.g:
            self._own(b), self._own(a)
        if b.op == 'neg':
            return self.sub(a, b.args[0])
        if a.op == 'neg':
            return self.sub(b, a.args[0])
        if a is b:
            return self.mul(2.0, a)
        if _negative(b):
            return self.sub(a, self.neg(b))
        if _negative(a):
            return self.sub(b, self.neg(a))
        if b.rank < a.rank:
            a, b = b, a
        aop, bop = a.op, b.op
        if aop == 'const':
            if bop == 'const':
                return a.data + b.data
            if bop == 'add' and b.args[0].op == 'const':
                return self.add(a.data + b.args[0].data, b.args[1])
            if bop == 'sub' and b.args[0].op == 'const':
                return self.sub(a.data + b.args[0].data, b.args[1])
        elif bop == 'sub' and b.args[1] is a:
            return b.args[0] if b.args[0].op != 'const' else b.args[0].data
        elif aop == 'sub' and a.args[1] is b:
            return a.args[0] if a.args[0].op != 'const' else a.args[0].data
        elif aop == 'mul' and bop == 'mul':
            merged = self._angles(a, b, 1)
            if merged is not None:
                return merged
        return self.node('add', (a, b))

    def sub(self, a, b):
        """Return a - b."""
        if type(b) is not Expr:
            return self.add(a, -b)
        if type(a) is not Expr:
            if a == 0:
                return self.neg(b)
            a = self._own(a)
        if a is b:
            return 0.0
        if a.g is not b.g:
            self._own(b), self._own(a)
        if b.op == 'neg':
            return self.add(a, b.args[0])
        if a.op == 'neg':
            total = self.add(a.args[0], b)
            return self.neg(total) if type(total) is Expr else -total
        if _negative(b):
            return self.add(a, self.neg(b))
        aop, bop = a.op, b.op
        if aop == 'const' and bop == 'const':
            return a.data - b.data
        if bop == 'const':
            return self.add(-b.data, a)
        if aop == 'add':
            if a.args[1] is b:
                return a.args[0] if a.args[0].op != 'const' else a.args[0].data
            if a.args[0] is b:
                return a.args[1]
        elif aop == 'sub' and a.args[0] is b:
            return self.neg(a.args[1])
        elif aop == 'mul' and bop == 'mul':
            merged = self._angles(a, b, -1)
            if merged is not None:
                return merged
        if bop == 'sub':
            if b.args[0] is a:
                return b.args[1]
        elif bop == 'add':
            if b.args[1] is a:
                return self.neg(b.args[0])
            if b.args[0] is a:
                return self.neg(b.args[1])
        flipped = self.table.get(('sub', b, a))
        if flipped is not None:
            return self.node('neg', (flipped,))
        return self.node('sub', (a, b))

    def neg(self, a):
        """Return -a."""
        op = a.op
        if op == 'neg':
            return a.args[0]
        if op == 'const':
            return -a.data
        if op == 'mul' and a.args[0].op == 'const':
            return self.mul(-a.args[0].data, a.args[1])
        if op == 'sub':
            flipped = self.table.get(('sub', a.args[1], a.args[0]))
            if flipped is not None:
                return flipped
        return self.node('neg', (a,))

    def mul(self, a, b):
        """Return a * b."""
        if type(a) is not Expr:
            if a == 0 and type(b) is Expr:
                return 0.0
            if a == 1:
                return b
            if a == -1:
                return self.neg(b)
            a = self._own(a)
        elif type(b) is not Expr:
            if b == 0:
                return 0.0
            if b == 1:
                return a
            if b == -1:
                return self.neg(a)
            b = self._own(b)
        if a.g is not b.g:
            self._own(b), self._own(a)
        if a.op == 'neg':
            return self.neg(p) if type(p := self.mul(a.args[0], b)) is Expr else -p
        if b.op == 'neg':
            return self.neg(p) if type(p := self.mul(a, b.args[0])) is Expr else -p
        if b.rank < a.rank:
            a, b = b, a
        if a.op == 'const':
            if b.op == 'const':
                return a.data * b.data
            if b.op == 'mul' and b.args[0].op == 'const':
                return self.mul(a.data * b.args[0].data, b.args[1])
        elif a.op == 'mul' and a.args[0].op == 'const':
            return self.mul(a.args[0].data, self.mul(a.args[1], b))
        elif b.op == 'mul' and b.args[0].op == 'const':
            return self.mul(b.args[0].data, self.mul(a, b.args[1]))
        return self.node('mul', (a, b))

    def div(self, a, b):
        """Return a / b; a parameter-only divisor becomes a factor that is evaluated once."""
        if type(b) is not Expr:
            if b == 0:
                raise MbsError(f"division by zero in mechanism '{self.name}': check the formula of {a!r} / 0")
            return self.mul(1.0 / b, a)
        if type(a) is not Expr:
            if a == 0:
                return 0.0
            a = self._own(a)
        if a.g is not b.g:
            self._own(b), self._own(a)
        if a is b:
            return 1.0
        if a.op == 'neg':
            return -self.div(a.args[0], b)
        if b.op == 'neg':
            return -self.div(a, b.args[0])
        if b.par and not (a.par and a.op != 'const') and not (a.op == 'const' and a.data == 1.0):
            return self.mul(a, self.div(1.0, b))
        return self.node('div', (a, b))

    def compare(self, op, a, b):
        """Return the condition a < b ('lt') or a <= b ('le'), for `select`."""
        a, b = self._own(a), self._own(b)
        if a.op == 'const' and b.op == 'const':
            return a.data < b.data if op == 'lt' else a.data <= b.data
        if a is b:
            return op == 'le'
        return self.node(op, (a, b))

    def _angles(self, a, b, sign):
        """Merge a + sign*b when both are products of sines and cosines (001 section 3.2), else None."""
        p, q = a.args
        r, s = b.args
        po, qo, ro, so = p.op, q.op, r.op, s.op
        if po not in _TRIG or qo not in _TRIG or ro not in _TRIG or so not in _TRIG:
            return None
        p, q, r, s = p.args[0], q.args[0], r.args[0], s.args[0]
        if po == qo and ro == so and po != ro and {p, q} == {r, s}:
            if p is q:                                     # cos^2 +- sin^2
                if sign > 0:
                    return 1.0
                c = cos(self.mul(2.0, p))
                return c if po == 'cos' else -c
            c = cos(angle_sum(p, q, 1 if sign < 0 else -1))
            return -c if po == 'sin' and sign < 0 else c
        if po != qo and ro != so:                          # sin x cos y +- cos x sin y
            sx, cy = (p, q) if po == 'sin' else (q, p)
            sr, cr = (r, s) if ro == 'sin' else (s, r)
            if sx is cr and cy is sr and sx is not cy:
                return sin(angle_sum(sx, cy, sign))
        return None


_TRIG = ('sin', 'cos')


def _negative(e):
    """Tell whether `e` is a product with a negative number in front."""
    return e.op == 'mul' and e.args[0].op == 'const' and e.args[0].data < 0.0


def angle_terms(x):
    """Return the sum `x` as {atom: coefficient} plus a constant, for canonical angle sums."""
    terms, constant, todo = {}, 0.0, [(x, 1.0)]
    while todo:
        e, k = todo.pop()
        if type(e) is not Expr or e.op == 'const':
            constant += k * (e.data if type(e) is Expr else e)
        elif e.op in ('add', 'sub'):
            todo += [(e.args[0], k), (e.args[1], k if e.op == 'add' else -k)]
        elif e.op == 'neg':
            todo.append((e.args[0], -k))
        elif e.op == 'mul' and e.args[0].op == 'const':
            todo.append((e.args[1], k * e.args[0].data))
        else:
            terms[e] = terms.get(e, 0.0) + k
    return terms, constant


def angle_sum(x, y, sign=1):
    """Return x + sign*y with its terms in canonical order, so that equal angles are one node."""
    terms, constant = angle_terms(x)
    more, c = angle_terms(y)
    for e, k in more.items():
        terms[e] = terms.get(e, 0.0) + sign * k
    total = 0.0
    for e in sorted((e for e in terms if terms[e] != 0.0), key=lambda e: e.rank):
        total = total + terms[e] * e
    return total + (constant + sign * c)


def _function(op):
    fold = _UNARY[op]

    def f(x):
        if type(x) is not Expr:
            return fold(float(x))
        if x.op == 'const':
            return fold(x.data)
        if x.op == 'neg':
            if op in ('sin', 'tanh', 'atan'):
                return -f(x.args[0])
            if op in ('cos', 'abs'):
                return f(x.args[0])
        if op in _TRIG and x.op == 'sub' and x.args[0].rank > x.args[1].rank:
            flipped = x.g.sub(x.args[1], x.args[0])        # one node for sin(a-b) and sin(b-a)
            if type(flipped) is Expr and flipped.op == 'sub':
                return -x.g.node('sin', (flipped,)) if op == 'sin' else x.g.node('cos', (flipped,))
        if op == 'abs' and x.op in ('abs', 'sqrt', 'exp'):
            return x
        return x.g.node(op, (x,))
    f.__name__ = op
    f.__doc__ = f'Return {op}(x) of a number or an expression.'
    return f


sin, cos, sqrt, exp, log = map(_function, ('sin', 'cos', 'sqrt', 'exp', 'log'))
tanh, atan, absolute = map(_function, ('tanh', 'atan', 'abs'))


def _function2(op):
    fold = _BINARY[op]

    def f(a, b):
        if type(a) is not Expr and type(b) is not Expr:
            return fold(float(a), float(b))
        g = a.g if type(a) is Expr else b.g
        a, b = g._own(a), g._own(b)
        if a.op == 'const' and b.op == 'const':
            return fold(a.data, b.data)
        if op in ('min', 'max'):
            if a is b:
                return a
            if b.rank < a.rank:
                a, b = b, a
        return g.node(op, (a, b))
    f.__doc__ = f'Return {op}(a, b) of numbers or expressions.'
    return f


atan2, minimum, maximum, _pow = map(_function2, ('atan2', 'min', 'max', 'pow'))


def tan(x):
    """Return tan(x) = sin(x) / cos(x)."""
    return sin(x) / cos(x)


def power(a, b):
    """Return a**b; small whole exponents become products, halves become square roots."""
    if type(b) is Expr and b.op == 'const':
        b = b.data
    if type(b) is not Expr:
        if b == 0.5:
            return sqrt(a)
        if float(b).is_integer() and abs(b) <= 16:
            n, base, result = int(abs(b)), a, 1.0
            while n:
                if n & 1:
                    result = result * base
                n >>= 1
                if n:
                    base = base * base
            return 1.0 / result if b < 0 else result
    return _pow(a, b)


def select(condition, a, b):
    """Return `a` where `condition` (made by <, <=, >, >=) holds, else `b`."""
    if type(condition) is not Expr:
        return a if condition else b
    if condition.op not in ('lt', 'le'):
        raise MbsError(f'select needs a comparison such as x < y as its condition, not {condition}')
    g = condition.g
    a, b = g._own(a), g._own(b)
    if a is b:
        return a if a.op != 'const' else a.data
    return g.node('select', (condition, a, b))


def sign(x):
    """Return -1, 0 or 1."""
    if type(x) is not Expr:
        return float((x > 0) - (x < 0))
    return select(x < 0, -1.0, select(0 < x, 1.0, 0.0))


def call(name: str, inputs, count: int):
    """Return the `count` results of the external compiled function `name`: void f(const double *in, double *out)."""
    g = next((x.g for x in inputs if type(x) is Expr), None)
    if g is None:
        raise MbsError(f"the external function '{name}' gets numbers only: give it at least one expression")
    whole = g.node('call', tuple(g._own(x) for x in inputs), (name, count))
    whole.par = False
    results = [g.node('result', (whole,), k) for k in range(count)]
    return results


def is_zero(x) -> bool:
    """Tell whether `x` is the number 0 (structural zero)."""
    return type(x) is not Expr and x == 0
