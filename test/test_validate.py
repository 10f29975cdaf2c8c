"""The framework of `haptic validate`: claims, recordings cut into scenes, the report, and one sentence for bad input."""

import json
import re

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_haptics import main
from mbs_haptics.joint_bag import write_joint_bag
from mbs_haptics.validate import devices, module_of, report
from mbs_haptics.validate.bench import lay_over
from mbs_haptics.validate.claims import Claim, figures_of
from mbs_haptics.validate.recording import Recorded, _scenes


def claim(good=True):
    """Return a claim with one row."""
    made = Claim('X1', 'Things fall', 'They fall < 10 m.', saw='They fell & stayed.')
    made.measure('depth', 5.0 if good else 50.0, 'm', '<10', 'a note')
    return made


def test_claim_passes_only_if_every_row_meets_its_aim():
    assert claim().ok and claim().verdict == 'pass'
    assert not claim(False).ok and claim(False).verdict == 'fail'
    both = claim()
    both.measure('speed', float('nan'), 'm/s', '>0')
    assert both.verdict == 'fail'


def test_claim_without_any_measurement_never_passes():
    empty = Claim('X2', 'Nothing', '')
    assert not empty.ok
    empty.lacks('depth', 'the recording has no truth')
    assert not empty.ok and empty.verdict == 'not in this recording'
    assert figures_of([empty]).rows == []


def test_figures_carry_the_ids_of_the_claims():
    rows = json.loads(figures_of([claim(False)]).to_json())['figures']
    assert rows == [{'id': 'X1.depth', 'value': 50.0, 'unit': 'm', 'aim': '<10', 'ok': False, 'note': 'a note'}]


def test_report_is_one_page_with_everything_in_it_and_nothing_from_elsewhere():
    from matplotlib import pyplot as plt
    made, figure = claim(False), plt.figure()
    figure.add_subplot().plot([0, 1], [1, 0])
    made.draw(figure, 'A caption.')
    text = report.page('Title <1>', 'One.\n\nTwo.', [made, claim()], 'small')
    assert 'Title &lt;1&gt;' in text and 'They fell &amp; stayed.' in text and 'A caption.' in text
    assert text.count('class="badge fail"') == 2 and 'data:image/svg+xml;base64,' in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert '<p class="lead">Two.</p>' in text


def test_scenes_end_where_the_next_begins_and_carry_their_notes():
    marks = [(1.0, 'plain'), (2.0, '{"scene": "noted", "hammer.mass": 0.012}'), (3.5, '{"scene": ""}'), (4.0, '[1, 2]')]
    scenes = _scenes(marks, 9.0)
    assert [(s.name, s.begin, s.end) for s in scenes] == [('plain', 1.0, 2.0), ('noted', 2.0, 3.5)]
    assert scenes[1].notes == {'hammer.mass': 0.012}


def test_recording_becomes_arrays_by_name(tmp_path):
    t = np.arange(100) * 1e-3 + 5.0
    position = np.column_stack([t, t**2])
    write_joint_bag(tmp_path / 'bag', t, ['a', 'b'], position, 0 * position, 3 * position)
    series = Recorded(tmp_path / 'bag', ['joint_states']).topics['joint_states']
    np.testing.assert_allclose(series['b'], t**2)
    np.testing.assert_allclose(series.between(5.010, 5.020).column('a', 'effort'), 3 * t[10:20])
    assert abs(series.at(5.0105, 'a') - 5.0105) < 1e-12
    with pytest.raises(MbsError, match="no 'c'"):
        series['c']
    with pytest.raises(MbsError, match="no topic 'truth'"):
        Recorded(tmp_path / 'bag', ['truth'])


def test_settings_are_laid_over_leaf_by_leaf():
    tree = {'a': {'b': 1, 'c': 2}, 'd': 3}
    lay_over(tree, {'a': {'b': 5}, 'd': {'e': 6}})
    assert tree == {'a': {'b': 5, 'c': 2}, 'd': {'e': 6}}


def test_every_device_with_claims_says_what_it_is():
    for name in devices():
        module = module_of(name)
        assert module.TITLE and module.INTRODUCTION and module.TOPICS and callable(module.stage) and callable(module.judge)


def test_bad_input_is_one_sentence(tmp_path, capsys):
    assert main.main(['validate', 'piano_kay']) == 2
    for name in devices()[:1]:
        assert main.main(['validate', name, '--bag', str(tmp_path / 'none')]) == 2
        (tmp_path / 'empty').mkdir(exist_ok=True)
        assert main.main(['validate', name, '--bag', str(tmp_path / 'empty')]) == 2
        write_joint_bag(tmp_path / 'other', [0.0, 1.0], ['x'], [[0.0], [1.0]], [[0.0], [0.0]], topic='something')
        assert main.main(['validate', name, '--bag', str(tmp_path / 'other')]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert all(line.startswith('haptic: ') for line in lines) and "no claims to validate for 'piano_kay'" in lines[0]
