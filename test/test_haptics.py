"""Haptics: optimal and stable estimates from any sensors, doubted sensors left out, passivity bound and control."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_core.haptics import estimator, passivity, plausibility
from mbs_core.haptics.estimator import Measurement, design, step
from mbs_core.haptics.plausibility import Checks, Plausibility

T = 1e-3
SETS = {
    'position only': [Measurement('position', 1e-5)],
    'position and velocity': [Measurement('position', 1e-5), Measurement('velocity', 1e-3)],
    'two positions': [Measurement('position', 1e-5), Measurement('position', 3e-5)],
    'all three': [Measurement('position', 1e-4), Measurement('velocity', 1e-2), Measurement('acceleration', 0.1)],
    'six': [Measurement('position', 1e-4)] * 3 + [Measurement('velocity', 1e-2)] * 2 + [Measurement('acceleration', 1.0)],
}


def transition(h):
    """Return the matrix of a triple integrator over h seconds."""
    return np.array([[1, h, h * h / 2], [0, 1, h], [0, 0, 1]])


def run(filter_, measured, mask=None, x=None):
    """Return the estimates (n, 3) of measured values (n, sensors)."""
    x = filter_.start(measured[0, 0]) if x is None else x
    out = []
    for row in measured:
        step(x, row, filter_.complete if mask is None else mask, filter_.places, filter_.gains, T)
        out.append(x.copy())
    return np.array(out)


def motion(n, sensors, seed=0, jerk=200.0):
    """Return the true states (n, 3) of white jerk and their noisy measurements (n, sensors)."""
    random = np.random.default_rng(seed)
    back = [2, 1, 0]
    q = np.array([[T**(i + j + 1) / (math.factorial(i) * math.factorial(j) * (i + j + 1)) for j in back] for i in back])
    root = np.linalg.cholesky(q) * jerk
    x, truth = np.zeros(3), []
    for _ in range(n):
        x = transition(T) @ x + root @ random.normal(size=3)
        truth.append(x)
    truth = np.array(truth)
    place = [estimator.QUANTITIES[s.quantity] for s in sensors]
    return truth, truth[:, place] + random.normal(size=(n, len(sensors))) * [s.noise for s in sensors]


@pytest.mark.parametrize('name', SETS)
def test_gains_equal_those_of_the_full_kalman_recursion(name):
    sensors, jerk = SETS[name], 200.0
    filter_ = design(sensors, T, jerk)
    h = np.zeros((len(sensors), 3))
    for row, sensor in enumerate(sensors):
        h[row, estimator.QUANTITIES[sensor.quantity]] = 1
    r = np.diag([s.noise**2 for s in sensors])
    back = [2, 1, 0]
    q = jerk**2 * np.array([[T**(i + j + 1) / (math.factorial(i) * math.factorial(j) * (i + j + 1)) for j in back] for i in back])
    a, p = transition(T), np.diag([1e-6, 1.0, 1e4])
    for _ in range(4000):
        p = a @ p @ a.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        p = (np.eye(3) - gain @ h) @ p
        p = (p + p.T) / 2
    assert np.allclose(filter_.gains[filter_.complete], gain, rtol=1e-5, atol=1e-7 * abs(gain).max())
    assert np.allclose(filter_.deviation[filter_.complete], np.sqrt(np.diag(p)), rtol=1e-4)


@pytest.mark.parametrize('name', SETS)
def test_errors_are_as_large_as_the_filter_says(name):
    sensors = SETS[name]
    filter_ = design(sensors, T, 200.0)
    truth, measured = motion(20000, sensors)
    error = (run(filter_, measured) - truth)[2000:]
    assert np.sqrt((error**2).mean(axis=0)) == pytest.approx(filter_.deviation[filter_.complete], rel=0.15)


@pytest.mark.parametrize('name', SETS)
def test_every_subset_is_stable_and_no_worse_with_more_sensors(name):
    filter_ = design(SETS[name], T, 200.0)
    for mask in range(1, filter_.complete + 1):
        h = np.zeros((len(filter_.places), 3))
        for k, place in enumerate(filter_.places):
            if mask >> k & 1:
                h[k, place] = 1
        closed = (np.eye(3) - filter_.gains[mask] @ h) @ transition(T)
        unseen = min(place for k, place in enumerate(filter_.places) if mask >> k & 1)
        assert np.abs(np.linalg.eigvals(closed[unseen:, unseen:])).max() < 1.0
        assert filter_.has_position(mask) == (unseen == 0)
        assert (filter_.deviation[filter_.complete] <= filter_.deviation[mask] * (1 + 1e-9)).all()


def test_a_velocity_sensor_makes_the_velocity_better_than_differences():
    sensors = SETS['position and velocity']
    truth, measured = motion(20000, sensors)
    both = run(design(sensors, T, 200.0), measured)
    alone = run(design(sensors[:1], T, 200.0), measured[:, :1])
    differences = np.diff(measured[:, 0]) / T
    rms = [np.sqrt(((v - truth[-len(v):, 1])[2000:]**2).mean()) for v in (both[:, 1], alone[:, 1], differences)]
    assert rms[0] < 0.3 * rms[1] and rms[1] < 0.5 * rms[2]


def test_a_sensor_that_drops_out_is_left_out_without_a_jump():
    sensors = SETS['two positions']
    filter_ = design(sensors, T, 200.0)
    truth, measured = motion(4000, sensors)
    x = filter_.start()
    first = run(filter_, measured[:2000], x=x)
    broken = measured[2000:].copy()
    broken[:, 0] = np.nan
    second = run(filter_, broken, mask=0b10, x=x)
    assert np.isfinite(second).all()
    assert np.abs(np.diff(np.concatenate([first, second])[:, 0]) - np.diff(truth[:, 0])).max() < 2e-4     # 6 sigma of the sensor left
    coasting = x.copy()
    step(coasting, broken[-1], 0, filter_.places, filter_.gains, T)
    assert np.allclose(coasting, transition(T) @ x)


def test_the_step_compiles_as_it_is_and_gives_the_same_numbers():
    from numba import njit
    sensors = SETS['all three']
    filter_ = design(sensors, T, 200.0)
    compiled = njit(step)
    measured = motion(50, sensors)[1]
    x, y = filter_.start(), filter_.start()
    for row in measured:
        step(x, row, filter_.complete, filter_.places, filter_.gains, T)
        compiled(y, row, filter_.complete, filter_.places, filter_.gains, T)
    assert np.allclose(x, y, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.floats(-7, -1), st.floats(-5, 0), st.floats(-1, 6), st.floats(-4, -2))
def test_design_succeeds_and_is_stable_over_wide_ranges(position, velocity, jerk, period):
    filter_ = design([Measurement('position', 10**position), Measurement('velocity', 10**velocity)], 10**period, 10**jerk)
    h = 10**period
    for mask, row in ((1, [[1, 0, 0], [0, 0, 0]]), (3, [[1, 0, 0], [0, 1, 0]])):
        closed = (np.eye(3) - filter_.gains[mask] @ np.array(row)) @ transition(h)
        assert np.abs(np.linalg.eigvals(closed)).max() < 1.0 + 1e-12


@pytest.mark.parametrize('call, words', [
    (lambda: design([], T, 1.0), '1 to 6 sensors'),
    (lambda: design([Measurement('velocity', 1.0)], T, 1.0), 'none of the sensors measures a position'),
    (lambda: design([Measurement('position', 1.0)], 0.0, 1.0), 'positive'),
    (lambda: Measurement('positon', 1.0), "did you mean 'position'"),
    (lambda: Measurement('position', 0.0), 'positive'),
    (lambda: Checks(low=1.0, high=0.0), 'empty'),
    (lambda: Checks(jump=0.0), "'jump' is 0"),
    (lambda: passivity.stiffest(1.0, 0.0), 'period'),
    (lambda: passivity.Controller(passivity.Observer(), 0.0), 'damping_max'),
    (lambda: passivity.check_stiffness(5000.0, 1.0, T, T), 'only 666.7 is passive'),
])
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(MbsError, match=words):
        call()


# Plausibility

def verdicts(checks, rows, fresh=None, predicted=None):
    """Return the verdicts of one sensor over a list of values."""
    judge = Plausibility([checks])
    out = []
    for k, value in enumerate(rows):
        judge.check([value], 1 if fresh is None else fresh[k], None if predicted is None else [predicted[k]])
        out.append(judge.verdicts[0])
    return out


def test_each_fault_of_a_sensor_gets_its_verdict():
    p = plausibility
    assert verdicts(Checks(), [0, 1, 2]) == [p.OK] * 3
    assert verdicts(Checks(), [0, math.nan, 1])[1] == p.NOT_FINITE
    assert verdicts(Checks(high=1.0), [0, 2, 0.5]) == [p.OK, p.RANGE, p.OK]
    assert verdicts(Checks(jump=0.5, patience=2), [0, 1, 1, 1, 1]) == [p.OK, p.JUMP, p.JUMP, p.JUMP, p.OK]
    assert verdicts(Checks(dropout=2), [0, 0, 0, 0], fresh=[1, 0, 0, 1]) == [p.OK, p.OK, p.DROPOUT, p.OK]
    assert verdicts(Checks(frozen=3, analogue=True), [1, 1, 1, 1, 2]) == [p.OK] * 3 + [p.FROZEN, p.OK]
    moving = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert verdicts(Checks(frozen=3, moved=0.25), [0.0] * 6, predicted=moving)[-1] == p.FROZEN
    assert verdicts(Checks(frozen=3, moved=0.25), [0.0] * 6, predicted=[0.0] * 6)[-1] == p.OK
    assert verdicts(Checks(residual=0.1, patience=2), [0, 1, 1, 0], predicted=[0] * 4)[2] == p.RESIDUAL


def test_the_wrong_one_of_three_sensors_is_found_and_named():
    sensors = [Measurement('position', 1e-4)] * 3
    filter_ = design(sensors, T, 50.0)
    judge = Plausibility([Checks(residual=2e-3)] * 3)
    random = np.random.default_rng(2)
    x = filter_.start()
    for k in range(3000):
        y = 0.01 * math.sin(k * T * 5) + random.normal(0, 1e-4, 3)
        if k > 1000:
            y[1] += 0.005 * min(1.0, (k - 1000) / 100)      # a slow drift, no jump
        mask = judge.check(y, 7, [x[0]] * 3)
        step(x, y, mask, filter_.places, filter_.gains, T)
    assert mask == 0b101
    assert judge.complaint(['a', 'b', 'c']) == "'b' disagrees with the other sensors"
    assert judge.events[1] >= 1 and judge.events[0] == judge.events[2] == 0
    assert x[0] == pytest.approx(0.01 * math.sin(2999 * T * 5), abs=5e-4)


@given(st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.booleans()), max_size=60))
def test_nothing_implausible_ever_reaches_the_mask(samples):
    judge = Plausibility([Checks(low=-1, high=1, jump=0.5)])
    before, waited = None, 1
    for value, fresh in samples:
        if judge.check([value], int(fresh), None):
            assert fresh and -1 <= value <= 1
            assert before is None or abs(value - before) <= 0.5 * waited
        waited += 1
        if fresh and math.isfinite(value):
            before, waited = value, 1


# Passivity

def colgate(stiffness, damping, period, latency_periods):
    """Return the damping that Colgate and Schenkel's condition wants, evaluated over frequency."""
    w = np.linspace(1e-4, math.pi, 200001)
    z = np.exp(1j * w)
    h = (stiffness + damping * (z - 1) / (period * z)) * z**-latency_periods
    return float((period / 2 / (1 - np.cos(w)) * ((1 - 1 / z) * h).real).max())


@pytest.mark.parametrize('latency', [0, 1, 2, 5])
def test_the_bound_is_colgates_exactly_for_springs_and_safe_with_dampers(latency):
    exact = colgate(1000.0, 0.0, T, latency)
    assert passivity.required_damping(1000.0, T, latency * T) == pytest.approx(exact, rel=1e-6)
    for damping in (0.1, 1.0, 10.0):
        assert passivity.required_damping(1000.0, T, latency * T, damping) >= colgate(1000.0, damping, T, latency) - 1e-9
    assert colgate(1000.0, 1.0, T, 0) == pytest.approx(1000 * T / 2 + 1.0, rel=1e-6)


def test_the_stiffest_is_the_inverse_of_the_required_damping():
    k = passivity.stiffest(3.0, T, 0.5e-3, 1.0)
    assert passivity.required_damping(k, T, 0.5e-3, 1.0) == pytest.approx(3.0)
    assert passivity.stiffest(1.0, T, 0.0, 2.0) == 0.0
    passivity.check_stiffness(k * 0.999, 3.0, T, 0.5e-3, 1.0)


def wall(stiffness, physical_damping, controlled=False, mass=0.2, steps=4000):
    """Return the energy that a sampled wall has given to a mass that ran into it, and the largest speed at the end."""
    x, v, q_before, held = 0.0, 0.3, 0.0, 0.0
    observer = passivity.Observer()
    control = passivity.Controller(observer, damping_max=mass / T)
    speeds = []
    for _ in range(steps):
        force = -stiffness * x if x > 0 else 0.0
        if controlled:
            force = control.update(force, x - q_before, v, T, held)
        else:
            observer.observe(held, x - q_before)
        q_before, held = x, force
        for _ in range(20):
            v += (force - physical_damping * v) / mass * T / 20
            x += v * T / 20
        speeds.append(abs(v))
        if x < -0.01:       # a hand that pushes it back
            x, v = -0.01, abs(v)
            q_before = x
    return observer.given, max(speeds[-500:])


def test_a_wall_above_the_bound_creates_energy_and_the_controller_takes_it_back():
    given_free, _ = wall(20000.0, 0.0)
    assert given_free > 0.001
    given_controlled, _ = wall(20000.0, 0.0, controlled=True)
    assert given_controlled < 0.1 * given_free


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-2, 2)), min_size=1, max_size=200))
def test_controlled_energy_never_exceeds_the_allowance_when_velocity_holds(samples):
    observer = passivity.Observer(allowance=0.01)
    control = passivity.Controller(observer, damping_max=1e12)
    held = travel = 0.0
    for force, velocity in samples:
        velocity = velocity if abs(velocity) > 1e-3 else 1e-3
        held = control.update(force, travel, velocity, T, held)
        travel = velocity * T
        assert observer.given <= 0.01 + 1e-9
        assert control.damping >= 0.0


@given(st.floats(-50, 50), st.floats(-2, 2), st.floats(-1, 1))
def test_the_controller_only_ever_brakes(force, velocity, left):
    control = passivity.Controller(passivity.Observer(allowance=left), damping_max=100.0)
    out = control.update(force, 0.0, velocity, T, 0.0)
    assert (out - force) * velocity <= 1e-12
    assert 0.0 <= control.damping <= 100.0
