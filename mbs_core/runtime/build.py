"""From a mechanism to a compiled model: choose partitions, write the equations, compile, keep the result on disk."""

import gc
import hashlib
import math
import pickle
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from mbs_core.description.body import Point
from mbs_core.description.mechanism import Mechanism
from mbs_core.errors import MbsError
from mbs_core.formalism.articulated import no_inertia
from mbs_core.formalism.equations import Equations
from mbs_core.runtime import unit as un
from mbs_core.runtime.assembly import Assembler, assemble_start, choose_partitions
from mbs_core.runtime.cache import Cache, host_digest, source_digest
from mbs_core.runtime.library import Library, register_external
from mbs_core.symbolic import evaluate, needed
from mbs_core.symbolic.expr import Expr

MOST_PARTITIONS = 8
MOST_OPERATIONS = 40000            # of all partitions together


@dataclass
class Report:
    """What was generated, what it costs and how long it took."""

    generation_s: float = 0.0
    compile_s: float = 0.0
    load_s: float = 0.0
    from_cache: bool = False
    costs: dict = field(default_factory=dict)          # function: Cost
    removals: dict = field(default_factory=dict)       # function: Removal
    partitions: list = field(default_factory=list)     # {'independent', 'dependent', 'conditioning'}
    redundant: list = field(default_factory=list)      # names of loop equations left out


@dataclass
class Plan:
    """What the choice of partitions came to; row and column numbers, so that it can be kept on disk."""

    start: list
    kept: list
    redundant: list
    pivots: list                   # per partition: [(row numbers in kept, column numbers)]
    references: list


def digest(m, *more) -> str:
    """Return a hash of everything a mechanism's equations depend on, of the engine and of this machine."""
    roots = []

    def put(x):
        if isinstance(x, Expr):
            roots.append(x)
            return f'#{len(roots)}'
        if isinstance(x, (tuple, list)):
            return [put(i) for i in x]
        if isinstance(x, Point):
            return [x.body.name, put(x.offset), put(x.rotation)]
        return getattr(x, 'name', None) or repr(x)
    facts = [put(m.gravity), m.positions, put(m.efforts), put(m.works), put(m.wrenches), put(m.energies)]
    facts += [[b.name, put(b.mount), repr(b.joint), put(b.mass), put(b.com), put(b.inertia)] for b in m.bodies.values()]
    facts += [[c.name, c.index, c.position, c.driven, c.massless, c.given, c.wished] for c in m.coordinates]
    for loop in m.loops:
        facts.append([type(loop).__name__, [[k, put(v)] for k, v in sorted(vars(loop).items()) if k not in ('m', 'curve')]])
        if hasattr(loop, 'curve'):
            facts.append(put(loop.curve.at(loop.s.q)))
    facts += [[n, put(s)] for n, s in m.states.items()] + [[n, put(o[0])] for n, o in m.outputs.items()]
    facts += [[p.name, p.default, p.factor] for p in m.parameters.values()] + [list(m.inputs)]
    number = {}
    for e in needed(roots):
        number[e] = len(number)
        facts.append([e.op, e.data, [number[a] for a in e.args]])
    facts += [[number[e] for e in roots], more, source_digest(), host_digest()]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def parameter_values(m) -> np.ndarray:
    """Return the default parameters in SI."""
    return np.array([p.default * p.factor for p in m.parameters.values()])


def make_plan(m, eq) -> Plan:
    """Close the loops at the start values and choose the partitions."""
    if not m.loops:
        return Plan(list(m.positions), [], [], [[]], [[]])
    unit = un.compile_unit(un.analysis_program(m, eq, ['loops']))
    assembler = Assembler(m, eq, unit)
    unit.view(assembler.x, 'par')[:] = parameter_values(m)
    unit.call('pre', assembler.x)
    held = [c.index for c in m.coordinates if c.given]
    wished = [c.index for c in m.coordinates if c.wished]
    pose = assemble_start(assembler, held)
    most = MOST_PARTITIONS if len(m.coordinates) <= 16 else 2
    kept, redundant, choices = choose_partitions(assembler, pose, held, wished, most)
    return Plan([float(v) for v in pose], kept, redundant, [c.pivots for c in choices], [c.reference for c in choices])


def make_program(m, eq, plan, drivers=True):
    """Return the program of the model's core: loop solution, forward dynamics, outputs, integrators."""
    rows = [eq.rows[i] for i in plan.kept]
    pivots = [[(g, [m.coordinates[c] for c in columns]) for g, columns in p] for p in plan.pivots]
    dependent = [{c.index for _, cs in p for c in cs} for p in pivots]
    free = [[c.index for c in m.coordinates if c.index not in d and c.driven < 0] for d in dependent]
    layout = un.base_layout(m, len(eq.rows), len(pivots), len(free[0]))
    program = un.new_program(m, layout, legend=legend(m))
    total = 0
    for k, (p, reference) in enumerate(zip(pivots, plan.references)):
        if rows:
            program.function(f'newton_{k}', eq.newton(rows, p))
        stores = eq.forward(rows, p, reference, f'forward_{k}')
        program.function(f'forward_{k}', stores)
        if m.loops and _uses(m, 'lambda.', 'reaction.'):
            program.function(f'multipliers_{k}', eq.multipliers(rows, p))
        if k + 1 < len(pivots):
            total += un.cost([s[2] for s in stores]).total
        if total > MOST_OPERATIONS:
            pivots, free = pivots[:k + 1], free[:k + 1]
            plan.pivots, plan.references = plan.pivots[:k + 1], plan.references[:k + 1]
            break
    if len(pivots) > 1:
        program.function('qualities', [('qual', k, eq.quality(rows, p, r))
                                       for k, (p, r) in enumerate(zip(pivots, plan.references))])
    if any(b.quaternion for b in m.bodies.values()):
        program.function('rates', eq.rates())
    asked = [b for b in m.bodies.values() if f'reaction.{b.name}.fx' in m.graph.symbols]
    if asked:
        program.function('reactions', eq.reactions(asked))
    program.function('outputs', eq.outputs())
    program.function('start', start_values(m, plan))
    if drivers:
        un.add_drivers(program, m, pivots, free)
    return program


def start_values(m, plan):
    """Return the stores of 'start': default parameters, assembled pose, start rates, law states and inputs."""
    stores = [('time', 0, 0.0)] + [('par', k, float(v)) for k, v in enumerate(parameter_values(m))]
    stores += [('q', k, float(v)) for k, v in enumerate(plan.start)]
    stores += [('v', c.index, float(c.initial_rate)) for c in m.coordinates]
    stores += [('vd', c.index, 0.0) for c in m.coordinates] + [('tau', c.index, 0.0) for c in m.coordinates]
    stores += [('z', k, float(z[1])) for k, z in enumerate(m.states.values())]
    stores += [('in', i.index, float(i.default)) for i in m.inputs.values()]
    for c in m.driven:
        motion = (float(plan.start[c.position]), float(c.initial_rate), 0.0)
        stores += [('drv', 6 * c.driven + k, v) for k, v in enumerate(motion * 2)]
    return stores + [('info', k, 0.0) for k in range(un.INFO)]


def _uses(m, *prefixes):
    return any(s.startswith(prefixes) for s in m.graph.symbols)


def legend(m) -> str:
    """Return what the numbers of the block mean, one line each."""
    lines = [m.doc] if m.doc else []
    for k, s in enumerate(m.kinematics.position_symbols()):
        lines.append(f'q[{k}] {s.data[0][2:]}')
    lines += [f'v[{c.index}] {c.name}' for c in m.coordinates]
    lines += [f'par[{p.index}] {p.name} (SI; declared in {p.unit}): {p.doc}' for p in m.parameters.values()]
    lines += [f'in[{i.index}] {i.name} ({i.unit}): {i.doc}' for i in m.inputs.values()]
    lines += [f'z[{k}] {n}' for k, n in enumerate(m.states)]
    lines += [f'eff[{c.driven}] effort of {c.name}' for c in m.driven]
    lines += [f'out[{k}] {n} ({o[1]}): {o[2]}' for k, (n, o) in enumerate(m.outputs.items())]
    return '\n'.join(lines)


def generate_program(m, partitions=None):
    """Return (finished program, report): the whole model ready to be printed in any language.

    With `partitions`, at most that many partitions are kept: one for the smallest code on a microcontroller.
    """
    if partitions is not None and partitions < 1:
        raise MbsError(f'at least one partition must be kept, not {partitions}')
    start = time.perf_counter()
    eq = Equations(m)
    plan = make_plan(m, eq)
    plan.pivots, plan.references = plan.pivots[:partitions], plan.references[:partitions]
    program = make_program(m, eq, plan).finish()
    report = Report(time.perf_counter() - start)
    report.removals = eq.removals
    report.costs = {f.name: un.cost([s[2] for s in f.stores]) for f in program.functions if f.name != 'pre'}
    _describe(m, eq, plan, report)
    return program, report


def _describe(m, eq, plan, report):
    names = [c.name for c in m.coordinates]
    for p, reference in zip(plan.pivots, plan.references):
        dependent = sorted(c for _, cs in p for c in cs)
        report.partitions.append({
            'independent': [n for i, n in enumerate(names) if i not in dependent],
            'dependent': [names[i] for i in dependent],
            'blocks': [([eq.rows[plan.kept[r]].loop.name for r in g], [names[c] for c in cs]) for g, cs in p],
            'conditioning': [float(f'{r:.4g}') for r in reference]})
    report.redundant = [f"equation {_rank(eq, i)} of loop '{eq.rows[i].loop.name}'" for i in plan.redundant]


def _rank(eq, i):
    return sum(r.loop is eq.rows[i].loop for r in eq.rows[:i])


@contextmanager
def no_collection():
    """Keep Python's garbage collector from walking over a growing graph in which nothing is garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def build(m, cache=True, analysis=()):
    """Return (unit, start pose, report) of a mechanism's core, or of the named analysis functions; cached on disk."""
    if not isinstance(m, Mechanism):
        raise MbsError(f'{m!r} is no mechanism: build one with Mechanism(name) or take one from the catalogue')
    began = time.perf_counter()
    for name, (address, _) in m.externals.items():
        register_external(name.replace('.', '_'), address)
    store = Cache() if cache is True else cache
    key = digest(m, 'analysis', tuple(analysis)) if store else None
    found = store.get(key) if store else None
    if found is not None:
        meta = pickle.loads(found['meta'])
        unit = un.Unit(*meta['unit'], costs=meta['report'].costs)
        unit.library = Library.from_object(found['object'], unit.signatures)
        report = meta['report']
        report.from_cache, report.load_s = True, time.perf_counter() - began
        return unit, np.array(meta['start']), report
    with no_collection():
        start = time.perf_counter()
        eq = Equations(m)
        if analysis:
            program = un.analysis_program(m, eq, analysis)
            pose, report = list(m.positions), Report(time.perf_counter() - start)
        else:
            plan = make_plan(m, eq)
            program = make_program(m, eq, plan)
            pose, report = plan.start, Report(time.perf_counter() - start)
            _describe(m, eq, plan, report)
        report.removals = eq.removals
        unit = un.compile_unit(program)
    report.generation_s += unit.times['finish_s']
    report.compile_s, report.costs = unit.times['compile_s'], unit.costs
    if not analysis:
        check(m, unit, pose)
    if store:
        meta = pickle.dumps({'unit': (unit.name, unit.places, unit.total, unit.signatures), 'start': list(pose), 'report': report})
        store.put(key, {'meta': meta, 'object': unit.library.object_bytes()})
    return unit, np.array(pose), report


def check(m, unit, pose):
    """Refuse a mechanism whose motion is not determined: a joint that moves no inertia, a singular start."""
    values = dict(zip([m.graph.symbols[n] for n in m.parameters], parameter_values(m)))
    for b in m.bodies.values():
        if isinstance(b.mass, Expr) and evaluate([b.mass], values)[0] < 0:
            raise MbsError(f"body '{b.name}' of mechanism '{m.name}' has a negative mass at the default parameters: {b.mass}")
    x = unit.block()
    unit.view(x, 'q')[:] = pose
    unit.view(x, 'par')[:] = parameter_values(m)
    unit.view(x, 'in')[:] = [i.default for i in m.inputs.values()]
    unit.view(x, 'z')[:] = [z[1] for z in m.states.values()]
    unit.call('pre', x)
    unit.call('forward', x)
    vd = unit.view(x, 'vd')
    if np.all(np.isfinite(vd)) and np.abs(vd).max(initial=0.0) < 1e14:
        return
    side, _, _ = build(m, cache=None, analysis=('mass',))
    y = side.block()
    for array in ('q', 'par'):
        side.view(y, array)[:] = unit.view(x, array)
    side.call('pre', y)
    side.call('mass', y)
    n = len(m.coordinates)
    diagonal = np.diag(side.view(y, 'M').reshape(n, n))
    for c in m.coordinates:
        if c.driven < 0 and not c.massless and not diagonal[c.index] > 1e-14 * max(diagonal.max(initial=0.0), 1e-30):
            raise no_inertia(c)
    bad = [c.name for c in m.coordinates if not math.isfinite(vd[c.index])]
    raise MbsError(f"mechanism '{m.name}' has no finite acceleration at its start (joints {', '.join(bad[:4]) or 'all'}): "
                   'its motion is not determined there; check masses, start values and force laws')
