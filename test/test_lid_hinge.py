"""The lid hinge of 000: every pose, kernel and lid rate against an independent closed-form table (claims H1, H2, E9)."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from mbs_core.control.trajectories import move
from mbs_core.mechanisms import build, lid_hinge
from mbs_core.runtime import compile_model

TABLE = np.genfromtxt(Path(__file__).parent / 'data' / 'hinge_table.csv', delimiter=',', names=True, comments='#', skip_header=3)
POSES = np.column_stack([TABLE[f'r{k}'] for k in range(1, 11)] + [TABLE['s']])
KERNEL = np.column_stack([TABLE[f'H{k}'] for k in range(1, 11)])
MM = 1e-3
L2, L4, XA, Y5, H1, LIFT, S1, S2 = 60 * MM, 40 * MM, 0.0, -45 * MM, 8 * MM, 3.2039255797254 * MM, 8 * MM, 14.7576 * MM


@pytest.fixture(scope='module')
def model():
    """Return the compiled hinge."""
    return compile_model(build('lid_hinge'))


@pytest.fixture
def state(model):
    """Return a state of the hinge, at rest."""
    return model.state()


def at_pose(state, k, guess=0.0):
    """Put the hinge at row k of the table; `guess` disturbs the dependent coordinates before they are solved for."""
    state.q[:] = POSES[k]
    state.q[1:10] += guess * np.cos(np.arange(9))
    state.v[:] = 0
    state.assemble()


def test_the_tree_is_that_of_table_1():
    m = build('lid_hinge')
    parents = {b.name: b.parent.name for b in m.bodies.values() if b.parent}
    assert parents == {'r1': 'ground', 'r2': 'r1', 'r3': 'r2', 'r4': 'r2', 'r5': 'r4', 'r6': 'r5', 'r7': 'r5', 'r8': 'r7',
                       'r9': 'r8', 'r10': 'r9'}
    assert [c.name for c in m.coordinates] == [f'r{k}' for k in range(1, 11)] + ['cam.s']
    assert sum(loop.size for loop in m.loops) == 10       # 8 of the joints, 2 of the cam, which also brings s


def test_derived_geometry_follows_from_the_lengths():
    p = {name: v[0] * MM for name, v in lid_hinge.LENGTHS.items()} | {'l_o': 0.23}
    g = lid_hinge.geometry(p)
    assert np.degrees([g['b0'], g['b1'], g['b2']]) == pytest.approx([27.8478, 32.2650, 104.7385], abs=5e-5)
    lengths = np.array([g['l7'], g['l8'], g['l9'], g['l10'], g['lift'], *g['B'], *g['G'], *g['start']]) / MM
    assert lengths == pytest.approx([31.2410, 104.7091, 30, 90, 3.2039, 15.6624, -13.0648, 95, 24, -14.4412, -22.5780], abs=5e-5)


def test_every_pose_of_the_table_closes_all_loops(state):
    for pose in POSES:
        state.q[:] = pose
        h, _, _ = state.constraints()
        assert np.abs(h).max() < 1e-12


@pytest.mark.parametrize('guess', (0.0, 1e-3))
def test_every_pose_is_found_again_from_r1(state, guess):
    for k, row in enumerate(TABLE):
        at_pose(state, k, guess)
        assert state.q == pytest.approx(POSES[k], abs=1e-9)
        out = state.outputs()
        assert (out['h_o'], out['theta_o']) == pytest.approx((row['h_o'], row['theta_o']), abs=1e-9)
        assert (out['lid.x'], out['lid.y']) == pytest.approx((row['x'], row['y']), abs=1e-9)


def test_h1_rank_is_9_and_h_is_the_kernel_along_the_stroke(state):
    for k in range(len(TABLE)):
        at_pose(state, k)
        _, j, _ = state.constraints()
        # s is determined by the cam: eliminate it with the better of the cam's two equations; 9 x 10 is left
        pivot = int(np.argmax(np.abs(j[:, 10])))
        b = np.delete(j - np.outer(j[:, 10] / j[pivot, 10], j[pivot]), pivot, axis=0)[:, :10]
        assert b.shape == (9, 10)
        scaled = b / np.array([1.0] + [0.05] * 9)          # angles as 50 mm
        values = np.linalg.svd(scaled / np.abs(scaled).max(axis=1, keepdims=True), compute_uv=False)
        assert np.linalg.matrix_rank(b) == 9 and values[-1] > 1e-3 * values[0]
        assert np.abs(b @ KERNEL[k]).max() < 1e-9
        assert np.linalg.svd(b)[2][-1] / np.linalg.svd(b)[2][-1][0] == pytest.approx(KERNEL[k], abs=1e-7)


def test_the_rates_of_all_joints_are_h_times_that_of_r1(state):
    for k in range(len(TABLE)):
        if any(abs(TABLE['s'][k] - s) < 1e-5 for s in (S1, S2)):
            continue                                       # at a junction either piece of the cam may be taken
        at_pose(state, k)
        state.v[:] = 0
        state.v[0] = 0.01
        state.assemble()
        assert state.v[:10] / state.v[0] == pytest.approx(KERNEL[k], abs=1e-7)


def test_h2_lid_rates_per_unit_of_r1(state):
    for k, row in enumerate(TABLE):
        at_pose(state, k)
        out = state.outputs()
        assert (out['J_hr'], out['J_thetar']) == pytest.approx((row['J_hr'], row['J_thetar']), abs=1e-7)


def test_h2_lift_is_a_double_slider():
    for row in TABLE[TABLE['s'] <= S1]:
        y = Y5 + row['h_o']
        reach = math.sqrt(L2 ** 2 - y ** 2)
        state = hinge_at(row['s'])
        out = state.outputs()
        assert state.q[0] == pytest.approx(XA - L4 + reach, abs=1e-12)
        assert out['theta_o'] == pytest.approx(0, abs=1e-12)
        assert out['J_hr'] == pytest.approx(-reach / y, abs=1e-9)


def test_h2_rotation_is_a_slider_crank():
    for row in TABLE[TABLE['s'] > S2 + 1e-5]:
        state = hinge_at(row['s'])
        out = state.outputs()
        theta = out['theta_o']
        y = Y5 + H1 + LIFT + L4 * math.sin(theta)
        reach = math.sqrt(L2 ** 2 - y ** 2)
        assert out['h_o'] == pytest.approx(H1 + LIFT, abs=1e-12)
        assert state.q[0] == pytest.approx(XA - L4 * math.cos(theta) + reach, abs=1e-12)
        assert 1 / out['J_thetar'] == pytest.approx(L4 * math.sin(theta) - y * L4 * math.cos(theta) / reach, abs=1e-9)


def hinge_at(s):
    """Return a state at the table's pose of abscissa s."""
    state = compile_model(build('lid_hinge')).state()
    at_pose(state, int(np.argmin(np.abs(TABLE['s'] - s))))
    return state


def test_e9_state_of_twelve_one_speed_ten_joints_and_the_abscissa(state):
    at_pose(state, 20)
    _, _, free = state.reduced()
    assert list(free) == ['r1']
    assert state.model.nq + len(free) == 12


def test_e9_s_tracks_the_cam_through_all_three_pieces(state):
    at_pose(state, 0)
    track = CubicSpline(TABLE['r1'], TABLE['s'])
    pieces = set()
    for k in range(4000):
        wish, rate, _ = move(k * 2.5e-4, POSES[0, 0], 0.050, 0.0, 0.9)
        state.input('F1', 25.0 + 4000.0 * (wish - state.q[0]) + 300.0 * (rate - state.v[0]))
        state.step(2.5e-4)
        s = state.q[10]
        pieces.add('D1' if s < S1 else 'C1' if s < S2 else 'C2')
        assert max(state.residuals()) < 1e-10
        assert s == pytest.approx(track(state.q[0]), abs=1e-5)          # the spline's own error
    assert pieces == {'D1', 'C1', 'C2'}


@pytest.mark.parametrize('k, force, inertia', ((0, 10.382, 0.933), (-1, -5.871, 13.20)))
def test_static_force_and_reduced_inertia_at_rest_and_open(state, k, force, inertia):
    at_pose(state, k)
    m_r, c_r, free = state.reduced()
    assert free == ['r1']
    assert m_r[0, 0] == pytest.approx(inertia, abs=0.005)
    assert c_r[0] == pytest.approx(force, abs=0.001)


def test_the_lid_turns_with_the_arm(state):
    assert KERNEL[:, [1, 3, 4, 6, 7, 8]].sum(axis=1) == pytest.approx(-TABLE['J_thetar'], abs=1e-9)      # oracle, H
    for k, row in enumerate(TABLE):
        at_pose(state, k)
        assert state.q[[1, 3, 4, 6, 7, 8]].sum() == pytest.approx(math.pi - row['theta_o'], abs=1e-9)


def test_free_fall_on_the_second_arc_is_that_of_a_physical_pendulum(state):
    # on C2 the lid turns about V: I theta'' = -m g l/2 cos(theta), I = m l^2 / 3
    k = int(np.argmin(np.abs(TABLE['theta_o'] - math.radians(60))))
    at_pose(state, k)
    fall = solve_ivp(lambda _, y: (y[1], -1.5 * 9.81 / 0.23 * math.cos(y[0])), (0, 0.15), (state.outputs()['theta_o'], 0.0),
                     rtol=1e-11, atol=1e-12)
    state.run(1500, 1e-4)
    assert state.outputs()['theta_o'] == pytest.approx(fall.y[0, -1], abs=1e-8)


def test_a_changed_length_keeps_the_hinge_closed_and_tangent(state):
    fresh = compile_model(build('lid_hinge')).state()
    fresh.set({'l3': 33.5, 'R1': 13.0, 'h1': 9.0, 'xV': 75.0})
    fresh.assemble()
    assert max(fresh.residuals()[:2]) < 1e-10
    assert fresh.outputs()['theta_o'] == pytest.approx(0, abs=0.02)


def test_stops_hold_the_lid_closed_and_open_and_do_nothing_between(state):
    state.run(2000, 1e-3)
    assert state.outputs()['h_o'] == pytest.approx(-1.2 * 9.81 / 5e4, abs=1e-6)
    state.input('F1', 55.0)
    state.run(2000, 1e-3)
    assert math.radians(100) < state.outputs()['theta_o'] < math.radians(102)
    free = compile_model(build('lid_hinge', stops=False)).state()
    for k in range(0, len(TABLE) - 1, 6):
        for one in (state, free):
            one.input('F1', 20.0)
            at_pose(one, k)
            one.v[0] = 0.05
            one.forward()
        assert state.vd[:10] == pytest.approx(free.vd[:10], rel=1e-6, abs=1e-6)
