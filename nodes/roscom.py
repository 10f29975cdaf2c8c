"""roscom: the bridge node between a device and ROS topics, talker and listener in one.

Device -> link -> decode, calibrate, estimate -> `joint_states`; `setpoint` -> clamp -> link -> device. A thread of its own
serves the link; the executor serves services, parameters and diagnostics and is never in the way. A virtual device is
held by a simulated hand, which whoever publishes on `hand` can move.
"""

import ctypes
import math
import re
import signal
import sys

from mbs_core.errors import MbsError
from mbs_haptics import environment

PARAMETERS = {
    'device': ('virtual', 'virtual, serial, udp or replay'),
    'port': ('', 'serial port, host:port, or recording; for virtual: udp or pty'),
    'config': ('lever', 'configuration of the device: a YAML file, or the name of one in config/'),
    'calibration': ('', 'calibration written by `haptic calibrate`; empty: the numbers of the configuration'),
    'baud': (1_000_000, 'bits per second of a serial port'),
    'watchdog_ms': (200.0, 'set-point time-out of a virtual device; real ones have their own 10 ms'),
    'repeat': (False, 'begin a recording again at its end'),
    'priority': (70, 'SCHED_FIFO priority of the link thread, where permitted; 0: none'),
    'autostart': (True, 'configure and activate at once; otherwise wait for lifecycle transitions'),
}


def move_hand(device, message):
    """Let the hand that holds a virtual device do what a message says: names of the plant with their values as positions.

    Names that are none and values that are not finite are left out: a simulated hand is not worth a fault.
    """
    for name, value in zip(message.name, message.position):
        if re.fullmatch(r'[a-z_]+(\.[a-z_]+)?', name) and math.isfinite(value):
            device.tell(f'set {name} {value:.9g}')


def make_node(**options):
    """Return the node (rclpy must be initialised); options go to the node."""
    import rclpy.lifecycle
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.lifecycle import TransitionCallbackReturn
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool, Trigger

    from mbs_haptics.bridge import config as configuration
    from mbs_haptics.bridge import topics
    from mbs_haptics.bridge.pipeline import Pipeline
    from mbs_haptics.bridge.worker import Worker
    from mbs_haptics.links import LinkEnded, Session, make_link
    from mbs_haptics.realtime import messages, ros

    class Roscom(rclpy.lifecycle.LifecycleNode):
        """The bridge; configuring opens the link, activating lets samples and set-points through."""

        def __init__(self):
            super().__init__('roscom', **options)
            for name, (value, text) in PARAMETERS.items():
                self.declare_parameter(name, value, ParameterDescriptor(description=text, read_only=name != 'autostart'))
            self.worker = self.problem = self._hand = None
            self.has_ended = False
            self._said = None
            self.create_service(SetBool, '~/enable', self._enable)
            for name, call in (('estop', self._estop), ('reset', self._reset), ('calibrate', self._calibrate)):
                self.create_service(Trigger, f'~/{name}', call)
            self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
            self.create_timer(1.0, self._report)

        def value(self, name):
            """Return a parameter."""
            return self.get_parameter(name).value

        # -- lifecycle -----------------------------------------------------------------------
        def on_configure(self, state):
            """Read the configuration, open the link, greet the device and start the link's thread."""
            try:
                self._open()
            except MbsError as error:
                self.problem = str(error)
                if not self.value('autostart'):         # else main() says it, and ends
                    self.get_logger().error(self.problem)
                return TransitionCallbackReturn.FAILURE
            return TransitionCallbackReturn.SUCCESS

        def _open(self):
            config = configuration.load(self.value('config'), self.value('calibration'))
            kind = self.value('device')
            more = {'serial': {'baud': self.value('baud')}, 'virtual': {'watchdog_ms': self.value('watchdog_ms')},
                    'replay': {'repeat': self.value('repeat'), 'joints': config.names,
                               'auxiliary': config.auxiliary_names}}.get(kind, {})
            link = make_link(kind, self.value('port'), config.app, **more)
            session = Session(link, app='replay' if kind == 'replay' else config.app, first_sequence=topics.first_sequence())
            codec = messages.rclpy_codec(JointState)
            writer = topics.SampleWriter(codec, config.names, config.auxiliary_names)
            reader = topics.SetpointReader(codec, config.names)
            self._publisher = self.create_publisher(JointState, topics.JOINT_STATES, ros.CONTROL_QOS)
            self._subscription = self.create_subscription(JointState, topics.SETPOINT, lambda message: None, ros.CONTROL_QOS,
                                                          callback_group=ros.NeverServed())
            # The superclass's publisher would stay silent while inactive; the worker sees to that itself.
            raw, handle = self._publisher.handle.publish_raw, self._subscription.handle

            def take():
                with handle:
                    found = handle.take_message(JointState, True)
                return None if found is None else found[0]
            worker = None
            try:
                # Before the handshake, which costs time, so that no sample is left waiting in the link after it.
                worker = Worker(session, None, lambda *numbers: raw(writer.bytes(*numbers)), take, reader.read, self._ended)
                device = session.connect()
                if kind == 'replay':
                    config = configuration.replay_config(config, device.sensors)
                worker.pipeline = Pipeline(config, device)
                if kind == 'virtual':
                    for name, number in config.plant.items():
                        link.device.ask(name)                   # says that there is none of this name
                        link.device.tell(f'set {name} {number:.9g}')
            except MbsError:
                session.close()
                self._destroy()
                raise
            self._wake(worker)
            if kind == 'virtual':
                self._hand = self.create_subscription(JointState, topics.HAND, lambda message: move_hand(link.device, message), 10)
            self.worker, self.problem, self.reader = worker, None, reader
            worker.start(self.value('priority'))
            self.get_logger().info(f'{device.app} ({device.firmware}) at {link.name}, {device.main_rate_hz} samples a second')

        def _wake(self, worker):
            """Let a new set-point wake the link's thread: the middleware calls eventfd_write itself, without Python."""
            try:
                self._set = ros.librcl()[0].rcl_subscription_set_on_new_message_callback
            except MbsError as error:
                self._set = None
                worker.look_always()
                self.get_logger().warning(f'set-points are forwarded at the next sample only: {error}')
                return
            self._set.argtypes, self._set.restype = [ctypes.c_void_p] * 3, ctypes.c_int
            call = ctypes.cast(ctypes.CDLL(None).eventfd_write, ctypes.c_void_p)
            self._set(self._subscription.handle.pointer, call, worker.wake_fd)

        def on_activate(self, state):
            """Let samples and set-points through; the device stays disarmed until ~/enable."""
            self.worker.active = True
            return super().on_activate(state)

        def on_deactivate(self, state):
            """Disarm the device; nothing passes any more."""
            self.worker.request('DISARM')
            self.worker.active = False
            return super().on_deactivate(state)

        def on_cleanup(self, state):
            """Close the link."""
            self.close()
            return TransitionCallbackReturn.SUCCESS

        on_shutdown = on_cleanup

        def close(self):
            """Send zero force, disarm, close the link and end a virtual device."""
            worker, self.worker = self.worker, None
            if worker is not None:
                if self._set is not None:
                    self._set(self._subscription.handle.pointer, None, None)
                worker.stop()
                self._destroy()

        def _destroy(self):
            self.destroy_publisher(self._publisher)
            self.destroy_subscription(self._subscription)
            if self._hand is not None:
                self.destroy_subscription(self._hand)
                self._hand = None

        def _ended(self):
            """Note that the link's thread is over; called by that thread."""
            self.has_ended = True

        # -- services ------------------------------------------------------------------------
        def _ask(self, name, response):
            if self.worker is None:
                response.success, response.message = False, 'the link is not open: configure the node first'
                return response
            sentence = self.worker.request(name)
            response.success, response.message = not sentence, sentence or f'{name.lower()} done'
            self._log(response.message, not response.success)
            return response

        def _log(self, text, is_warning):
            """Log; each level on a line of its own, because rclpy ties a line to the level it first had."""
            if is_warning:
                self.get_logger().warning(text)
            else:
                self.get_logger().info(text)

        def _enable(self, request, response):
            if request.data and self.worker is not None and not self.worker.active:
                response.success, response.message = False, 'the node is not active: activate it first'
                return response
            return self._ask('ARM' if request.data else 'DISARM', response)

        def _estop(self, request, response):
            return self._ask('ESTOP', response)

        def _reset(self, request, response):
            return self._ask('RESET', response)

        def _calibrate(self, request, response):
            try:
                if self.worker is None:
                    raise MbsError('the link is not open: configure the node first')
                response.success, response.message = True, self.worker.tare()
            except MbsError as error:
                response.success, response.message = False, str(error)
            return response

        # -- diagnostics ---------------------------------------------------------------------
        def _report(self):
            message = DiagnosticArray()
            message.header.stamp = self.get_clock().now().to_msg()
            level, text, values = self.status()
            self._say(level, text)
            status = DiagnosticStatus(name=f'{self.get_fully_qualified_name()}: link', hardware_id=str(self.value('port') or
                                      self.value('device')), message=text)
            status.level = (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR)[level]
            status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
            message.status = [status]
            self._diagnostics.publish(message)

        def _say(self, level, text):
            """Log a change for the better or worse once."""
            if (level, text) != self._said and (level or (self._said or (0,))[0]):
                self._log(text, level > 0)
            self._said = (level, text)

        def status(self) -> tuple:
            """Return (0 ok, 1 warning or 2 error, one sentence, {name: value})."""
            worker = self.worker
            if worker is None:
                return 2, self.problem or 'not configured', {}
            session, pipeline, link = worker.session, worker.pipeline, worker.session.link.statistics
            complaint = '; '.join(filter(None, (joint.complaint() for joint in pipeline.joints)))
            level, text = 0, session.state_name
            if not session.is_ready:
                level, text = 2, session.problem
            elif session.fault:
                level, text = 2, f'the device has latched fault {session.fault} (docs/faults.md): reset, then enable'
            elif complaint:
                level, text = (2 if worker.motions is None else 1), complaint
            gap, session.largest_gap_us = session.largest_gap_us, 0
            sync, latencies = session.clock_sync, sorted(worker.latencies_us) or [0]
            return level, text, {
                'state': session.state_name, 'states': session.states, 'lost': session.lost, 'repeated': session.repeated,
                'refused_frames': link.refused_total, 'published': worker.published, 'setpoints': worker.setpoints,
                'setpoints_skipped': session.skipped, 'setpoints_refused': pipeline.refused + self.reader.refused,
                'setpoints_clamped': pipeline.clamped, 'samples_not_believed': pipeline.unbelieved,
                'connections': session.connections, 'largest_gap_us': gap,
                'loop_latency_us': latencies[len(latencies) // 2], 'loop_latency_max_us': latencies[-1],
                'round_trip_us': sync.round_trip_us, 'drift_ppm': round(sync.drift * 1e6, 1) if sync.is_known else 'unknown',
                **{f'device_{name}': value for name, value in session.counters.items() if name not in ('thermal', 'fast_us')},
            }

        # -- running -------------------------------------------------------------------------
        def start(self) -> bool:
            """Configure and activate, unless the parameters say otherwise; tell whether that went well."""
            if not self.value('autostart'):
                return True
            self.trigger_configure()
            if self.worker is None:
                return False
            self.trigger_activate()
            for notice in self.worker.notices:
                self.get_logger().info(notice)
            return True

        def exit_code(self) -> int:
            """Return 0 when the link's thread ended well (a recording ran out), else 1; logs why."""
            error = self.worker.error if self.worker else None
            if error is None or isinstance(error, LinkEnded):
                self.get_logger().info(str(error or 'ended'))
                return 0
            self.get_logger().fatal(f'the link thread ended: {error!r}')
            return 1

    return Roscom()


class _Stopped(BaseException):
    """Ctrl-C or SIGTERM."""


def main(args=None):
    """Run the node until Ctrl-C, SIGTERM or the end of a recording; return the exit code."""
    def stop(number, frame):
        raise _Stopped
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        environment.need_ros()
    except MbsError as error:
        print(f'roscom: {error}', file=sys.stderr)
        return 2
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    node = None
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = make_node()
        if not node.start():
            print(f'roscom: {node.problem}', file=sys.stderr)
            return 2
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not node.has_ended:
            executor.spin_once(timeout_sec=0.2)
        return node.exit_code()
    except _Stopped:
        return 0
    except MbsError as error:
        print(f'roscom: {error}', file=sys.stderr)
        return 2
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if node is not None:
            node.close()
            node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
