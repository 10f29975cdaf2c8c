"""The MuJoCo car of `haptic bench engine`: it is the same car as ours as far as it goes, and it stands and stays closed."""

import mujoco
import numpy as np
import pytest

from mbs_core.mechanisms import build
from mbs_core.mechanisms.car import CORNERS
from mbs_core.runtime import compile_model
from mbs_core.vehicles.data import Car
from mbs_haptics.bench import car_peer


@pytest.fixture(scope='module')
def model():
    """Return our compiled car."""
    return compile_model(build('car'))


@pytest.fixture(params=list(car_peer.WAYS))
def peer(request, model):
    """Return MuJoCo's car with each of its integrators."""
    return car_peer.CarPeer(model.mechanism, car_peer.WAYS[request.param])


def test_it_is_the_same_car(model, peer):
    """Mass, joints (all but the held steering wheel) and loop equations are those of ours; so are loads and accelerations at the start."""
    s = car_peer.start(model)
    assert peer.model.body_mass.sum() == pytest.approx(Car().mass, rel=1e-12)
    assert peer.model.nv == model.nv - 1
    assert car_peer.difference(s, peer) < 0.01
    assert peer.data.nefc == sum(loop.size for loop in model.mechanism.loops) == 17
    assert peer.gap() < 1e-12
    ours = s.outputs()
    assert peer.loads() == pytest.approx([ours[f'{c}.fz'] for c in CORNERS], rel=1e-9)


def test_it_settles_on_its_springs_as_ours_does(model, peer):
    """After a second it is near rest, its loops closed, and after two the tyres carry what ours carry."""
    s = car_peer.start(model)
    peer.set(s.q, s.v)
    moved = 0.0
    for _ in range(1000):
        mujoco.mj_step(peer.model, peer.data, car_peer.SUBSTEPS)
        assert np.isfinite(peer.data.qpos).all() and peer.gap() < 1e-5
        moved = max(moved, abs(peer.data.joint('front.left.arm').qpos[0]))
    assert moved > 0.005                                   # it did move on its springs
    assert s.run(2000, car_peer.TICK, 'rk4', car_peer.SUBSTEPS) == 0
    mujoco.mj_step(peer.model, peer.data, 1000 * car_peer.SUBSTEPS)
    loads, ours = peer.loads(), s.outputs()
    assert sum(loads) == pytest.approx(Car().mass * 9.81, rel=0.01)
    assert loads == pytest.approx([ours[f'{c}.fz'] for c in CORNERS], rel=0.03)
    assert peer.data.qpos[2] == pytest.approx(ours['vehicle.z'], abs=1e-3)
    assert np.abs(peer.data.qvel[2:5]).max() < 0.01
