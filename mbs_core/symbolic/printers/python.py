"""A program as a plain Python module that needs nothing but `math`: for reading, and as an oracle in tests."""

import ast
import re

from mbs_core.symbolic.printers.c import legend
from mbs_core.symbolic.printers.lines import Lines

_HEAD = '''\
import math
from math import atan, atan2, cos, exp, inf, isfinite, nan, sin, tanh


def sqrt(a):
    """Return the square root, NaN of a negative number."""
    return math.sqrt(a) if a >= 0 else nan


def log(a):
    """Return the natural logarithm, -inf of 0 and NaN of a negative number."""
    return math.log(a) if a > 0 else -inf if a == 0 else nan


def pow(a, b):
    """Return a**b, NaN where that is not real."""
    return nan if a < 0 and b != int(b) else inf if a == 0 and b < 0 else a ** b


def div(a, b):
    """Return a / b; division by zero gives infinity or NaN as in the compiled code."""
    return a / b if b else nan if a == 0 or a != a else math.copysign(inf, a) * math.copysign(1, b)


externals = {}          # name -> function of a list of inputs that returns a list of results
'''


class _Words:
    """How Python says it."""

    divide = True
    reserved = frozenset(('x', 'math', 'atan', 'atan2', 'cos', 'exp', 'inf', 'isfinite', 'nan', 'sin', 'tanh', 'sqrt', 'log',
                          'pow', 'div', 'externals', 'abs', 'min', 'max'))

    def __init__(self, program):
        self.pre = program.layout.offset('pre')

    def constant(self, value):
        """A number."""
        return repr(float(value)) if value >= 0 else f'({float(value)!r})'

    def place(self, at):
        """A place of x."""
        return f'x[{at}]'

    def function(self, op, args):
        """A call."""
        return f'{op}({", ".join(args)})'

    def select(self, test, a, b):
        """One of two values."""
        return f'({a} if {test} else {b})'


def emit_python(program) -> str:
    """Return the text of a module with one function `f(x)` per function and kernel of a finished program."""
    about = legend(program).strip('/*\n ').replace('\n * ', '\n').replace('\n *', '\n').replace('"""', "'''")
    words = _Words(program)
    out = [f'"""{about}\n"""\n', _HEAD, *(_function(f, words) for f in program.functions)]
    out += [_kernel(k) for k in program.kernels]
    bound = [f'{k.name}_{n} = {_constant(v)}' for k in program.kernels for n, v in sorted(k.constants.items())]
    if bound:
        out.append('\n# the constants of the kernels, bound last because some are functions\n' + '\n'.join(bound) + '\n')
    return '\n'.join(out)


def _constant(value):
    if isinstance(value, tuple):
        return '(' + ''.join(_constant(v) + ', ' for v in value) + ')'
    return value if isinstance(value, str) else repr(value)


def _function(f, words):
    lines = Lines(f, words)
    out = [f'\ndef {f.name}(x):', '    """Straight-line code on the block x."""']
    out += [f'    {name} = {text}' for name, text in lines.loads]
    for name, text in lines.body:
        if name is None:
            function, args, room, _ = text
            name, text = room, f'externals[{function!r}]([{", ".join(args)}])'
        out.append(f'    {name} = {text}')
    out += [f'    {place} = {text}' for place, text in lines.stores]
    return '\n'.join(out) + '\n'


def _kernel(k):
    """Return the source of a kernel, comments and all, with its constants renamed to their module-wide names."""
    lines = k.source.splitlines()
    names = [n for n in ast.walk(k.original) if isinstance(n, ast.Name) and n.id in k.constants]
    for n in sorted(names, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        raw = lines[n.lineno - 1].encode()                 # ast counts bytes
        lines[n.lineno - 1] = (raw[:n.col_offset] + f'{k.name}_{n.id}'.encode() + raw[n.end_col_offset:]).decode()
    text = '\n' + '\n'.join(lines) + '\n'
    return text if k.name == k.original.name else re.sub(rf'def {k.original.name}\b', f'def {k.name}', text, count=1)
