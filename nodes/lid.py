"""lid: the node with the lid's services and state; the controller itself is native code inside rosbotran's model.

Services `~/open`, `~/close`, `~/hold` (Trigger) and `~/assist` (SetBool) set the controller's commands; `~/state` tells one of
closed, rising, idle, opening, open, closing, assisting, fault, latched for who comes late. After a hand was met the lid is
weightless until nothing has moved for a second; then it holds, and the next request goes on from there.
"""

import sys

from mbs_core.control.lid import ASSISTING, FAULT, Tuning, state_name
from mbs_core.errors import MbsError
from mbs_haptics import environment

PERIOD = 0.02           # s between looks
QUIET = 1.0             # s without motion after which the lid forgives a hand
STILL = 0.003           # rad/s
OLD = 0.5               # s after which the model counts as silent
SIGNALS = ('sigma', 'w', 'soft', 'hit', 'theta_o')


def make_node():
    """Return the node; ROS is needed from here on."""
    from rcl_interfaces.msg import Parameter as ParameterMessage
    from rcl_interfaces.msg import ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParametersAtomically
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from std_srvs.srv import SetBool, Trigger

    class Lid(Node):
        """Commands in, state out."""

        def __init__(self):
            super().__init__('lid')
            self.c, self.seen, self.when, self.told, self.quiet, self.last = Tuning(), {}, None, '', 0.0, None
            self.state = self.create_publisher(String, '~/state', QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
            self.create_subscription(JointState, 'model_outputs', self._on_outputs, QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
            self.setter = self.create_client(SetParametersAtomically, 'rosbotran/set_parameters_atomically')
            for name, command in (('open', 1.0), ('close', -1.0), ('hold', 0.0)):
                self.create_service(Trigger, f'~/{name}', lambda request, response, c=command, n=name: self._ask(response, n, c, 0.0))
            self.create_service(SetBool, '~/assist', lambda request, response: self._ask(response, 'assist', 0.0, float(request.data)))
            self.create_timer(PERIOD, self._look)

        def _on_outputs(self, message):
            self.seen = dict(zip(message.name, message.position))
            self.when = self.get_clock().now()

        @property
        def name(self):
            """The name of the lid's state; fault while the model says nothing."""
            silent = self.when is None or (self.get_clock().now() - self.when).nanoseconds > OLD * 1e9
            if silent or any(signal not in self.seen for signal in SIGNALS):
                return FAULT
            s = self.seen
            return state_name(s['sigma'], s['w'], s['soft'] > 0.5, self.c, s.get('grip', 0.0) != s.get('grip', 0.0))

        def _ask(self, response, what, command, assist):
            if self.name == FAULT:
                response.success, response.message = False, (f'{what} was refused: the lid has a fault or its model is silent; see the '
                                                             'diagnostics, then `haptic reset` and `haptic enable`')
            elif not self._set(command, assist):
                response.success, response.message = False, f'{what} was refused: rosbotran does not take parameters; is it running?'
            else:
                response.success, response.message = True, f'{what}: from {self.name}'
            return response

        def _set(self, command, assist):
            if not self.setter.service_is_ready():
                return False
            values = {'model.command': command, 'model.assist': assist}
            self.setter.call_async(SetParametersAtomically.Request(parameters=[
                ParameterMessage(name=n, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=v)) for n, v in values.items()]))
            return True

        def _look(self):
            name = self.name
            if name != self.told:
                self.told = name
                self.state.publish(String(data=name))
            self._forgive(name)

        def _forgive(self, name):
            """Hold again when a hand that was met has gone and the lid is still."""
            tilt = self.seen.get('theta_o', 0.0)
            moved = self.last is not None and abs(tilt - self.last) > STILL * PERIOD
            self.last = tilt
            self.quiet = 0.0 if moved or name != ASSISTING else self.quiet + PERIOD
            if self.seen.get('hit', 0.0) > 0.5 and self.quiet > QUIET:
                self.quiet = 0.0
                self._set(0.0, 0.0)

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
