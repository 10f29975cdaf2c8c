"""The whole chain in virtual time: firmware and plant (board `sim`), roscom's session and pipeline, rosbotran's loop.

One process, one clock, the device's own; the same seed gives the same numbers everywhere. Only the middleware and the two
processes are not there: what they may do to a message (hold it up, spoil it, not exist) is done here by switches.
"""

import ctypes
import random

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.runtime import compile_model
from mbs_haptics.bridge import config as configuration
from mbs_haptics.bridge import topics
from mbs_haptics.bridge.pipeline import Pipeline
from mbs_haptics.firmware.sim import BOOT_TICKS, GATE_DRIVE, MAIN_TICKS, Sim
from mbs_haptics.links import Session
from mbs_haptics.links.base import DatagramReader, Link
from mbs_haptics.model import load
from mbs_haptics.realtime import messages
from mbs_haptics.realtime.fallback import PythonLoop
from mbs_haptics.realtime.supervise import ENABLE

EPOCH, WALL = 10**12, 1_700_000_000 * 10**9
LATENCY = 3             # fast periods (0.1 ms) from a sample to its set-point
HAND = {'hand__stiffness': 20000.0, 'hand__damping': 60.0, 'hand__mode': 1, 'hand__target': 0.006}


class SimLink(Link):
    """Datagrams to a Sim; `cut` lets nothing through, `corrupt` flips a bit in every frame, both ways."""

    def __init__(self, sim):
        super().__init__('sim')
        self.sim, self.cut, self.corrupt = sim, False, False
        self._reader, self._random = DatagramReader(self), random.Random(5)
        self._open = False

    @property
    def is_open(self) -> bool:
        """Tell whether it is open."""
        return self._open

    def open(self):
        """Open it."""
        self._open = True

    def close(self):
        """Close it."""
        self._open = False

    def _spoil(self, data):
        if not self.corrupt:
            return data
        data = bytearray(data)
        data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return bytes(data)

    def read(self, timeout) -> list:
        """Return the frames that have come."""
        buffer, found = ctypes.create_string_buffer(4096), []
        while size := self.sim.library.sim_receive(buffer, len(buffer)):
            if not self.cut:
                found.append(self._reader.take(self._spoil(buffer.raw[:size])))
        return [frame for frame in found if frame is not None]

    def write(self, frame) -> bool:
        """Send a frame."""
        if self.cut:
            return False
        data = self._spoil(bytes(frame))
        self.sim.library.sim_send(data, len(data))
        return True


class Chain:
    """A running lever: `step` lets milliseconds pass, switches make faults, `log` is what the firmware did each 0.1 ms."""

    def __init__(self, name='lever', seed=1):
        config = configuration.load(name)
        parameters = _flat(configuration.read_yaml(config.path))
        mechanism = load.mechanism_of(_getter(parameters))
        self.settings = load.settings_of(_getter(parameters), mechanism)
        self.model = compile_model(mechanism)
        self.sim = Sim(config.app, seed, datagrams=True)
        self.seed, self._base, self.wall_shift = seed, 0.0, 0
        self.link = SimLink(self.sim)
        self.session = Session(self.link, app=config.app, clock=self.now, sleep=lambda seconds: None)
        codec = messages.rosbags_codec()
        self.writer, self.reader = topics.SampleWriter(codec, config.names), topics.SetpointReader(codec, config.names)
        self.loop = PythonLoop(self.settings, self.writer.layout, self.reader.layout, self.model, clock=self.now,
                               wall=lambda: WALL + self.now() + self.wall_shift)
        self.loop.senders[0] = self._published
        self.roscom = self.rosbotran = True
        self.delay_ms, self.drop, self.spoil, self.before_tick = 0, 0, None, None
        self._queue, self._setpoint, self._logs = [], None, []
        self._connect(config)

    def now(self) -> int:
        """Return the time in ns; it is the device's."""
        return EPOCH + round((self._base + self.sim.time_s) * 1e9)

    # -- starting ----------------------------------------------------------------------------------
    def _connect(self, config):
        self.sim.run(BOOT_TICKS)
        for _ in range(100):
            self.session.poll(0.0)
            if self.session.is_ready:
                break
            self.sim.run(MAIN_TICKS)
        else:
            raise MbsError('the simulated device does not answer the handshake')
        self.pipeline = Pipeline(config, self.session.device)
        self.loop.prepare()
        self.sim.set(**HAND)

    def start(self):
        """Hold the lever down with the hand, arm the device, enable the loop, and wait out every ramp."""
        self.step(200)
        self.loop._assemble()
        self.loop.block['request'] = float(ENABLE)
        pending = self.session.request('ARM')
        self.step(600)
        if not pending.is_done or pending.sentence or self.loop.state != 'active':
            raise MbsError(f'the chain does not start: {pending.sentence}, the loop is {self.loop.state}')
        return self

    # -- time --------------------------------------------------------------------------------------
    def step(self, periods=1):
        """Let milliseconds pass."""
        for _ in range(periods):
            self._run(LATENCY)
            if self.roscom:
                for state in self.session.poll(0.0):
                    self._forward(state)
            if self.before_tick:
                self.before_tick(self)
            if self.rosbotran:
                self._tick()
            self._run(MAIN_TICKS - LATENCY)

    def _run(self, ticks):
        self._logs.append(self.sim.run(ticks, every=1))

    def _forward(self, state):
        self.counts = [int(count) for count in state.frame.values[7:13]]
        motions = self.pipeline.take(state)
        if self.drop:
            self.drop -= 1
        elif motions is not None:
            stamp = WALL + EPOCH + self.wall_shift + state.t_us * 1000
            data = self.writer.bytes(stamp, state.sequence, motions)
            self._queue.append((self.now() + self.delay_ms * 10**6, self.spoil(self, data) if self.spoil else data))

    def _tick(self):
        """Let a sample that has come wake the loop, or else the loop's own deadline, as its two threads do."""
        came = False
        while self._queue and self._queue[0][0] <= self.now():
            when, data = self._queue.pop(0)
            self.loop.inbox.append((data, when))
            came = True
        if came:
            self.loop.call('on_sample')
        self.loop.call('stand_by')
        data, self._setpoint = self._setpoint, None
        found = self.reader.read(data) if data and self.roscom else None
        laws = self.pipeline.laws(found[1], found[2]) if found else None
        if laws is not None:
            self.session.setpoint(*laws)

    def _published(self, data):
        self._setpoint = data

    def restart_device(self):
        """Take the device's power away and give it back."""
        self._base += self.sim.time_s
        self.sim.reset(self.seed)
        self.sim.set(**HAND)

    # -- what happened -----------------------------------------------------------------------------
    def log(self) -> dict:
        """Return what the firmware did since the last call, one row per 0.1 ms, and forget it."""
        logs, self._logs = self._logs, []
        return {name: np.concatenate([log[name] for log in logs]) for name in self.sim.columns}


def driven_force(log) -> np.ndarray:
    """Return the size of the force that the device drives in every row; a shorted or open winding drives none."""
    return np.where(log['gate'] == GATE_DRIVE, np.abs(log['force']), 0.0)


def _flat(block, prefix='') -> dict:
    out = {}
    for key, value in block.items():
        out.update(_flat(value, f'{prefix}{key}.') if isinstance(value, dict) else {prefix + key: value})
    return out


def _getter(parameters):
    def get(name, default):
        return type(default)(parameters[name]) if name in parameters and default is not None else parameters.get(name, default)
    return get
