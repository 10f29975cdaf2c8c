"""The `haptic` command: lists its verbs fast, guesses mistyped ones, and fails in one sentence."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mbs_haptics import main as command
from mbs_haptics.commands import test as test_verb
from mbs_haptics.suggest import unknown


@pytest.fixture
def verb(monkeypatch):
    """Return define(run): make `haptic fake` call that function."""
    def define(run, **attributes):
        module = types.SimpleNamespace(HELP='Fake.', add_arguments=lambda parser: None, run=run, **attributes)
        monkeypatch.setattr(command, 'verbs', lambda: {'fake': 'Fake.'})
        monkeypatch.setattr(command.importlib, 'import_module', lambda name: module)
    return define


def failing(error):
    """Return a verb's run function that raises the error."""
    def run(args):
        raise error
    return run


def test_every_verb_has_a_help_line_that_is_read_without_importing():
    for name, text in command.verbs().items():
        module = command.importlib.import_module('mbs_haptics.commands.' + name)
        assert text == module.HELP and text.endswith('.'), f'HELP of {name} must be one line and one sentence'
        assert callable(module.add_arguments) and callable(module.run)


def test_help_lists_every_verb_and_imports_nothing_heavy():
    script = ('import atexit, sys; atexit.register(lambda: print(sorted(sys.modules)));'
              'from mbs_haptics.main import main; main(["--help"])')
    shown = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, check=True).stdout
    assert all(name in shown for name in command.verbs())
    assert "'numpy'" not in shown and "'mbs_core'" not in shown and "'rich'" not in shown


def test_mistyped_verb_names_the_nearest_one(capsys):
    assert command.main(['tset']) == 2
    assert capsys.readouterr().err == "haptic: there is no verb 'tset'; did you mean 'test'?\n"


def test_name_far_from_all_lists_them():
    assert unknown('mechanism', 'zzzz', ['car', 'delta']) == (
        "there is no mechanism 'zzzz'; choose one of: car, delta.")


def test_our_own_error_becomes_one_sentence_and_exit_code_2(verb, capsys):
    from mbs_core.errors import MbsError
    verb(failing(MbsError('body crank has\n  no mass')))
    assert command.main(['fake']) == 2
    assert capsys.readouterr().err == 'haptic: body crank has no mass\n'


def test_other_errors_keep_their_traceback(verb):
    verb(failing(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        command.main(['fake'])


def test_interrupt_gives_130(verb):
    verb(failing(KeyboardInterrupt()))
    assert command.main(['fake']) == 130


def test_exit_code_is_the_verbs_own_and_nothing_means_success(verb):
    verb(lambda args: 3)
    assert command.main(['fake']) == 3
    verb(lambda args: None)
    assert command.main(['fake']) == 0


def test_unknown_arguments_reach_a_verb_that_passes_them_through(verb):
    seen = []
    verb(lambda args: seen.extend(args.rest), PASS_THROUGH=True)
    assert command.main(['fake', '-k', 'name', '--maxfail=1']) == 0
    assert seen == ['-k', 'name', '--maxfail=1']


def test_reader_that_goes_away_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, '-m', 'mbs_haptics.main', '--version'], stdout=write,
                          stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, '')


def test_tests_that_need_the_machine_alone_run_first():
    assert test_verb.phases(['-x'], parallel=True) == [['-m', 'alone', '-q', '-x'], ['-m', 'not alone', '-n', 'auto', '-x']]
    assert test_verb.phases(['-m', 'alone'], parallel=True) == [['-m', 'alone']]
    assert test_verb.phases([], parallel=False) == [['-m', 'alone', '-q'], ['-m', 'not alone']]


@pytest.mark.parametrize('codes, together', [([0, 0], 0), ([0, 5], 0), ([5, 0], 0), ([5, 5], 5), ([1, 0], 1), ([0, 1], 1)])
def test_empty_pass_counts_only_when_all_are_empty(codes, together):
    assert test_verb.worst(codes) == together


def test_installed_package_says_where_the_tests_are(monkeypatch, capsys):
    monkeypatch.setattr(test_verb, '__file__', '/nowhere/mbs_haptics/commands/test.py')
    assert test_verb.run(types.SimpleNamespace(rest=[])) == 2
    assert 'source tree' in capsys.readouterr().err


@pytest.mark.parametrize('ci, outcome', [('true', 'failed'), ('', 'skipped')])
def test_skip_is_a_failure_under_ci_only(tmp_path, ci, outcome):
    conftest = Path(__file__).with_name('conftest.py').read_text()
    (tmp_path / 'conftest.py').write_text(conftest)
    (tmp_path / 'test_tool.py').write_text(
        'def test_it(need_tool):\n    need_tool("no-such-tool", "its-package")\n')
    (tmp_path / 'test_module.py').write_text('import pytest\npytest.importorskip("no_such_module")\n')
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    done = subprocess.run([sys.executable, '-m', 'pytest', '-rsfE', '-p', 'no:cacheprovider', str(tmp_path)], check=False,
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, 'CI': ci})
    assert (done.returncode != 0) == (outcome == 'failed'), done.stdout
    assert outcome in done.stdout or 'error' in done.stdout
    if not ci:
        assert 'sudo apt install its-package' in done.stdout
