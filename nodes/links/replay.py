"""A recorded run as a device: the joint_states of a bag come again as state frames, at their recorded times.

Set-points are accepted and echoed but move nothing: the motion is the recorded one. Position, velocity and acceleration of
each joint are sensor channels q0, v0, a0, ..., of auxiliary joints only the position (x0, ...), scaled so that 32 bits keep nine
digits.
"""

import select
import time
from pathlib import Path

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.links.base import DatagramReader, Link, LinkEnded
from mbs_haptics.links.emulated import EmulatedDevice
from mbs_haptics.realtime.messages import sequences

ACCELERATION = '/acceleration'
FULL = 2.0**31 - 2


class Recording:
    """The joint motion of a bag: t (s from the first sample), sequence, q, qd, qdd and effort, one column per joint."""

    def __init__(self, path, topic='joint_states', joints=None):
        self.path = Path(path).expanduser()
        rows = self._read(topic)
        names = rows[0][2]
        self.joints = [name for name in names if '/' not in name] if joints is None else list(joints)
        missing = [joint for joint in self.joints if joint not in names]
        if missing:
            raise MbsError(f"the recording '{path}' has no joint '{missing[0]}', only {', '.join(names)}")
        self.t = np.array([row[0] for row in rows]) * 1e-9
        self.t -= self.t[0]
        counted = [sequences(row[1])[0] for row in rows]
        self.sequence = np.array(counted if all(n is not None for n in counted) else range(len(rows)))
        place = [names.index(joint) for joint in self.joints]
        self.q, self.qd, self.effort = (np.array([self._wide(row[k], len(names)) for row in rows])[:, place] for k in (3, 4, 5))
        self.qdd = np.zeros_like(self.q)
        for column, joint in enumerate(self.joints):
            if joint + ACCELERATION in names:
                k = names.index(joint + ACCELERATION)
                self.qdd[:, column] = [row[3][k] for row in rows]

    @staticmethod
    def _wide(values, n):
        return values if len(values) == n else np.zeros(n)

    def _read(self, topic):
        """Return [(stamp ns, frame_id, names, position, velocity, effort)] of a topic whose name ends in `topic`."""
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import Stores, get_typestore
        if not self.path.exists():
            raise MbsError(f"there is no recording '{self.path}': give the folder of a bag (port:=...)")
        try:
            with AnyReader([self.path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
                links = [link for link in reader.connections if link.topic.rstrip('/').endswith(topic)
                         and link.msgtype == 'sensor_msgs/msg/JointState']
                if not links:
                    raise MbsError(f"the recording '{self.path}' has no topic '{topic}': it can't be replayed")
                rows = []
                for link, stamp, data in reader.messages(connections=links[:1]):
                    m = reader.deserialize(data, link.msgtype)
                    stamp = m.header.stamp.sec * 10**9 + m.header.stamp.nanosec or stamp
                    rows.append((stamp, m.header.frame_id, list(m.name), m.position, m.velocity, m.effort))
        except (AnyReaderError, OSError, ValueError, KeyError) as error:
            raise MbsError(f"the recording '{self.path}' can't be read ({error}): is it a rosbag2 folder or an .mcap file?") from None
        if not rows:
            raise MbsError(f"the recording '{self.path}' has no samples of '{topic}'")
        return rows


class ReplayLink(Link):
    """The link to a recording; with repeat it begins again at its end, otherwise reading then raises LinkEnded."""

    def __init__(self, path, joints=None, repeat=False, clock=time.monotonic, auxiliary=()):
        super().__init__(f'recording {path}')
        self._path, self._joints, self.repeat = path, joints, repeat
        self._clock, self._auxiliary = clock, list(auxiliary)
        self.recording = self._device = None
        self._reader = DatagramReader(self)
        self._waiting, self._next, self._began, self._shift, self._loops = [], 0, 0.0, 0.0, 0

    @property
    def is_open(self) -> bool:
        """Tell whether the recording is running."""
        return self._device is not None

    def open(self):
        """Read the recording and begin."""
        if self.recording is None:
            self.recording = Recording(self._path, joints=self._joints)
            channels = 3 * len(self.recording.joints) + len(self._auxiliary)
            if channels > 6:
                raise MbsError(f'a replay has 6 channels, 3 for a joint and 1 for an auxiliary one, not {channels}: name fewer in the config')
            self._others = Recording(self._path, joints=self._auxiliary).q
        r = self.recording
        columns, sensors = [], []
        for k in range(len(r.joints)):
            for letter, kind, values in (('q', 'ENCODER', r.q), ('v', 'COIL', r.qd), ('a', 'IMU', r.qdd)):
                scale = float(np.float32(max(float(np.abs(values[:, k]).max()), 1e-6) / FULL * 1.0001))
                sensors.append((f'{letter}{k}', kind, 'SI', scale, 0))
                columns.append(np.rint(values[:, k] / scale).astype(int))
        for k in range(len(self._auxiliary)):
            values = np.nan_to_num(self._others[:, k])
            scale = float(np.float32(max(float(np.abs(values).max()), 1e-6) / FULL * 1.0001))
            sensors.append((f'x{k}', 'ENCODER', 'SI', scale, 0))
            columns.append(np.rint(values / scale).astype(int))
        self._counts = np.column_stack(columns).tolist()
        rate = round(1.0 / float(np.median(np.diff(r.t)))) if len(r.t) > 1 else 1000
        self._device = EmulatedDevice('replay', sensors, [(joint[:16], 'NONE', 'SI', 0.0) for joint in r.joints],
                                      rate_hz=min(max(rate, 1), 65535))
        self._next, self._began, self._shift, self._loops, self._waiting = 0, self._clock(), 0.0, 0, []
        self.statistics.opened += 1

    def _time_us(self) -> int:
        return round((self._clock() - self._began) * 1e6)

    def read(self, timeout) -> list:
        """Return answers and the states that are due; waits for the next one at most timeout (s)."""
        frames, self._waiting = self._waiting, []
        r, length = self.recording, len(self.recording.t)
        if self._next >= length and not frames:
            if not self.repeat:
                raise LinkEnded(f"the recording '{r.path}' has ended after {r.t[-1]:.1f} s")
            self._shift += r.t[-1] + 1.0 / self._device.rate_hz
            self._next, self._loops = 0, self._loops + 1
        if not frames:
            wait = self._began + self._shift + r.t[self._next] - self._clock()
            if wait > 0:
                self._wait(min(wait, timeout))
        now = self._clock() - self._began - self._shift
        while self._next < length and r.t[self._next] <= now:
            frames.append(self._state(self._next))
            self._next += 1
        return [frame for frame in map(self._reader.take, frames) if frame is not None]

    def _wait(self, seconds):
        """Sleep, unless something else wakes us."""
        self.is_woken = bool(select.select([] if self.wake_fd is None else [self.wake_fd], [], [], seconds)[0])

    def _state(self, k):
        r = self.recording
        measured = [(float(r.effort[k, j]), 0.0, float(r.q[k, j]), float(r.qd[k, j])) for j in range(len(r.joints))]
        sequence = int(r.sequence[k] - r.sequence[0]) + self._loops * int(r.sequence[-1] - r.sequence[0] + 1)
        return self._device.state_frame(self._counts[k], round((self._shift + r.t[k]) * 1e6), measured, seq=sequence)

    def write(self, frame) -> bool:
        """Answer what a device would answer."""
        if self._device is None:
            return False
        self._waiting.extend(self._device.answer(bytes(frame), self._time_us()))
        self.statistics.frames_out += 1
        self.statistics.bytes_out += len(frame)
        return True

    def close(self):
        """Stop; opening again begins at the start."""
        self._device = None
