"""rosbotran: the node that renders a mechanism. Measured motion in, model force out.

The node itself is in model/node.py; here it is started and ended. Signals are ours from the very first moment: rclpy's own
handlers would end the publishers before the last zero set-point has left.
"""

import signal
import sys
import time

from mbs_core.errors import MbsError
from mbs_haptics import environment
from mbs_haptics.priority import MIDDLEWARE, inherited_priority

PATIENCE = 2.0          # s after which a second signal interrupts whatever is going on


def main(args=None):
    """Run the node until SIGINT or SIGTERM; return 0, or 2 after one sentence if it can't start."""
    asked = []

    def ask(*_):
        asked.append(time.monotonic())
        if asked[-1] > asked[0] + PATIENCE:         # busy with something long, such as compiling
            raise SystemExit(0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    try:
        environment.need_ros()
    except MbsError as error:
        print(f'rosbotran: {error}', file=sys.stderr)
        return 2
    return serve(args, asked)


def serve(args, asked):
    """Spin the node until `asked` holds something; the last thing it does is to send zero force."""
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from rclpy.lifecycle import TransitionCallbackReturn
    from rclpy.signals import SignalHandlerOptions

    from mbs_haptics.model.node import Rosbotran
    node = None
    try:
        with inherited_priority(MIDDLEWARE):
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
            node = Rosbotran()
        if not asked and node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return 2
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not asked:
            executor.spin_once(timeout_sec=0.2)
    except MbsError as error:
        print(f'rosbotran: {error}', file=sys.stderr)
        return 2
    except ExternalShutdownException:
        pass
    finally:
        if node is not None:
            node.release()
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
