"""Kernels as C: the same statements, with Python's rounding of // and % and its order of evaluation."""

import ast

from mbs_core.symbolic.printers.lines import safe_name

_SIGN = {ast.Add: '+', ast.Sub: '-', ast.Mult: '*', ast.Div: '/', ast.Lt: '<', ast.LtE: '<=', ast.Gt: '>', ast.GtE: '>=',
         ast.Eq: '==', ast.NotEq: '!='}
_TYPE = {'int': 'int', 'float': 'real', 'void': 'void'}
_HELPERS = {
    'floordiv': 'static inline int i_floordiv(int a, int b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }',
    'mod': 'static inline int i_mod(int a, int b) { return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b; }',
    'imin': 'static inline int i_min(int a, int b) { return b < a ? b : a; }',
    'imax': 'static inline int i_max(int a, int b) { return b > a ? b : a; }',
    'iabs': 'static inline int i_abs(int a) { return a < 0 ? -a : a; }',
}


def number(value: float) -> str:
    """Return a number in the precision of the file."""
    text = repr(float(value))
    return f'K({text[:-2] if text.endswith(".0") else text})'


def helper_lines(used) -> list:
    """Return the whole-number helpers in use."""
    return [_HELPERS[name] for name in sorted(used & set(_HELPERS))]


class KernelC:
    """One kernel in C: `prototype`, `tables` and `text`."""

    def __init__(self, kernel, program, words):
        self.k, self.program, self.used = kernel, program, words.used
        self.signatures = program.signatures()
        self.rename, taken = {}, set(words.reserved)
        for name in [*(n for n, _ in kernel.params[1:]), *sorted(kernel.kinds)]:
            if name not in self.rename:
                self.rename[name] = safe_name(name, taken)
                taken.add(self.rename[name])
        self.ends = 0
        params = ''.join(f', {_TYPE[kind]} {self.rename[n]}' for n, kind in kernel.params[1:])
        self.prototype = f'{_TYPE[kernel.result]} {program.name}_{kernel.name}(real *x{params})'
        self.tables = [self._table(n) for n in kernel.used_tables]
        self.text = '\n'.join([self.prototype, '{', *self._declarations(), *self._block(kernel.body, 1), '}', ''])

    def _table(self, name):
        values, full = self.k.tables[name], self._table_name(name)
        if isinstance(values[0], str):
            return f'static void (*const {full}[])(real *) = {{ {", ".join(f"{self.program.name}_{v}" for v in values)} }};'
        if isinstance(values[0], int):
            return f'static const int {full}[] = {{ {", ".join(map(str, values))} }};'
        return f'static const real {full}[] = {{ {", ".join(map(number, values))} }};'

    def _table_name(self, name):
        return f'{self.program.name}_{self.k.name}_{name}'

    def _declarations(self):
        given = {n for n, _ in self.k.params}
        out = []
        for kind in ('int', 'float'):
            names = [self.rename[n] for n, k in sorted(self.k.kinds.items()) if k == kind and n not in given]
            if names:
                out.append(f'    {_TYPE[kind]} ' + ', '.join(f'{n} = 0' for n in names) + ';')
        read = {n.id for s in self.k.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        read |= {s.target.id for b in self.k.body for s in ast.walk(b) if isinstance(s, ast.For)}
        unread = [n for n in ['x', *sorted(self.k.kinds)] if n not in read]
        return out + [f'    (void){self.rename.get(n, n)};' for n in unread]

    # -- statements ------------------------------------------------------------------------------
    def _block(self, statements, depth):
        out, pad = [], '    ' * depth
        for s in statements:
            out += getattr(self, '_' + type(s).__name__)(s, depth, pad)
        return out

    def _Pass(self, s, depth, pad):
        return []

    def _Expr(self, s, depth, pad):
        return [f'{pad}{self._bare(s.value)};'] if isinstance(s.value, ast.Call) else []

    def _Assign(self, s, depth, pad):
        return self._store(s.targets[0], s.value, pad)

    def _AnnAssign(self, s, depth, pad):
        return self._store(s.target, s.value, pad)

    def _AugAssign(self, s, depth, pad):
        return self._store(s.target, s.whole, pad)

    def _store(self, target, value, pad):
        if isinstance(target, ast.Name):
            return [f'{pad}{self.rename[target.id]} = {self._bare(value, self.k.kinds[target.id])};']
        return [f'{pad}x[{self._bare(target.slice)}] = {self._bare(value, "float")};']

    def _Return(self, s, depth, pad):
        return [f'{pad}return;' if s.value is None else f'{pad}return {self._bare(s.value, self.k.result)};']

    def _Break(self, s, depth, pad):
        return [f'{pad}break;']

    def _Continue(self, s, depth, pad):
        return [f'{pad}continue;']

    def _If(self, s, depth, pad, head='if'):
        out = [f'{pad}{head} ({self._bare(s.test)}) {{', *self._block(s.body, depth + 1)]
        if len(s.orelse) == 1 and isinstance(s.orelse[0], ast.If):
            return out + self._If(s.orelse[0], depth, pad, '} else if')
        if s.orelse:
            out += [f'{pad}}} else {{', *self._block(s.orelse, depth + 1)]
        return [*out, f'{pad}}}']

    def _While(self, s, depth, pad):
        return [f'{pad}while ({self._bare(s.test)}) {{', *self._block(s.body, depth + 1), f'{pad}}}']

    def _For(self, s, depth, pad):
        a = s.iter.args
        first = self._bare(a[0]) if len(a) > 1 else '0'
        stop, step = (a[1] if len(a) > 1 else a[0]), (a[2].value if len(a) > 2 else 1)
        out, end, i = [], self._text(stop), self.rename[s.target.id]
        if not self._steady(stop, s.body):                 # Python evaluates the end once
            self.ends += 1
            out.append(f'{pad}const int end{self.ends} = {end};')
            end = f'end{self.ends}'
        go = {1: f'++{i}', -1: f'--{i}'}.get(step, f'{i} += {step}')
        lines = [f'for ({i} = {first}; {i} {"<" if step > 0 else ">"} {end}; {go}) {{']
        body = self._block(s.body, depth + 1 + bool(out))
        if out:                                            # a scope of its own, for the name of the end
            return [f'{pad}{{', '    ' + out[0], f'{pad}    {lines[0]}', *body, f'{pad}    }}', f'{pad}}}']
        return [pad + lines[0], *body, f'{pad}}}']

    def _steady(self, node, body):
        changed = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return not any(isinstance(n, (ast.Call, ast.Subscript)) or isinstance(n, ast.Name) and n.id in changed
                       for n in ast.walk(node))

    # -- expressions -----------------------------------------------------------------------------
    def _bare(self, node, wanted=None):
        """Return an expression without the parentheses around it."""
        text = self._text(node, wanted)
        if text[0] == '(' and _closes(text):
            return text[1:-1]
        return text

    def _text(self, node, wanted=None):
        text = getattr(self, '_of_' + type(node).__name__)(node)
        if wanted == 'float' and node.kind != 'float':
            return number(node.value) if isinstance(node, ast.Constant) else f'(real){text}'
        return text

    def _of_Constant(self, node):
        if node.kind == 'float':
            return number(node.value)
        return str(node.value) if node.value >= 0 else f'({node.value})'

    def _of_Name(self, node):
        return self.rename[node.id]

    def _of_BinOp(self, node):
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            name = 'floordiv' if isinstance(node.op, ast.FloorDiv) else 'mod'
            self.used.add(name)
            return f'i_{name}({self._bare(node.left)}, {self._bare(node.right)})'
        a, b = self._text(node.left, node.kind), self._text(node.right, node.kind)
        return f'({a} {_SIGN[type(node.op)]} {b})'

    def _of_UnaryOp(self, node):
        a = self._text(node.operand)
        return f'(!{a})' if isinstance(node.op, ast.Not) else f'(-{a})' if isinstance(node.op, ast.USub) else a

    def _of_BoolOp(self, node):
        return '(' + (' && ' if isinstance(node.op, ast.And) else ' || ').join(map(self._text, node.values)) + ')'

    def _of_Compare(self, node):
        nodes = (node.left, *node.comparators)
        kind = 'float' if any(v.kind == 'float' for v in nodes) else None
        t = [self._text(v, kind) for v in nodes]
        links = [f'({a} {_SIGN[type(o)]} {b})' for o, a, b in zip(node.ops, t, t[1:])]
        return links[0] if len(links) == 1 else '(' + ' && '.join(links) + ')'

    def _of_IfExp(self, node):
        return f'({self._text(node.test)} ? {self._text(node.body, node.kind)} : {self._text(node.orelse, node.kind)})'

    def _of_Subscript(self, node):
        name = node.value.id
        return f'{"x" if name == "x" else self._table_name(name)}[{self._bare(node.slice)}]'

    def _of_Call(self, node):
        f = node.func
        if isinstance(f, ast.Subscript):
            return f'{self._table_name(f.value.id)}[{self._bare(f.slice)}](x)'
        if f.id in self.signatures:
            args = [self._bare(a, k) for a, k in zip(node.args[1:], self.signatures[f.id][1:])]
            return f'{self.program.name}_{f.id}({", ".join(["x", *args])})'
        if f.id in ('float', 'int'):
            return f'(({_TYPE[f.id]}){self._text(node.args[0])})'
        if f.id == 'isfinite':
            return f'(isfinite({self._bare(node.args[0], "float")}) != 0)'
        return self._builtin(f.id, node)

    def _builtin(self, name, node):
        kind = 'float' if name == 'sqrt' else node.kind
        args = [self._bare(a, kind) for a in node.args]
        if kind == 'float':
            name = {'abs': 'fabs'}.get(name, name)
            self.used.add(name)
            name = f'r_{name}'
        else:
            self.used.add(f'i{name}')
            name = f'i_{name}'
        text = args[0] if len(args) > 1 else f'{name}({args[0]})'
        for a in args[1:]:
            text = f'{name}({text}, {a})'
        return text


def _closes(text):
    """Tell whether the first parenthesis closes at the very end (and is no cast)."""
    level = 0
    for k, c in enumerate(text):
        level += (c == '(') - (c == ')')
        if level == 0:
            return k == len(text) - 1
    return False
