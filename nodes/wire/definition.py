"""The one definition of the wire protocol, as data.

The Python codec (codec.py), the C header (firmware/core/protocol.h) and the table of docs/protocol.md are all made from
the tables below; generate.py writes the last two. Everything on the wire is little endian and packed without gaps. A
frame is a header, a body of exactly one length per type, and a CRC.
"""

import zlib
from dataclasses import dataclass
from functools import cached_property

# Raised when a frame changes its meaning. A change of layout alone shows in LAYOUT_CRC.
VERSION = 1

SENSORS = 6       # most sensor channels of a device
ACTUATORS = 2     # most actuators of a device

TO_DEVICE, TO_HOST = 'to_device', 'to_host'


@dataclass(frozen=True)
class Scalar:
    """A number or text on the wire: its size in bytes, its code for Python's struct, its C and numpy types."""

    name: str
    size: int
    code: str
    c: str
    numpy: str


U8 = Scalar('u8', 1, 'B', 'uint8_t', 'u1')
U16 = Scalar('u16', 2, 'H', 'uint16_t', '<u2')
U32 = Scalar('u32', 4, 'I', 'uint32_t', '<u4')
I32 = Scalar('i32', 4, 'i', 'int32_t', '<i4')
F32 = Scalar('f32', 4, 'f', 'float', '<f4')


def text(size):
    """Return the kind of a text of at most size bytes, padded with zeros."""
    return Scalar(f'char[{size}]', size, f'{size}s', 'char', f'S{size}')


def raw(size):
    """Return the kind of size bytes without meaning."""
    return Scalar(f'byte[{size}]', size, f'{size}s', 'uint8_t', f'V{size}')


@dataclass(frozen=True)
class Field:
    """A named value, or count of them, of a Scalar or Group kind; unit and meaning are for people."""

    name: str
    kind: object
    meaning: str
    unit: str = ''
    count: int = 1

    @property
    def size(self):
        """Return the bytes it takes."""
        return self.kind.size * self.count


@dataclass(frozen=True)
class Group:
    """Fields that belong together and are repeated: one per actuator or per channel."""

    name: str
    meaning: str
    fields: tuple

    @cached_property
    def size(self):
        """Return the bytes of one of them."""
        return sum(field.size for field in self.fields)


@dataclass(frozen=True)
class Message:
    """A type of frame: its number, direction, bytes of CRC (2 or 4), meaning and body."""

    name: str
    type: int
    way: str
    crc: int
    meaning: str
    fields: tuple = ()

    @cached_property
    def body(self):
        """Return the bytes between header and CRC."""
        return sum(field.size for field in self.fields)

    @cached_property
    def length(self):
        """Return the bytes of the whole frame, before COBS."""
        return HEADER_SIZE + self.body + self.crc

    @cached_property
    def code(self):
        """Return the format of header and body for Python's struct."""
        return '<' + ''.join(codes((*HEADER, *self.fields)))

    @cached_property
    def columns(self):
        """Return the names of the body's values in order: 'law.0.F0', 'counts.3', 'fault'."""
        return tuple(columns(self.fields))


def codes(fields):
    """Yield the struct code of each value of fields, groups spelled out."""
    for field in fields:
        for _ in range(field.count):
            if isinstance(field.kind, Group):
                yield from codes(field.kind.fields)
            else:
                yield field.kind.code


def columns(fields, prefix=''):
    """Yield a dotted name for each value of fields; a field that may repeat always has its number."""
    for field in fields:
        repeated = field.count > 1 or isinstance(field.kind, Group)
        for index in range(field.count):
            name = f'{prefix}{field.name}.{index}' if repeated else prefix + field.name
            if isinstance(field.kind, Group):
                yield from columns(field.kind.fields, name + '.')
            else:
                yield name


# The header of every frame. What seq and t_us mean depends on the type; see docs/protocol.md.
HEADER = (
    Field('type', U8, 'number of the message type'),
    Field('flags', U8, 'to the host: the state; to the device: 0, anything else is refused'),
    Field('seq', U16, 'set-points, states and fault reports count, each on its own; an answer repeats its request\'s'),
    Field('t_us', U32, 'time of the device that a set-point or state belongs to; wraps after 71.6 minutes', 'us'),
)
HEADER_SIZE = sum(field.size for field in HEADER)

# Name: ((number, meaning), ...). Numbers are never used again for something else.
ENUMS = {
    'state': {
        'BOOT': (0, 'starting; outputs off'),
        'IDLE': (1, 'outputs off, sensing'),
        'RAMP': (2, 'armed; the force rises from zero'),
        'ACTIVE': (3, 'armed; the whole force is allowed'),
        'FAULT': (4, 'latched until RESET: outputs off, after damping where the fault allows it; sensing goes on'),
    },
    # Below 64: the number of the fault that the request met or caused; see docs/faults.md.
    'result': {
        'OK': (0, 'done'),
        'STATE': (64, 'not possible in the present state'),
        'UNCALIBRATED': (65, 'the device is not calibrated'),
        'IMPLAUSIBLE': (66, 'a sensor reads what it cannot'),
        'SETPOINT_NOT_ZERO': (67, 'no set-point, or not a zero one, was accepted before'),
        'ESTOP_ACTIVE': (68, 'the emergency stop input is active'),
        'SCHEMA': (69, 'the echoed schema is not this device\'s'),
        'SUPPLY': (70, 'the supply voltage is out of range'),
        'VERSION': (71, 'the host speaks another version of the protocol'),
        'UID': (72, 'the echoed uid is not this device\'s'),
        'TICKET': (73, 'the ticket was used before or is of another handshake'),
        'NO_HELLO': (74, 'no handshake yet'),
        'OTHER_FAULT': (75, 'RESET names another fault than the one latched'),
        'DUPLICATE': (76, 'the set-point\'s seq was accepted before'),
        'OUT_OF_ORDER': (77, 'the set-point is older than the last accepted one'),
        'STALE': (78, 'the set-point belongs to a sample that is too old, or to the future'),
        'ACTUATORS': (79, 'a set-point for another number of actuators'),
    },
    'kind': {
        'NONE': (0, 'not used'),
        'HALL': (1, 'Hall sensor'),
        'COIL': (2, 'coil velocity sensor'),
        'ENCODER': (3, 'incremental encoder'),
        'ABSOLUTE_ENCODER': (4, 'absolute encoder'),
        'POTENTIOMETER': (5, 'potentiometer'),
        'STRAIN_GAUGE': (6, 'strain gauge'),
        'IMU': (7, 'inertial sensor'),
        'CURRENT': (8, 'current sensor'),
        'VOICE_COIL': (9, 'voice-coil actuator'),
        'DC_MOTOR': (10, 'DC motor'),
        'DIRECT_DRIVE': (11, 'direct-drive motor'),
    },
    'limited': {
        'FINITE': (1, 'a value was not finite'),
        'VELOCITY': (2, 'the velocity limit takes force away'),
        'THERMAL': (4, 'I2t derating'),
        'SLEW': (8, 'the rate of change is limited'),
        'CLAMP': (16, 'the force is limited'),
        'RAMP': (32, 'the force still rises after arming'),
        'PASSIVITY': (64, 'the energy tank is empty: only what brakes the motion may pass'),
    },
}

# The faults of firmware/core/faults.h, in words for the host; docs/faults.md has a section for each. They are not part
# of the layout: a firmware with one more fault is still understood.
FAULTS = {
    1: ('SETPOINT_TIMEOUT', 'set-points stopped coming'),
    2: ('ESTOP_COMMAND', 'emergency stop by command'),
    3: ('ESTOP_INPUT', 'emergency stop by its input'),
    4: ('SETPOINT_NOT_FINITE', 'a set-point was NaN or infinite'),
    5: ('SENSOR_LOST', 'a sensor gave no samples'),
    6: ('SENSOR_IMPLAUSIBLE', 'a sensor read what it cannot, or two contradicted each other'),
    7: ('TRAVEL', 'the position left its range'),
    8: ('OVERSPEED', 'the velocity was too high'),
    9: ('OVERCURRENT', 'the current was too high'),
    10: ('CURRENT_TRACKING', 'the current did not follow'),
    11: ('SUPPLY', 'the supply voltage left its range'),
    12: ('DRIVER', 'a power stage reported a fault'),
    13: ('SKEW', 'two coupled actuators ran apart'),
    14: ('FAST_LOOP_LATE', 'the fast loop came too late'),
    15: ('INTERNAL', 'the firmware contradicted itself'),
}

LAW = Group('law', 'The local law F = F0 - K (q - q0) - B qd of one actuator, rendered at the fast rate.', (
    Field('F0', F32, 'force at q0 at rest', 'N or N m'),
    Field('q0', F32, 'position where the force is F0', 'm or rad'),
    Field('K', F32, 'stiffness; 0 is legal', 'N/m or N m/rad'),
    Field('B', F32, 'damping; 0 is legal', 'N s/m or N m s/rad'),
))
MEASURED = Group('measured', 'What the device measures of one actuator.', (
    Field('force', F32, 'force from the measured current', 'N or N m'),
    Field('current', F32, 'measured current', 'A'),
    Field('position', F32, 'position that the local law uses', 'm or rad'),
    Field('velocity', F32, 'velocity that the local law uses', 'm/s or rad/s'),
))
SENSOR = Group('sensor', 'Descriptor of one sensor channel.', (
    Field('name', text(16), 'name of the channel'),
    Field('unit', text(8), 'unit after scaling'),
    Field('scale', F32, 'nominal units per count', 'unit'),
    Field('kind', U8, 'one of kind'),
    Field('bits', U8, 'the count wraps at 2^bits; 0: never'),
    Field('rate_hz', U16, 'samples per second', 'Hz'),
))
ACTUATOR = Group('actuator', 'Descriptor of one actuator.', (
    Field('name', text(16), 'name of the actuator'),
    Field('unit', text(8), 'unit of its force: N or N m'),
    Field('force_max', F32, 'clamp of the force', 'unit'),
    Field('kind', U8, 'one of kind'),
    Field('spare', U8, '0'),
    Field('rate_hz', U16, 'rate of the local law', 'Hz'),
))
GROUPS = (LAW, MEASURED, SENSOR, ACTUATOR)


def _setpoint(number, count):
    return Message(f'SETPOINT{count}', number, TO_DEVICE, 4, f'Local law for {count} actuator{"s" * (count > 1)}; seq '
                   'is its own counter, t_us the device time of the sample it was computed from.',
                   (Field('law', LAW, 'one per actuator', count=count),))


def _state(number, count):
    return Message(f'STATE{count}', number, TO_HOST, 4, f'Measured state of a device with {count} actuator'
                   f'{"s" * (count > 1)}, at the main rate; t_us is the time of the sample.', (
                       Field('echo_seq', U16, 'seq of the last accepted set-point'),
                       Field('fault', U16, 'number of the latched fault, 0: none; see docs/faults.md'),
                       Field('echo_t_us', U32, 't_us of the last accepted set-point', 'us'),
                       Field('age_us', U32, 'time since a set-point was accepted; 2^32-1: not in the last half hour', 'us'),
                       Field('refused', U16, 'frames and set-points refused so far, modulo 2^16'),
                       Field('fresh', U8, 'bit i: sensor i has a new valid sample'),
                       Field('limited', U8, 'bits of limited: what limits the force now'),
                       Field('counts', I32, 'raw counts of the sensors, 0 where there is none', 'count', SENSORS),
                       Field('measured', MEASURED, 'one per actuator', count=count),
                   ))


# ARM and RESET lead to power, HELLO carries what they must echo, set-points command the force, states are what it is
# computed from: CRC-32. The rest: CRC-16.
MESSAGES = (
    Message('HELLO_REQUEST', 0x01, TO_DEVICE, 2, 'Begin a handshake: power goes off, earlier tickets are void.', (
        Field('version', U16, 'version of the protocol that the host speaks'),
    )),
    Message('ARM', 0x02, TO_DEVICE, 4, 'Enable power, with the ramp; must echo what HELLO said.', (
        Field('version', U16, 'version of the protocol that the host speaks'),
        Field('spare', U16, '0'),
        Field('uid', raw(12), 'uid of the device that is meant'),
        Field('schema_crc', U32, 'schema of the device that is meant'),
        Field('ticket', U32, 'the newest ticket, of HELLO or REPLY; each works once'),
    )),
    Message('DISARM', 0x03, TO_DEVICE, 2, 'Power off; not a fault.'),
    Message('ESTOP', 0x04, TO_DEVICE, 2, 'Power off at once, latched; needs no handshake.'),
    Message('RESET', 0x05, TO_DEVICE, 4, 'Clear the latched fault, at zero set-point; power stays off until ARM.', (
        Field('fault', U16, 'the fault that is meant: one not yet seen cannot be cleared'),
        Field('spare', U16, '0'),
        Field('ticket', U32, 'the newest ticket, of HELLO or REPLY; each works once'),
    )),
    Message('SYNC_REQUEST', 0x06, TO_DEVICE, 2, 'Clock synchronisation, host to device.', (
        Field('t1_us', U32, 'host time when it was sent', 'us'),
    )),
    Message('COUNTERS_REQUEST', 0x07, TO_DEVICE, 2, 'Ask for COUNTERS and, if a fault is latched, FAULT.'),
    _setpoint(0x11, 1),
    _setpoint(0x12, 2),
    Message('HELLO', 0x81, TO_HOST, 4, 'Who the device is. From app to the end it is the schema.', (
        Field('version', U16, 'version of the protocol; stays first in every version'),
        Field('main_rate_hz', U16, 'rate of the state frames', 'Hz'),
        Field('fast_rate_hz', U32, 'rate of the local law', 'Hz'),
        Field('uid', raw(12), 'unique number of the device'),
        Field('ticket', U32, 'to be echoed by the next ARM or RESET'),
        Field('watchdog_us', U32, 'a set-point older than this stops the device', 'us'),
        Field('layout_crc', U32, 'CRC-32 of the protocol definition that the firmware was built from'),
        Field('schema_crc', U32, 'CRC-32 of layout_crc and everything from app to the end'),
        Field('firmware', text(16), 'version of the firmware'),
        Field('app', text(16), 'application: piano_key, steering_wheel, lid_hinge'),
        Field('sensors', U8, 'number of sensors'),
        Field('actuators', U8, 'number of actuators; says which SETPOINT and STATE it speaks'),
        Field('spare', U16, '0'),
        Field('sensor', SENSOR, 'descriptors, zero where there is none', count=SENSORS),
        Field('actuator', ACTUATOR, 'descriptors, zero where there is none', count=ACTUATORS),
    )),
    Message('REPLY', 0x82, TO_HOST, 2, 'Answer to ARM, DISARM, ESTOP and RESET.', (
        Field('request', U8, 'type of the request'),
        Field('result', U8, 'one of result'),
        Field('fault', U16, 'number of the latched fault, 0: none'),
        Field('ticket', U32, 'to be echoed by the next ARM or RESET'),
    )),
    Message('SYNC', 0x83, TO_HOST, 2, 'Clock synchronisation, device to host; t_us is t3, when it was sent.', (
        Field('t1_us', U32, 'host time of the request, repeated', 'us'),
        Field('t2_us', U32, 'device time when the request arrived', 'us'),
    )),
    Message('COUNTERS', 0x84, TO_HOST, 2, 'What went well and what did not since start; each wraps.', (
        Field('frames', U32, 'good frames received'),
        Field('bad_cobs', U32, 'not decodable by COBS, or too long to be a frame'),
        Field('bad_length', U32, 'length is not that of the type'),
        Field('bad_type', U32, 'unknown type, of the other direction, or flags not 0'),
        Field('bad_crc', U32, 'CRC does not match'),
        Field('setpoints', U32, 'set-points accepted'),
        Field('lost', U32, 'set-points missing between accepted ones'),
        Field('repeated', U32, 'set-points refused: duplicate or out of order'),
        Field('stale', U32, 'set-points refused: too old'),
        Field('refused', U32, 'set-points and requests refused for other reasons'),
        Field('unsent', U32, 'frames that the link did not take'),
        Field('watchdog_trips', U32, 'stops for want of set-points'),
        Field('faults', U32, 'faults since start'),
        Field('overruns', U32, 'loops that came too late'),
        Field('fast_us', F32, 'longest fast loop', 'us'),
        Field('thermal', F32, 'thermal load of each actuator, 1: rated', '', ACTUATORS),
    )),
    Message('FAULT', 0x85, TO_HOST, 2, 'A fault was latched; t_us says when. seq counts these reports.', (
        Field('fault', U16, 'number of the fault; see docs/faults.md'),
        Field('channel', U8, 'sensor or actuator that is concerned, 255: none'),
        Field('before', U8, 'state before it'),
        Field('value', F32, 'what was seen'),
        Field('limit', F32, 'what was allowed'),
    )),
    _state(0x91, 1),
    _state(0x92, 2),
)
BY_NAME = {message.name: message for message in MESSAGES}
BY_TYPE = {message.type: message for message in MESSAGES}

FRAME_MAX = max(message.length for message in MESSAGES)
FRAME_MIN = min(message.length for message in MESSAGES)


def encoded_max(length):
    """Return the most bytes that COBS makes of a frame of this length, without the final zero."""
    return length + 1 + (length - 1) // 254


ENCODED_MAX = encoded_max(FRAME_MAX)


def layout():
    """Return the definition as text: what has to be equal on both sides for frames to mean the same."""
    lines = [f'version {VERSION}', layout_of('header', HEADER)]
    lines += [f'{message.type} {message.way} crc{message.crc} ' + layout_of(message.name, message.fields)
              for message in MESSAGES]
    for name, values in ENUMS.items():
        lines.append(name + ' ' + ' '.join(f'{number}={key}' for key, (number, _) in values.items()))
    return '\n'.join(lines)


def layout_of(name, fields):
    """Return the names, kinds and units of fields as one line."""
    parts = []
    for field in fields:
        kind = field.kind
        word = f'({layout_of(kind.name, kind.fields)})' if isinstance(kind, Group) else kind.name
        parts.append(f'{field.name}:{word}*{field.count}[{field.unit}]')
    return f'{name} ' + ' '.join(parts)


LAYOUT_CRC = zlib.crc32(layout().encode())
