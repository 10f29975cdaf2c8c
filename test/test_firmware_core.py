"""The core of the firmware on the host: unit tests under the sanitizers, their coverage, warnings as errors, cppcheck."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from test_firmware_framing import need_cmocka  # noqa: F401 a fixture

FIRMWARE = Path(__file__).resolve().parents[1] / 'firmware'
CORE = sorted((FIRMWARE / 'core').glob('*.c'))
STRICT = ['-std=c99', '-Wall', '-Wextra', '-Wconversion', '-Werror']
SANITIZE = ['-fsanitize=address,undefined,float-cast-overflow', '-fno-sanitize-recover=all']
# Which application a test is linked with; it runs on the board made of variables.
TESTS = {'test_blocks': 'piano_key', 'test_safety': 'piano_key', 'test_fw_key': 'piano_key', 'test_fw_lid': 'lid_hinge'}
ALONE = ('test_framing', 'test_session')    # bring their own surroundings
FOLDERS = [f'-I{FIRMWARE / name}' for name in ('core', 'test')]
LEAST_COVERAGE = 0.95


def execute(*command, cwd=None):
    """Run to its end; a failure shows what it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=cwd, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def sources(name):
    """Return the sources of a unit test without the core."""
    folder = FIRMWARE / 'test'
    if name in ALONE:
        return [folder / f'{name}.c']
    return [folder / f'{name}.c', folder / 'fake_hal.c', FIRMWARE / 'apps' / f'{TESTS[name]}.c']


@pytest.mark.parametrize('name', TESTS)
def test_unit_tests_pass_under_the_sanitizers(need_cmocka, tmp_path, name):  # noqa: F811
    program = tmp_path / name
    execute(need_cmocka, *STRICT, '-O1', '-g', *SANITIZE, *FOLDERS, *sources(name), *CORE, '-o', program, '-lcmocka', '-lm')
    assert '[  PASSED  ]' in execute(program)


def lines_run(folder, gcov):
    """Return {file of the core: {line: times run}} of the coverage data in a folder."""
    execute(gcov, '--json-format', *sorted(folder.glob('*.gcda')), cwd=folder)
    seen = {}
    for report in folder.glob('*.gcov.json.gz'):
        for file in json.loads(gzip.decompress(report.read_bytes()))['files']:
            path = Path(folder, file['file']).resolve()
            if path.parent == FIRMWARE / 'core':
                lines = seen.setdefault(path.name, {})
                for line in file['lines']:
                    lines[line['line_number']] = max(lines.get(line['line_number'], 0), line['count'])
    return seen


def test_unit_tests_cover_the_core(need_cmocka, need_tool, tmp_path, record_property):  # noqa: F811
    gcov, total = need_tool('gcov', 'gcc'), {}
    for name in (*TESTS, *ALONE):
        folder = tmp_path / name
        folder.mkdir()
        core = CORE if name in TESTS else [FIRMWARE / 'core' / 'framing.c', FIRMWARE / 'core' / 'session.c']
        execute(need_cmocka, *STRICT, '-O0', '--coverage', *FOLDERS, *sources(name), *core, '-o', 'program', '-lcmocka',
                '-lm', cwd=folder)
        execute('./program', cwd=folder)
        for file, lines in lines_run(folder, gcov).items():
            known = total.setdefault(file, {})
            for line, count in lines.items():
                known[line] = known.get(line, 0) + count
    assert {path.name for path in CORE} <= set(total)
    shares = {file: sum(count > 0 for count in lines.values()) / len(lines) for file, lines in sorted(total.items())}
    share = sum(count > 0 for lines in total.values() for count in lines.values()) / sum(map(len, total.values()))
    record_property('core_line_coverage', share)
    print(f'\nline coverage of the core: {share:.1%}', {file: f'{value:.0%}' for file, value in shares.items()})
    unrun = {file: [line for line, count in lines.items() if not count] for file, lines in total.items()}
    assert share > LEAST_COVERAGE, unrun


@pytest.mark.parametrize('app', sorted(path.stem for path in (FIRMWARE / 'apps').glob('*.c')))
def test_every_application_builds_without_a_warning(need_tool, tmp_path, app):
    folders = [f'-I{FIRMWARE / name}' for name in ('core', 'plants', 'apps')]
    parts = [*CORE, *sorted((FIRMWARE / 'plants').glob('*.c')), *sorted((FIRMWARE / 'boards' / 'sim').glob('*.c')),
             FIRMWARE / 'apps' / f'{app}.c']
    execute(need_tool('gcc', 'gcc'), *STRICT, '-O2', '-shared', '-fPIC', *folders, *parts, '-o', tmp_path / 'sim.so', '-lm')


def test_core_uses_no_library(need_tool, tmp_path):
    """Without any library, only the board's functions and the compiler's memory helpers are left undefined."""
    gcc, nm = need_tool('gcc', 'gcc'), need_tool('nm', 'binutils')
    whole = tmp_path / 'core.o'
    execute(gcc, *STRICT, '-O2', '-ffreestanding', '-fno-stack-protector', '-r', '-nostdlib', *FOLDERS, *CORE,
            FIRMWARE / 'apps' / 'lid_hinge.c', '-o', whole)
    missing = {line.split()[-1] for line in execute(nm, '--undefined-only', whole).splitlines()}
    assert {name for name in missing if not name.startswith('hal_')} <= {'memcpy', 'memset', 'memmove', '_GLOBAL_OFFSET_TABLE_'}


def test_cppcheck_finds_nothing(need_tool, tmp_path):
    folders = ['core', 'apps', 'plants', 'boards/sim']
    execute(need_tool('cppcheck', 'cppcheck'), '--std=c99', '--enable=warning,performance,portability,style', '--inline-suppr',
            '--error-exitcode=1', '--quiet', '--suppress=missingIncludeSystem', '--suppress=unusedFunction',
            '--suppress=unusedStructMember', f'--cppcheck-build-dir={tmp_path}', *[FIRMWARE / name for name in folders])
