"""roscom as a process: samples and set-points at the device's rate, services, replugging, refusals, a clean end."""

import importlib.util
import os
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from fake_device import FakeDevice
from stack import free_domain

from mbs_haptics import environment

HAS_ROS = importlib.util.find_spec('rclpy') is not None
DOMAIN = free_domain()


def shake(t):
    """Return the counts of a key that moves a little, with the noise of real sensors."""
    z, v = 3e-3 * np.sin(9 * t), 27e-3 * np.cos(9 * t)
    noise = np.random.normal(0, 2, 3)
    return [np.sqrt(2.25 + 612 * z) * 19854.5 + noise[0], np.sqrt(2.25 - 612 * z) * 19854.5 + noise[1],
            32760 + v * 19854.5 + noise[2]], None


class Roscom:
    """The node as a process of its own, in a namespace of its own."""

    def __init__(self, *parameters, namespace='t'):
        environ = environment.ready({**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)})
        words = [word for parameter in parameters for word in ('-p', parameter)]
        self.process = subprocess.Popen([sys.executable, '-m', 'mbs_haptics.roscom', '--ros-args', '-r', f'__ns:=/{namespace}', *words],
                                        env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.words = ''

    def wait_for(self, text, seconds=20.0):
        """Read its output until a text comes."""
        end = time.monotonic() + seconds
        while text not in self.words and time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                line = os.read(self.process.stdout.fileno(), 65536).decode()
                if not line:
                    break
                self.words += line
        assert text in self.words, self.words
        return self

    def end(self, number=signal.SIGINT):
        """Send a signal and return (exit code, all that it said)."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            rest = self.process.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest = self.process.communicate()[0] + '\n(killed)'
        return self.process.returncode, self.words + rest

    def __enter__(self):
        """Return itself."""
        return self

    def __exit__(self, *_):
        """End it whatever happened."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


if HAS_ROS:
    environment.ready()

    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from lifecycle_msgs.srv import GetState
    from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool, Trigger

    from mbs_haptics.realtime import messages
    from mbs_haptics.realtime.ros import CONTROL_QOS

    class Peer:
        """The other side: answers every sample with a set-point, as rosbotran does, and calls services."""

        def __init__(self, joint='lever', namespace='t', force=0.5):
            self.context = rclpy.Context()
            rclpy.init(context=self.context, domain_id=DOMAIN)
            self.node = rclpy.create_node('peer', namespace=namespace, context=self.context)
            self.setpoint = messages.setpoint(messages.rclpy_codec(JointState), [joint])
            self.samples, self.diagnostics, self.clients, self.force, self.answers = [], [], {}, force, True
            self.publisher = self.node.create_publisher(JointState, 'setpoint', CONTROL_QOS)
            # This node is slower than the bridge: a long queue, so that what is missing was missing on the way.
            self.node.create_subscription(JointState, 'joint_states', self.take, QoSProfile(depth=5000, reliability=CONTROL_QOS.reliability))
            self.node.create_subscription(DiagnosticArray, '/diagnostics', self.diagnostics.append, 10)
            self.executor = SingleThreadedExecutor(context=self.context)
            self.executor.add_node(self.node)
            self.thread = threading.Thread(target=self.spin, daemon=True)
            self.thread.start()

        def spin(self):
            """Serve callbacks until the context ends."""
            try:
                while self.context.ok():
                    self.executor.spin_once(timeout_sec=0.1)
            except (ShutdownException, ExternalShutdownException):
                pass

        def take(self, message):
            """Keep a sample and answer it."""
            sequence = messages.sequences(message.header.frame_id)[0]
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            self.samples.append((sequence, stamp, time.time_ns(), *message.position, *message.velocity[:1], *message.effort[:1]))
            if self.answers:
                self.publisher.publish(self.setpoint.message(stamp, len(self.samples), {
                    'effort[0]': self.force, 'position[0]': message.position[0]}, sequence))

        def call(self, name, kind, **fields):
            """Call a service of roscom and return its answer; a call right after discovery may lose it, so try again."""
            if name not in self.clients:
                self.clients[name] = self.node.create_client(kind, f'roscom/{name}')
                assert self.clients[name].wait_for_service(10.0)
                time.sleep(0.2)
            for _ in range(3):
                future = self.clients[name].call_async(kind.Request(**fields))
                if until(future.done, 4.0):
                    return future.result()
            raise AssertionError(f'{name} got no answer')

        def last(self):
            """Return the newest diagnostics of roscom: (level, message, values)."""
            if not self.diagnostics:
                return 0, '', {}
            status = self.diagnostics[-1].status[0]
            return int.from_bytes(status.level, 'little'), status.message, {v.key: v.value for v in status.values}

        def __enter__(self):
            """Return itself."""
            return self

        def __exit__(self, *_):
            """End."""
            self.context.try_shutdown()
            self.thread.join(2.0)

    def until(condition, seconds=10.0):
        """Wait for a condition and tell whether it came."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)
        return condition()

    @pytest.mark.alone
    def test_the_virtual_device_is_armed_felt_stopped_and_reset():
        with Roscom('config:=lever', 'watchdog_ms:=500.0') as node, Peer() as peer:
            node.wait_for('1000 samples a second')
            assert until(lambda: len(peer.samples) > 500)
            assert peer.call('get_state', GetState).current_state.label == 'active'
            done = peer.call('enable', SetBool, data=True)
            assert done.success, done.message
            time.sleep(1.2)                     # the ramp of the firmware
            assert until(lambda: abs(peer.samples[-1][-1]) > 0.3), peer.samples[-1]        # N m, from the measured current
            done = peer.call('calibrate', Trigger)
            assert not done.success and 'while the device is armed' in done.message
            assert peer.call('estop', Trigger).success
            assert until(lambda: abs(peer.samples[-1][-1]) < 0.05, 2.0)
            refused = peer.call('enable', SetBool, data=True)
            assert not refused.success and 'refuses ARM' in refused.message
            assert until(lambda: 'fault 2' in peer.last()[1], 3.0)
            assert peer.call('reset', Trigger).success
            assert peer.call('calibrate', Trigger).success
            assert peer.call('enable', SetBool, data=True).success
            assert peer.call('enable', SetBool, data=False).success
            code, words = node.end()
            assert code == 0 and 'Traceback' not in words, words

    @pytest.mark.alone
    def test_samples_are_in_step_with_the_device_and_accounted_for():
        with FakeDevice('udp', motion=shake) as fake, Roscom('device:=udp', f'port:={fake.address}') as node, Peer() as peer:
            node.wait_for('1000 samples a second')
            assert until(lambda: len(peer.samples) > 200)
            peer.samples.clear()
            time.sleep(3.0)
            peer.diagnostics.clear()
            rows = np.array(peer.samples[:])
            sequence = rows[:, 0].astype(int)
            missing = sequence[-1] - sequence[0] + 1 - len(sequence)
            assert len(rows) > 1000
            stamps = (rows[:, 1] - rows[0, 1]) * 1e-9
            assert np.all(np.diff(stamps) > 0)
            assert stamps[-1] == pytest.approx((sequence[-1] - sequence[0]) * 1e-3, abs=0.05)
            assert np.all(rows[:, 2] >= rows[:, 1] - 2e6)                   # no stamp is of the future
            assert until(lambda: int(peer.last()[2].get('states', 0)) > 3000, 3.0)
            level, _, values = peer.last()
            assert missing <= int(values['lost']) + int(values['samples_not_believed'])     # every one is accounted for
            assert values['refused_frames'] == '0' and level == 0
            assert int(values['setpoints']) > 1000 and float(values['round_trip_us']) < 5000
            assert fake.emulated.accepted > 1000

    @pytest.mark.alone
    def test_a_device_that_is_replugged_publishes_again_and_stays_off():
        fake = FakeDevice('udp', motion=shake).__enter__()
        with Roscom('device:=udp', f'port:={fake.address}') as node, Peer() as peer:
            node.wait_for('1000 samples a second')
            assert until(lambda: len(peer.samples) > 200)
            assert peer.call('enable', SetBool, data=True).success
            fake.unplug()
            assert until(lambda: peer.last()[0] == 2, 5.0)
            count = len(peer.samples)
            refused = peer.call('enable', SetBool, data=True)
            assert not refused.success
            with FakeDevice('udp', port=int(fake.address.split(':')[1]), motion=shake) as again:
                assert until(lambda: len(peer.samples) > count + 50, 10.0)
                assert again.emulated.state == 1 and again.emulated.setpoint == [(0.0, 0.0, 0.0, 0.0)]
            code, words = node.end(signal.SIGTERM)
            assert code == 0 and 'Traceback' not in words, words

    @pytest.mark.alone
    def test_enable_is_refused_while_no_set_points_arrive():
        with FakeDevice('udp', motion=shake) as fake, \
                Roscom('device:=udp', f'port:={fake.address}') as node, Peer() as peer:
            peer.answers = False
            node.wait_for('1000 samples a second')
            time.sleep(0.5)
            refused = peer.call('enable', SetBool, data=True)
            assert not refused.success and 'no set-points arrive' in refused.message

    @pytest.mark.parametrize('parameters, words', [
        (['device:=serial', 'port:=/dev/ttyNONE'], "there is no port '/dev/ttyNONE'"),
        (['device:=serial'], 'wants to know where'),
        (['device:=virtal'], "did you mean 'virtual'"),
        (['device:=udp', 'port:=here'], 'host:port'),
        (['config:=levr'], "did you mean 'lever'"),
        (['device:=replay', 'port:=/nowhere'], 'there is no recording'),
    ])
    def test_a_bad_start_is_one_sentence_and_exit_code_2(parameters, words):
        with Roscom(*parameters) as node:
            node.process.wait(20)
            code, said = node.end()
            assert code == 2
            assert [line for line in said.splitlines() if line.startswith('roscom: ')] == said.strip().splitlines()[-1:]
            assert words in said and 'Traceback' not in said

    def test_another_protocol_version_is_one_sentence():
        with FakeDevice('udp', version=9) as fake, Roscom('device:=udp', f'port:={fake.address}') as node:
            node.process.wait(20)
            code, said = node.end()
            assert code == 2 and 'speaks version 9' in said and 'Traceback' not in said

    def test_malformed_yaml_is_one_sentence(tmp_path):
        (tmp_path / 'x.yaml').write_text('/**:\n  ros__parameters: [\n')
        with Roscom(f'config:={tmp_path}/x.yaml') as node:
            node.process.wait(20)
            code, said = node.end()
            assert code == 2 and 'is not YAML' in said and 'Traceback' not in said
