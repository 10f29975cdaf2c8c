"""Frames to and from bytes in Python: the same checks, in the same order, as firmware/core/framing.c.

Per set-point or state this takes a few microseconds: compiled struct formats, CRCs of the standard library, COBS of the
`cobs` package. Whole logs are read with numpy, see dtype().
"""

import struct
import zlib
from binascii import crc_hqx
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from cobs import cobs

from mbs_core.errors import MbsError

from . import definition as wire
from .definition import TO_DEVICE, TO_HOST


class Verdict(IntEnum):
    """Why a frame was refused, with the numbers of enum framing_verdict in framing.h."""

    NOTHING = 0
    GOOD = 1
    LONG = 2
    COBS = 3
    SHORT = 4
    TYPE = 5
    WAY = 6
    LENGTH = 7
    CRC = 8
    FLAGS = 9


WORDS = {
    Verdict.NOTHING: 'nothing came',
    Verdict.LONG: 'it is longer than any frame',
    Verdict.COBS: 'it ends inside a COBS block',
    Verdict.SHORT: 'it is shorter than any frame',
    Verdict.TYPE: 'there is no such type',
    Verdict.WAY: 'its type goes the other way (does the port echo?)',
    Verdict.LENGTH: 'its length is not that of its type',
    Verdict.CRC: 'its CRC does not match',
    Verdict.FLAGS: 'its flags are not 0',
}


class WireError(MbsError):
    """A frame that is refused, or a value that cannot be sent; the text says why."""


class VersionMismatch(WireError):
    """The other side speaks another version of the protocol."""


class Frame(NamedTuple):
    """A good frame: its Message, the header's values, and the body's values in the order of message.columns."""

    message: wire.Message
    flags: int
    seq: int
    t_us: int
    values: tuple

    @property
    def name(self):
        """Return the name of its type."""
        return self.message.name

    def __getitem__(self, key):
        """Return a value of the body by its dotted name ('law.0.F0', 'fault'), or a part of the tuple by number."""
        return self.values[_index(self.message.name)[key]] if isinstance(key, str) else tuple.__getitem__(self, key)

    def as_dict(self):
        """Return the body as {field: value}, groups as lists of dicts, texts as str."""
        return _nested(self.message.fields, iter(self.values))


@lru_cache(maxsize=None)
def _index(name):
    return {column: index for index, column in enumerate(wire.BY_NAME[name].columns)}


def _one(kind, values):
    if isinstance(kind, wire.Group):
        return _nested(kind.fields, values)
    value = next(values)
    return value.rstrip(b'\0').decode('ascii', 'replace') if kind.c == 'char' else value


def _nested(fields, values):
    out = {}
    for field in fields:
        items = [_one(field.kind, values) for _ in range(field.count)]
        out[field.name] = items if field.count > 1 or isinstance(field.kind, wire.Group) else items[0]
    return out


def _flat(fields, given, where):
    """Yield the values of a nested dict in the order of the wire; what is not given is zero."""
    unknown = set(given) - {field.name for field in fields}
    if unknown:
        raise WireError(f'{where} has no field {sorted(unknown)[0]!r}')
    for field in fields:
        group = isinstance(field.kind, wire.Group)
        many = field.count > 1 or group
        zero = {} if group else b'' if field.kind.code.endswith('s') else 0
        items = given.get(field.name, [] if many else zero)
        items = list(items) if many else [items]
        if len(items) > field.count:
            raise WireError(f'{where}.{field.name} holds {field.count}, not {len(items)}')
        for item in items + [zero] * (field.count - len(items)):
            if group:
                yield from _flat(field.kind.fields, item, f'{where}.{field.name}')
            else:
                item = item.encode('ascii', 'replace') if isinstance(item, str) else item
                if isinstance(item, bytes) and len(item) > field.kind.size:
                    raise WireError(f'{where}.{field.name} holds {field.kind.size} bytes, not {len(item)}')
                yield item


# {name: (type, packer of header and body, whether CRC-32)} and {type: (Message, length, CRC bytes, unpacker)}
_PACK = {m.name: (m.type, struct.Struct(m.code).pack, m.crc == 4) for m in wire.MESSAGES}
_UNPACK = {m.type: (m, m.length, m.crc, struct.Struct(m.code).unpack_from) for m in wire.MESSAGES}
_PACK_16, _PACK_32 = struct.Struct('<H').pack, struct.Struct('<I').pack


def encode(name, values=(), seq=0, t_us=0, flags=0):
    """Return a frame as it goes into a datagram; values in the order of the message's columns.

    seq is taken modulo 2^16 and t_us modulo 2^32. Raises WireError when a value does not fit its field.
    """
    number, pack, long_crc = _PACK[name]
    try:
        covered = pack(number, flags, seq & 0xFFFF, t_us & 0xFFFFFFFF, *values)
    except (struct.error, OverflowError) as error:
        columns = wire.BY_NAME[name].columns
        raise WireError(f'{name} takes {len(columns)} values ({", ".join(columns[:6])}...): {error}') from None
    return covered + (_PACK_32(zlib.crc32(covered)) if long_crc else _PACK_16(crc_hqx(covered, 0xFFFF)))


def encode_fields(name, fields, seq=0, t_us=0, flags=0):
    """Return a frame from {field: value} as Frame.as_dict() gives it; what is left out is zero."""
    return encode(name, tuple(_flat(wire.BY_NAME[name].fields, fields, name)), seq, t_us, flags)


def wrap(frame):
    """Return a frame as it goes into a stream: COBS and a final zero."""
    return cobs.encode(frame) + b'\0'


def check(frame, way=TO_HOST):
    """Return the Verdict on bytes that should be one whole frame going this way."""
    size = len(frame)
    if size > wire.FRAME_MAX:
        return Verdict.LONG
    if size < wire.FRAME_MIN:
        return Verdict.SHORT
    known = _UNPACK.get(frame[0])
    if known is None:
        return Verdict.TYPE
    message, length, crc, _ = known
    if message.way != way:
        return Verdict.WAY
    if length != size:
        return Verdict.LENGTH
    if crc == 4:
        good = zlib.crc32(frame[:-4]) == int.from_bytes(frame[-4:], 'little')
    else:
        good = crc_hqx(frame[:-2], 0xFFFF) == int.from_bytes(frame[-2:], 'little')
    if not good:
        return Verdict.CRC
    if way == TO_DEVICE and frame[1]:
        return Verdict.FLAGS
    return Verdict.GOOD


def unpack(frame):
    """Return the Frame of bytes that check() found good."""
    message, _, _, unpack_from = _UNPACK[frame[0]]
    _, flags, seq, t_us, *values = unpack_from(frame)
    return Frame(message, flags, seq, t_us, tuple(values))


def foreign_version(frame):
    """Return the version of a HELLO that is whole but of another length than ours; None when it isn't one."""
    hello = wire.BY_NAME['HELLO']
    if len(frame) < wire.HEADER_SIZE + 6 or frame[0] != hello.type or len(frame) == hello.length:
        return None
    if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], 'little'):
        return None
    return int.from_bytes(frame[wire.HEADER_SIZE:wire.HEADER_SIZE + 2], 'little')


def version_sentence(version):
    """Return what to tell someone whose device speaks another version."""
    return (f'the device speaks version {version} of the protocol and this host version {wire.VERSION}: bring both to the '
            'same release (`haptic firmware build`, then `haptic firmware flash`)')


def decode(frame, way=TO_HOST):
    """Return the Frame of one datagram; raise WireError that says why it is refused."""
    verdict = check(frame, way)
    if verdict is Verdict.GOOD:
        return unpack(frame)
    version = foreign_version(frame)
    if version is not None:
        raise VersionMismatch(version_sentence(version))
    raise WireError(f'frame of {len(frame)} bytes refused: {WORDS[verdict]}')


class Stream:
    """Frames out of a stream of bytes, in any portions; counts what it refuses by Verdict.

    foreign is the version of a device that sent a HELLO of another length than ours, which is refused; else None.
    """

    def __init__(self, way=TO_HOST):
        """Begin between frames."""
        self.way = way
        self.foreign = None
        self.counts = dict.fromkeys(Verdict, 0)
        self._rest = b''

    def feed(self, data):
        """Return the list of good Frames that end in data."""
        frames = []
        *chunks, rest = (self._rest + data).split(b'\0')
        # What is too long already is kept only as far as needed to know that.
        self._rest = rest[:wire.ENCODED_MAX + 1]
        for chunk in chunks:
            if chunk:
                frame = self._take(chunk)
                if frame is not None:
                    frames.append(frame)
        return frames

    def _take(self, chunk):
        verdict, frame = Verdict.LONG, None
        if len(chunk) <= wire.ENCODED_MAX:
            try:
                frame = cobs.decode(chunk)
                verdict = check(frame, self.way)
            except cobs.DecodeError:
                verdict = Verdict.COBS
        self.counts[verdict] += 1
        if verdict is Verdict.GOOD:
            return unpack(frame)
        if verdict is Verdict.LENGTH:
            version = foreign_version(frame)
            self.foreign = self.foreign if version is None else version
        return None

    @property
    def refused(self):
        """Return how many frames were refused, for whatever reason."""
        return sum(count for verdict, count in self.counts.items() if verdict is not Verdict.GOOD)


class Sequence:
    """Count what is missing, repeated or out of order in a counter of 16 bit."""

    def __init__(self):
        """Begin before the first."""
        self.last = None
        self.received = self.lost = self.repeated = self.late = 0

    def take(self, seq):
        """Return whether this one is newer than all before."""
        ahead = 1 if self.last is None else (seq - self.last) & 0xFFFF
        if ahead == 0:
            self.repeated += 1
            return False
        if ahead >= 0x8000:
            self.late += 1
            return False
        self.received += 1
        self.lost += ahead - 1
        self.last = seq
        return True


@lru_cache(maxsize=None)
def dtype(name):
    """Return the numpy type of a whole frame, header to CRC: np.frombuffer(many_frames, dtype('STATE1'))['counts']."""
    message = wire.BY_NAME[name]
    crc = ('crc', '<u4' if message.crc == 4 else '<u2')
    return np.dtype([*_numpy(wire.HEADER), *_numpy(message.fields), crc])


def _numpy(fields):
    for field in fields:
        group = isinstance(field.kind, wire.Group)
        kind = np.dtype(list(_numpy(field.kind.fields))) if group else field.kind.numpy
        yield (field.name, kind, (field.count,)) if field.count > 1 or group else (field.name, kind)
