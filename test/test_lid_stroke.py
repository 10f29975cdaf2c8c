"""The whole stroke of the lid hinge: closed form against the table, checks that name the failing pose, tables, friction."""

import math
from pathlib import Path

import numpy as np
import pytest

from mbs_core.control.lid_map import lid_map, lid_rates, table_errors
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build, lid_hinge
from mbs_core.runtime import compile_model

TABLE = np.genfromtxt(Path(__file__).parent / 'data' / 'hinge_table.csv', delimiter=',', names=True, comments='#', skip_header=3)
KERNEL = np.column_stack([TABLE[f'H{k}'] for k in range(1, 11)])
POSES = np.column_stack([TABLE[f'r{k}'] for k in range(1, 11)])


@pytest.fixture(scope='module')
def poses():
    """Return the stroke of the default geometry."""
    return lid_hinge.stroke(count=4000)


def test_h1_closed_form_poses_and_kernel_are_those_of_the_table(poses):
    kernel, away = poses.kernel, np.abs(TABLE['s'][:, None] - poses.s[[3999, 8000]]).min(axis=1) > 1e-6
    for k in range(10):
        for own in range(3):
            part = poses.piece == own
            rows = away & (TABLE['s'] > poses.s[part][0]) & (TABLE['s'] < poses.s[part][-1])
            turns = np.interp(TABLE['s'][rows], poses.s[part], poses.q[part, k]) - POSES[rows, k]
            assert np.abs(turns - 2 * np.pi * np.round(turns / (2 * np.pi))).max() < 3e-6       # linear between 4000 poses
            assert np.interp(TABLE['s'][rows], poses.s[part], kernel[part, k]) == pytest.approx(KERNEL[rows, k], rel=1e-5, abs=1e-4)


def test_h1_rank_of_b_is_9_and_angles_carry_load_over_the_whole_stroke(poses):
    assert poses.B.shape[1:] == (9, 10)
    assert (np.linalg.matrix_rank(poses.B) == 9).all()
    assert np.abs(np.einsum('pij,pj->pi', poses.B, poses.kernel)).max() < 1e-11
    assert min(s.min() for s in poses.transmission.values()) > 0.46
    assert min(poses.transmission['B3-B6'].min(), poses.transmission['B3-B4'].min()) == pytest.approx(0.659, abs=1e-3)
    assert poses.r1[-1] - poses.r1[0] == pytest.approx(66.998e-3, abs=1e-6)


@pytest.mark.parametrize('changed, sentence', [
    ({'l3': 20}, r'dead point at s = .* mm \(.*tilt .*B3-B6'),
    ({'xB': 40, 'yB': 0}, r'dead point at s = .*\(C2\), tilt 11.31 deg: the transmission angle B7-B8'),
    ({'y5': -10}, r'turns back at s = .* mm \(C1\)'),
    ({'x56': 60}, "can't be assembled: 'b0' .* at rest"),
    ({'R1': 47}, "'b1' does not exist .* no common tangent: take a smaller R1"),
    ({'l11': 1}, "no length 'l11'"),
    ({'l2': math.nan}, "'l2' must be a finite number"),
    ({'l2': 'long'}, "'l2' must be a finite number"),
    ({'l2': 40}, 'comes apart at|dead point|can.t be assembled'),
])
def test_an_impossible_geometry_is_refused_with_pose_and_reason(changed, sentence):
    with pytest.raises(MbsError, match=sentence):
        lid_hinge.stroke(**changed)


def test_other_geometries_pass_and_are_what_the_engine_assembles():
    changed = {'l3': 33.5, 'R1': 13.0, 'h1': 9.0, 'xV': 75.0}
    poses = lid_hinge.stroke(count=50, **changed)
    state = compile_model(build('lid_hinge')).state()
    state.set(changed)
    for k in range(0, 150, 7):
        state.q[:10], state.q[10], state.v[:] = poses.q[k], poses.s[k], 0.0
        assert np.abs(state.constraints()[0]).max() < 1e-12
        assert state.outputs()['theta_o'] == pytest.approx(poses.theta_o[k], abs=1e-12)


def test_reduced_dynamics_of_the_tables_are_those_of_the_engine():
    table, state = lid_map(), compile_model(build('lid_hinge', stops=False)).state()
    state.set('m_1', 3.0)
    poses = lid_hinge.stroke(count=40)
    for k in range(1, 119, 6):
        if k % 40 in (0, 39):
            continue
        state.q[:10], state.q[10], state.v[:] = poses.q[k], poses.s[k], 0.0
        state.v[0] = 0.05
        state.assemble()
        m_r, c_r, _ = state.reduced()
        t = table.at(poses.r1[k])
        assert m_r[0, 0] == pytest.approx(3.0 + 1.2 * t['mass'], rel=2e-4)
        assert c_r[0] == pytest.approx(1.2 * (9.81 * t['rise'] + 0.5 * t['dmass'] * 0.05 ** 2), rel=2e-3, abs=2e-3)


def test_rates_of_the_lid_are_those_of_its_centre_of_mass(poses):
    # y_G = h + l/2 sin(theta), x_G = -l/2 cos(theta) about the centre that rises with h
    for own in range(3):
        part = np.flatnonzero(poses.piece == own)
        J_h, J_t = lid_hinge.rates(lid_hinge.lengths(), *(poses.q[part, k] for k in (1, 2, 3, 5)), poses.theta_c[part])
        mass, rise, edge = lid_rates(poses.theta_o[part], J_h, J_t, 0.23)
        y, x = poses.h_o[part] + 0.115 * np.sin(poses.theta_o[part]), -0.115 * np.cos(poses.theta_o[part])
        dx, dy = np.gradient(x, poses.r1[part]), np.gradient(y, poses.r1[part])
        inside = slice(10, -10)
        assert rise[inside] == pytest.approx(dy[inside], rel=1e-5, abs=1e-6)
        assert mass[inside] == pytest.approx((dx ** 2 + dy ** 2 + 0.23 ** 2 / 12 * J_t ** 2)[inside], rel=1e-4)


def test_h6_look_up_tables_and_their_error(record_property):
    errors = {rows: table_errors(rows) for rows in (65, 257, 1025)}
    record_property('table_errors', str(errors))
    assert errors[1025]['h'] < 1e-6 and math.degrees(errors[1025]['theta']) < 1e-3
    for name in ('h', 'theta'):                       # linear interpolation: a quarter of the step, a sixteenth of the error
        assert 8 < errors[65][name] / errors[257][name] < 24
        assert 8 < errors[257][name] / errors[1025][name] < 24
    with pytest.raises(MbsError, match='at least 8 rows'):
        lid_map(rows=4)


@pytest.mark.parametrize('rubbing', ('stribeck', 'lugre'))
def test_friction_holds_the_lid_and_takes_its_share_when_it_slides(rubbing):
    state = compile_model(build('lid_hinge', rubbing=rubbing, stops=False)).state()
    k = int(np.argmin(np.abs(TABLE['theta_o'] - math.radians(60))))
    weight = 1.2 * 9.81 * float(lid_map().at(TABLE['r1'][k])['rise'])

    def accelerate(force, v):
        state.q[:10], state.q[10], state.v[:] = POSES[k], TABLE['s'][k], 0.0
        state.v[0] = v
        state.assemble()
        state.input('F1', force)
        for _ in range(8000 if rubbing == 'lugre' and v == 0 else 0):
            state.step(2.5e-5)
        state.forward()
        return state.vd[0]
    if rubbing == 'lugre':
        assert abs(accelerate(weight + 3.0, 0.0)) < 0.02 and abs(state.v[0]) < 1e-4              # sticks below 5 N
        assert accelerate(weight + 9.0, 0.0) > 0.05                                              # and breaks away above
    else:
        plain = compile_model(build('lid_hinge', stops=False)).state()
        plain.q[:10], plain.q[10], plain.v[:] = POSES[k], TABLE['s'][k], 0.0
        plain.v[0] = 0.02
        plain.assemble()
        plain.input('F1', weight)
        plain.forward()
        lost = (plain.vd[0] - accelerate(weight, 0.02)) * float(plain.reduced()[0][0, 0])
        assert lost == pytest.approx(4.0 + 1.0 * math.exp(-100.0) + 80.0 * 0.02, rel=1e-3)
