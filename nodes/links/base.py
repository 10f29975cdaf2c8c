"""What every link has: open, read frames, write a frame, close, and statistics. One class per way to a device."""

from dataclasses import dataclass, field

from mbs_core.errors import MbsError
from mbs_haptics.wire import codec


class LinkError(MbsError):
    """The link can't be opened, or was lost; trying again may help."""


class LinkEnded(LinkError):
    """There is nothing more to come: a recording has ended."""


@dataclass
class Statistics:
    """What passed over a link since it was made; `refused` counts bad frames by codec.Verdict."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    unsent: int = 0                 # frames that the link did not take
    opened: int = 0
    refused: dict = field(default_factory=dict)

    @property
    def refused_total(self) -> int:
        """Return how many bad frames came."""
        return sum(self.refused.values())

    def refuse(self, verdict):
        """Count a bad frame."""
        self.refused[verdict] = self.refused.get(verdict, 0) + 1


class Link:
    """A way to a device; subclasses fill in open, read, write and close.

    `read(timeout)` waits up to timeout (s) for something and returns a list of codec.Frame, perhaps empty; it raises
    LinkError when the other side is gone. It also returns when the descriptor `wake_fd` is readable. `write(frame)` takes the bytes of one frame, without COBS, never waits, and
    returns whether the link took it. `foreign` is the version of a device that speaks another protocol, else None.
    """

    is_stream = False

    def __init__(self, name):
        self.name = name
        self.statistics = Statistics()
        self.foreign = None
        self.wake_fd = None         # a descriptor that ends the waiting of read when it gets readable ...
        self.is_woken = False       # ... and whether the last read found it so

    @property
    def is_open(self) -> bool:
        """Tell whether the link is open."""
        raise NotImplementedError

    def open(self):
        """Open the link; LinkError says what is missing and what to do."""
        raise NotImplementedError

    def read(self, timeout) -> list:
        """Return the good frames that came within timeout (s)."""
        raise NotImplementedError

    def write(self, frame) -> bool:
        """Send one frame; return whether it was taken."""
        raise NotImplementedError

    def close(self):
        """Close the link; closing twice is allowed."""
        raise NotImplementedError

    def __enter__(self):
        """Open the link for a with block."""
        self.open()
        return self

    def __exit__(self, *_):
        """Close the link."""
        self.close()


class DatagramReader:
    """Check and count the frames of datagrams for a link."""

    def __init__(self, link):
        self._link = link

    def take(self, data) -> codec.Frame | None:
        """Return the frame of one datagram, None if it is refused."""
        link = self._link
        link.statistics.bytes_in += len(data)
        verdict = codec.check(data)
        if verdict is codec.Verdict.GOOD:
            link.statistics.frames_in += 1
            return codec.unpack(data)
        link.statistics.refuse(verdict)
        version = codec.foreign_version(data)
        if version is not None:
            link.foreign = version
        return None
