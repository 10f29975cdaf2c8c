"""The virtual device: the firmware's own posix build with a simulated plant behind it, as a process of ours."""

import atexit
import math
import signal

from mbs_core.errors import MbsError
from mbs_haptics.links.base import LinkError
from mbs_haptics.links.serial_port import SerialLink
from mbs_haptics.links.udp import UdpLink


class VirtualDevice:
    """The process behind a virtual link: started when the link opens, told commands, ended with us.

    It watches its standard input: when we are gone, even killed, the pipe closes and it ends by itself.
    """

    def __init__(self, app, pty=False, watchdog_ms=None, seed=1, options=()):
        from mbs_haptics.firmware.device import RELAXED_MS
        self.app = app
        self._options = {'link': 'pty' if pty else 'udp', 'seed': seed, 'options': tuple(options),
                         'watchdog_ms': RELAXED_MS if watchdog_ms is None else watchdog_ms}
        self._running = None

    @property
    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._running is not None and self._running.process.poll() is None

    @property
    def pid(self):
        """Return the id of the process, None when there is none."""
        return None if self._running is None else self._running.process.pid

    def start(self):
        """Build the firmware if need be, start it, and return where it listens: (host, port), or the path of a pty."""
        from mbs_haptics.firmware.device import Virtual
        self.stop()
        # Ctrl-C goes to every process of the terminal; the device has to outlive us by one set-point of zero force.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._running = Virtual(self.app, **self._options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        atexit.register(self.stop)
        return self._running.address[1]

    def tell(self, command):
        """Carry out a command in the simulated world, e.g. 'set hand.force 2' or 'freeze 0 on'."""
        self._command(command, False)

    def ask(self, name) -> float:
        """Return a signal or parameter of the plant by name, e.g. 'height'."""
        words = self._command(f'get {name}', True).split()
        value = float(words[1]) if len(words) == 2 else math.nan
        if math.isnan(value):
            raise MbsError(f"the plant of '{self.app}' has no signal '{name}'")
        return value

    def _command(self, text, answers):
        try:
            return self._running.command(text, answers)
        except (OSError, AttributeError, ValueError):
            raise LinkError(f"the virtual device '{self.app}' is not running: start it again") from None

    def stop(self):
        """End the process; stopping twice is allowed."""
        running, self._running = self._running, None
        if running is not None:
            atexit.unregister(self.stop)
            running.close()


class _Virtual:
    """What a link to a virtual device adds: it starts the process when it is opened; `shut` ends it."""

    def open(self):
        """Start the device, if it is not running, and open the link to it."""
        if not self.device.is_running:
            self._aim(self.device.start())
        super().open()

    def shut(self):
        """Close the link and end the device."""
        self.close()
        self.device.stop()


class VirtualUdpLink(_Virtual, UdpLink):
    """UDP to a virtual device of ours."""

    def __init__(self, device):
        super().__init__('127.0.0.1:1')
        self.device, self.name = device, f'virtual {device.app}'

    def _aim(self, address):
        self.address = address


class VirtualSerialLink(_Virtual, SerialLink):
    """A pseudo terminal to a virtual device of ours."""

    def __init__(self, device):
        super().__init__(f'virtual {device.app}')
        self.device = device

    def _aim(self, address):
        self.name = address


def virtual_link(app, pty=False, **options):
    """Return the link to a virtual device of this application; options as for VirtualDevice."""
    return (VirtualSerialLink if pty else VirtualUdpLink)(VirtualDevice(app, pty=pty, **options))
