"""Each launch file brings its whole stack up, records it without loss, and ends it without a trace."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

from mbs_haptics.bag_check import check, survey

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from ros_world import haptic, running, variables, wait_until

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path.name.removesuffix('.launch.xml') for path in (ROOT / 'launch').glob('*.launch.xml'))


def marked(word):
    """Return the processes whose environment carries this word: all that a launch file started, however deep."""
    found = []
    for folder in Path('/proc').iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if word.encode() in (folder / 'environ').read_bytes():
                    found.append((folder.name, (folder / 'cmdline').read_bytes()))
            except OSError:
                continue
    return found


if importlib.util.find_spec('rclpy'):

    @pytest.mark.alone
    @pytest.mark.parametrize('device', FILES)
    def test_launch_file_runs_records_and_ends_without_a_trace(device, tmp_path):
        trace = f'HAPTIC_TRACE={tmp_path}'
        log = tmp_path / 'log'
        with open(log, 'w', encoding='utf-8') as stream, running(
                '-m', 'mbs_haptics.main', 'launch', device, 'record:=true', f'bag:={tmp_path}/bag', stdout=stream,
                env={**variables(), 'HAPTIC_TRACE': str(tmp_path)}) as process:
            bag = tmp_path / 'bag' / 'bag.mcap'
            wait_until(lambda: process.poll() is not None or bag.exists() and bag.stat().st_size > 3_000_000, 60)       # more than 1000 samples of each device
            assert process.poll() is None, log.read_text()
            assert len(marked(trace)) >= 4
            process.send_signal(signal.SIGINT)
            code = process.wait(20)
        assert code == 0, log.read_text()
        wait_until(lambda: marked(trace) == [], 5)
        topics, recording = survey(tmp_path / 'bag')
        assert recording.is_whole and len(topics['/joint_states'].times) > 1000 and len(topics['/setpoint'].times) > 1000
        for topic in ('/joint_states', '/setpoint'):
            assert topics[topic].losses() == (0, 0, 0), check(topics, recording).rows

    def test_missing_configuration_is_one_sentence_and_starts_nothing():
        done = haptic('launch', 'lever', 'config:=/no/such.yaml')
        assert done.returncode == 2 and "'/no/such.yaml' can't be read" in done.stderr and len(done.stderr.splitlines()) == 1
