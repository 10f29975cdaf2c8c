"""The recorder loses nothing at 1 kHz, ends cleanly, and leaves a readable file even when it is killed."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mbs_haptics.bag_check import check, survey
from mbs_haptics.bags import Recording, sequence_of

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from ros_world import PUBLISHER, ended, haptic, running, variables, wait_until

COUNT = 3000            # messages: 3 s at 1 kHz
TOPICS = ('joint_states', 'setpoint')


def recorder(output, *more):
    """Start the recorder node."""
    return running('-m', 'mbs_haptics.recorder', '--ros-args', '-p', f'output:={output}', *more)


def publish(count=COUNT, topics=TOPICS):
    """Publish that many samples on each topic and wait for the end."""
    subprocess.run([sys.executable, '-c', PUBLISHER, str(count), *topics], env=variables(), check=True, timeout=60)


def numbers(path):
    """Return {topic: sequence} of a recording."""
    found = {}
    for sample in Recording(path):
        found.setdefault(sample.topic, []).append(sequence_of(sample.data))
    return found


if importlib.util.find_spec('rclpy'):

    @pytest.mark.alone
    @pytest.mark.parametrize('how', [signal.SIGINT, signal.SIGTERM])
    def test_every_sample_at_1_khz_is_in_the_bag(tmp_path, how):
        from mcap.reader import make_reader
        from rosbags.highlevel import AnyReader
        with recorder(tmp_path / 'bag') as process:
            publish()
            process.send_signal(how)
            code, said = ended(process)
        assert code == 0 and f'/joint_states: {COUNT} messages, 0 lost' in said, said
        topics, recording = survey(tmp_path / 'bag')
        assert check(topics, recording).ok and recording.is_whole
        assert numbers(tmp_path / 'bag') == {f'/{topic}': list(range(COUNT)) for topic in TOPICS}
        with AnyReader([tmp_path / 'bag']) as reader:
            read = [reader.deserialize(data, link.msgtype) for link, _, data in reader.messages() if link.topic == '/joint_states']
        assert [round(message.position[0] * 1e3) for message in read] == list(range(COUNT))
        with open(tmp_path / 'bag' / 'bag.mcap', 'rb') as stream:
            assert make_reader(stream).get_summary().statistics.message_count == 2 * COUNT

    @pytest.mark.alone
    def test_killed_recorder_leaves_all_but_the_last_half_second(tmp_path):
        with recorder(tmp_path / 'bag') as process:
            with running('-c', PUBLISHER, COUNT, *TOPICS) as publisher:
                wait_until(lambda: (tmp_path / 'bag' / 'bag.mcap').exists() and (tmp_path / 'bag' / 'bag.mcap').stat().st_size > 300_000)
                process.kill()
                process.wait(10)
                publisher.kill()
        found = numbers(tmp_path / 'bag')
        for topic in TOPICS:
            assert len(found[f'/{topic}']) > 500 and found[f'/{topic}'] == list(range(len(found[f'/{topic}'])))
        assert haptic('bag', 'check', tmp_path / 'bag').returncode == 0

    @pytest.mark.alone
    def test_verb_records_chosen_topics_in_a_namespace_for_a_time(tmp_path):
        with running('-m', 'mbs_haptics.main', 'record', 'joint_states', '/other', '--out', tmp_path / 'bag', '--seconds', 6,
                     '--namespace', 'left') as process:
            publish(500, ['/left/joint_states', '/other'])
            code, said = ended(process)
        assert code == 0 and '/left/joint_states: 500 messages, 0 lost' in said, said
        found = numbers(tmp_path / 'bag')
        assert found['/left/joint_states'] == list(range(500))
        assert found['/other'][-1] == 499       # its type is unknown until its publisher appears, so its start may be missing

    def test_existing_output_is_refused_in_one_sentence(tmp_path):
        with recorder(tmp_path) as process:
            code, said = ended(process)
        assert code == 2 and 'exists already' in said and len(said.splitlines()) == 1

    def test_quiet_recorder_ends_at_once_with_an_empty_bag(tmp_path):
        with recorder(tmp_path / 'bag') as process:
            wait_until(lambda: (tmp_path / 'bag').exists())
            process.send_signal(signal.SIGINT)
            code, said = ended(process, 5)
        assert code == 0 and '/setpoint: 0 messages' in said
        assert os.path.exists(tmp_path / 'bag' / 'metadata.yaml')
