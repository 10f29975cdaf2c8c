"""The supervisor starts processes in groups of their own, relays their output and ends every one of them."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from mbs_haptics.launching import LaunchError, Supervisor
from mbs_haptics.launching.plan import Message, Plan, Process


def shell(script, name='sh-1', **attributes):
    """Return a process that runs a shell script."""
    return Process(name, ['sh', '-c', script], dict(os.environ), **{'output': 'screen', **attributes})


def alive(pid):
    """Tell whether a process runs; one that ended but was not yet reaped doesn't."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as stat:
            return stat.read().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


class Run:
    """A run of the supervisor in this thread, with its lines and its exit code."""

    def __init__(self, *steps, stop_after=None, stop_on=None, **options):
        """Run to the end; `stop_after` seconds or at the line `stop_on` ask for the end."""
        self.lines = []

        def screen(name, line, is_error):
            self.lines.append((name, line, is_error))
            if line == stop_on:
                self.supervisor.stop('test')
        self.supervisor = Supervisor(Plan('test', list(steps)), screen, **{'term_after': 0.5, 'kill_after': 0.5, **options})
        if stop_after is not None:
            threading.Timer(stop_after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        self.code = self.supervisor.run()
        self.seconds = time.monotonic() - began

    def texts(self):
        """Return the lines without names."""
        return [line for _, line, _ in self.lines]


def test_output_is_relayed_by_line_with_name_and_stream():
    run = Run(shell('echo one; echo two >&2; printf three'))
    assert run.code == 0
    assert sorted(run.lines) == [('sh-1', 'one', False), ('sh-1', 'three', False), ('sh-1', 'two', True)]


def test_large_output_arrives_whole():
    run = Run(shell('seq 1 200000'))
    assert run.texts() == [str(n) for n in range(1, 200001)]


def test_log_output_shows_errors_only_and_logs_everything(tmp_path):
    log = tmp_path / 'log'
    run = Run(shell('echo out; echo err >&2', output='log'), shell('echo both', 'sh-2', output='both'), log=log)
    assert set(run.texts()) == {'err', 'both'}
    assert set(log.read_text().splitlines()) == {'[sh-1] out', '[sh-1] err', '[sh-2] both'}


def test_death_shows_the_hidden_last_words_and_gives_exit_code_1():
    run = Run(shell('echo reason; exit 7', output='log'))
    assert run.code == 1 and ('sh-1', 'reason', True) in run.lines
    assert 'sh-1 died by itself: exit code 7' in run.texts()


def test_one_death_leaves_the_others_running_but_counts():
    run = Run(shell('exit 3'), shell('sleep 0.4; echo done', 'sh-2'))
    assert run.code == 1 and 'done' in run.texts()


def test_shutdown_on_exit_ends_the_others():
    run = Run(shell('exit 0', shutdown_on_exit=True), shell('exec sleep 30', 'sh-2'))
    assert run.code == 0 and run.seconds < 3
    assert Run(shell('exit 4', shutdown_on_exit=True), shell('exec sleep 30', 'sh-2')).code == 1


def test_interrupt_ends_everything_with_exit_code_0():
    run = Run(shell('exec sleep 30'), shell('trap "echo bye; exit 0" INT; echo up; while :; do sleep 0.05; done', 'sh-2'), stop_on='up')
    assert run.code == 0 and run.seconds < 3 and 'bye' in run.texts()


def test_interrupt_signal_reaches_the_supervisor():
    handler = signal.getsignal(signal.SIGINT)
    run = Run(shell('exec sleep 30'), stop_after=0.3)
    assert run.code == 0 and run.seconds < 3 and signal.getsignal(signal.SIGINT) is handler


def test_deaf_process_gets_sigterm_then_sigkill():
    run = Run(shell('trap "" INT; trap "echo term; exit 0" TERM; echo up; while :; do sleep 0.05; done'), stop_on='up')
    assert run.code == 0 and 'term' in run.texts() and 'sh-1 does not end; sending SIGTERM' in run.texts()
    run = Run(shell('trap "" INT TERM; echo up; while :; do sleep 0.05; done'), stop_on='up')
    assert run.code == 1 and 1.0 <= run.seconds < 4 and 'sh-1 does not end; sending SIGKILL' in run.texts()


def test_what_a_process_leaves_behind_in_its_group_ends_too():
    run = Run(shell('sleep 30 & echo $!; (trap "" TERM; exec sleep 31) & echo $!; sleep 0.2; exit 0'))
    assert run.seconds < 4 and len(run.texts()) == 2
    assert [pid for pid in run.texts() if alive(pid)] == []


def test_respawn_starts_again_up_to_the_limit(tmp_path):
    run = Run(shell(f'echo x >> {tmp_path}/n; exit 2', respawn=True, respawn_max_retries=2))
    assert (tmp_path / 'n').read_text() == 'x\n' * 3 and run.code == 1
    run = Run(shell('echo x', respawn=True, respawn_delay=0.2), stop_after=0.7)
    assert run.code == 0 and 3 <= run.texts().count('x') <= 4


def test_delays_are_kept():
    run = Run(Message('now'), Message('late', delay=0.4), shell('date +%s.%N', delay=0.2))
    assert run.texts()[0] == 'now' and run.texts()[-1] == 'late' and run.seconds >= 0.4


def test_program_that_cannot_start_ends_the_others_in_one_sentence():
    pid = []
    supervisor = Supervisor(Plan('test', [shell('echo $$; exec sleep 30'), Process('x-2', ['/no/such'], {}, delay=0.3)]),
                            lambda name, line, is_error: pid.append(int(line)))
    with pytest.raises(LaunchError, match="'/no/such' can't be started: No such file or directory"):
        supervisor.run()
    assert pid and not alive(pid[0])


DRIVER = textwrap.dedent('''
    import sys
    from mbs_haptics.launching import Supervisor
    from mbs_haptics.launching.plan import Plan, Process
    import os
    steps = [Process('a-1', ['sh', '-c', 'echo $$; exec sleep 60'], dict(os.environ), output='screen')]
    sys.exit(Supervisor(Plan('x', steps), lambda name, line, is_error: print(line, flush=True)).run())
''')


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_signal_to_the_supervisor_leaves_a_process_behind(number, code):
    with subprocess.Popen([sys.executable, '-c', DRIVER], stdout=subprocess.PIPE, text=True) as driver:
        pid = int(driver.stdout.readline())
        driver.send_signal(number)
        assert driver.wait(10) == code
    end = time.monotonic() + 5
    while alive(pid):
        assert time.monotonic() < end, 'the process outlived its supervisor'
        time.sleep(0.02)
