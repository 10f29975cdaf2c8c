"""What the limit chain promises for any input: never beyond a limit, never not finite, monotone, never hotter than rated."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from test_realtime_limits import H, LIMITS, Chain

CHAIN = Chain(native=True)
START = CHAIN.block.x.copy()
ANY = st.floats(allow_nan=True, allow_infinity=True)
SPEED = st.floats(-20, 20)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(ANY, SPEED), max_size=100))
def test_no_force_ever_leaves_a_limit(steps):
    CHAIN.block.x[:] = START
    q = last = 0.0
    for force, v in steps:
        q += v * H
        out = CHAIN.call('limit', 1, force, q, v, 1.0)
        assert math.isfinite(out) and abs(out) <= LIMITS.force
        assert abs(out - last) <= LIMITS.slew * H * (1 + 1e-12)
        if out * v > 0 and abs(v) >= LIMITS.speed_hard:         # what still pushes along is only what slew holds
            assert abs(out) < abs(last)
        last = out


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(-50, 50), SPEED), max_size=40), st.floats(-50, 50), st.floats(-50, 50), SPEED)
def test_asking_for_more_never_gives_less(before, one, other, v):
    CHAIN.block.x[:] = START
    q = 0.0
    for force, speed in before:
        q += speed * H
        CHAIN.call('limit', 1, force, q, speed, 1.0)
    state, out = CHAIN.block.x.copy(), []
    for force in sorted((one, other)):
        CHAIN.block.x[:] = state
        out.append(CHAIN.call('limit', 1, force, q + v * H, v, 1.0))
    assert out[0] <= out[1] + 1e-12


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(1, 200)), max_size=20))
def test_the_winding_never_gets_hotter_than_rated(stretches):
    CHAIN.block.x[:] = START
    for force, ticks in stretches:
        for _ in range(ticks):
            CHAIN.call('limit', 1, force, 0.0, 0.0, 1.0)
            assert CHAIN['heat'] <= LIMITS.continuous**2 * (1 + 1e-9) + H / LIMITS.thermal_time * LIMITS.force**2


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(-4, 4), st.floats(-5, 5)), max_size=100))
def test_passivity_control_only_ever_takes_energy_away(steps):
    CHAIN.block.x[:] = START
    for force, v in steps:
        CHAIN['energy'] = -abs(force)
        assert (CHAIN.call('passivity', 1, force, v) - force) * v <= 0.0
