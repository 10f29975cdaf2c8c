"""Run the processes of a plan and end them together.

Each process leads a session of its own, so that Ctrl-C reaches only the supervisor, which then asks every process to
end: SIGINT, after `term_after` seconds SIGTERM, after `kill_after` more SIGKILL to the whole group. What a process
left behind in its group ends with it, and should the supervisor itself be killed, the kernel sends SIGTERM to its children.
"""

import collections
import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mbs_haptics.launching.errors import LaunchError
from mbs_haptics.launching.plan import Process

TERM_AFTER, KILL_AFTER = 5.0, 5.0       # s, as upstream
LINGER = 1.0            # s that what a process left behind in its group has to end after SIGTERM
TICK = 0.05             # s between looks at timers and ended processes
LAST_LINES = 10         # of hidden output, shown when a process dies
CLEAN = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Child:
    """A started process, with what is left of its output line."""

    def __init__(self, process, popen):
        """Keep the plan's process and the running one."""
        self.process, self.popen, self.rest = process, popen, {}
        self.hidden = collections.deque(maxlen=LAST_LINES)

    def signal(self, number, group=False):
        """Send a signal to the process, or to its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if group or self.process.has_prefix:
                os.killpg(self.popen.pid, number)
            elif self.popen.poll() is None:
                self.popen.send_signal(number)


class Supervisor:
    """Starts what a plan says, relays output, respawns, and ends everything.

    `screen(name, line, is_error)` gets the lines to show; `log` is the path of a file for all others, or None.
    """

    def __init__(self, plan, screen=None, log=None, term_after=TERM_AFTER, kill_after=KILL_AFTER):
        """Prepare; nothing is started yet."""
        self.plan, self.screen, self.log_path = plan, screen or show, log
        self.term_after, self.kill_after = term_after, kill_after
        self.children, self.due, self.tries = [], [], collections.Counter()
        self.stopping, self.level, self.stop_at = False, 0, 0.0
        self.failures = []      # (name, what happened) of processes that died by themselves
        self.left = []          # (group, time of SIGKILL) of what ended processes left behind

    def run(self) -> int:
        """Run to the end and return the exit code: 0 after a clean end or Ctrl-C, 1 when a process died."""
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='haptic-')))
            self.log = stack.enter_context(open(self.log_path, 'a', encoding='utf-8')) if self.log_path else None
            self.selector = stack.enter_context(selectors.DefaultSelector())
            stack.enter_context(self.signals())
            try:
                self.loop()
            finally:
                self.kill_all()
        return 1 if self.failures else 0

    @contextlib.contextmanager
    def signals(self):
        """Let SIGINT, SIGTERM and SIGHUP ask for the end, and give them back afterwards."""
        def ask(number, _frame):
            self.stop(signal.Signals(number).name)
        try:
            kept = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        except ValueError:      # not the main thread: whoever owns the signals calls stop()
            kept = {}
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)

    def loop(self):
        """Start, relay and watch until nothing is left to do."""
        began = time.monotonic()
        self.due = [(began + step.delay, n, step) for n, step in enumerate(self.plan.steps)]
        while self.children or self.left or self.due and not self.stopping:
            now = time.monotonic()
            self.start_due(now)
            self.relay(TICK)
            self.reap()
            if self.stopping:
                self.escalate(time.monotonic())
            for group, deadline in list(self.left):
                if not alive(group):
                    self.left.remove((group, deadline))
                elif time.monotonic() > deadline:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, signal.SIGKILL)

    def stop(self, why=''):
        """Ask everything to end; asked again, the next stronger signal follows at once."""
        if self.stopping:
            self.stop_at = 0.0
        else:
            self.stopping = True
            self.reason = why

    def start_due(self, now):
        """Start and say what is due, in order."""
        for entry in sorted(self.due, key=lambda entry: entry[:2]):
            if entry[0] > now or self.stopping:
                break
            self.due.remove(entry)
            step = entry[2]
            if isinstance(step, Process):
                self.start(step)
            else:
                self.screen('launch', step.text, False)

    def start(self, process):
        """Start one process; one that can't be started ends everything."""
        command = process.command(self.folder)
        parent = os.getpid()

        def tie_to_parent():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)
        try:
            popen = subprocess.Popen(command, env=process.environment, cwd=process.cwd, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=tie_to_parent)
        except OSError as error:
            raise LaunchError(f"'{command[0]}' can't be started: {error.strerror}") from None
        child = Child(process, popen)
        self.children.append(child)
        for stream, is_error in ((popen.stdout, False), (popen.stderr, True)):
            os.set_blocking(stream.fileno(), False)
            child.rest[is_error] = b''
            self.selector.register(stream, selectors.EVENT_READ, (child, is_error))

    def relay(self, timeout):
        """Pass on what the processes wrote."""
        if not self.selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self.selector.select(timeout):
            self.read(key.fileobj, *key.data)

    def read(self, stream, child, is_error):
        """Read what is there, line by line; at its end the stream is left."""
        try:
            data = os.read(stream.fileno(), 65536)
        except BlockingIOError:
            return
        *lines, rest = (child.rest[is_error] + data).split(b'\n')
        child.rest[is_error] = rest if data else b''
        if not data:
            lines = [rest] if rest else []
            self.selector.unregister(stream)
            stream.close()
        for line in lines:
            self.show(child, line.decode(errors='replace').rstrip('\r'), is_error)

    def show(self, child, line, is_error):
        """Show or log a line: 'screen' and 'both' show all, 'log' shows only errors; 'log' and 'both' log all."""
        output = child.process.output
        if output != 'screen' and self.log:
            print(f'[{child.process.name}] {line}', file=self.log, flush=True)
        if output != 'log' or is_error:
            self.screen(child.process.name, line, is_error)
        else:
            child.hidden.append(line)

    def reap(self):
        """Notice ended processes: respawn, shut down, or note the failure."""
        for child in list(self.children):
            # Look before reaping: while the process is unreaped its group number can't be taken by anybody else.
            ended = os.waitid(os.P_PID, child.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                continue
            child.signal(signal.SIGTERM, group=True)        # what it left behind in its group
            child.popen.wait()
            self.drain(child)
            self.children.remove(child)
            if alive(child.popen.pid):
                self.left.append((child.popen.pid, time.monotonic() + LINGER))
            self.ended(child, child.popen.returncode)

    def drain(self, child):
        """Read the last words of an ended process; a stream that a descendant holds open is left."""
        for stream, is_error in ((child.popen.stdout, False), (child.popen.stderr, True)):
            while not stream.closed:
                before = child.rest[is_error]
                self.read(stream, child, is_error)
                if not stream.closed and child.rest[is_error] == before:
                    self.selector.unregister(stream)
                    stream.close()

    def ended(self, child, code):
        """Decide what follows from the end of a process."""
        process = child.process
        if self.stopping:
            if code not in CLEAN:
                self.fail(child, code, 'while being ended')
            return
        if code:
            for line in child.hidden:
                self.screen(process.name, line, True)
        if process.shutdown_on_exit:
            self.stop(f'{process.name} ended')
        elif process.respawn and (process.respawn_max_retries < 0 or self.tries[process.name] < process.respawn_max_retries):
            self.tries[process.name] += 1
            self.screen('launch', f'{process.name} ended ({how(code)}); starting it again', bool(code))
            self.due.append((time.monotonic() + process.respawn_delay, -1, process))
            return
        if code:
            self.fail(child, code, 'by itself')

    def fail(self, child, code, when):
        """Note that a process died, and say so."""
        self.failures.append((child.process.name, how(code)))
        self.screen('launch', f'{child.process.name} died {when}: {how(code)}', True)

    def escalate(self, now):
        """Send the next signal when its time has come."""
        if self.level and now < self.stop_at:
            return
        number, wait = ((signal.SIGINT, self.term_after), (signal.SIGTERM, self.kill_after),
                        (signal.SIGKILL, 1.0))[min(self.level, 2)]
        for child in self.children:
            if self.level:
                self.screen('launch', f'{child.process.name} does not end; sending {number.name}', True)
            child.signal(number, group=number == signal.SIGKILL)
        self.level += 1
        self.stop_at = now + wait

    def kill_all(self):
        """End whatever still runs, for good."""
        for child in self.children:
            child.signal(signal.SIGKILL, group=True)
        for child in self.children:
            child.popen.wait()
        for group, _ in self.left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def alive(group):
    """Tell whether a process group has a member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def how(code):
    """Return in words how a process ended."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f'signal {signal.Signals(-code).name}'
    return f'exit code {code}'


def show(name, line, is_error):
    """Print a line of a process, as ros2 launch does."""
    print(f'[{name}] {line}', file=sys.stderr if is_error else sys.stdout, flush=True)
