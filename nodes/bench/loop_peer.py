"""The processes of `haptic bench loop`: python -m mbs_haptics.bench.loop_peer ROLE SECONDS; each prints one JSON object.

A role that answers runs until its standard input ends; a role that measures runs for so many seconds.
"""

import json
import os
import resource
import socket
import sys
import threading
import time

import numpy as np

from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_haptics.bench import loop_probe
from mbs_haptics.realtime import Channel, Limits, Settings, messages, rights

PERIOD = 1_000_000
SAMPLES, SETPOINTS, JOINT = 'haptic_bench/joint_states', 'haptic_bench/setpoint', 'crank'
WARM_UP = 1.0
PRIORITY = 80
SIZE = 112                         # bytes of a datagram, about those of a set-point


def shares(times_us) -> dict:
    """Return p50, p99, p99.9 and the largest of some times."""
    t = np.asarray(times_us)
    return {'p50': float(np.quantile(t, 0.5)), 'p99': float(np.quantile(t, 0.99)), 'p99.9': float(np.quantile(t, 0.999)),
            'max': float(t.max()), 'count': len(t)}


class Cpu:
    """Measures the processor time of this process, as a share of one core, from a moment on."""

    def __init__(self):
        self.wall, self.cpu = time.monotonic(), self._spent()

    @staticmethod
    def _spent():
        r = resource.getrusage(resource.RUSAGE_SELF)
        return r.ru_utime + r.ru_stime

    def figures(self, answers) -> dict:
        """Return the share of one core since the start, and the time per answer."""
        spent = self._spent() - self.cpu
        return {'cpu_percent': 100 * spent / (time.monotonic() - self.wall), 'cpu_us': 1e6 * spent / max(1, answers)}


def settings(wake, trace=0):
    """Return settings with the patience a shared machine needs."""
    limits = Limits(energy=100.0)
    return Settings((Channel(JOINT, limits=limits),), wake=wake, stale_after=0.2, decay=0.1, fault_after=1.0, most_missed=500, trace=trace)


def _node(name):
    import rclpy
    rclpy.init()
    return rclpy.create_node(name)


def _until_stdin_ends(ready, answers):
    """Wait for the end of standard input; return the processor time, counted from WARM_UP after `ready`."""
    while not ready():
        time.sleep(0.01)
    time.sleep(WARM_UP)
    cpu, before = Cpu(), answers()
    sys.stdin.read()
    return cpu.figures(answers() - before)


# -- our way ---------------------------------------------------------------------------------------
def loop_native(seconds):
    """Answer every sample natively, as rosbotran does."""
    from mbs_haptics.realtime import ros
    node = _node('bench_loop')
    loop = ros.make_loop(node, settings('sample'), compile_model(build('four_bar', driven=True)), sample_topic=SAMPLES,
                         setpoint_topic=SETPOINTS, priority=PRIORITY)
    loop.start()

    def ready():
        if loop.block['received'] > 100 and loop.state == 'inactive':
            loop.enable()
        return loop.state == 'active'
    cpu = _until_stdin_ends(ready, lambda: loop.block['ticks'])
    state = loop.state
    loop.stop()
    return {**cpu, 'state': state, 'notices': loop.notices, **loop.counters()}


def device_native(seconds):
    """Send samples and time their answers natively."""
    probe, stop = _native_device()
    return _measure_trips(seconds, lambda: int(probe.view('count')[0]), lambda: probe.view('times'), stop)


def feed(seconds):
    """Send samples natively until standard input ends."""
    probe, stop = _native_device()
    sys.stdin.read()
    stop()
    return {'sent': int(probe.view('count')[0])}


def _native_device():
    """Start a native device; return it and the function that stops it."""
    from sensor_msgs.msg import JointState

    from mbs_haptics.realtime import ros
    node, codec = _node('bench_device'), messages.rclpy_codec(JointState)
    sample, setpoint = messages.joint_state(codec, [JOINT]), messages.setpoint(codec, [JOINT])
    probe = loop_probe.Probe(setpoint, sample, PERIOD)
    probe.set_word('epoch', time.monotonic_ns())
    link = ros.NativeLink(probe, node, SETPOINTS, [SAMPLES], [JointState])
    link.open(probe)
    notices = rights.thread(PRIORITY)              # the right is this process's: ask once, before the threads
    probe.set_word('priority', 0 if notices else PRIORITY)
    thread = threading.Thread(target=lambda: (rights.thread(PRIORITY), probe.call('run')))
    thread.start()
    return probe, lambda: (link.close(probe), probe.view('stop').__setitem__(0, 1.0), thread.join())


def _measure_trips(seconds, count, times, stop):
    deadline = time.monotonic() + 20
    while np.count_nonzero(times()) < 100:
        if time.monotonic() > deadline:
            stop()
            return {'error': 'no answer came within 20 s: the two processes did not find each other'}
        time.sleep(0.01)
    time.sleep(2 * WARM_UP)
    first = count()
    time.sleep(seconds)
    last = count() - 5
    stop()
    t = np.array(times()[first:last])
    return {'sent': last - first, 'answered': int(np.count_nonzero(t)), **shares(t[t > 0] / 1e3)}


# -- the plain way ---------------------------------------------------------------------------------
def loop_rclpy(seconds):
    """Answer every sample as a plain rclpy node does: typed messages, callbacks, the default executor."""
    import rclpy
    from sensor_msgs.msg import JointState

    from mbs_haptics.realtime.ros import CONTROL_QOS
    node = _node('bench_loop')
    state = compile_model(build('four_bar', driven=True)).state()
    publisher = node.create_publisher(JointState, SETPOINTS, CONTROL_QOS)
    seen = [0]

    def came(message):
        q, v = message.position[0], message.velocity[0]
        state.drive(JOINT, state.q[0], state.v[0], then=(q, v, 0.0))
        state.step(1e-3)
        answer = JointState(name=[JOINT], position=[q], velocity=[v], effort=[max(-10.0, min(10.0, -float(state.eff[0])))])
        answer.header = message.header
        publisher.publish(answer)
        seen[0] += 1
    node.create_subscription(JointState, SAMPLES, came, CONTROL_QOS)
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    return {**_until_stdin_ends(lambda: seen[0] > 100, lambda: seen[0]), 'received': seen[0]}


def device_rclpy(seconds):
    """Send samples from a timer and time their answers in a callback, as a plain rclpy node does."""
    import rclpy
    from sensor_msgs.msg import JointState

    from mbs_haptics.realtime.ros import CONTROL_QOS
    node = _node('bench_device')
    publisher = node.create_publisher(JointState, SAMPLES, CONTROL_QOS)
    sent, times, count = np.zeros(loop_probe.ROOM), np.zeros(loop_probe.ROOM), [0]

    def send():
        k = count[0]
        message = JointState(name=[JOINT], position=[1.0 + 1e-4 * (k % 100)], velocity=[0.0], effort=[0.0])
        message.header.frame_id = str(k)
        sent[k] = time.monotonic_ns()
        count[0] += 1
        publisher.publish(message)

    def came(message):
        k = int(message.header.frame_id)
        times[k] = time.monotonic_ns() - sent[k]
    node.create_subscription(JointState, SETPOINTS, came, CONTROL_QOS)
    node.create_timer(PERIOD * 1e-9, send)
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    return _measure_trips(seconds, lambda: count[0], lambda: times, lambda: None)


# -- the floor -------------------------------------------------------------------------------------
def loop_udp(seconds):
    """Echo datagrams natively."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(('127.0.0.1', 0))
    print(json.dumps({'port': s.getsockname()[1]}), flush=True)
    _, peer = s.recvfrom(SIZE)
    s.connect(peer)
    s.send(b'ready')
    threading.Thread(target=lambda: (rights.thread(PRIORITY), loop_probe.udp('echo', s, SIZE)), daemon=True).start()
    return _until_stdin_ends(lambda: True, lambda: 0)


def device_udp(seconds):
    """Send a datagram a period and time its echo natively."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(('127.0.0.1', int(os.environ['HAPTIC_BENCH_PORT'])))
    s.settimeout(5.0)
    s.send(b'hello')
    s.recv(SIZE)
    s.settimeout(None)
    s.setblocking(True)
    rights.thread(PRIORITY)
    times, due = [], time.monotonic_ns()
    while len(times) < (seconds + WARM_UP) * 1e9 / PERIOD:
        due += PERIOD
        time.sleep(max(0.0, (due - time.monotonic_ns()) * 1e-9))
        start = time.monotonic_ns()
        loop_probe.udp('trip', s, SIZE)
        times.append(time.monotonic_ns() - start)
    return shares(np.array(times[int(WARM_UP * 1e9 / PERIOD):]) / 1e3)


# -- wake-ups --------------------------------------------------------------------------------------
def lateness(seconds):
    """Take turns, a second each: the active loop, fed by another process, and a bare sleeping loop; Python is busy all the while."""
    from sensor_msgs.msg import JointState

    from mbs_haptics.realtime import ros
    node, codec = _node('bench_lateness'), messages.rclpy_codec(JointState)
    probe = loop_probe.Probe(messages.setpoint(codec, [JOINT]), messages.joint_state(codec, [JOINT]), PERIOD)
    probe.set_word('epoch', time.monotonic_ns())
    turn = 1000
    loop = ros.make_loop(node, settings('timer', trace=turn), compile_model(build('four_bar', driven=True)), sample_topic=SAMPLES,
                         setpoint_topic=SETPOINTS, priority=PRIORITY)
    stop = threading.Event()
    load = threading.Thread(target=_be_busy, args=(stop,), daemon=True)
    load.start()
    ours, plain, work, skipped, ticks = [], [], [], 0, 0
    for k in range(max(2, round(seconds))):
        thread = threading.Thread(target=lambda: (rights.thread(PRIORITY), probe.call('bare', turn, PERIOD)))
        thread.start()
        thread.join()
        plain.append(probe.view('times')[:turn] / 1e3)
        loop.start()
        end = time.monotonic() + 20.0
        while loop.block['received'] < 50:
            if time.monotonic() > end:
                return {'error': 'no sample came within 20 s: the two processes did not find each other'}
            time.sleep(0.01)
        loop.enable()
        first = loop.block['ticks']
        while loop.block['ticks'] < first + turn:
            time.sleep(0.01)
        state, trace = loop.state, loop.trace()
        loop.stop()
        if state != 'active':
            return {'error': f"the loop left its active state ('{loop.fault}'): the machine stalled for too long, try again"}
        ours.append(trace['lateness'] / 1e3)
        work.append(trace['execution'] / 1e3)
        skipped, ticks = skipped + loop.counters()['skipped'], ticks + loop.counters()['ticks']
    stop.set()
    return {'ours': shares(np.concatenate(ours)), 'bare': shares(np.concatenate(plain)), 'skipped': skipped, 'ticks': ticks, 'notices': loop.notices[:3],
            'execution': shares(np.concatenate(work))}


def _be_busy(stop):
    n = 0
    while not stop.is_set():
        for _ in range(1000):
            n = (n * 1103515245 + 12345) % 2 ** 31


ROLES = {f.__name__: f for f in (loop_native, device_native, feed, loop_rclpy, device_rclpy, loop_udp, device_udp, lateness)}


if __name__ == '__main__':
    print(json.dumps(ROLES[sys.argv[1]](float(sys.argv[2]))), flush=True)
    os._exit(0)                    # daemon threads of the middleware need no farewell
