"""Messages of fixed layout, histograms and rights: what the loop reads, counts and asks for."""

import importlib.util
import os

import numpy as np
import pytest
from realtime_world import codec

from mbs_core.errors import MbsError
from mbs_haptics.realtime import messages, rights, statistics


def test_numbers_written_in_place_read_back_through_an_independent_reader():
    c = codec()
    layout = messages.setpoint(c, ['key', 'pedal'])
    values = {path: 0.1 * k - 1 for k, path in enumerate(layout.numbers)}
    back = c.deserialise(layout.message(1_700_000_000_123_456_789, 42, values, 41))
    assert back.name == ['key', 'pedal', 'key/stiffness', 'pedal/stiffness', 'key/damping', 'pedal/damping']
    assert (back.header.stamp.sec, back.header.stamp.nanosec) == (1_700_000_000, 123_456_789)
    assert messages.sequences(back.header.frame_id) == (42, 41)
    assert list(back.effort) == [values[f'effort[{k}]'] for k in range(6)]


def test_frame_ids_carry_sequences_and_others_carry_none():
    assert messages.sequences(messages.frame_id(7)) == (7, None) and messages.sequences(messages.frame_id(7, 5)) == (7, 5)
    assert messages.sequences('base_link') == (None, None) and messages.sequences('#12') == (None, None)


def test_other_layouts_are_told_apart():
    c = codec()
    layout = messages.joint_state(c, ['key'])
    good = layout.message(5, 1, {'position[0]': -3.5e7, 'effort[0]': float('nan')})
    assert layout.matches(good) and not layout.matches(good + b'\0') and not layout.matches(good.replace(b'key', b'kez'))
    assert not layout.matches(messages.joint_state(c, ['keys']).data) and not layout.matches(messages.joint_state(c, ['a', 'b']).data)
    assert not layout.matches(b'\0\0' + good[2:]), 'big endian'


def test_bytes_that_only_align_others_may_hold_anything():
    layout = messages.joint_state(codec(), ['ke', 'pedal'])
    padding = [k for k, (m, d) in enumerate(zip(layout.mask, layout.data)) if m == 0 and d == 0][2:]
    data = bytearray(layout.message(5, 1, {}))
    free = set(padding) - {at + k for at in layout.places.values() for k in range(8)} - set(range(layout.stamp, layout.stamp + 8))
    assert len(free) >= 3
    for at in free:
        data[at] = 0xff
    assert layout.matches(data) and list(codec().deserialise(bytes(data)).name) == ['ke', 'pedal']


def test_a_serialiser_that_loses_numbers_is_refused():
    c = codec()
    coarse = messages.Codec(c.type_name, c.make, lambda m: bytes(c.serialise(m))[:-8] + bytes(8), c.deserialise)
    with pytest.raises(MbsError, match="effort.*fallback"):
        messages.joint_state(coarse, ['key'])
    swapped = messages.Codec(c.type_name, c.make, c.serialise, lambda d: c.deserialise(d[:-8] + bytes(8)))
    with pytest.raises(MbsError, match='read back'):
        messages.joint_state(swapped, ['key'])


def test_percentiles_of_a_histogram_are_right_to_three_percent():
    rng = np.random.default_rng(2)
    times = rng.lognormal(9, 1.5, 20000).astype(np.int64)
    block = np.zeros(len(statistics.HISTOGRAMS) * (statistics.BINS + 1))
    namespace = {'LARGEST': 0, 'HISTOGRAM': len(statistics.HISTOGRAMS), 'BINS': statistics.BINS}
    import inspect
    exec(inspect.getsource(statistics.record), namespace)
    for t in times.tolist():
        namespace['record'](block, 0, t)
    counts, largest = block[len(statistics.HISTOGRAMS):][:statistics.BINS], block[0]
    assert counts.sum() == len(times) and largest == times.max()
    for share in (0.1, 0.5, 0.99, 0.999):
        assert statistics.percentile(counts, largest, share) == pytest.approx(np.quantile(times, share), rel=0.04)
    assert statistics.summary(counts, largest)['max_us'] == times.max() / 1e3
    assert np.all(np.diff(statistics.edges()) > 0) and np.isnan(statistics.percentile(counts * 0, 0.0, 0.5))


def test_what_is_not_permitted_is_told_with_its_remedy(monkeypatch):
    def refuse(*args):
        raise PermissionError(1, 'no')
    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    monkeypatch.setattr(os, 'sched_setaffinity', refuse)
    notices = rights.thread(80, 999)
    assert len(notices) == 2 and 'limits.d' in notices[0] and 'choose one of' in notices[1]
    assert rights.thread(0) == []


if importlib.util.find_spec('rclpy'):
    def test_rclpy_lays_messages_out_as_rosbags_does():
        from geometry_msgs.msg import WrenchStamped
        from sensor_msgs.msg import JointState
        ours = messages.setpoint(messages.rclpy_codec(JointState), ['key', 'a longer name'])
        other = messages.setpoint(codec(), ['key', 'a longer name'])
        assert ours.data == other.data and ours.places == other.places and ours.mask == other.mask
        wrench = messages.FixedMessage(messages.rclpy_codec(WrenchStamped), WrenchStamped(),
                                       [f'wrench.{a}.{b}' for a in ('force', 'torque') for b in 'xyz'])
        assert len(wrench.places) == 6


def test_bench_without_ros_says_what_to_install(monkeypatch):
    from mbs_haptics.bench import loop
    from mbs_haptics.figures import Figures
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(MbsError, match='rclpy.*pip install'):
        loop.figures(Figures(), quiet=True)
