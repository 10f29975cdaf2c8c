"""Integrators, states, equilibrium, linear models and modes against closed forms and against each other."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_core.description import Mechanism, contact, damper, effort, free, prismatic, spring
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import adaptive, compile_model, equilibrium, linearise, modes, simulate

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import Oracle
from random_mechanisms import five_bar, four_bar, wishbone

G = 9.81


# -- integrators ---------------------------------------------------------------------------------------
def test_simple_pendulum_keeps_its_period_and_place():
    """Released level: x, y at 10 s and the period of the closed form (elliptic integral)."""
    s = compile_model(build('pendulum')).state()
    s.run(20000, 5e-4)
    out = s.outputs()
    assert (out['x1'], out['y1']) == pytest.approx((-0.275087463, -0.961419205), abs=1e-6)
    s = compile_model(build('pendulum')).state()
    crossings, before = [], s.q[0]
    for _ in range(6000):
        s.step(1e-3)
        if before < 0 <= s.q[0]:
            crossings.append(s.t - s.q[0] / s.v[0])
        before = s.q[0]
    assert np.diff(crossings) == pytest.approx([2.367841947576] * (len(crossings) - 1), abs=1e-5)


def test_double_pendulum_equals_the_reference():
    """From level at rest: the angles of both rods at 1 s and 2 s."""
    s = compile_model(build('pendulum', links=2)).state()
    for expected in ((-0.625087700, -1.034585086), (-0.482971534, -1.324048712)):
        s.run(4000, 2.5e-4)
        assert (s.outputs()['theta1'], s.outputs()['theta2']) == pytest.approx(expected, abs=1e-6)


def error_at_one_second(model, method, h, reference):
    """Return the position error after one second."""
    s = model.state()
    s.run(round(1.0 / h), h, method)
    return np.abs(s.q - reference).max()


@pytest.mark.parametrize('method, order, h', [('rk4', 4, 8e-3), ('euler', 1, 1e-3), ('implicit', 2, 4e-3)])
def test_integrators_converge_with_their_order(method, order, h):
    """Half the step, 2^order less error: open chain, and closed loop."""
    for m in (build('pendulum', links=2), build('two_link', closed=True, control='pd')):
        model = compile_model(m)
        reference = adaptive(model, 1.0, times=[0.0, 1.0], rtol=1e-12, atol=1e-13).q[-1]
        errors = [error_at_one_second(model, method, k, reference) for k in (h, h / 2, h / 4)]
        for a, b in zip(errors, errors[1:]):
            assert math.log2(a / b) == pytest.approx(order, abs=0.35), (m.name, errors)


def tumbling():
    """Return a free body with its centre of mass off its origin, spinning near its middle axis."""
    m = Mechanism('tumbler', gravity=(0, 0, 0))
    m.body('b', m.ground, free(), mass=1.0, com=(0.1, 0.05, 0), inertia=(0.1, 0.2, 0.3), rate=(0.3, 0, 0, 0.01, 5.0, 0.02))
    return m


def test_tumbling_body_keeps_energy_momentum_and_quaternion():
    """Ten seconds of the tennis-racket flip: energy and momentum to 1e-9, the quaternion of length one."""
    m = tumbling()
    s, oracle = compile_model(m).state(), Oracle(m)

    def momentum():
        oracle.update(s.q, s.v)
        body = m['b']
        place, rotation, speed, w, _, _ = oracle.motion(body.at(*body.com))
        return np.concatenate([speed, np.cross(place, speed) + rotation @ np.diag(body.inertia[:3]) @ rotation.T @ w])
    s.forward()
    energy, before = s.energy()[0], momentum()
    s.run(10000, 1e-3)
    assert s.energy()[0] == pytest.approx(energy, rel=1e-9)
    assert momentum() == pytest.approx(before, abs=1e-9)
    assert np.linalg.norm(s.q[3:]) == pytest.approx(1.0, abs=1e-15)


def test_ball_joints_keep_the_order_of_the_integrators():
    """Quaternions are moved with the full order of each method."""
    model = compile_model(tumbling())
    reference = adaptive(model, 1.0, times=[1.0], rtol=1e-12, atol=1e-13).q[-1]
    for method, order, h in (('rk4', 4, 8e-3), ('euler', 1, 1e-3), ('implicit', 2, 4e-3)):
        a, b = (error_at_one_second(model, method, k, reference) for k in (h, h / 2))
        assert math.log2(a / b) == pytest.approx(order, abs=0.2), method


def test_substeps_equal_shorter_steps():
    """A step in four parts is four steps."""
    model = compile_model(five_bar())
    a, b = model.state(), model.state()
    a.run(50, 1e-3, substeps=4)
    b.run(200, 2.5e-4)
    assert np.allclose(a.q, b.q, atol=1e-13) and a.t == pytest.approx(b.t)


def test_adaptive_and_fixed_step_runs_agree():
    """scipy's DOP853 and RK4 draw the same line, with ball joints and loops."""
    m = wishbone()
    m.add(spring(m['chassis'], 2e4, rest=0.3))
    model = compile_model(m)
    reference = adaptive(model, 0.3, times=[0.3])
    fixed = simulate(model, 0.3, h=5e-4)
    assert np.abs(fixed.q[-1] - reference.q[-1]).max() < 1e-7
    assert fixed.residual.max() < 1e-10 and reference.residual.max() < 1e-10


def pressed_ball(stiffness=1e10):
    """Return a ball of 0.1 kg on a floor, with an input that presses it down."""
    m = Mechanism('ball', gravity=(0, -G, 0))
    ball = m.body('ball', m.ground, prismatic('y'), mass=0.1, initial=0.01 - ((0.1 * G + 20.0) / stiffness) ** (1 / 1.5))
    m.add(contact(ball.at(), m.ground, (0, 1, 0), stiffness=stiffness, exponent=1.5, hysteresis=5.0, radius=0.01))
    m.add(effort(ball, -m.input('press', 'N', default=20.0)))
    return m


def test_implicit_integrator_is_stable_on_a_stiff_contact():
    """A contact of 1e10 N/m^1.5 (2 kHz and more) pressed by changing forces settles at 1 ms; RK4 throws the ball off."""
    model = compile_model(pressed_ball())
    implicit, explicit = model.state(), model.state()
    for force in (20.0, 40.0, 25.0, 60.0):
        for s, method in ((implicit, 'implicit'), (explicit, 'rk4')):
            s.input('press', force)
            s.run(500, 1e-3, method)
        rest = 0.01 - ((0.1 * G + force) / 1e10) ** (1 / 1.5)
        assert implicit.q[0] == pytest.approx(rest, abs=1e-7) and abs(implicit.v[0]) < 1e-5
    assert not abs(explicit.q[0] - rest) < 1e-6


def test_unknown_integrator_and_bad_steps_are_refused():
    """The method, the step and the sub-steps are checked."""
    s = compile_model(four_bar()).state()
    for bad in (dict(method='rk5'), dict(h=0.0), dict(h=-1.0), dict(h=math.nan), dict(substeps=0)):
        with pytest.raises(MbsError):
            s.run(1, **({'h': 1e-3} | bad))


# -- states and parameters ------------------------------------------------------------------------------
def test_parameters_are_set_all_or_none():
    """One bad value in a batch leaves everything as it was; the sentence names it."""
    s = compile_model(build('pendulum', links=2)).state()
    for bad, named in (({'rod1.mass': 2.0, 'rod2.mass': -5.0}, 'rod2.mass'), ({'rod1.mass': 2.0, 'rod9.mass': 1.0}, 'rod9'),
                       ({'rod1.mass': math.nan}, 'rod1.mass'), ({'rod1.mass': 'heavy'}, 'heavy')):
        with pytest.raises(MbsError, match=named):
            s.set(bad)
        assert s.get('rod1.mass') == 1.0
    with pytest.raises(MbsError, match='rod3'):
        s.get('rod3.mass')


def test_states_of_one_model_do_not_touch_each_other():
    """Two states run beside each other as if alone."""
    model = compile_model(four_bar())
    a, b, alone = model.state(), model.state(), model.state()
    b.set('crank.length', 0.09)
    for _ in range(20):
        a.run(10, 1e-3)
        b.run(7, 1e-3)
    alone.run(200, 1e-3)
    assert np.allclose(a.q, alone.q, atol=1e-12) and not np.allclose(a.q, b.q, atol=1e-3)


def test_driven_motion_is_checked():
    """Only driven coordinates can be driven, by finite numbers."""
    s = compile_model(four_bar(driven=True)).state()
    for wrong in (('rocker', 0.0), ('crank', math.nan), ('spoke', 0.0)):
        with pytest.raises(MbsError, match=wrong[0]):
            s.drive(*wrong)


# -- equilibrium, linear model, modes -------------------------------------------------------------------
def mass_chain(n, rate=100.0, mass=0.5, loss=0.0):
    """Return n masses between two walls, joined by springs."""
    m = Mechanism('chain', gravity=(0, 0, 0))
    last = m.ground
    for k in range(n):
        last = m.body(f'x{k}', last, prismatic('x'), mass=mass)
        m.add(spring(last, rate))
        m.add(damper(last, loss))
    total = sum((m[f'x{k}'].q for k in range(1, n)), m['x0'].q)
    m.work(-rate * total, total, 'wall')                   # the last spring, to the other wall
    m.store(0.5 * rate * total * total, 'wall')
    return m


def test_modes_of_a_chain_of_masses_are_the_closed_form():
    """omega_k = 2 sqrt(k/m) sin(k pi / (2 (n + 1)))."""
    n = 6
    found = modes(compile_model(mass_chain(n)).state())
    expected = [2 * math.sqrt(100.0 / 0.5) * math.sin(k * math.pi / (2 * (n + 1))) / (2 * math.pi) for k in range(1, n + 1)]
    assert np.sort(found.frequency) == pytest.approx(expected, rel=1e-7)
    assert np.abs(found.damping).max() < 1e-6


def test_modes_of_a_damped_mass_are_the_closed_form():
    """Damping ratio c / (2 sqrt(k m)), frequency sqrt(k/m)."""
    m = Mechanism('mass', gravity=(0, 0, -G))
    x = m.body('x', m.ground, prismatic('z'), mass=2.0)
    m.add(spring(x, 800.0))
    m.add(damper(x, 8.0))
    s = equilibrium(compile_model(m).state())
    assert s.q[0] == pytest.approx(-2.0 * G / 800.0, rel=1e-9)
    found = modes(s)
    assert found.frequency[0] == pytest.approx(20.0 / (2 * math.pi), rel=1e-8)
    assert found.damping[0] == pytest.approx(8.0 / (2 * math.sqrt(800.0 * 2.0)), rel=1e-7)


def test_pendulum_hangs_and_swings_at_sqrt_g_over_l():
    """Equilibrium straight down; linear model [[0, 1], [-g/l, 0]]; input matrix 1 / (m l^2)."""
    s = compile_model(build('pendulum', start=(0.4,))).state()
    s.set({'rod1.length': 0.7, 'rod1.mass': 2.0})
    equilibrium(s)
    assert s.q[0] == pytest.approx(0.0, abs=1e-10)
    linear = linearise(s)
    assert linear.A == pytest.approx(np.array([[0.0, 1.0], [-G / 0.7, 0.0]]), abs=1e-7)
    column = linear.B[:, linear.inputs.index('tau.rod1')]
    assert column == pytest.approx([0.0, 1 / (2.0 * 0.49)], rel=1e-9)
    assert modes(s).frequency[0] == pytest.approx(math.sqrt(G / 0.7) / (2 * math.pi), rel=1e-7)


def test_equilibrium_of_a_closed_mechanism_has_no_acceleration():
    """The four-bar on a spring rests where Pinocchio's KKT system with that effort sees no acceleration."""
    m = four_bar()
    m.add(spring(m['crank'], 5.0, rest=0.7))
    s = equilibrium(compile_model(m).state())
    oracle = Oracle(m)
    tau = np.array([-5.0 * (s.q[0] - 0.7), 0.0, 0.0])
    assert np.abs(s.v).max() == 0.0
    assert np.abs(oracle.closed_forward(s.q, s.v, tau)[0]).max() < 1e-7


def test_linear_model_of_a_closed_mechanism_predicts_small_motion():
    """A small free swing of the sprung four-bar follows its linear model."""
    m = four_bar()
    m.add(spring(m['crank'], 5.0, rest=0.7))
    s = equilibrium(compile_model(m).state())
    rest, linear = s.q.copy(), linearise(s)
    free = s.model.coordinates.index(linear.names[0][2:])
    s.q[free] += 1e-5
    s.assemble()
    s.run(200, 1e-3)
    from scipy.linalg import expm
    predicted = expm(linear.A * 0.2) @ np.array([1e-5, 0.0])
    assert s.q[free] - rest[free] == pytest.approx(predicted[0], abs=1e-8)
