"""Straight-line functions as textual LLVM IR, for one state or for several states side by side (lanes).

The text is built without any intermediate form: 30 000 nodes take a tenth of a second. Products and sums carry
`contract`, so that they become fused multiply-adds; nothing else is relaxed, so NaN and infinity behave.
Sines and cosines of angles that are known at the start of a chunk are computed several at once.
"""

from mbs_core.symbolic.expr import Expr
from mbs_core.symbolic.printers.kernel_llvm import kernels_ir
from mbs_core.symbolic.printers.trig import SinCos, number, splat, suffix, vector_type

_BINARY = {'add': 'fadd contract', 'sub': 'fsub contract', 'mul': 'fmul contract', 'div': 'fdiv'}
_LIBM = {'exp': 1, 'log': 1, 'tanh': 1, 'atan': 1, 'atan2': 2, 'pow': 2}
_INTRINSIC = {'sqrt': 'sqrt', 'abs': 'fabs'}
GROUP = 4          # angles per vector: 2 and 8 are slower on small models (measured with 6 and 20 joints)


def emit(program, lanes: int = 0, fused: bool = True) -> str:
    """Return a finished program as LLVM IR text, for reading: functions, their versions for `lanes` states, kernels."""
    parts = [straight_ir(program, 1, fused)]
    if lanes:
        parts.append(straight_ir(program, lanes, fused))
    if program.kernels:
        parts.append(kernels_ir(program))
    return '\n; ----\n'.join(parts)


def straight_ir(program, lanes: int = 1, fused: bool = True, only=None) -> str:
    """Return the IR of all straight-line functions (or those named in `only`), on `lanes` interleaved states."""
    printer = _Printer(program, lanes, fused)
    for f in program.functions:
        if only is None or f.name in only:
            printer.function(f)
    return printer.text()


class _Printer:
    """Writes functions one after the other; keeps what they share."""

    def __init__(self, program, lanes, fused):
        self.lanes, self.fused = lanes, fused
        self.type = vector_type(lanes)
        self.spill = program.layout.offset('spill')
        self.total = program.layout.total
        self.tail = '' if lanes == 1 else f'_x{lanes}'
        self.declared = {}
        self.sincos = {}
        self.constants = {}
        self.out = []

    def outside(self, name, result, kinds):
        """Declare a function from outside and return the constant that points to it.

        Calls go through a pointer of our own: absolute, where a direct call might reach too far for the small code
        model, and free of the global offset table, which llvmlite's compact memory manager can't provide.
        """
        pointer = f'@"to.{name}"'
        self.declared[name] = f'declare {result} @{name}({kinds})'
        self.declared[pointer] = f'{pointer} = internal constant ptr @{name}'
        return pointer

    def text(self):
        """Return all functions and the declarations they need."""
        used = [*self.declared.values(), *(s.declaration for s in self.sincos.values())]
        return '\n'.join([*self.out, *sorted(set(used)), 'attributes #0 = { nounwind }', '!0 = !{}', ''])

    def trig(self, width):
        """Return the sine and cosine writer for `width` angles."""
        if width not in self.sincos:
            self.sincos[width] = SinCos(width, self.fused)
        return self.sincos[width]

    def constant(self, value):
        """Return the text of a number, in every lane."""
        text = self.constants.get(value)
        if text is None:
            text = self.constants[value] = splat(number(value), self.lanes)
        return text

    def function(self, f):
        """Append one function: its chunks, and the entry that calls them."""
        plan, name = f.schedule, f.name + self.tail
        if len(plan.chunks) == 1:
            self.out.append(f'define dso_local void @{name}(ptr %0) #0 {{\nentry:')
            _Body(self, plan, 0).write()
            return
        entry = []
        for k in range(len(plan.chunks)):
            self.out.append(f'define internal void @{name}.{k}(ptr %0) #0 {{\nentry:')
            _Body(self, plan, k).write()
            entry.append(f'  call void @{name}.{k}(ptr %0)')
        self.out += [f'define dso_local void @{name}(ptr %0) #0 {{\nentry:', *entry, '  ret void\n}']


class _Body:
    """Writes the lines of one chunk; registers are numbered, which parses fastest."""

    def __init__(self, printer, plan, k):
        self.p, self.plan, self.chunk = printer, plan, plan.chunks[k]
        self.last = k == len(plan.chunks) - 1
        self.lines = printer.out
        self.n = 1
        self.names = {}            # node -> register or constant
        self.give = self.chunk.give

    def put(self, instruction):
        """Append an instruction and return its register."""
        name = f'%{self.n}'
        self.n += 1
        self.lines.append(f'{name} = {instruction}')
        return name

    def address(self, at):
        """Return the register that points to x[at]."""
        if at == 0:
            return '%0'
        return self.put(f'getelementptr inbounds double, ptr %0, i64 {at * self.p.lanes}')

    def load(self, at, kind=None):
        """Load x[at]; what this function never stores may be loaded at any time, even twice."""
        free = '' if at in self.plan.written else ', !invariant.load !0'
        return self.put(f'load {kind or self.p.type}, ptr {self.address(at)}, align 8{free}')

    def store(self, at, value, kind=None):
        """Store a register to x[at]."""
        pointer = self.address(at)
        self.lines.append(f'store {kind or self.p.type} {value}, ptr {pointer}, align 8')

    def write(self):
        """Write the chunk: early sines and cosines, operations in order, late stores."""
        if self.p.lanes == 1:
            self.early()
        names, value, put, simple = self.names, self.value, self.put, _BINARY
        now, give, kind = self.plan.now, self.give, self.p.type
        for e in self.chunk.ops:
            if e in names:
                continue
            instruction = simple.get(e.op)
            if instruction is not None:            # nine nodes of ten
                a, b = e.args
                a = names.get(a) or value(a)
                b = names.get(b) or value(b)
                names[e] = put(f'{instruction} {kind} {a}, {b}')
            else:
                self.other(e)
                continue
            if e in now or e in give:
                self.known(e)
        if self.last:
            late = [(at, value(v) if type(v) is Expr else self.p.constant(v)) for at, v in self.plan.late]
            for at, v in late:
                self.store(at, v)
        self.lines.append('ret void\n}')

    def known(self, e):
        """Store the value of `e` where it is an output or later chunks look for it."""
        for at in self.plan.now.get(e, ()):
            self.store(at, self.names[e])
        if e in self.give:
            self.store(self.p.spill + self.give[e], self.names[e])

    def value(self, e):
        """Return the register or constant that holds `e`, loading or writing it first if necessary."""
        name = self.names.get(e)
        if name is not None:
            return name
        op = e.op
        if op == 'const':
            name = self.p.constant(e.data)
        elif e in self.plan.leaves:
            name = self.load(self.plan.leaves[e])
        elif op == 'neg':
            name = self.put(f'fneg {self.p.type} {self.value(e.args[0])}')
        elif op in ('lt', 'le'):
            a, b = map(self.value, e.args)
            name = self.put(f'fcmp {"olt" if op == "lt" else "ole"} {self.p.type} {a}, {b}')
        elif e in self.plan.slots and e not in self.give:
            name = self.load(self.p.spill + self.plan.slots[e])
        elif op in _BINARY:                        # an early angle, ahead of its turn
            a, b = map(self.value, e.args)
            name = self.names[e] = self.put(f'{_BINARY[op]} {self.p.type} {a}, {b}')
            self.known(e)
        else:
            raise AssertionError(f'{op} used before it is computed')
        self.names[e] = name
        return name

    def other(self, e):
        """Write an operation that is not plain arithmetic."""
        op, t, put = e.op, self.p.type, self.put
        if op in ('sin', 'cos'):
            pair = self.plan.pairs[e.args[0]]
            x = self.value(e.args[0])
            for node, name in zip(pair, self.p.trig(self.p.lanes).emit(put, x, *(n is not None for n in pair))):
                if node is not None:
                    self.names[node] = name
                    self.known(node)
            return
        if op == 'call':
            self.call(e)
            return
        args = [self.value(a) for a in e.args]
        if op == 'select':
            name = put(f'select {vector_type(self.p.lanes, "i1")} {args[0]}, {t} {args[1]}, {t} {args[2]}')
        elif op in ('min', 'max'):                 # as in Python: the first unless the second is smaller (larger), so
            # a NaN in the first place stays and one in the second is passed over
            c = put(f'fcmp {"olt" if op == "min" else "ogt"} {t} {args[1]}, {args[0]}')
            name = put(f'select {vector_type(self.p.lanes, "i1")} {c}, {t} {args[1]}, {t} {args[0]}')
        elif op in _INTRINSIC:
            f = f'@llvm.{_INTRINSIC[op]}.{suffix(self.p.lanes)}'
            self.p.declared[f] = f'declare {t} {f}({t})'
            name = put(f'call {t} {f}({t} {args[0]})')
        else:
            name = self.libm(op, args)
        self.names[e] = name
        self.known(e)

    def libm(self, op, args):
        """Call the C library, lane by lane."""
        pointer = self.p.outside(op, 'double', ', '.join(['double'] * _LIBM[op]))
        f = self.put(f'load ptr, ptr {pointer}, align 8')
        lanes = self.p.lanes
        if lanes == 1:
            return self.put(f'call double {f}({", ".join("double " + a for a in args)})')
        whole = 'poison'
        for k in range(lanes):
            parts = [self.put(f'extractelement {self.p.type} {a}, i32 {k}') for a in args]
            one = self.put(f'call double {f}({", ".join("double " + a for a in parts)})')
            whole = self.put(f'insertelement {self.p.type} {whole}, double {one}, i32 {k}')
        return whole

    def call(self, e):
        """Call an external `void f(const double *in, double *out)`, once per lane."""
        name, count = e.data
        lanes, t = self.p.lanes, self.p.type
        f = self.put(f'load ptr, ptr {self.p.outside(name, "void", "ptr, ptr")}, align 8')
        args = [self.value(a) for a in e.args]
        given = self.put(f'alloca [{len(args)} x double], align 8')
        taken = self.put(f'alloca [{count} x double], align 8')
        used = self.plan.results[e]
        whole = {r: 'poison' for r in used}
        for k in range(lanes):
            for j, a in enumerate(args):
                one = a if lanes == 1 else self.put(f'extractelement {t} {a}, i32 {k}')
                at = self.put(f'getelementptr double, ptr {given}, i64 {j}')
                self.lines.append(f'store double {one}, ptr {at}, align 8')
            self.lines.append(f'call void {f}(ptr {given}, ptr {taken})')
            for r in used:
                at = self.put(f'getelementptr double, ptr {taken}, i64 {r.data}')
                one = self.put(f'load double, ptr {at}, align 8')
                whole[r] = one if lanes == 1 else self.put(f'insertelement {t} {whole[r]}, double {one}, i32 {k}')
        for r in used:
            self.names[r] = whole[r]
            self.known(r)

    # -- sines and cosines of several angles at once ---------------------------------------------
    def early(self):
        """Compute the sines and cosines whose angles are known at the start, GROUP at a time."""
        todo = self.chunk.early
        for k in range(0, len(todo), GROUP):
            group = todo[k:k + GROUP]
            if len(group) == 1:
                continue                           # left to its turn, as a scalar
            width = 2 if len(group) == 2 else GROUP
            x = self.gather([e.args[0] for e in group], width)
            pairs = [self.plan.pairs[e.args[0]] for e in group]
            wanted = [any(p[j] is not None for p in pairs) for j in (0, 1)]
            both = self.p.trig(width).emit(self.put, x, *wanted)
            for lane, pair in enumerate(pairs):
                for node, vector in zip(pair, both):
                    if node is not None:
                        self.names[node] = self.put(
                            f'extractelement {vector_type(width)} {vector}, i32 {lane}')
                        self.known(node)

    def gather(self, angles, width):
        """Return one vector of the angles: a single load if they are neighbours in x."""
        at = [self.plan.leaves.get(a) for a in angles]
        if at[0] is not None and at == list(range(at[0], at[0] + len(at))) and at[0] + width <= self.p.total \
                and not self.plan.written.intersection(range(at[0], at[0] + width)):
            return self.load(at[0], vector_type(width))
        t, whole = vector_type(width), 'poison'
        names = [self.value(a) for a in angles]
        for lane in range(width):                  # spare lanes repeat the last angle
            whole = self.put(f'insertelement {t} {whole}, double {names[min(lane, len(names) - 1)]}, i32 {lane}')
        return whole
