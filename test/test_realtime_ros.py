"""The loop on real topics: two processes, native and fallback, sequence and loss, executors, allocation. Only where there is rclpy."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

DEVICE = '''
import sys, time, rclpy
from sensor_msgs.msg import JointState
from mbs_haptics.realtime import messages, ros
rclpy.init()
node = rclpy.create_node('device')
layout = messages.joint_state(messages.rclpy_codec(JointState), ['crank'])
publisher = node.create_publisher(JointState, 'joint_states', ros.CONTROL_QOS)
k, start = 0, time.time_ns()
while True:                                         # a device's clock keeps its pace, however late this process is
    due = start + k * 1_000_000
    time.sleep(max(due - time.time_ns(), 0) * 1e-9)
    publisher.publish(layout.message(due, k, {'position[0]': 1.0, 'velocity[0]': 0.0}))
    k += 1
'''

LOOP = '''
import json, os, sys, threading, time, rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_haptics.realtime import Channel, Limits, Settings, messages, ros
NATIVE, WAKE, OUT = sys.argv[1] == 'native', sys.argv[2], {}
rclpy.init()
node = rclpy.create_node('loop')
got = []
node.create_subscription(JointState, 'setpoint', lambda m: got.append(m),
                         QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT))
settings = Settings((Channel('crank', limits=Limits(energy=10.0)),), wake=WAKE, stale_after=0.5, fault_after=2.0, most_missed=10000, ramp=0.05)
loop = ros.make_loop(node, settings, compile_model(build('four_bar', driven=True)), native=NATIVE)
executor = rclpy.executors.SingleThreadedExecutor()
executor.add_node(node)
spin = threading.Thread(target=executor.spin, daemon=True)
spin.start()
loop.start()

def until(done, what, most=30.0):
    end = time.monotonic() + most
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.005)
until(lambda: loop.block['received'] > 50, 'no samples came')
try:
    loop.reset(); loop.enable()
except MbsError as error:
    OUT['error'] = str(error)
until(lambda: loop.block['gain'] == 1.0, 'never fully active')
loop.set_parameters({'spring.rate': 2.0})
until(lambda: loop.block['way'] == 1.0, 'parameters were never taken')
n = loop.block['ticks']
until(lambda: loop.block['ticks'] > n + 200, 'the loop stands')
%s
OUT['active'] = loop.state
loop.estop()
until(lambda: loop.state == 'fault', 'no fault')
first = int(loop.block.view('sent')[0])            # Python may be behind: go by the sequence
until(lambda: messages.sequences(got[-1].header.frame_id)[0] > first + 20, 'no set-points in a fault')
OUT['after_estop'] = [m.effort[0] for m in got if messages.sequences(m.header.frame_id)[0] > first]
loop.stop()
time.sleep(0.2)
heads = [messages.sequences(m.header.frame_id) for m in got]
OUT.update(loop.statistics(), notices=loop.notices, names=list(got[-1].name), sequence=[h[0] for h in heads], answered=[h[1] for h in heads],
           force=[m.effort[0] for m in got], sent=loop.block.view('sent')[0], due=(loop.block['last_due'] - loop.block['first_due']) / 1e6)
print(json.dumps(OUT), flush=True)
loop.link.destroy()
os._exit(0)
'''

def run(kind, wake, extra='', **more):
    """Run a device and a loop in two processes of their own domain; return what the loop tells."""
    env = {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_DOMAIN_ID': str(40 + os.getpid() % 60),
           'PYTHONPATH': os.pathsep.join(p for p in sys.path if p), **more}
    env.setdefault('AMENT_PREFIX_PATH', sys.prefix)
    device = subprocess.Popen([sys.executable, '-c', DEVICE], env=env)
    try:
        done = subprocess.run([sys.executable, '-c', LOOP % extra, kind, wake], env=env, stdout=subprocess.PIPE, timeout=120, check=True)
    finally:
        device.kill()
        device.wait()
    return json.loads(done.stdout.splitlines()[-1])


if importlib.util.find_spec('rclpy'):
    @pytest.mark.parametrize('wake', ['timer', 'sample'])
    @pytest.mark.parametrize('kind', ['native', 'python'])
    def test_loop_on_real_topics_counts_answers_and_stops_with_zero(kind, wake):
        out = run(kind, wake)
        assert out['native'] is (kind == 'native') and out['active'] == 'active' and out['fault'] == 'estop'
        assert out['names'] == ['crank', 'crank/stiffness', 'crank/damping'] and 'error' not in out
        assert out['sequence'] == sorted(set(out['sequence'])) and out['answered'] == sorted(out['answered'])
        assert out['sent'] == out['ticks'] + 3, 'a set-point for every tick, three to end with'
        assert min(out['force']) < 0 or max(out['force']) > 0
        assert set(out['after_estop']) == {0.0} and out['force'][-1] == 0.0
        assert out['refused_layout'] == 0 and out['take_errors'] == 0 and out['publish_errors'] == 0 and out['repeated'] == 0
        assert out['lateness']['count'] == out['ticks']
        if wake == 'timer':
            assert out['ticks'] <= out['due'] + 1 <= out['ticks'] + out['skipped']

    def test_the_tick_allocates_nothing_of_its_own(tmp_path, need_tool):
        from mbs_haptics.bench import allocations
        need_tool('gcc', 'gcc')
        found = allocations.measure(tmp_path)
        assert found['own'] == 0.0
        assert 0 < found['with_middleware'] < 20, 'the counter counts: the middleware itself allocates a little'

    def test_bench_tells_every_figure_it_aims_at():
        from mbs_haptics.bench import loop
        from mbs_haptics.figures import Figures
        rows = {row['id']: row for row in loop.figures(Figures(), seconds=1.0, quiet=True).rows}
        aims = {'lateness.p99_ratio', 'round_trip.rclpy_over_ours', 'round_trip.rclpy_cpu_over_ours', 'round_trip.ours_over_udp'}
        assert {id for id, row in rows.items() if row['aim']} == aims
        assert all(rows[f'lateness.{who}_{share}_us']['value'] > 0 for who in ('ours', 'bare') for share in ('p50', 'p99', 'p99.9', 'max'))
        assert all(rows[f'round_trip.{way}_p50_us']['value'] > 0 for way in ('native', 'rclpy', 'udp'))
