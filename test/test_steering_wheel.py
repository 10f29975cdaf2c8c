"""The virtual driver in the loop with the whole car: paths, first peaks of angle and torque for three casters (Fig. 28-30)."""

import numpy as np
import pytest

from mbs_core.control.driver import Driver, Evasion
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_haptics.bridge import config


def evade(model, caster):
    """Return rows (x, y, angle, torque of the arms) of an evasion, the free wheel held by arms."""
    driver, way, state = Driver(), Evasion(14.0), model.state()
    state.set('caster.distance', caster)
    state.assemble()
    place, rate = model.mechanism.coordinate_of('steering_wheel').position, model.coordinates.index('steering_wheel')
    reach, rows = 0.0, []
    for _ in range(600):
        out = state.outputs()
        aim = driver.aim(driver.angle(way.y, *(out[f'vehicle.{k}'] for k in ('x', 'y', 'yaw', 'speed'))))
        for _ in range(10):
            reach += (aim - reach) * 0.001 / 0.06
            torque = driver.torque(reach, state.q[place], state.v[rate])
            state.input('hand.torque', torque)
            assert state.run(1, 1e-3) == 0
        rows.append((out['vehicle.x'], out['vehicle.y'], state.q[place], torque))
    return np.array(rows)


def test_driver_avoids_and_feels_the_caster():
    """He passes the obstacle, comes back, and for close first angles needs more torque with more caster."""
    model = compile_model(build('car', driven=False))
    runs = [evade(model, caster) for caster in (0.0, 30.0, 60.0)]
    x0, x1, _, y1 = Evasion(14.0).obstacle
    for run in runs:
        beside = (run[:, 0] > x0) & (run[:, 0] < x1)
        assert run[beside, 1].min() > y1 + 0.85
        assert abs(run[-1, 1]) < 0.5
    angles, torques = ([run[:150, k].max() for run in runs] for k in (2, 3))
    assert max(angles) < 1.3 * min(angles)
    assert torques[0] + 1.0 < torques[1] < torques[2] - 1.0
    paths = np.array([np.interp(np.arange(20, 110), run[:, 0], run[:, 1]) for run in runs])
    assert np.ptp(paths, axis=0).max() > 0.03


def test_driver_refuses_what_makes_no_sense():
    """A driver without arms, or shown no finite place, says so."""
    with pytest.raises(MbsError, match='stiffness'):
        Driver(stiffness=0.0)
    with pytest.raises(MbsError, match='finite place'):
        Driver().angle(lambda x: 0.0, float('nan'), 0.0, 0.0, 20.0)


def test_configuration_measures_the_pedals():
    """The device has one driven joint and three pedals that are only measured, released at 0.3 V and pressed at 2.7 V."""
    device = config.load('steering_wheel')
    assert device.names == ['steering_wheel']
    assert device.auxiliary_names == ['accelerator', 'brake', 'clutch']
    for joint in device.auxiliary:
        pot = joint.sensors[0].transducer
        assert pot.si(0.3 / 3.3 * 65520) == pytest.approx(0.0, abs=1e-4)
        assert pot.si(2.7 / 3.3 * 65520) == pytest.approx(1.0, abs=1e-4)
