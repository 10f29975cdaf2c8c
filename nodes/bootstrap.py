"""Make the environment that ./haptic runs in, then become the `haptic` command inside it.

Standard library only: this runs before anything is installed. The environment is a folder with a
subfolder `.haptic`, which holds a lock, the log, and one stamp per finished step. A stamp is removed before its step
starts and written after it ends, so what an interruption leaves behind is seen and made anew.
"""

import contextlib
import errno
import fcntl
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

# What a verb needs beyond the packages that every verb needs: sections of requirements.txt.
EXTRAS = {'test': 'test', 'bench': 'bench'}
BASE = 'base'
# Part of the base where ROS 2 comes as wheels.
WHEELS = 'ros'
# Part of the base where there is no C compiler.
COMPILER = 'compiler'

NO_NETWORK = ('NewConnectionError', 'name resolution', 'Name or service not known', 'Network is unreachable',
              'ConnectTimeout', 'ReadTimeout', 'ProxyError', 'Connection refused', 'Connection reset')


def _sibling(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).resolve().with_name(name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ENVIRONMENT = _sibling('environment')       # what ROS 2 needs; the package itself is not importable yet


class SetupError(Exception):
    """Say in one sentence why there is no environment, and what to do."""


class Environment(NamedTuple):
    """Where the environment is, which sources it serves, and the ROS distribution it leans on ('' for none)."""

    root: Path
    folder: Path
    ros: str

    @property
    def python(self):
        """Return the path of the environment's interpreter."""
        return self.folder / 'bin' / 'python'

    @property
    def notes(self):
        """Return the folder of lock, log and stamps; it marks the environment as ours."""
        return self.folder / '.haptic'

    @property
    def log(self):
        """Return the path of the file that holds what venv and pip said."""
        return self.notes / 'setup.log'


def say(sentence):
    """Print one line for the user; standard output stays free for the command."""
    print('haptic: ' + sentence, file=sys.stderr, flush=True)


def choose(root, environ):
    """Return the Environment for these sources: HAPTIC_ENV, or .venv-<distribution> under ROS 2, or .venv."""
    def at(ros):
        default = root / ('.venv-' + ros if ros else '.venv')
        return Environment(root, Path(os.path.abspath(environ.get('HAPTIC_ENV') or default)), ros)

    distribution = environ.get('ROS_DISTRO', '')
    paths = [entry for entry in environ.get('PYTHONPATH', '').split(os.pathsep) if entry] + sys.path
    if not distribution or importlib.machinery.PathFinder.find_spec('rclpy', paths) is None:
        return at('')
    with_ros = at(distribution)
    if is_done(with_ros, BASE):
        return with_ros
    # Found is not importable: ROS 2 is built for one Python, and this may be another.
    if subprocess.run([sys.executable, '-c', 'import rclpy'], capture_output=True, check=False).returncode == 0:
        return with_ros
    say('ROS 2 %s is sourced, but %s cannot import its rclpy; going on without it.' % (distribution, sys.executable))
    return at('')


def fingerprint(env):
    """Return the text that a stamp must hold: it changes with the lists, the place, the Python and the ROS 2."""
    lists = [(env.root / name).read_bytes() for name in ('requirements.txt', 'setup.py')]
    facts = [str(env.root), str(env.folder), os.path.realpath(env.python), env.ros, *ENVIRONMENT.executables()]
    return hashlib.sha256(b'\0'.join(lists + [fact.encode() for fact in facts])).hexdigest()


def is_done(env, step):
    """Tell whether the step ended, for the lists as they are now, and the interpreter still exists."""
    with contextlib.suppress(OSError):
        return os.access(env.python, os.X_OK) and (env.notes / step).read_text() == fingerprint(env)
    return False


def prepare(env, extras=()):
    """Make the environment hold the base and the extras; wait if another ./haptic is making it."""
    wanted = [BASE, *extras]
    if all(is_done(env, step) for step in wanted):
        return
    claim(env)
    with locked(env):
        missing = [step for step in wanted if not is_done(env, step)]
        if not missing:
            return
        started = time.monotonic()
        env.log.write_text('')
        if is_usable(env):
            say('updating %s for %s ...' % (env.folder, ' and '.join(missing)))
        else:
            say('setting up %s (on first use only, about a minute) ...' % env.folder)
            create(env)
        for step in {BASE, *missing}:       # installing an extra touches the base too
            (env.notes / step).unlink(missing_ok=True)
        install(env, extras)
        for step in wanted:
            (env.notes / step).write_text(fingerprint(env))
        say('ready after %.0f s.' % (time.monotonic() - started))


def claim(env):
    """Make the folder and mark it ours; refuse a folder that somebody else made."""
    if env.folder.exists() and any(env.folder.iterdir()) and not env.notes.is_dir():
        raise SetupError('%s exists but was not made by ./haptic; move it away, or set HAPTIC_ENV to a new folder.'
                         % env.folder)
    env.notes.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def locked(env):
    """Hold the environment's lock.

    Children inherit it on purpose: should this process be killed, a pip that lives on still keeps others out.
    """
    with open(env.notes / 'lock', 'w', encoding='utf-8') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('another ./haptic is setting up %s; waiting for it ...' % env.folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        yield


def is_usable(env):
    """Tell whether a finished environment is there, though its lists may be out of date."""
    return (env.notes / BASE).exists() and (env.notes / 'python').exists() and (
        (env.notes / 'python').read_text() == python_of(env)) and os.access(env.python, os.X_OK)


def python_of(env):
    """Return what an environment cannot outlive: its place, its interpreter and its ROS 2."""
    return '\n'.join([str(env.folder), os.path.realpath(env.python), env.ros])


def create(env):
    """Make an empty environment in place of whatever is there."""
    if not importlib.util.find_spec('venv') or not importlib.util.find_spec('ensurepip'):
        raise SetupError('this Python cannot make virtual environments; on Debian or Ubuntu, run '
                         '`sudo apt install python3-venv` and try again.')
    for stamp in (BASE, 'python', *EXTRAS.values()):
        (env.notes / stamp).unlink(missing_ok=True)
    for entry in env.folder.iterdir():
        if entry.is_dir() and not entry.is_symlink() and entry != env.notes:
            shutil.rmtree(entry)
        elif entry != env.notes:
            entry.unlink()
    run_logged(env, [sys.executable, '-I', '-m', 'venv', env.folder] + ['--system-site-packages'] * bool(env.ros))
    run_logged(env, pip(env) + ['--upgrade', 'pip', '--constraint', 'requirements.txt'])
    (env.notes / 'python').write_text(python_of(env))


def pip(env):
    """Return the beginning of every installing command."""
    return [env.python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input']


def install(env, extras=()):
    """Install the package from its sources, editable, and what it needs."""
    constraints = 'requirements.txt'
    if env.ros:
        # The compiled messages of a ROS installation work with its own numpy only: hold that one, not our pin.
        constraints = env.notes / 'constraints.txt'
        show = subprocess.run([env.python, '-c', 'import numpy; print("numpy==" + numpy.__version__)'],
                              env=clean(os.environ, env), capture_output=True, text=True, check=False)
        constraints.write_text(show.stdout)
    extras = [*wheels(env), *compiler(), *extras]
    package = '.[%s]' % ','.join(extras) if extras else '.'
    run_logged(env, pip(env) + ['--constraint', constraints, '--editable', package])
    make_prefix(env)


def wheels(env):
    """Return the extra that brings ROS 2 as wheels, unless an installation is sourced or there are none for this machine."""
    return [] if env.ros or not ENVIRONMENT.wheels_fit() else [WHEELS]


def compiler():
    """Return the extra that brings a C compiler, which builds the virtual device, unless this machine has one."""
    return [] if any(map(shutil.which, ('cc', 'gcc', 'clang'))) else [COMPILER]


def make_prefix(env):
    """Make the environment an ament prefix that holds this package: an editable installation leaves that out.

    So `ros2 launch`, `ros2 run` and get_package_share_directory find launch files, configurations and executables.
    """
    module = ENVIRONMENT
    marker, share, programs = (env.folder / module.INDEX / module.PACKAGE, env.folder / 'share' / module.PACKAGE,
                               env.folder / 'lib' / module.PACKAGE)
    for folder in (marker.parent, share, programs):
        folder.mkdir(parents=True, exist_ok=True)
    marker.touch()
    links = {share / name: env.root / name for name in ('package.xml', 'launch', 'config')}
    links.update({programs / name: env.folder / 'bin' / name for name in module.executables()})
    for link, target in links.items():
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def run_logged(env, command):
    """Run a command in the source folder with its words in the log; raise SetupError if it fails."""
    with open(env.log, 'a', encoding='utf-8') as log:
        print('$', *command, file=log, flush=True)
        # A session of its own, so that an interruption ends the command with all its children.
        process = subprocess.Popen(command, cwd=env.root, env=clean(os.environ, env), stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, close_fds=False, start_new_session=True)
        try:
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if process.returncode:
        raise SetupError(explain(env.log.read_text(errors='replace')) + ' (The full text is in %s.)' % env.log)


def explain(text):
    """Return one sentence with the remedy for what a failed venv or pip wrote."""
    if 'No space left on device' in text:
        return 'the disk is full; free about 1.5 GB, or set HAPTIC_ENV to a folder on another disk, and try again.'
    if 'ensurepip' in text and 'not created successfully' in text:
        return 'Python has no ensurepip; on Debian or Ubuntu, run `sudo apt install python3-venv` and try again.'
    if any(word in text for word in NO_NETWORK):
        return 'the packages could not be downloaded; connect to the network and try again.'
    if 'No matching distribution found' in text:
        return ('a package of requirements.txt is not offered for Python %d.%d on this machine; try another Python '
                'from 3.10 to 3.13.' % sys.version_info[:2])
    last = [line for line in text.splitlines() if line.strip()][-1:]
    return 'the installation failed with %r; try again, or look into the log.' % ''.join(last)


def clean(environ, env):
    """Return the variables for a process inside the environment, free of what leads to other Pythons.

    Under ROS 2, PYTHONPATH stays: rclpy comes from there.
    """
    drop = {'PYTHONHOME', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_USER'}
    if not env.ros:
        drop.add('PYTHONPATH')
    kept = {name: value for name, value in ENVIRONMENT.foreign(environ).items() if name not in drop}
    kept.update(VIRTUAL_ENV=str(env.folder), PIP_USER='0',
                PATH=os.pathsep.join([str(env.folder / 'bin'), environ.get('PATH', os.defpath)]))
    return kept


def for_command(environ, env):
    """Return the variables for the command itself: those of `clean`, with what ROS 2 needs."""
    return ENVIRONMENT.ready(clean(environ, env), env.folder)


def stop(signum, _frame):
    """Turn a signal into an exception, so that a running pip is ended too."""
    raise SystemExit(128 + signum)


def main(root, argv):
    """Prepare the environment for the verb in argv and become the command; return an exit code on failure."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, stop)
    extra = EXTRAS.get(argv[0]) if argv else None
    try:
        env = choose(Path(root), os.environ)
        prepare(env, [extra] if extra else [])
    except SetupError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say('interrupted; the next ./haptic starts the set-up afresh.')
        return 130
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            say(explain('No space left on device'))
        else:
            say('the environment cannot be made (%s); set HAPTIC_ENV to a folder you can write to.' % error)
        return 2
    command = env.folder / 'bin' / 'haptic'
    os.execve(command, [str(command), *argv], for_command(os.environ, env))
