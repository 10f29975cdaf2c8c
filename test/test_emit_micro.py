"""E8: the emitted C of a closed mechanism builds for the microcontroller, within a stated budget."""

import subprocess

from mbs_core.mechanisms import build
from mbs_core.runtime import generate_program
from mbs_core.symbolic.printers.c import emit_c

# What a Cortex-M4F without a C library offers: single-precision functions under the names the model uses.
MATH = '\n'.join(f'float {f}f(float);\n#define {f} {f}f' for f in ('sin', 'cos', 'sqrt', 'exp', 'log', 'tanh', 'atan', 'fabs')) + '''
float atan2f(float, float);
#define atan2 atan2f
float powf(float, float);
#define pow powf
#define isfinite __builtin_isfinite
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
'''
FLASH_BUDGET = 64 * 1024          # bytes, of the 512 KiB of the smallest board in mind


def test_emitted_hinge_builds_for_a_cortex_m4(tmp_path, need_tool):
    """The lid hinge with one partition compiles for a Cortex-M4F in single precision and fits its flash budget."""
    gcc = need_tool('arm-none-eabi-gcc', 'gcc-arm-none-eabi')
    (tmp_path / 'micro_math.h').write_text(MATH)
    (tmp_path / 'hinge.c').write_text(emit_c(generate_program(build('lid_hinge'), partitions=1)[0]))
    subprocess.run([gcc, '-mcpu=cortex-m4', '-mthumb', '-mfpu=fpv4-sp-d16', '-mfloat-abi=hard', '-std=c99', '-Os', '-ffreestanding',
                    '-Wall', '-Wextra', '-Werror', '-DMBS_REAL=float', '-DMBS_MATH_H="micro_math.h"', f'-I{tmp_path}', '-c', 'hinge.c'],
                   cwd=tmp_path, check=True)
    words = subprocess.run([gcc.replace('-gcc', '-size'), 'hinge.o'], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    text = int(words.splitlines()[1].split()[0])
    assert 1024 < text < FLASH_BUDGET
