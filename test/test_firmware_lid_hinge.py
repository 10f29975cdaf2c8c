"""The lid hinge as in paper 000: generated C runs in the device's 400 Hz main loop, above current loops at 2 kHz."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mbs_haptics.firmware.build import COMMON, host_compiler, source_folder
from mbs_haptics.firmware.sim import ACTIVE, BOOT_TICKS, MAIN_TICKS, Sim

ROOT = Path(__file__).resolve().parents[1]
STROKE = (-0.0003137, 0.066)
# Stroke and force that hold a lid of 1.2 kg, both rods together (geometry worked out independently of the engine).
STATIC = [(0.0034599, 12.368), (0.0130032, 50.280), (0.0219501, 43.821), (0.0308969, 31.777), (0.0487907, 9.929)]


@pytest.fixture(scope='module')
def with_model(tmp_path_factory):
    """Return a sim library whose main loop runs what `haptic generate lid_hinge --emit c` writes."""
    folder, root = tmp_path_factory.mktemp('lid'), source_folder()
    generated = folder / 'lid_hinge_generated.c'
    subprocess.run([sys.executable, '-c', 'import sys; from mbs_haptics.main import main; sys.exit(main())', 'generate',
                    'lid_hinge', '--emit', 'c', '-o', generated], check=True, capture_output=True, cwd=ROOT)
    sources = [path for name in ('core', 'plants', 'boards/sim') for path in sorted((root / name).glob('*.c'))]
    library = folder / 'lid.so'
    subprocess.run([*host_compiler(), *COMMON, '-shared', '-fPIC', f'-I{folder}', *[f'-I{root / n}' for n in ('core', 'plants')],
                    *sources, root / 'apps' / 'lid_hinge.c', root / 'models' / 'lid_hinge_model.c', '-o', library, '-lm'],
                   check=True)
    return library


def smooth(t, begin, end, span):
    """Return (position, velocity) of a move with a fifth-order polynomial."""
    s = min(max(t / span, 0.0), 1.0)
    shape = s ** 3 * (10 - 15 * s + 6 * s * s)
    rate = 30 * s * s * (1 - s) ** 2 / span if s < 1 else 0.0
    return begin + (end - begin) * shape, (end - begin) * rate


def follow(sim, end, span, hold=0.2, stiffness=4000.0, damping=120.0):
    """Move both rods along a smooth reference, the controller on the wire as local law; return log and reference."""
    begin, logs, reference = sim.get('position'), [], []
    for k in range(int((span + hold) * 1000)):
        q, v = smooth(k * 1e-3, begin, end, span)
        sim.setpoint(*[(damping * v, q, stiffness, damping)] * 2)
        logs.append(sim.run(MAIN_TICKS, MAIN_TICKS))
        reference.append(q)
    return {name: np.concatenate([log[name] for log in logs]) for name in sim.columns}, np.array(reference)


def armed(**options):
    """Return an armed lid."""
    sim = Sim('lid_hinge', **options)
    sim.run(BOOT_TICKS)
    assert sim.arm() == 0
    return sim


def test_generated_model_carries_the_lid_at_every_stroke(with_model):
    sim = armed(library=with_model)
    for stroke, both_N in STATIC:
        follow(sim, stroke, 0.8, hold=0.4)
        for _ in range(20):                       # no controller at all: the model alone
            sim.setpoint(*[(0.0, 0.0, 0.0, 0.0)] * 2)
            sim.run(MAIN_TICKS)
        for rod in (0, 1):
            assert sim.view(rod)['force'] == pytest.approx(both_N / 2, rel=0.03, abs=0.2)
        assert sim.get('position') == pytest.approx(stroke, abs=5e-4)    # and it stays where it was
    assert sim.violations == {}


def test_without_the_model_the_lid_sinks(with_model):
    plain, carried = armed(), armed(library=with_model)
    for sim in (plain, carried):
        follow(sim, 0.030, 1.0, stiffness=30000.0, damping=400.0)
        for _ in range(300):
            sim.setpoint(*[(0.0, 0.0, 0.0, 0.0)] * 2)
            sim.run(MAIN_TICKS)
    assert carried.get('position') > 0.0285
    assert plain.get('position') < 0.020


def test_opening_follows_the_reference_better_with_the_model(with_model, record_property):
    errors = {}
    for name, sim in (('plain', armed()), ('model', armed(library=with_model))):
        log, reference = follow(sim, STROKE[1], 2.0)
        assert log['state'][-1] == ACTIVE and sim.violations == {}
        errors[name] = np.abs(log['position'] - reference).max()
        assert np.abs(log['position'] - log['position1']).max() < 2e-4    # both rods together
        record_property(f'largest_error_mm_{name}', errors[name] * 1e3)
    assert errors['model'] < 0.3 * errors['plain']
    assert errors['model'] < 2e-3


def test_current_loops_at_2_khz_follow_in_a_few_milliseconds():
    sim = armed()
    sim.set(travel_max=-0.0003, stop_stiffness=1e6)      # held at the closed end
    sim.setpoint(*[(28.0, 0.0, 0.0, 0.0)] * 2)           # 1 A
    log = sim.run(99, every=1)
    slew = 28.0 / 5000.0                                 # s that the slew limit takes
    late = log['t'] - log['t'][0] > slew + 3e-3
    assert log['current'][late] == pytest.approx(1.0, abs=0.08)
    assert np.abs(log['current']).max() < 1.15
