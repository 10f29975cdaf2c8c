"""Start the firmware without hardware: as a process of this machine, or on an emulated Cortex-M, and end it again.

Both are context managers with an `address`: ('udp', (host, port)) or ('serial', path).
"""

import contextlib
import mmap
import os
import re
import select
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.firmware.build import build, tool

START_S = 10.0
RELAXED_MS = 200        # set-point time-out for machines that are shared: their hosts stall up to 70 ms
PSRAM_BYTES = 16 << 20
URGENCY = 10            # real-time priority, where permitted


class Running:
    """A process that is a device; it ends with the `with` block."""

    def __init__(self, process, address):
        """Take over a started process and where it listens."""
        self.process, self.address = process, address

    def __enter__(self):
        """Return the device itself."""
        return self

    def __exit__(self, *_):
        """End the device."""
        self.close()

    @property
    def cpu_seconds(self):
        """Return the processor time that it has used so far, in s."""
        fields = Path(f'/proc/{self.process.pid}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def close(self):
        """End the process, gently first."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(2.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Virtual(Running):
    """The firmware as a process, with a simulated world behind it that takes commands (`device --do help`)."""

    def __init__(self, app, link='udp', *, port=0, name=None, watchdog_ms=RELAXED_MS, seed=1, options=()):
        """Build the device if needed, and start it; `name` is a symbolic link to the pty. Raises MbsError."""
        where = [f'--udp={port}'] if link == 'udp' else ['--pty' + (f'={name}' if name else '')]
        command = [str(build('posix', app)), *where, f'--watchdog-ms={watchdog_ms}', f'--seed={seed}', *options]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, bufsize=1)
        words = read_line(process.stdout, START_S).split()
        if len(words) != 4 or words[0] != 'device':
            process.kill()
            said = process.communicate()[1].strip()
            raise MbsError(f'the virtual {app} does not start: {said or "it says nothing"}')
        super().__init__(process, parse_address(*words[2:]))

    def command(self, text, answers=False):
        """Send a command to the simulated world; with `answers` return the line that it answers."""
        return send_line(self.process, text, answers)

    def status(self):
        """Return what the device says of itself, e.g. status()['watchdog_trips']."""
        pairs = (word.partition('=') for word in self.command('status', answers=True).split()[1:])
        return {name: float(value) for name, _, value in pairs}

    def stop_us(self):
        """Return how long power stage 0 still drove after the last fault was known, in us of the device's clock."""
        seen = self.status()
        return (int(seen['off_us']) - int(seen['fault_us'])) % 2 ** 32


class Emulated(Running):
    """The firmware on QEMU's mps2-an386, over its Ethernet or its UART; its plant inside, or outside as a process."""

    WORDS = struct.Struct('<8I5I2f5I')
    NAMES = ('magic', 'watchdog_us', 'seed', 'use_uart', 'interrupt_hz', 'outside', 'estop', 'silent',
             'fast_ticks', 'dropped_ticks', 'fault', 'gate0', 'gate1', 'duty0', 'duty1', 'fault_us', 'off_us', 'late_answers',
             'request', 'answer')
    MAGIC = 0x4D425331

    def __init__(self, app, link='udp', *, watchdog_ms=RELAXED_MS, seed=1, interrupt_hz=0, outside=False):
        """Build the image if needed, and start QEMU. Raises MbsError with the package of a missing tool.

        outside: the plant is a process of this machine, in double precision, that takes commands (see command()).
        """
        qemu, image = tool('qemu-system-arm', 'qemu-system-arm'), build('qemu_mps2', app)
        shared = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        handle, path = tempfile.mkstemp(prefix='mbs_haptics-', suffix='.psram', dir=shared)
        os.ftruncate(handle, PSRAM_BYTES)
        self.memory = mmap.mmap(handle, 4096)
        os.close(handle)
        self.memory[:self.WORDS.size] = self.WORDS.pack(self.MAGIC, int(watchdog_ms * 1000), seed, int(link != 'udp'),
                                                        interrupt_hz, int(outside), *[0] * 7, 0.0, 0.0, *[0] * 5)
        self.plant = start_plant(app, path, seed) if outside else None
        port = free_port()
        wire = ['-nic', f'user,hostfwd=udp:127.0.0.1:{port}-10.0.2.15:7000', '-serial', 'null']
        if link != 'udp':
            wire = ['-nic', 'none', '-serial', 'pty']
        command = [qemu, '-M', 'mps2-an386,memory-backend=psram', '-display', 'none', '-monitor', 'none', '-object',
                   f'memory-backend-file,id=psram,size=16M,mem-path={path},share=on', *wire, '-kernel', str(image)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        try:
            address = ('udp', ('127.0.0.1', port))
            if link != 'udp':
                found = re.search(r'redirected to (\S+)', read_line(process.stdout, START_S))
                address = ('serial', found.group(1)) if found else None
            super().__init__(process, address)
            self.wait_for_start()
            # Each byte of the UART takes two wake-ups of QEMU's threads; waiting behind other programs, they would be late.
            hurry(self.process.pid)
            if self.plant:
                hurry(self.plant.pid)
        except BaseException:
            process.kill()
            self.end_plant()
            raise
        finally:
            os.unlink(path)     # QEMU and this process have it open

    def wait_for_start(self):
        """Wait until the fast loop runs; raise MbsError with QEMU's words if it does not."""
        deadline = time.monotonic() + START_S
        while self.address is None or self.read()['fast_ticks'] < 100:
            if self.address is None or self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise MbsError(f'QEMU does not start the firmware: {self.process.communicate()[1].strip()[:300]}')
            time.sleep(0.02)

    def read(self):
        """Return the mailbox that the board shares: {name: value}."""
        return dict(zip(self.NAMES, self.WORDS.unpack(self.memory[:self.WORDS.size])))

    def command(self, text, answers=False):
        """Send a command to the plant outside, e.g. 'set hand.mode 4'; with `answers` return the line that it answers."""
        return send_line(self.plant, text, answers)

    def stop_us(self):
        """Return how long power stage 0 still drove after the last fault was known, in us of the device's clock."""
        seen = self.read()
        return (seen['off_us'] - seen['fault_us']) % 2 ** 32

    def close(self):
        """End QEMU, and its plant."""
        super().close()
        self.end_plant()

    def end_plant(self):
        """End the plant outside, if there is one."""
        if self.plant is not None:
            Running(self.plant, None).close()

    def write(self, name, value):
        """Set a word of the mailbox, e.g. 'estop'."""
        at = 4 * self.NAMES.index(name)
        self.memory[at:at + 4] = struct.pack('<I', value)


def start_plant(app, path, seed):
    """Start the plant of an application behind the shared memory at path, and return its process once it has opened that."""
    process = subprocess.Popen([str(build('plant', app)), app, path, str(seed)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
    if read_line(process.stdout, START_S).split() != ['plant', app]:
        process.kill()
        raise MbsError(f'the plant of {app} does not start: {process.communicate()[1].strip()[:300]}')
    return process


def send_line(process, text, answers):
    """Write a line to a process; with `answers` return the line that it answers."""
    process.stdin.write(text + '\n')
    process.stdin.flush()
    return read_line(process.stdout, START_S).strip() if answers else ''


def hurry(pid):
    """Ask for real-time priority for all threads of a process; without the right to it, nothing changes."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f'/proc/{pid}/task'):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(URGENCY))


@contextlib.contextmanager
def hurrying():
    """Give the calling thread real-time priority inside the block, where permitted."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(URGENCY))
    except OSError:
        before = None
    try:
        yield
    finally:
        if before is not None:
            os.sched_setscheduler(0, *before)


def parse_address(kind, where):
    """Return ('udp', (host, port)) or ('serial', path)."""
    if kind == 'udp':
        host, _, port = where.rpartition(':')
        return 'udp', (host, int(port))
    return 'serial', where


def read_line(pipe, seconds):
    """Return the next line of a pipe, '' if none comes in time."""
    return pipe.readline() if select.select([pipe], [], [], seconds)[0] else ''


def free_port():
    """Return a UDP port of the loopback interface that nobody uses just now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
