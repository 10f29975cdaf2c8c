"""The lid's node: its state follows model and faults, requests wait for rosbotran's reply, a gone hand is forgiven."""

import importlib.util
import sys
import threading
import time
from pathlib import Path

import pytest

from mbs_core.control.lid import STATES
from mbs_haptics import lid

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from ros_world import variables

REST = {'sigma': 0.0, 'w': 0.0, 'soft': 0.0, 'hit': 0.0, 'theta_o': 0.0}


def watched(space='', now=1.0, **outputs):
    """Return a Watched that has just heard these outputs."""
    one = lid.Watched(space)
    values = {**REST, **outputs}
    one.outputs(values.keys(), values.values(), now)
    return one


def test_every_state_follows_from_the_outputs():
    cases = ({}, {'sigma': 0.5, 'w': 1}, {'sigma': 1.5, 'w': 1}, {'sigma': 2.5, 'w': 1}, {'sigma': 3.5}, {'sigma': 2, 'w': -1}, {'soft': 1})
    assert [watched(**outputs).name(1.1) for outputs in cases] == list(STATES[:7])


def test_a_latched_fault_of_either_node_is_the_lid_s():
    one = watched()
    one.diagnosed('/roscom: link', 2, 'the device has latched fault 13')
    assert one.name(1.1) == 'fault' and 'latched fault 13' in one.problem(1.1)
    one.diagnosed('/rosbotran: loop', 2, "fault 'sensor'")
    one.diagnosed('/roscom: link', 0, 'armed')
    assert one.name(1.1) == 'fault' and one.problem(1.1) == "rosbotran: fault 'sensor'"
    one.diagnosed('/rosbotran: loop', 1, 'active, slowly')
    assert one.name(1.1) == 'closed'


def test_faults_of_another_stack_are_left_alone():
    one = watched('/b')
    one.diagnosed('/a/roscom: link', 2, 'a fault')
    one.diagnosed('/roscom: link', 2, 'a fault')
    assert one.name(1.1) == 'closed'
    one.diagnosed('/b/roscom: link', 2, 'a fault')
    assert one.name(1.1) == 'fault'


def test_silence_missing_outputs_and_no_numbers_are_faults():
    assert 'silent' in lid.Watched().problem(0.0) and 'silent' in watched().problem(1.0 + 2 * lid.OLD)
    assert "lack 'theta_o'" in _without('theta_o').problem(1.1)
    assert 'not numbers' in watched(sigma=float('nan')).problem(1.1)


def _without(name):
    one = watched()
    del one.seen[name]
    return one


def test_a_gone_hand_is_forgiven_after_a_second_of_stillness_and_only_once():
    one, asked = watched(hit=1.0, soft=1.0), []
    for k in range(120):
        one.seen['theta_o'] = 0.5 + (0.001 * k if k < 40 else 0.04)          # moves for 0.8 s
        asked.append(one.forgives(one.name(1.1)))
    assert asked.count(True) == 1 and abs(asked.index(True) * lid.PERIOD - 1.8) < 0.06
    assisted = watched(soft=1.0)
    assert not any(assisted.forgives(assisted.name(1.1)) for _ in range(120))


if importlib.util.find_spec('rclpy'):
    class World:
        """The node in a context of its own, a rosbotran that answers as told, and a client."""

        def __init__(self, monkeypatch):
            import rclpy
            from diagnostic_msgs.msg import DiagnosticArray
            from rcl_interfaces.srv import SetParametersAtomically
            from rclpy.context import Context
            from rclpy.executors import SingleThreadedExecutor
            from sensor_msgs.msg import JointState
            for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
                monkeypatch.setenv(name, variables()[name])
            self.context, self.alive, self.answer, self.taken = Context(), True, (True, ''), []
            rclpy.init(args=[], context=self.context)
            self.node = lid.make_node(context=self.context)
            self.peer = rclpy.create_node('rosbotran', context=self.context, start_parameter_services=False)
            self.client = rclpy.create_node('client', context=self.context)
            self.peer.create_service(SetParametersAtomically, 'rosbotran/set_parameters_atomically', self._take)
            outputs = self.peer.create_publisher(JointState, 'model_outputs', 1)
            self.diagnostics = self.peer.create_publisher(DiagnosticArray, '/diagnostics', 10)
            message = JointState(name=list(REST), position=list(REST.values()))
            self.peer.create_timer(0.05, lambda: outputs.publish(message))
            self.threads = []
            for node, executor in ((self.node, SingleThreadedExecutor(context=self.context)),
                                   (self.peer, SingleThreadedExecutor(context=self.context)),
                                   (self.client, SingleThreadedExecutor(context=self.context))):
                executor.add_node(node)
                self.threads.append(threading.Thread(target=self._spin, args=(executor,), daemon=True))
                self.threads[-1].start()

        def _spin(self, executor):
            while self.alive:
                executor.spin_once(timeout_sec=0.05)

        def _take(self, request, response):
            while self.answer is None and self.alive:
                time.sleep(0.02)
            self.taken.append({p.name: p.value.double_value for p in request.parameters})
            response.result.successful, response.result.reason = self.answer or (False, 'ended')
            return response

        def close(self):
            self.alive = False
            for thread in self.threads:
                thread.join(3.0)
            self.context.try_shutdown()

        def ask(self, name):
            from std_srvs.srv import SetBool, Trigger
            kind = SetBool if name == 'assist' else Trigger
            client = self.client.create_client(kind, f'/lid/{name}')
            assert client.wait_for_service(10.0)
            for _ in range(4):                   # a call fired right after its service appeared may lose its reply
                future = client.call_async(kind.Request(**({'data': True} if kind is SetBool else {})))
                end = time.monotonic() + 2 * lid.REPLY
                while not future.done() and time.monotonic() < end:
                    time.sleep(0.01)
                if future.done():
                    return future.result().success, future.result().message
            raise AssertionError(f'{name} was never answered')

        @staticmethod
        def wait(done):
            end = time.monotonic() + 10.0
            while not done():
                assert time.monotonic() < end, 'not in time'
                time.sleep(0.02)

        def fault(self, level, message):
            from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
            self.diagnostics.publish(DiagnosticArray(status=[DiagnosticStatus(
                name='/roscom: link', level=bytes([level]), message=message)]))

    @pytest.fixture
    def world(monkeypatch):
        """Return a World, ended with the test."""
        one = World(monkeypatch)
        yield one
        one.close()

    def test_requests_wait_for_the_reply_and_tell_refusals_and_faults(world, monkeypatch):
        world.wait(lambda: world.node.told == 'closed' and world.node.setter.service_is_ready())
        assert world.ask('open') == (True, 'open: from closed')
        assert world.ask('assist')[0]
        assert world.taken[0] == {'model.command': 1.0, 'model.assist': 0.0} and world.taken[-1] == {'model.command': 0.0, 'model.assist': 1.0}
        world.answer = (False, 'no such parameter')
        assert world.ask('close') == (False, 'close was refused: no such parameter')
        monkeypatch.setattr(lid, 'REPLY', 0.2)
        world.answer = None                                  # busy: no reply in time
        success, said = world.ask('hold')
        assert not success and 'has not answered within' in said
        world.answer = (True, '')
        world.wait(lambda: world.node.told == 'closed')
        world.fault(2, 'the device has latched fault 13')
        world.wait(lambda: world.node.told == 'fault')
        taken = len(world.taken)
        success, said = world.ask('open')
        assert not success and 'latched fault 13' in said and 'haptic reset' in said and len(world.taken) == taken
        world.fault(0, 'armed')
        world.wait(lambda: world.node.told == 'closed')
        assert world.ask('open')[0]
