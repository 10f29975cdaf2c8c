"""Kernels as textual LLVM IR: variables in memory, left to the optimiser to put into registers."""

import ast

from mbs_core.symbolic.printers.trig import number

TYPE = {'int': 'i64', 'float': 'double', 'bool': 'i1', 'void': 'void', 'block': 'ptr'}
_FLOAT = {ast.Add: 'fadd contract', ast.Sub: 'fsub contract', ast.Mult: 'fmul contract', ast.Div: 'fdiv'}
_INT = {ast.Add: 'add nsw', ast.Sub: 'sub nsw', ast.Mult: 'mul nsw'}
_COMPARE = {ast.Lt: ('olt', 'slt'), ast.LtE: ('ole', 'sle'), ast.Gt: ('ogt', 'sgt'), ast.GtE: ('oge', 'sge'),
            ast.Eq: ('oeq', 'eq'), ast.NotEq: ('une', 'ne')}
_INTRINSICS = '\n'.join(('declare double @llvm.sqrt.f64(double)', 'declare double @llvm.fabs.f64(double)',
                         'declare i64 @llvm.abs.i64(i64, i1)'))

_ATTRIBUTES = 'attributes #0 = { nounwind "no-builtins" }'      # short loops stay loops, never calls of memset or memcpy


def kernels_ir(program) -> str:
    """Return the IR of all kernels, with declarations of the straight-line functions they call."""
    signatures = program.signatures()
    defined = {k.name for k in program.kernels}
    called = {name for k in program.kernels for name in k.calls} - defined
    out = [_table(k, name) for k in program.kernels for name in k.used_tables]
    out += [_KernelBody(k, signatures).text() for k in program.kernels]
    out += [f'declare dso_local void @{name}(ptr) #0' for name in sorted(called)]
    return '\n'.join([*out, _INTRINSICS, _ATTRIBUTES, ''])


def _table(kernel, name):
    values = kernel.tables[name]
    kind = {str: 'ptr', int: 'i64', float: 'double'}[type(values[0])]
    text = {'ptr': lambda v: f'@{v}', 'i64': str, 'double': number}[kind]
    items = ', '.join(f'{kind} {text(v)}' for v in values)
    return f'@{kernel.name}.{name} = internal constant [{len(values)} x {kind}] [{items}]'


class _KernelBody:
    """Writes one kernel, statement by statement."""

    def __init__(self, kernel, signatures):
        self.k, self.signatures = kernel, signatures
        self.lines = []
        self.n = self.labels = 0
        self.exits = []                            # (where continue goes, where break goes)
        self.open = True                           # whether the current block still lacks its end

    def text(self):
        """Return the function."""
        k = self.k
        head = ', '.join(f'{TYPE[kind]} %p.{name}' for name, kind in k.params)
        self.lines = [f'define dso_local {TYPE[k.result]} @{k.name}({head}) #0 {{', 'entry:']
        for name, kind in sorted(k.kinds.items()):
            self.lines.append(f'%v.{name} = alloca {TYPE[kind]}')
            start = f'%p.{name}' if (name, kind) in k.params else '0' if kind == 'int' else number(0.0)
            self.lines.append(f'store {TYPE[kind]} {start}, ptr %v.{name}')
        self.block(k.body)
        if self.open:
            self.end('ret void' if k.result == 'void' else f'ret {TYPE[k.result]} {"0" if k.result == "int" else number(0.0)}')
        return '\n'.join(self.lines) + '\n}'

    def put(self, instruction):
        """Append an instruction and return its register."""
        self.n += 1
        self.lines.append(f'%t{self.n} = {instruction}')
        return f'%t{self.n}'

    def label(self):
        """Return a new label."""
        self.labels += 1
        return f'L{self.labels}'

    def end(self, instruction):
        """End the current block."""
        if self.open:
            self.lines.append(instruction)
            self.open = False

    def start(self, label):
        """Start the block `label`, falling into it from the current one."""
        self.end(f'br label %{label}')
        self.lines.append(f'{label}:')
        self.open = True

    # -- statements ------------------------------------------------------------------------------
    def block(self, statements):
        """Write the statements; what follows a jump can't be reached and is left out."""
        for s in statements:
            if not self.open:
                return
            getattr(self, 'do_' + type(s).__name__)(s)

    def do_Pass(self, s):
        """Write nothing."""

    def do_Expr(self, s):
        """Write a call."""
        if isinstance(s.value, ast.Call):
            self.value(s.value)

    def do_Assign(self, s):
        """Write `target = value`."""
        self.assign(s.targets[0], s.value)

    def do_AnnAssign(self, s):
        """Write `target: kind = value`."""
        self.assign(s.target, s.value)

    def do_AugAssign(self, s):
        """Write `target op= value`."""
        self.assign(s.target, s.whole)

    def assign(self, target, node):
        """Store to a variable or to x[...]."""
        if isinstance(target, ast.Name):
            kind = self.k.kinds[target.id]
            self.lines.append(f'store {TYPE[kind]} {self.value(node, kind)}, ptr %v.{target.id}')
        else:
            value = self.value(node, 'float')
            self.lines.append(f'store double {value}, ptr {self.place(target)}, align 8')

    def do_Return(self, s):
        """Write a return."""
        if s.value is None:
            self.end('ret void')
        else:
            self.end(f'ret {TYPE[self.k.result]} {self.value(s.value, self.k.result)}')

    def do_Break(self, s):
        """Leave the loop."""
        self.end(f'br label %{self.exits[-1][1]}')

    def do_Continue(self, s):
        """Go on with the next round."""
        self.end(f'br label %{self.exits[-1][0]}')

    def do_If(self, s):
        """Write both branches."""
        yes, no, after = self.label(), self.label(), self.label()
        self.branch(s.test, yes, no if s.orelse else after)
        self.start(yes)
        self.block(s.body)
        self.end(f'br label %{after}')
        if s.orelse:
            self.start(no)
            self.block(s.orelse)
        self.start(after)

    def do_While(self, s):
        """Write a loop with its test in front."""
        head, body, after = self.label(), self.label(), self.label()
        self.start(head)
        self.branch(s.test, body, after)
        self.rounds(body, s.body, head, after)
        self.end(f'br label %{head}')
        self.start(after)

    def rounds(self, label, body, again, after):
        """Write the body of a loop."""
        self.start(label)
        self.exits.append((again, after))
        self.block(body)
        self.exits.pop()

    def do_For(self, s):
        """Write a counted loop; its bounds are evaluated once."""
        a = s.iter.args
        first = self.value(a[0], 'int') if len(a) > 1 else '0'
        stop = self.value(a[1] if len(a) > 1 else a[0], 'int')
        step = a[2].value if len(a) > 2 else 1
        variable = f'%v.{s.target.id}'
        head, body, again, after = (self.label() for _ in range(4))
        self.lines.append(f'store i64 {first}, ptr {variable}')
        self.start(head)
        test = self.put(f'icmp {"slt" if step > 0 else "sgt"} i64 {self.put(f"load i64, ptr {variable}")}, {stop}')
        self.end(f'br i1 {test}, label %{body}, label %{after}')
        self.rounds(body, s.body, again, after)
        self.start(again)
        more = self.put(f'add nsw i64 {self.put(f"load i64, ptr {variable}")}, {step}')
        self.lines.append(f'store i64 {more}, ptr {variable}')
        self.end(f'br label %{head}')
        self.start(after)

    # -- expressions -----------------------------------------------------------------------------
    def value(self, node, wanted=None):
        """Write an expression and return its register, converted to the wanted type."""
        text, kind = getattr(self, 'of_' + type(node).__name__)(node), node.kind
        if wanted in (None, kind):
            return text
        if wanted == 'bool':
            return self.put(f'icmp ne i64 {text}, 0')
        if kind == 'bool':
            return self.put(f'zext i1 {text} to i64') if wanted == 'int' else self.put(f'uitofp i1 {text} to double')
        if isinstance(node, ast.Constant):
            return number(float(node.value))
        return self.put(f'sitofp i64 {text} to double')

    def branch(self, node, yes, no):
        """Jump by a condition, evaluating only what decides it."""
        if isinstance(node, ast.BoolOp):
            for v in node.values[:-1]:
                on = self.label()
                self.branch(v, *((on, no) if isinstance(node.op, ast.And) else (yes, on)))
                self.start(on)
            self.branch(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.Constant):
            self.end(f'br label %{yes if node.value else no}')
        else:
            self.end(f'br i1 {self.value(node, "bool")}, label %{yes}, label %{no}')

    def of_Constant(self, node):
        """A number."""
        return str(node.value) if node.kind == 'int' else number(node.value)

    def of_Name(self, node):
        """A variable."""
        return self.put(f'load {TYPE[node.kind]}, ptr %v.{node.id}')

    def of_BinOp(self, node):
        """Arithmetic; // and % round down as in Python."""
        kind = node.kind
        a, b = self.value(node.left, kind), self.value(node.right, kind)
        table = _FLOAT if kind == 'float' else _INT
        if type(node.op) in table:
            return self.put(f'{table[type(node.op)]} {TYPE[kind]} {a}, {b}')
        rest = self.put(f'srem i64 {a}, {b}')
        differ = self.put(f'icmp slt i64 {self.put(f"xor i64 {rest}, {b}")}, 0')
        down = self.put(f'and i1 {self.put(f"icmp ne i64 {rest}, 0")}, {differ}')
        if isinstance(node.op, ast.Mod):
            return self.put(f'add i64 {rest}, {self.put(f"select i1 {down}, i64 {b}, i64 0")}')
        return self.put(f'sub i64 {self.put(f"sdiv i64 {a}, {b}")}, {self.put(f"zext i1 {down} to i64")}')

    def of_UnaryOp(self, node):
        """A sign or a negation."""
        if isinstance(node.op, ast.Not):
            test = self.truth(node.operand)
            return self.put(f'xor i1 {test}, true')
        a = self.value(node.operand, node.kind)
        if isinstance(node.op, ast.UAdd):
            return a
        return self.put(f'fneg double {a}' if node.kind == 'float' else f'sub nsw i64 0, {a}')

    def truth(self, node):
        """Return the condition as one bit."""
        return self.value(node, 'bool') if node.kind != 'float' else self.put(f'fcmp une double {self.value(node)}, 0.0')

    def of_BoolOp(self, node):
        """Conditions used as a value."""
        return self.choose(node, 'bool', ('true', 'false'))

    def of_IfExp(self, node):
        """One of two values; only the chosen side is evaluated."""
        return self.choose(node.test, node.kind, (node.body, node.orelse))

    def choose(self, test, kind, sides):
        """Write a branch that leaves one of two values."""
        room = f'%c{self.label()}'
        self.lines.insert(2, f'{room} = alloca {TYPE[kind]}')
        yes, no, after = self.label(), self.label(), self.label()
        self.branch(test, yes, no)
        for label, side in ((yes, sides[0]), (no, sides[1])):
            self.start(label)
            value = side if isinstance(side, str) else self.value(side, kind)
            self.lines.append(f'store {TYPE[kind]} {value}, ptr {room}')
            self.end(f'br label %{after}')
        self.start(after)
        return self.put(f'load {TYPE[kind]}, ptr {room}')

    def of_Compare(self, node):
        """A comparison; a chain is an and of its links, every operand evaluated once."""
        nodes = (node.left, *node.comparators)
        kind = 'float' if any(v.kind == 'float' for v in nodes) else 'int'
        values = [self.value(v, kind) for v in nodes]
        whole = None
        for op, a, b in zip(node.ops, values, values[1:]):
            f, i = _COMPARE[type(op)]
            one = self.put(f'fcmp {f} double {a}, {b}' if kind == 'float' else f'icmp {i} i64 {a}, {b}')
            whole = one if whole is None else self.put(f'and i1 {whole}, {one}')
        return whole

    def place(self, node):
        """Return the address of x[...] or TABLE[...]."""
        k, name = self.value(node.slice, 'int'), node.value.id
        if name == 'x':
            return self.put(f'getelementptr inbounds double, ptr %p.x, i64 {k}')
        kind = {str: 'ptr', int: 'i64', float: 'double'}[type(self.k.tables[name][0])]
        return self.put(f'getelementptr inbounds {kind}, ptr @{self.k.name}.{name}, i64 {k}')

    def of_Subscript(self, node):
        """A load."""
        return self.put(f'load {TYPE[node.kind]}, ptr {self.place(node)}, align 8')

    def of_Call(self, node):
        """A built-in or a function of the program."""
        f = node.func
        if isinstance(f, ast.Subscript):
            pointer = self.put(f'load ptr, ptr {self.place(f)}, align 8')
            self.lines.append(f'call void {pointer}(ptr %p.x) #0')
            return ''
        if f.id in self.signatures:
            result, *kinds = self.signatures[f.id]
            args = ['ptr %p.x', *(f'{TYPE[w]} {self.value(a, w)}' for a, w in zip(node.args[1:], kinds))]
            call = f'call {TYPE[result]} @{f.id}({", ".join(args)})'
            return self.lines.append(call) or '' if result == 'void' else self.put(call)
        return getattr(self, 'call_' + f.id)(node, *node.args)

    def call_abs(self, node, a):
        """|a|."""
        v = self.value(a, node.kind)
        return self.put(f'call double @llvm.fabs.f64(double {v})' if node.kind == 'float'
                        else f'call i64 @llvm.abs.i64(i64 {v}, i1 false)')

    def call_sqrt(self, node, a):
        """The square root."""
        return self.put(f'call double @llvm.sqrt.f64(double {self.value(a, "float")})')

    def call_isfinite(self, node, a):
        """Neither NaN nor infinite."""
        size = self.put(f'call double @llvm.fabs.f64(double {self.value(a, "float")})')
        return self.put(f'fcmp olt double {size}, {number(float("inf"))}')

    def call_float(self, node, a):
        """An int as a float."""
        return self.value(a, 'float')

    def call_int(self, node, a):
        """A float rounded towards zero."""
        return self.put(f'fptosi double {self.value(a)} to i64') if a.kind == 'float' else self.value(a, 'int')

    def extreme(self, node, args, below):
        """The first argument unless a later one is smaller (larger), as in Python."""
        t, best = TYPE[node.kind], None
        for a in args:
            v = self.value(a, node.kind)
            if best is None:
                best = v
                continue
            f, i = _COMPARE[ast.Lt if below else ast.Gt]
            test = self.put(f'fcmp {f} double {v}, {best}' if node.kind == 'float' else f'icmp {i} i64 {v}, {best}')
            best = self.put(f'select i1 {test}, {t} {v}, {t} {best}')
        return best

    def call_min(self, node, *args):
        """The smallest."""
        return self.extreme(node, args, True)

    def call_max(self, node, *args):
        """The largest."""
        return self.extreme(node, args, False)
