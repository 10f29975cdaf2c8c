"""A program as one self-contained, readable C99 file, for firmware and for reading.

It needs nothing but <math.h> (or the header that MBS_MATH_H names: a microcontroller's own sines), and compiles for
double and, with -DMBS_REAL=float, for single precision.
"""

import textwrap

from mbs_core.symbolic.printers.kernel_c import KernelC, helper_lines, number
from mbs_core.symbolic.printers.lines import Lines

_LIBM = {'sin': 1, 'cos': 1, 'sqrt': 1, 'exp': 1, 'log': 1, 'tanh': 1, 'atan': 1, 'fabs': 1, 'atan2': 2, 'pow': 2}
_ORDER = {'min': 'b < a ? b : a', 'max': 'b > a ? b : a'}


class _Words:
    """How C says it."""

    divide = False

    def __init__(self, program):
        self.layout, self.used = program.layout, set()
        self.prefix = program.name.upper()
        self.pre = program.layout.offset('pre')
        self.names = program.layout.names()
        self.reserved = {f.name for f in program.functions} | {*_LIBM}

    def constant(self, value):
        """A number in the precision of the file."""
        return number(value)

    def place(self, at):
        """x[...] with the name of the array."""
        for name in self.names:
            offset, size = self.layout.offset(name), self.layout.size(name)
            if offset <= at < offset + size:
                return f'x[{self.prefix}_{name.upper()}' + (f' + {at - offset}]' if at > offset else ']')
        raise AssertionError(at)

    def function(self, op, args):
        """A call of the mathematical library."""
        op = {'abs': 'fabs'}.get(op, op)
        self.used.add(op)
        return f'r_{op}({", ".join(args)})'

    def select(self, test, a, b):
        """One of two values."""
        return f'({test} ? {a} : {b})'


def emit_c(program) -> str:
    """Return the C text of a finished program; every function is prefixed by the program's name."""
    words = _Words(program)
    bodies = [_function(program, f, words) for f in program.functions]
    kernels = [KernelC(k, program, words) for k in program.kernels]
    bodies += [k.text for k in kernels]
    tables = [line for k in kernels for line in k.tables]
    head = [legend(program), '#ifdef MBS_MATH_H', '#include MBS_MATH_H', '#else', '#include <math.h>', '#endif', '',
            '#ifndef MBS_REAL', '#define MBS_REAL double', '#endif', 'typedef MBS_REAL real;', '#define K(c) ((real)(c))', '',
            *_offsets(program), '']
    head += [f'extern void {name}(const real *in, real *out);' for name in sorted(program.externals)]
    head += [_prototype(program, f.name, ('void',), []) + ';' for f in program.functions]
    head += [k.prototype + ';' for k in kernels]
    return '\n'.join([*head, '', *_helpers(words), *helper_lines(words.used), *tables, '', *bodies])


def _prototype(program, name, signature, params):
    kinds = {'int': 'int', 'float': 'real', 'void': 'void'}
    rest = ''.join(f', {kinds[k]} {p}' for p, k in params)
    return f'{kinds[signature[0]]} {program.name}_{name}(real *x{rest})'


def legend(program) -> str:
    """Return the comment at the top of the file: what the program is and what x holds."""
    layout = program.layout
    text = [f'{program.name}: generated equations of motion; every function works on one block x of '
            f'{layout.total} numbers.']
    text += textwrap.dedent(program.legend).strip().splitlines()
    text.append('')
    for name in layout.names():
        offset, size = layout.offset(name), layout.size(name)
        if size:
            text.append(f'x[{offset}]' + (f' .. x[{offset + size - 1}]' if size > 1 else '') + f': {name}[{size}]'
                        + _MEANING.get(name, ''))
    return '\n'.join(['/*', *(f' * {line.replace("*/", "* /")}'.rstrip() for line in text), ' */'])


_MEANING = {'pre': ", written by *_pre: call it after every change of par", 'spill': ', scratch'}


def _offsets(program):
    layout, prefix = program.layout, program.name.upper()
    lines = [f'    {prefix}_{n.upper()} = {layout.offset(n)},' for n in layout.names()]
    return ['/* where each array starts in x, and how long x is */', 'enum {', *lines, f'    {prefix}_TOTAL = {layout.total}',
            '};']


def _helpers(words):
    """Return the functions of the mathematical library in the precision of the file, those in use."""
    out = []
    for name in sorted(words.used & {*_LIBM, *_ORDER}):
        if name in _ORDER:
            out.append(f'static inline real r_{name}(real a, real b) {{ return {_ORDER[name]}; }}')
            continue
        arguments = ('a', 'b')[:_LIBM[name]]
        single, double = (', '.join(f'({kind}){v}' for v in arguments) for kind in ('float', 'double'))
        out.append(f'static inline real r_{name}({", ".join("real " + v for v in arguments)}) '
                   f'{{ return sizeof(real) == sizeof(float) ? (real){name}f({single}) : (real){name}({double}); }}')
    return [*out, ''] if out else []


def _function(program, f, words):
    lines = Lines(f, words)
    out = [_prototype(program, f.name, ('void',), []), '{']
    if not lines.loads and not lines.stores:
        out.append('    (void)x;')
    out += [f'    const real {name} = {text};' for name, text in lines.loads]
    for name, text in lines.body:
        if name is None:
            function, args, room, size = text
            out.append(f'    real {room}[{size}];')
            out.append(f'    {{ const real in[] = {{ {", ".join(args)} }}; {function}(in, {room}); }}')
        else:
            out.append(f'    const real {name} = {text};')
    out += [f'    {place} = {text};' for place, text in lines.stores]
    return '\n'.join([*out, '}', ''])
