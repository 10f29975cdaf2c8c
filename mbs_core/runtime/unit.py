"""A unit: some functions of a mechanism compiled together, with the layout of the memory they work on."""

import inspect
import time
from dataclasses import dataclass, field

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.formalism.equations import INFO
from mbs_core.runtime import kernels
from mbs_core.runtime.library import Library, compile_program
from mbs_core.symbolic.analysis import cost
from mbs_core.symbolic.program import Layout, Program

DRIVERS = ('solve_loops', 'forward', 'repartition', 'drive', 'normalise', 'copy', 'move', 'gather', 'rk4', 'euler',
           'displace', 'slopes', 'factor', 'backsolve', 'implicit', 'substep', 'advance')
GAMMA = 1.0 + 0.5 ** 0.5          # L-stable choice for the two-stage Rosenbrock method
MOST, CLOSE, FINE, CLOSED = 12, 1e-7, 2e-14, 1e-9
LOW, POOR = 0.1, 0.02             # quality of a partition: look for a better one; do the step again with another
ROLLED = 24                       # joints from which the mass matrix is computed by a loop over pairs


@dataclass
class Unit:
    """Compiled functions and the layout of their block of doubles; made by `compile_unit` or loaded from the cache."""

    name: str
    places: dict                              # array: (offset, size)
    total: int
    signatures: dict
    library: Library = None
    times: dict = field(default_factory=dict)
    costs: dict = field(default_factory=dict)

    def block(self) -> np.ndarray:
        """Return a new block of doubles, zero, aligned for vector loads."""
        raw = np.zeros(self.total + 8)
        shift = (-raw.ctypes.data // 8) % 8
        return raw[shift:shift + self.total]

    def view(self, x, array) -> np.ndarray:
        """Return the part of a block that holds an array."""
        offset, size = self.places[array]
        return x[offset:offset + size]

    def call(self, function, x, *args):
        """Run a function on a block."""
        return self.library.call(function, x, *args)


def base_layout(m, rows: int, partitions: int = 0, free: int = 0) -> Layout:
    """Return the layout shared by the units of a mechanism; integrator work space only if there are partitions."""
    nq, nv, nz = len(m.positions), len(m.coordinates), len(m.states)
    layout = Layout()
    for array, size in (('time', 1), ('q', nq), ('v', nv), ('vd', nv), ('z', nz), ('zd', nz), ('in', len(m.inputs)),
                        ('tau', nv), ('eff', len(m.driven)), ('info', INFO), ('drv', 6 * len(m.driven)),
                        ('par', len(m.parameters)), ('lam', rows), ('out', len(m.outputs)), ('energy', 2)):
        layout.add(array, size)
    if any(s.startswith('reaction.') for s in m.graph.symbols):
        layout.add('reaction', 6 * (len(m.bodies) - 1))
    if partitions:
        ny = 2 * free + nz
        for array, size in (('qd', nq), ('q0', nq), ('v0', nv), ('z0', nz), ('sq', nq), ('sv', nv), ('sz', nz),
                            ('qual', partitions), ('dy', ny), ('f0', ny), ('f1', ny), ('k1', ny), ('piv', ny),
                            ('jac', ny * ny), ('q1', nq), ('v1', nv), ('z1', nz)):
            layout.add(array, size)
    return layout


def add_drivers(program, m, choices, free):
    """Add the loop solver and the integrators; `free` lists the free independent indices of every partition."""
    at = program.layout.offset
    nf = len(free[0])
    newton = 'newton' if m.loops else 'forward'            # without loops it is never called, but must exist
    balls = tuple(b.coordinates[0].position for b in m.bodies.values() if b.quaternion)
    constants = dict(
        INFO=at('info'), TIME=at('time'), Q=at('q'), V=at('v'), VD=at('vd'), Z=at('z'), ZD=at('zd'), QD=at('qd'),
        Q0=at('q0'), V0=at('v0'), Z0=at('z0'), SQ=at('sq'), SV=at('sv'), SZ=at('sz'), QUAL=at('qual'), DRV=at('drv'),
        DY=at('dy'), F0=at('f0'), F1=at('f1'), K1=at('k1'), PIV=at('piv'), JAC=at('jac'), Q1=at('q1'), V1=at('v1'), Z1=at('z1'),
        NQ=len(m.positions), NV=len(m.coordinates), NZ=len(m.states), ND=len(m.driven), NF=nf, NY=2 * nf + len(m.states),
        NBALL=len(balls), BALLS=balls or (0,), LOOPED=int(bool(m.loops)), PARTITIONS=len(choices), MOST=MOST, CLOSE=CLOSE, FINE=FINE,
        CLOSED=CLOSED, LOW=LOW, POOR=POOR,
        GAMMA=GAMMA, DPOS=tuple(c.position for c in m.driven) or (0,),
        DVEL=tuple(c.index for c in m.driven) or (0,), FREE=tuple(i for f in free for i in f) or (0,),
        NEWTON=tuple(f'{newton}_{k}' for k in range(len(choices))), FORWARD=tuple(f'forward_{k}' for k in range(len(choices))))
    for name in DRIVERS:
        source = inspect.getsource(getattr(kernels, name))
        if name == 'solve_loops' and not m.loops:
            continue
        if name == 'repartition' and len(choices) < 2:
            continue
        program.kernel(source, **{k: v for k, v in constants.items() if k in source})


def new_program(m, layout, legend='') -> Program:
    """Return an empty program for a mechanism."""
    return Program(m.name.replace('.', '_'), layout, legend)


def compile_unit(program, lanes=0) -> Unit:
    """Finish and compile a program."""
    start = time.perf_counter()
    program.finish()
    printed = time.perf_counter()
    library = compile_program(program, lanes=lanes)
    done = time.perf_counter()
    layout = program.layout
    places = {a: (layout.offset(a), layout.size(a)) for a in layout.names()}
    costs = {f.name: cost([s[2] for s in f.stores]) for f in program.functions if f.name != 'pre'}
    costs['pre'] = sum(1 for _ in program.hoisted)
    return Unit(program.name, places, layout.total, program.signatures(), library,
                {'finish_s': printed - start, 'compile_s': done - printed}, costs)


def analysis_program(m, eq, names) -> Program:
    """Return a program of functions for analysis: any of inverse, bias, mass, loops."""
    n, r = len(m.coordinates), len(eq.rows)
    layout = base_layout(m, r)
    sizes = {'inverse': (('Q', n),), 'bias': (('c', n),), 'mass': (('M', n * n),),
             'loops': (('h', r), ('J', r * n), ('gamma', r))}
    program = new_program(m, layout)
    for name in names:
        if name not in sizes:
            raise MbsError(f"there is no analysis function '{name}'; use {', '.join(sizes)}")
        for array, size in sizes[name]:
            layout.add(array, size)
        if name == 'mass' and n > ROLLED:
            _add_rolled_mass(program, eq, n)
        else:
            program.function(name, getattr(eq, name)())
    return program


def _add_rolled_mass(program, eq, n):
    """Add the mass matrix as a loop over pairs: unrolled, a hundred joints would be 66 000 operations."""
    layout, runs = program.layout, eq.ancestors()
    for array in ('S', 'F'):
        layout.add(array, 6 * n)
    program.function('mass_parts', eq.mass_parts())
    first = [0]
    for r in runs:
        first.append(first[-1] + len(r))
    flat = [run for r in runs for run in r]
    program.kernel(inspect.getsource(kernels.mass), N=n, S=layout.offset('S'), F=layout.offset('F'), M=layout.offset('M'),
                   FIRST=tuple(first), BEGIN=tuple(r[0] for r in flat), BEYOND=tuple(r[1] for r in flat))
