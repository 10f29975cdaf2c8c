"""Types of a kernel's variables and expressions, and the refusal of everything outside the subset.

Every expression node of the tree gets an attribute `kind`: 'int', 'float' or 'bool'. A variable is an int if it
only ever gets ints, else a float.
"""

import ast

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)
_COMPARISON = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
BUILTINS = ('abs', 'sqrt', 'min', 'max', 'isfinite', 'float', 'int')


class Types:
    """One pass over a kernel, repeated until the types stand still."""

    def __init__(self, kernel, signatures):
        self.kernel, self.signatures = kernel, signatures
        self.kinds = dict(kernel.params[1:])
        self.fixed = set(self.kinds)
        self.final = False
        self.changed = True
        self.loops = []                    # loop variables in force, outermost first
        self.past_loops = set()            # a loop variable lives in its loops only: C leaves another value in it
        self.depth = 0

    def run(self):
        """Settle the types, then check every line and mark every expression."""
        k = self.kernel
        while self.changed:
            self.changed = False
            self.block(k.body)
        self.final = True
        k.calls, k.used_tables = set(), []
        self.block(k.body)
        k.kinds = self.kinds
        if k.result != 'void' and not (k.body and _ends(k.body[-1])):
            k.refuse(k.original, f'a kernel that returns {k.result} must end with a return')

    def refuse(self, node, reason):
        """Raise the error that names the line."""
        self.kernel.refuse(node, reason)

    # -- statements ------------------------------------------------------------------------------
    def block(self, statements):
        """Check each statement."""
        for s in statements:
            method = getattr(self, 'do_' + type(s).__name__, None)
            if method is None:
                self.refuse(s, f'{type(s).__name__.lower()} is not part of the kernel language')
            method(s)
            if self.final:
                for node in (getattr(s, 'whole', None) or getattr(s, 'value', None), getattr(s, 'test', None)):
                    if node is not None:
                        self.order(node)

    def order(self, node):
        """Refuse what depends on the order in which operands are evaluated: C leaves that open."""
        if isinstance(node, (ast.BoolOp, ast.IfExp)):
            for part in node.values if isinstance(node, ast.BoolOp) else (node.test, node.body, node.orelse):
                self.order(part)
            return
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and getattr(n.func, 'id', '') not in BUILTINS]
        if not calls:
            return
        inside = {id(n) for n in ast.walk(calls[0])}
        loads = [n for n in ast.walk(node) if id(n) not in inside and isinstance(n, ast.Subscript)
                 and getattr(n.value, 'id', '') == 'x']
        chained = any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in ast.walk(node))
        if len(calls) > 1 or loads or chained:
            self.refuse(node, 'a call that may change x stands in a line of its own: keep its result in a variable, '
                              'apart from other calls and loads of x')

    def do_Pass(self, s):
        """Accept it."""

    def do_Expr(self, s):
        """Accept a docstring or a call."""
        if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
            return
        if not isinstance(s.value, ast.Call):
            self.refuse(s, 'a statement that does nothing')
        self.kind(s.value, allow_void=True)

    def do_Assign(self, s):
        """Set a variable or a place of x."""
        if len(s.targets) != 1:
            self.refuse(s, 'assign to one name at a time')
        self.assign(s.targets[0], self.kind(s.value), s)

    def do_AnnAssign(self, s):
        """Set a variable whose type is given."""
        kind = getattr(s.annotation, 'id', None)
        if kind not in ('int', 'float') or s.value is None or not isinstance(s.target, ast.Name):
            self.refuse(s, 'a marked variable is int or float and gets a value')
        self.assign(s.target, self.kind(s.value), s)
        if kind == 'float' and self.kinds.get(s.target.id) == 'int':
            self.kinds[s.target.id], self.changed = 'float', True
        if kind == 'int' and self.final and self.kinds[s.target.id] != 'int':
            self.refuse(s, f"'{s.target.id}' is marked as int but gets a float")

    def do_AugAssign(self, s):
        """Update a variable or a place of x."""
        read = ast.copy_location(_as_load(s.target), s.target)
        whole = ast.copy_location(ast.BinOp(read, s.op, s.value), s)
        self.assign(s.target, self.kind(whole), s)
        s.whole = whole                    # printers that know no augmented assignment take this

    def do_For(self, s):
        """Check a loop over range(...)."""
        call = s.iter
        if not (isinstance(call, ast.Call) and getattr(call.func, 'id', '') == 'range' and 1 <= len(call.args) <= 3
                and not call.keywords and isinstance(s.target, ast.Name)) or s.orelse:
            self.refuse(s, 'a for loop goes over range(...) with one variable and has no else')
        for a in call.args:
            if self.kind(a) not in ('int', None):
                self.refuse(s, 'range needs whole numbers')
        if len(call.args) == 3 and not (isinstance(call.args[2], ast.Constant) and call.args[2].value):
            self.refuse(s, 'the step of a range is a constant other than 0')
        name = s.target.id
        if name in self.loops or name in self.fixed:
            self.refuse(s, f"'{name}' is in use: choose another loop variable")
        self.join(name, 'int', s)
        self.loops.append(name)
        self.depth += 1
        self.block(s.body)
        self.depth -= 1
        self.loops.pop()
        self.past_loops.add(name)

    def do_While(self, s):
        """Check a while loop."""
        if s.orelse:
            self.refuse(s, 'a while loop has no else here')
        self.condition(s.test)
        self.depth += 1
        self.block(s.body)
        self.depth -= 1

    def do_If(self, s):
        """Check both branches."""
        self.condition(s.test)
        self.block(s.body)
        self.block(s.orelse)

    def do_Break(self, s):
        """Accept it inside a loop."""
        if not self.depth:
            self.refuse(s, 'break and continue belong into a loop')

    do_Continue = do_Break

    def do_Return(self, s):
        """Check the value against the declared result."""
        result = self.kernel.result
        if (s.value is None) != (result == 'void'):
            self.refuse(s, f'the kernel is declared to return {"nothing" if result == "void" else result}')
        if s.value is not None:
            kind = self.kind(s.value)
            if self.final and result == 'int' and kind == 'float':
                self.refuse(s, 'the kernel is declared to return int but this is a float')

    def assign(self, target, kind, node):
        """Check a target and join the type of its variable."""
        if isinstance(target, ast.Name):
            if target.id == 'x' or target.id in self.loops:
                self.refuse(node, f"'{target.id}' can't be assigned to here")
            self.join(target.id, 'int' if kind == 'bool' else kind, node)
        elif isinstance(target, ast.Subscript) and getattr(target.value, 'id', '') == 'x':
            self.kind(target)
        else:
            self.refuse(node, 'assign to a name or to x[...]')

    def join(self, name, kind, node):
        """Widen the type of a variable to hold `kind` as well."""
        old = self.kinds.get(name)
        if kind is None or old == kind or old == 'float':
            return
        if name in self.fixed:
            self.refuse(node, f"the parameter '{name}' is an int and can't hold a float")
        self.kinds[name], self.changed = kind, True

    def condition(self, node):
        """Check what decides an if or while."""
        if self.kind(node) == 'float':
            self.refuse(node, 'a condition is a comparison, not a float')

    # -- expressions -----------------------------------------------------------------------------
    def kind(self, node, allow_void=False):
        """Return and mark the type of an expression; None while it isn't known yet."""
        method = getattr(self, 'of_' + type(node).__name__, None)
        if method is None:
            self.refuse(node, f'{type(node).__name__.lower()} is not part of the kernel language')
        node.kind = kind = method(node)
        if kind is None and self.final:
            self.refuse(node, f"'{ast.unparse(node)}' has no value: assign to it first")
        if kind == 'void' and not allow_void:
            self.refuse(node, f"'{ast.unparse(node)}' returns nothing")
        return kind

    def of_Constant(self, node):
        """int or float."""
        if isinstance(node.value, bool):
            node.value = int(node.value)
        if not isinstance(node.value, (int, float)):
            self.refuse(node, 'only numbers can stand in a kernel')
        return type(node.value).__name__

    def of_Name(self, node):
        """The type of a variable."""
        if node.id == 'x' or node.id in self.kernel.tables:
            self.refuse(node, f"'{node.id}' can only be indexed")
        if node.id in self.past_loops and node.id not in self.loops:
            self.refuse(node, f"the loop variable '{node.id}' is used after its loop: copy it to another name first")
        if self.final and node.id not in self.kinds:
            self.refuse(node, f"the name '{node.id}' is neither a variable nor a given constant")
        return self.kinds.get(node.id)

    def of_BinOp(self, node):
        """Arithmetic."""
        a, b = self.kind(node.left), self.kind(node.right)
        if isinstance(node.op, ast.Div):
            return 'float'
        if isinstance(node.op, _ARITHMETIC):
            return 'float' if 'float' in (a, b) else None if None in (a, b) else 'int'
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            if 'float' in (a, b):
                self.refuse(node, '// and % need whole numbers')
            return 'int'
        self.refuse(node, f"the operator of '{ast.unparse(node)}' is not part of the kernel language")

    def of_UnaryOp(self, node):
        """A sign or a negation."""
        a = self.kind(node.operand)
        if isinstance(node.op, ast.Not):
            return 'bool'
        if isinstance(node.op, ast.Invert):
            self.refuse(node, '~ is not part of the kernel language')
        return 'int' if a == 'bool' else a

    def of_BoolOp(self, node):
        """Conditions joined by and, or."""
        for v in node.values:
            if self.kind(v) not in ('bool', None):
                self.refuse(node, 'and, or join comparisons: write n != 0 instead of n')
        return 'bool'

    def of_Compare(self, node):
        """A comparison, possibly chained."""
        if not all(isinstance(o, _COMPARISON) for o in node.ops):
            self.refuse(node, 'compare with < <= > >= == !=')
        for v in (node.left, *node.comparators):
            self.kind(v)
        return 'bool'

    def of_IfExp(self, node):
        """One of two values."""
        self.condition(node.test)
        return _widest([self.kind(node.body), self.kind(node.orelse)])

    def of_Subscript(self, node):
        """A place of x or of a table."""
        name = getattr(node.value, 'id', None)
        if self.kind(node.slice) not in ('int', None):
            self.refuse(node, 'an index is a whole number: wrap it in int(...)')
        if name == 'x':
            return 'float'
        table = self.kernel.tables.get(name)
        if not table or isinstance(table[0], str):
            self.refuse(node, f"'{ast.unparse(node.value)}' can't be indexed: only x and tables of numbers can")
        self.use_table(name)
        return 'int' if isinstance(table[0], int) else 'float'

    def use_table(self, name):
        """Note that the kernel needs a table."""
        if name not in self.kernel.used_tables:
            self.kernel.used_tables.append(name)

    def of_Call(self, node):
        """A built-in, or another function of the program."""
        if node.keywords:
            self.refuse(node, 'give arguments by position')
        f = node.func
        if isinstance(f, ast.Subscript):
            return self.table_call(node)
        name = getattr(f, 'id', None)
        if name in self.signatures:
            self.kernel.calls.add(name)
            return self.program_call(node, name, self.signatures[name])
        if name not in BUILTINS:
            self.refuse(node, f"there is no function '{ast.unparse(f)}' in the program or among {', '.join(BUILTINS)}")
        kinds = [self.kind(a) for a in node.args]
        if not (len(kinds) >= 2 if name in ('min', 'max') else len(kinds) == 1):
            self.refuse(node, f'{name} gets {"two or more arguments" if name in ("min", "max") else "one argument"}')
        if name in ('sqrt', 'float'):
            return 'float'
        return {'int': 'int', 'isfinite': 'bool'}.get(name) or _widest(kinds)

    def program_call(self, node, name, signature):
        """Check the arguments of a call of a function or kernel."""
        if not node.args or getattr(node.args[0], 'id', '') != 'x' or len(node.args) != len(signature):
            self.refuse(node, f"'{name}' gets x and {len(signature) - 1} more arguments")
        for a, wanted in zip(node.args[1:], signature[1:]):
            if self.kind(a) == 'float' and wanted == 'int':
                self.refuse(node, f"'{ast.unparse(a)}' must be an int: wrap it in int(...)")
        return signature[0]

    def table_call(self, node):
        """Check a call through a table of functions."""
        name = getattr(node.func.value, 'id', None)
        table = self.kernel.tables.get(name)
        if not table or not isinstance(table[0], str):
            self.refuse(node, f"'{ast.unparse(node.func.value)}' is no table of functions")
        if self.kind(node.func.slice) not in ('int', None):
            self.refuse(node, 'an index is a whole number')
        for f in table:
            if self.signatures.get(f) != ('void',):
                self.refuse(node, f"'{f}' of table '{name}' must be a function of x alone that returns nothing")
        self.kernel.calls.update(table)
        self.use_table(name)
        return self.program_call(node, name, ('void',))


def _widest(kinds):
    return 'float' if 'float' in kinds else None if None in kinds else 'int'


def _as_load(target):
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(target, ast.Subscript) else target


def _ends(s):
    """Tell whether the statement always returns."""
    if isinstance(s, ast.If):
        return bool(s.body and s.orelse and _ends(s.body[-1]) and _ends(s.orelse[-1]))
    if isinstance(s, ast.While):
        return isinstance(s.test, ast.Constant) and bool(s.test.value)
    return isinstance(s, ast.Return)
