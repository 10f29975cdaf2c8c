"""A bench for the tests of the ROS stack: a node under test in a process, a hand-made device, set-points kept, services called."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

MARK = 'MBS_HAPTICS_TEST'
# Shared machines stall, and samples come from a Python thread here: a gap of 0.1 s must not let the force decay in the middle of a mean.
PATIENT = {'timing.stale_after': 0.4, 'timing.fault_after': 1.0, 'timing.most_missed': 1000}


def free_domain() -> int:
    """Return a ROS domain that other tests on this machine hardly use."""
    return random.SystemRandom().choice([*range(65, 102), *range(215, 233)])       # the others meet ephemeral ports of Linux


def start(command, domain, **options):
    """Return a started process that speaks on a domain of its own."""
    environ = {**os.environ, 'ROS_DOMAIN_ID': str(domain), MARK: f'{os.getpid()}-{domain}'}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, **options)


def left_behind(domain) -> list:
    """Return the command lines of processes that `start` began on a domain, or their children, and that still live."""
    mark, found = f'{MARK}={os.getpid()}-{domain}'.encode(), []
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            if mark in (folder / 'environ').read_bytes().split(b'\0'):
                found.append((folder / 'cmdline').read_bytes().replace(b'\0', b' ').decode())
    return found


class Stack:
    """One rosbotran process on a domain of its own, with `joint_states` published here and `setpoint` received here."""

    def __init__(self, joint='lever', position=0.0, publish=True, patient=True, command=None, **parameters):
        self.joint, self.position, self.velocity, self.effort, self.publish = joint, position, 0.0, 0.0, publish
        given = {**(PATIENT if patient else {}), **parameters}
        self.domain = free_domain()
        words = [w for name, value in given.items() for w in ('-p', f'{name.replace("__", ".")}:={value}')]
        self.command = command or [sys.executable, '-m', 'mbs_haptics.rosbotran', '--ros-args', *words]
        self.setpoints, self.sequence, self.output = [], 0, ''

    def __enter__(self):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from sensor_msgs.msg import JointState

        from mbs_haptics import environment
        from mbs_haptics.realtime import messages, ros
        environment.ready()
        self.rclpy = rclpy
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node('bench', context=self.context)
        self.layout = messages.joint_state(messages.rclpy_codec(JointState), [self.joint, self.joint + '/acceleration'])
        self.publisher = self.node.create_publisher(JointState, 'joint_states', ros.CONTROL_QOS)
        self.node.create_subscription(JointState, 'setpoint', self._came, ros.CONTROL_QOS)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.alive = True
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._spin, self._publish)]
        for thread in self.threads:
            thread.start()
        self.start()
        return self

    def start(self):
        """Start the process under test."""
        self.process = start(self.command, self.domain, stderr=subprocess.STDOUT)

    def __exit__(self, *_):
        self.end()
        self.alive = False
        for thread in self.threads:
            thread.join(2.0)
        self.rclpy.shutdown(context=self.context)

    def end(self, number=signal.SIGINT, timeout=15) -> int:
        """End the process by a signal and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        with contextlib.suppress(ValueError):
            self.output += self.process.communicate(timeout=timeout)[0] or ''
        return self.process.returncode

    def _spin(self):
        while self.alive:
            self.executor.spin_once(timeout_sec=0.05)

    def _publish(self):
        due = time.monotonic()
        while self.alive:
            if self.publish:
                self.sequence += 1
                self.publisher.publish(self.layout.message(time.time_ns(), self.sequence, {
                    'position[0]': self.position, 'velocity[0]': self.velocity, 'effort[0]': self.effort}))
            due = max(due + 1e-3, time.monotonic() - 0.01)
            time.sleep(max(0.0, due - time.monotonic()))

    def _came(self, message):
        self.setpoints.append((time.monotonic(), message))

    # -- asking ----------------------------------------------------------------------------------
    def call(self, kind, name, request, node='rosbotran'):
        """Call a service of the node under test; a reply that is lost is asked for again."""
        client = self.node.create_client(kind, f'/{node}/{name}')
        try:
            assert client.wait_for_service(20.0), f'{name} is not served: {self.output}'
            for _ in range(5):
                future = client.call_async(request)
                end = time.monotonic() + 2.0
                while not future.done() and time.monotonic() < end:
                    time.sleep(2e-3)
                if future.done():
                    return future.result()
            raise AssertionError(f'{name} did not answer')
        finally:
            self.node.destroy_client(client)

    def trigger(self, name):
        """Call a Trigger service; return (success, message)."""
        from std_srvs.srv import Trigger
        answer = self.call(Trigger, name, Trigger.Request())
        return answer.success, answer.message

    def enable(self, on=True):
        """Call ~/enable; return (success, message)."""
        from std_srvs.srv import SetBool
        answer = self.call(SetBool, 'enable', SetBool.Request(data=on))
        return answer.success, answer.message

    def statistics(self) -> dict:
        """Return the loop's figures."""
        return json.loads(self.trigger('statistics')[1])

    def set(self, values, atomic=False):
        """Set parameters {name: value}; return [(successful, reason)], one entry for an atomic batch."""
        from rcl_interfaces.srv import SetParameters, SetParametersAtomically
        from rclpy.parameter import Parameter
        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        kind, name = (SetParametersAtomically, 'set_parameters_atomically') if atomic else (SetParameters, 'set_parameters')
        answer = self.call(kind, name, kind.Request(parameters=messages))
        return [(r.successful, r.reason) for r in ([answer.result] if atomic else answer.results)]

    def wait_for(self, done, what, timeout=20.0):
        """Wait until a condition holds."""
        end = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < end, f'not in time: {what}; {self.statistics() if self.process.poll() is None else self.output}'
            time.sleep(0.02)

    def wait_active(self):
        """Wait until the force has risen."""
        self.wait_for(lambda: self.statistics()['state'] == 'active', 'active')
        time.sleep(0.4)

    def force(self, settle=0.15) -> float:
        """Return the mean effort of the set-points of the next moments."""
        time.sleep(settle)
        first = len(self.setpoints)
        self.wait_for(lambda: len(self.setpoints) > first + 20, 'set-points')
        return float(np.mean([m.effort[0] for _, m in self.setpoints[first:]]))
