"""The node rosbotran: load a mechanism, run its loop, take parameters and services, tell what happened.

The loop (realtime/) runs on a thread of its own and needs nothing from here while it runs. The node carries its life
cycle (configure: load and run with zero force; activate: let the force rise; deactivate: let it decay), takes parameters and
services, and publishes wrench, markers and diagnostics.
"""

import json
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from mbs_core.errors import MbsError, suggest
from mbs_core.runtime import compile_model
from mbs_haptics.bridge.topics import sample_names
from mbs_haptics.model import load, report
from mbs_haptics.model.parameters import INPUT, PREFIX, Gate, as_double, descriptor, kind
from mbs_haptics.realtime.ros import make_loop

OWN = ('model.', 'inputs.', 'limits.', 'timing.', 'channels.', 'passivity.')     # a name that begins so and isn't known is a mistake
HOUSEKEEPING = 0.1          # s between looks at faults and at the wish to start


class Rosbotran(LifecycleNode):
    """The node. `loop` is None until it is configured."""

    def __init__(self, **options):
        super().__init__('rosbotran', **options)
        self.loop, self.model, self.gate = None, None, Gate({})
        self._reason, self._last, self._seen, self._names = '', (0, 0.0), 0, set()
        self._start = self.setting('autostart', True)
        self.create_service(SetBool, '~/enable', self._on_enable)
        self.create_service(Trigger, '~/estop', self._on_estop)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(Trigger, '~/statistics', self._on_statistics)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._wrench = self.create_publisher(WrenchStamped, 'wrench', 10)
        self._markers = self.create_publisher(MarkerArray, 'markers', 10)
        self.create_timer(1.0 / self._positive('diagnostics_rate_hz', 2.0), self._tell_diagnostics)
        self.create_timer(1.0 / self._positive('view_rate_hz', 20.0), self._tell_view)
        self.create_timer(HOUSEKEEPING, self._housekeeping)

    # -- settings --------------------------------------------------------------------------------
    def setting(self, name, default):
        """Declare a setting that stays while the node runs (once), and return its value."""
        if not self.has_parameter(name):
            given = self._parameter_overrides.get(name)
            if given is not None and isinstance(default, float):
                given = self._parameter_overrides[name] = as_double(given)
            try:
                self.declare_parameter(name, default, ParameterDescriptor(read_only=True))
            except (InvalidParameterTypeException, InvalidParameterValueException):
                wanted = kind(Parameter(name, value=default))
                raise MbsError(f"the parameter '{name}' must be {wanted}, not {given.value!r}") from None
            self._names.add(name)
        return self.get_parameter(name).value

    def _positive(self, name, default):
        value = self.setting(name, default)
        if not 0 < value <= 1000:
            raise MbsError(f"the parameter '{name}' must be above 0 and at most 1000, not {value:g}")
        return value

    def _refuse_unknown(self):
        for name in self._parameter_overrides:
            if name.startswith(OWN) and not self.has_parameter(name):
                raise MbsError(f"there is no parameter '{name}'{suggest(name, [*self._names, *(PREFIX + p for p in self.gate.declared)])}")

    # -- life cycle ------------------------------------------------------------------------------
    def on_configure(self, state):
        """Load the mechanism, declare its parameters, and start the loop with zero force."""
        return self._try(self._configure)

    def on_activate(self, state):
        """Let the force rise from zero, if samples come and the model is at rest with them."""
        return self._try(self._activate)

    def on_deactivate(self, state):
        """Let the force decay."""
        return self._try(self._deactivate)

    def on_cleanup(self, state):
        """Stop the loop with zero set-points and forget the mechanism."""
        return self._try(self.release)

    def on_shutdown(self, state):
        """Stop the loop with zero set-points."""
        return self._try(self.release)

    def _try(self, action):
        self._reason = ''
        try:
            action()
        except MbsError as error:
            self._reason = str(error)
            self.get_logger().error(self._reason)
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _configure(self):
        mechanism = load.mechanism_of(self.setting)
        settings = load.settings_of(self.setting, mechanism)
        self.model = compile_model(mechanism)
        self.gate = Gate(self.model.parameters, settings.commanded)
        start = {name: self._declare(p) for name, p in self.model.parameters.items()}
        self._damping, self._latency = load.passivity_of(self.setting)
        self._frame = self.setting('frame', 'base_link')
        self._refuse_unknown()
        self._scratch = self.model.state()
        self.loop = self._make_loop(settings)
        self.loop.set_parameters(start, {i.name: self._declare_input(i) for i in settings.commanded})
        self.add_on_set_parameters_callback(self._apply)
        self.loop.start()
        for notice in self.loop.notices:
            self.get_logger().warning(notice)
        self.get_logger().info(f"'{mechanism.name}' at {settings.rate_hz:g} Hz, {'native' if self.loop.native else 'rclpy'} loop, "
                               f"{self.setting('mode', '')}: {', '.join(c.joint for c in settings.channels)}")

    def _declare(self, p, prefix=PREFIX, start=None):
        name = prefix + p.name
        given = self._parameter_overrides.get(name)
        if given is not None:
            self._parameter_overrides[name] = as_double(given)
        try:
            return self.declare_parameter(name, float(p.default if start is None else start), descriptor(p)).value
        except (InvalidParameterTypeException, InvalidParameterValueException):
            value = given.value
            raise MbsError(f"'{name}' must be a number from {p.low:g} to {p.high:g} {p.unit}, not {value!r}") from None

    def _declare_input(self, i):
        own = self.model.inputs[i.name]
        given = self.gate.inputs[i.name] = self.gate.inputs[i.name]._replace(unit=own.unit, doc=own.doc)
        return self._declare(given, INPUT, i.value)

    def _make_loop(self, settings):
        joints = [c.joint for c in settings.channels]
        names = [name for name in self.setting('sample_joints', ['']) if name] or sample_names(joints, load.auxiliary_of(self.setting))
        every = max(1, round(settings.rate_hz / self._positive('state_rate_hz', 100.0)))
        topics, outlets = ['model_state'], [report.model_state_outlet(self.model, every)]
        names_out = load.outputs_of(self.setting, self.model.mechanism)
        if names_out:
            topics.append('model_outputs')
            outlets.append(report.outputs_outlet(self.model, names_out, max(1, round(settings.rate_hz / self._positive('output_rate_hz', 1000.0)))))
        way, cpu = self.setting('loop', 'native'), self.setting('cpu', -1)
        if way not in ('native', 'rclpy'):
            raise MbsError(f"the parameter 'loop' is 'native' or 'rclpy', not '{way}'")
        options = {'joints': names, 'outlets': lambda block: [o for make in outlets for o in make(block)], 'topics': topics,
                   'types': [JointState] * len(topics), 'priority': self.setting('priority', 80), 'cpu': cpu if cpu >= 0 else None}
        if way == 'native':
            try:
                return make_loop(self, settings, self.model, native=True, **options)
            except MbsError as error:
                if 'librcl' not in str(error):
                    raise
                self.get_logger().warning(f'{error}; going on with the rclpy loop')
        return make_loop(self, settings, self.model, native=False, **options)

    def _activate(self):
        if self._damping > 0:
            self._scratch._par[:] = self.loop.block.state._par
            self.model.unit.library.call('pre', self._scratch.x)
            load.check_passivity(self.loop.settings, self._scratch, self.loop.block.view('q').tolist(), self._damping, self._latency)
        self.loop.enable()

    def _deactivate(self):
        self.loop.disable()
        end = time.monotonic() + 2 * self.loop.settings.decay + 0.2
        while self.loop.state == 'stopping' and time.monotonic() < end:
            time.sleep(1e-3)

    def release(self):
        """Stop the loop, which sends zero set-points last, and forget the mechanism; releasing twice is allowed."""
        loop, self.loop = self.loop, None
        if loop is None:
            return
        loop.stop()
        loop.link.destroy()
        self.remove_on_set_parameters_callback(self._apply)
        for name in self.model.parameters:
            self.undeclare_parameter(PREFIX + name)
        for name in self.gate.inputs:
            self.undeclare_parameter(INPUT + name)
        self.gate = Gate({})

    @property
    def phase(self) -> str:
        """The state of the life cycle."""
        return self._state_machine.current_state[1]

    # -- parameters ------------------------------------------------------------------------------
    def set_parameters(self, parameter_list):
        """Set parameters one by one."""
        return [self.set_parameters_atomically([p]) for p in parameter_list]

    def set_parameters_atomically(self, parameter_list):
        """Set all parameters or none; what is refused is told in one sentence."""
        try:
            parameters = self.gate.check(parameter_list, self, self.loop is not None and self.loop.state in ('active', 'stopping'))
        except MbsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return super().set_parameters_atomically(parameters)

    def _apply(self, parameters):
        """Hand a checked batch to the loop; the last one to be asked, so that ROS and the loop never differ."""
        batch, commands = self.gate.batch(parameters), self.gate.commands(parameters)
        try:
            if (batch or commands) and self.loop is not None:
                self._check_pose(batch)
                self.loop.set_parameters(batch, commands)
        except MbsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check_pose(self, batch):
        """Refuse parameters with which the loops of the mechanism could not be closed where it is now."""
        if not batch or not self.model.mechanism.loops:
            return
        state = self._scratch
        state.q[:], state.v[:] = self.loop.block.state.q, 0.0
        for name in self.model.parameters:
            state._par[self.model.parameters[name].index] = self.loop.parameter(name) * self.model.parameters[name].factor
        state.set(batch)
        for c in self.model.mechanism.driven:
            state.drive(c.name, float(state.q[c.position]))
        state.assemble()

    # -- services --------------------------------------------------------------------------------
    def _on_enable(self, request, response):
        wanted = 'active' if request.data else 'inactive'
        self._start = False
        if self.loop is None:
            response.success, response.message = False, 'there is no mechanism: configure the node first'
        elif request.data and self.loop.state == 'fault':
            response.success, response.message = False, f"enable was refused: the fault '{self.loop.fault}' is latched; reset first"
        elif self.phase == wanted:
            response.success, response.message = True, f'already {wanted}'
        else:
            done = self.trigger_activate() if request.data else self.trigger_deactivate()
            response.success = done == TransitionCallbackReturn.SUCCESS
            response.message = wanted if response.success else self._reason
        return response

    def _on_estop(self, request, response):
        if self.loop is not None:
            self.loop.estop()
        self._start = False
        response.success, response.message = True, 'stopped: set-points are zero until reset and enable'
        return response

    def _on_reset(self, request, response):
        try:
            if self.loop is not None:
                self._settle()
                self.loop.reset()
            response.success, response.message = True, 'reset: inactive, enable starts from zero force'
        except MbsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_statistics(self, request, response):
        if self.loop is None:
            response.success, response.message = False, 'there is no mechanism: configure the node first'
        else:
            response.success, response.message = True, json.dumps({'phase': self.phase, **report.figures(self.loop)})
        return response

    # -- beside the loop -------------------------------------------------------------------------
    def _settle(self):
        """Follow the loop into a fault: the life cycle is inactive then."""
        if self.phase == 'active' and self.loop.state == 'fault':
            self.get_logger().error(f"fault '{self.loop.fault}': set-points are zero; call ~/reset, then ~/enable")
            self.trigger_deactivate()

    def _housekeeping(self):
        if self.loop is None:
            return
        self._settle()
        fresh = self.loop.block['have'] and self.loop.block['age'] < self.loop.settings.stale_after * 1e9
        if self._start and self.phase == 'inactive' and self.loop.state == 'inactive' and fresh:
            if self.trigger_activate() == TransitionCallbackReturn.SUCCESS:
                self._start = False
        refused = self.loop.block['refused_layout']
        if refused > self._seen == 0:
            self.get_logger().error(f"samples on 'joint_states' are refused: they don't have the joints {', '.join(self._joint_names())} "
                                    "with positions, velocities and efforts; check 'joints' and 'sample_joints'")
        self._seen = refused

    def _joint_names(self):
        return list(self.loop.block.sample._message.name)

    def _tell_diagnostics(self):
        if self.loop is None:
            return
        now, ticks = self.get_clock().now(), self.loop.block['ticks']
        before, when = self._last
        seconds = now.nanoseconds * 1e-9 - when
        self._last = ticks, now.nanoseconds * 1e-9
        rate = (ticks - before) / seconds if seconds > 0 else 0.0
        self._diagnostics.publish(report.diagnostics(self.get_fully_qualified_name(), report.figures(self.loop), rate, now.to_msg()))

    def _tell_view(self):
        if self.loop is None:
            return
        stamp = self.get_clock().now().to_msg()
        self._wrench.publish(report.wrench(self.loop, self._frame, stamp))
        if self._markers.get_subscription_count():
            self._markers.publish(report.markers(self.loop, self._frame, stamp))
