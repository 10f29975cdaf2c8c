"""Drive the firmware in virtual time: the board `sim` as a shared library, with its plant behind and a host in front.

Time only passes in Sim.run(); the same seed and the same calls give the same numbers on every machine. SimHost speaks
the wire protocol with it, as roscom does with a real device.
"""

import ctypes
import os
import shutil
import tempfile

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.firmware.build import build
from mbs_haptics.wire import codec, handshake
from mbs_haptics.wire import definition as wire

FAST_HZ = 10000
MAIN_TICKS = 10
BOOT_TICKS = 1100      # the firmware learns the zero of its current sensors for 1024 fast periods
VIEW = ('q', 'qd', 'force', 'current_A', 'duty', 'heat', 'allowed_A', 'tank_J', 'limited', 'fault_shown')
VIOLATIONS = ('not_finite', 'duty_range', 'force_range', 'slew', 'driven_unarmed', 'driven_late', 'ramp', 'heat_drop')
SEEN = ('driven', 'violations', 'faults', 'not_finite', 'active', 'watchdog_trips', 'largest_force')
GATE_OFF, GATE_BRAKE, GATE_DRIVE = 0, 1, 2
BOOT, IDLE, RAMP, ACTIVE, FAULT = (wire.ENUMS['state'][name][0] for name in ('BOOT', 'IDLE', 'RAMP', 'ACTIVE', 'FAULT'))


def load_copy(path):
    """Return the shared library at path, loaded as an instance of its own: its state is static, so it is copied first."""
    handle, copy = tempfile.mkstemp(suffix='.so', prefix='mbs_sim_')
    os.close(handle)
    try:
        shutil.copyfile(path, copy)
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)


def load(path):
    """Return the board `sim` at path with the types of its functions."""
    library = load_copy(path)
    numbers, number, unsigned = ctypes.POINTER(ctypes.c_double), ctypes.c_double, ctypes.c_uint
    for name, result, arguments in (
            ('sim_reset', ctypes.c_int, (ctypes.c_uint64,)),
            ('sim_board', None, (ctypes.c_uint32, ctypes.c_int, ctypes.c_int)),
            ('sim_miscalibrate', None, (unsigned, number, number)),
            ('sim_thermal_window', None, (number,)),
            ('sim_run', unsigned, (unsigned, numbers, unsigned)),
            ('sim_columns', ctypes.c_char_p, ()),
            ('sim_time_s', number, ()),
            ('sim_violations', ctypes.POINTER(ctypes.c_uint64), ()),
            ('sim_send', None, (ctypes.c_char_p, ctypes.c_size_t)),
            ('sim_receive', ctypes.c_size_t, (ctypes.c_char_p, ctypes.c_size_t)),
            ('sim_drop_link', None, (ctypes.c_int,)),
            ('sim_set', ctypes.c_int, (ctypes.c_char_p, number)),
            ('sim_get', number, (ctypes.c_char_p,)),
            ('sim_override', None, (unsigned, ctypes.c_int32, ctypes.c_int)),
            ('sim_view', None, (unsigned, numbers)),
            ('sim_stall', None, (ctypes.c_uint32,)),
            ('sim_wall', None, (ctypes.c_int, number, number, number, unsigned, ctypes.c_int)),
            ('sim_arm', ctypes.c_int, ()),
            ('sim_setpoint', ctypes.c_int, (ctypes.POINTER(ctypes.c_float), unsigned)),
            ('sim_sweep_thermal', None, (unsigned, unsigned, ctypes.c_uint64, numbers)),
            ('sim_sweep_random', None, (unsigned, ctypes.c_uint64, numbers))):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Sim:
    """One device in virtual time, from power-up.

    app: application; seed: of the plant's noise; watchdog_us: what the board asks for (the firmware allows 10 ms and
    more); calibrated: whether a calibration is stored; datagrams: frames bare instead of in COBS; thermal_window_s:
    another thermal window, for sweeps; library: a shared library that is already built. Call run() to let time pass.
    """

    def __init__(self, app, seed=1, *, watchdog_us=10000, calibrated=True, datagrams=False, thermal_window_s=0.0,
                 library=None, miscalibrate=None):
        """Build and load the firmware, and switch it on."""
        self.app, self.datagrams = app, datagrams
        self.library = load(library or build('sim', app))
        self.columns = self.library.sim_columns().decode().split()
        self.actuators = 2 if app == 'lid_hinge' else 1
        self.library.sim_board(watchdog_us, calibrated, datagrams)
        for channel, (gain, offset) in (miscalibrate or {}).items():
            self.library.sim_miscalibrate(channel, gain, offset)
        self.library.sim_thermal_window(thermal_window_s)
        self.reset(seed)

    def reset(self, seed):
        """Switch off and on again, with a new plant."""
        if self.library.sim_reset(seed):
            raise MbsError(f"there is no plant for the application '{self.app}'")

    @property
    def time_s(self):
        """Return the device's time in s."""
        return self.library.sim_time_s()

    def run(self, ticks, every=0):
        """Let `ticks` fast periods pass; with every > 0 return {column: array} of every so many periods."""
        if not every:
            self.library.sim_run(ticks, None, 1)
            return None
        log = np.empty((ticks // every, len(self.columns)))
        self.library.sim_run(ticks, log.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), every)
        return dict(zip(self.columns, log.T))

    def set(self, **numbers):
        """Set numbers of the plant; write hand__mode for 'hand.mode'."""
        for name, value in numbers.items():
            name = name.replace('__', '.')
            if self.library.sim_set(name.encode(), float(value)):
                raise MbsError(f"the plant of {self.app} has no number '{name}'")

    def get(self, name):
        """Return a number of the plant."""
        value = self.library.sim_get(name.encode())
        if np.isnan(value):
            raise MbsError(f"the plant of {self.app} has no number '{name}'")
        return value

    def view(self, actuator=0):
        """Return what the fast loop has of an actuator as {name: value}."""
        row = (ctypes.c_double * len(VIEW))()
        self.library.sim_view(actuator, row)
        return dict(zip(VIEW, row))

    @property
    def violations(self):
        """Return {promise: how often it was broken} of the monitor, broken ones only."""
        counts = self.library.sim_violations()
        return {name: counts[i] for i, name in enumerate(VIOLATIONS) if counts[i]}

    def override(self, channel, raw=None):
        """Let a sensor channel read this raw count from now on; None: what the plant says again."""
        self.library.sim_override(channel, 0 if raw is None else int(raw), raw is not None)

    def arm(self):
        """Arm without the link and wait out the ramp; return 0 or the reason of the refusal."""
        return self.library.sim_arm()

    def setpoint(self, *laws):
        """Give a set-point without the link, (F0, q0, K, B) per actuator; return 0 or the reason of the refusal."""
        flat = [number for law in laws for number in law]
        return self.library.sim_setpoint((ctypes.c_float * len(flat))(*flat), len(laws))

    def wall(self, q0, stiffness, damping, *, local, delay_ticks=MAIN_TICKS, always=False):
        """Let a host at 1 kHz inside the library render a wall from q0 on, by force only or as local law.

        always: on both sides of q0, as a spring. delay_ticks: from the sample to when the set-point takes effect.
        """
        self.library.sim_wall(2 if always else 1, q0, stiffness, damping, delay_ticks, local)

    def sweep_thermal(self, sequences, ticks, seed=1):
        """Return (largest RMS / rating over any thermal window, its sequence, share of time not in fault)."""
        worst = (ctypes.c_double * 3)()
        self.library.sim_sweep_thermal(sequences, ticks, seed, worst)
        return tuple(worst)

    def sweep_random(self, ticks, seed=1):
        """Let random set-points, requests, silences and sensor counts come in every period; return {what was seen}."""
        seen = (ctypes.c_double * len(SEEN))()
        self.library.sim_sweep_random(ticks, seed, seen)
        return dict(zip(SEEN, seen))


class SimHost:
    """A host on the link of a Sim: handshake, set-points at the main rate, everything received in `frames`."""

    def __init__(self, sim, boot=True):
        """Listen; boot: wait until the device has started."""
        self.sim, self.stream, self.frames = sim, codec.Stream(), []
        self.device = self.ticket = self.state = None
        self.seq = 0
        if boot:
            self.run(BOOT_TICKS // MAIN_TICKS)

    def send(self, frame):
        """Send one frame."""
        data = frame if self.sim.datagrams else codec.wrap(frame)
        self.sim.library.sim_send(data, len(data))

    def receive(self):
        """Take what has arrived; return the new frames."""
        buffer, new = ctypes.create_string_buffer(4096), []
        while True:
            size = self.sim.library.sim_receive(buffer, len(buffer))
            if not size:
                break
            data = buffer.raw[:size]
            new += [codec.decode(data)] if self.sim.datagrams else self.stream.feed(data)
        for frame in new:
            if frame.name.startswith('STATE'):
                self.state = frame
            elif frame.name == 'REPLY':
                self.ticket = frame['ticket']
        self.frames += new
        return new

    def run(self, periods=1, laws=None, every=0):
        """Let main periods pass, each with this set-point (None: silence); return the joined log if every > 0."""
        logs = []
        for _ in range(periods):
            if laws is not None:
                self.setpoint(*laws)
            log = self.sim.run(MAIN_TICKS, every)
            logs.append(log)
            self.receive()
        return {name: np.concatenate([log[name] for log in logs]) for name in self.sim.columns} if every else None

    def setpoint(self, *laws):
        """Send a set-point, (F0, q0, K, B) per actuator, computed from the last state."""
        values = [number for law in laws for number in law]
        self.seq = self.seq + 1 & 0xFFFF
        self.send(codec.encode(f'SETPOINT{len(laws)}', values, self.seq, self.state.t_us if self.state else 0))

    def ask(self, frame, wanted='REPLY'):
        """Send a request and let time pass until it is answered; return the answer."""
        self.send(frame)
        for _ in range(20):
            self.sim.run(MAIN_TICKS)
            for answer in self.receive():
                if answer.name == wanted:
                    return answer
        raise MbsError(f'the device does not answer with {wanted}')

    @property
    def zero(self):
        """Return laws that ask for nothing."""
        return [(0.0, 0.0, 0.0, 0.0)] * self.sim.actuators

    def greet(self):
        """Shake hands; return the Device."""
        self.device = handshake.greet(self.ask(handshake.hello_request(), 'HELLO'), self.sim.app)
        self.ticket = self.device.ticket
        return self.device

    def arm(self, ramp=True):
        """Show zero, arm, and wait out the ramp; return the result of REPLY (0: armed)."""
        if self.device is None:
            self.greet()
        self.setpoint(*self.zero)
        result = self.ask(self.device.arm(self.ticket))['result']
        while ramp and result == 0 and self.sim_state == RAMP:
            self.run(1, self.zero)
        return result

    def reset(self, fault):
        """Show zero and reset this fault; return the result of REPLY (0: done)."""
        self.setpoint(*self.zero)
        return self.ask(handshake.reset(fault, self.ticket))['result']

    def estop(self):
        """Send ESTOP without waiting."""
        self.send(codec.encode('ESTOP'))

    @property
    def sim_state(self):
        """Return the state in the last state frame."""
        return self.state.flags
