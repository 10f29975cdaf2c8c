"""UDP: one frame per datagram, to one device."""

import errno
import select
import socket

from mbs_core.errors import MbsError
from mbs_haptics.links.base import DatagramReader, Link, LinkError

BUFFER = 1 << 20        # a host that stalls for a second loses nothing


def parse_address(text) -> tuple:
    """Return (host, port) of 'host:port', ':port' or 'port'; the host is this machine unless given."""
    host, _, number = str(text).rpartition(':')
    if not number.isdecimal() or not 0 < int(number) < 65536:
        raise MbsError(f"the UDP address '{text}' is not of the form host:port, for example 192.168.1.20:7000 (port:=...)")
    return host or '127.0.0.1', int(number)


class UdpLink(Link):
    """Frames in datagrams to and from host:port."""

    def __init__(self, address):
        self.address = parse_address(address)
        super().__init__('{}:{}'.format(*self.address))
        self._socket = self._poll = self._fd = None
        self._reader = DatagramReader(self)

    @property
    def is_open(self) -> bool:
        """Tell whether there is a socket."""
        return self._socket is not None

    def open(self):
        """Make a socket that hears only this device."""
        self.close()
        self.foreign = None
        try:
            info = socket.getaddrinfo(*self.address, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(info[0], info[1])
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                self._socket.setsockopt(socket.SOL_SOCKET, option, BUFFER)
            self._socket.setblocking(False)
            self._socket.connect(info[4])
        except OSError as error:
            self.close()
            raise LinkError(f"the device at '{self.name}' can't be reached ({error.strerror or error}): check the address and "
                            'the network') from None
        self._poll = select.poll()
        self._fd = self._socket.fileno()
        self._poll.register(self._fd, select.POLLIN)
        if self.wake_fd is not None:
            self._poll.register(self.wake_fd, select.POLLIN)
        self.statistics.opened += 1

    def read(self, timeout) -> list:
        """Return the good frames that came within timeout (s); LinkError when nobody listens at the address."""
        ready = dict(self._poll.poll(max(0, round(timeout * 1e3))))
        self.is_woken = self.wake_fd in ready
        if self._fd not in ready:
            return []
        # One at a time: asking for a second that is seldom there costs as much as asking whether there is one.
        try:
            frame = self._reader.take(self._socket.recv(2048))
        except BlockingIOError:
            return []
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                raise LinkError(f"nobody listens at '{self.name}': start the device, or check the port (port:=...)") from None
            raise LinkError(f"the link to '{self.name}' was lost ({error.strerror}): check the network") from None
        return [] if frame is None else [frame]

    def write(self, frame) -> bool:
        """Send one frame as a datagram."""
        try:
            self._socket.send(frame)
        except (OSError, AttributeError):
            self.statistics.unsent += 1
            return False
        self.statistics.frames_out += 1
        self.statistics.bytes_out += len(frame)
        return True

    def close(self):
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None
