"""A serial port: opened by pyserial, read by poll and os.read, which costs a third of pyserial's own reading."""

import errno
import os
import select
import stat

from mbs_haptics.links.base import Link, LinkError
from mbs_haptics.wire import codec

CHUNK = 4096


class SerialLink(Link):
    """Frames with COBS on a serial port or pseudo terminal, e.g. /dev/ttyACM0."""

    is_stream = True

    def __init__(self, port, baud=1_000_000):
        super().__init__(port)
        self.baud = baud
        self._port = self._fd = self._poll = self._stream = None
        self._rest = b''        # the end of a frame that the port took only partly

    @property
    def is_open(self) -> bool:
        """Tell whether the port is open."""
        return self._fd is not None

    def open(self):
        """Open the port for ourselves alone, empty of what came before."""
        self.close()
        self._check_path()
        import serial
        try:
            # exclusive: two hosts on one port would each get half of the bytes
            self._port = serial.Serial(self.name, self.baud, timeout=0, write_timeout=0, exclusive=True)
            self._port.reset_input_buffer()
        except (OSError, ValueError) as error:
            self.close()
            raise LinkError(self._why(error)) from None
        self._fd = self._port.fileno()
        os.set_blocking(self._fd, False)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        if self.wake_fd is not None:
            self._poll.register(self.wake_fd, select.POLLIN)
        self._stream, self._rest, self.foreign = codec.Stream(), b'', None
        self.statistics.opened += 1

    def _check_path(self):
        try:
            mode = os.stat(self.name).st_mode
        except FileNotFoundError:
            raise LinkError(f"there is no port '{self.name}': plug the device in and choose one of "
                            f'{_ports()} (port:=...)') from None
        except OSError as error:
            raise LinkError(self._why(error)) from None
        if not stat.S_ISCHR(mode):
            raise LinkError(f"'{self.name}' is not a serial port: choose one of {_ports()} (port:=...)")
        if not os.access(self.name, os.R_OK | os.W_OK):
            raise LinkError(self._why(PermissionError(errno.EACCES, '')))

    def _why(self, error) -> str:
        number = getattr(error, 'errno', None)
        if number in (errno.EACCES, errno.EPERM):
            return (f"you may not use the port '{self.name}': join its group with `sudo usermod -aG {_group(self.name)} $USER` "
                    'and log in again')
        if number == errno.EBUSY or 'exclusively lock' in str(error):
            return f"the port '{self.name}' is in use: end the other program (`fuser {self.name}` names it)"
        if isinstance(error, ValueError):
            return f"the port '{self.name}' does not take {self.baud} baud: choose another baud rate"
        return f"the port '{self.name}' can't be opened ({error}): unplug the device and plug it in again"

    def read(self, timeout) -> list:
        """Return the good frames that came within timeout (s); LinkError when the device was unplugged."""
        try:
            ready = dict(self._poll.poll(max(0, round(timeout * 1e3))))
            self.is_woken, events = self.wake_fd in ready, ready.get(self._fd)
            if events is None:
                return []
            data = os.read(self._fd, CHUNK) if events & select.POLLIN else b''
        except BlockingIOError:
            return []
        except OSError as error:
            raise LinkError(f"the port '{self.name}' was lost ({error.strerror}): plug the device in again") from None
        if not data:
            raise LinkError(f"the port '{self.name}' was lost: plug the device in again")
        frames = self._stream.feed(data)
        statistics = self.statistics
        statistics.bytes_in += len(data)
        statistics.frames_in += len(frames)
        for verdict, count in self._stream.counts.items():
            if count and verdict is not codec.Verdict.GOOD:
                statistics.refused[verdict] = statistics.refused.get(verdict, 0) + count
            self._stream.counts[verdict] = 0
        self.foreign = self._stream.foreign
        return frames

    def write(self, frame) -> bool:
        """Send one frame with COBS; False when the port is still busy with the one before, or gone."""
        if self._fd is None or (self._rest and not self._push(self._rest)):
            self.statistics.unsent += 1
            return False
        self._push(codec.wrap(frame))
        if self._fd is None:
            return False
        self.statistics.frames_out += 1
        return True

    def _push(self, data) -> bool:
        """Write what the port takes, keep the rest; return whether nothing is left."""
        try:
            sent = os.write(self._fd, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(data)        # the next read tells that the port is gone
        self._rest = data[sent:]
        self.statistics.bytes_out += sent
        return not self._rest

    def close(self):
        """Give the port back."""
        if self._port is not None:
            try:
                self._port.close()
            except OSError:
                pass                # it was unplugged
        self._port = self._fd = None


def _group(path) -> str:
    import grp
    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except (KeyError, OSError):
        return 'dialout'


def _ports() -> str:
    """Return the serial ports of this machine as words."""
    from serial.tools.list_ports import comports
    found = sorted(port.device for port in comports())
    return ', '.join(found) if found else 'none: this machine has no serial port now'
