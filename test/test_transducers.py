"""Transducers: counts to SI and back, calibration from noisy readings, plain dicts, and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_core.transducers import (AbsoluteEncoder, Accelerometer, BallScrew, Belt, Coil, DcMotor, Encoder, Gear, Gyroscope,
                                  HallPair, Inclinometer, Potentiometer, StrainGauge, VoiceCoil, from_dict, kinds, unwrap)

# kind: (a true sensor, a wrong first guess of it, range of the quantity)
SENSORS = {
    'hall_pair': (HallPair(k=2e-3, O=1e-3), HallPair(k=1.0), (-0.01, 0.01)),
    'hall_pair with lever': (HallPair(k=2e-3, O=1e-3, lever=0.218), HallPair(k=1.0, lever=0.218), (-0.05, 0.05)),
    'coil': (Coil(kappa=3.0, zero=2048), Coil(kappa=1.0), (-0.8, 0.8)),
    'coil with lever': (Coil(kappa=3.0, zero=2048, lever=0.2), Coil(kappa=1.0, lever=0.2), (-4, 4)),
    'encoder': (Encoder(scale=-1e-4, zero=12345.0), Encoder(scale=1.0), (-1, 1)),
    'wrapping encoder': (Encoder(scale=1e-3, zero=500.0, bits=10), Encoder(scale=1.0, bits=10), (-3, 3)),
    'absolute_encoder': (AbsoluteEncoder(bits=12, turn_bits=4, zero=65000, ratio=-0.5),
                         AbsoluteEncoder(bits=12, turn_bits=4), (-9, 9)),
    'potentiometer': (Potentiometer(scale=4e-4, zero=300.0), Potentiometer(scale=1.0), (0, 1)),
    'strain_gauge': (StrainGauge(scale=0.02, zero=-700.0, arm=0.15), StrainGauge(scale=1.0, arm=0.15), (-12, 12)),
    'gyroscope': (Gyroscope(scale=1e-3, zero=17.0), Gyroscope(scale=1.0), (-5, 5)),
    'accelerometer': (Accelerometer(scale=5e-3, zero=-9.0), Accelerometer(scale=1.0), (-20, 20)),
    'inclinometer': (Inclinometer(zero=0.1, lateral_zero=30, vertical_zero=-12, lateral_gain=1.05), Inclinometer(zero=0.1),
                     (-0.7, 0.7)),
    'voice_coil': (VoiceCoil(force_constant=11.0, resistance=3.0, current_max=4.0, current_continuous=1.5, lever=0.12),
                   VoiceCoil(force_constant=1.0, resistance=3.0, current_max=4.0, current_continuous=1.5, lever=0.12), (-5, 5)),
    'dc_motor': (DcMotor(torque_constant=0.05, resistance=1.0, current_max=9.0, current_continuous=3.0, travel=8e-4,
                         efficiency=0.9),
                 DcMotor(torque_constant=1.0, resistance=1.0, current_max=9.0, current_continuous=3.0, travel=8e-4,
                         efficiency=0.9), (-300, 300)),
}
CASES = [pytest.param(*case, id=name) for name, case in SENSORS.items()]


def readings(sensor, values):
    """Return the raw readings (one array per channel) that a true sensor gives of these values, not rounded."""
    back = getattr(sensor, 'counts', None) or sensor.current
    raw = [back(float(value)) for value in values]
    columns = np.array(raw, float).reshape(len(raw), -1).T
    if isinstance(sensor, Encoder) and sensor.bits:
        columns %= 1 << sensor.bits
    return columns


@pytest.mark.parametrize('sensor, guess, bounds', CASES)
def test_si_undoes_counts_for_numbers_and_arrays(sensor, guess, bounds):
    values = np.linspace(*bounds, 41)
    columns = readings(sensor, values)
    if isinstance(sensor, Encoder):
        columns = [sensor.unwrapped(columns[0])]
        shift = sensor.si(columns[0][0]) - values[0]        # an incremental counter knows no turns before it was read
        columns = [columns[0] - shift / sensor.scale]
    assert np.allclose(sensor.si(*columns), values, atol=1e-9)
    assert sensor.si(*(float(column[7]) for column in columns)) == pytest.approx(values[7], abs=1e-9)


@pytest.mark.parametrize('sensor, guess, bounds', CASES)
def test_fit_finds_the_true_calibration_in_exact_readings(sensor, guess, bounds):
    values = np.linspace(*bounds, 200)
    fit = guess.fit(readings(sensor, values), values)
    span = bounds[1] - bounds[0]
    assert fit.largest < 1e-9 * span
    assert fit.span == pytest.approx(span) and fit.readings == 200
    mine, truth = fit.sensor.to_dict(), sensor.to_dict()
    if isinstance(sensor, Encoder) and sensor.bits:      # its zero is known up to whole turns of the counter
        turns = (mine.pop('zero') - truth.pop('zero')) / (1 << sensor.bits)
        assert turns == pytest.approx(round(turns), abs=1e-6)
    assert {k: v for k, v in mine.items() if k != 'kind'} == pytest.approx({k: v for k, v in truth.items() if k != 'kind'})


@pytest.mark.parametrize('sensor, guess, bounds', CASES)
def test_fit_tells_the_residuals_of_a_noisy_reference(sensor, guess, bounds):
    random = np.random.default_rng(1)
    values, sigma = np.linspace(*bounds, 2000), 0.01 * (bounds[1] - bounds[0])
    fit = guess.fit(readings(sensor, values), values + random.normal(0, sigma, 2000))
    assert fit.rms == pytest.approx(sigma, rel=0.1)
    assert fit.rms < fit.largest < 6 * sigma
    assert fit.relative == pytest.approx(0.01, rel=0.15)


@pytest.mark.parametrize('sensor, guess, bounds', CASES)
def test_fit_refuses_a_sensor_that_did_not_move_and_too_few_readings(sensor, guess, bounds):
    same = readings(sensor, [bounds[1]] * 20)
    if sensor.kind not in ('voice_coil', 'dc_motor'):       # one force is enough for a slope through zero
        with pytest.raises(MbsError, match='all alike'):
            guess.fit(same, [bounds[1]] * 20)
    with pytest.raises(MbsError, match='at least'):
        guess.fit(readings(sensor, [bounds[1]]), [bounds[1]])
    with pytest.raises(MbsError, match='column'):
        guess.fit([], [1.0, 2.0, 3.0])


@pytest.mark.parametrize('sensor, guess, bounds', CASES)
def test_plain_dict_round_trip(sensor, guess, bounds):
    plain = sensor.to_dict()
    assert all(isinstance(value, (str, int, float)) for value in plain.values())
    assert from_dict(plain) == sensor


def test_every_kind_is_tested():
    assert {case[0].kind for case in SENSORS.values()} == set(kinds())


@pytest.mark.parametrize('plain, words', [
    (None, 'must be a block'),
    ({'kind': 'hal_pair', 'k': 1.0}, "did you mean 'hall_pair'"),
    ({'kind': 'coil'}, "wants a 'kappa'"),
    ({'kind': 'coil', 'kapa': 1.0}, "did you mean 'kappa'"),
    ({'kind': 'coil', 'kappa': 'much'}, "'kappa' must be a number, not 'much'"),
    ({'kind': 'coil', 'kappa': True}, 'must be a number'),
    ({'kind': 'coil', 'kappa': 0.0}, 'must not be 0'),
    ({'kind': 'coil', 'kappa': math.nan}, 'finite'),
    ({'kind': 'encoder', 'scale': 1.0, 'bits': 40}, '0 .never wraps. to 32'),
    ({'kind': 'absolute_encoder', 'bits': 30, 'turn_bits': 8}, '1 to 32'),
    ({'kind': 'potentiometer', 'scale': 1.0, 'low': 5.0, 'high': 4.0}, 'no range'),
    ({'kind': 'voice_coil', 'force_constant': 1.0, 'resistance': -1.0, 'current_max': 1.0, 'current_continuous': 1.0}, 'positive'),
    ({'kind': 'voice_coil', 'force_constant': 1.0, 'resistance': 1.0, 'current_max': 1.0, 'current_continuous': 2.0}, 'above'),
    ({'kind': 'dc_motor', 'torque_constant': 1.0, 'resistance': 1.0, 'current_max': 1.0, 'current_continuous': 1.0,
      'efficiency': 1.2}, 'above 1'),
])
def test_malformed_transducers_are_refused_by_name(plain, words):
    with pytest.raises(MbsError, match=words) as caught:
        from_dict(plain, "transducer 'front'")
    assert "transducer 'front'" in str(caught.value)


@given(st.integers(1, 32), st.lists(st.integers(-1000, 1000), max_size=50))
def test_unwrap_follows_a_counter_of_any_width(bits, moves):
    largest = (1 << bits) // 2 - 1
    total = before = 0
    for move in moves:
        total += max(-largest, min(largest, move))
        before = unwrap(total % (1 << bits), before, bits)
        assert before == total


def test_unwrap_takes_signed_counts_and_leaves_wide_ones():
    assert unwrap(-2**31, 2**31 - 1, 32) == 2**31
    assert unwrap(12345, -7, 0) == 12345


def test_the_hall_pair_is_equation_17():
    front, rear = 3000, 1500
    pair = HallPair(k=0.5, O=0.25, volts_per_count=1e-3)
    assert pair.si(front, rear) == pytest.approx(0.5 * (3.0**2 - 1.5**2) + 0.25)
    assert HallPair(k=1e9, lever=0.2).si(4000, 0) == pytest.approx(math.pi / 2)       # saturates, never nan


def test_data_sheet_constructors():
    assert Encoder.from_lines(500).si(2000) == pytest.approx(2 * math.pi)
    cell = StrainGauge.from_data_sheet(capacity_N=100, output_V_per_V=0.002, excitation_V=5, volts_per_count=1e-6)
    assert cell.si(10000) == pytest.approx(100.0)
    assert cell.tare([5, 7]).si(6) == 0.0
    assert Gyroscope(scale=1.0).tare([3, 5]).zero == 4.0


def test_power_is_kept_through_every_transmission():
    for stages in ((), (Gear(20.0),), (Belt(0.012),), (Gear(3.0), BallScrew(0.005))):
        motor = DcMotor.behind(*stages, torque_constant=0.04, resistance=1.2, current_max=8.0, current_continuous=2.5)
        current, speed = 2.0, 0.3        # at the output
        back_emf = motor.voltage(0.0, speed)
        assert motor.effort(current) * speed == pytest.approx(back_emf * current)
        assert motor.current(motor.effort(current)) == pytest.approx(current)
        assert motor.effort_max == pytest.approx(motor.effort(8.0))
        assert motor.effort_continuous == pytest.approx(motor.effort(2.5))
    motor = DcMotor.behind(Gear(10.0), torque_constant=0.04, resistance=1.2, current_max=8.0, current_continuous=2.5, rotor_inertia=1e-5)
    assert motor.reflected_inertia == pytest.approx(1e-3)


def test_the_voice_coil_keeps_power_too():
    coil = VoiceCoil(force_constant=11.0, resistance=3.0, current_max=4.0, current_continuous=1.5, lever=0.12, inductance=1e-3)
    assert coil.effort(2.0) * 0.7 == pytest.approx(coil.voltage(0.0, 0.7) * 2.0)
    assert coil.voltage(2.0, 0.0, 5.0) == pytest.approx(6.005)
    assert coil.effort_max == pytest.approx(11 * 4 * 0.12) and coil.effort_continuous == pytest.approx(11 * 1.5 * 0.12)
