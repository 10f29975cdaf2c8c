"""The device's side of the protocol in Python, without plant or safety: for recordings that are replayed, and for tests.

The firmware is the real thing and the `virtual` device runs it; this is only as much as a host needs to be answered.
"""

from mbs_haptics.wire import codec, handshake
from mbs_haptics.wire import definition as wire

IDLE, RAMP, ACTIVE, FAULT = (wire.ENUMS['state'][name][0] for name in ('IDLE', 'RAMP', 'ACTIVE', 'FAULT'))
ESTOP_COMMAND = 2           # number of the fault, see docs/faults.md
KINDS = {key: number for key, (number, _) in wire.ENUMS['kind'].items()}
RESULTS = {key: number for key, (number, _) in wire.ENUMS['result'].items()}


class EmulatedDevice:
    """A device that introduces itself, keeps time, takes set-points and counts; the caller brings time and counts.

    sensors: [(name, kind, unit, scale, bits)]; actuators: [(name, kind, unit, force_max)].
    """

    def __init__(self, app, sensors, actuators, rate_hz=1000, version=wire.VERSION):
        self.app, self.sensors, self.actuators = app, sensors, actuators
        self.rate_hz, self.version = rate_hz, version
        self.state, self.fault, self.ticket = IDLE, 0, 1000
        self.setpoint = [(0.0,) * 4] * len(actuators)
        self.accepted = self.refused = self.state_seq = 0
        self._echo = (0, 0, None)           # seq and t_us of the last accepted set-point, when it came
        self._name = f'STATE{len(actuators)}'

    def hello(self, seq=0) -> bytes:
        """Return the HELLO frame."""
        fields = {
            'version': self.version, 'main_rate_hz': self.rate_hz, 'fast_rate_hz': self.rate_hz, 'uid': b'emulated....',
            'ticket': self.ticket, 'watchdog_us': 100000, 'layout_crc': wire.LAYOUT_CRC, 'firmware': 'emulated', 'app': self.app,
            'sensors': len(self.sensors), 'actuators': len(self.actuators),
            'sensor': [{'name': name, 'kind': KINDS[kind], 'unit': unit, 'scale': scale, 'bits': bits, 'rate_hz': self.rate_hz}
                       for name, kind, unit, scale, bits in self.sensors],
            'actuator': [{'name': name, 'kind': KINDS[kind], 'unit': unit, 'force_max': force_max, 'rate_hz': self.rate_hz}
                         for name, kind, unit, force_max in self.actuators],
        }
        fields['schema_crc'] = self.schema_crc = handshake.schema_crc(fields)
        return codec.encode_fields('HELLO', fields, seq)

    def answer(self, data, now_us) -> list:
        """Return the frames that answer the bytes of one frame from the host."""
        if codec.check(data, codec.TO_DEVICE) is not codec.Verdict.GOOD:
            self.refused += 1
            return []
        frame = codec.unpack(data)
        if frame.name.startswith('SETPOINT'):
            self._take_setpoint(frame, now_us)
            return []
        if frame.name == 'HELLO_REQUEST':
            self.state = FAULT if self.fault else IDLE
            self.ticket += 1
            return [self.hello(frame.seq)]
        if frame.name == 'SYNC_REQUEST':
            return [codec.encode('SYNC', (frame['t1_us'], now_us & 0xFFFFFFFF), frame.seq, now_us, self.state)]
        if frame.name == 'COUNTERS_REQUEST':
            counters = {'frames': self.accepted, 'setpoints': self.accepted, 'bad_crc': self.refused}
            return [codec.encode_fields('COUNTERS', counters, frame.seq, now_us, self.state)]
        return [self._reply(frame, now_us)]

    def _take_setpoint(self, frame, now_us):
        laws = [frame.values[4 * k:4 * k + 4] for k in range(len(frame.values) // 4)]
        if len(laws) != len(self.actuators):
            self.refused += 1
            return
        self.setpoint, self._echo = laws, (frame.seq, frame.t_us, now_us)
        self.accepted += 1

    def _reply(self, frame, now_us):
        name, result = frame.name, RESULTS['OK']
        if name == 'ARM':
            result = self._arm(frame)
        elif name == 'RESET':
            result = RESULTS['STATE']
            if self.state == FAULT:
                result = RESULTS['OK'] if frame['fault'] == self.fault else RESULTS['OTHER_FAULT']
            if result == RESULTS['OK']:
                self.state, self.fault = IDLE, 0
        elif name == 'ESTOP':
            self.state, self.fault = FAULT, ESTOP_COMMAND
        elif name == 'DISARM' and self.state != FAULT:
            self.state = IDLE
        self.ticket += 1
        return codec.encode('REPLY', (frame.message.type, result, self.fault, self.ticket), frame.seq, now_us, self.state)

    def _arm(self, frame):
        if self.fault:
            return self.fault
        if frame['ticket'] != self.ticket:
            return RESULTS['TICKET']
        if frame['schema_crc'] != self.schema_crc:
            return RESULTS['SCHEMA']
        if any(law[0] or law[2] or law[3] for law in self.setpoint) or self._echo[2] is None:
            return RESULTS['SETPOINT_NOT_ZERO']
        self.state = ACTIVE
        return RESULTS['OK']

    def state_frame(self, counts, now_us, measured=None, fresh=None, seq=None) -> bytes:
        """Return the next state frame: raw counts per sensor, (force, current, position, velocity) per actuator."""
        self.state_seq = (self.state_seq + 1 if seq is None else seq) & 0xFFFF
        n = len(self.actuators)
        echo_seq, echo_t, when = self._echo
        age = 0xFFFFFFFF if when is None else min(max(now_us - when, 0), 0xFFFFFFFE)
        fresh = (1 << len(self.sensors)) - 1 if fresh is None else fresh
        counts = [*counts, *[0] * (wire.SENSORS - len(counts))]
        measured = measured or [(0.0,) * 4] * n
        values = (echo_seq, self.fault, echo_t, age, self.refused & 0xFFFF, fresh, 0, *counts, *(v for m in measured for v in m))
        return codec.encode(self._name, values, self.state_seq, now_us, self.state)
