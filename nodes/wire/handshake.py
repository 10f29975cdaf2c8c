"""What the host makes of HELLO: who the device is, whether both mean the same by a frame, and what ARM must echo."""

import zlib
from dataclasses import dataclass

from . import definition as wire
from .codec import VersionMismatch, WireError, encode, encode_fields, version_sentence

_KINDS = {number: key for key, (number, _) in wire.ENUMS['kind'].items()}
_RESULTS = {number: meaning for number, meaning in wire.ENUMS['result'].values()}
_BUILD = '`haptic firmware build`, then `haptic firmware flash`'


class SchemaMismatch(WireError):
    """The device's frames mean something else than the host thinks."""


@dataclass(frozen=True)
class Sensor:
    """A sensor channel: nominal unit per count, kind by name; the count wraps at 2^bits, or never if bits is 0."""

    name: str
    unit: str
    scale: float
    kind: str
    bits: int
    rate_hz: int


@dataclass(frozen=True)
class Actuator:
    """An actuator: the unit of its force, the clamp on it, kind by name, rate of its local law."""

    name: str
    unit: str
    force_max: float
    kind: str
    rate_hz: int


@dataclass(frozen=True)
class Device:
    """A device that introduced itself and whose frames mean what this host thinks they do."""

    app: str
    firmware: str
    uid: bytes
    ticket: int
    schema_crc: int
    main_rate_hz: int
    fast_rate_hz: int
    watchdog_us: int
    sensors: tuple
    actuators: tuple

    @property
    def setpoint(self):
        """Return the name of the set-point message that it takes."""
        return f'SETPOINT{len(self.actuators)}'

    @property
    def state(self):
        """Return the name of the state message that it sends."""
        return f'STATE{len(self.actuators)}'

    def arm(self, ticket=None, seq=0):
        """Return the ARM frame that echoes what it said; ticket of the last REPLY, if there was one after HELLO."""
        ticket = self.ticket if ticket is None else ticket
        return encode('ARM', (wire.VERSION, 0, self.uid, self.schema_crc, ticket), seq)


def hello_request(seq=0):
    """Return the frame that begins a handshake."""
    return encode('HELLO_REQUEST', (wire.VERSION,), seq)


def reset(fault, ticket, seq=0):
    """Return the RESET frame for the fault that was seen."""
    return encode('RESET', (fault, 0, ticket), seq)


def schema_crc(fields):
    """Return the CRC-32 of the layout and the descriptors of a HELLO given as a dict."""
    message = wire.BY_NAME['HELLO']
    begin = sum(field.size for field in message.fields[:[field.name for field in message.fields].index('app')])
    frame = encode_fields('HELLO', fields)
    return zlib.crc32(frame[wire.HEADER_SIZE + begin:-message.crc],
                      zlib.crc32(fields['layout_crc'].to_bytes(4, 'little')))


def greet(hello, app=None):
    """Return the Device that a HELLO frame describes.

    Raises VersionMismatch or SchemaMismatch with one sentence that says what differs and what to do. With app, the
    device has to be that application.
    """
    fields = hello.as_dict()
    if fields['version'] != wire.VERSION:
        raise VersionMismatch(version_sentence(fields['version']))
    if fields['layout_crc'] != wire.LAYOUT_CRC:
        raise SchemaMismatch(f'the firmware was built from another protocol definition (0x{fields["layout_crc"]:08X}) than '
                             f'this host (0x{wire.LAYOUT_CRC:08X}): {_BUILD}')
    computed = schema_crc(fields)
    if fields['schema_crc'] != computed:
        raise SchemaMismatch(f'the device states the schema 0x{fields["schema_crc"]:08X}, but its descriptors yield '
                             f'0x{computed:08X}: its firmware is damaged or was altered: {_BUILD}')
    if not (fields['sensors'] <= wire.SENSORS and 1 <= fields['actuators'] <= wire.ACTUATORS):
        raise SchemaMismatch(f'the device claims {fields["sensors"]} sensors and {fields["actuators"]} actuators; '
                             f'a frame has room for {wire.SENSORS} and for 1 to {wire.ACTUATORS}: {_BUILD}')
    if app is not None and fields['app'] != app:
        raise SchemaMismatch(f'the device is a {fields["app"]}, not a {app}: choose the launch file for '
                             f'{fields["app"]}, or the port of the {app}')
    return Device(
        sensors=tuple(_described(Sensor, row) for row in fields['sensor'][:fields['sensors']]),
        actuators=tuple(_described(Actuator, row) for row in fields['actuator'][:fields['actuators']]),
        **{name: fields[name] for name in ('app', 'firmware', 'uid', 'ticket', 'schema_crc', 'main_rate_hz',
                                           'fast_rate_hz', 'watchdog_us')})


def _described(kind, row):
    row = {name: value for name, value in row.items() if name in kind.__dataclass_fields__}
    row['kind'] = _KINDS.get(row['kind'], f'kind {row["kind"]}')
    return kind(**row)


def answer(reply):
    """Return '' when a REPLY says that the request was done, else one sentence that says why not."""
    request, result = reply['request'], reply['result']
    if result == 0:
        return ''
    name = wire.BY_TYPE[request].name if request in wire.BY_TYPE else f'request 0x{request:02X}'
    return f'the device refuses {name} ({result}): {_RESULTS.get(result) or fault_sentence(result)}'


def fault_sentence(fault):
    """Return what a fault number means and where its remedy is."""
    name, meaning = wire.FAULTS.get(fault, ('unknown', 'this host does not know the number'))
    return f'fault {fault} ({name}): {meaning}; see section {fault} of docs/faults.md'
