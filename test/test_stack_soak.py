"""A short soak of the whole stack: what is promised for a minute holds for seconds; and the soak's own arithmetic."""

import importlib.util
import json
import subprocess
import sys
from array import array

import numpy as np
import pytest

from mbs_haptics.bag_check import Topic
from mbs_haptics.bench import soak

MS = 10 ** 6


def topics(unanswered=(), held_up=()):
    """Return topics as a recording would have them: 4 s of samples, some not answered, some held up to the next one."""
    number = np.arange(100, 4100)
    came = number * MS
    came[np.array([k - 100 for k in held_up], dtype=int)] += 9 * MS // 10
    samples = Topic('/joint_states', '', array('q', came.tolist()), array('q', came.tolist()), array('q', number.tolist()))
    answers = [n for n in number.tolist() if n not in unanswered]
    given = Topic('/setpoint', '', array('q', came.tolist()), array('q', came.tolist()), array('q', range(len(answers))), array('q', answers))
    return {'/joint_states': samples, '/setpoint': given}


def test_unanswered_samples_are_counted_and_those_held_up_told_apart():
    regular, unanswered, whole, missed = soak.answered(topics(unanswered=(3000, 3500, 120)), 2100 * MS, 4200 * MS)
    assert (unanswered, missed) == (2, 2) and regular == whole == pytest.approx(1998, abs=3)
    regular, unanswered, whole, missed = soak.answered(topics(unanswered=(3000, 3500), held_up=(3500,)), 2100 * MS, 4200 * MS)
    assert (unanswered, missed) == (1, 2) and regular == whole - 3


def test_random_values_stay_within_their_range():
    import random
    source = random.Random(3)
    for low, high, value in ((0.0, 1.0, 0.0), (0.0, 1.0, 1.0), (-5.0, 5.0, 0.2)):
        drawn = [soak.near(source, low, high, value) for _ in range(200)]
        assert low <= min(drawn) < max(drawn) <= high


if importlib.util.find_spec('rclpy') and importlib.util.find_spec('cobs'):
    @pytest.mark.alone
    def test_a_short_soak_accounts_for_every_tick_sample_and_parameter(need_tool):
        need_tool('gcc', 'gcc')
        done = subprocess.run([sys.executable, '-m', 'mbs_haptics.main', 'soak', 'stack', '--seconds', '6', '--json'], capture_output=True, text=True,
                              check=False, timeout=150)
        assert done.stdout, done.stderr
        rows = {row['id'].removeprefix('soak.'): row for row in json.loads(done.stdout)['figures']}
        # How fast and how even the machine is, is not for a test to say: the rate is left out.
        wrong = [row for id, row in rows.items() if not row['ok'] and id != 'rate']
        assert not wrong, wrong
        assert rows['parameters.batches']['value'] == 100 and rows['parameters.ticks_to_effect']['value'] >= 1
        assert len([id for id in rows if id.startswith('refused.')]) == 5
