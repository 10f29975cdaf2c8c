"""Contacts of a nose with a face or an edge: friction that holds, slides as Coulomb says, and gives back no energy."""

import math

import pytest

from mbs_core.description import Mechanism, damper, edge_contact, prismatic
from mbs_core.runtime import compile_model


def sled(slope, friction, loss=0.0):
    """Return a block on an incline (its frame leans by `slope`), 1 kg that slides, half of it free to lift; air may brake it."""
    m = Mechanism('sled', gravity=(9.81 * math.sin(slope), -9.81 * math.cos(slope), 0.0))
    along = m.body('along', on=m.ground, joint=prismatic('x'), mass=0.5)
    block = m.body('block', on=along, joint=prismatic('y'), mass=0.5)
    m.add(edge_contact(block, m.ground, (0.0, 0.0), (0.0, 1.0), stiffness=1e8, hysteresis=10.0, loss=0.5, friction=friction))
    m.add(damper(along, loss))
    return compile_model(m)


def test_a_block_below_the_friction_angle_rests_for_ever():
    s = sled(math.atan(0.15), 0.4, loss=100.0).state()              # N s/m: no vibration is left; up to 0.2 would hold
    s.run(500, 1e-3, 'rk4', 20)
    first = s.q[0]
    s.run(5000, 1e-3, 'rk4', 20)
    assert abs(s.q[0] - first) < 1e-7 and first < 5e-4              # m: the bristle gave way, no creep


def test_a_block_beyond_it_slides_as_coulomb_says():
    slope, mu = math.atan(0.8), 0.4
    s = sled(slope, mu).state()
    s.run(300, 1e-3, 'rk4', 20)
    v = s.v[0]
    s.run(500, 1e-3, 'rk4', 20)
    # only the block is pressed: its normal force is that of half a kilogram's weight, all of one kilogram slides
    expected = 9.81 * (math.sin(slope) - 0.5 * mu * math.cos(slope))
    assert (s.v[0] - v) / 0.5 == pytest.approx(expected, rel=1e-3)


def test_a_bouncing_sliding_block_never_gains_energy():
    s = sled(0.3, 0.5).state()
    s.q[1], s.v[0] = 0.02, -1.5
    s.forward()
    energy = sum(s.energy())
    for _ in range(1500):
        s.step(1e-3, 'rk4', 20)
        now = sum(s.energy())
        assert now < energy + 1e-6                                   # J of 0.6
        energy = now


def test_a_nose_rolls_over_an_edge_without_a_step():
    """The force on a round nose that is dragged over the end of a face, at a given height, falls steadily to nothing."""
    m = Mechanism('nose', gravity=(0.0, 0.0, 0.0))
    along = m.body('along', on=m.ground, joint=prismatic('x'), mass=1.0)
    nose = m.body('nose', on=along, joint=prismatic('y'), mass=1.0)
    m.drive(along, nose)
    law = m.add(edge_contact(nose, m.ground, (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), radius=5e-3, stiffness=1e8))
    m.output('push', law.seen['normal'], 'N')
    s = compile_model(m).state()
    pushes = []
    for k in range(-20, 60):
        s.drive('along', k * 1e-4)
        s.drive('nose', 4.5e-3)
        s.forward()
        pushes.append(s.outputs()['push'])
    assert pushes[0] == pytest.approx(1e8 * 0.5e-3 ** 2) and pushes[-1] == 0.0
    assert all(a >= b for a, b in zip(pushes, pushes[1:]))
    reach = math.sqrt(5e-3 ** 2 - 4.5e-3 ** 2)                      # m, where the circle leaves the corner
    assert pushes[20 + int(reach / 1e-4)] < 1e-2 * pushes[0]
