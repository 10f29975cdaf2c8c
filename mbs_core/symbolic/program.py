"""Programs: what the printers turn into code, straight-line functions and kernels on one block of doubles.

Every generated function is `void f(double *x)`. A `Layout` says which part of `x` holds which array. What
depends on parameters only is taken out of all functions and computed by the function `pre`, which has to
be called once after every change of `par`.
"""

from dataclasses import dataclass, field

from mbs_core.errors import MbsError, suggest
from mbs_core.symbolic.expr import Expr
from mbs_core.symbolic.printers.kernel import Kernel
from mbs_core.symbolic.printers.schedule import CHUNK, schedule

_NO_SLOT = ('neg', 'lt', 'le')     # a sign costs nothing where it is used, and a condition is no number


class Layout:
    """Where each named array lies in the one block of doubles `x`."""

    def __init__(self):
        self._place = {}
        self.total = 0
        self.frozen = False

    def add(self, name: str, size: int) -> int:
        """Append the array `name` of `size` doubles and return its offset."""
        if self.frozen:
            raise MbsError(f"the array '{name}' can't be added: the program is finished")
        if name in self._place:
            raise MbsError(f"the array '{name}' is laid out twice: choose another name")
        self._place[name] = (self.total, int(size))
        self.total += int(size)
        return self._place[name][0]

    def _get(self, name):
        try:
            return self._place[name]
        except KeyError:
            raise MbsError(f"there is no array '{name}' in the layout{suggest(name, self._place)}") from None

    def offset(self, name: str) -> int:
        """Return the index in `x` of the first number of the array."""
        return self._get(name)[0]

    def size(self, name: str) -> int:
        """Return the number of doubles in the array."""
        return self._get(name)[1]

    def slice(self, name: str) -> slice:
        """Return the slice of `x` that is the array."""
        offset, size = self._get(name)
        return slice(offset, offset + size)

    def at(self, name: str, index: int) -> int:
        """Return the index in `x` of `name[index]`, refusing an index outside the array."""
        offset, size = self._get(name)
        if not 0 <= index < size:
            raise MbsError(f"index {index} is outside the array '{name}' of {size} numbers")
        return offset + index

    def names(self) -> list:
        """Return the names of the arrays in the order in which they lie."""
        return list(self._place)

    def __contains__(self, name) -> bool:
        return name in self._place


@dataclass
class Function:
    """Straight-line code: every (array, index, value) is stored; all loads see the values before the call."""

    name: str
    stores: list
    schedule: object = field(default=None, repr=False)


class Program:
    """Everything one model needs at run time, ready to be printed as LLVM IR, C or Python."""

    def __init__(self, name: str, layout: Layout, legend: str = ''):
        if not (name.isidentifier() and name.isascii()):
            raise MbsError(f"'{name}' can't name a program: use letters, digits and underscores")
        self.name = name
        self.layout = layout
        self.legend = legend
        self.functions = []
        self.kernels = []
        self.externals = set()     # names of the outside functions, from 'call' nodes
        self.hoisted = {}          # parameter-only node -> its index in the array 'pre'
        self.finished = False

    @property
    def tables(self) -> dict:
        """The constant tables of all kernels: {(kernel, constant): values}."""
        return {(k.name, n): v for k in self.kernels for n, v in k.tables.items()}

    def _claim(self, name):
        if self.finished:
            raise MbsError(f"the function '{name}' can't be added: the program '{self.name}' is finished")
        if not name.isidentifier() or name in ('pre', 'x'):
            raise MbsError(f"'{name}' can't name a generated function: use letters, digits and underscores")
        if any(f.name == name for f in self.functions + self.kernels):
            raise MbsError(f"the program '{self.name}' has two functions named '{name}': choose another name")

    def function(self, name: str, stores) -> Function:
        """Add a straight-line function that stores each (array, index, expression or number)."""
        self._claim(name)
        f = Function(name, [(a, int(i), v) for a, i, v in stores])
        self.functions.append(f)
        return f

    def kernel(self, code, name: str | None = None, **constants) -> Kernel:
        """Add a driver written in the kernel subset of Python: a function, or its source text.

        `constants` gives the values of the names the code uses: numbers, tuples of numbers, the name of a
        function, tuples of names of functions. `name` renames the kernel.
        """
        k = Kernel(code, constants, name)
        self._claim(k.name)
        self.kernels.append(k)
        return k

    def signatures(self) -> dict:
        """Return {name: (result, *argument types after x)}; types 'int', 'float', 'void', or 'external' for outside functions."""
        out = {f.name: ('void',) for f in self.functions}
        out.setdefault('pre', ('void',))
        out.update((name, ('external',)) for name in sorted(self.externals))
        out.update((k.name, k.signature) for k in self.kernels)
        return out

    def finish(self, chunk: int = CHUNK):
        """Take out the parameter-only terms, schedule the functions, check the kernels and freeze the layout.

        Functions of more than `chunk` operations are printed in pieces, which hand values over in 'spill'.
        """
        if self.finished:
            return self
        self.functions.append(Function('pre', self._hoist()))
        self.layout.add('pre', len(self.hoisted))
        spill = 0
        for f in self.functions:
            f.schedule = schedule(f, self, chunk)
            spill = max(spill, f.schedule.spill)
            self.externals |= f.schedule.externals
        self.layout.add('spill', spill)
        self.layout.frozen = self.finished = True
        signatures = {n: s for n, s in self.signatures().items() if s != ('external',)}
        for k in self.kernels:
            k.resolve(signatures)
        return self

    def _hoist(self):
        """Give every largest parameter-only term a slot and return the stores of the function `pre`."""
        seen, hoisted = set(), self.hoisted
        for f in self.functions:
            todo = [v for _, _, v in reversed(f.stores) if type(v) is Expr]
            while todo:
                e = todo.pop()
                if e in seen:
                    continue
                seen.add(e)
                if not e.par or e.op in _NO_SLOT:
                    todo.extend(e.args)
                elif e.args:
                    hoisted[e] = 0
        for k, e in enumerate(sorted(hoisted, key=lambda e: e.id)):      # neighbours in use become neighbours in memory
            hoisted[e] = k
        return sorted((('pre', k, e) for e, k in hoisted.items()), key=lambda s: s[1])
