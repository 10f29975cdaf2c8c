"""The piano key as a device: phases found by rules, strikes never missed, notes as MIDI, and the whole validation, shortened."""

import importlib.util
import json
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_haptics.strikes import Strike, strikes_of
from mbs_haptics.validate.phases import find_phases

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours

X = np.arange(0.0, 9.5e-3, 1e-5)


def touch(rise=True, hump=True, bottom=True, damper=True, noise=0.0, top=8.8e-3):
    """Return (x, force) of a made-up slow dip, with the phases that are wanted."""
    level = 0.55 * (1 - np.exp(-X / 1e-4)) if rise else 0.55 * np.ones(len(X))
    force = level + (0.25 / (1 + np.exp(-(X - 3.8e-3) / 1e-4)) if damper else 0.0)
    force = force + 0.03 * np.sin(2 * np.pi * X / 1e-3)
    if hump:
        force = force + 0.7 * np.exp(-((X - top) / 3e-4)**2)
    if bottom:
        force = force + 5e4 * np.maximum(X - 9.38e-3, 0.0)
    keep = slice(0, None) if rise else slice(60, None)
    return X[keep], (force + noise * np.random.default_rng(1).standard_normal(len(X)))[keep]


def test_all_four_phases_are_found_where_they_are():
    found = find_phases(*touch(noise=0.03))
    assert found.found == 'ABCD'
    assert found.a[1] < 1e-3 and found.b[0] == found.a[1] and found.b[1] == found.c[0]
    assert found.peak[0] == pytest.approx(8.8e-3, abs=1.5e-4) and 8.0e-3 < found.c[0] < 8.7e-3
    assert found.d[0] == pytest.approx(9.38e-3, abs=8e-5)
    assert found.pick_up == pytest.approx(3.8e-3, abs=3e-4)
    assert 0.5 < found.level < 0.85                                      # between the levels without and with the damper


@pytest.mark.parametrize('missing, letters', [('rise', 'CD'), ('hump', 'ABD'), ('bottom', 'ABC')])
def test_a_phase_that_is_missing_is_not_found(missing, letters):
    found = find_phases(*touch(**{missing: False}, noise=0.02))
    assert found.found == letters


def test_without_a_damper_there_is_no_pick_up_and_without_force_no_phase_but_the_bottom():
    assert find_phases(*touch(damper=False)).pick_up is None
    assert find_phases(X, np.zeros(len(X))).found == ''
    assert find_phases(X, 5e4 * np.maximum(X - 9.38e-3, 0.0)).found == 'D'


def test_a_wavy_travel_is_no_escapement():
    x, force = touch(hump=False)
    assert 'C' not in find_phases(x, force + 0.04 * np.sin(2 * np.pi * x / 0.9e-3)).found


# -- strikes --------------------------------------------------------------------------------------------
def flight(speed, contact, start=30e-3, offset=0.0, rebound=0.5, reaches=0.0):
    """Return (t, gap, speed, force) each millisecond of a hammer that flies to the string and back, by its own formula."""
    t = np.arange(0.0, 0.2, 1e-3) + offset
    hit = (start - reaches) / speed
    coming, away = t < hit, t > hit + contact
    inside = ~coming & ~away
    gap = np.where(coming, start - speed * t, np.where(away, reaches + rebound * speed * (t - hit - contact), reaches - 1e-4 * (reaches == 0)))
    v = np.where(coming, speed, np.where(away, -rebound * speed, 0.0))
    return t, gap, v, np.where(inside & (reaches == 0), 20.0, 0.0)


@pytest.mark.parametrize('speed', [0.3, 0.9, 2.0, 4.0, 7.0])
@pytest.mark.parametrize('contact', [0.2e-3, 0.8e-3, 2.5e-3, 4e-3])
def test_no_strike_is_missed_however_short_and_wherever_it_falls_between_samples(speed, contact):
    for offset in np.linspace(0.0, 0.9e-3, 7):
        found = strikes_of(*flight(speed, contact, offset=offset))
        assert len(found) == 1 and found[0].speed == pytest.approx(speed)


def test_a_hammer_that_turns_back_before_the_string_does_not_strike():
    assert strikes_of(*flight(0.4, 5e-3, reaches=2.0e-3)) == []
    assert strikes_of(*flight(0.05, 2e-3)) == []                         # too slow to be heard
    t, gap, speed, force = flight(2.0, 1e-3)
    assert len(strikes_of(t, np.where(t < 0.014, np.nan, gap), speed, force)) == 1


def test_louder_blows_have_greater_velocities_within_midi():
    velocities = [Strike(0.0, speed).velocity for speed in (0.01, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 20.0)]
    assert velocities == sorted(velocities) and velocities[0] == 1 and velocities[-1] == 127 and len(set(velocities)) > 5


# -- sound ----------------------------------------------------------------------------------------------
def test_player_makes_a_note_on_and_a_note_off():
    from mbs_haptics.sound import Player
    player = Player(note=64, channel=2)
    sent = []
    for t, gap, speed, force in zip(*flight(2.0, 1e-3)):
        values = {'hammer.gap': gap, 'hammer.speed': speed, 'string.force': force, 'key.front': 9e-3 if t < 0.1 else 1e-3}
        sent += player.feed(t, values)
    assert [m[:2] for m in sent] == [[0x92, 64], [0x82, 64]] and 60 < sent[0][2] < 110
    assert player.notes[0][1] == pytest.approx(0.1, abs=2e-3)


def test_a_session_becomes_a_wav_file_at_the_pitch_of_its_note(tmp_path):
    from mbs_haptics.synthesis import render
    render(tmp_path / 'a.wav', [[10.0, 10.6, 90], [11.0, None, 40]], 69, 12.0)
    with wave.open(str(tmp_path / 'a.wav')) as file:
        data = np.frombuffer(file.readframes(file.getnframes()), '<i2').astype(float)
        rate = file.getframerate()
    first = data[int(0.55 * rate):int(1.0 * rate)]
    spectrum = np.abs(np.fft.rfft(first * np.hanning(len(first))))
    assert np.fft.rfftfreq(len(first), 1 / rate)[spectrum.argmax()] == pytest.approx(440.0, rel=0.01)
    assert np.abs(data[:int(0.45 * rate)]).max() == 0 and np.abs(data).max() > 20000


def test_a_port_that_is_not_there_is_one_sentence(tmp_path):
    from mbs_haptics.sound import open_port
    assert open_port('')([0x90, 60, 1]) is None
    with pytest.raises(MbsError, match="can't be opened"):
        open_port('/no/such/midi')
    raw = tmp_path / 'midi'
    raw.touch()
    open_port(str(raw))([0x90, 60, 99])
    assert raw.read_bytes() == bytes([0x90, 60, 99])


# -- the device -----------------------------------------------------------------------------------------
if importlib.util.find_spec('cobs'):
    def test_voice_coil_gives_50_newton_within_20_ms_with_every_limit_on():
        from mbs_haptics.validate.piano_render import actuator
        assert actuator().ok

    def test_the_rendered_force_is_that_of_the_action_for_the_same_motion_in_virtual_time():
        from mbs_haptics.validate.piano_time import shares
        parts = shares(5.0, 4e-4)
        assert parts['all'] < 0.12 * parts['range']
        assert parts['sampling'] < parts['latency'] and parts['quantisation'] < parts['estimator'] + 0.01 * parts['range']

    def test_the_configuration_makes_up_for_the_weight_of_the_piano_s_key_and_the_device_s_spring():
        import yaml
        from mbs_haptics.validate.piano_time import OWN, SHARE, lead
        tree = yaml.safe_load((Path(__file__).parents[1] / 'config' / 'piano_key.yaml').read_text())
        model = tree['/**']['ros__parameters']['model']
        assert model['key']['balance'] == pytest.approx(OWN, abs=1e-6)
        assert model['device'] == pytest.approx({'lead': lead(4e-4), 'share': SHARE})

    def test_the_bed_of_the_virtual_device_is_that_of_the_validation():
        from mbs_haptics.bridge import config
        from mbs_haptics.validate.piano_time import BED
        assert config.load('piano_key', '').plant == BED

    def test_a_blow_is_rendered_stably_by_the_device_in_virtual_time():
        from mbs_haptics.validate.piano_time import Rehearsal
        run = Rehearsal(5.0, 4e-4, seconds=0.3).play()
        assert 9.2e-3 < run['height'].max() < 10.2e-3 and run['height'].min() > -4e-4
        late = slice(2000, None)                                         # held at the bottom
        assert np.ptp(run['height'][late]) < 0.8e-3 and abs(np.median(run['velocity'][late])) < 0.01

    def test_the_current_follows_its_set_point_as_late_as_the_foresight_takes_it_to_be():
        from mbs_haptics.firmware.sim import Sim, SimHost
        from mbs_haptics.validate.piano_time import ACTUATION
        sim = Sim('piano_key', 1, watchdog_us=200000)
        host = SimHost(sim)
        host.greet()
        sim.set(hand__mode=1, hand__target=0.005, hand__stiffness=2e5, hand__damping=400.0)
        host.arm()
        forces = []
        for newton in [5.0] * 60 + [9.0] * 3:
            sim.setpoint((newton, 0.0, 0.0, 0.0))
            forces.append(15.0 * sim.run(10, 1)['current'])
            host.receive()
        missing = 1.0 - (np.concatenate(forces[60:]) - 5.0) / 4.0
        assert 1e-4 * missing.sum() == pytest.approx(ACTUATION, abs=1e-4)       # s: area above the answer to a step

    @pytest.mark.parametrize('newton', [1.5, 2.0, 5.0, 12.0, 20.0])
    def test_the_hammer_flies_as_fast_as_that_of_the_free_action_under_the_same_finger(newton):
        from mbs_haptics.validate.piano_time import Rehearsal, free_blow
        rehearsal, hammer = Rehearsal(newton, 4e-4, seconds=0.2), []
        answer = rehearsal.action.step

        def step(q, qd):
            out = answer(q, qd)
            hammer.append((out['hammer.speed'], out['string.force']))
            return out
        rehearsal.action.step = step
        rehearsal.play()
        speed, force = np.array(hammer).T
        hit = np.argmax(force > 0.0)
        assert hit > 0 and speed[hit - 2:hit + 1].max() == pytest.approx(free_blow(newton)['hammer'], rel=0.08)

    @pytest.mark.parametrize('name, to', [('regulation.let_off', 3.3e-3), ('hammer.mass', 0.01474)])
    def test_a_screw_turned_in_a_dip_makes_no_step_of_the_device_s_force(name, to):
        from mbs_haptics.validate.piano_time import Rehearsal
        rehearsals = [Rehearsal(0.0, 4e-4, seconds=1.0) for _ in range(2)]
        first = rehearsals[1].action.state.model.parameters[name].default

        def turn(action, ms):                                            # over 20 ms, as the loop does it, just before the escapement
            action.state.set(name, first + (to - first) * min(max((ms - 800) / 20, 0.0), 1.0))
        runs = [rehearsals[0].dip(), rehearsals[1].dip(turn)]
        steps = [np.abs(np.diff(np.convolve(run['force'], np.full(10, 0.1), 'valid'))).max() for run in runs]
        assert len(runs[1]['force']) == len(runs[0]['force']) == 10000 and np.isfinite(runs[1]['force']).all()
        assert steps[1] < steps[0] + 0.012                               # N in 0.1 ms: 0.12 N in 1 ms; the slew limit is 2.5 N
        changed = np.abs(np.convolve(runs[1]['force'] - runs[0]['force'], np.full(100, 0.01), 'valid'))
        assert changed[:7500].max() < 0.02 and changed[8200:].max() > 0.02      # and it is felt, from then on

    def test_after_a_blow_the_damper_lands_and_stays_down():
        from mbs_core.mechanisms import build
        from mbs_core.mechanisms.piano.measures import settled
        from mbs_core.mechanisms.piano.strokes import blow, play
        from mbs_core.runtime import compile_model
        for newton in (2.0, 5.0, 20.0):
            state, press = settled(compile_model(build('piano_action', key='free'))), blow(newton)
            run = play(state, 0.6, force=lambda t: press(t) if t < 0.25 else 0.0)
            late = run['t'] > 0.45
            assert run['damper.lift'].max() > 3e-3 and np.abs(run['damper.lift'][late]).max() < 0.1e-3

    if importlib.util.find_spec('rclpy'):
        @pytest.mark.alone
        def test_validation_runs_through_the_whole_stack_shortened(tmp_path, capsys):
            from mbs_haptics import main
            main.main(['validate', 'piano_key', '--quick', '--json', '--report', str(tmp_path / 'report')])
            figures = {row['id']: row for row in json.loads(capsys.readouterr().out)['figures']}
            assert figures['P6.phases']['value'] == 'ABCD' and figures['P2.strikes']['value'] == 2 and figures['P3.strikes']['ok']
            assert figures['P4.fast_error']['ok'] and figures['P5.full_error']['ok'] and figures['P5.half_strokes']['ok']
            assert figures['P7.normal_below_button.high.most']['ok'] and figures['P8.normal_below_mass.high.mean']['ok']
            page = (tmp_path / 'report' / 'index.html').read_text()
            assert page.count('<section') == 13 and 'data:image/svg+xml' in page
            # The same recording, judged again from the file alone.
            main.main(['validate', 'piano_key', '--json', '--bag', str(tmp_path / 'report' / 'bag')])
            again = {row['id']: row for row in json.loads(capsys.readouterr().out)['figures']}
            assert again['P6.level']['value'] == pytest.approx(figures['P6.level']['value']) and again.keys() == figures.keys()
