"""A recording as numpy arrays: its joint topics, and the scenes that marks on the topic `scene` cut it into."""

import json
from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_haptics.bags import Recording

JOINTS, TEXT, DIAGNOSTICS = 'sensor_msgs/msg/JointState', 'std_msgs/msg/String', 'diagnostic_msgs/msg/DiagnosticArray'
TRUTH = 'truth'         # topic of independent measurements: of the simulated plant, or of a reference sensor


@dataclass(frozen=True)
class Series:
    """A joint topic: t (s since 1970, by the messages' stamps), names, and position, velocity, effort (rows: times)."""

    t: np.ndarray
    names: tuple
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    def __getitem__(self, name) -> np.ndarray:
        """Return the positions of a name, e.g. of a joint or an output."""
        return self.column(name, 'position')

    def column(self, name, quantity='position') -> np.ndarray:
        """Return one column: position, velocity or effort of a name."""
        if name not in self.names:
            raise MbsError(f"the recording has no '{name}'{suggest(name, self.names)}")
        return getattr(self, quantity)[:, self.names.index(name)]

    def between(self, begin, end) -> 'Series':
        """Return the part with begin <= t < end."""
        k = slice(*np.searchsorted(self.t, [begin, end]))
        return Series(self.t[k], self.names, self.position[k], self.velocity[k], self.effort[k])

    def at(self, t, name, quantity='position') -> np.ndarray:
        """Return a column at other times, straight lines between its samples."""
        return np.interp(t, self.t, self.column(name, quantity))


@dataclass(frozen=True)
class Scene:
    """A part of a recording: its name, begin and end (s since 1970), and what was noted with it (settings of the model)."""

    name: str
    begin: float
    end: float
    notes: dict


class Recorded:
    """A recording read into memory; `topics` are joint topics by name without namespace."""

    def __init__(self, path, wanted=()):
        """Read it all; topics that are wanted and not there are one sentence."""
        from rosbags.typesys import Stores, get_typestore
        self.path, store = path, get_typestore(Stores.ROS2_JAZZY)
        rows, marks, self.diagnostics = {}, [], []
        for sample in Recording(path):
            topic = sample.topic.rpartition('/')[2]
            if sample.kind == JOINTS:
                rows.setdefault(topic, []).append(store.deserialize_cdr(sample.data, JOINTS))
            elif sample.kind == TEXT and topic == 'scene':
                marks.append((sample.time * 1e-9, store.deserialize_cdr(sample.data, TEXT).data))
            elif sample.kind == DIAGNOSTICS:
                for status in store.deserialize_cdr(sample.data, DIAGNOSTICS).status:
                    self.diagnostics.append((sample.time * 1e-9, status.name, {pair.key: pair.value for pair in status.values}))
        missing = [topic for topic in wanted if topic not in rows]
        if missing:
            raise MbsError(f"the recording '{path}' has no topic '{missing[0]}' (it has {', '.join(sorted(rows)) or 'none of joints'}): "
                           'record with record:=true while the device runs')
        self.topics = {topic: _series(messages) for topic, messages in rows.items()}
        self.scenes = _scenes(marks, max((s.t[-1] for s in self.topics.values()), default=0.0))

    def loop(self) -> dict:
        """Return the last figures of the loop that rosbotran published, {} without any."""
        return next((values for _, name, values in reversed(self.diagnostics) if name.endswith('rosbotran: loop')), {})

    def __contains__(self, topic) -> bool:
        return topic in self.topics

    def scene(self, name) -> Scene | None:
        """Return the last scene of this name, or None."""
        return next((s for s in reversed(self.scenes) if s.name == name), None)

    def part(self, topic, scene) -> Series:
        """Return a topic during a scene."""
        return self.topics[topic].between(scene.begin, scene.end)


def _series(messages) -> Series:
    names = tuple(messages[0].name)
    messages = [m for m in messages if tuple(m.name) == names]
    t = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in messages])
    order = np.argsort(t, kind='stable')

    def table(quantity):
        rows = np.full((len(messages), len(names)), np.nan)
        for k, m in enumerate(messages):
            values = getattr(m, quantity)
            rows[k, :len(values)] = values
        return rows[order]
    return Series(t[order], names, *(table(quantity) for quantity in ('position', 'velocity', 'effort')))


def _scenes(marks, last) -> list:
    """Return the scenes that marks begin; a mark is a name or {"scene": name, ...notes}, and the next one ends it."""
    scenes = []
    for k, (begin, text) in enumerate(marks):
        try:
            notes = json.loads(text)
        except ValueError:
            notes = {'scene': text}
        name = notes.pop('scene', '') if isinstance(notes, dict) else ''
        if name:
            scenes.append(Scene(str(name), begin, marks[k + 1][0] if k + 1 < len(marks) else last, notes))
    return scenes
