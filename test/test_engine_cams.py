"""Points on curves (E9): the abscissa is a coordinate of its own, follows the curve, and the motion is the right one."""

import math

import numpy as np
import pytest

from mbs_core.description import Curve, Mechanism, arc, prismatic, revolute, segment, spline
from mbs_core.runtime import compile_model

G = 9.81


def bead(curve, start, s0, speed=0.0, carrier=None):
    """Return a bead of 0.2 kg in the vertical plane, on a curve."""
    m = Mechanism('bead', gravity=(0, -G, 0))
    base = carrier(m) if carrier else m.ground
    x = m.body('x', base, prismatic('x'), initial=start[0])
    y = m.body('y', x, prismatic('y'), mass=0.2, initial=start[1])
    s = m.on_curve(y.at(), curve, on=base, name='wire', initial=s0)
    m.output('s', s.q, 'm')
    m.output('rate', s.v, 'm/s')
    for name, value in zip(('px', 'py'), curve.at(s.q)[:2]):
        m.output(name, value, 'm')
    return m


def bowl(angle):
    """Return an arc of radius 0.5 m about the origin, hanging from -angle to angle about the vertical."""
    return Curve((-0.5 * math.sin(angle), -0.5 * math.cos(angle)), -angle, [arc(0.5, angle=2 * angle)])


def test_bead_on_an_arc_is_a_pendulum():
    """Along a circular wire the bead keeps pace with a pendulum of the same length, and s is the arc length."""
    m = Mechanism('pendulum', gravity=(0, -G, 0))
    m.body('rod', m.ground, revolute('z'), mass=0.2, com=(0, -0.5, 0), initial=-0.8)
    swing = compile_model(m).state()
    start = (-0.5 * math.sin(0.8), -0.5 * math.cos(0.8))
    s = compile_model(bead(bowl(1.5), start, 0.5 * 0.7)).state()
    s.assemble()
    for _ in range(40):
        s.run(50, 1e-3)
        swing.run(50, 1e-3)
        out = s.outputs()
        assert out['s'] / 0.5 - 1.5 == pytest.approx(swing.q[0], abs=1e-6)
        assert (s.q[0], s.q[1]) == pytest.approx((0.5 * math.sin(swing.q[0]), -0.5 * math.cos(swing.q[0])), abs=1e-6)


def chain_curve():
    """Return a C1 curve: down a slope, round an arc, up another slope, through a second arc."""
    return Curve((-0.6, 0.2), -0.6, [segment(0.4), arc(0.3, angle=1.1), segment(0.3), arc(0.2, length=0.2, turn='right')])


WAVE = [(x, x * x - 0.1 * math.sin(5 * x)) for x in np.linspace(-1, 1, 15)]


@pytest.mark.parametrize('curve, s0, exact', [(chain_curve(), 0.05, 2e-3), (spline(WAVE), 0.5, 1e-7)], ids=['pieces', 'spline'])
def test_bead_keeps_to_its_curve_and_keeps_its_energy(curve, s0, exact):
    """Over joints of pieces the point stays on the curve to 1e-10, s is the way travelled, energy is constant.

    Where an arc follows a segment the acceleration jumps, and a step across the joint errs by its length.
    """
    place = [float(c) for c in curve.at(s0)[:2]]
    s = compile_model(bead(curve, place, s0)).state()
    s.assemble()
    s.forward()
    first, way, last = sum(s.energy()), 0.0, np.array(s.q[:2])
    begun = s.outputs()['s']
    for _ in range(600):
        s.run(10, 1e-4)
        out = s.outputs()
        assert (out['px'], out['py']) == pytest.approx(tuple(s.q[:2]), abs=1e-10)
        assert max(s.residuals()) < 1e-10
        way += math.copysign(np.linalg.norm(s.q[:2] - last), out['rate'])
        last = np.array(s.q[:2])
    assert abs(sum(s.energy()) - first) < exact * s.energy()[0]
    assert out['s'] - begun == pytest.approx(way, rel=5e-4)          # chords against arcs; a spline's s between its knots
    assert abs(out['s'] - begun) > 0.3


def test_curve_pieces_join_with_one_tangent():
    """Position and tangent are continuous at every joint, and the tangent is the derivative of the position."""
    curve = chain_curve()
    for stop in (0.4, 0.4 + 0.33, 0.4 + 0.33 + 0.3):
        before, after = (np.array(curve.at(stop + d)) for d in (-1e-9, 1e-9))
        assert np.abs(after - before).max() < 1e-8
    for s in (0.1, 0.5, 0.9, 1.1):
        ahead, behind = (np.array(curve.at(s + d)[:2]) for d in (1e-6, -1e-6))
        angle = curve.at(s)[2]
        assert (ahead - behind) / 2e-6 == pytest.approx([math.cos(angle), math.sin(angle)], abs=1e-6)


def test_curve_on_a_moving_body_turns_with_it():
    """A straight wire on a spinning arm: the bead obeys r'' = w^2 r without gravity."""
    m = Mechanism('spinner', gravity=(0, 0, 0))
    arm = m.body('arm', m.ground, revolute('z'), mass=1.0, inertia=1e6, rate=2.0)
    x = m.body('x', arm, prismatic('x'), initial=0.1)
    y = m.body('y', x, prismatic('y'), mass=0.01)
    s = m.on_curve(y.at(), Curve((0.0, 0.0), 0.0, [segment(1.0)]), on=arm, name='wire', initial=0.1)
    m.output('s', s.q, 'm')
    state = compile_model(m).state()
    state.assemble()
    state.run(1000, 1e-3)
    assert state.outputs()['s'] == pytest.approx(0.1 * math.cosh(2.0), rel=1e-6)
