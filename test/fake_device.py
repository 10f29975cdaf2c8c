"""A device in a thread for the tests of the host: on UDP or on a pty, with losses, noise on the line and other versions."""

import contextlib
import os
import random
import select
import socket
import threading
import time
import tty

from mbs_haptics.links.emulated import EmulatedDevice
from mbs_haptics.wire import codec

SENSORS = [('hall_front', 'HALL', 'V', 3.3 / 65520, 0), ('hall_rear', 'HALL', 'V', 3.3 / 65520, 0),
           ('coil', 'COIL', 'V', 3.3 / 65520, 0)]
ACTUATORS = [('voice_coil', 'VOICE_COIL', 'N', 50.0)]


class FakeDevice:
    """An EmulatedDevice that sends states at its rate; `motion(t)` returns (counts, fresh) of its sensors.

    corrupt: part of the frames with a flipped bit; lose: part left out; mute: nothing goes out. Device time runs at
    1 + drift of the host's and starts anywhere.
    """

    def __init__(self, kind='udp', rate_hz=1000, version=None, drift=0.0, motion=None, port=0, app='piano_key',
                 sensors=SENSORS, actuators=ACTUATORS, start_us=0xFFFF0000):
        more = {} if version is None else {'version': version}
        self.emulated = EmulatedDevice(app, sensors, actuators, rate_hz, **more)
        self.kind, self.rate_hz, self.drift, self.start_us = kind, rate_hz, drift, start_us
        self.motion = motion or (lambda t: ([30000, 30000, 32760], None))
        self.corrupt = self.lose = 0.0
        self.mute = False
        self.sent = self.lost = self.corrupted = 0
        self._random, self._stop = random.Random(3), threading.Event()
        self._stream, self._peer, self._is_torn = codec.Stream(codec.TO_DEVICE), None, False
        if kind == 'udp':
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self._socket.bind(('127.0.0.1', port))
            self._fd, self.address = self._socket.fileno(), f'127.0.0.1:{self._socket.getsockname()[1]}'
        else:
            self._fd, self._slave = os.openpty()
            tty.setraw(self._slave)
            self.address = os.ttyname(self._slave)
        os.set_blocking(self._fd, False)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        """Start."""
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_):
        """Unplug: end the thread and close the line."""
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            if self.kind == 'udp':
                self._socket.close()
            else:
                os.close(self._slave)
                os.close(self._fd)

    unplug = __exit__

    def now_us(self):
        """Return the device's time."""
        return self.at_us(time.monotonic() - self._began)

    def at_us(self, t):
        """Return the device's time t seconds after its start."""
        return self.start_us + round(t * 1e6 * (1 + self.drift))

    def _run(self):
        period, due = 1.0 / self.rate_hz, self._began
        while not self._stop.is_set():
            if select.select([self._fd], [], [], max(0.0, due - time.monotonic()))[0]:
                self._receive()
            while time.monotonic() >= due:
                t = due - self._began       # samples are taken at whole periods, whenever this thread comes to it
                due += period
                if self.mute:
                    continue
                counts, fresh = self.motion(t)
                frame = self.emulated.state_frame([round(c) for c in counts], self.at_us(t), fresh=fresh)
                self._send(frame, is_state=True)

    def _receive(self):
        with contextlib.suppress(OSError):
            if self.kind == 'udp':
                data, self._peer = self._socket.recvfrom(2048)
                frames = [data]
            else:
                self._peer = True
                # what is refused stays out, as in a datagram
                frames = [codec.encode(f.name, f.values, f.seq, f.t_us) for f in self._stream.feed(os.read(self._fd, 4096))]
            for data in frames:
                for frame in self.emulated.answer(data, self.now_us()):
                    self._send(frame)

    def _send(self, frame, is_state=False):
        if self._peer is None or self.mute:
            return
        if is_state:
            self.sent += 1
            if self._random.random() < self.lose:
                self.lost += 1
                return
            if self._random.random() < self.corrupt:
                self.corrupted += 1
                frame = bytearray(frame)
                frame[self._random.randrange(len(frame))] ^= 1 << self._random.randrange(8)
                frame = bytes(frame)
        with contextlib.suppress(OSError):
            if self.kind == 'udp':
                self._socket.sendto(frame, self._peer)
            else:
                self._write(codec.wrap(frame), is_state)

    def _write(self, data, is_state):
        """Write to the pty, whose buffer holds some 60 frames; what it does not take whole is lost."""
        data = b'\0' * self._is_torn + data
        try:
            sent = os.write(self._fd, data)
        except BlockingIOError:
            sent = 0
        self._is_torn = 0 < sent < len(data)
        if sent < len(data) and is_state:
            self.lost += 1
