"""Batches: lanes and threads change nothing against single states."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_core.runtime.batch import Batch

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import agreement
from random_mechanisms import five_bar, four_bar, random_positions, random_tree, wishbone


@pytest.mark.parametrize('what', ['forward', 'inverse', 'bias'])
def test_batch_of_a_tree_equals_single_states(what):
    """Lanes and threads change nothing: 101 random states of a tree with ball joints."""
    m = random_tree(4, 8)
    model, rng = compile_model(m), np.random.default_rng(0)
    count = 101
    q = np.array([random_positions(m, rng) for _ in range(count)])
    v, a = rng.normal(size=(2, count, model.nv))
    given = {'q': q, 'v': v, **({'tau': a} if what == 'forward' else {'vd': a} if what == 'inverse' else {})}
    results = Batch(m, what)(**given)
    s = model.state()
    for k in range(count):
        s.q[:], s.v[:] = q[k], v[k]
        if what == 'forward':
            s.tau[:] = a[k]
            s.forward()
            assert agreement(results['vd'][k], s.vd) < 1e-11
        elif what == 'inverse':
            assert agreement(results['Q'][k], s.inverse(a[k])) < 1e-12
        else:
            assert agreement(results['c'][k], s.bias()) < 1e-12


@pytest.mark.parametrize('make', [five_bar, wishbone], ids=['five_bar', 'wishbone'])
def test_batch_of_a_closed_mechanism_equals_single_states(make):
    """Loops are closed in every lane, also where the first partition is poor."""
    m = make()
    model = compile_model(m)
    s, poses = model.state(), []
    s.assemble()
    for _ in range(60):
        s.run(4, 1e-3)
        poses.append((s.q.copy(), s.v.copy()))
    q, v = (np.array(x) for x in zip(*poses))
    results = Batch(m)(q=q, v=v)
    assert results['residual'].max() < 1e-10
    for k in range(len(q)):
        s.q[:], s.v[:] = q[k], v[k]
        s.forward()
        assert agreement(results['vd'][k], s.vd) < 1e-8


def test_batch_over_parameters_equals_setting_them():
    """par=(count, parameters) in SI sweeps parameters."""
    m = build('pendulum', links=2)
    model = compile_model(m)
    s = model.state()
    base = s._par.copy()
    rng = np.random.default_rng(0)
    par = base * rng.uniform(0.8, 1.2, (20, len(base)))
    results = Batch(m)(q=np.tile(s.q, (20, 1)), par=par)
    names = list(model.parameters)
    for k in range(20):
        s.set({n: par[k, i] / model.parameters[n].factor for i, n in enumerate(names)})
        s.forward()
        assert agreement(results['vd'][k], s.vd) < 1e-12


def test_batch_refuses_what_it_does_not_know():
    """Unknown functions and arrays, NaN and empty batches are named."""
    with pytest.raises(MbsError, match='sideways'):
        Batch(four_bar(), 'sideways')
    batch = Batch(build('pendulum'))
    for wrong, named in ((dict(q=np.full((3, 1), math.nan)), 'q'), (dict(speed=np.zeros((3, 1))), 'speed'), ({}, 'array')):
        with pytest.raises(MbsError, match=named):
            batch(**wrong)


def make_five_bar():
    """Return the five-bar for the workers of a sweep."""
    from mbs_core.mechanisms import build
    return build('five_bar')


def test_sweep_in_parts_equals_a_batch_with_and_without_dask(monkeypatch):
    """Parts of a sweep, in turn or handed to Dask, give what one batch gives; without Dask one sentence says how to get it."""
    import sys
    import types

    from mbs_core.errors import MbsError
    from mbs_core.runtime import compile_model
    from mbs_core.runtime.batch import Batch, sweep
    model = compile_model(make_five_bar())
    q = model.start + np.random.default_rng(4).uniform(-0.05, 0.05, (150, 4))
    whole = Batch(model)(q=q)
    fake = types.ModuleType('dask')                       # Dask's two functions, done in turn
    fake.delayed = lambda f: lambda *args: (f, args)
    fake.compute = lambda *tasks: tuple(f(*args) for f, args in tasks)
    monkeypatch.setitem(sys.modules, 'dask', fake)
    for found in (sweep(make_five_bar, chunk=64, q=q), sweep(make_five_bar, chunk=64, dask=True, q=q)):
        assert found['vd'] == pytest.approx(whole['vd'], rel=1e-12, abs=1e-12)
    monkeypatch.setitem(sys.modules, 'dask', None)
    with pytest.raises(MbsError, match='Dask'):
        sweep(make_five_bar, dask=True, q=q)
