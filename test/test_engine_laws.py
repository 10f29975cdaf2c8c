"""Force laws: what they push, what they store, what they lose."""

import ctypes
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_core.description import (Mechanism, contact, damper, effort, felt, free, friction, link, lugre, prismatic,
                                  spring)
from mbs_core.runtime import compile_model, simulate
from mbs_core.runtime.library import register_external
from mbs_core.symbolic import call

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import Oracle
from random_mechanisms import random_tree

G = 9.81


def slider(**options):
    """Return a mass of 2 kg on a horizontal slide, without gravity."""
    m = Mechanism('slider', gravity=(0, 0, 0))
    m.body('x', m.ground, prismatic('x'), mass=2.0, **options)
    return m


def acceleration(m, q, v):
    """Return vd of a mechanism's coordinates at a state."""
    s = compile_model(m).state()
    s.q[:], s.v[:] = q, v
    s.forward()
    return s.vd.copy()


def test_joint_laws_push_as_they_say():
    """effort, spring with rest and preload, damper, Coulomb, viscous and Stribeck friction at a state."""
    cases = [(effort('x', 3.0), 3.0), (spring('x', 50.0, rest=0.1, preload=2.0), -2.0 - 50.0 * (0.3 - 0.1)),
             (damper('x', 4.0), -4.0 * 0.5), (friction('x', 1.5, viscous=2.0), -1.5 * math.tanh(50.0) - 1.0),
             (friction('x', 1.0, static=1.8, stribeck=0.5, smooth=0.01), -(1.0 + 0.8 * math.exp(-1.0)) * math.tanh(50.0))]
    for law, force in cases:
        m = slider()
        m.add(law)
        assert acceleration(m, 0.3, 0.5) == pytest.approx([force / 2.0], rel=1e-12), law.name


def test_laws_add_up_and_follow_inputs_and_time():
    """Several laws on one joint sum; an input and the time enter as expressions."""
    m = slider()
    m.add(spring('x', 10.0))
    m.add(effort('x', m.input('u', 'N') * 2.0 + m.time))
    s = compile_model(m).state()
    s.q[:], s.t = 0.2, 5.0
    s.input('u', 3.0)
    s.forward()
    assert s.vd[0] == pytest.approx((6.0 + 5.0 - 2.0) / 2.0, rel=1e-12)


def swing(damping=0.0):
    """Return two free bodies, one hung on the ground and one on the other by springs between points."""
    m = Mechanism('swing', gravity=(0, 0, -G))
    a = m.body('a', m.ground, free(), mass=1.0, com=(0.01, 0, 0), inertia=(0.01, 0.02, 0.015), initial=(0.1, 0, -0.6))
    b = m.body('b', m.ground, free(), mass=0.6, inertia=(0.005, 0.004, 0.006), initial=(0.2, 0.1, -1.1),
               rate=(0.5, 0, 0, 0, 1.0, 2.0))
    m.add(link(m.ground.at(0, 0.1, 0), a.at(0, 0.1, 0.1), rate=80.0, length=0.4, damping=damping, name='upper'))
    m.add(link(a.at(0, 0, -0.1), b.at(0.05, 0, 0.1), rate=60.0, length=0.3, damping=damping, name='lower'))
    return m


def test_links_conserve_energy_and_momentum():
    """Springs between moving bodies keep the energy; the lower one leaves the sum of forces on both bodies alone."""
    run = simulate(compile_model(swing()), 5.0, h=1e-3, every=50)
    total = run.energy.sum(axis=1)
    assert np.abs(total - total[0]).max() < 1e-7 * run.energy[:, 0].max()
    m = swing()
    s, oracle = compile_model(m).state(), Oracle(m)
    s.forward()
    oracle.update(s.q, s.v, s.vd)
    rate = sum(oracle.number(m[n].mass) * oracle.motion(m[n].at(*m[n].com))[4] for n in 'ab')
    gap = oracle.motion(m['a'].at(0, 0.1, 0.1))[0] - np.array([0, 0.1, 0])
    length = np.linalg.norm(gap)
    pull = -80.0 * (length - 0.4) * gap / length
    assert rate == pytest.approx(pull + 1.6 * np.array([0, 0, -G]), rel=1e-10)


def test_damped_links_lose_what_they_dissipate():
    """Energy + the integral of damping * rate^2 is constant."""
    m = swing(damping=3.0)
    lost = m.state('lost')
    kin = m.kinematics
    power = 0.0
    for p, q in ((m.ground.at(0, 0.1, 0), m['a'].at(0, 0.1, 0.1)), (m['a'].at(0, 0, -0.1), m['b'].at(0.05, 0, 0.1))):
        gap = [x - y for x, y in zip(kin.point(p, m.ground), kin.point(q, m.ground))]
        rate = m.rate((gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]) ** 0.5)
        power = power + 3.0 * rate * rate
    m.derivative(lost, power)
    run = simulate(compile_model(m), 3.0, h=1e-3, every=50)
    total = run.energy.sum(axis=1) + run.z[:, 0]
    assert run.z[-1, 0] > 0.1
    assert np.abs(total - total[0]).max() < 1e-7 * abs(run.energy[:, 0]).max()


def ball(hysteresis, mu=0.0, speed=0.0):
    """Return a ball that falls on the floor of a tilted plane's body."""
    m = Mechanism('ball', gravity=(0, -G, 0))
    x = m.body('x', m.ground, prismatic('x'), mass=0.0, rate=speed)
    y = m.body('y', x, prismatic('y'), mass=0.1, initial=0.06)
    m.add(contact(y.at(), m.ground, (0, 1, 0), stiffness=1e6, exponent=1.5, hysteresis=hysteresis, radius=0.01, friction=mu,
                  name='floor'))
    return m


def test_elastic_contact_gives_the_energy_back():
    """Without hysteresis the ball returns to its height; with it, lower and lower, never higher."""
    s = compile_model(ball(0.0)).state()
    heights, last = [], 0.0
    for _ in range(12000):
        s.step(5e-5)
        if last > 0 >= s.v[1]:
            heights.append(s.q[1])
        last = s.v[1]
    assert heights and heights == pytest.approx([0.06] * len(heights), abs=1e-6)
    s = compile_model(ball(0.5)).state()
    heights, last = [0.06], 0.0
    for _ in range(20000):
        s.step(5e-5)
        if last > 0 >= s.v[1]:
            heights.append(s.q[1])
        last = s.v[1]
    assert len(heights) > 2 and all(b < a for a, b in zip(heights, heights[1:]))


def test_contact_never_pulls():
    """Even when leaving fast, the force is not negative; above the plane it is zero."""
    m = ball(5.0)
    for y, v in ((0.009, 100.0), (0.0101, -1.0), (0.0101, 1.0)):
        assert acceleration(m, [0.0, y], [0.0, v])[1] == pytest.approx(-G, rel=1e-12)
    assert acceleration(m, [0.0, 0.009], [0.0, -0.1])[1] == pytest.approx(1e6 * 1e-3 ** 1.5 * 1.5 / 0.1 - G, rel=1e-12)


def test_contact_friction_opposes_sliding_and_its_size_is_mu_n():
    """Coulomb friction at 1 m/s: mu N against the motion, the reaction on the other body."""
    m = ball(0.0, mu=0.4)
    normal = 1e6 * 1e-3 ** 1.5
    found = acceleration(m, [0.0, 0.009], [1.0, 0.0])
    assert found[0] == pytest.approx(-0.4 * normal / math.sqrt(1 + 1e-6) / 0.1, rel=1e-9)


def test_contact_between_moving_bodies_obeys_action_and_reaction():
    """Two free bodies in contact: the sum of momentum rates is the weight, and so is that of the moments."""
    m = Mechanism('pair', gravity=(0, 0, -G))
    a = m.body('a', m.ground, free(), mass=1.0, inertia=(0.1, 0.1, 0.1), rate=(0, 0, 0, 0.5, 0, 1.0))
    b = m.body('b', m.ground, free(), mass=2.0, inertia=(0.2, 0.1, 0.2), initial=(0.3, 0.1, 0.095), rate=(1.0, 0, -0.5, 0, 2.0, 0))
    m.add(contact(b.at(0.05, 0, 0), a, (0, 0, 1), stiffness=1e5, radius=0.1, friction=0.3))
    s, oracle = compile_model(m).state(), Oracle(m)
    s.forward()
    assert np.abs(s.vd).max() > 1.0
    oracle.update(s.q, s.v, s.vd)
    force, moment = np.zeros(3), np.zeros(3)
    for body in (a, b):
        place, rotation, _, w, acc, alpha = oracle.motion(body.at())
        inertia = rotation @ np.diag(oracle.numbers(body.inertia)[:3]) @ rotation.T
        f = oracle.number(body.mass) * (acc + np.array([0, 0, G]))
        force += f
        moment += np.cross(place, f) + inertia @ alpha + np.cross(w, inertia @ w)
    assert np.abs(force).max() < 1e-9 and np.abs(moment).max() < 1e-9


def test_felt_loses_energy_in_a_press_and_release():
    """Hunt-Crossley and Stulov felts: force rises as k x^p, the loop of force and depth encloses positive work."""
    for options in (dict(hysteresis=0.5), dict(relaxation=2e-3, fraction=0.6, name='head.felt')):
        m = Mechanism('press', gravity=(0, 0, 0))
        x = m.body('x', m.ground, prismatic('x'), mass=0.01)
        m.drive(x)
        m.add(felt(x.q, 1e6, exponent=2.0, **options))
        m.output('force', m.effort(x), 'N')
        s, work, peak, h, t = compile_model(m).state(), 0.0, 0.0, 1e-5, 0.0

        def motion(t):
            w = 2 * math.pi * 50
            return (1e-3 * (1 - math.cos(w * t)) / 2, 1e-3 * w * math.sin(w * t) / 2, 1e-3 * w * w * math.cos(w * t) / 2)
        for k in range(2000):
            s.drive('x', *motion(t), then=motion(t + h))
            s.step(h)
            t += h
            push = s.eff[0] - 0.01 * s.vd[0]
            assert push > -1e-9
            work += push * s.v[0] * h
            peak = max(peak, push)
        assert 0.4 < peak < 1.2 and 0 < work < peak * 1e-3       # k x^p is 1 N at the bottom; the memory takes up to 60 %


def test_lugre_friction_sticks_slides_and_dissipates():
    """Steady sliding gives the Stribeck level; a load below it sticks; work done on the bristle is never given back twice."""
    def block(force):
        m = slider()
        m.add(lugre('x', 1e5, 300.0, 2.0, 3.0, 0.05, viscous=20.0, name='pad'))
        m.add(effort('x', force))
        return m
    run = simulate(compile_model(block(2.5)), 2.0, h=1e-4, every=100)      # below the static level
    assert abs(run.v[-1, 0]) < 1e-6 and run.q[-1, 0] < 1e-3 and run.z[-1, 0] == pytest.approx(2.5 / 1e5, rel=1e-6)
    run = simulate(compile_model(block(6.0)), 2.0, h=1e-4, every=1000)      # slides
    assert run.v[-1, 0] == pytest.approx((6.0 - 2.0) / 20.0, rel=1e-3)
    m = slider(rate=1.0)
    m.add(lugre('x', 1e5, 300.0, 2.0, 3.0, 0.05, name='pad'))
    run = simulate(compile_model(m), 1.5, h=2e-5, every=50)
    stored = run.energy.sum(axis=1) + 0.5e5 * run.z[:, 0] ** 2
    assert np.all(np.diff(stored) < 1e-6) and abs(run.v[-1, 0]) < 1e-6


def test_energy_of_a_tree_with_springs_is_conserved():
    """Any tree with joint springs keeps its energy; with dampers it only loses."""
    for loss in (0.0, 0.5):
        m = random_tree(8, 6, kinds=('revolute', 'prismatic', 'revolute'))
        for body in list(m.bodies.values())[1:]:
            m.add(spring(body, 200.0))
            if loss:
                m.add(damper(body, loss))
        run = simulate(compile_model(m), 2.0, h=2e-4, every=20)
        total = run.energy.sum(axis=1)
        if loss:
            assert np.all(np.diff(total) < 1e-9 * total.max())
        else:
            assert np.abs(total - total[0]).max() < 1e-6 * run.energy[:, 0].max()


def test_power_of_all_laws_is_the_rate_of_energy():
    """At any instant dE/dt equals the power of the efforts that are not stored: dampers, friction, inputs."""
    m = random_tree(12, 6, kinds=('revolute', 'prismatic'))
    names = [b.name for b in list(m.bodies.values())[1:]]
    m.add(spring(names[0], 30.0, rest=0.2))
    m.add(damper(names[1], 2.0))
    m.add(link(m.ground.at(1, 0, 0), m[names[-1]].at(0, 0.1, 0), rate=40.0, length=0.2))
    s = compile_model(m).state()
    rng = np.random.default_rng(1)
    s.q[:], s.v[:], s.tau[:] = rng.normal(size=(3, len(s.q)))
    s.forward()
    q, v, a, tau = s.q.copy(), s.v.copy(), s.vd.copy(), s.tau.copy()

    def energy(t):
        s.q[:], s.v[:] = q + v * t + 0.5 * a * t * t, v + a * t
        return sum(s.energy())
    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    index = s.model.coordinates.index(names[1])
    assert rate == pytest.approx(tau @ v - 2.0 * v[index] ** 2, rel=1e-8)


def test_external_compiled_function_serves_as_a_law():
    """A law may call an outside function void f(const double *in, double *out) by its address."""
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))

    @kind
    def magnet(given, result):
        result[0] = -3.0 * given[0] ** 3
        result[1] = -0.5 * given[1]
    register_external('test_magnet', ctypes.cast(magnet, ctypes.c_void_p).value)
    m = slider()
    pull, drag = call('test_magnet', [m['x'].q, m['x'].qd], 2)
    m.add(effort('x', pull + drag))
    assert acceleration(m, 0.4, 0.2) == pytest.approx([(-3.0 * 0.064 - 0.1) / 2.0], rel=1e-14)
