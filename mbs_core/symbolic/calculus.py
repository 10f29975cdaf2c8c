"""Differentiation, substitution and numeric evaluation of expressions."""

import math

from mbs_core.errors import MbsError
from mbs_core.symbolic import expr as ex
from mbs_core.symbolic.expr import Expr


def needed(outputs) -> list:
    """Return every node the outputs depend on, operands before results (by age)."""
    seen, todo = {}, [e for e in outputs if type(e) is Expr]
    while todo:
        e = todo.pop()
        if e.id not in seen:
            seen[e.id] = e
            todo.extend(e.args)
    return [seen[i] for i in sorted(seen)]


def _partials(e):
    """Return d e / d args[i] for every operand of `e`."""
    op, a = e.op, e.args
    if op == 'add':
        return 1.0, 1.0
    if op == 'sub':
        return 1.0, -1.0
    if op == 'neg':
        return (-1.0,)
    if op == 'mul':
        return a[1], a[0]
    if op == 'div':
        return 1.0 / a[1], -e / a[1]
    if op == 'sin':
        return (ex.cos(a[0]),)
    if op == 'cos':
        return (-ex.sin(a[0]),)
    if op == 'sqrt':
        return (0.5 / e,)
    if op == 'exp':
        return (e,)
    if op == 'log':
        return (1.0 / a[0],)
    if op == 'tanh':
        return (1.0 - e * e,)
    if op == 'atan':
        return (1.0 / (1.0 + a[0] * a[0]),)
    if op == 'abs':
        return (ex.sign(a[0]),)
    if op == 'atan2':
        d = a[0] * a[0] + a[1] * a[1]
        return a[1] / d, -a[0] / d
    if op == 'pow':
        base, exponent = a
        log_part = 0.0 if exponent.op == 'const' else ex.select(0 < base, e * ex.log(ex.maximum(base, 1e-300)), 0.0)
        return exponent * ex.power(base, exponent - 1.0), log_part
    if op in ('min', 'max'):
        first = (a[0] <= a[1]) if op == 'min' else (a[0] >= a[1])
        return ex.select(first, 1.0, 0.0), ex.select(first, 0.0, 1.0)
    if op == 'select':
        return 0.0, ex.select(a[0], 1.0, 0.0), ex.select(a[0], 0.0, 1.0)
    if op in ('lt', 'le'):
        return 0.0, 0.0
    if op in ('call', 'result'):
        raise MbsError(f"the external function '{(e if op == 'call' else e.args[0]).data[0]}' can't be differentiated: "
                       'give the force directly instead of an energy or a displacement')
    raise AssertionError(op)


def tangent(expressions, seeds: dict) -> list:
    """Return sum_i d e / d s_i * seeds[s_i] for each expression: one forward sweep.

    With seeds {q_i: qd_i} this is the time derivative; with {s: 1.0} a partial derivative.
    """
    dot = {}
    for e in needed(expressions):
        if e in seeds:
            dot[e] = seeds[e]
            continue
        if all(ex.is_zero(dot.get(a, 0.0)) for a in e.args):
            continue
        if e.op == 'select':                               # keep one select instead of two masks
            d = ex.select(e.args[0], dot.get(e.args[1], 0.0), dot.get(e.args[2], 0.0))
        else:
            d = 0.0
            for a, p in zip(e.args, _partials(e)):
                if not ex.is_zero(da := dot.get(a, 0.0)):
                    d = d + p * da
        if not ex.is_zero(d):
            dot[e] = d
    return [dot.get(e, 0.0) if type(e) is Expr else 0.0 for e in expressions]


def diff(e, symbol):
    """Return the partial derivative of `e` with respect to `symbol`."""
    return tangent([e], {symbol: 1.0})[0]


def gradient(e, symbols) -> list:
    """Return the partial derivatives of `e` with respect to each symbol."""
    present = {n.id for n in needed([e])}
    return [diff(e, s) if s.id in present else 0.0 for s in symbols]


_REBUILD = {'sin': ex.sin, 'cos': ex.cos, 'sqrt': ex.sqrt, 'exp': ex.exp, 'log': ex.log, 'tanh': ex.tanh,
            'atan': ex.atan, 'abs': ex.absolute, 'atan2': ex.atan2, 'pow': ex.power, 'min': ex.minimum,
            'max': ex.maximum, 'select': ex.select, 'add': lambda a, b: a + b, 'sub': lambda a, b: a - b,
            'mul': lambda a, b: a * b, 'div': lambda a, b: a / b, 'neg': lambda a: -a,
            'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b}


def substitute(expressions, mapping: dict) -> list:
    """Return the expressions with every key of `mapping` (any node) replaced by its value."""
    new = {}
    for e in needed(expressions):
        if e in mapping:
            new[e] = mapping[e]
        elif not e.args:
            new[e] = e.data if e.op == 'const' else e
        elif all(new[a] is a for a in e.args if a.op != 'const'):
            new[e] = e
        elif e.op == 'call':
            new[e] = ex.call(e.data[0], [new[a] for a in e.args], e.data[1])
        elif e.op == 'result':
            new[e] = new[e.args[0]][e.data] if isinstance(new[e.args[0]], list) else e
        else:
            new[e] = _REBUILD[e.op](*(new[a] for a in e.args))
    return [new[e] if type(e) is Expr else e for e in expressions]


def evaluate(expressions, values: dict, functions: dict | None = None) -> list:
    """Return the numbers of the expressions for the given symbol values: the slow, plain oracle."""
    num = {}
    for e in needed(expressions):
        op = e.op
        if op == 'const':
            num[e] = e.data
        elif op == 'sym':
            if e not in values:
                raise MbsError(f"no value given for '{e.data[0]}'")
            num[e] = float(values[e])
        elif op == 'call':
            num[e] = functions[e.data[0]]([num[a] for a in e.args])
        elif op == 'result':
            num[e] = num[e.args[0]][e.data]
        else:
            num[e] = _NUMERIC[op](*(num[a] for a in e.args))
    return [num[e] if type(e) is Expr else float(e) for e in expressions]


def _divide(a, b):
    return a / b if b != 0 else (math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b))


_NUMERIC = {'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b, 'div': _divide,
            'neg': lambda a: -a, 'sin': math.sin, 'cos': math.cos, 'exp': math.exp, 'tanh': math.tanh,
            'atan': math.atan, 'abs': abs, 'atan2': math.atan2, 'min': min, 'max': max,
            'sqrt': lambda a: math.sqrt(a) if a >= 0 else math.nan,
            'log': lambda a: math.log(a) if a > 0 else (-math.inf if a == 0 else math.nan),
            'pow': lambda a, b: math.nan if a < 0 and b != int(b) else (math.inf if a == 0 and b < 0 else a ** b),
            'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b, 'select': lambda c, a, b: a if c else b}
