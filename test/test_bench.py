"""`haptic bench engine`: the figures have their shape and are all there; no test asks how fast the machine is."""

import json

import pytest

from mbs_haptics.main import main

TASKS = ('inverse_dynamics', 'mass_matrix', 'forward_dynamics')
ENGINES = ('ours', 'pinocchio', 'mujoco')


@pytest.fixture(scope='module')
def figures(tmp_path_factory):
    """Return {id: figure} of one quick run."""
    from mbs_haptics.bench import engine
    from mbs_haptics.figures import Figures
    collection = engine.figures(Figures(), quick=True, quiet=True)
    return {row['id']: row for row in json.loads(collection.to_json())['figures']}


def expected():
    """Return the ids a quick run must yield."""
    ids = {'machine', 'laws.bare_ns', *(f'laws.{k}_ns' for k in ('springs', 'friction', 'lugre', 'contacts'))}
    for task in TASKS:
        for chain in ('n6', 'arm_n6') if task != 'mass_matrix' else ('n6',):
            ids |= {f'{task}.{chain}.{k}' for k in ('speedup', 'speedup_mujoco', 'difference', *(f'{e}_ns' for e in ENGINES))}
    for case in ('five_bar', 'hinge'):
        ids |= {f'constrained.{case}.{k}' for k in ('speedup', 'speedup_static', 'ours_static_ns', 'loop_error_ratio', 'loop_error_ratio_pinocchio',
                                                   'loop_error_ratio_mujoco', 'difference',
                                                   *(f'{e}_ns' for e in ENGINES), *(f'{e}_loop_error' for e in ENGINES))}
    cars = ('ours', 'mujoco', 'mujoco_implicitfast')
    ids |= {f'constrained.car.{k}' for k in ('difference', 'ratio_mujoco', 'ratio_mujoco_implicitfast', 'loop_error_ratio',
                                             *(f'{e}_ns' for e in cars), *(f'{e}_loop_error' for e in cars))}
    ids |= {'E4.inverse.n6.generation_s', 'E4.forward.n6.generation_s', 'E4.forward.n6.compile_s', 'E4.first_start.n6_s',
            'E4.second_start.n6_s', 'E6.chain6.inverse', 'E6.chain6.forward', 'E6.lid_hinge.forward'}
    return ids | {f'E12.n6.{k}' for k in ('operations', 'critical_path', 'width', 'batch_ns', 'batch_speedup', 'throughput')}


def test_all_figures_are_there(figures):
    """Every id of a quick run is present, with the keys of a figure."""
    assert expected() <= set(figures)
    for row in figures.values():
        assert set(row) == {'id', 'value', 'unit', 'aim', 'ok', 'note'}


def test_all_numbers_are_finite_and_times_positive(figures):
    """No figure is missing its value, and no time is zero or less (the share of a force law may vanish in noise)."""
    for row in figures.values():
        assert row['value'] is not None, row['id']
        if row['id'].endswith(('.ours_ns', '.mujoco_ns', '.pinocchio_ns', '_s', '.speedup')):
            assert row['value'] > 0, row['id']


def test_both_sides_do_the_same_work(figures):
    """What is timed agrees with the peers: the comparison is between equal results."""
    for row in figures.values():
        if row['id'].endswith('.difference'):
            assert row['ok'], row
    for case in ('five_bar', 'hinge', 'car'):
        assert figures[f'constrained.{case}.ours_loop_error']['value'] < 1e-12


def test_aims_stand_where_they_belong(figures):
    """The speed-ups that were promised carry their aim."""
    assert figures['inverse_dynamics.n6.speedup']['aim'] == '>=12'
    assert figures['forward_dynamics.n6.speedup']['aim'] == '>=12'
    assert figures['mass_matrix.n6.speedup']['aim'] == '>=5'
    for case in ('five_bar', 'hinge'):
        assert figures[f'constrained.{case}.speedup']['aim'] == '>=14'
        assert figures[f'constrained.{case}.loop_error_ratio']['aim'] == '>=1e6'


def test_unknown_subject_is_refused(capsys):
    """`haptic bench sideways` exits with 2."""
    assert main(['bench', 'sideways']) == 2
    assert 'sideways' in capsys.readouterr().err


def test_missing_peer_is_named(monkeypatch, capsys):
    """Without a peer the sentence says which one and how to get it."""
    from mbs_haptics.bench import engine
    monkeypatch.setattr(engine, '_present', lambda name: name != 'mujoco')
    assert main(['bench', 'engine', '--quick', '--json']) == 2
    captured = capsys.readouterr()
    assert 'mujoco' in captured.err and captured.out == ''
