"""Trees against Pinocchio (E1): inverse and forward dynamics, mass matrix, bias, energies, points, up to 100 joints."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mbs_core.description import Mechanism, fixed, free, prismatic, revolute, spherical, spring
from mbs_core.runtime import compile_model
from mbs_core.runtime.build import build, digest

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import Oracle, agreement
from random_mechanisms import KINDS, chain, random_inertia, random_positions, random_rotation, random_tree

EXACT = 1e-10          # CLAIMS E1
ROUND_TRIP = 1e-9


def compare(m, rng, states=3, mass=True):
    """Compare everything a tree can tell with the oracle at random states; return the largest disagreement."""
    bodies = [b for b in m.bodies.values() if b is not m.ground]
    point = bodies[-1].at(0.1, -0.2, 0.3)
    for k, part in enumerate('xyz'):
        m.output(f'p{part}', m.position(point)[k], 'm')
        m.output(f'v{part}', m.velocity(point)[k], 'm/s')
        m.output(f'a{part}', m.acceleration(point)[k], 'm/s2')
    model, oracle = compile_model(m), Oracle(m)
    s = model.state()
    assert (model.nq, model.nv) == (oracle.nq, oracle.nv)
    worst = 0.0
    for _ in range(states):
        q, v, vd = random_positions(m, rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        s.q[:], s.v[:] = q, v
        found = {'inverse': (s.inverse(vd), oracle.inverse(q, v, vd)), 'bias': (s.bias(), oracle.bias(q, v))}
        if mass:
            found['mass'] = s.mass(), oracle.mass(q)
        found['energy'] = s.energy(), oracle.energy(q, v)
        s.tau[:] = tau = s.inverse(vd).copy()
        assert s.forward() == 0
        forward = s.vd.copy()
        found['forward'] = forward, oracle.forward(q, v, tau)
        out = s.outputs()
        oracle.update(q, v, forward)
        place, _, speed, _, acceleration, _ = oracle.motion(point)
        for name, value in (('p', place), ('v', speed), ('a', acceleration)):
            found[f'point {name}'] = [out[name + x] for x in 'xyz'], value
        s.tau[:] = 0.0
        for what, (ours, theirs) in found.items():
            error = agreement(ours, theirs)
            # a long chain's mass matrix is ill-conditioned: two right solvers differ by cond * 1e-16
            limit = EXACT if what not in ('forward', 'point a') else max(EXACT, 4e-16 * np.linalg.cond(oracle.mass(q)))
            assert error < limit, f'{what}: {error:.1e}'
            worst = max(worst, error)
        assert agreement(s.inverse(forward), tau) < ROUND_TRIP
    return worst


@pytest.mark.parametrize('seed', range(6))
def test_random_tree_equals_pinocchio(seed):
    """E1: trees of 12 bodies with every kind of joint."""
    compare(random_tree(seed, 12), np.random.default_rng(seed))


@pytest.mark.parametrize('kind', KINDS[:4])
def test_each_joint_kind_alone_equals_pinocchio(kind):
    """E1: a tree of one kind of joint each."""
    compare(random_tree(3, 5, kinds=(kind, 'fixed', kind)), np.random.default_rng(3))


@pytest.mark.parametrize('bodies', [30, 60])
def test_large_random_tree_equals_pinocchio(bodies):
    """E1: large branching trees."""
    m = random_tree(bodies, bodies, kinds=('revolute', 'prismatic', 'revolute', 'spherical'))
    compare(m, np.random.default_rng(1), states=2)


def test_hundred_joints_equal_pinocchio():
    """E1: a tree of 100 joints about any axes."""
    m = random_tree(5, 100, kinds=('revolute', 'revolute', 'prismatic'))
    assert len(m.coordinates) == 100
    compare(m, np.random.default_rng(2), states=2)


def test_chain_of_hundred_equals_pinocchio():
    """E1: the worst tree for depth: one chain of 100."""
    compare(chain(100), np.random.default_rng(2), states=2)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 6), st.booleans(), st.booleans()), min_size=1, max_size=6),
       st.integers(0, 10 ** 6))
def test_any_tree_equals_pinocchio(plan, seed):
    """Hypothesis chooses joints, carriers, massless bodies and turned mounts."""
    rng = np.random.default_rng(seed)
    m = Mechanism('any', gravity=tuple(rng.normal(size=3) * 5))
    bodies = [m.ground]
    make = {'revolute': lambda: revolute(tuple(rng.normal(size=3))), 'prismatic': lambda: prismatic('zxy'[rng.integers(3)]),
            'spherical': spherical, 'free': free, 'fixed': fixed}
    for k, (kind, carrier, turned, light) in enumerate(plan):
        mount = bodies[carrier % len(bodies)].at(*rng.uniform(-0.3, 0.3, 3), rotation=random_rotation(rng) if turned else None)
        heavy = not (light and kind == 'fixed')
        mass = float(rng.uniform(0.5, 2.0)) if heavy else 0.0
        bodies.append(m.body(f'b{k}', mount, make[kind](), mass=mass, com=tuple(rng.uniform(-0.1, 0.1, 3)),
                             inertia=random_inertia(rng, mass) if heavy else None))
    if not m.coordinates:
        m.body('last', bodies[-1], revolute('x'), mass=1.0, inertia=0.1, com=(0, 0.1, 0.05))
    compare(m, rng, states=2)


def test_parameters_change_the_model_like_the_oracle():
    """Setting parameters at run time gives what an oracle built with those values gives."""
    m = random_tree(2, 8)
    model = compile_model(m)
    assert model.parameters
    rng, s = np.random.default_rng(0), model.state()
    values = {n: p.default * rng.uniform(0.6, 1.2) for n, p in model.parameters.items()}
    s.set(values)
    oracle = Oracle(m, values)
    q, v, vd = random_positions(m, rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    s.q[:], s.v[:] = q, v
    assert agreement(s.inverse(vd), oracle.inverse(q, v, vd)) < EXACT
    assert agreement(s.mass(), oracle.mass(q)) < EXACT
    for name, value in values.items():
        assert s.get(name) == pytest.approx(value, rel=1e-15)


def operations(n):
    """Return the operation counts of inverse dynamics, bias and forward dynamics of a chain of n joints."""
    _, _, report = build(chain(n), None, ('inverse', 'bias'))
    return report.costs['inverse'].total, report.costs['bias'].total, compile_model(chain(n)).report.costs['forward_0'].total


def test_operation_count_grows_linearly():
    """E1: inverse dynamics without M is O(n), forward dynamics of a tree too: equal steps in n cost equal operations."""
    ten, twenty, forty = operations(10), operations(20), operations(40)
    for a, b, c in zip(ten, twenty, forty):
        assert (c - b) / (b - a) == pytest.approx(2.0, rel=0.05)


def test_mass_matrix_is_symmetric_and_gives_the_kinetic_energy():
    """Identities: M = M', T = v'Mv/2, inverse = M vd + c, columns of M are inverse dynamics of unit accelerations."""
    m = random_tree(9, 10)
    s = compile_model(m).state()
    rng = np.random.default_rng(4)
    s.q[:], s.v[:] = random_positions(m, rng), rng.normal(size=len(s.v))
    mass, vd, bias = s.mass().copy(), rng.normal(size=len(s.v)), s.bias().copy()
    assert np.array_equal(mass, mass.T)
    assert 0.5 * s.v @ mass @ s.v == pytest.approx(s.energy()[0], rel=1e-12)
    assert agreement(s.inverse(vd), mass @ vd + bias) < 1e-12
    assert np.linalg.eigvalsh(mass)[0] > 0


def test_same_mechanism_gives_the_same_code():
    """Generation is deterministic: two descriptions made alike have equal costs, and the second comes from the cache."""
    first, second = (compile_model(random_tree(21, 6)) for _ in range(2))
    assert first.report.costs == second.report.costs
    assert second.report.from_cache


def varied(mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.2), gravity=(0, 0, -9.81), axis='z', offset=0.2, turn=0.0, rate=3.0,
           out=1.0, plane='xz', length=0.3):
    """Return a small mechanism whose every number can be varied."""
    m = Mechanism('varied', gravity=gravity)
    a = m.body('a', m.ground, revolute('y'), mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.1, 0, 0), initial=0.3)
    b = m.body('b', a.at(offset, 0, 0, rotation=('x', turn)), revolute(axis), mass=mass, com=com, inertia=inertia)
    c = m.body('c', m.ground.at(length, 0, 0), revolute('y'), mass=1.0, inertia=(0.1, 0.1, 0.1), initial=0.4)
    slide = m.body('slide', c, prismatic('x'), mass=1.0, initial=0.1)
    m.close(a.at(0.3, 0, 0), slide.at(), plane=plane, name='loop')
    m.add(spring(b, rate))
    m.output('y', out * b.q)
    return m


def test_every_number_of_a_mechanism_counts_for_the_cache():
    """No change of a description may find the compiled code of another: all digests differ, equal ones agree."""
    changes = [{}, {'mass': 1.5}, {'com': (0.1, 0.01, 0)}, {'inertia': (0.1, 0.2, 0.21)}, {'gravity': (0, 0, -9.8)}, {'axis': 'x'},
               {'offset': 0.21}, {'turn': 0.1}, {'rate': 3.5}, {'out': 2.0}, {'plane': 'xy'}, {'length': 0.31}]
    digests = [digest(varied(**c)) for c in changes]
    assert len(set(digests)) == len(changes)
    assert digests == [digest(varied(**c)) for c in changes]


def test_generation_of_400_joints_completes():
    """E4: a chain of 400 joints is generated, compiled and right."""
    m = chain(400)
    model, oracle = compile_model(m), Oracle(m)
    s, rng = model.state(), np.random.default_rng(0)
    q, v, vd = rng.uniform(-1, 1, 400), rng.normal(size=400), rng.normal(size=400)
    s.q[:], s.v[:] = q, v
    assert agreement(s.inverse(vd), oracle.inverse(q, v, vd)) < EXACT
