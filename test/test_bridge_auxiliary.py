"""Joints that are only measured, such as pedals: configuration, motion, message, recording, and what happens when one fails."""

import math

import numpy as np
import pytest
from realtime_world import codec as joint_state_codec

from mbs_core.errors import MbsError
from mbs_haptics.bridge import config, topics
from mbs_haptics.bridge.pipeline import Pipeline
from mbs_haptics.joint_bag import write_joint_bag
from mbs_haptics.links import Session, State, make_link
from mbs_haptics.links.emulated import EmulatedDevice
from mbs_haptics.wire import codec, handshake

SENSORS = [('wheel', 'ABSOLUTE_ENCODER', 'rad', 1e-4, 0), ('throttle', 'POTENTIOMETER', 'V', 5e-5, 0), ('brake', 'POTENTIOMETER', 'V', 5e-5, 0)]
POT = {'kind': 'potentiometer', 'scale': 1e-5, 'zero': 5000.0, 'noise': 1e-4, 'checks': {'low': -0.1, 'high': 1.1}}


def wheel(**more):
    """Return the parameters of a wheel with two pedals."""
    return {'app': 'steering_wheel', 'joints': ['wheel'], 'auxiliary': ['accelerator', 'brake'],
            'transducers': {'encoder': {'joint': 'wheel', 'channels': ['wheel'], 'kind': 'encoder', 'scale': 1e-4, 'noise': 1e-4},
                            'left': {'joint': 'brake', 'channels': ['brake'], **POT},
                            'right': {'joint': 'accelerator', 'channels': ['throttle'], **POT}},
            'estimators': {'wheel': {'jerk': 100.0}}, 'actuators': {'wheel': {'channel': 'motor', 'effort_max': 10.0}}, **more}


class Bench:
    """A pipeline of the wheel fed with counts."""

    def __init__(self):
        self.emulated = EmulatedDevice('steering_wheel', SENSORS, [('motor', 'DIRECT_DRIVE', 'N', 10.0)])
        self.pipeline = Pipeline(config.device(wheel()), handshake.greet(codec.decode(self.emulated.hello())))
        self.k = 0

    def feed(self, *counts, fresh=7):
        """Return what the pipeline makes of one sample."""
        self.k += 1
        frame = codec.decode(self.emulated.state_frame(list(counts), self.k * 1000, [(0.0, 0.0, 0.0, 0.0)], fresh))
        return self.pipeline.take(State(self.k, self.k * 1000, 0, self.k == 1, frame, 0))


def test_pedals_are_measured_beside_the_wheel_and_need_no_estimator():
    bench = Bench()
    for _ in range(200):
        motions = bench.feed(1000, 55000, 30000)
    assert [m.q for m in motions] == pytest.approx([0.1, 0.5, 0.25], abs=1e-6)
    laws, _ = bench.pipeline.laws(bench.k, [(1.5, 0.1, 0.0, 0.0, 0.0)])
    assert len(laws) == 1 and laws[0][0] == 1.5


def test_a_pedal_that_fails_is_unknown_and_the_wheel_goes_on():
    bench = Bench()
    for _ in range(50):
        bench.feed(1000, 55000, 30000)
    for _ in range(10):
        motions = bench.feed(1000, 0xFFFF * 4, 30000)          # far outside: the wire is broken
    assert motions is not None and motions[0].believed and math.isnan(motions[1].q) and motions[2].q == pytest.approx(0.25, abs=1e-4)
    assert bench.pipeline.unbelieved == 0 and 'accelerator' in bench.pipeline.joints[1].complaint()
    for _ in range(10):
        motions = bench.feed(1000, 55000, 30000)
    assert motions[1].q == pytest.approx(0.5, abs=1e-3)


def test_the_message_names_auxiliary_joints_last():
    from mbs_haptics.bridge.pipeline import UNKNOWN, Motion
    coder = joint_state_codec()
    data = topics.SampleWriter(coder, ['wheel'], ['a', 'b']).bytes(5, 7, [Motion(1.0, 2.0, 3.0, 4.0, True), Motion(5.0, 6.0, 7.0, 8.0, True), UNKNOWN])
    message = coder.deserialise(data)
    assert list(message.name) == ['wheel', 'wheel/acceleration', 'a', 'b']
    assert list(message.position[:3]) == [1, 3, 5] and math.isnan(message.position[3])
    assert list(message.velocity[:3]) == [2, 0, 6] and list(message.effort) == [4, 0, 0, 0]


@pytest.mark.parametrize('change, words', [
    ({'auxiliary': 'brake'}, "'auxiliary' must list"), ({'auxiliary': ['wheel']}, 'differ'), ({'auxiliary': ['a', 'a']}, 'differ'),
    ({'auxiliary': ['accelerator', 'brake', 'clutch']}, "'clutch' has no sensor of its position"),
    ({'actuators': {'brake': {'channel': 'motor'}}}, 'only measured'), ({'auxiliary': ['brake']}, "'accelerator' that is not in 'joints'")])
def test_wrong_auxiliary_joints_are_refused(change, words):
    with pytest.raises(MbsError, match=words):
        config.device(wheel(**change))


def test_a_recording_gives_auxiliary_joints_back(tmp_path):
    t = np.arange(300) * 1e-3
    q = np.column_stack([np.sin(20 * t), 0.5 + 0 * t, 0.2 + t])
    write_joint_bag(tmp_path / 'run', t + 1.7e9, ['wheel', 'accelerator', 'brake'], q, 0 * q, 0 * q)
    session = Session(make_link('replay', str(tmp_path / 'run'), joints=['wheel'], auxiliary=['accelerator', 'brake']))
    device = session.connect()
    pipeline = Pipeline(config.replay_config(config.device(wheel()), device.sensors), device)
    rows = []
    with pytest.raises(MbsError, match='has ended'):
        while True:
            rows += [(state.t_us * 1e-6, *[m.q for m in pipeline.take(state)]) for state in session.poll(0.05)]
    rows = np.array(rows)[20:]
    assert len(rows) > 200
    assert np.allclose(rows[:, 2], 0.5, atol=1e-6) and np.allclose(rows[:, 3], 0.2 + rows[:, 0], atol=1e-5)
