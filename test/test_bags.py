"""Recordings: whole ones, single files and cut-off ones are read; loss, duplicates and gaps are counted exactly."""

import json
import subprocess
import sys

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_haptics.bag_check import check, survey
from mbs_haptics.bags import Recording, answered_of, sequence_of, stamp_of
from mbs_haptics.recorder import Bag

JOINTS = 'sensor_msgs/msg/JointState'
START = 1_700_000_000_000_000_000


class Profile:
    """A quality of service as rclpy has it, as far as a bag needs it."""

    depth = 1
    reliability = type('Reliability', (), {'name': 'BEST_EFFORT'})
    durability = type('Durability', (), {'name': 'VOLATILE'})


def serialised(bag, number, stamp, frame='#{:010d}'):
    """Return a serialised JointState of the stack: sequence in the frame, acceleration as an extra entry."""
    types = bag.store.types
    header = types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9)), frame.format(number, answered=number // 2))
    values = np.array([number * 1e-3, 1.0])
    message = types[JOINTS](header, ['key', 'key/acceleration'], values, values, values)
    return bytes(bag.store.serialize_cdr(message, JOINTS))


def write(path, numbers, topic='/joint_states', period=1_000_000, close=True, frame='#{:010d}'):
    """Write a recording with these sequence numbers, one a millisecond, and return the Bag."""
    bag = Bag(path)
    link = bag.add(topic, JOINTS, Profile)
    for n, number in enumerate(numbers):
        stamp = START + n * period
        bag.writer.write(link, stamp, serialised(bag, number, stamp, frame))
    bag.flush()
    if close:
        bag.close()
    return bag


def values(path, **aims):
    """Return {figure: value} of the check of a recording, and whether all is well."""
    figures = check(*survey(path), **aims)
    return {row['id'].removeprefix('bag.joint_states.'): row['value'] for row in figures.rows}, figures.ok


def haptic(*words):
    """Run the command with these words."""
    return subprocess.run([sys.executable, '-m', 'mbs_haptics.main', *map(str, words)], capture_output=True, text=True, check=False)


def test_sequence_and_stamp_are_read_from_the_bytes(tmp_path):
    bag = Bag(tmp_path / 'bag')
    data = serialised(bag, 1234567890, START + 5)
    assert sequence_of(data) == 1234567890 and stamp_of(data) == START + 5
    assert sequence_of(data[:20]) is None and sequence_of(data[:16] + b'#world00000' + data[27:]) is None
    assert sequence_of(serialised(bag, 42, START, '{:010d}')) == 42 and answered_of(data) is None
    assert sequence_of(serialised(bag, 42, START, 'base_link')) is None and sequence_of(serialised(bag, 42, START, '')) is None
    data = serialised(bag, 42, START, '#{:010d}@{answered:010d}')
    assert (sequence_of(data), answered_of(data)) == (42, 21)


def test_sequence_is_where_the_loop_writes_it():
    from mbs_haptics.realtime.messages import frame_id
    head = b'\0\1\0\0' + bytes(12)
    assert sequence_of(head + frame_id(42).encode() + bytes(20)) == 42
    setpoint = head + frame_id(42, 41).encode() + bytes(20)
    assert (sequence_of(setpoint), answered_of(setpoint)) == (42, 41)


def test_whole_recording_is_whole(tmp_path):
    write(tmp_path / 'bag', range(1000))
    found, good = values(tmp_path / 'bag', rate=1000, gap=0.0011)
    assert good and found['messages'] == 1000 and found['lost'] == found['duplicates'] == found['reordered'] == 0
    assert found['rate'] == pytest.approx(1000) and found['gap'] == pytest.approx(1.0)


@pytest.mark.parametrize('numbers, lost, doubled, disordered', [
    ([0, 1, 2, 5, 6], 2, 0, 0), ([0, 1, 1, 2], 0, 1, 0), ([0, 2, 1, 3], 0, 0, 1), ([7, 8, 9], 0, 0, 0), ([5], 0, 0, 0),
    ([5000, 5001, 0, 1, 2, 4], 1, 0, 0), ([0, 0, 1, 3, 2, 9], 5, 1, 1),
    ([0, 10, 20, 40, 50], 1, 0, 0)])
def test_losses_are_counted(tmp_path, numbers, lost, doubled, disordered):
    write(tmp_path / 'bag', numbers)
    found, good = values(tmp_path / 'bag')
    assert (found['lost'], found['duplicates'], found['reordered']) == (lost, doubled, disordered)
    assert good == (lost == doubled == disordered == 0)


def test_set_points_tell_which_samples_they_answer(tmp_path):
    write(tmp_path / 'bag', [0, 1, 2, 3, 8, 9], topic='/setpoint', frame='#{:010d}@{answered:010d}')       # answers none none 1 1 4 4
    rows = {row['id']: row['value'] for row in check(*survey(tmp_path / 'bag')).rows}
    assert rows['bag.setpoint.unanswered'] == 2 and rows['bag.setpoint.held'] == 2 and rows['bag.setpoint.lost'] == 4


def test_wrong_rate_and_gap_are_not_ok(tmp_path):
    write(tmp_path / 'bag', range(100), period=2_000_000)
    assert not values(tmp_path / 'bag', rate=1000)[1]
    assert not values(tmp_path / 'bag', gap=0.0015)[1]
    assert values(tmp_path / 'bag', rate=500)[1]


@pytest.mark.parametrize('cut', [0, 1, 100, 5000])
def test_cut_off_recording_is_read_up_to_its_end(tmp_path, cut):
    bag = write(tmp_path / 'bag', range(200), close=False)
    for number in range(200, 400):
        stamp = START + number * 1_000_000
        bag.writer.write(bag.writer.connections[0], stamp, serialised(bag, number, stamp))
    bag.flush()
    whole = (tmp_path / 'bag' / 'bag.mcap').read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(whole[:len(whole) - cut])
    recording = Recording(tmp_path / 'cut.mcap')
    numbers = [sequence_of(sample.data) for sample in recording]
    assert numbers == list(range(len(numbers))) and len(numbers) >= 200 and not recording.is_whole
    assert len(numbers) == 400 or cut > 100


def test_folder_without_metadata_is_read(tmp_path):
    write(tmp_path / 'bag', range(50), close=False)
    assert not (tmp_path / 'bag' / 'metadata.yaml').exists()
    assert len(list(Recording(tmp_path / 'bag'))) == 50


def test_what_is_no_recording_is_one_sentence(tmp_path):
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'text.txt').write_text('hello')
    (tmp_path / 'bad.mcap').write_text('hello')
    for name, wanted in [('none', 'there is no recording'), ('empty', 'holds no recording'), ('text.txt', 'neither a rosbag2 folder'),
                         ('bad.mcap', "can't be read as MCAP")]:
        with pytest.raises(MbsError, match=wanted):
            list(Recording(tmp_path / name))


def test_existing_folder_is_not_overwritten(tmp_path):
    with pytest.raises(MbsError, match='exists already'):
        Bag(tmp_path)


def test_bags_are_read_by_rosbags_and_by_mcap(tmp_path):
    from mcap.reader import make_reader
    from rosbags.highlevel import AnyReader
    write(tmp_path / 'bag', range(100))
    with AnyReader([tmp_path / 'bag']) as reader:
        read = [reader.deserialize(data, link.msgtype).header.frame_id for link, _, data in reader.messages()]
    assert read == [f'#{n:010d}' for n in range(100)]
    with open(tmp_path / 'bag' / 'bag.mcap', 'rb') as stream:
        reader = make_reader(stream)
        found = [(schema.name, channel.topic, channel.message_encoding) for schema, channel, _ in reader.iter_messages()]
        assert found == [(JOINTS, '/joint_states', 'cdr')] * 100
        assert reader.get_summary().statistics.message_count == 100


def test_verb_checks_shows_and_draws(tmp_path):
    write(tmp_path / 'good', range(500))
    write(tmp_path / 'bad', [*range(100), *range(150, 500)])
    done = haptic('bag', 'check', tmp_path / 'good', '--rate', 1000, '--json')
    assert done.returncode == 0, done.stderr
    assert {row['id'] for row in json.loads(done.stdout)['figures']} >= {'bag.joint_states.lost', 'bag.joint_states.gap'}
    done = haptic('bag', 'check', tmp_path / 'bad', '--json')
    lost = {row['id']: row for row in json.loads(done.stdout)['figures']}['bag.joint_states.lost']
    assert done.returncode == 1 and lost['value'] == 50 and not lost['ok']
    shown = haptic('bag', 'info', tmp_path / 'good')
    assert shown.returncode == 0 and '/joint_states' in shown.stdout
    assert haptic('bag', 'plot', tmp_path / 'good').returncode == 0
    assert (tmp_path / 'good.png').read_bytes().startswith(b'\x89PNG')
    done = haptic('bag', 'plot', tmp_path / 'good', '--topic', 'joint_state')
    assert done.returncode == 2 and "did you mean '/joint_states'?" in done.stderr
    done = haptic('bag', 'info', tmp_path / 'none')
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
