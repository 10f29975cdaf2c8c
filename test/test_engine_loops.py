"""Closed loops (E2, E10): accelerations against Pinocchio, residuals, reduced form, partitions, loops that say too much."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_core.description import Mechanism, damper, prismatic, revolute, spring
from mbs_core.errors import MbsError
from mbs_core.formalism import multipliers
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import Oracle, agreement
from random_mechanisms import five_bar, four_bar, random_closed, ring, rssr, slider_crank, wishbone

CLOSED = {'four_bar': four_bar, 'five_bar': five_bar, 'slider_crank': slider_crank, 'rssr': rssr, 'wishbone': wishbone,
          'ring_revolute': lambda: ring('revolute'), 'ring_solid': lambda: ring('solid')}
RESIDUAL = 1e-10       # CLAIMS E2


def moving(model, seed=0, speed=1.0):
    """Return a state with closed loops and random consistent velocities."""
    s = model.state()
    s.assemble()
    s.v[:] = speed * np.random.default_rng(seed).normal(size=model.nv)
    s.assemble()
    return s


@pytest.mark.parametrize('name', CLOSED)
def test_closed_accelerations_equal_pinocchio(name):
    """E2: at random states and efforts the reduced dynamics give the accelerations of the dense KKT system."""
    m = CLOSED[name]()
    model, oracle = compile_model(m), Oracle(m)
    rng = np.random.default_rng(3)
    for seed in range(4):
        s = moving(model, seed)
        s.tau[:] = rng.normal(size=model.nv)
        assert s.forward() == 0
        expected, _, _ = oracle.closed_forward(s.q, s.v, s.tau)
        jacobian, _, violation = oracle.constraints(s.q, s.v)
        assert violation < RESIDUAL
        assert np.abs(jacobian @ s.v).max() < RESIDUAL
        assert agreement(s.vd, expected) < 1e-9, name
        s.run(200, 1e-3)                                   # and somewhere else on the way


@pytest.mark.parametrize('name', CLOSED)
def test_constraint_equations_equal_pinocchio(name):
    """J and gamma describe the same motion as Pinocchio's frame Jacobians: same row space, same J-dot q-dot."""
    m = CLOSED[name]()
    model, oracle = compile_model(m), Oracle(m)
    s = moving(model, 1)
    h, jacobian, gamma = (x.copy() for x in s.constraints())
    theirs, bias, _ = oracle.constraints(s.q, s.v)
    assert np.abs(h).max() < RESIDUAL
    assert np.linalg.matrix_rank(np.vstack([jacobian, theirs]), tol=1e-9) == np.linalg.matrix_rank(theirs, tol=1e-9)
    ours = np.linalg.lstsq(jacobian, -gamma, rcond=1e-12)[0]
    assert agreement(ours, np.linalg.lstsq(theirs, -bias, rcond=1e-12)[0]) < 1e-9


CLOSURES = [('point',), ('rod',), ('revolute',), ('solid',), ('point', 'rod'), ('rod', 'rod', 'rod'), ('point', 'point')]


@pytest.mark.parametrize('closures', CLOSURES, ids=['+'.join(c) for c in CLOSURES])
@pytest.mark.parametrize('seed', range(2))
def test_random_closed_mechanism_equals_pinocchio(closures, seed):
    """E2: random spatial trees with random loops of every kind, oblique axes, turned mounts and ball joints."""
    m, q = random_closed(seed, 9 if 'solid' in closures or 'revolute' in closures else 6, closures=closures)
    model, oracle = compile_model(m), Oracle(m)
    s, rng = model.state(), np.random.default_rng(seed)
    s.q[:] = q
    for _ in range(3):
        s.v[:] = rng.normal(size=model.nv)
        s.tau[:] = rng.normal(size=model.nv)
        assert s.forward() == 0
        jacobian, _, violation = oracle.constraints(s.q, s.v)
        assert violation < RESIDUAL and np.abs(jacobian @ s.v).max() < RESIDUAL * max(1.0, np.abs(s.v).max())
        singular = np.linalg.svd(jacobian, compute_uv=False)
        error = agreement(s.vd, oracle.closed_forward(s.q, s.v, s.tau)[0])
        assert error < max(1e-9, 1e-14 * (singular[0] / singular[-1]) ** 2), (error, singular)


def test_joints_locked_by_a_loop_stand_still():
    """A triangle of three bars can't move: rates given to its joints are taken back, what it carries moves as on the ground."""
    m = Mechanism('truss', gravity=(0, -9.81, 0))
    a = m.body('a', m.ground, revolute('z'), mass=1.0, inertia=0.1, com=(0.2, 0, 0), initial=0.9, rate=1.0)
    b = m.body('b', m.ground.at(0.5, 0, 0), revolute('z'), mass=1.0, inertia=0.1, com=(0.2, 0, 0), initial=2.2, rate=-1.0)
    m.close(a.at(0.4, 0, 0), b.at(0.4, 0, 0), plane='xy', name='apex')
    m.body('rod', a.at(0.4, 0, 0), revolute('z'), mass=1.0, com=(0.3, 0, 0), inertia=0.01, rate=0.5)
    s, oracle = compile_model(m).state(), Oracle(m)
    assert s.forward() == 0
    expected = oracle.closed_forward(s.q, [0.0, 0.0, 0.5])[0]
    assert s.v == pytest.approx([0.0, 0.0, 0.5])
    assert agreement(s.vd, expected) < 1e-9
    s.run(100, 1e-3)
    assert s.v[:2] == pytest.approx([0.0, 0.0]) and max(s.residuals()) < RESIDUAL


def test_parameters_move_the_closed_pose_like_the_oracle():
    """A length changed at run time: loops closed anew, dynamics those of an oracle built with that length."""
    m = four_bar()
    s = compile_model(m).state()
    s.set('crank.length', 0.08)
    s.assemble()
    s.v[0] = 2.0
    assert s.forward() == 0
    oracle = Oracle(m, {'crank.length': 0.08})
    assert oracle.constraints(s.q, s.v)[2] < RESIDUAL
    assert agreement(s.vd, oracle.closed_forward(s.q, s.v)[0]) < 1e-9


def test_plane_of_a_loop_turns_with_the_common_body():
    """A planar loop lies in a plane of the nearest common body, wherever that body has turned."""
    m = Mechanism('turret', gravity=(0, 0, -9.81))
    base = m.body('base', m.ground, revolute('z'), mass=1.0, inertia=(0.1, 0.1, 0.1), initial=1.2, rate=2.0)
    crank = m.body('crank', base, revolute('y'), mass=0.5, com=(0.05, 0, 0), inertia=(1e-3, 2e-3, 2e-3), initial=-0.7)
    rod = m.body('rod', crank.at(0.1, 0, 0), revolute('y'), mass=0.5, com=(0.1, 0, 0), inertia=(1e-3, 2e-3, 2e-3),
                 initial=0.3)
    slide = m.body('slide', base.at(0.2, 0, 0), prismatic('x'), mass=0.5, initial=0.05)
    m.close(rod.at(0.22, 0, 0), slide.at(), plane='xz', name='wrist')
    model, oracle = compile_model(m), Oracle(m)
    s = moving(model, 2)
    for _ in range(5):
        s.forward()
        assert oracle.constraints(s.q, s.v)[2] < RESIDUAL
        assert agreement(s.vd, oracle.closed_forward(s.q, s.v)[0]) < 1e-9
        s.run(100, 1e-3)


@pytest.mark.parametrize('name', ['two_link', 'slider_crank', 'wishbone', 'ring_solid'])
def test_residuals_stay_below_1e_10_for_a_minute(name):
    """E2: position, velocity and acceleration level at every step of 60 s."""
    m = build('two_link', closed=True, control='pd') if name == 'two_link' else CLOSED[name]()
    if name != 'two_link':                                 # some friction: a minute of free fall is chaos, not a check
        for body in list(m.bodies.values())[1:]:
            if len(body.coordinates) == 1:
                m.add(damper(body, 0.02 if name != 'wishbone' else 40.0))
    if name == 'wishbone':
        m.add(spring(m['chassis'], 2e4, rest=0.3))
    s = compile_model(m).state()
    s.assemble()
    worst = np.zeros(3)
    for _ in range(60000):
        s.step(1e-3)
        worst = np.maximum(worst, s.residuals())
    assert np.all(np.isfinite(s.q)) and worst.max() < RESIDUAL, worst


# -- reduced form --------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'wishbone'])
def test_reduced_equations_are_the_projection(name):
    """001 eq. 7-8: M_r u'' + c_r = Q_r, and the inverse dynamics of the closed mechanism returns the applied effort."""
    m = CLOSED[name]()
    model, oracle = compile_model(m), Oracle(m)
    s = moving(model, 5)
    s.forward()
    mass, bias, names = s.reduced()
    u = [model.coordinates.index(n) for n in names]
    jacobian = oracle.constraints(s.q, s.v)[0]
    assert len(u) == model.nv - np.linalg.matrix_rank(jacobian, tol=1e-9)
    assert agreement(mass @ s.vd[u] + bias, np.zeros(len(u))) < 1e-7 * max(1.0, np.abs(bias).max()) / 1e-12
    v = [i for i in range(model.nv) if i not in u]
    b = np.zeros((model.nv, len(u)))                       # qd = B ud
    b[u] = np.eye(len(u))
    b[v] = -np.linalg.lstsq(jacobian[:, v], jacobian[:, u], rcond=1e-12)[0]
    assert agreement(mass, b.T @ oracle.mass(s.q) @ b) < 1e-9
    wanted = np.random.default_rng(0).normal(size=len(u))
    assert agreement(s.inverse_closed(wanted), mass @ wanted + bias) < 1e-9


@pytest.mark.parametrize('make', [four_bar, lambda: build('two_link', closed=True, control='pd')], ids=['four_bar', 'two_link'])
def test_multiplier_form_gives_the_same_motion(make):
    """E10: Lagrange multipliers with R'' + 2a R' + a^2 R = 0 stay within 1e-6 of the reduced form over 5 s."""
    model = compile_model(make())
    reduced, free = model.state(), model.state()
    reduced.assemble()
    free.assemble()
    times = np.linspace(0.0, 5.0, 11)
    _, q, v = multipliers.integrate(free, 5.0, alpha=50.0, times=times)
    for k, t in enumerate(times):
        if k:
            reduced.run(1000, 5e-4)
        assert np.abs(q[k] - reduced.q).max() < 1e-6 and np.abs(v[k] - reduced.v).max() < 1e-5, t


def test_energy_of_a_closed_mechanism_is_conserved():
    """Falling linkages and a spatial ring keep their energy within 1e-6 over 10 s of RK4 at 1 ms."""
    for m in (four_bar(), slider_crank(), rssr(), wishbone()):
        s = compile_model(m).state()
        s.assemble()
        s.forward()
        first, swing = sum(s.energy()), 0.0
        for _ in range(1000):
            s.run(10, 1e-3)
            kinetic, potential = s.energy()
            swing = max(swing, kinetic)
            assert abs(kinetic + potential - first) < 1e-6 * max(swing, abs(first)), m.name


@pytest.mark.parametrize('make', [five_bar, lambda: build('five_bar')], ids=['small', 'paper'])
def test_falling_five_bar_switches_partitions_without_a_jump(make):
    """60 s of free fall pass singular partitions: no NaN, no jump, residuals as before."""
    m = make()
    s = compile_model(m).state()
    s.assemble()
    s.forward()
    h, worst, last, most, jump = 2e-4, 0.0, sum(s.energy()), 0.0, 0.0
    for _ in range(6000):
        assert s.run(50, h) == 0
        worst = max(worst, *s.residuals())
        kinetic, potential = s.energy()
        most, jump, last = max(most, kinetic), max(jump, abs(kinetic + potential - last)), kinetic + potential
    assert np.all(np.isfinite(s.x)) and worst < RESIDUAL
    assert s.switches >= 10
    assert jump < 1e-4 * most                              # a jump of the state would be one of the energy


def test_partition_switch_keeps_the_state():
    """The state before and after a switch is the same motion: one partition forced at a time gives equal accelerations."""
    m = five_bar()
    model, oracle = compile_model(m), Oracle(m)
    assert len(model.report.partitions) >= 2
    s = moving(model, 0)
    seen, worst = set(), 0.0
    for _ in range(4000):
        s.run(5, 2e-4)
        if s.partition not in seen or len(seen) < 2:
            seen.add(s.partition)
            s.forward()
            worst = max(worst, agreement(s.vd, oracle.closed_forward(s.q, s.v)[0]))
    assert len(seen) >= 2 and worst < 1e-8


# -- loops that say too much ----------------------------------------------------------------------------
def test_redundant_rows_are_found_and_named():
    """A planar four-bar closed in space holds one row that says nothing: it is named, and the motion is unchanged."""
    m = Mechanism('spatial_four_bar', gravity=(0, -9.81, 0))
    plane = four_bar()
    crank = m.body('crank', m.ground, revolute('z'), mass=0.5, com=(0.05, 0, 0), inertia=0.002, initial=0.7)
    coupler = m.body('coupler', crank.at(0.1, 0, 0), revolute('z'), mass=0.8, com=(0.125, 0.02, 0), inertia=0.005,
                     initial=-0.1)
    rocker = m.body('rocker', m.ground.at(0.22, 0, 0), revolute('z'), mass=0.6, com=(0.1, 0, 0), inertia=0.003, initial=1.4)
    m.close(coupler.at(0.25, 0, 0), rocker.at(0.2, 0, 0), name='closure')
    space, flat = compile_model(m), compile_model(plane)
    assert any('closure' in str(r) for r in space.report.redundant) or not np.any(space.state().constraints()[1][2])
    a, b = space.state(), flat.state()
    for s in (a, b):
        s.assemble()
        s.run(500, 1e-3)
    assert np.allclose(a.q, b.q, atol=1e-9)


def test_loop_closed_twice_is_named_redundant():
    """The same loop twice adds nothing: the second is reported by name."""
    m = four_bar()
    m.close(m['coupler'].at(0.25, 0, 0), m['rocker'].at(0.2, 0, 0), plane='xy', name='again')
    model, once = compile_model(m), compile_model(four_bar())
    names = ' '.join(map(str, model.report.redundant))
    assert 'again' in names or 'closure' in names
    a, b = model.state(), once.state()
    for s in (a, b):
        s.assemble()
        s.run(300, 1e-3)
    assert np.allclose(a.q, b.q, atol=1e-9)


def test_contradictory_loops_are_refused_by_name():
    """Two loops that can't hold together, a loop out of reach, and a mechanism that can't move are refused."""
    m = four_bar()
    m.close(m['coupler'].at(0.25, 0, 0), m['rocker'].at(0.1, 0, 0), plane='xy', name='wrong')
    with pytest.raises(MbsError, match='wrong|closure'):
        compile_model(m).state().assemble()
    m = Mechanism('short', gravity=(0, -9.81, 0))
    bar = m.body('bar', m.ground, revolute('z'), mass=1.0, inertia=0.1)
    tip = m.body('tip', bar.at(0.2, 0, 0), revolute('z'), mass=1.0, inertia=0.1)
    m.close(tip.at(0.2, 0, 0), m.ground.at(1.0, 0, 0), plane='xy', name='far')
    with pytest.raises(MbsError, match='far'):
        compile_model(m).state().assemble()


def test_over_constrained_mechanism_is_refused():
    """No freedom left: the sentence tells so with the names."""
    m = four_bar()
    m.constrain('stop', m['crank'].q - 0.7)
    with pytest.raises(MbsError, match='four_bar'):
        compile_model(m)


def test_driving_more_than_there_is_freedom_is_refused():
    """Two driven joints of a mechanism with one freedom are named."""
    m = four_bar()
    m.positions[:] = compile_model(four_bar()).state().q      # a closed pose: nothing else is wrong
    m.drive('crank', 'rocker')
    with pytest.raises(MbsError, match='crank|rocker'):
        compile_model(m)


def test_adaptive_run_changes_partition_too():
    """The closed link driven by torques leaves its first partition within 2 s; adaptive and fixed-step runs agree."""
    from mbs_core.mechanisms import build
    from mbs_core.runtime import adaptive, simulate
    model = compile_model(build('two_link', closed=True, control='torques'))
    fixed = simulate(model, 2.0, h=1e-4, every=1000)
    found = adaptive(model, 2.0, times=[0.0, 2.0])
    assert fixed.switches > 0
    assert found.q[-1] == pytest.approx(fixed.q[-1], abs=1e-6)
    assert found.residual.max() < 1e-10
