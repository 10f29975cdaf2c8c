"""A small ROS 2 world for tests of verbs and nodes: processes on a domain of their own, ended with the test."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from mbs_haptics import environment

# Domains up to 101 have their ports below the ephemeral ones; tests that run at the same time must not meet.
FIRST_DOMAIN, DOMAINS = 64, 30
HERE = Path(__file__).resolve().parent


def variables():
    """Return the variables of this world: the domain of this test worker, on this machine only."""
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw')
    domain = FIRST_DOMAIN + (int(worker) + 2 * os.getppid()) % DOMAINS
    return environment.ready({**os.environ, 'ROS_DOMAIN_ID': os.environ.get('HAPTIC_TEST_DOMAIN', str(domain)),
                              environment.DISCOVERY: 'LOCALHOST'})


@contextlib.contextmanager
def running(*words, **options):
    """Run a Python process with these arguments for the length of a with block; it is killed if it outlives it."""
    with subprocess.Popen([sys.executable, *map(str, words)], text=True,
                          **{'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'env': variables(), **options}) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process, seconds=20):
    """Return the exit code of a process that has to end by itself, and what it said."""
    said, _ = process.communicate(timeout=seconds)
    return process.returncode, said


def haptic(*words, seconds=30):
    """Run the haptic command in this world and return the finished process."""
    return subprocess.run([sys.executable, '-m', 'mbs_haptics.main', *map(str, words)], env=variables(), capture_output=True,
                          text=True, check=False, timeout=seconds)


def wait_until(condition, seconds=10.0):
    """Wait until a condition holds; fail after that many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, 'the condition did not come true in time'
        time.sleep(0.02)


# Publishes counted joint states at 1 kHz as soon as all topics have a reader: arguments are the count and the topics.
PUBLISHER = '''
import sys, time, rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('publisher')
qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
publishers = [node.create_publisher(JointState, topic, qos) for topic in sys.argv[2:]]
while any(publisher.get_subscription_count() == 0 for publisher in publishers):
    time.sleep(0.02)
time.sleep(0.3)
message = JointState(name=['key', 'key/acceleration'], position=[0.0, 0.0], velocity=[0.0, 0.0], effort=[0.0, 0.0])
due = time.monotonic()
for number in range(int(sys.argv[1])):
    message.header.frame_id = f'#{number:010d}'
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
    message.position[0] = number * 1e-3
    for publisher in publishers:
        publisher.publish(message)
    due += 1e-3
    time.sleep(max(0.0, due - time.monotonic()))
time.sleep(0.2)
'''

# A node with parameters and switches of every kind.
TARGET = '''
import rclpy, signal, sys
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from std_srvs.srv import SetBool, Trigger
rclpy.init()
node = rclpy.create_node('target')
limits = [FloatingPointRange(from_value=-1.0, to_value=1.0)]
node.declare_parameter('mass', 0.1, ParameterDescriptor(description='Mass (kg)', floating_point_range=limits))
node.declare_parameter('mode', 'impedance', ParameterDescriptor(read_only=True))
for name, value in (('count', 3), ('list', [1.0, 2.0]), ('on', True), ('structural', 1.0)):
    node.declare_parameter(name, value)
def judge(parameters):
    bad = any(parameter.name == 'structural' for parameter in parameters)
    return SetParametersResult(successful=not bad, reason='structural is fixed while the loop runs' if bad else '')
node.add_on_set_parameters_callback(judge)
def stop(request, response):
    response.success, response.message = True, 'force is off'
    return response
def enable(request, response):
    response.success, response.message = request.data, 'force is on' if request.data else 'refused'
    return response
node.create_service(Trigger, '~/estop', stop)
node.create_service(SetBool, '~/enable', enable)
print('ready', flush=True)
try:
    rclpy.spin(node)
except BaseException:
    pass
'''
