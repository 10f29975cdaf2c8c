"""Efforts in closed mechanisms (E3): driven joints and their power, reactions, multipliers."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_core.description import Mechanism, damper, prismatic, revolute, spring
from mbs_core.runtime import compile_model

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from oracles import Oracle, agreement
from random_mechanisms import five_bar, four_bar, random_positions, random_tree


# -- driven joints -------------------------------------------------------------------------------------
def driven_state(s, t):
    """Bring a driven four-bar to time t of a smooth crank motion and return its crank's rate."""
    rate, acceleration = 5.0 + 3.0 * np.cos(2.0 * t), -6.0 * np.sin(2.0 * t)
    s.drive('crank', 0.7 + 5.0 * t + 1.5 * np.sin(2.0 * t), rate, acceleration)
    s.assemble()
    assert s.forward() == 0
    return rate


def test_work_of_driven_efforts_is_energy_and_dissipation():
    """E3: over a second of prescribed motion, work = change of energy + losses to 1e-8."""
    m = four_bar(driven=True)
    m.add(damper(m['rocker'], 0.05))
    m.add(spring(m['coupler'], 0.3))
    s = compile_model(m).state()
    nodes, weights = np.polynomial.legendre.leggauss(12)
    work = losses = 0.0
    driven_state(s, 0.0)
    before = sum(s.energy())
    rocker = [c.index for c in m.coordinates if c.name == 'rocker'][0]
    for k in range(40):                                    # short steps keep the crank near the last pose
        for x, w in zip(nodes, weights):
            t = (k + 0.5 + 0.5 * x) / 40
            rate = driven_state(s, t)
            work += w / 80 * s.eff[0] * rate
            losses += w / 80 * 0.05 * s.v[rocker] ** 2
    driven_state(s, 1.0)
    balance = sum(s.energy()) - before + losses
    assert work == pytest.approx(balance, rel=1e-8)


def test_driven_motion_is_followed_through_a_step():
    """Given both ends of a step, the driven joint passes the quintic between them; efforts at the end are exact."""
    m = four_bar(driven=True)
    model = compile_model(m)
    s, fresh = model.state(), model.state()
    h = 1e-3

    def crank(t):
        return 0.7 + 5.0 * t + 1.5 * np.sin(2.0 * t), 5.0 + 3.0 * np.cos(2.0 * t), -6.0 * np.sin(2.0 * t)
    s.drive('crank', *crank(0.0))
    s.assemble()
    for k in range(300):
        s.drive('crank', *crank(k * h), then=crank((k + 1) * h))
        assert s.step(h) == 0
    fresh.q[:], fresh.v[:] = s.q, s.v
    fresh.drive('crank', *crank(300 * h))
    fresh.forward()
    assert s.q[0] == pytest.approx(crank(300 * h)[0], rel=1e-14)
    assert s.eff == pytest.approx(fresh.eff, rel=1e-9)


def test_driven_efforts_equal_pinocchio():
    """E3, 001 eq. 13: the effort that moves a driven joint equals the multiplier of that motion in the KKT system."""
    m = five_bar()
    m.drive('left.upper')
    model, oracle = compile_model(m), Oracle(m)
    s = model.state()
    s.drive('left.upper', 2.1, 0.8, -3.0)
    s.assemble()
    s.v[[c.name for c in m.coordinates].index('right.upper')] = -0.6
    s.assemble()
    assert s.forward() == 0
    expected, _, efforts = oracle.closed_forward(s.q, s.v, None, {m.driven[0].index: -3.0})
    assert agreement(s.vd, expected) < 1e-9
    assert s.eff[0] == pytest.approx(efforts[0], rel=1e-9)


def test_power_of_driven_efforts_is_the_rate_of_energy():
    """E3 at an instant, with a free coordinate beside the driven one: effort * rate = dE/dt."""
    m = five_bar()
    m.drive('left.upper')
    s, oracle = compile_model(m).state(), Oracle(m)
    s.drive('left.upper', 2.1, 0.8, -3.0)
    s.assemble()
    s.forward()
    q, v, a = s.q.copy(), s.v.copy(), s.vd.copy()

    def energy(t):
        return sum(oracle.energy(q + v * t + 0.5 * a * t * t, v + a * t))
    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert s.eff[0] * 0.8 == pytest.approx(rate, rel=1e-8)


# -- forces inside --------------------------------------------------------------------------------------
def test_reactions_equal_pinocchio_on_a_tree():
    """The wrench through each joint equals Pinocchio's, in ground axes for a planar mechanism."""
    m = Mechanism('arm', gravity=(0, -9.81, 0))
    a = m.body('a', m.ground, revolute('z'), mass=1.0, com=(0.2, 0.05, 0.02), inertia=(0.01, 0.01, 0.02), initial=0.3, rate=1.0)
    b = m.body('b', a.at(0.4, 0, 0), revolute('z'), mass=0.7, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02), initial=0.8,
               rate=-2.0)
    slide = m.body('c', b.at(0.3, 0, 0), prismatic('x'), mass=0.4, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01), rate=0.5)
    for body in (a, b, slide):
        for k, value in enumerate(m.reaction(body)):
            m.output(f'{body.name}.r{k}', value)
    s, oracle = compile_model(m).state(), Oracle(m)
    s.forward()
    out = s.outputs()
    for body in (a, b, slide):
        ours = [out[f'{body.name}.r{k}'] for k in range(6)]
        assert agreement(ours, oracle.reaction(body, s.q, s.v, s.vd)) < 1e-9, body.name


def test_reactions_equal_pinocchio_on_spatial_trees():
    """Size of force and moment through every joint of a random spatial tree (axes are those of the computing frame)."""
    m = random_tree(17, 7, kinds=('revolute', 'prismatic', 'spherical'))
    bodies = [b for b in m.bodies.values() if b.parent is not None]
    for body in bodies:
        for k, value in enumerate(m.reaction(body)):
            m.output(f'{body.name}.r{k}', value)
    s, oracle = compile_model(m).state(), Oracle(m)
    rng = np.random.default_rng(0)
    s.q[:], s.v[:] = random_positions(m, rng), rng.normal(size=len(s.v))
    s.forward()
    out = s.outputs()
    for body in bodies:
        ours = np.array([out[f'{body.name}.r{k}'] for k in range(6)])
        theirs = oracle.reaction(body, s.q, s.v, s.vd)
        assert np.linalg.norm(ours[:3]) == pytest.approx(np.linalg.norm(theirs[:3]), rel=1e-9), body.name
        assert np.linalg.norm(ours[3:]) == pytest.approx(np.linalg.norm(theirs[3:]), rel=1e-9, abs=1e-9), body.name


def test_reactions_of_a_closed_mechanism_obey_newton():
    """The pivots of the five-bar carry exactly what its parts' accelerations and weights ask for."""
    m = five_bar()
    for side in ('left', 'right'):
        for k, value in enumerate(m.reaction(m[f'{side}.upper'])[:3]):
            m.output(f'{side}.{k}', value, 'N')
    s, oracle = compile_model(m).state(), Oracle(m)
    s.assemble()
    s.run(150, 1e-3)
    s.forward()
    out = s.outputs()
    total = np.array([out[f'left.{k}'] + out[f'right.{k}'] for k in range(3)])
    oracle.update(s.q, s.v, s.vd)
    expected = sum(oracle.number(b.mass) * (oracle.motion(b.at(*b.com))[4] - np.array([0, -9.81, 0]))
                   for b in m.bodies.values() if b.parent is not None)
    assert agreement(total, expected) < 1e-9


def test_multipliers_are_the_forces_of_the_loop():
    """J' lambda equals what Pinocchio's KKT system says the loops do to the joints."""
    m = five_bar()
    oracle, loop = Oracle(m), m.loops[0]
    m.output('x', m.multiplier(loop, 0), 'N')
    m.output('y', m.multiplier(loop, 1), 'N')
    s = compile_model(m).state()
    s.assemble()
    s.run(100, 1e-3)
    s.forward()
    out = s.outputs()
    lam = np.array([out['x'], out['y']])
    jacobian = s.constraints()[1]
    effort = oracle.closed_forward(s.q, s.v)[1]
    assert agreement(jacobian.T @ lam, effort) < 1e-9         # M vd + c = tau + J' lambda
