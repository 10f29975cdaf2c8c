"""Write joint motions as a rosbag2 recording in MCAP: sensor_msgs/JointState, which every ROS tool reads."""

import shutil
import tempfile
from pathlib import Path

from mbs_core.errors import MbsError

TOPIC = 'joint_states'


def write_joint_bag(path, t, names, position, velocity, effort=None, topic=TOPIC) -> Path:
    """Write one JointState for each time of t (s) and return the path.

    A path that ends in .mcap becomes that one file; any other becomes a rosbag2 folder with its metadata.yaml.
    position, velocity and effort have one row for each time and one column for each name (m, rad and N, N m).
    """
    path = Path(path).expanduser()
    single = path.suffix.lower() == '.mcap'
    if path.exists() and not (single and path.is_file()):
        raise MbsError(f"'{path}' exists already: remove it or choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as work:
            bag = Path(work) / path.stem
            _write(bag, t, list(names), position, velocity, effort, topic)
            shutil.move(next(bag.glob('*.mcap')) if single else bag, path)
    except OSError as error:
        raise MbsError(f"the recording '{path}' can't be written: {error.strerror or error}; choose another place") from None
    return path


def _write(bag, t, names, position, velocity, effort, topic):
    import numpy as np
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    message = store.types['sensor_msgs/msg/JointState']
    header, time = store.types['std_msgs/msg/Header'], store.types['builtin_interfaces/msg/Time']
    none = np.zeros(0)
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        link = writer.add_connection(topic if topic.startswith('/') else '/' + topic, message.__msgtype__, typestore=store)
        for k, now in enumerate(t):
            stamp = round(float(now) * 1e9)
            sample = message(header(time(*divmod(stamp, 10**9)), ''), names, np.array(position[k], float),
                             np.array(velocity[k], float), none if effort is None else np.array(effort[k], float))
            writer.write(link, stamp, store.serialize_cdr(sample, message.__msgtype__))
