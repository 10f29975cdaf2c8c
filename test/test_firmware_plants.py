"""The simulated plants behind the firmware: physics that can be checked on paper, sensors with their weaknesses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mbs_haptics.firmware import zwidth
from mbs_haptics.firmware.sim import BOOT_TICKS, Sim, SimHost
from mbs_haptics.main import main

ROOT = Path(__file__).resolve().parents[1]
VOLT = 3.3 / 65520


def key(**numbers):
    """Return a piano key that has started, with some numbers set."""
    sim = Sim('piano_key')
    sim.set(**numbers)
    sim.run(BOOT_TICKS)
    return sim


def hold(sim, law, ticks, every=1):
    """Let time pass with a set-point that is renewed every millisecond; return the log."""
    logs = []
    for _ in range(ticks // 10):
        assert sim.setpoint(law) == 0
        logs.append(sim.run(10, every))
    return {name: np.concatenate([log[name] for log in logs]) for name in sim.columns}


def counts(host, periods):
    """Return raw counts [period, channel] of the next state frames, and the true height of the key front in m."""
    rows, heights = [], []
    for _ in range(periods):
        host.run(1)
        rows.append([host.state[f'counts.{i}'] for i in range(3)])
        heights.append(host.sim.get('height'))
    return np.array(rows), np.array(heights)


def test_voice_coil_gives_50_N_in_less_than_20_ms():
    sim = key(hand__mode=1, hand__target=0.004, hand__stiffness=1e6, hand__damping=500, hand__one_sided=0)
    assert sim.arm() == 0
    log = hold(sim, (50.0, 0.0, 0.0, 0.0), 400)
    force = 15.0 * log['current']
    reached = log['t'][np.argmax(force > 49.5)] - log['t'][0]
    assert force.max() < 53 and 0 < reached < 0.020
    assert sim.violations == {}


def test_winding_is_a_first_order_lag_and_brakes_by_its_back_emf():
    sim = key(return_force=-6.0)                        # falls back against an open winding, then against a shorted one
    sim.set(position=0.004)
    free = sim.run(300, every=1)
    assert sim.arm() == 0
    sim.run(110)                                        # set-points cease
    assert sim.run(1, every=1)['gate'][0] == 1
    sim.set(position=0.004, velocity=0.0)
    braked = sim.run(300, every=1)
    terminal = 6.0 / (15.0 ** 2 / 4.0 + 0.4)            # N / (k^2/R + b)
    assert np.abs(braked['velocity']).max() == pytest.approx(terminal, rel=0.05)
    assert np.abs(free['velocity']).max() > 3 * terminal


def test_hall_pair_is_linear_with_quadratic_ends():
    sim = key(hand__mode=2, hand__speed=0.010, hand__dip=0.010, hand__start_s=0.2, adc_noise=0.2)
    raw, height = counts(SimHost(sim, boot=False), 1200)
    u = raw * VOLT
    combined = u[:, 0] ** 2 - u[:, 1] ** 2              # eq. 17 without k and O
    middle = (height > 0.0015) & (height < 0.0085)
    k, offset = np.polyfit(combined[middle], height[middle], 1)
    error = k * combined + offset - height
    assert np.abs(error[middle]).max() < 15e-6
    assert 50e-6 < np.abs(error[height > 0.0098]).max() < 150e-6      # bends within [0; 1] and [9; 10] mm
    assert 50e-6 < np.abs(error[height < 0.0002]).max() < 150e-6
    line = np.polyval(np.polyfit(u[middle, 0], height[middle], 1), u[middle, 0])
    assert np.abs(line - height[middle]).max() > 10 * np.abs(error[middle]).max()    # one sensor alone is far from linear


def test_coil_is_proportional_to_velocity_and_has_spikes_that_the_firmware_refuses():
    sim = key(hand__mode=3, hand__start_s=0.15, spike_rate_hz=40.0)
    log = sim.run(6000, every=1)
    assert np.abs(log['velocity']).max() > 0.05
    error = np.abs(log['qd'] - log['velocity'])
    assert np.quantile(error, 0.99) < 0.02 and error.max() < 0.2      # a spike of 0.8 V is 0.8 m/s at the voice coil
    raw, _ = counts(SimHost(sim, boot=False), 300)
    assert np.ptp(raw[:, 2] * VOLT) > 0.1                             # the host sees them, averaged


def test_faulhaber_profile_is_one_dip_at_10_mm_per_s():
    sim = key(hand__mode=2, hand__start_s=0.11)
    log = sim.run(22000, every=10)
    height = log['position'] * 2
    assert height.max() == pytest.approx(9.5e-3, abs=5e-5)
    down = (log['t'] > 0.3) & (log['t'] < 0.9)
    assert np.polyfit(log['t'][down], height[down], 1)[0] == pytest.approx(0.010, rel=0.01)
    assert abs(height[-1]) < 1e-4
    # An unpowered key: weight and friction only, half of them at the front.
    assert log['hand'][down].mean() == pytest.approx((0.5 + 0.05 + 0.4 * 0.005) / 2, rel=0.1)


def test_double_keystroke_goes_down_twice_without_coming_up():
    sim = key(hand__mode=3, hand__start_s=0.15)
    log = sim.run(6500, every=1)
    height, t = log['position'] * 2, log['t'] - 0.15
    assert height[(t > 0.05) & (t < 0.13)].max() > 0.007
    between = height[(t > 0.13) & (t < 0.2)].min()
    assert 0.001 < between < 0.006
    assert height[(t > 0.22) & (t < 0.34)].max() > 0.007
    assert height[-1] < 0.001


def test_released_hand_leaves_the_key_to_its_weight():
    sim = key(position=0.004)
    sim.run(3000)
    assert abs(sim.get('position')) < 1e-4 and sim.get('hand.force') == 0.0


def test_steering_column_encoder_is_quantised_absolute_and_multiturn():
    sim = Sim('steering_wheel')
    sim.set(position=7.0)                               # more than a turn away when it is switched on
    sim.run(BOOT_TICKS)
    assert sim.view()['q'] == pytest.approx(7.0, abs=3e-5)
    sim.set(position=-8.0, velocity=0.0)
    log = sim.run(200, every=1)
    step = np.diff(np.unique(log['q']))
    assert log['q'][-1] == pytest.approx(-8.0, abs=3e-5)
    assert not len(step) or step.min() >= 2.3e-5


def test_pedals_are_potentiometers():
    sim = Sim('steering_wheel')
    sim.set(throttle=0.0, brake=0.5, clutch=1.0)
    host = SimHost(sim)
    volts = [host.state[f'counts.{i}'] * VOLT for i in (1, 2, 3)]
    assert volts == pytest.approx([0.3, 1.5, 2.7], abs=2e-3)


def test_motor_torque_accelerates_the_column():
    sim = Sim('steering_wheel')
    sim.set(coulomb=0.0, viscous=0.0)
    sim.run(BOOT_TICKS)
    assert sim.arm() == 0
    log = hold(sim, (1.2, 0.0, 0.0, 0.0), 1000)
    late = log['t'] > log['t'][0] + 0.02
    assert np.polyfit(log['t'][late], log['velocity'][late], 1)[0] == pytest.approx(1.2 / 0.040, rel=0.01)


def test_dropouts_are_seen_and_survived():
    sim = key(dropout_rate_hz=20.0, dropout_s=0.001)
    host = SimHost(sim, boot=False)
    assert host.arm() == 0
    log = host.run(1000, [(1.0, 0.0, 0.0, 0.0)], every=1)
    assert (log['fault'] == 0).all()
    fresh = [frame['fresh'] for frame in host.frames if frame.name == 'STATE1']
    assert 5 < sum(value != 7 for value in fresh) < 400


@pytest.mark.parametrize('app', zwidth.TRIALS)
def test_walls_of_the_local_law_are_at_least_3_times_stiffer(app, tmp_path, record_property):
    found = zwidth.measure(app, zwidth.QUICK_STEPS)
    for damping, force_only, local, gain in zip(found.damping, *found.largest, found.gain):
        record_property(f'B_{damping:g}', f'{force_only:.0f} by force, {local:.0f} by local law, {gain:.1f}x')
    assert (found.gain >= 3.0).all(), found.gain
    assert np.isfinite(found.largest).all()
    # Force only reached its limit within the map, and more damping lets it go further, or this would say nothing.
    assert (found.largest[0] < found.stiffness[-1]).all() and found.largest[0][-1] > 5.0 * found.largest[0][0]
    picture = zwidth.draw(found, tmp_path / 'zwidth.png')
    assert picture.stat().st_size > 20000


def test_verb_maps_the_walls_and_refuses_other_applications(tmp_path, capsys):
    picture = tmp_path / 'walls.png'
    assert main(['firmware', 'zwidth', 'piano_key', '--quick', '--json', '--plot', str(picture)]) == 0
    figures = {figure['id']: figure for figure in json.loads(capsys.readouterr().out)['figures']}
    assert figures['firmware.zwidth.piano_key.gain.B_10']['value'] >= 3.0 and picture.stat().st_size > 20000
    assert all(figure['ok'] for figure in figures.values())
    assert main(['firmware', 'zwidth', 'lid_hinge']) == 2
    assert "no wall for an application 'lid_hinge'" in capsys.readouterr().err


def test_every_fault_has_a_section_and_every_section_a_fault():
    header = (ROOT / 'firmware' / 'core' / 'faults.h').read_text()
    numbers = {int(n) for n in re.findall(r'FAULT_\w+ = (\d+)', header)} - {0}
    text = (ROOT / 'docs' / 'faults.md').read_text()
    sections = {int(n): body for n, body in re.findall(r'^## (\d+) [^\n]+\n(.*?)(?=^## |\Z)', text, re.M | re.S)}
    assert set(sections) == numbers
    for number, body in sections.items():
        for words in ('**What happened.**', '**What the device does.**', '**Remedy.**'):
            assert words in body, (number, words)
