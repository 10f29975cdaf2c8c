"""./haptic makes its environment once, safely, and says in one sentence what stands in its way.

No network and no real pip: the steps that install are replaced, in this process or in a small driver.
"""

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BOOTSTRAP = ROOT / 'nodes' / 'bootstrap.py'

# A process that prepares an environment with an installation that takes a while and leaves a line behind.
DRIVER = '''
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("bootstrap", sys.argv[1])
bootstrap = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bootstrap)
root, seconds = Path(sys.argv[2]), sys.argv[3]
def create(env):
    (env.folder / "bin").mkdir(exist_ok=True)
    env.python.unlink(missing_ok=True)
    env.python.symlink_to(sys.executable)
    (env.notes / "python").write_text(bootstrap.python_of(env))
def install(env, extras=()):
    bootstrap.run_logged(env, ["sh", "-c", "echo x >> installs; sleep " + seconds])
    (env.folder / "bin" / "haptic").write_text("#!/bin/sh\\necho ran \\"$@\\"\\n")
    (env.folder / "bin" / "haptic").chmod(0o755)
bootstrap.create, bootstrap.install = create, install
sys.exit(bootstrap.main(root, sys.argv[4:]))
'''


@pytest.fixture
def root(tmp_path):
    """Return a folder with the two files that an environment depends on."""
    (tmp_path / 'requirements.txt').write_text('numpy==2.4.6\n')
    (tmp_path / 'setup.py').write_text('')
    return tmp_path


@pytest.fixture
def bootstrap():
    """Return a fresh copy of the bootstrap module."""
    spec = importlib.util.spec_from_file_location('bootstrap', BOOTSTRAP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def wheels(bootstrap, monkeypatch):
    """Let every machine be one that ROS 2 has wheels for."""
    monkeypatch.setattr(bootstrap.ENVIRONMENT, 'wheels_fit', lambda: True)


@pytest.fixture
def steps(bootstrap, monkeypatch):
    """Replace the commands by a record of them; `venv` still makes an interpreter."""
    commands = []

    def run_logged(env, command):
        commands.append([str(word) for word in command])
        if 'venv' in commands[-1]:
            (env.folder / 'bin').mkdir(parents=True)
            env.python.symlink_to(sys.executable)
    monkeypatch.setattr(bootstrap, 'run_logged', run_logged)
    return commands


def start(root, seconds, *argv):
    """Start the driver on a folder; its installation takes that many seconds."""
    variables = {name: value for name, value in os.environ.items() if name not in ('HAPTIC_ENV', 'ROS_DISTRO')}
    return subprocess.Popen([sys.executable, '-c', DRIVER, str(BOOTSTRAP), str(root), str(seconds), *argv], text=True,
                            env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path):
    """Wait until a file exists, at most ten seconds."""
    end = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < end, f'{path} did not appear'
        time.sleep(0.01)


def kinds(steps):
    """Return what each recorded command was for."""
    return ['venv' if 'venv' in step else 'pip' if '--upgrade' in step else step[-1] for step in steps]


def test_first_use_creates_and_installs_and_second_use_does_nothing(bootstrap, steps, root, capsys):
    env = bootstrap.choose(root, {})
    bootstrap.prepare(env)
    assert kinds(steps) == ['venv', 'pip', '.[ros]']
    assert len(capsys.readouterr().err.splitlines()) == 2
    bootstrap.prepare(env)
    assert len(steps) == 3 and capsys.readouterr().err == ''


def test_extra_of_a_verb_is_added_once_and_keeps_the_others(bootstrap, steps, root):
    env = bootstrap.choose(root, {})
    for extras in ([], ['test'], ['bench'], ['test'], []):
        bootstrap.prepare(env, extras)
    assert kinds(steps) == ['venv', 'pip', '.[ros]', '.[ros,test]', '.[ros,bench]']


def test_first_use_with_an_extra_is_one_installation(bootstrap, steps, root):
    bootstrap.prepare(bootstrap.choose(root, {}), ['test'])
    assert kinds(steps) == ['venv', 'pip', '.[ros,test]']


def test_installation_uses_the_pins(bootstrap, steps, root):
    bootstrap.prepare(bootstrap.choose(root, {}))
    assert steps[-1][-4:] == ['--constraint', 'requirements.txt', '--editable', '.[ros]']


def test_machine_without_wheels_gets_the_rest(bootstrap, steps, root, monkeypatch):
    monkeypatch.setattr(bootstrap.ENVIRONMENT, 'wheels_fit', lambda: False)
    bootstrap.prepare(bootstrap.choose(root, {}))
    assert kinds(steps) == ['venv', 'pip', '.']


def test_environment_becomes_an_ament_prefix_with_this_package(bootstrap, steps, root):
    env = bootstrap.choose(root, {})
    bootstrap.prepare(env)
    variables = bootstrap.for_command({'PATH': '/bin'}, env)
    assert variables['AMENT_PREFIX_PATH'] == str(env.folder)
    assert bootstrap.ENVIRONMENT.package_prefix('mbs_haptics', variables) == env.folder
    assert os.readlink(env.folder / 'share' / 'mbs_haptics' / 'launch') == str(root / 'launch')
    assert os.readlink(env.folder / 'lib' / 'mbs_haptics' / 'recorder') == str(env.folder / 'bin' / 'recorder')


def test_changed_list_updates_in_place(bootstrap, steps, root):
    env = bootstrap.choose(root, {})
    bootstrap.prepare(env)
    (root / 'requirements.txt').write_text('numpy==9\n')
    bootstrap.prepare(env)
    assert kinds(steps) == ['venv', 'pip', '.[ros]', '.[ros]']


def test_lost_interpreter_makes_a_new_environment(bootstrap, steps, root):
    env = bootstrap.choose(root, {})
    bootstrap.prepare(env)
    env.python.unlink()
    env.python.symlink_to('/nowhere/python')
    bootstrap.prepare(env)
    assert kinds(steps) == ['venv', 'pip', '.[ros]'] * 2


@pytest.mark.parametrize('extras', [[], ['test']])
def test_interrupted_installation_is_made_anew(bootstrap, steps, root, monkeypatch, extras):
    env = bootstrap.choose(root, {})
    if extras:
        bootstrap.prepare(env)
        steps.clear()

    def interrupted(env, extras=()):
        (env.folder / 'half').write_text('made')
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(bootstrap, 'install', interrupted)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.prepare(env, extras)
    steps.clear()
    bootstrap.prepare(env, extras)
    assert kinds(steps)[:2] == ['venv', 'pip'] and not (env.folder / 'half').exists()


def test_two_at_once_install_once_and_the_second_says_that_it_waits(root):
    first = start(root, 1, 'run', 'one')
    wait_for(root / 'installs')
    second = start(root, 1, 'run', 'two')
    first_out, _ = first.communicate(timeout=20)
    second_out, second_err = second.communicate(timeout=20)
    assert (first_out, second_out) == ('ran run one\n', 'ran run two\n')
    assert 'waiting' in second_err
    assert (root / 'installs').read_text() == 'x\n'


def test_killed_set_up_keeps_others_out_until_its_pip_is_gone(root):
    first = start(root, 1.5)
    wait_for(root / 'installs')
    started = time.monotonic()
    first.kill()
    second = start(root, 0)
    _, errors = second.communicate(timeout=20)
    first.communicate()
    assert second.returncode == 0 and 'waiting' in errors
    assert time.monotonic() - started > 0.8
    assert (root / 'installs').read_text() == 'x\nx\n'


def test_terminated_set_up_ends_its_pip_at_once(root):
    first = start(root, 30)
    wait_for(root / 'installs')
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=10)
    assert first.returncode == 128 + signal.SIGTERM
    second = start(root, 0)
    second.communicate(timeout=10)
    assert second.returncode == 0


def test_missing_venv_names_the_package_to_install(bootstrap, root, monkeypatch, capsys):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None if name == 'ensurepip' else real(name))
    monkeypatch.delenv('HAPTIC_ENV', raising=False)
    assert bootstrap.main(root, ['--help']) == 2
    assert 'sudo apt install python3-venv' in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize('said, wanted', [
    ('WARNING: Retrying ... NewConnectionError(...)\nERROR: No matching distribution found for numpy', 'network'),
    ('socket.gaierror: Temporary failure in name resolution', 'network'),
    ('ERROR: Could not install: [Errno 28] No space left on device', 'disk is full'),
    ('The virtual environment was not created successfully because ensurepip is not available', 'python3-venv'),
    ('ERROR: No matching distribution found for numba==0.68.1', 'requirements.txt'),
    ('odd\nlast words\n', 'last words')])
def test_failure_is_one_sentence_with_the_remedy(bootstrap, said, wanted):
    sentence = bootstrap.explain(said)
    assert wanted in sentence and '\n' not in sentence


def test_failed_command_names_the_log(bootstrap, root):
    env = bootstrap.choose(root, {})
    bootstrap.claim(env)
    with pytest.raises(bootstrap.SetupError, match='setup.log') as caught:
        bootstrap.run_logged(env, ['sh', '-c', 'echo Network is unreachable >&2; exit 1'])
    assert 'network' in str(caught.value)
    assert 'Network is unreachable' in env.log.read_text()


@pytest.mark.parametrize('number, wanted', [(errno.ENOSPC, 'disk is full'), (errno.EROFS, 'HAPTIC_ENV')])
def test_folder_that_cannot_be_written_is_explained(bootstrap, root, monkeypatch, capsys, number, wanted):
    def fail(env):
        raise OSError(number, os.strerror(number))
    monkeypatch.setattr(bootstrap, 'claim', fail)
    assert bootstrap.main(root, []) == 2
    assert wanted in capsys.readouterr().err


def test_folder_of_somebody_else_is_never_touched(bootstrap, steps, root):
    other = root / 'home'
    other.mkdir()
    (other / 'letter').write_text('dear')
    with pytest.raises(bootstrap.SetupError, match='not made by'):
        bootstrap.prepare(bootstrap.choose(root, {'HAPTIC_ENV': str(other)}))
    assert (other / 'letter').read_text() == 'dear' and steps == []


def test_sourced_ros_has_an_environment_of_its_own_that_sees_the_system(bootstrap, steps, root):
    (root / 'ros').mkdir()
    (root / 'ros' / 'rclpy.py').write_text('')
    sourced = {'ROS_DISTRO': 'jazzy', 'PYTHONPATH': str(root / 'ros')}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONPATH', str(root / 'ros'))
        env = bootstrap.choose(root, sourced)
        bootstrap.prepare(env)
    assert env.folder.name == '.venv-jazzy'
    assert '--system-site-packages' in steps[0] and kinds(steps)[-1] == '.'
    assert 'requirements.txt' not in steps[-1]
    assert bootstrap.clean(sourced, env)['PYTHONPATH'] == sourced['PYTHONPATH']


def test_ros_of_another_python_is_left_aside_with_a_notice(bootstrap, root, capsys):
    (root / 'ros').mkdir()
    (root / 'ros' / 'rclpy.py').write_text('raise ImportError')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONPATH', str(root / 'ros'))
        env = bootstrap.choose(root, {'ROS_DISTRO': 'jazzy', 'PYTHONPATH': str(root / 'ros')})
    assert env.folder.name == '.venv' and 'cannot import' in capsys.readouterr().err


def test_variables_that_lead_to_other_pythons_are_dropped(bootstrap, root):
    env = bootstrap.choose(root, {})
    kept = bootstrap.clean({'PYTHONPATH': '/a', 'PYTHONHOME': '/b', 'VIRTUAL_ENV': '/c', 'PATH': '/bin', 'HOME': '/h'}, env)
    assert kept == {'VIRTUAL_ENV': str(env.folder), 'PIP_USER': '0', 'HOME': '/h',
                    'PATH': f'{env.folder}/bin:/bin'}
    wheels = {'_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1', 'LD_LIBRARY_PATH': '/wheels', 'PATH': '/bin'}
    assert 'LD_LIBRARY_PATH' not in bootstrap.clean(wheels, env)
    assert bootstrap.clean({'LD_LIBRARY_PATH': '/cuda'}, env)['LD_LIBRARY_PATH'] == '/cuda'


def test_script_works_from_elsewhere_through_a_link_and_with_an_odd_pythonpath(root):
    (root / 'odd').mkdir()
    for name in ('subprocess', 'pathlib', 'importlib'):
        (root / 'odd' / f'{name}.py').write_text('raise RuntimeError("the wrong module")')
    (root / 'link').symlink_to(ROOT / 'haptic')
    (root / 'env').mkdir()
    (root / 'env' / 'letter').write_text('')        # so that the script stops with a sentence before it installs
    done = subprocess.run([sys.executable, '-S', str(root / 'link'), 'run'], cwd='/', capture_output=True, text=True,
                          check=False, env={'PYTHONPATH': str(root / 'odd'), 'HAPTIC_ENV': str(root / 'env')})
    assert done.returncode == 2
    assert done.stderr == (f'haptic: {root}/env exists but was not made by ./haptic; move it away, or set HAPTIC_ENV to '
                           'a new folder.\n')


def test_old_python_is_told_what_is_needed():
    text = (ROOT / 'haptic').read_text()
    check = text[text.index('if sys.version_info'):text.index('# Only')]
    fake = type('FakeSys', (), {'version_info': (3, 8, 1), 'exit': staticmethod(lambda words: said.append(words))})
    said = []
    exec(check, {'sys': fake})
    assert said and 'Python 3.8' in said[0] and '3.10 or newer' in said[0]
