"""lid: the node with the lid's services and state; the controller itself is native code inside rosbotran's model.

Services `~/open`, `~/close`, `~/hold` (Trigger) and `~/assist` (SetBool) set the controller's commands and answer when
rosbotran has taken them; `~/state` tells one of closed, rising, idle, opening, open, closing, assisting, fault, latched for who
comes late. It is a fault while the model is silent, or rosbotran or the device have latched one (/diagnostics). After a hand
was met the lid is weightless until nothing has moved for a second; then it holds, and the next request goes on from there.
"""

import sys

from mbs_core.control.lid import ASSISTING, FAULT, Tuning, state_name
from mbs_core.errors import MbsError
from mbs_haptics import environment

PERIOD = 0.02           # s between looks
QUIET = 1.0             # s without motion after which the lid forgives a hand
STILL = 0.003           # rad/s
OLD = 0.5               # s after which the model counts as silent
REPLY = 2.0             # s until rosbotran must have answered
ERROR = 2               # of diagnostic_msgs/DiagnosticStatus
PARTS = {'rosbotran: loop': 'rosbotran', 'roscom: link': 'roscom'}      # whose diagnostics tell a fault
SIGNALS = ('sigma', 'w', 'soft', 'hit', 'theta_o')


class Watched:
    """What the node knows of the lid, without ROS: the model's outputs, the faults of both nodes, and the lid's state."""

    def __init__(self, space='', tuning=None):
        self.space, self.c = space.rstrip('/'), tuning or Tuning()
        self.seen, self.when, self.faults = {}, None, {}
        self.quiet, self.last = 0.0, None

    def outputs(self, names, values, now):
        """Take the model's outputs, at time now in s."""
        self.seen, self.when = dict(zip(names, values)), now

    def diagnosed(self, name, level, message):
        """Take one status of /diagnostics; those of other stacks and parts are left alone."""
        part = PARTS.get(name.removeprefix(f'{self.space}/')) if name.startswith(f'{self.space}/') else None
        if part and level >= ERROR:
            self.faults[part] = message
        elif part:
            self.faults.pop(part, None)

    def problem(self, now) -> str:
        """Return why the lid is in a fault, '' if it is not."""
        if self.faults:
            return '; '.join(f'{part}: {message}' for part, message in sorted(self.faults.items()))
        if self.when is None or now - self.when > OLD:
            return 'the model is silent: is rosbotran active?'
        missing = [signal for signal in SIGNALS if signal not in self.seen]
        if missing:
            return f"the model's outputs lack '{missing[0]}': add it to rosbotran's parameter 'outputs'"
        if any(value != value for value in self.seen.values()):
            return 'the model tells values that are not numbers'
        return ''

    def name(self, now) -> str:
        """Return the name of the lid's state."""
        if self.problem(now):
            return FAULT
        s = self.seen
        return state_name(s['sigma'], s['w'], s['soft'] > 0.5, self.c)

    def forgives(self, name) -> bool:
        """Tell, asked every PERIOD, whether a hand that was met has gone and the lid is still: it shall hold again."""
        tilt = self.seen.get('theta_o', 0.0)
        moved = self.last is not None and abs(tilt - self.last) > STILL * PERIOD
        self.last = tilt
        self.quiet = 0.0 if moved or name != ASSISTING else self.quiet + PERIOD
        if self.seen.get('hit', 0.0) > 0.5 and self.quiet > QUIET:
            self.quiet = 0.0
            return True
        return False


def make_node(context=None):
    """Return the node; ROS is needed from here on."""
    from diagnostic_msgs.msg import DiagnosticArray
    from rcl_interfaces.msg import Parameter as ParameterMessage
    from rcl_interfaces.msg import ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParametersAtomically
    from rclpy.callback_groups import ReentrantCallbackGroup
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from std_srvs.srv import SetBool, Trigger

    class Lid(Node):
        """Commands in, state out."""

        def __init__(self):
            super().__init__('lid', context=context)
            self.lid, self.told, self.pending = Watched(self.get_namespace()), '', {}
            group = ReentrantCallbackGroup()         # one thread, but a request that waits for its reply must not keep the reply waiting
            self.state = self.create_publisher(String, '~/state', QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
            self.create_subscription(JointState, 'model_outputs', self._on_outputs, QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
                                     callback_group=group)
            self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10, callback_group=group)
            self.setter = self.create_client(SetParametersAtomically, 'rosbotran/set_parameters_atomically', callback_group=group)
            for name, command in (('open', 1.0), ('close', -1.0), ('hold', 0.0)):
                self.create_service(Trigger, f'~/{name}', self._service(name, lambda request, c=command: (c, 0.0)), callback_group=group)
            self.create_service(SetBool, '~/assist', self._service('assist', lambda request: (0.0, float(request.data))), callback_group=group)
            self.create_timer(PERIOD, self._look, callback_group=group)

        @property
        def now(self):
            """The time in s."""
            return self.get_clock().now().nanoseconds * 1e-9

        def _on_outputs(self, message):
            self.lid.outputs(message.name, message.position, self.now)

        def _on_diagnostics(self, message):
            for status in message.status:
                level = status.level if isinstance(status.level, int) else int.from_bytes(status.level, 'little')
                self.lid.diagnosed(status.name, level, status.message)

        def _service(self, what, wanted):
            async def answer(request, response):
                before = self.lid.name(self.now)
                problem = self.lid.problem(self.now)
                if problem:
                    problem += '; mend it, then `haptic reset` and `haptic enable`'
                else:
                    problem = await self._set(*wanted(request))
                response.success = not problem
                response.message = f'{what} was refused: {problem}' if problem else f'{what}: from {before}'
                return response
            return answer

        async def _set(self, command, assist) -> str:
            """Set the controller's commands; return '' once rosbotran has taken them, else why not."""
            if not self.setter.service_is_ready():
                return 'rosbotran does not take parameters; is it running?'
            values = {'model.command': command, 'model.assist': assist}
            future = self.setter.call_async(SetParametersAtomically.Request(parameters=[
                ParameterMessage(name=n, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=v)) for n, v in values.items()]))
            self.pending[future] = self.now + REPLY
            answer = await future
            self.pending.pop(future, None)
            if answer is None:
                return f'rosbotran has not answered within {REPLY:g} s'
            return '' if answer.result.successful else answer.result.reason or 'rosbotran refused it without a reason'

        def _look(self):
            for future, end in list(self.pending.items()):
                if self.now > end and not future.done():
                    self.setter.remove_pending_request(future)
                    future.set_result(None)
            name = self.lid.name(self.now)
            if name != self.told:
                self.told = name
                self.state.publish(String(data=name))
                if name == FAULT:
                    self.get_logger().warning(self.lid.problem(self.now))
            if self.lid.forgives(name):
                self.executor.create_task(self._set(0.0, 0.0))

    return Lid()


def main(args=None):
    """Run the node until SIGINT or SIGTERM; return 0, or 2 after one sentence if it can't start."""
    try:
        environment.need_ros()
    except MbsError as error:
        print(f'lid: {error}', file=sys.stderr)
        return 2
    import rclpy
    from rclpy.executors import ExternalShutdownException
    rclpy.init(args=args)
    node = make_node()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
