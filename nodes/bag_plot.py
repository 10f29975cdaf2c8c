"""Draw a recording: position, velocity, acceleration and effort of its joints over time, and the time between samples."""

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_haptics.bags import Recording
from mbs_haptics.plots import LEGEND_LIMIT, STYLE, plt, save

JOINTS = 'sensor_msgs/msg/JointState'
PANELS = (('position (rad, m)', 'position'), ('velocity (rad/s, m/s)', 'velocity'), ('acceleration (SI)', 'acceleration'),
          ('effort (N m, N)', 'effort'))


def joint_series(path, wanted=()):
    """Return ({topic: times (s)}, {quantity: [(label, topic, values)]}) of the joint topics of a recording.

    Entries named 'joint/acceleration' carry the acceleration as their position; other names with / are left out.
    """
    from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    rows, names, seen = {}, {}, set()
    for sample in Recording(path):
        seen.add(sample.topic)
        if sample.kind != JOINTS or wanted and sample.topic not in wanted:
            continue
        message = store.deserialize_cdr(sample.data, JOINTS)
        stamp = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        names.setdefault(sample.topic, list(message.name))
        rows.setdefault(sample.topic, []).append((stamp or sample.time * 1e-9, message))
    for topic in wanted:
        if topic not in seen:
            raise MbsError(f"the recording has no topic '{topic}'{suggest(topic, seen)}")
    if not rows:
        raise MbsError(f"the recording '{path}' has no joint states to draw")
    start = min(series[0][0] for series in rows.values())
    times = {topic: np.array([stamp for stamp, _ in series]) - start for topic, series in rows.items()}
    curves = {quantity: [] for _, quantity in PANELS}
    for topic, series in rows.items():
        for n, name in enumerate(names[topic]):
            joint, _, extra = name.partition('/')
            if extra not in ('', 'acceleration'):
                continue
            for quantity in ['acceleration'] if extra else ['position', 'velocity', 'effort']:
                source = 'position' if extra else quantity
                values = np.array([_entry(getattr(message, source), n) for _, message in series])
                if np.isfinite(values).any():
                    curves[quantity].append((f'{topic.strip("/")} {joint}', topic, values))
    return times, curves


def _entry(values, n):
    return values[n] if n < len(values) else np.nan


def draw(path, picture, wanted=(), title=''):
    """Draw the joint topics of a recording into a PNG file and return its path."""
    times, curves = joint_series(path, wanted)
    panels = [(label, curves[quantity]) for label, quantity in PANELS if curves[quantity]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(len(panels) + 1, 1, sharex=True, figsize=(9, 1.2 + 2.0 * (len(panels) + 1)), squeeze=False)
        for ax, (label, lines) in zip(axes[:, 0], panels):
            for name, topic, values in lines:
                ax.plot(times[topic], values, label=name)
            ax.set_ylabel(label)
            if len(lines) <= LEGEND_LIMIT:
                ax.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize=9)
        last = axes[-1, 0]
        for topic, t in times.items():
            last.plot(t[1:], np.diff(t) * 1e3, label=topic.strip('/'), linewidth=0.8)
        last.set_ylabel('between samples (ms)')
        last.set_xlabel('time (s)')
        last.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize=9)
        figure.suptitle(title, fontsize=12)
        figure.align_ylabels()
        figure.tight_layout()
        return save(figure, picture)
