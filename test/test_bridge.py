"""The bridge without ROS: configurations word by word, counts to motion, set-points to laws, doubtful sensors."""

import copy
import math

import numpy as np
import pytest
import yaml
from fake_device import ACTUATORS, SENSORS
from hypothesis import given
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_haptics.bridge import config, topics
from mbs_haptics.bridge.pipeline import Pipeline
from mbs_haptics.joint_bag import write_joint_bag
from mbs_haptics.links import Session, State, make_link
from mbs_haptics.links.emulated import EmulatedDevice
from mbs_haptics.wire import codec, handshake

DEVICES = ['lever', 'four_bar']


def parameters(name='lever'):
    """Return the parameters of a shipped configuration."""
    return config.read_yaml(config.find(name))


class Bench:
    """A pipeline fed with counts made from a true motion, at 1 kHz."""

    def __init__(self, name='lever'):
        self.config = config.load(name)
        self.emulated = EmulatedDevice('piano_key', SENSORS, ACTUATORS)
        self.device = handshake.greet(codec.decode(self.emulated.hello()))
        self.pipeline = Pipeline(self.config, self.device)
        self.joint = self.pipeline.joints[0]
        self.sensors = {sensor.name: sensor.transducer for sensor in self.config.joints[0].sensors}
        self.random, self.sequence = np.random.default_rng(5), 0

    def feed(self, q, qd, fresh=7, counts=None, lost=0, force=0.0):
        """Return what the pipeline makes of one sample."""
        front, rear = self.sensors['hall'].counts(q, mean=30000.0)
        noisy = np.rint(np.array([front, rear, self.sensors['coil'].counts(qd)]) + self.random.normal(0, 2, 3)).astype(int)
        counts = [c if new is None else new for c, new in zip(noisy.tolist(), counts or [None] * 3)]
        self.sequence += 1 + lost
        measured = [(force, 0.0, 0.001 + self.joint.ratio * q, 0.0)]
        frame = codec.decode(self.emulated.state_frame(counts, self.sequence * 1000, measured, fresh))
        return self.pipeline.take(State(self.sequence, self.sequence * 1000, lost, self.sequence == 1, frame, 0))


@pytest.mark.parametrize('name', DEVICES)
def test_the_shipped_configurations_are_complete(name):
    loaded = config.load(name)
    joint = loaded.joints[0]
    assert loaded.app == 'piano_key' and joint.force is None and len(joint.motion) == 2
    assert joint.actuator.ratio == joint.actuator.transducer.lever and joint.actuator.effort_max < math.inf
    for sensor in joint.sensors:
        assert sensor.checks.jump < math.inf and sensor.checks.residual < math.inf


@pytest.mark.parametrize('name', DEVICES)
def test_shipped_configurations_are_ros_parameter_files(name):
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(inner) for key, inner in value.items())
        if isinstance(value, list):     # ROS takes lists of one kind only
            return value and len({type(inner) for inner in value}) == 1 and not isinstance(value[0], (dict, list))
        return isinstance(value, (bool, int, float, str))
    assert plain(parameters(name))


def test_motion_is_followed_by_position_velocity_and_acceleration():
    bench, rows = Bench(), []
    w, amplitude = 2 * math.pi * 3, 0.02
    for k in range(2000):
        t = k * 1e-3
        truth = 0.025 + amplitude * math.sin(w * t), amplitude * w * math.cos(w * t), -amplitude * w * w * math.sin(w * t)
        (motion,) = bench.feed(*truth[:2])
        rows.append([a - b for a, b in zip(motion[:3], truth)])
    error = np.abs(rows[500:]).max(axis=0)
    assert error[0] < 1e-5 and error[1] < 5e-3 and error[2] < 3.0       # of 0.02 rad, 0.38 rad/s, 7.1 rad/s2
    assert (error < 5 * bench.joint.estimator.deviation[3]).all()
    assert bench.pipeline.unbelieved == 0 and bench.joint.complaint() == ''


def test_spikes_of_the_coil_are_left_out():
    bench = Bench()
    for k in range(500):
        spike = [None, None, 60000 if k % 50 == 49 else None]
        (motion,) = bench.feed(0.02, 0.0, counts=spike)
        if k > 100:
            assert abs(motion.qd) < 0.01
    assert bench.joint.judge.events == [0, 10]


def test_a_lost_position_coasts_for_three_samples_and_then_nothing_is_said():
    bench = Bench()
    for k in range(200):
        bench.feed(0.02 + 1e-4 * k, 0.1)
    said = [bench.feed(0.04 + 1e-4 * k, 0.1, fresh=0b100) for k in range(10)]
    assert [motion is not None for motion in said] == [True] * 3 + [False] * 7
    assert said[2][0].q == pytest.approx(0.0402, abs=2e-5)
    assert bench.pipeline.unbelieved == 7
    back = [bench.feed(0.045, 0.0) for _ in range(10)]
    assert back[-1] is not None and back[-1][0].q == pytest.approx(0.045, abs=1e-4)


@pytest.mark.parametrize('counts, words', [
    ([65000, 5000, None], 'is out of its range'),
    ([30000, 30000, None], 'is frozen'),
])
def test_an_implausible_position_is_named_and_never_published(counts, words):
    bench = Bench()
    for _ in range(200):
        bench.feed(0.02, 0.0)
    said = [bench.feed(0.02, 0.0, counts=counts) for _ in range(150)]
    assert said[-1] is None
    assert f"'lever/hall' {words}" in bench.joint.complaint()


def test_lost_frames_are_bridged_by_the_model_of_motion():
    bench = Bench()
    for k in range(0, 500):
        bench.feed(0.01 + 5e-5 * k, 0.05)
    (motion,) = bench.feed(0.01 + 5e-5 * 509, 0.05, lost=9)
    assert motion.q == pytest.approx(0.01 + 5e-5 * 509, abs=5e-5) and motion.qd == pytest.approx(0.05, abs=5e-3)      # it moved 5e-4


def test_the_law_reaches_the_device_in_its_own_coordinate():
    bench = Bench()
    for _ in range(20):
        (motion,) = bench.feed(0.02, 0.0, force=7.0)
    ratio = bench.joint.ratio
    assert motion.effort == pytest.approx(7.0 * ratio)
    (law,), t_us = bench.pipeline.laws(bench.sequence, [(1.0, motion.q + 0.01, 0.0, 50.0, 0.2)])
    assert t_us == bench.sequence * 1000
    assert law == pytest.approx((1.0 / ratio, 0.001 + ratio * 0.02 + ratio * 0.01, 50.0 / ratio**2, 0.2 / ratio**2), rel=1e-4)
    # power and stiffness are the same on both sides: F dx = effort dq
    moved = law[0] - law[2] * (0.001 + ratio * 0.021 - law[1])
    assert moved * ratio == pytest.approx(1.0 - 50.0 * (0.021 - motion.q - 0.01), abs=1e-2)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=5, max_size=5))
def test_no_law_is_ever_not_finite_or_beyond_the_clamp(numbers):
    bench = test_no_law_is_ever_not_finite_or_beyond_the_clamp.bench
    out = bench.pipeline.laws(bench.sequence, [tuple(numbers)])
    if out is not None:
        (law,), _ = out
        assert all(map(math.isfinite, law)) and abs(law[0] * bench.joint.ratio) <= bench.joint.effort_max * (1 + 1e-12)
        assert law[2] >= 0 and law[3] >= 0


test_no_law_is_ever_not_finite_or_beyond_the_clamp.bench = Bench()
test_no_law_is_ever_not_finite_or_beyond_the_clamp.bench.feed(0.02, 0.0)


def test_a_set_point_for_an_unknown_sample_is_refused():
    bench = Bench()
    bench.feed(0.02, 0.0)
    push = [(0.1, 0.02, 0.0, 0.0, 0.0)]
    assert bench.pipeline.laws(bench.sequence + 5, push) is None
    for _ in range(300):
        bench.feed(0.02, 0.0)
    assert bench.pipeline.laws(1, push) is None
    assert bench.pipeline.refused == 2


@pytest.mark.parametrize('slope', [(0.0, 0.0), (5.0, 0.0), (0.0, 0.2)])
def test_only_no_force_at_all_is_never_too_late(slope):
    bench = Bench()
    for _ in range(300):
        bench.feed(0.02, 0.0)
    found = bench.pipeline.laws(1, [(0.0, 0.02, 0.0, *slope)])
    assert found == (None if any(slope) else ([(0.0, 0.0, 0.0, 0.0)], bench.sequence * 1000))


def test_zeroing_at_rest_removes_the_offset_of_the_coil():
    bench = Bench()
    bench.sensors['coil'] = bench.sensors['coil'].replace(zero=32900.0)         # the true one drifted
    rows = [[30000, 30000, 32900 + int(n)] for n in bench.random.normal(0, 2, 300)]
    (words,) = bench.joint.tare(rows)
    assert float(words.split()[2]) == pytest.approx(140.0, abs=1.0) and words.startswith('lever/coil by')
    for _ in range(300):
        (motion,) = bench.feed(0.02, 0.0)
    assert abs(motion.qd) < 2e-3
    with pytest.raises(MbsError, match='is not at rest'):
        bench.joint.tare([[30000, 30000, 32000 + 5 * k] for k in range(300)])


def test_a_replayed_run_gives_the_recorded_motion_back(tmp_path):
    t = np.arange(400) * 1e-3
    q, qd = 0.02 * np.sin(20 * t)[:, None], 0.4 * np.cos(20 * t)[:, None]
    write_joint_bag(tmp_path / 'run', t + 1.7e9, ['lever'], q, qd, 3 * q)
    session = Session(make_link('replay', str(tmp_path / 'run'), joints=['lever']))
    device = session.connect()
    pipeline = Pipeline(config.replay_config(config.load('lever'), device.sensors), device)
    rows = []
    with pytest.raises(MbsError, match='has ended'):
        while True:
            for state in session.poll(0.05):
                (motion,) = pipeline.take(state)
                rows.append((state.t_us * 1e-6, *motion[:4]))
    rows = np.array(rows)[5:]
    assert len(rows) > 300
    assert np.allclose(rows[:, 1], 0.02 * np.sin(20 * rows[:, 0]), atol=1e-7)
    assert np.allclose(rows[:, 2], 0.4 * np.cos(20 * rows[:, 0]), atol=1e-5)
    assert np.allclose(rows[:, 4], 3 * rows[:, 1], atol=1e-6)


# Malformed configurations: one sentence each

def changed(path, value):
    """Return the lever's parameters with one of them changed ('a.b.c') or, with value None, removed."""
    p = copy.deepcopy(parameters())
    *outer, last = path.split('.')
    inner = p
    for key in outer:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return p


@pytest.mark.parametrize('path, value, words', [
    ('app', None, "'app' must name the firmware"),
    ('joints', None, "'joints' must list"),
    ('joints', ['lever', 'lever'], 'different names'),
    ('joints', ['leaver'], "is at the joint 'lever' that is not in 'joints'; did you mean 'leaver'"),
    ('transducers', None, "'transducers' must be a block"),
    ('transducers', [1, 2], "'transducers' must be a block"),
    ('transducers.hall', 3, "transducer 'hall' must be a block"),
    ('transducers.hall.kind', 'hallpair', "did you mean 'hall_pair'"),
    ('transducers.hall.channels', 'hall_front', 'reads 2 channel.s., not 1'),
    ('transducers.hall.channels', None, "'channels' must list"),
    ('transducers.hall.k', 'big', "'k' must be a number, not 'big'"),
    ('transducers.hall.k', 0.0, 'must not be 0'),
    ('transducers.hall.noise', None, "'noise' must be the standard deviation"),
    ('transducers.hall.checks', 7, "'checks' must be a block"),
    ('transducers.hall.checks.jmp', 1.0, "did you mean 'jump'"),
    ('transducers.hall.checks.jump', 'x', "'jump' must be a number"),
    ('transducers.hall.checks.jump', -1.0, "'jump' is -1"),
    ('transducers.hall.checks.analogue', 1, 'true or false'),
    ('transducers.hall', None, 'has no sensor of its position'),
    ('transducers.coil.kind', 'voice_coil', 'voice_coil'),
    ('estimators', {}, 'wants an estimator'),
    ('estimators.lever', {'jerk': -1.0}, 'must be positive'),
    ('estimators.lever', {'jerk': 1.0, 'cost': 1}, "did you mean 'coast'"),
    ('estimators.wheel', {'jerk': 1.0}, "names the joint 'wheel'"),
    ('actuators.lever.channel', None, "wants a 'channel'"),
    ('actuators.lever.lever', 0.0, 'must not be 0'),
    ('actuators.lever.effort_max', 'x', "'effort_max' must be a number"),
    ('actuators.lever.kind', 'coil', 'coil'),
])
def test_a_malformed_configuration_is_refused_by_name(path, value, words):
    with pytest.raises(MbsError, match=words):
        config.device(changed(path, value))


@pytest.mark.parametrize('text, words', [
    ('/**:\n  ros__parameters:\n    app: [piano\n', "line 4, column 1 is not YAML"),
    ('/**:\n\tros__parameters: 1\n', 'line 2'),
    ('app: piano_key\n', "must begin with '/..:'"),
    ('', 'must begin with'),
    ('- 1\n- 2\n', 'must begin with'),
])
def test_malformed_yaml_names_file_and_line(tmp_path, text, words):
    (tmp_path / 'x.yaml').write_text(text)
    with pytest.raises(MbsError, match=words) as caught:
        config.load(tmp_path / 'x.yaml')
    assert str(tmp_path / 'x.yaml') in str(caught.value) and '\n' not in str(caught.value)


def test_a_missing_or_binary_configuration_is_refused(tmp_path):
    with pytest.raises(MbsError, match='there is no configuration file'):
        config.load(tmp_path / 'none.yaml')
    with pytest.raises(MbsError, match="did you mean 'lever'"):
        config.load('levr')
    (tmp_path / 'x.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(MbsError, match='UTF-8'):
        config.load(tmp_path / 'x.yaml')


def test_a_calibration_replaces_numbers_and_only_those(tmp_path):
    path = tmp_path / 'c.yaml'
    path.write_text(yaml.safe_dump({'/**': {'ros__parameters': {'transducers': {'hall': {'k': 9e-4}}}}}))
    (before,), (after,) = (config.load('lever', c).joints for c in ('', path))
    assert after.sensors[0].transducer == before.sensors[0].transducer.replace(k=9e-4)
    assert after.sensors[1:] == before.sensors[1:]
    path.write_text(yaml.safe_dump({'/**': {'ros__parameters': {'transducers': {'hal': {'k': 9e-4}}}}}))
    with pytest.raises(MbsError, match="did you mean 'hall'"):
        config.load('lever', path)


def test_a_configuration_for_another_device_is_refused():
    bench = Bench()
    with pytest.raises(MbsError, match='is for steering_wheel, but the device is a piano_key'):
        Pipeline(config.DeviceConfig('steering_wheel', bench.config.joints, 'x.yaml'), bench.device)
    with pytest.raises(MbsError, match="'hall_frnt' .* did you mean 'hall_front'"):
        Pipeline(config.device(changed('transducers.hall.channels', ['hall_frnt', 'hall_rear'])), bench.device)
    with pytest.raises(MbsError, match="did you mean 'voice_coil'"):
        Pipeline(config.device(changed('actuators.lever.channel', 'voicecoil')), bench.device)


# Messages, with the serialiser of rosbags

def rosbags_codec():
    """Return a codec for JointState that needs no ROS."""
    from rosbags.typesys import Stores, get_typestore

    from mbs_haptics.realtime.messages import Codec
    store = get_typestore(Stores.ROS2_JAZZY)
    types, name = store.types, 'sensor_msgs/msg/JointState'
    none = np.zeros(0)
    return Codec('JointState',
                 lambda: types[name](types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](0, 0), ''), [], none, none, none),
                 lambda message: bytes(store.serialize_cdr(message, name)), lambda data: store.deserialize_cdr(data, name))


def test_a_sample_reads_as_an_ordinary_joint_state():
    coder = rosbags_codec()
    writer = topics.SampleWriter(coder, ['a', 'b'])
    from mbs_haptics.bridge.pipeline import Motion
    data = writer.bytes(1_700_000_000_123456789, 42, [Motion(1.0, 2.0, 3.0, 4.0, True), Motion(5.0, 6.0, 7.0, 8.0, True)])
    message = coder.deserialise(data)
    assert list(message.name) == ['a', 'b', 'a/acceleration', 'b/acceleration']
    assert list(message.position) == [1, 5, 3, 7] and list(message.velocity) == [2, 6, 0, 0] and list(message.effort) == [4, 8, 0, 0]
    assert message.header.frame_id == '#0000000042'
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_700_000_000, 123456789)


def test_a_set_point_is_read_and_one_of_another_shape_refused():
    reader = topics.SetpointReader(rosbags_codec(), ['a', 'b'])
    n = {f'{array}[{k}]': 10.0 * (k + 1) + j for j, array in enumerate(('position', 'velocity', 'effort')) for k in range(6)}
    data = reader.layout.message(5, 7, n, 42)
    assert reader.read(data) == (7, 42, [(12.0, 10.0, 11.0, 32.0, 52.0), (22.0, 20.0, 21.0, 42.0, 62.0)])
    assert reader.read(data[:-1]) is None
    other = topics.SetpointReader(rosbags_codec(), ['a', 'c']).layout.message(5, 7, n, 42)
    assert reader.read(other) is None
    assert reader.read(data.replace(b'#0000000007', b'#00000x0007')) is None
    assert reader.refused == 3
