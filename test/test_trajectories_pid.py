"""Smooth slopes have the class they promise, in numbers and in expressions; the PID holds, limits and does not wind up."""

import numpy as np
import pytest

from mbs_core.control.pid import Gains, Pid
from mbs_core.control.trajectories import move, slope
from mbs_core.errors import MbsError
from mbs_core.symbolic import Graph, evaluate


@pytest.mark.parametrize('smoothness', (2, 3))
def test_slope_rises_from_0_to_1_with_all_its_derivatives_zero_at_both_ends(smoothness):
    for t, level in ((-1.0, 0.0), (0.3, 0.0), (1.8, 1.0), (9.0, 1.0)):
        f, *rates = slope(t, 0.3, 1.8, smoothness)
        assert f == pytest.approx(level, abs=1e-14) and rates == pytest.approx([0.0] * smoothness, abs=1e-11)
    assert slope(0.5, 0, 1, smoothness)[0] == pytest.approx(0.5)


@pytest.mark.parametrize('smoothness', (2, 3))
def test_derivatives_of_the_slope_agree_with_differences(smoothness):
    t = np.linspace(0.31, 1.79, 200)
    for k in range(smoothness):
        ahead, behind = slope(t + 1e-6, 0.3, 1.8, smoothness)[k], slope(t - 1e-6, 0.3, 1.8, smoothness)[k]
        assert (ahead - behind) / 2e-6 == pytest.approx(slope(t, 0.3, 1.8, smoothness)[k + 1], abs=1e-6)


def test_slope_of_an_expression_is_the_slope_of_its_value():
    g = Graph('test')
    t, end = g.symbol('t'), g.symbol('end')
    for now in (-0.5, 0.2, 1.1, 3.0):
        assert evaluate(move(t, 2.0, 5.0, 0.0, end, 3), {t: now, end: 1.5}) == pytest.approx(move(now, 2.0, 5.0, 0.0, 1.5, 3), abs=1e-12)


def test_wrong_slopes_are_refused():
    with pytest.raises(MbsError, match='class C4 is not known'):
        slope(0.0, smoothness=4)
    with pytest.raises(MbsError, match='goes from 2 to 1 s'):
        slope(0.0, 2.0, 1.0)


def follow(pid, seconds, load=0.0, h=1e-3):
    """Return position and output after controlling a damped mass for a while, the target 1."""
    x = v = u = 0.0
    for k in range(round(seconds / h)):
        u = pid.update(k * h, 1.0, x)
        v += h * (u - v - load)
        x += h * v
    return x, u


def test_integral_removes_the_static_error_that_pd_leaves():
    x, u = follow(Pid(Gains(kp=10.0, kd=2.0)), 20.0, load=2.0)
    assert x == pytest.approx(0.8, abs=1e-6)
    x, u = follow(Pid(Gains(kp=10.0, ki=5.0, kd=2.0)), 40.0, load=2.0)
    assert (x, u) == pytest.approx((1.0, 2.0), abs=1e-6)


def test_output_keeps_its_limits_and_the_integral_does_not_wind_up():
    pid = Pid(Gains(kp=1.0, ki=10.0, low=-2.0, high=2.0))
    outputs = [pid.update(0.01 * k, 5.0, 0.0) for k in range(1000)]
    assert max(outputs) == 2.0 and pid.integral <= 2.0
    assert pid.update(10.0, -5.0, 0.0) < 0          # turns at once


def test_a_step_of_the_target_gives_no_derivative_kick_and_a_measured_rate_is_used_as_it_is():
    pid = Pid(Gains(kp=0.0, kd=1.0))
    pid.update(0.0, 0.0, 0.0)
    assert pid.update(0.001, 100.0, 0.0) == 0.0
    assert pid.update(0.002, 100.0, 0.0, measured_rate=3.0) == -3.0


def test_filtered_derivative_reaches_the_rate():
    pid = Pid(Gains(kp=0.0, kd=1.0, filter=0.01))
    outputs = [pid.update(0.001 * k, 0.0, 0.002 * k) for k in range(200)]
    assert outputs[1] > -1.0 and outputs[-1] == pytest.approx(-2.0, abs=1e-6)


def test_wrong_gains_and_times_are_refused():
    with pytest.raises(MbsError, match="gain 'ki' is -1"):
        Gains(kp=1.0, ki=-1.0)
    with pytest.raises(MbsError, match='limits .1, -1. are empty'):
        Gains(kp=1.0, low=1.0, high=-1.0)
    pid = Pid(Gains(kp=1.0))
    pid.update(1.0, 0.0, 0.0)
    with pytest.raises(MbsError, match='time went back from 1 to 0.5 s'):
        pid.update(0.5, 0.0, 0.0)
