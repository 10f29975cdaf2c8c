"""The recorder node: topics into a standard rosbag2 recording (MCAP), from raw subscriptions.

Messages are never deserialised: every 10 ms all waiting ones are taken and written as they are, with the time DDS
received them. Every half second the open chunk is closed and handed to the kernel, so that even `kill -9`
leaves all but the last half second to a streaming reader (`haptic bag` reads such files).
Parameters, read at the start: topics (names, in the node's namespace), output (folder of the new recording), seconds.
"""

import importlib
import signal
import sys
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics import environment
from mbs_haptics.bags import sequence_of

# Types of the stack's own topics, so that they are subscribed to before their publishers exist and nothing is missed.
KNOWN = {'joint_states': 'sensor_msgs/msg/JointState', 'setpoint': 'sensor_msgs/msg/JointState',
         'model_state': 'sensor_msgs/msg/JointState', 'model_outputs': 'sensor_msgs/msg/JointState', 'scene': 'std_msgs/msg/String',
         'wrench': 'geometry_msgs/msg/WrenchStamped',
         'diagnostics': 'diagnostic_msgs/msg/DiagnosticArray', 'markers': 'visualization_msgs/msg/MarkerArray'}
TOPICS = ['joint_states', 'setpoint', 'model_state', 'model_outputs', 'scene', 'wrench', '/diagnostics']
DRAIN = 0.010           # s between drains
FLUSH = 0.5             # s between hand-overs to the kernel
SERVE = 0.1             # s between looks at parameters, services and new publishers
DEPTH = 2000            # messages that wait at most: 2 s at 1 kHz, should this process be held up


class Bag:
    """A rosbag2 recording being written; `flush` makes what was written so far recoverable."""

    def __init__(self, path):
        """Create the folder; one that exists already is refused."""
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
        self.path = Path(path).expanduser()
        if self.path.exists():
            raise MbsError(f"'{self.path}' exists already: remove it or choose another name")
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
        try:
            self.writer.open()
        except OSError as error:
            raise MbsError(f"the recording '{self.path}' can't be made: {error.strerror}; choose another place") from None

    def add(self, topic, kind, qos):
        """Return the connection for a topic; qos is the profile of rclpy that it is recorded with."""
        return self.writer.add_connection(topic, kind, typestore=self.store, offered_qos_profiles=[as_rosbags(qos)])

    def flush(self):
        """Close the open chunk and hand everything to the kernel."""
        storage = self.writer.storage
        if storage.chunk.msgs:
            storage.close_chunk()
        storage.bio.flush()

    def close(self):
        """Write index and metadata."""
        self.writer.close()


def as_rosbags(qos):
    """Return rclpy's quality of service in the words of rosbags."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
    never = QosTime(2147483647, 4294967295)
    return Qos(QosHistory.KEEP_LAST, qos.depth, QosReliability[qos.reliability.name], QosDurability[qos.durability.name],
               never, never, QosLiveliness.AUTOMATIC, never, False)


class Track:
    """One recorded topic: its subscription, its connection in the bag, and what was counted."""

    def __init__(self, subscription, connection):
        """Start counting."""
        self.subscription, self.connection = subscription, connection
        self.count, self.lost, self.last, self.stride = 0, 0, None, None

    def drain(self, write):
        """Take and write every waiting message; return how many there were."""
        taken, kind, handle = 0, self.subscription.msg_type, self.subscription.handle
        with handle:
            while (message := handle.take_message(kind, True)) is not None:
                data, info = message
                write(self.connection, info['received_timestamp'], data)
                number = sequence_of(data)
                if number is not None:
                    self.follow(number)
                taken += 1
        self.count += taken
        return taken


    def follow(self, number):
        """Count what is missing before a sequence number; the smallest step seen is the regular one."""
        step = number - self.last if self.last is not None else 0
        if step > 0:
            self.stride = min(step, self.stride or step)
            self.lost += step // self.stride - 1
        self.last = number


class Recorder:
    """Subscribes, drains and writes until it is told to stop."""

    def __init__(self, node, topics, bag):
        """Subscribe to the topics of known type; the others follow when a publisher shows their type."""
        self.node, self.bag, self.tracks = node, bag, {}
        self.waiting = [node.resolve_topic_name(topic) for topic in topics]
        for topic in list(self.waiting):
            kind = KNOWN.get(topic.rpartition('/')[2])
            if kind:
                self.subscribe(topic, kind, reliable=topic == '/diagnostics' or topic.endswith('/scene'))

    def subscribe(self, topic, kind, reliable=False):
        """Subscribe to a topic, raw, without any executor."""
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        policy = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=DEPTH, reliability=policy)
        subscription = self.node.create_subscription(message_class(kind), topic, lambda message: None, qos, raw=True,
                                                     callback_group=untouched())
        self.tracks[topic] = Track(subscription, self.bag.add(topic, kind, qos))
        self.waiting.remove(topic)

    def discover(self):
        """Subscribe to waiting topics that have a publisher by now."""
        for topic in list(self.waiting):
            offers = self.node.get_publishers_info_by_topic(topic)
            if offers:
                reliable = all(offer.qos_profile.reliability.name == 'RELIABLE' for offer in offers)
                self.subscribe(topic, offers[0].topic_type, reliable)

    def drain(self):
        """Write every waiting message of every topic."""
        for track in self.tracks.values():
            track.drain(self.bag.writer.write)

    def run(self, stopped, serve, seconds=0.0):
        """Record until stopped() or for that many seconds (0: no limit), with serve() called now and then."""
        began = next_flush = next_serve = time.monotonic()
        while not stopped():
            now = time.monotonic()
            if seconds and now - began >= seconds:
                break
            self.drain()
            if now >= next_flush:
                self.bag.flush()
                next_flush = now + FLUSH
            if now >= next_serve:
                serve()
                self.discover()
                next_serve = now + SERVE
            time.sleep(max(0.0, DRAIN - (time.monotonic() - now)))
        self.drain()
        self.bag.close()

    def summary(self):
        """Return one line per topic: how much was recorded and lost."""
        lines = [f'{topic}: {track.count} messages' + (f', {track.lost} lost' if track.last is not None else '')
                 for topic, track in sorted(self.tracks.items())]
        return lines + [f'{topic}: no publisher seen' for topic in sorted(self.waiting)]


def untouched():
    """Return a callback group whose subscriptions no executor ever takes from: draining is ours."""
    from rclpy.callback_groups import CallbackGroup

    class Untouched(CallbackGroup):
        """A group that never lets an executor near its members."""

        def can_execute(self, entity):
            """Refuse."""
            return False

        def beginning_execution(self, entity):
            """Refuse."""
            return False

        def ending_execution(self, entity):
            """Have nothing to end."""
    return Untouched()


def message_class(kind):
    """Return the class of a message type such as sensor_msgs/msg/JointState; one that isn't installed is one sentence."""
    package, _, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError):
        raise MbsError(f"the message type '{kind}' is not installed here") from None


def default_output():
    """Return the name of a new recording in the present folder."""
    return time.strftime('recording_%Y%m%d_%H%M%S')


def parameters_of(node):
    """Declare and return the parameters: topics, output, seconds."""
    from rcl_interfaces.msg import ParameterDescriptor
    def declare(name, value, text):
        return node.declare_parameter(name, value, ParameterDescriptor(description=text, read_only=True)).value
    topics = declare('topics', TOPICS, 'Topics to record, relative to the namespace of this node')
    output = declare('output', '', 'Folder of the new recording; empty: recording_<date>_<time> here')
    seconds = declare('seconds', 0.0, 'Length of the recording (s); 0: until stopped')
    return list(topics), output or default_output(), seconds


def main(argv=None):
    """Run the recorder node and return the exit code."""
    try:
        environment.need_ros()
        return record(sys.argv if argv is None else argv)
    except MbsError as error:
        print(f'recorder: {error}', file=sys.stderr)
        return 2


def record(argv):
    """Record as the parameters say, until SIGINT or SIGTERM."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    stops = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stops.append(True))
    rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('recorder')
    try:
        topics, output, seconds = parameters_of(node)
        recorder = Recorder(node, topics, Bag(output))
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        print(f"recording {', '.join([*recorder.tracks, *recorder.waiting])} into {output}", flush=True)
        recorder.run(lambda: stops, lambda: executor.spin_once(timeout_sec=0), seconds)
        print('\n'.join([f'recorded into {output}', *recorder.summary()]), flush=True)
        executor.shutdown()
    finally:
        node.destroy_node()
        rclpy.shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
