"""Messages of fixed shape: where in the serialised bytes the stamp, the sequence and the numbers lie.

A message is serialised once by the middleware's own serialiser; its numbers are found by their patterns, the places are
checked by a round trip, and from then on numbers are read and written in place. What differs in any other byte (names,
lengths, byte order) is refused.

The sequence stands in `header.frame_id`, which JointState gives no meaning: '#0000000042' is sample 42; a set-point says
'#0000000007@0000000042': set-point 7, answering sample 42. So every recorded message tells loss, order and round trip.
"""

import random
import re
import struct
from dataclasses import dataclass

from mbs_core.errors import MbsError

DIGITS = 10
STIFFNESS, DAMPING = '/stiffness', '/damping'       # entries of a set-point that carry its local law in `effort`
_FRAME = re.compile(rf'#(\d{{{DIGITS}}})(?:@(\d{{{DIGITS}}}))?')


def frame_id(sequence: int, answered: int | None = None) -> str:
    """Return the frame_id that carries a sequence, and the one it answers."""
    text = f'#{sequence:0{DIGITS}d}'
    return text if answered is None else f'{text}@{answered:0{DIGITS}d}'


def sequences(text: str) -> tuple:
    """Return (sequence, answered) of a frame_id, each None where there is none."""
    found = _FRAME.fullmatch(text)
    return tuple(int(g) if g else None for g in found.groups()) if found else (None, None)


@dataclass(frozen=True)
class Codec:
    """How one message type is made, serialised and read back; from rclpy, or from rosbags where there is no ROS."""

    type_name: str
    make: object                # () -> empty message
    serialise: object           # message -> bytes
    deserialise: object         # bytes -> message


def rclpy_codec(message_type) -> Codec:
    """Return the codec of a message class of ROS."""
    from rclpy.serialization import deserialize_message, serialize_message
    name = message_type.__name__
    return Codec(name, message_type, serialize_message, lambda data: deserialize_message(bytes(data), message_type))


def rosbags_codec(type_name='sensor_msgs/msg/JointState') -> Codec:
    """Return the codec of JointState by rosbags, which needs no ROS."""
    import numpy as np
    from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types

    def make():
        stamp = kinds['builtin_interfaces/msg/Time'](sec=0, nanosec=0)
        return kinds[type_name](header=kinds['std_msgs/msg/Header'](stamp=stamp, frame_id=''), name=[], position=np.zeros(0),
                                velocity=np.zeros(0), effort=np.zeros(0))
    return Codec(type_name, make, lambda m: bytes(store.serialize_cdr(m, type_name)), lambda d: store.deserialize_cdr(d, type_name))


class FixedMessage:
    """A serialised message with a fixed layout.

    `message` gives the shape: names and array lengths. `numbers` lists the paths that vary, such as 'effort[0]' or
    'wrench.force.x'. `data` is the message with zeros, `mask` has ones where bytes must not differ. `padding` lists the
    bytes that mean nothing: serialisers leave in them what was there before.
    """

    def __init__(self, codec: Codec, message, numbers, answered=False, padding=()):
        self.codec, self.numbers, self.has_answer = codec, tuple(numbers), answered
        self._message = message
        message.header.stamp.sec, message.header.stamp.nanosec = 0, 0
        message.header.frame_id = frame_id(0, 0 if answered else None)
        for path in self.numbers:
            _set(message, path, 0.0)
        data = bytearray(codec.serialise(message))
        for at in padding:
            data[at] = 0
        self.data = bytes(data)
        self._find()
        self._verify()
        mask = bytearray(b'\xff' * len(self.data))
        for at, size in ((2, 2), (self.stamp, 8), (self.digits, DIGITS), *((at, 8) for at in self.places.values())):
            mask[at:at + size] = bytes(size)           # bytes 2 and 3 are options of the encapsulation
        for at in padding:
            mask[at] = 0
        if answered:
            mask[self.answered:self.answered + DIGITS] = bytes(DIGITS)
        self.mask = bytes(mask)

    def _find(self):
        """Find every place by a pattern that no other byte has."""
        source, m = random.Random(7), self._message
        self.places = {}
        for path in self.numbers:
            pattern = struct.pack('<d', source.uniform(1, 2) * 1e150)
            _set(m, path, struct.unpack('<d', pattern)[0])
            self.places[path] = self._only(pattern, path)
            _set(m, path, 0.0)
        m.header.stamp.sec, m.header.stamp.nanosec = 0x3A7B5C1D, 0x1B2C3D4E
        self.stamp = self._only(struct.pack('<ii', 0x3A7B5C1D, 0x1B2C3D4E), 'header.stamp')
        m.header.stamp.sec, m.header.stamp.nanosec = 0, 0
        m.header.frame_id = frame_id(9182736450, 8273645019 if self.has_answer else None)
        self.digits = self._only(b'#9182736450', 'header.frame_id') + 1
        self.answered = self.digits + DIGITS + 1 if self.has_answer else -1

    def _only(self, pattern, path):
        data = bytes(self.codec.serialise(self._message))
        if len(data) != len(self.data) or data.count(pattern) != 1:
            raise MbsError(f"{self.codec.type_name}: the place of '{path}' can't be told from its bytes; use the rclpy fallback")
        return data.index(pattern)

    def _verify(self):
        """Patch random numbers in, read them back through the middleware, and serialise them again."""
        source = random.Random(11)
        values = {path: source.uniform(-1e3, 1e3) for path in self.numbers}
        data = bytearray(self.data)
        self.write(data, source.randrange(2 ** 31) * 10 ** 9 + source.randrange(10 ** 9), source.randrange(10 ** DIGITS), values,
                   source.randrange(10 ** DIGITS))
        back = self.codec.deserialise(bytes(data))
        stamp, sequence, answered = self.read_head(data)
        same = (back.header.stamp.sec, back.header.stamp.nanosec) == divmod(stamp, 10 ** 9) \
            and back.header.frame_id == frame_id(sequence, answered) \
            and all(_get(back, path) == value for path, value in values.items()) \
            and len(bytes(self.codec.serialise(back))) == len(data)
        if not same:
            raise MbsError(f'{self.codec.type_name}: a message patched in place does not read back as written; use the rclpy fallback')

    # -- the same in Python, for the fallback and for tests ---------------------------------------
    def write(self, data: bytearray, stamp_ns: int, sequence: int, values: dict, answered: int = 0):
        """Write stamp, sequence and numbers into the bytes of a message."""
        struct.pack_into('<iI', data, self.stamp, *divmod(stamp_ns, 10 ** 9))
        data[self.digits:self.digits + DIGITS] = b'%010d' % sequence
        if self.has_answer:
            data[self.answered:self.answered + DIGITS] = b'%010d' % answered
        for path, value in values.items():
            struct.pack_into('<d', data, self.places[path], value)

    def message(self, stamp_ns: int, sequence: int, values: dict, answered: int = 0) -> bytes:
        """Return the bytes of a new message."""
        data = bytearray(self.data)
        self.write(data, stamp_ns, sequence, values, answered)
        return bytes(data)

    def read_head(self, data) -> tuple:
        """Return (stamp in ns, sequence, answered or None)."""
        sec, nanosec = struct.unpack_from('<iI', data, self.stamp)
        answered = int(bytes(data[self.answered:self.answered + DIGITS])) if self.has_answer else None
        return sec * 10 ** 9 + nanosec, int(bytes(data[self.digits:self.digits + DIGITS])), answered

    def read(self, data, path) -> float:
        """Return one number of a message."""
        return struct.unpack_from('<d', data, self.places[path])[0]

    def matches(self, data) -> bool:
        """Tell whether bytes have this layout: length, names, array lengths and byte order."""
        if len(data) != len(self.data):
            return False
        return not (int.from_bytes(data, 'little') ^ int.from_bytes(self.data, 'little')) & int.from_bytes(self.mask, 'little')


def joint_state(codec: Codec, names, answered=False) -> FixedMessage:
    """Return the layout of a JointState with these names, all three arrays filled."""
    message, n = codec.make(), len(names)
    message.name = list(names)
    for array in ('position', 'velocity', 'effort'):
        setattr(message, array, _zeros(getattr(message, array), n))
    numbers = [f'{a}[{k}]' for a in ('position', 'velocity', 'effort') for k in range(n)]
    layout = FixedMessage(codec, message, numbers, answered, _padding(names, answered))
    if len(layout.data) != _padding(names, answered, size=True):
        raise MbsError(f'{codec.type_name}: the bytes of a message are not laid out as plain CDR; use the rclpy fallback')
    return layout


def _padding(names, answered, size=False):
    """Return the places of the bytes that only align others in a JointState (or its length): plain CDR, walked through."""
    at, out = 12, []                               # encapsulation and stamp

    def align(n):
        nonlocal at
        while (at - 4) % n:
            out.append(at)
            at += 1
    for text in (frame_id(0, 0 if answered else None), None, *names):
        align(4)
        at += 4 if text is None else 4 + len(text.encode()) + 1
    for _ in range(3):
        align(4)
        at += 4
        align(8)
        at += 8 * len(names)
    return at if size else out


def setpoint(codec: Codec, joints) -> FixedMessage:
    """Return the layout of a set-point: the joints, then the slopes of their local law, force F0 - K (q - q0) - B (v - v0).

    Of a joint: position q0, velocity v0, effort F0. Of '<joint>/stiffness' and '<joint>/damping': effort K and B.
    """
    return joint_state(codec, [*joints, *(j + STIFFNESS for j in joints), *(j + DAMPING for j in joints)], answered=True)


def _zeros(like, n):
    import numpy as np
    return np.zeros(n) if isinstance(like, np.ndarray) else [0.0] * n


def _split(path):
    name, bracket, index = path.partition('[')
    *outer, last = name.split('.')
    return outer, last, int(index[:-1]) if bracket else None


def _set(message, path, value):
    outer, last, index = _split(path)
    for name in outer:
        message = getattr(message, name)
    if index is None:
        setattr(message, last, value)
    else:
        getattr(message, last)[index] = value


def _get(message, path):
    outer, last, index = _split(path)
    for name in outer:
        message = getattr(message, name)
    return getattr(message, last) if index is None else getattr(message, last)[index]
