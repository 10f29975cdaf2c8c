"""Exchange frames with a device at a fixed rate and count what gets lost: the test of a link, and its figures.

This is a tester's host, in plain Python; the host that renders touch is roscom.
"""

import contextlib
import itertools
import os
import select
import socket
import termios
import time
import tty

from mbs_core.errors import MbsError
from mbs_haptics.wire.codec import Sequence, Stream, WireError, decode, encode, wrap
from mbs_haptics.wire.handshake import answer, greet, hello_request

SYNC_HZ = 50            # how often the bare round trip is measured
UNANSWERED_S = 0.15     # a stall of a shared machine is caught up within this; more means a link that is overloaded


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

    def ask(self, request, wanted, seconds=3.0, others=lambda frames: None):
        """Send request(seq) until an answer named `wanted` comes to the newest one; return that. Raises MbsError.

        Earlier answers don't count: each handshake makes the tickets of those before void. `others` is given all frames.
        """
        deadline = time.monotonic() + seconds
        for seq in itertools.count(1):
            if time.monotonic() > deadline:
                break
            self.send(request(seq))
            patience = time.monotonic() + 0.3
            while time.monotonic() < patience:
                frames = self.receive(0.05)
                others(frames)
                for got in frames:
                    if got.name == wanted and got.seq == seq:
                        return got
        raise MbsError(f'the device does not answer {wanted} within {seconds:g} s')


def clock_us():
    """Return the host's time in us, modulo 2^32."""
    return time.monotonic_ns() // 1000 % 2 ** 32


def percentile(values, share):
    """Return the value below which this share of the sorted values lies; nan without values."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else float('nan')


class Exchange:
    """One run: handshake, arm, then set-points at `rate_hz` while states arrive at the device's own rate."""

    def __init__(self, address, rate_hz=1000.0, arm=True):
        """Open the link and greet the device."""
        self.link = Link(address)
        self.rate_hz, self.arm, self.law = rate_hz, arm, (0.0, 0.0, 0.0, 0.0)
        self.device = greet(self.link.ask(hello_request, 'HELLO'))
        self.states = Sequence()
        self.sent = self.skipped = self.seq = self.due = 0
        self.newest = self.newest_counters = None
        self.round_trips, self.sync_trips = [], []
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

    @property
    def unanswered(self):
        """Return how many set-points were sent after the newest one that the device has echoed."""
        return (self.seq - self.newest['echo_seq']) & 0xFFFF if self.newest else 0

    def send_setpoint(self):
        """Send the next set-point: the law F0, q0, K, B, the same for every actuator."""
        t_us = self.newest.t_us if self.newest else 0
        self.seq = (self.seq + 1) & 0xFFFF
        self.sent_at[self.seq] = time.perf_counter()
        values = self.law * len(self.device.actuators)
        self.link.send(encode(self.device.setpoint, values, self.seq, t_us))
        self.sent += 1

    def take(self, frames):
        """Count states, note round trips, keep the newest state and counters."""
        for frame in frames:
            if frame.name == self.device.state:
                if self.newest is None:
                    self.seq = frame['echo_seq']        # go on where an earlier host has ended
                if self.states.take(frame.seq):
                    self.newest = frame
                self.note_echo(frame['echo_seq'])
            elif frame.name == 'COUNTERS':
                self.newest_counters = frame
            elif frame.name == 'SYNC':
                self.sync_trips.append((clock_us() - frame['t1_us']) % 2 ** 32 / 1e3)

    def note_echo(self, seq):
        """Note how long it took until a state showed that the set-point with this seq was accepted."""
        if seq != self.echoed and seq in self.sent_at:
            self.echoed = seq
            self.round_trips.append(1e3 * (time.perf_counter() - self.sent_at[seq]))
            for old in [other for other in self.sent_at if (seq - other) & 0xFFFF < 0x8000]:
                del self.sent_at[old]

    def proceed(self, seconds, until=None):
        """Exchange for so long, or until `until()` holds; return whether it did."""
        end = self.due + round(seconds * self.rate_hz)
        while self.due < end:
            while (left := self.began + self.due / self.rate_hz - time.perf_counter()) > 0.0:
                self.take(self.link.receive(left))
                if until is not None and until():
                    return True
            if self.due % max(1, int(self.rate_hz / SYNC_HZ)) == 0:
                self.link.send(encode('SYNC_REQUEST', (clock_us(),)))
            if self.unanswered > UNANSWERED_S * self.rate_hz:
                self.skipped += 1       # sent now, it would only wait in a queue and grow old there
            elif self.newest is not None:
                self.send_setpoint()
            self.due += 1
        return False

    def start(self):
        """Wait until the device has started, show zero set-points, then arm; raise MbsError with its reason if it refuses."""
        self.began, self.due = time.perf_counter(), 0
        if not self.proceed(5.0, until=lambda: self.newest is not None and self.newest.flags != 0):
            raise MbsError('the device sends no states, or does not leave its start-up')
        self.proceed(0.05)
        if self.arm:
            # A ticket works once: ask once.
            refused = answer(self.link.ask(lambda seq: self.device.arm(seq=seq), 'REPLY', 0.3, self.take))
            if refused:
                raise MbsError(refused)
        self.began, self.due = time.perf_counter(), 0

    def counters(self):
        """Return the device's counters as they are now."""
        self.newest_counters = None
        self.link.send(encode('COUNTERS_REQUEST'))
        if not self.proceed(3.0, until=lambda: self.newest_counters is not None):
            raise MbsError('the device does not answer COUNTERS within 3 s')
        return self.newest_counters

    def run(self, seconds, force=0.0):
        """Exchange for so long and return the figures as a dict; nothing is lost when `lost` entries are 0."""
        self.start()
        self.law = (force, 0.0, 0.0, 0.0)
        before = self.counters()
        states, gaps, sent, began = self.states.received, self.states.lost, self.sent, time.perf_counter()
        self.round_trips.clear()
        self.sync_trips.clear()
        self.proceed(seconds)
        lasted, states, sent = time.perf_counter() - began, self.states.received - states, self.sent - sent
        after = self.counters()

        def grown(*names):
            return sum((after[name] - before[name]) & 0xFFFFFFFF for name in names)
        echo, sync = sorted(self.round_trips), sorted(self.sync_trips)
        return {
            'seconds': lasted, 'sent': sent, 'accepted': grown('setpoints'), 'states': states, 'skipped': self.skipped,
            'lost_to_device': grown('lost'), 'lost_to_host': self.states.lost - gaps, 'unsent': grown('unsent'),
            'refused': grown('refused', 'stale', 'repeated'),
            'bad_frames': self.link.bad + grown('bad_cobs', 'bad_length', 'bad_type', 'bad_crc'),
            'watchdog_trips': grown('watchdog_trips'), 'faults': grown('faults'), 'overruns': grown('overruns'),
            'rate_to_device_hz': sent / lasted, 'rate_to_host_hz': states / lasted,
            'round_trip_p50_ms': percentile(sync, 0.5), 'round_trip_p99_ms': percentile(sync, 0.99),
            'echo_p50_ms': percentile(echo, 0.5), 'echo_p99_ms': percentile(echo, 0.99),
        }
