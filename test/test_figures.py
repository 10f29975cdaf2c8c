"""Figures: aims are understood, JSON is one object, and the exit code tells whether every aim is met."""

import json
import math

import pytest

from mbs_haptics.figures import Figures, meets


@pytest.mark.parametrize('aim, inside, outside', [
    ('>=12', 12, 11.99), ('<=5', 5.0, 5.01), ('>0', 1e-9, 0), ('<1', 0.5, 1), ('==3', 3, 4),
    ('8..9', 8, 9.1), ('-1..1', -1, -1.5), ('1e-3 .. 2e-3', 0.0015, 0.1), ('<= 1e-12', 1e-13, 1e-11)])
def test_aim_accepts_values_inside_and_refuses_values_outside(aim, inside, outside):
    assert meets(inside, aim)
    assert not meets(outside, aim)


def test_no_aim_accepts_anything_finite():
    assert meets(-3.5, '') and meets('a word', '') and meets(None, '')
    assert not meets(math.nan, '') and not meets(math.inf, '>=1')


@pytest.mark.parametrize('aim', ['12', 'about 3', '>=', '1..2..3', '>=three'])
def test_aim_of_another_form_is_refused_by_name(aim):
    with pytest.raises(ValueError, match='aim'):
        meets(1, aim)


def test_json_is_exactly_one_object_on_standard_output(capsys):
    figures = Figures()
    figures.add('P6', 8.7, 'mm', aim='8..9', note='peak')
    assert figures.report(as_json=True) == 0
    shown = capsys.readouterr()
    assert shown.err == ''
    assert json.loads(shown.out) == {'figures': [
        {'id': 'P6', 'value': 8.7, 'unit': 'mm', 'aim': '8..9', 'ok': True, 'note': 'peak'}]}


def test_not_a_number_is_null_and_not_ok(capsys):
    figures = Figures()
    assert figures.add('P1', math.nan, 'N', aim='>=0') is False
    assert figures.report(as_json=True) == 1
    assert json.loads(capsys.readouterr().out)['figures'][0]['value'] is None


def test_numpy_numbers_become_plain_ones():
    numpy = pytest.importorskip('numpy')
    figures = Figures()
    assert figures.add('a', numpy.float64(3.0), aim='>=3')
    assert figures.add('b', numpy.int32(2), aim='<=2')
    assert json.loads(figures.to_json())['figures'][1]['value'] == 2


def test_one_missed_aim_makes_the_exit_code_nonzero_and_shows_in_the_table(capsys):
    figures = Figures()
    figures.add('loop.gap', 1.0, 'ms', aim='<=2')
    figures.add('loop.late', 3, 'ms', aim='<=2', note='[busy] machine')
    assert figures.report() == 1
    table = capsys.readouterr().out
    row = next(line for line in table.splitlines() if line.split()[:1] == ['late'])
    assert 'NO' in row and '[busy]' in row and 'begin with loop.' in table


def test_given_ok_wins_over_the_aim_text():
    figures = Figures()
    assert figures.add('stable', True, aim='all poles inside', ok=True)
    assert figures.ok


def test_the_same_id_twice_is_refused():
    figures = Figures()
    figures.add('P1', 1)
    with pytest.raises(ValueError, match='P1'):
        figures.add('P1', 2)
