"""The promises of the firmware, exact, in virtual time: the whole device in the board `sim`, most of it over the wire."""

import math

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_haptics.firmware.sim import (ACTIVE, BOOT, BOOT_TICKS, FAULT, GATE_BRAKE, GATE_DRIVE, GATE_OFF, IDLE, RAMP, Sim,
                                      SimHost)
from mbs_haptics.wire import codec, handshake
from mbs_haptics.wire import definition as wire

APPS = ('piano_key', 'steering_wheel', 'lid_hinge')
RESULT = {name: number for name, (number, _) in wire.ENUMS['result'].items()}
SETPOINT_TIMEOUT, ESTOP_COMMAND, ESTOP_INPUT, NOT_FINITE, SENSOR_LOST, IMPLAUSIBLE, TRAVEL = 1, 2, 3, 4, 5, 6, 7
OVERCURRENT, TRACKING, SUPPLY, DRIVER, LATE = 9, 10, 11, 12, 14
PUSH = {'piano_key': 3.0, 'steering_wheel': 1.0, 'lid_hinge': 12.0}
BRAKE_MS = {'piano_key': 50, 'steering_wheel': 200, 'lid_hinge': 300}


def laws(app, force, q0=0.0, k=0.0, b=0.0):
    """Return the same law for every actuator of an application."""
    return [(force, q0, k, b)] * (2 if app == 'lid_hinge' else 1)


def armed(app='piano_key', **options):
    """Return (sim, host) of a device that is armed over the wire and past its ramp."""
    sim = Sim(app, **options)
    host = SimHost(sim)
    assert host.arm() == 0
    assert host.sim_state == ACTIVE
    return sim, host


def first(log, condition):
    """Return the time at which a condition on the log holds first."""
    assert condition.any()
    return log['t'][np.argmax(condition)]


@pytest.mark.parametrize('app', APPS)
def test_outputs_are_off_exactly_10_ms_after_the_last_set_point(app):
    sim, host = armed(app)
    host.run(100, laws(app, PUSH[app]))
    host.setpoint(*laws(app, PUSH[app]))
    sim.run(1)
    accepted = sim.time_s                    # taken at the end of this fast period
    log = sim.run(5000, every=1)
    drive_ends = first(log, log['gate'] != GATE_DRIVE)
    assert drive_ends - accepted == pytest.approx(0.0100, abs=1e-9)
    after = log['t'] >= drive_ends
    # From then on nothing is driven: first the winding is shorted (damping), then it is open.
    assert not log['duty'][after].any() and not log['duty1'][after].any()
    assert log['gate'][after][0] == GATE_BRAKE
    opened = first(log, after & (log['gate'] == GATE_OFF))
    assert opened - drive_ends == pytest.approx(BRAKE_MS[app] * 1e-3, abs=1e-9)
    assert (log['gate'][log['t'] >= opened] == GATE_OFF).all()
    assert log['state'][-1] == FAULT and log['fault'][-1] == SETPOINT_TIMEOUT
    assert sim.violations == {}


def test_off_stays_off_until_reset_at_zero_and_then_ramps():
    sim, host = armed()
    host.run(100, laws('piano_key', 3.0))
    host.run(100)                            # silence
    log = host.run(3000, laws('piano_key', 3.0), every=10)    # three seconds of set-points change nothing
    assert (log['gate'] == GATE_OFF).all() and (log['state'] == FAULT).all()
    assert host.ask(host.device.arm(host.ticket))['result'] == RESULT['STATE']
    host.setpoint(*laws('piano_key', 3.0))
    assert host.ask(handshake.reset(SETPOINT_TIMEOUT, host.ticket))['result'] == RESULT['SETPOINT_NOT_ZERO']
    assert host.reset(ESTOP_COMMAND) == RESULT['OTHER_FAULT']
    assert host.reset(SETPOINT_TIMEOUT) == 0
    log = host.run(50, laws('piano_key', 3.0), every=1)
    assert (log['state'] == IDLE).all() and (log['gate'] == GATE_OFF).all()    # reset is not arming
    host.run(1, host.zero)
    assert host.arm(ramp=False) == 0
    log = host.run(600, laws('piano_key', 3.0), every=1)
    began = log['t'][0]
    force = log['force']
    for share in (0.2, 0.5, 0.8):
        assert np.interp(began + share * 0.5, log['t'], force) == pytest.approx(3.0 * share, rel=0.02)
    assert force[-1] == pytest.approx(3.0, rel=1e-5) and (np.diff(force) >= -1e-6).all()
    assert log['state'][0] == RAMP and log['state'][-1] == ACTIVE
    assert sim.violations == {}


@pytest.mark.parametrize('app', APPS)
def test_estop_acts_within_one_fast_period_and_sensing_goes_on(app):
    sim, host = armed(app)
    host.run(50, laws(app, PUSH[app]))
    sim.run(3)                               # anywhere between two main periods
    host.estop()
    log = sim.run(20, every=1)               # the frame is there at the end of the first of these
    assert log['gate'][0] == GATE_DRIVE and (log['gate'][1:] == GATE_OFF).all()
    assert (log['duty'][1:] == 0).all() and (log['fault'] == ESTOP_COMMAND).all()
    host.frames.clear()
    sim.set(hand__mode=1, hand__target=0.008, **({'obstacle': -40.0} if app == 'lid_hinge' else {}))
    host.run(300)
    states = [frame for frame in host.frames if frame.name.startswith('STATE')]
    assert len(states) in range(299, 303) and all(frame['fresh'] for frame in states)
    assert abs(states[-1]['measured.0.position'] - sim.get('position')) < 2e-4
    assert np.ptp([frame['measured.0.position'] for frame in states]) > 5e-4    # it is moved, and seen to be


def test_the_emergency_stop_input_acts_in_the_same_period_and_holds():
    sim, host = armed()
    host.run(50, laws('piano_key', 3.0))
    sim.set(estop=1)
    log = sim.run(1, every=1)
    assert log['gate'][0] == GATE_OFF and log['duty'][0] == 0.0 and log['fault'][0] == ESTOP_INPUT
    host.run(1, host.zero)
    assert host.reset(ESTOP_INPUT) == RESULT['ESTOP_ACTIVE']
    sim.set(estop=0)
    host.run(1, host.zero)
    assert host.reset(ESTOP_INPUT) == 0


def test_the_thermal_model_survives_estop_reset_and_a_new_handshake():
    sim, host = armed()
    sim.set(hand__mode=4, hand__push=-20.0, hand__one_sided=0)
    host.run(600, laws('piano_key', 40.0))
    hot = sim.view()['heat']
    assert hot > 0.6
    host.estop()
    host.run(2, host.zero)
    assert sim.view()['heat'] > hot - 0.005
    sim.set(hand__mode=0)
    assert host.reset(ESTOP_COMMAND) == 0
    host.greet()
    host.run(1, host.zero)
    assert host.arm(ramp=False) == 0
    elapsed = 0.2                            # at most, and a winding cools with the model's own time constant of 2 s
    assert sim.view()['heat'] > hot * math.exp(-elapsed / 2.0)
    assert sim.violations == {}


@pytest.mark.parametrize('app,ticks', [('piano_key', 3000), ('steering_wheel', 3000), ('lid_hinge', 1200)])
def test_rms_current_stays_at_the_rating_for_10000_random_sequences(app, ticks, record_property):
    sim = Sim(app, thermal_window_s=0.1)
    worst, _, armed_share = sim.sweep_thermal(10000, ticks, seed=7)
    record_property('worst_rms_share', worst)
    assert worst <= 1.01
    assert worst > 0.9 and armed_share > 0.9    # it was driven hard, or this would say nothing


@pytest.mark.parametrize('app', APPS)
def test_rms_current_stays_at_the_rating_over_the_real_window(app):
    worst, _, _ = Sim(app).sweep_thermal(100, 12000, seed=3)    # two minutes, windows of 20, 60 and 30 s
    assert 0.8 < worst <= 1.01


@pytest.mark.parametrize('app', APPS)
def test_a_million_random_inputs_never_yield_nonsense(app):
    sim = Sim(app)
    seen = sim.sweep_random(1_000_000, seed=11)
    assert seen['violations'] == 0 and sim.violations == {}
    # It was driven, at full ramp, up to the clamp, and stopped again and again, or this would say nothing.
    assert seen['driven'] > 200_000 and seen['active'] > 50_000 and seen['largest_force'] > 0.9
    assert seen['faults'] > 200 and seen['watchdog_trips'] > 10 and seen['not_finite'] > 20


def test_no_sequence_of_frames_disables_a_limit():
    rng = np.random.default_rng(5)
    sim = Sim('piano_key')
    host = SimHost(sim)
    host.greet()

    def wild():
        kind = rng.integers(4)
        if kind == 0:
            return float(rng.normal() * 10.0 ** rng.integers(-3, 38))
        if kind == 1:
            return float(rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3.4e38]))
        return float(rng.normal() * 20)

    driven = 0
    for _ in range(6000):
        kind = rng.integers(14)
        if kind == 0:
            host.send(host.device.arm(host.ticket))
        elif kind == 1 and host.state['fault']:
            host.send(handshake.reset(host.state['fault'], host.ticket))
        elif kind == 2:
            host.send(codec.encode('DISARM') if rng.random() < 0.1 else codec.encode('COUNTERS_REQUEST'))
        elif kind == 3 and rng.random() < 0.1:
            host.send(handshake.hello_request())
        elif kind == 4 and rng.random() < 0.1:
            host.estop()
        elif kind == 5:                      # any body under any type, with a correct CRC
            message = wire.MESSAGES[rng.integers(len(wire.MESSAGES))]
            values = struct_values(message, rng)
            host.send(codec.encode(message.name, values, int(rng.integers(65536)), int(rng.integers(2**32))))
        elif kind == 6:
            host.setpoint(tuple(wild() for _ in range(4)))
        elif kind < 10:
            host.setpoint((float(rng.normal() * 30), 0.002, float(rng.normal() * 1e4), float(rng.normal() * 20)))
        else:
            host.setpoint(*host.zero)
        sim.run(10)
        for frame in host.receive():
            if frame.name == 'HELLO':
                host.ticket = frame['ticket']
        driven += host.sim_state in (RAMP, ACTIVE)
    assert sim.violations == {}
    assert driven > 300
    sim.run(200)
    assert sim.run(1, every=1)['gate'][0] != GATE_DRIVE    # and silence still ends it


def struct_values(message, rng):
    """Return random values for the fields of a message."""
    values = []
    for code in list(codes_of(message)):
        if code == 'f':
            values.append(float(rng.normal() * 100))
        elif code.endswith('s'):
            values.append(rng.bytes(int(code[:-1])))
        else:
            size = {'B': 8, 'H': 16, 'I': 32, 'i': 31}[code]
            values.append(int(rng.integers(2**size)))
    return values


def codes_of(message):
    """Return the struct codes of a message's body."""
    return wire.codes(message.fields)


def test_start_is_refused_without_a_calibration():
    host = SimHost(Sim('piano_key', calibrated=False))
    assert host.arm() == RESULT['UNCALIBRATED']
    for channel, gain in ((0, math.inf), (0, 1.0), (2, math.inf), (2, -1.0)):
        host = SimHost(Sim('piano_key', miscalibrate={channel: (gain, math.nan)}))
        assert host.arm() == RESULT['UNCALIBRATED']
        assert host.state['measured.0.position'] == 0.0 and math.isfinite(host.state['measured.0.velocity'])
    host = SimHost(Sim('steering_wheel', miscalibrate={0: (1e-3, math.nan)}))    # of another encoder
    assert host.arm() == RESULT['UNCALIBRATED']


@pytest.mark.parametrize('channel,raw', [(0, 0), (0, 65520), (1, 0), (2, 65520), (0, 2500), (1, 60000)])
def test_start_is_refused_when_a_sensor_reads_what_it_cannot(channel, raw):
    sim = Sim('piano_key')
    sim.override(channel, raw)
    host = SimHost(sim)
    host.run(200)
    assert host.arm() == RESULT['IMPLAUSIBLE']
    sim.override(channel)
    host.run(200)
    assert host.arm() == 0


def test_start_is_refused_at_a_wrong_supply():
    sim = Sim('steering_wheel')
    sim.set(supply_V=24.0)
    assert SimHost(sim).arm() == RESULT['SUPPLY']


def numbers(**values):
    """Return a fault injected by numbers of the plant."""
    return lambda sim: sim.set(**values)


@pytest.mark.parametrize('inject,fault,within_ms', [
    (numbers(silent_mask=1), SENSOR_LOST, 20.2),
    (numbers(frozen_mask=1), IMPLAUSIBLE, 125.0),
    (lambda sim: sim.override(0, 65520), IMPLAUSIBLE, 25.0),
    (lambda sim: sim.override(1, 30000), IMPLAUSIBLE, 3.5),
    (numbers(driver_fault=1), DRIVER, 0.2),
    (numbers(supply_V=12.0), SUPPLY, 1.3),
    (numbers(actuator0__broken=1), TRACKING, 21.0),
    (lambda sim: sim.library.sim_stall(12000), LATE, 12.3),
], ids=['silent', 'frozen', 'broken wire', 'jump', 'driver', 'supply', 'winding cut', 'stalled'])
def test_a_fault_of_the_device_stops_it_in_time(inject, fault, within_ms):
    sim, host = armed()
    sim.set(hand__mode=4, hand__push=-6.0, hand__one_sided=0)
    host.run(100, laws('piano_key', 15.0))
    began = sim.time_s
    inject(sim)
    log = host.run(200, laws('piano_key', 15.0), every=1)
    assert set(log['fault']) <= {0, fault}
    assert (first(log, log['gate'] != GATE_DRIVE) - began) * 1e3 <= within_ms
    assert (log['gate'][log['fault'] == fault] == GATE_OFF).all()
    report = [frame for frame in host.frames if frame.name == 'FAULT']
    assert report and report[-1]['fault'] == fault
    assert sim.violations == {}


def test_a_stale_sensor_takes_the_force_away_within_10_ms():
    sim, host = armed()
    sim.set(hand__mode=4, hand__push=-3.0, hand__one_sided=0)
    host.run(100, laws('piano_key', 6.0))
    began = sim.time_s
    sim.set(silent_mask=3)
    log = host.run(19, laws('piano_key', 6.0), every=1)
    age = log['t'] - began
    assert (log['force'][age < 2.9e-3] == pytest.approx(6.0, rel=1e-4))
    assert (log['force'][age > 10.2e-3] == 0.0).all() and (log['fault'] == 0).all()
    sim.set(silent_mask=0)
    log = host.run(20, laws('piano_key', 6.0), every=1)
    assert log['force'][-1] == pytest.approx(6.0, rel=1e-4)    # a short loss heals


def test_a_set_point_that_is_not_finite_stops_it():
    sim, host = armed()
    host.run(10, laws('piano_key', 3.0))
    host.setpoint((math.nan, 0.0, 0.0, 0.0))
    log = sim.run(11, every=1)
    assert log['fault'][-1] == NOT_FINITE and log['gate'][-1] == GATE_OFF
    assert sim.violations == {}


def test_the_watchdog_cannot_be_shortened_or_switched_off():
    for asked, given in ((0, 10000), (1000, 10000), (200000, 200000), (2**32 - 1, 500000)):
        host = SimHost(Sim('piano_key', watchdog_us=asked))
        assert host.greet().watchdog_us == given


def test_runs_are_the_same_for_the_same_seed_and_differ_for_another():
    def trace(seed):
        sim = Sim('piano_key', seed)
        sim.set(hand__mode=3, hand__start_s=0.7)
        host = SimHost(sim)
        host.arm()
        return host.run(500, laws('piano_key', 2.0, 0.002, 500.0, 2.0), every=1)

    one, same, other = trace(1), trace(1), trace(2)
    assert all(np.array_equal(one[name], same[name], equal_nan=True) for name in one)
    assert not np.array_equal(one['q'], other['q'])


def test_datagrams_work_as_the_stream_does():
    sim, host = armed(datagrams=True)
    log = host.run(50, laws('piano_key', 3.0), every=1)
    assert log['force'][-1] == pytest.approx(3.0, rel=1e-5)
    assert host.state['echo_seq'] == host.seq and host.state['age_us'] <= 1000


def test_time_passes_only_when_asked_and_names_are_checked():
    sim = Sim('piano_key')
    assert sim.time_s == 0.0
    sim.run(BOOT_TICKS)
    assert sim.time_s == pytest.approx(0.11)
    assert sim.get('supply_V') == 24.0
    with pytest.raises(MbsError, match='nonsense'):
        sim.set(nonsense=1)
    with pytest.raises(MbsError, match='nonsense'):
        sim.get('nonsense')
    with pytest.raises(MbsError, match='no application'):
        Sim('spoon')
    assert Sim('lid_hinge').run(1, every=1)['state'][0] == BOOT
