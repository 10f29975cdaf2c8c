"""The tests of the promises have teeth: a firmware with one limit taken out is caught by the monitor of `sim`."""

import shutil
import subprocess

import pytest

from mbs_haptics.firmware.build import COMMON, host_compiler, source_folder
from mbs_haptics.firmware.sim import Sim

# What is taken out: the file, its text, what stands there instead, and which promise is then broken.
BROKEN = {
    'clamp': ('limits.c', 'config->force_max * gain, (unsigned)', '1.0e9f, (unsigned)', {'force_range', 'ramp'}),
    'ramp of the clamp': ('limits.c', 'config->force_max * gain, (unsigned)', 'config->force_max, (unsigned)', {'ramp'}),
    'slew': ('limits.c', 'config->slew_max * dt_s', '1.0e9f', {'slew'}),
    'watchdog': ('safety.c', 'is_armed(safety) && setpoint_expired(safety, now_us)', 'false', {'driven_late'}),
    'thermal state': ('limits.c', 'void limits_off(struct limits *limits) {',
                      'void limits_off(struct limits *limits) {\n  limits->thermal.heat = 0.0f;', {'heat_drop'}),
    'latch': ('fw.c', 'driving || allowed->gate != HAL_GATE_DRIVE ? allowed->gate : HAL_GATE_OFF', 'HAL_GATE_DRIVE',
              {'driven_unarmed'}),
}


def build_broken(folder, file, text, instead):
    """Return a sim library of the piano key with one place of the core changed."""
    root = source_folder()
    shutil.copytree(root, folder / 'firmware', ignore=shutil.ignore_patterns('fuzz', 'qemu*', 'arm'))
    path = folder / 'firmware' / 'core' / file
    source = path.read_text()
    assert source.count(text) == 1, f'{file} no longer says: {text}'
    path.write_text(source.replace(text, instead))
    root, library = folder / 'firmware', folder / 'broken.so'
    sources = [path for name in ('core', 'plants', 'boards/sim') for path in sorted((root / name).glob('*.c'))]
    subprocess.run([*host_compiler(), *COMMON, '-shared', '-fPIC', f'-I{root / "core"}', f'-I{root / "plants"}', *sources,
                    root / 'apps' / 'piano_key.c', '-o', library, '-lm'], check=True, capture_output=True)
    return library


@pytest.mark.parametrize('name', BROKEN)
def test_a_limit_taken_out_is_noticed(tmp_path, name):
    file, text, instead, expected = BROKEN[name]
    sim = Sim('piano_key', library=build_broken(tmp_path, file, text, instead))
    sim.sweep_random(100_000, seed=2)
    assert expected <= set(sim.violations), sim.violations
