"""Read recordings message by message, raw: rosbag2 folders, single .mcap files, and files cut off by a kill.

What all our own messages have in front, after four bytes of encapsulation: the stamp (s, ns) and the frame, which
carries the sequence as ten digits: '#0000000042', for a set-point '#0000000042@0000000041' with the sample it answers
(realtime/messages.py), or the digits alone. So loss is counted without deserialising anything.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

from mbs_core.errors import MbsError

HEADER = struct.Struct('<iII')          # of std_msgs/Header behind the encapsulation: s, ns, length of the frame with its 0


def sequence_of(data):
    """Return the sequence number in the frame of a serialised message, or None when it carries none."""
    frame = bytes(data[16:28])
    if frame[:1] == b'#':
        digits, end = frame[1:11], frame[11:12]
        return int(digits) if digits.isdigit() and end in (b'\0', b'@') else None
    return int(frame[:10]) if len(frame) > 10 and frame[:10].isdigit() and frame[10] == 0 else None


def answered_of(data):
    """Return the sequence of the sample that a serialised set-point answers, or None."""
    digits = bytes(data[28:38])
    return int(digits) if data[16:17] == b'#' and data[27:28] == b'@' and digits.isdigit() else None


def stamp_of(data):
    """Return the stamp of a serialised message that starts with a header, in ns."""
    seconds, nanoseconds, _ = HEADER.unpack_from(data, 4)
    return seconds * 10**9 + nanoseconds


@dataclass
class Sample:
    """One recorded message: topic, type, time of recording (ns) and its serialised bytes."""

    topic: str
    kind: str
    time: int
    data: bytes


class Recording:
    """A recording on disk; iterating yields samples in the order of their recording."""

    def __init__(self, path):
        """Find out what it is; a path that is no recording is one sentence."""
        self.path = Path(path).expanduser()
        self.is_whole = True        # known after iterating: False when the file was cut off
        self.files = [self.path]
        if self.path.is_dir():
            self.files = sorted(self.path.glob('*.mcap'), key=lambda file: file.stat().st_mtime)
            if not self.files and any(self.path.glob('*.db3')):
                self.files = [self.path]
        elif not self.path.exists():
            raise MbsError(f"there is no recording '{self.path}'")
        elif self.path.suffix != '.mcap':
            raise MbsError(f"'{self.path}' is neither a rosbag2 folder nor an .mcap file")
        if not self.files:
            raise MbsError(f"the folder '{self.path}' holds no recording (.mcap or .db3)")

    def __iter__(self):
        """Yield every Sample."""
        if self.files == [self.path] and self.path.is_dir():
            yield from self._through_rosbags()
        else:
            for file in self.files:
                yield from self._through_mcap(file)

    def _through_rosbags(self):
        from rosbags.rosbag2 import Reader, ReaderError
        try:
            with Reader(self.path) as reader:
                for connection, time, data in reader.messages():
                    yield Sample(connection.topic, connection.msgtype, time, bytes(data))
        except ReaderError as error:
            raise MbsError(f"the recording '{self.path}' can't be read: {error}") from None

    def _through_mcap(self, file):
        from mcap.exceptions import McapError
        from mcap.records import Channel, Footer, Message, Schema
        from mcap.stream_reader import StreamReader
        schemas, channels, footer = {}, {}, False
        try:
            with open(file, 'rb') as stream:
                for record in StreamReader(stream).records:
                    if isinstance(record, Message):
                        channel = channels[record.channel_id]
                        yield Sample(channel.topic, schemas.get(channel.schema_id, ''), record.log_time, record.data)
                    elif isinstance(record, Channel):
                        channels[record.id] = record
                    elif isinstance(record, Schema):
                        schemas[record.id] = record.name
                    elif isinstance(record, Footer):
                        footer = True
        except (McapError, EOFError, struct.error) as error:
            if not channels:
                raise MbsError(f"'{file}' can't be read as MCAP: {type(error).__name__} {error}") from None
        except OSError as error:
            raise MbsError(f"the recording '{file}' can't be read: {error.strerror}") from None
        self.is_whole &= footer
