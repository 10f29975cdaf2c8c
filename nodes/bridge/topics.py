"""The two control topics as bytes: joint_states written in place, setpoint read in place.

`joint_states` names every joint, then '<joint>/acceleration' for each, whose position is the acceleration estimate, then the
auxiliary joints, which are only measured; the header's frame_id carries the sequence (see realtime/messages.py).
"""

import struct
import time

from mbs_haptics.realtime import messages

JOINT_STATES, SETPOINT = 'joint_states', 'setpoint'
HAND = 'hand'           # what the hand that holds a virtual device is to do
ACCELERATION = '/acceleration'


def first_sequence() -> int:
    """Return a sequence to begin with that is above any of an earlier run: listeners go on where a restarted node begins.

    Milliseconds of the day's clock, in the ten digits that there are, with room for 11 days at 1 kHz.
    """
    return time.time_ns() // 1_000_000 % (9 * 10 ** (messages.DIGITS - 1))


def sample_names(joints, auxiliary=()) -> list:
    """Return the names in joint_states: the joints, then their accelerations, then the auxiliary joints."""
    return [*joints, *(joint + ACCELERATION for joint in joints), *auxiliary]


class SampleWriter:
    """joint_states of fixed layout; `bytes` returns the message of new numbers."""

    def __init__(self, codec, joints, auxiliary=()):
        self.layout = messages.joint_state(codec, sample_names(joints, auxiliary))
        self._data = bytearray(self.layout.data)
        self._n, self._rest = len(joints), struct.Struct(f'<{len(auxiliary)}d')
        width, places = 2 * self._n + len(auxiliary), self.layout.places
        self._arrays = []
        for name in ('position', 'velocity', 'effort'):
            start = places[f'{name}[0]']
            assert all(places[f'{name}[{k}]'] == start + 8 * k for k in range(width))
            self._arrays.append(start)
        self._positions, self._others = struct.Struct(f'<{2 * self._n}d'), struct.Struct(f'<{self._n}d')
        self._stamp = struct.Struct('<iI')

    def bytes(self, stamp_ns, sequence, motions) -> bytes:
        """Return the message of these Motions, one per joint, then one per auxiliary joint."""
        data, layout = self._data, self.layout
        self._stamp.pack_into(data, layout.stamp, *divmod(stamp_ns, 1_000_000_000))
        data[layout.digits:layout.digits + messages.DIGITS] = b'%010d' % sequence
        position, velocity, effort = self._arrays
        motions, others = motions[:self._n], motions[self._n:]
        self._positions.pack_into(data, position, *[m.q for m in motions], *[m.qdd for m in motions])
        self._others.pack_into(data, velocity, *[m.qd for m in motions])
        self._others.pack_into(data, effort, *[m.effort for m in motions])
        if others:
            self._rest.pack_into(data, position + 16 * self._n, *[m.q for m in others])
            self._rest.pack_into(data, velocity + 16 * self._n, *[m.qd for m in others])
        return bytes(data)


class SetpointReader:
    """setpoint of fixed layout; `read` returns its numbers, None for a message of another layout."""

    def __init__(self, codec, joints):
        self.layout = messages.setpoint(codec, joints)
        self._n = len(joints)
        self._array = struct.Struct(f'<{3 * self._n}d')
        self.refused = 0

    def read(self, data):
        """Return (sequence, answered sample, [(F0, q0, v0, K, B) per joint])."""
        layout, n = self.layout, self._n
        if not layout.matches(data):
            self.refused += 1
            return None
        try:
            _, sequence, answered = layout.read_head(data)
        except ValueError:
            self.refused += 1
            return None
        q, v, f = (self._array.unpack_from(data, layout.places[f'{name}[0]']) for name in ('position', 'velocity', 'effort'))
        return sequence, answered, [(f[k], q[k], v[k], f[n + k], f[2 * n + k]) for k in range(n)]
