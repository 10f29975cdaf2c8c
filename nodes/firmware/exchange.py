"""Exchange frames with a device at a fixed rate and count what gets lost: the test of a link, and its figures.

This is a tester's host, in plain Python; the host that renders touch is roscom.
"""

import contextlib
import os
import select
import socket
import termios
import time
import tty

from mbs_core.errors import MbsError
from mbs_haptics.wire.codec import Sequence, Stream, WireError, decode, encode, wrap
from mbs_haptics.wire.handshake import answer, greet, hello_request

QUEUE_MOST = 4          # set-points on their way: more means that the link is overloaded, and they would only grow old


class Link:
    """Frames over UDP or a serial port; nothing blocks longer than asked."""

    def __init__(self, address):
        """Open ('udp', (host, port)) or ('serial', path)."""
        kind, where = address
        self.stream = None if kind == 'udp' else Stream()
        self.bad = 0
        if kind == 'udp':
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self.socket.connect(where)
            self.socket.setblocking(False)
            self.fd = self.socket.fileno()
        else:
            try:
                self.fd = os.open(where, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            except OSError as error:
                raise MbsError(f'the port {where} cannot be opened: {error.strerror}') from None
            tty.setraw(self.fd)
            termios.tcflush(self.fd, termios.TCIOFLUSH)     # what an earlier host left is stale
        self.poll = select.poll()
        self.poll.register(self.fd, select.POLLIN)

    def close(self):
        """Close the link."""
        if self.stream is None:
            self.socket.close()
        else:
            os.close(self.fd)

    def send(self, frame):
        """Send one frame."""
        if self.stream is None:
            self.socket.send(frame)
        else:
            os.write(self.fd, wrap(frame))

    def receive(self, seconds):
        """Return the good frames that have come, waiting at most so long for the first."""
        if not self.poll.poll(max(0.0, seconds) * 1e3):
            return []
        frames = []
        with contextlib.suppress(BlockingIOError):
            if self.stream is not None:
                frames = self.stream.feed(os.read(self.fd, 65536))
                self.bad = self.stream.refused
                return frames
            while True:
                try:
                    frames.append(decode(self.socket.recv(2048)))
                except ConnectionRefusedError:
                    raise MbsError('nobody listens at the UDP port of the device') from None
                except WireError:
                    self.bad += 1
        return frames

    def ask(self, frame, wanted, seconds=3.0):
        """Send a request until its answer, a frame named `wanted`, has come; return that. Raises MbsError."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.send(frame)
            patience = time.monotonic() + 0.3
            while time.monotonic() < patience:
                for got in self.receive(0.05):
                    if got.name == wanted:
                        return got
        raise MbsError(f'the device does not answer {wanted} within {seconds:g} s')


def percentile(values, share):
    """Return the value below which this share of the sorted values lies; nan without values."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else float('nan')


class Exchange:
    """One run: handshake, arm, then set-points at `rate_hz` while states arrive at the device's own rate."""

    def __init__(self, address, rate_hz=1000.0, arm=True):
        """Open the link and greet the device."""
        self.link = Link(address)
        self.rate_hz, self.arm = rate_hz, arm
        self.device = greet(self.link.ask(hello_request(), 'HELLO'))
        self.states = Sequence()
        self.sent = self.skipped = self.seq = 0
        self.newest = None
        self.round_trips = []
        self.sent_at = {}
        self.echoed = None

    def __enter__(self):
        """Return the exchange itself."""
        return self

    def __exit__(self, *_):
        """Disarm, as far as the link still works, and close it."""
        with contextlib.suppress(OSError, MbsError):
            self.link.send(encode('DISARM'))
        self.link.close()

    def send_setpoint(self, force=0.0):
        """Send the next set-point: a force and nothing else, for every actuator."""
        t_us = self.newest.t_us if self.newest else 0
        self.seq = (self.seq + 1) & 0xFFFF
        self.sent_at[self.seq] = time.perf_counter()
        self.link.send(encode(self.device.setpoint, (force, 0.0, 0.0, 0.0) * len(self.device.actuators), self.seq, t_us))
        self.sent += 1

    def take(self, frames):
        """Count states, note round trips, keep the newest state."""
        for frame in frames:
            if frame.name != self.device.state:
                continue
            now = time.perf_counter()
            if self.states.take(frame.seq):
                self.newest = frame
            echoed = frame['echo_seq']
            if echoed != self.echoed and echoed in self.sent_at:
                self.round_trips.append(now - self.sent_at[echoed])
                self.echoed = echoed
                for old in [seq for seq in self.sent_at if (echoed - seq) & 0xFFFF < 0x8000]:
                    del self.sent_at[old]

    def start(self):
        """Show zero set-points, then arm; raise MbsError with the device's reason when it refuses."""
        deadline = time.monotonic() + 3.0
        while self.newest is None or self.newest.flags == 0 or self.sent < 20:
            self.take(self.link.receive(2e-3))
            if self.newest is not None:
                self.send_setpoint()
            if time.monotonic() > deadline:
                raise MbsError('the device sends no states, or does not leave its start-up')
        if self.arm:
            refused = answer(self.link.ask(self.device.arm(), 'REPLY'))
            if refused:
                raise MbsError(refused)

    def run(self, seconds, force=0.0):
        """Exchange for so long and return the figures as a dict; nothing is lost when `lost` entries are 0."""
        self.start()
        time.sleep(0.02)
        self.take(self.link.receive(0.0))
        before = self.counters()
        states, gaps, sent = self.states.received, self.states.lost, self.sent
        self.round_trips.clear()
        period, begin = 1.0 / self.rate_hz, time.perf_counter()
        ticks = round(seconds * self.rate_hz)
        for tick in range(ticks):
            while (left := begin + tick * period - time.perf_counter()) > 0.0:
                self.take(self.link.receive(left))
            if len(self.sent_at) > QUEUE_MOST * max(1.0, self.rate_hz / self.device.main_rate_hz) + 200:
                self.skipped += 1
                continue
            self.send_setpoint(force)
        lasted = time.perf_counter() - begin
        after = self.counters()
        return self.figures(before, after, lasted, states, gaps, sent)

    def counters(self):
        """Return the device's counters, with states that arrive meanwhile counted too."""
        self.link.send(encode('COUNTERS_REQUEST'))
        deadline = time.monotonic() + 3.0
        while time.monotonic() < deadline:
            frames = self.link.receive(0.05)
            self.take(frames)
            # Nothing may starve the device while its counters are on their way.
            self.send_setpoint()
            for frame in frames:
                if frame.name == 'COUNTERS':
                    return frame
        raise MbsError('the device does not answer COUNTERS within 3 s')

    def figures(self, before, after, lasted, states, gaps, sent):
        """Return the figures of the run between two readings of the counters."""
        def grown(name):
            return (after[name] - before[name]) & 0xFFFFFFFF
        trips = sorted(1e3 * trip for trip in self.round_trips)
        return {
            'seconds': lasted, 'sent': self.sent - sent, 'accepted': grown('setpoints'), 'lost_to_device': grown('lost'),
            'refused': grown('refused') + grown('stale') + grown('repeated'),
            'bad_frames': self.link.bad + sum(grown(name) for name in ('bad_cobs', 'bad_length', 'bad_type', 'bad_crc')),
            'states': self.states.received - states, 'lost_to_host': self.states.lost - gaps, 'unsent': grown('unsent'),
            'watchdog_trips': grown('watchdog_trips'), 'faults': grown('faults'), 'skipped': self.skipped,
            'overruns': grown('overruns'),
            'rate_to_device_hz': (self.sent - sent) / lasted, 'rate_to_host_hz': (self.states.received - states) / lasted,
            'round_trip_p50_ms': percentile(trips, 0.5), 'round_trip_p99_ms': percentile(trips, 0.99),
            'round_trip_max_ms': trips[-1] if trips else float('nan'),
        }
