"""Identification of the lid from recordings: the regressor against the engine, and a bag of the firmware's world with known truth."""

import math

import numpy as np
import pytest
import yaml

from mbs_core.control.lid_identify import NAMES, identify, regressor
from mbs_core.control.lid_map import lid_map
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_haptics.firmware.lid import LidSim, lid_model
from mbs_haptics.joint_bag import write_joint_bag
from mbs_haptics.main import main

PLANT = {'lid_mass': 1.32, 'rotor_mass': 1.7, 'coulomb': 2.6, 'stiction': 3.2, 'viscous': 30.0}
TRUTH = {'m_1': 3.4, 'm_o': 1.32, 'l_c': 0.115, 'inertia': 1.32 * 0.23 ** 2 / 3, 'coulomb': 5.2, 'viscous': 60.0}


@pytest.fixture(scope='module')
def recorded():
    """Return (t, left, right, efforts) of lids that open and close at several speeds, as joint_states has them."""
    model, rows = lid_model(), []
    for seed, pace in enumerate((1.0, 0.7, 1.4)):
        lid = LidSim(model, PLANT, seed=seed, **{'control.T_t': pace, 'control.T_b': 0.3, 'control.T_r': 1.5 * pace})

        def note(one):
            rows.append((len(rows) * 1e-3, *(one.sim.view(rod)['q'] for rod in (0, 1)), *(one.sim.get(name) for name in ('force', 'force1'))))
        for command in (1, -1):
            lid.command(command)
            lid.run(2.5 * pace + 0.8, note)
    return np.array(rows)


def test_regressor_is_the_engine_s_reduced_dynamics():
    state, table = compile_model(build('lid_hinge', stops=False)).state(), lid_map(40001)
    state.set({'m_1': 3.0})
    truth = np.array([3.0, 1.2, 1.2 * 0.115, 1.2 * 0.23 ** 2 / 3, 0.0, 0.0])
    assert len(truth) == len(NAMES)
    for r1 in np.linspace(0.0, 0.064, 120):
        state.q[0], state.v[:] = r1, 0.0
        state.v[0] = 0.05
        state.assemble()
        if min(abs(r1 - 0.0072335), abs(r1 - 0.0130032)) < 3e-4:
            continue
        m_r, c_r, _ = state.reduced()
        for a in (0.0, 0.7):
            F1 = regressor(np.array([r1]), np.array([0.05]), np.array([a]), table) @ truth
            assert F1[0] == pytest.approx(m_r[0, 0] * a + c_r[0], rel=2e-4, abs=2e-3)


def test_known_truth_is_found_from_a_bag(recorded, tmp_path, capsys, record_property):
    t, strokes, forces = recorded[:, 0] + 1e9, recorded[:, 1:3], recorded[:, 3:5]
    write_joint_bag(tmp_path / 'bag', t, ['left', 'right'], strokes, np.zeros_like(strokes), forces)
    assert main(['identify', 'lid_hinge', str(tmp_path / 'bag'), '-o', str(tmp_path / 'lid.yaml')]) == 0
    assert '% ' in capsys.readouterr().out
    tree = yaml.safe_load((tmp_path / 'lid.yaml').read_text())
    most = {'m_o': 0.03, 'l_c': 0.02, 'inertia': 0.05, 'coulomb': 0.08, 'viscous': 0.15, 'm_1': 0.25}
    for name, true in TRUTH.items():
        got = tree['identified'][name]
        record_property(name, f"{got['value']:.4g} ({got['low']:.4g} to {got['high']:.4g}), truly {true:.4g}")
        assert got['value'] == pytest.approx(true, rel=most[name]), name
        half = 0.5 * (got['high'] - got['low'])
        assert abs(got['value'] - true) < 2.5 * half, f'{name}: the interval must tell how far off it is'
        assert half < 0.3 * true
    assert tree['residual']['rms_N'] < 0.1 * tree['residual']['force_rms_N']
    assert tree['parameters']['model.control.coulomb'] == tree['identified']['coulomb']['value']


def test_a_hand_in_the_recording_does_not_tilt_the_result(recorded):
    t, r1, force = recorded[:, 0], recorded[:, 1:3].mean(axis=1), recorded[:, 3:5].sum(axis=1)
    pushed = force + np.where((t > 2.2) & (t < 2.4), 25.0, 0.0)
    plain, touched = identify(t, r1, force).values, identify(t, r1, pushed).values
    for name in ('m_o', 'l_c', 'coulomb'):
        assert touched[name] == pytest.approx(plain[name], rel=0.05)


def test_too_little_motion_and_nonsense_are_one_sentence(recorded, tmp_path, capsys):
    t, r1 = recorded[:2000, 0], recorded[:2000, 1]
    with pytest.raises(MbsError, match='must open and close over most of its stroke'):
        identify(t, r1, r1)
    with pytest.raises(MbsError, match='at least 100 finite samples'):
        identify(t, r1 * math.nan, r1)
    write_joint_bag(tmp_path / 'other', [0.0, 1.0], ['x'], [[0.0], [1.0]], [[0.0], [0.0]])
    for words in (('lid_hing', tmp_path), ('lid_hinge', tmp_path / 'none'), ('lid_hinge', tmp_path / 'other'),
                  ('lid_hinge', tmp_path / 'other', '-o', tmp_path / 'x.txt')):
        assert main(['identify', *map(str, words)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 4 and all(line.startswith('haptic: ') for line in lines) and "did you mean 'lid_hinge'?" in lines[0]
