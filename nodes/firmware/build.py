"""Build the firmware: find a compiler, translate one board with one application, and keep the result by its content.

A result is named by a digest of every source, the compiler and the flags, so an unchanged firmware is never built
twice, a changed one always is, and two processes may ask for the same one at the same time.
"""

import concurrent.futures
import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import os
import shutil
import site
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from mbs_core.errors import MbsError, suggest

STRICT = ('-Wall', '-Wextra', '-Wconversion', '-Werror')
CORTEX_M4F = ('-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv4-sp-d16')
# Contraction would let each compiler round differently, and `sim` promises the same numbers everywhere.
COMMON = ('-std=c99', '-O2', '-ffp-contract=off')
BARE = (*CORTEX_M4F, '-ffreestanding', '-ffunction-sections', '-fdata-sections', '-fno-tree-loop-distribute-patterns',
        '-nostdlib', '-Wl,--gc-sections', '-Wl,--fatal-warnings')
# The plants, on an emulated processor that has no double: in single precision they are ten times faster, and the whole
# image must agree on it. Their numbers are then converted everywhere, so that warning says nothing.
SINGLE = ('-Ddouble=float', '-fsingle-precision-constant')
# A model's square root is one instruction of the processor, not a call that might set errno.
MODEL = ('-fno-math-errno',)


class Board(NamedTuple):
    """How a board is built: its own folders, the result's suffix, flags and libraries, and whether a plant is inside."""

    folders: tuple
    suffix: str
    flags: tuple
    libraries: tuple = ()
    plant: bool = True
    is_arm: bool = False
    includes: tuple = ()    # folders of further headers and linker scripts
    firmware: bool = True   # False: a program beside it, without core and application


BOARDS = {
    'sim': Board(('boards/sim',), '.so', ('-shared', '-fPIC', '-fvisibility=default'), ('-lm',)),
    'posix': Board(('boards/posix',), '', (), ('-lm',)),
    'qemu_mps2': Board(('boards/arm', 'boards/qemu_mps2'), '.elf', (*BARE, *SINGLE), ('-lgcc',), is_arm=True,
                       includes=('boards/arm/include', 'models')),
    'qemu_test': Board(('boards/arm', 'boards/qemu_test'), '.elf', (*BARE, *SINGLE), ('-lgcc',), is_arm=True,
                       includes=('boards/arm/include', 'boards/qemu_mps2', 'models')),
    'plant': Board(('boards/plant',), '', (), ('-lm',), includes=('core', 'boards/qemu_mps2'), firmware=False),
    'stm32f4': Board(('boards/arm', 'boards/stm32f4'), '.elf', BARE, ('-lgcc',), plant=False, is_arm=True,
                     includes=('models',)),
}


def source_folder() -> Path:
    """Return the folder `firmware/`: of the source tree, or of the installed package."""
    here = Path(__file__).resolve()
    shares = [Path(prefix) / 'share' / 'mbs_haptics' for prefix in
              (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix, site.getuserbase(),
               *map(str, here.parents)) if prefix]
    for root in (here.parents[2], *shares):
        if (root / 'firmware' / 'core').is_dir():
            return root / 'firmware'
    raise MbsError("the firmware's sources are not installed; run from a source tree, or install the package again")


def apps() -> list[str]:
    """Return the names of the applications, read from the sources."""
    return sorted(path.stem for path in (source_folder() / 'apps').glob('*.c'))


def cache_folder() -> Path:
    """Return the folder of built firmware, made if it is missing."""
    top = Path(os.environ.get('MBS_HAPTICS_CACHE') or os.path.expanduser('~/.cache/mbs_haptics'))
    folder = top / 'firmware'
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MbsError(f'built firmware has no place, because {folder} cannot be made ({error.strerror}): '
                       'set MBS_HAPTICS_CACHE to a writable folder') from None
    return folder


@functools.cache
def host_compiler() -> tuple:
    """Return the command of this machine's C compiler, or of PyPI's ziglang; raise MbsError when there is neither."""
    for name in (os.environ.get('CC', ''), 'cc', 'gcc', 'clang'):
        path = shutil.which(name) if name else None
        if path:
            return (path,)
    if importlib.util.find_spec('ziglang') is not None:
        return (sys.executable, '-m', 'ziglang', 'cc')
    raise MbsError('there is no C compiler to build the device with: `sudo apt install gcc`, or `pip install ziglang`')


def arm_compiler() -> tuple:
    """Return the command of the cross compiler; raise MbsError with the Debian package when it is missing."""
    return (tool('arm-none-eabi-gcc', 'gcc-arm-none-eabi'),)


def tool(name: str, package: str) -> str:
    """Return the path of a tool, or raise MbsError that says which Debian package has it."""
    path = shutil.which(name)
    if path is None:
        raise MbsError(f'{name} is missing: `sudo apt install {package}` brings it')
    return path


def build(board: str, app: str, *, strict=False, model=True, into=None) -> Path:
    """Build one board with one application and return the file, from the cache when it is there.

    board: a name of BOARDS; app: a name of apps(); strict: warnings are errors; model: with the application's generated
    model, if it has one (firmware/models); into: also copy the result into this folder under a readable name. Raises
    MbsError with the compiler's first words.
    """
    if board not in BOARDS:
        raise MbsError(f"there is no board '{board}'{suggest(board, BOARDS)}")
    if app not in apps():
        raise MbsError(f"there is no application '{app}'{suggest(app, apps())}")
    plan, root = BOARDS[board], source_folder()
    folders = [*(['core'] if plan.firmware else []), *(['plants'] if plan.plant else []), *plan.folders]
    sources = {path: () for folder in folders for path in sorted((root / folder).glob('*.c'))}
    modelled = root / 'models' / f'{app}_model.c'
    has_model = plan.firmware and model and modelled.exists()
    if plan.firmware:
        sources[root / 'apps' / (app + '.c')] = ()
    if has_model:
        sources[modelled] = MODEL
    if plan.plant and plan.is_arm:
        sources.update(dict.fromkeys((root / 'plants').glob('*.c'), ('-Wno-conversion', '-Wno-float-conversion')))
    searched = list(dict.fromkeys([*folders, *plan.includes, 'apps', *(['models'] if has_model else [])]))
    flags = [*COMMON, *plan.flags, *(STRICT if strict else ()), *(f'-I{root / folder}' for folder in searched)]
    scripts = [path for folder in searched for path in sorted((root / folder).glob('*.ld'))] if plan.is_arm else []
    flags += [f'-Wl,-T,{script}' for script in scripts]
    headers = [path for folder in searched for path in sorted((root / folder).glob('*.h'))]
    headers += sorted((root / 'models').glob(f'{app}_generated.c')) if has_model else []
    compiler = arm_compiler() if plan.is_arm else host_compiler()
    result = compiled(f'{board}-{app}', plan.suffix, compiler, flags, sources, [*headers, *scripts], plan.libraries)
    if into is not None:
        into = Path(into) / f'{app}-{board}{plan.suffix}'
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(result, into)
        return into
    return result


def compiled(name, suffix, compiler, flags, sources, others=(), libraries=()) -> Path:
    """Compile and link the sources and return the cached result.

    sources: {path: flags of its own}; others: files that count for the digest only.
    """
    root = source_folder()
    total = hashlib.sha256('\0'.join([*identity(compiler), *map(str, flags), *libraries]).encode())
    for path in (*sources, *others):
        total.update(f'\0{path.relative_to(root)}\0{sources.get(path, "")}\0'.encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    folder = cache_folder()
    result = folder / f'{name}-{total.hexdigest()[:20]}{suffix}'
    if result.exists():
        return result
    with locked(folder / (result.name + '.lock')):
        if not result.exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix='.new-') as temporary:
                fresh = Path(temporary) / result.name
                compile_and_link(name, compiler, flags, sources, libraries, fresh)
                os.replace(fresh, result)
    return result


def compile_and_link(name, compiler, flags, sources, libraries, result):
    """Compile on all cores, one object a source, and link them into `result`, whose folder takes the objects."""
    compiling = [flag for flag in flags if not flag.startswith('-Wl,') and flag not in ('-shared', '-nostdlib')]
    objects = {path: result.parent / f'{path.parent.name}-{path.stem}.o' for path in sources}

    def one(path):
        run_compiler(name, [*compiler, *compiling, *sources[path], '-c', str(path), '-o', str(objects[path])])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, sources))
    linking = [flag for flag in flags if not flag.startswith(('-I', '-D', '-W')) or flag.startswith('-Wl,')]
    run_compiler(name, [*compiler, *linking, *map(str, objects.values()), '-o', str(result), *libraries])


def run_compiler(name, command):
    """Run the compiler; raise MbsError with its first complaint, or, when it says nothing, its exit code."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors='replace')
    if done.returncode:
        lines = done.stderr.splitlines()
        words = [line for line in lines if ' error: ' in line or 'undefined reference' in line] or lines
        with contextlib.suppress(OSError):
            (cache_folder() / f'{name}.log').write_text(' '.join(command) + '\n' + done.stderr)
        raise MbsError(f'the firmware {name} does not build: {words[0] if words else f"exit code {done.returncode}"} '
                       f'(all of it is in {cache_folder() / (name + ".log")})')


def identity(compiler) -> list[str]:
    """Return what tells one compiler from another: its command, and the file behind it."""
    path = Path(compiler[0]).resolve()
    facts = path.stat()
    return [*compiler, str(path), str(facts.st_size), str(facts.st_mtime_ns)]


@contextlib.contextmanager
def locked(path):
    """Hold a lock file, so that one process compiles and the others wait for its result."""
    with open(path, 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    with contextlib.suppress(OSError):
        path.unlink()
