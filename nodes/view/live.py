"""A running stack as the source of a page: topics drained raw and rarely, services asked without waiting.

Nothing here is in the way of the loop: what is fast is best effort, kept in short queues, subscribed to only while somebody
looks, and taken when a frame is drawn, not when it comes. The mechanism and its parameters are asked for, so that a page needs nothing but the namespace.
"""

import math
import struct
import time

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from mbs_core.errors import MbsError
from mbs_haptics.bridge import topics
from mbs_haptics.live import rows
from mbs_haptics.model.load import mechanism_of
from mbs_haptics.parameters import plain
from mbs_haptics.realtime import messages
from mbs_haptics.realtime.ros import NeverServed
from mbs_haptics.recorder import KNOWN
from mbs_haptics.view.calls import Calls
from mbs_haptics.view.curves import History
from mbs_haptics.view.source import Frame, Knob, Source

PREFIX = 'model.'
# Messages that wait at most between two frames: the newest of states and outputs; as many set-points as a curve is drawn with.
FAST = {'model_state': 1, 'model_outputs': 1, 'setpoint': 256}
STRIDE = 4              # every so manieth set-point is kept: 250 points a second draw any curve
SPIN = 0.1              # s between two looks after diagnostics and parameter events, while no reply is awaited
SPINS = 4               # callbacks served then
AGAIN = 1.0             # s between two questions after parameters
SILENT = 1.0            # s without a state after which it is said


class Live(Source):
    """The stack in a namespace, through a node of ours."""

    switches = ('enable', 'disable', 'estop', 'reset')
    only_shows = 'the device is real and in real hands: this page only shows'

    def __init__(self, node, clock=time.monotonic):
        super().__init__()
        self.node, self.clock, self.space = node, clock, node.get_namespace().rstrip('/')
        self.calls = Calls(node, clock)
        self.executor = SingleThreadedExecutor(context=node.context)
        self.executor.add_node(node)
        self._group, self._fast = NeverServed(), {}
        node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnosed, 10)
        node.create_subscription(ParameterEvent, '/parameter_events', self._changed, 10)
        self._hand = node.create_publisher(JointState, topics.HAND, 10)
        self._layout, self._names, self._indices = None, None, None
        self._asked, self._heard, self._count, self._outputs, self._spin = -math.inf, -math.inf, 0, {}, -math.inf
        self._figures, self._devices = {}, {}

    def watch(self, on):
        """Listen to the fast topics while somebody looks."""
        if on and not self._fast:
            self._fast = {topic: self._raw(topic, depth) for topic, depth in FAST.items()}
        elif self._fast and not on:
            for subscription in self._fast.values():
                self.node.destroy_subscription(subscription)
            self._fast = {}

    def _raw(self, topic, depth):
        qos = QoSProfile(depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
        assert KNOWN[topic] == 'sensor_msgs/msg/JointState'
        return self.node.create_subscription(JointState, topic, lambda _: None, qos, raw=True, callback_group=self._group)

    # -- taking ----------------------------------------------------------------------------------
    def poll(self):
        """Take what came, serve what is due."""
        now = self.clock()
        if self.calls.pending or now >= self._spin:        # rclpy's wait set costs more than all the drawing
            self._spin = now + SPIN
            for _ in range(SPINS):
                self.executor.spin_once(timeout_sec=0)
        self.calls.poll()
        if not self.knobs and now > self._asked + AGAIN:
            self._asked = now
            self._ask()
        if self._fast:
            for data in take(self._fast['model_outputs']):
                message = deserialize_message(data, JointState)
                self._outputs = dict(zip(message.name, message.position))
            for data in take(self._fast['model_state']):
                self._moved(data, now)
            for data in take(self._fast['setpoint']):
                self._pushed(data)
        silent = bool(self._fast) and now - self._heard > SILENT
        self.rows = [('state', 'no state comes from rosbotran')] if silent else self._rows()

    def _moved(self, data, now):
        if self.mechanism is None:
            return
        message = deserialize_message(data, JointState)
        if self._indices is None or self._names != message.name:
            self._names = message.name
            places = {c.name: c.position for c in self.mechanism.coordinates if c.q is not None}
            self._indices = [(k, places[name]) for k, name in enumerate(message.name) if name in places]
        q = list(self.mechanism.positions)
        for k, place in self._indices:
            q[place] = message.position[k]
        if not all(map(math.isfinite, q)):
            return
        stamp = message.header.stamp
        self._heard = now
        self.frame = Frame(stamp.sec + 1e-9 * stamp.nanosec, q, dict(zip(message.name, message.velocity)),
                           dict(zip(message.name, message.effort)), self._outputs)

    def _pushed(self, data):
        if self._layout is None:
            message = deserialize_message(data, JointState)
            names = [n for n in message.name if not n.endswith((messages.STIFFNESS, messages.DAMPING))]
            self._layout = messages.setpoint(messages.rclpy_codec(JointState), names)
            self.joints, self.histories = names, {name: History() for name in names}
        layout = self._layout
        self._count += 1
        if self._count % STRIDE or len(data) != len(layout.data):
            return
        seconds, nanoseconds = struct.unpack_from('<iI', data, layout.stamp)
        for k, name in enumerate(self.joints):
            self.histories[name].add(seconds + 1e-9 * nanoseconds, layout.read(data, f'position[{k}]'),
                                     layout.read(data, f'velocity[{k}]'), -layout.read(data, f'effort[{k}]'))

    def _diagnosed(self, message):
        for status in message.status:
            if status.name.startswith(f'{self.space}/rosbotran: loop'):
                self._figures = {pair.key: pair.value for pair in status.values}
                self.missed = int(float(self._figures.get('skipped', 0)))
            elif status.name.startswith(f'{self.space}/roscom'):
                self._devices[status.name.partition(':')[0].strip('/')] = status.message

    def _rows(self):
        return [*rows(self._figures), *self._devices.items()] if self._figures else []

    # -- asking ----------------------------------------------------------------------------------
    def _service(self, name):
        return f'{self.space}/rosbotran/{name}'

    def _ask(self):
        """Ask for the names of all parameters, then for what they are."""
        def named(answer):
            names = sorted(answer.result.names) if answer else []
            if any(name.startswith(PREFIX) for name in names) or 'mechanism' in names:
                self.calls.ask(GetParameters, self._service('get_parameters'), GetParameters.Request(names=names),
                               lambda got: self._got(names, got))
        self.calls.ask(ListParameters, self._service('list_parameters'), ListParameters.Request(), named)

    def _got(self, names, answer):
        if answer is None:
            return
        values = {name: plain(value) for name, value in zip(names, answer.values)}
        if self.mechanism is None:
            try:
                self.mechanism = mechanism_of(lambda name, default: values.get(name) if values.get(name) is not None else default)
            except MbsError as error:
                self.message = (f'this mechanism can not be shown: {error}', True)
                return
        self.has_hand = values.get('device') == 'virtual'
        own = [name for name in names if name.startswith(PREFIX)]
        self.calls.ask(DescribeParameters, self._service('describe_parameters'), DescribeParameters.Request(names=own),
                       lambda answer: self._described(own, values, answer))

    def _described(self, names, values, answer):
        if answer is None:
            return
        for name, d in zip(names, answer.descriptors):
            short, span = name[len(PREFIX):], d.floating_point_range
            if not span or d.read_only or not isinstance(values[name], float):
                continue
            doc, _, unit = d.description.rstrip('.').rpartition(' (')
            self.knobs[short] = Knob(short, values[name], span[0].from_value, span[0].to_value, unit.rstrip(')') or '1', doc,
                                     bool(d.additional_constraints))
        self.knobs_changed = True

    def _changed(self, event):
        if event.node != f'{self.space}/rosbotran':
            return
        for parameter in [*event.new_parameters, *event.changed_parameters]:
            short, value = parameter.name[len(PREFIX):], plain(parameter.value)
            if parameter.name.startswith(PREFIX) and short in self.knobs and isinstance(value, float):
                self.knobs[short] = Knob(**{**vars(self.knobs[short]), 'value': value})
                self.knobs_changed = True

    def set(self, values, answer):
        """Ask rosbotran for all of the values or none."""
        batch = [Parameter(name=PREFIX + name, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value)))
                 for name, value in values.items()]

        def done(response):
            if response is None:
                answer(False, 'rosbotran does not answer: the value stays as it was')
            else:
                answer(response.result.successful, response.result.reason or ('' if response.result.successful else 'rosbotran refuses'))
        self.calls.ask(SetParametersAtomically, self._service('set_parameters_atomically'),
                       SetParametersAtomically.Request(parameters=batch), done)

    def switch(self, verb, answer):
        """Call a switch of rosbotran and then of roscom; the sentences of both are told."""
        service = 'enable' if verb == 'disable' else verb
        known = {name for name, _ in self.node.get_service_names_and_types()}
        names = [n for n in (f'{self.space}/{node}/{service}' for node in ('rosbotran', 'roscom')) if n in known]
        kind, request = (SetBool, SetBool.Request(data=verb == 'enable')) if service == 'enable' else (Trigger, Trigger.Request())
        sentences, good = [], [bool(names)]

        def ask(rest):
            if not rest:
                answer(good[0], '; '.join(sentences) or 'no node of the stack answers: is it running?')
                return
            node = rest[0].split('/')[-2]

            def done(response):
                good[0] &= response is not None and response.success
                sentences.append(f'{node}: {response.message if response is not None else "no answer"}')
                ask(rest[1:])
            self.calls.ask(kind, rest[0], request, done)
        if verb == 'estop':             # all at once: one that hangs must not keep the other from stopping
            for name in names:
                ask([name])
        else:
            ask(names)

    def request(self, service, answer):
        """Call a Trigger service of the stack."""
        def done(response):
            answer(response is not None and response.success, response.message if response is not None else
                   f"'{self.space}/{service}' does not answer: is its node running?")
        self.calls.ask(Trigger, f'{self.space}/{service}', Trigger.Request(), done)

    def tell(self, values):
        """Move the hand that holds the virtual device."""
        if self.has_hand:
            self._hand.publish(JointState(name=list(values), position=[float(value) for value in values.values()]))

    def close(self):
        """End the executor; the node is its maker's."""
        self.executor.shutdown()


def take(subscription) -> list:
    """Return the raw messages that wait."""
    found, handle = [], subscription.handle
    with handle:
        while (message := handle.take_message(subscription.msg_type, True)) is not None:
            found.append(message[0])
    return found
