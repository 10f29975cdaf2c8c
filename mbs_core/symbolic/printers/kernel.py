"""Kernels: drivers such as Newton loops and integrators, written once in a small subset of Python.

A kernel is `def f(x, h: float, n: int) -> int:`; `x` is the block of doubles, everything else is int or float.
Allowed are loads and stores x[int], + - * / // %, comparisons, and/or/not, `a if c else b`, abs, sqrt, min, max,
isfinite, float(), int(), len(TABLE), for-range with a constant step, while, if, break, continue, return, and
calls of other functions of the program. Other names stand for constants that are given when the kernel is added:
numbers, tuples of numbers (tables), the name of a function, or tuples of names (tables of functions).
`/` by zero gives infinity and sqrt of a negative number NaN in native code, where Python raises.
"""

import ast
import inspect
import operator
import textwrap

from mbs_core.errors import MbsError
from mbs_core.symbolic.printers.kernel_types import Types

_FOLD = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
         ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Lt: operator.lt, ast.LtE: operator.le,
         ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne}
_KINDS = {'int': 'int', 'float': 'float', None: 'void', 'None': 'void'}


class Kernel:
    """One driver: its source, and its tree with the constants put in and dead branches removed."""

    def __init__(self, code, constants: dict, name: str | None = None):
        self.source = textwrap.dedent(code if isinstance(code, str) else inspect.getsource(code)).strip('\n')
        try:
            module = ast.parse(self.source)
        except SyntaxError as error:
            raise MbsError(f'a kernel is no valid Python at line {error.lineno}: {error.msg}') from None
        if len(module.body) != 1 or not isinstance(module.body[0], ast.FunctionDef):
            raise MbsError('a kernel is one plain function: give a def and nothing else')
        self.original = module.body[0]
        self.name = name or self.original.name
        self.constants = {k: _constant(self.name, k, v) for k, v in constants.items()}
        self.params, self.result = self._header(self.original)
        self.signature = (self.result, *(kind for _, kind in self.params[1:]))
        self.tables = {k: v for k, v in self.constants.items() if isinstance(v, tuple)}
        clash = {n for n, _ in self.params} | {t.id for t in ast.walk(self.original)
                                               if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)}
        for n in sorted(clash & set(self.constants)):
            raise MbsError(f"kernel '{self.name}': '{n}' is both a constant and a variable: rename one of them")
        tree = ast.parse(self.source).body[0]
        self.body = _Fold(self).block(tree.body)
        self.kinds = None                 # variable -> 'int' or 'float', after `resolve`
        self.calls = set()                # names of the functions the kernel calls, after `resolve`
        self.used_tables = []             # names of the tables it needs, after `resolve`

    def refuse(self, node, reason: str):
        """Raise the error that names the line of `node`."""
        line = getattr(node, 'lineno', 1)
        text = self.source.splitlines()[line - 1].strip()
        raise MbsError(f"kernel '{self.name}', line {line} ({text}): {reason}")

    def resolve(self, signatures: dict):
        """Find the type of every variable and check every line against the subset."""
        Types(self, signatures).run()

    def _header(self, tree):
        a = tree.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults or tree.decorator_list:
            self.refuse(tree, 'a kernel has plain parameters without defaults, and no decorator')
        if not a.args or a.args[0].arg != 'x':
            self.refuse(tree, "the first parameter of a kernel is 'x', the block of doubles")
        params = [('x', 'block')]
        for p in a.args[1:]:
            kind = _KINDS.get(p.annotation and _text(p.annotation))
            if kind not in ('int', 'float'):
                self.refuse(tree, f"the parameter '{p.arg}' must be marked as int or float")
            params.append((p.arg, kind))
        result = _KINDS.get(tree.returns and _text(tree.returns), None)
        if result is None:
            self.refuse(tree, 'a kernel returns int, float or None')
        return params, result


def _text(node):
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _constant(kernel, name, value):
    """Return a checked constant: number, function name, or tuple of one of them."""
    if hasattr(value, 'name') and isinstance(value.name, str):        # a Function or Kernel stands for its name
        return value.name
    if hasattr(value, 'tolist'):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        value = tuple(_constant(kernel, name, v) for v in value)
        if all(isinstance(v, str) for v in value) or all(isinstance(v, int) for v in value):
            return value
        if all(isinstance(v, (int, float)) for v in value):
            return tuple(map(float, value))
    elif isinstance(value, (int, float, str)):
        return int(value) if isinstance(value, bool) else value
    raise MbsError(f"kernel '{kernel}': the constant '{name}' must be a number, a function name or a tuple of them")


class _Fold(ast.NodeTransformer):
    """Put the constants in, fold what is known, and drop branches that can't be reached."""

    def __init__(self, kernel):
        self.kernel, self.constants = kernel, kernel.constants

    def block(self, statements):
        """Return the folded statements as a flat list."""
        out = []
        for s in statements:
            new = self.visit(s)
            out.extend(new if isinstance(new, list) else [new])
        return out

    def visit_Name(self, node):
        """Replace the name of a number by the number, of a function by its real name."""
        value = self.constants.get(node.id)
        if isinstance(value, (int, float)):
            return _number(node, value)
        if isinstance(value, str):
            return ast.copy_location(ast.Name(value, ast.Load()), node)
        return node

    def visit_BinOp(self, node):
        """Fold arithmetic on numbers."""
        self.generic_visit(node)
        a, b = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Add) and type(a) is int and a == 0 and isinstance(node.right, (ast.BinOp, ast.Name)):
            return node.right                              # an array at offset 0
        if a is None or b is None or type(node.op) not in _FOLD:
            return node
        try:
            return _number(node, _FOLD[type(node.op)](a, b))
        except ZeroDivisionError:
            self.kernel.refuse(node, 'division by zero')

    def visit_UnaryOp(self, node):
        """Fold signs and negations of numbers."""
        self.generic_visit(node)
        a = _value(node.operand)
        if a is None or isinstance(node.op, ast.Invert):
            return node
        return _number(node, -a if isinstance(node.op, ast.USub) else int(not a) if isinstance(node.op, ast.Not) else a)

    def visit_Compare(self, node):
        """Fold comparisons of numbers."""
        self.generic_visit(node)
        values = [_value(v) for v in (node.left, *node.comparators)]
        if None in values or any(type(o) not in _FOLD for o in node.ops):
            return node
        return _number(node, int(all(_FOLD[type(o)](a, b) for o, a, b in zip(node.ops, values, values[1:]))))

    def visit_BoolOp(self, node):
        """Drop the conditions that are known."""
        stop, rest = isinstance(node.op, ast.Or), []
        for v in node.values:
            v = self.visit(v)
            known = _value(v)
            if known is None:
                rest.append(v)
            elif bool(known) == stop:
                if not rest:
                    return _number(node, int(stop))
                rest.append(ast.copy_location(ast.Compare(_number(node, int(stop)), [ast.NotEq()], [_number(node, 0)]), node))
                break
        if len(rest) < 2:
            return rest[0] if rest else _number(node, int(not stop))
        node.values = rest
        return node

    def visit_IfExp(self, node):
        """Keep one side if the condition is known."""
        test = _value(self.visit(node.test))
        if test is None:
            return self.generic_visit(node)
        return self.visit(node.body if test else node.orelse)

    def visit_Subscript(self, node):
        """Look constant places of tables up."""
        self.generic_visit(node)
        table, k = node.value, _value(node.slice)
        if isinstance(table, ast.Name) and isinstance(values := self.constants.get(table.id), tuple) and k is not None:
            if not isinstance(k, int) or not 0 <= k < len(values):
                self.kernel.refuse(node, f"place {k} is outside the table '{table.id}' of {len(values)}")
            if isinstance(values[k], str):
                return ast.copy_location(ast.Name(values[k], ast.Load()), node)
            return _number(node, values[k])
        return node

    def visit_Call(self, node):
        """Replace len(TABLE), float(number) and int(number)."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            a, f = node.args[0], node.func.id
            if f == 'len' and isinstance(a, ast.Name) and a.id in self.kernel.tables:
                return _number(node, len(self.constants[a.id]))
            if f in ('float', 'int') and _value(a) is not None:
                return _number(node, float(_value(a)) if f == 'float' else int(_value(a)))
        return node

    def visit_If(self, node):
        """Keep only the branch that can be reached."""
        node.test = self.visit(node.test)
        test = _value(node.test)
        if test is not None:
            return self.block(node.body if test else node.orelse)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node):
        """Drop a loop that never runs."""
        node.test = self.visit(node.test)
        node.body = self.block(node.body)
        return [] if _value(node.test) == 0 and not node.orelse else node

    def visit_For(self, node):
        """Drop a loop over an empty constant range."""
        node.iter = self.visit(node.iter)
        bounds = [_value(a) for a in node.iter.args] if isinstance(node.iter, ast.Call) else [None]
        if bounds and all(isinstance(b, int) for b in bounds) and getattr(node.iter.func, 'id', '') == 'range' \
                and (len(bounds) < 3 or bounds[2]) and not range(*bounds):
            return []
        node.body = self.block(node.body)
        return node


def _value(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _number(node, value):
    return ast.copy_location(ast.Constant(value), node)
