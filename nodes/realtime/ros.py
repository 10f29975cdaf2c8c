"""ROS under the loop: ordinary rclpy publishers and subscriptions, used through librcl by the native loop.

Control topics are best effort, keep last 1: an old sample is worth nothing. The subscription belongs to a callback group
that never lets an executor take from it, so the node may be spun as usual (not by an EventsExecutor, which would
replace the native callback).
"""

import ctypes

from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from mbs_core.errors import MbsError
from mbs_haptics.realtime import messages
from mbs_haptics.realtime.fallback import PythonLoop
from mbs_haptics.realtime.loop import Buffer, NativeLoop, address
from mbs_haptics.realtime.settings import SAMPLE

CONTROL_QOS = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
ROOM = 4096                   # bytes for a sample: a longer one is refused anyway, but must not be allocated for each time


class NeverServed(CallbackGroup):
    """A callback group whose entities no executor serves."""

    def can_execute(self, entity):
        """Refuse."""
        return False

    def beginning_execution(self, entity):
        """Refuse."""
        return False

    def ending_execution(self, entity):
        """Do nothing."""


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ('allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')]


def librcl() -> tuple:
    """Return (librcl, librcutils), which rclpy has loaded; MbsError where they lack what the loop needs."""
    with open('/proc/self/maps', encoding='utf-8') as maps:
        paths = {line.split()[-1] for line in maps if 'librc' in line}
    try:
        rcl, utils = (ctypes.CDLL(next(p for p in sorted(paths) if f'/{name}.so' in p)) for name in ('librcl', 'librcutils'))
        for name in ('rcl_take_serialized_message', 'rcl_publish_serialized_message', 'rcl_subscription_set_on_new_message_callback'):
            getattr(rcl, name)
        utils.rcutils_get_default_allocator.restype = _Allocator
    except (StopIteration, OSError, AttributeError) as error:
        raise MbsError(f'librcl can\'t be used from here ({error or "not loaded"}): run the loop with native:=false') from None
    return rcl, utils


class NativeLink:
    """Connects a native loop to topics through librcl."""

    def __init__(self, loop, node, sample_topic, topics, types):
        self.rcl, utils = librcl()
        allocator = utils.rcutils_get_default_allocator()
        words = tuple(getattr(allocator, name) or 0 for name, _ in _Allocator._fields_)
        self.node = node
        self.subscription = node.create_subscription(JointState, sample_topic, lambda message: None, CONTROL_QOS,
                                                     callback_group=NeverServed())
        self.publishers = [node.create_publisher(t, topic, CONTROL_QOS) for topic, t in zip(topics, types)]
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype, self.libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        sample = Buffer(loop.block.sample, words, memory=self.libc.malloc(ROOM), capacity=ROOM)     # librcl may reallocate it
        self.buffers = [sample, *(Buffer(o.layout, words) for o in loop.outlets)]
        for k, (entity, buffer) in enumerate(zip([self.subscription, *self.publishers], self.buffers)):
            loop.set_slot(k, buffer.words(entity.handle.pointer))
        loop.set_word('take', address(self.rcl.rcl_take_serialized_message))
        loop.set_word('publish', address(self.rcl.rcl_publish_serialized_message))
        self._set = self.rcl.rcl_subscription_set_on_new_message_callback
        self._set.argtypes, self._set.restype = [ctypes.c_void_p] * 3, ctypes.c_int

    def open(self, loop):
        """Let samples call the loop, where they are to wake it."""
        if loop.settings.wake == SAMPLE:
            code = self._set(self.subscription.handle.pointer, loop.library.address('on_sample'), loop.block.x.ctypes.data)
            if code != 0:
                raise MbsError(f'librcl refused the callback for new samples (code {code}): use wake: timer')

    def close(self, loop):
        """Let samples call nobody; returns when no call is under way."""
        if loop.settings.wake == SAMPLE:
            self._set(self.subscription.handle.pointer, None, None)

    def destroy(self):
        """Remove the subscription and the publishers; the loop must have stopped, and not start again."""
        _remove(self)
        self.libc.free(ctypes.c_void_p(int(self.buffers[0].array[0])))
        self.buffers[0].array[:3] = 0


class PythonLink:
    """Connects a Python loop to topics through rclpy alone; its node has to be spun."""

    def __init__(self, loop, node, sample_topic, topics, types):
        self.node, self.loop, self.opened = node, loop, False
        self.subscription = node.create_subscription(JointState, sample_topic, self._came, CONTROL_QOS, raw=True,
                                                     callback_group=MutuallyExclusiveCallbackGroup())
        self.publishers = [node.create_publisher(t, topic, CONTROL_QOS) for topic, t in zip(topics, types)]
        loop.senders[:] = [p.publish for p in self.publishers]

    def _came(self, data):
        if self.opened:
            self.loop.inbox.append((data, self.loop.clock()))
            if self.loop.settings.wake == SAMPLE:
                self.loop.call('on_sample')

    def open(self, loop):
        """Let samples in."""
        loop.inbox.clear()
        self.opened = True

    def close(self, loop):
        """Let no more samples in."""
        self.opened = False

    def destroy(self):
        """Remove the subscription and the publishers; the loop must have stopped."""
        _remove(self)


def _remove(link):
    link.node.destroy_subscription(link.subscription)
    for publisher in link.publishers:
        link.node.destroy_publisher(publisher)


def make_loop(node, settings, model=None, joints=None, native=True, sample_topic='joint_states', setpoint_topic='setpoint',
              outlets=None, topics=(), types=(), **options):
    """Return a loop connected to a node's topics, native or not; start and stop it yourself.

    `joints` are the names in the samples (by default those of the channels). `outlets` (block -> list of Outlet), `topics`
    and `types` add messages besides the set-point.
    """
    codec = messages.rclpy_codec(JointState)
    channels = [c.joint for c in settings.channels]
    sample, setpoint = messages.joint_state(codec, joints or channels), messages.setpoint(codec, channels)
    loop = (NativeLoop if native else PythonLoop)(settings, sample, setpoint, model, outlets, **options)
    link = NativeLink if native else PythonLink
    loop.link = link(loop, node, sample_topic, [setpoint_topic, *topics], [JointState, *types])
    return loop
