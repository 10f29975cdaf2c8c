"""What it takes to get a model: generation, compilation, loading; what is removed; how far it can go in parallel."""

import tempfile

import numpy as np

from mbs_core.description import Mechanism, contact, damper, friction, lugre, revolute, spring
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_core.runtime.build import build as build_unit
from mbs_core.runtime.cache import Cache
from mbs_haptics.bench import models, ours, timing

LIBRARY = ('pendulum', 'four_bar', 'two_link', 'slider_crank', 'lid_hinge')


def measure(figures, sizes, rounds, say):
    """Add generation, removal, parallelism and the cost of force laws."""
    starts(figures, sizes, say)
    removal(figures, sizes, say)
    parallel(figures, sizes, rounds, say)
    laws(figures, rounds, say)


def starts(figures, sizes, say):
    """E4: how long a first and a second start take."""
    for n in sizes:
        say(f'generation of {n} joints')
        with tempfile.TemporaryDirectory() as folder:
            model, first = timing.once(lambda: compile_model(models.chain(n), Cache(folder)))
            _, second = timing.once(lambda: compile_model(models.chain(n), Cache(folder)))
        aim = '<1' if n == 100 else ''
        _, _, analysis = build_unit(models.chain(n), None, ('inverse',))
        figures.add(f'E4.inverse.n{n}.generation_s', analysis.generation_s, 's', aim, 'inverse dynamics: from description to equations')
        figures.add(f'E4.forward.n{n}.generation_s', model.report.generation_s, 's', note='whole model: from description to equations')
        figures.add(f'E4.forward.n{n}.compile_s', model.report.compile_s, 's', note='LLVM, whole model')
        figures.add(f'E4.first_start.n{n}_s', first, 's', note='description, equations, compilation')
        figures.add(f'E4.second_start.n{n}_s', second, 's', note='description, digest, load from the cache')


def removal(figures, sizes, say):
    """E6: the share of the recursive equations that no output needs, per model and function."""
    say('dead equations')
    made = [(f'chain{n}', models.chain(n)) for n in sizes] + [(name, build(name)) for name in LIBRARY] \
        + [('bench_five_bar', models.five_bar()), ('bench_hinge', models.hinge())]
    for name, m in made:
        for function, found in _removals(m).items():
            figures.add(f'E6.{name}.{function}', 100.0 * found.share, '%',
                        note=f'{found.useless} of {found.equations} recursive equations removed')


def _removals(m) -> dict:
    _, _, inverse = build_unit(m, None, ('inverse',))
    whole = compile_model(m).report
    out = {'inverse': inverse.removals['inverse']}
    out.update({'forward': r for name, r in whole.removals.items() if name == 'forward_0'})
    return out


def parallel(figures, sizes, rounds, say):
    """E12: critical path, width, and what vector registers make of it."""
    for n in sizes:
        say(f'batches of {n} joints')
        m = models.chain(n)
        _, _, report = build_unit(m, None, ('inverse',))
        cost = report.costs['inverse']
        figures.add(f'E12.n{n}.operations', cost.total, '1', note='inverse dynamics')
        figures.add(f'E12.n{n}.critical_path', cost.depth, '1', note='fewest sequential vector steps')
        figures.add(f'E12.n{n}.width', cost.width, '1', note='most operations side by side')
        q, v, a = np.random.default_rng(n).uniform(-1.0, 1.0, (3, n))
        run, lanes = ours.lanes_run(m, q, v, a)
        single = ours.tree_runs(compile_model(models.chain(n)), q, v, a)['inverse_dynamics']
        t = timing.interleaved({'batch': run, 'single': single}, rounds)
        figures.add(f'E12.n{n}.batch_ns', 1e9 * t['batch'], 'ns', note=f'per state, {lanes} states in each vector register')
        figures.add(f'E12.n{n}.batch_speedup', t['single'] / t['batch'], 'x', note='one state at a time / batch, one thread')
        figures.add(f'E12.n{n}.throughput', 1e-6 / t['batch'], 'million/s', note='inverse dynamics per second and core')


def arm(kinds=()) -> Mechanism:
    """Return an arm of three links over a floor, with the named force laws."""
    m = Mechanism('bench_arm', gravity=(0.0, -9.81, 0.0))
    last, links = m.ground, []
    for k in range(3):
        last = m.body(f'link{k}', last.at(0.3 if k else 0.0, 0, 0), revolute('z'), mass=1.0, com=(0.15, 0, 0), inertia=0.01)
        links.append(last)
    for link in links:
        if 'springs' in kinds:
            m.add(spring(link, 2.0))
            m.add(damper(link, 0.1))
        if 'friction' in kinds:
            m.add(friction(link, 0.2, static=0.3))
        if 'lugre' in kinds:
            m.add(lugre(link, 1e3, 3.0, 0.2, 0.3, 0.1))
        if 'contacts' in kinds:
            m.add(contact(link.at(0.3, 0, 0), m.ground, (0, 1, 0), origin=(0.0, -0.1, 0.0), stiffness=1e6, hysteresis=0.5,
                          friction=0.3, name=f'contact{link.order}'))
    return m


def laws(figures, rounds, say):
    """Add what force laws cost on top of the bare mechanism."""
    say('force laws')
    kinds = ('springs', 'friction', 'lugre', 'contacts')
    runs = {}
    for kind in ('bare', *kinds):
        model = compile_model(arm((kind,)))
        runs[kind] = ours.looped(model.unit, 'forward', q=[-0.5, 0.2, 0.3], v=[0.1, 0.2, -0.3], par=ours.parameters(model))
    t = timing.interleaved(runs, rounds)
    figures.add('laws.bare_ns', 1e9 * t['bare'], 'ns', note='forward dynamics of an arm of three links')
    for kind in kinds:
        figures.add(f'laws.{kind}_ns', 1e9 * (t[kind] - t['bare']) / 3, 'ns',
                    note='more for each joint' + (', touching, with friction' if kind == 'contacts' else ''))
