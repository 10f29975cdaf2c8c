"""`haptic bench loop`: how late the loop wakes, and how long a set-point takes, beside a bare loop, plain rclpy and UDP.

Everything is measured in one run on one machine, in processes of their own that speak on the loopback interface only.
"""

import importlib.util
import json
import os
import platform
import subprocess
import sys

from mbs_core.errors import MbsError
from mbs_core.runtime.library import host
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Measure wake-ups and round trips of the real-time loop beside a bare loop, plain rclpy and UDP.'
SECONDS, QUICK_SECONDS = 15.0, 2.0
WAYS, ROUNDS = ('native', 'rclpy', 'udp'), 3


def add_arguments(parser):
    """Add how long to measure."""
    parser.add_argument('--seconds', type=float, default=None, help=f'time per measurement (default: {SECONDS:g})')
    parser.add_argument('--quick', action='store_true', help='a few seconds each: a check, not a measurement')
    add_json_argument(parser)


def run(args) -> int:
    """Measure, print the figures, and return 0 only if every aim is met."""
    seconds = args.seconds or (QUICK_SECONDS if args.quick else SECONDS)
    if not 1.0 <= seconds <= 120.0:
        raise MbsError(f'--seconds must be from 1 to 120, not {seconds:g}')
    return figures(Figures(), seconds, quiet=args.json).report(args.json, title='haptic bench loop')


def figures(collection, seconds=SECONDS, quiet=False):
    """Measure and add all figures to `collection`."""
    if importlib.util.find_spec('rclpy') is None:
        raise MbsError("`haptic bench loop` needs ROS 2's rclpy, which can't be imported: source a ROS 2 installation, or pip install "
                       "'ros-jazzy-rclpy[fastrtps]' ros-jazzy-sensor-msgs")

    def say(what):
        if not quiet:
            print(f'haptic: measuring {what}', file=sys.stderr, flush=True)
    collection.add('machine', f'{host()[0]}, {os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}',
                   note='two processes, best effort, keep last 1, 1 kHz')
    say('wake-ups')
    _lateness(collection, seconds)
    trips, rounds = {way: [] for way in WAYS}, 1 if seconds < SECONDS else ROUNDS
    for k in range(rounds):                        # in turns, so that a busy minute of the machine hits all of them
        for way in WAYS:
            say(f'round trips, {way}, {k + 1} of {rounds}')
            trips[way].append(_round_trip(way, seconds / rounds))
    _trips(collection, {way: _middle(results) for way, results in trips.items()})
    return collection


def _lateness(collection, seconds):
    feed = _start('feed', seconds)
    try:
        result = _finish(_start('lateness', seconds), seconds)
        _finish(feed, seconds)
    finally:
        feed.kill()
    for name in ('ours', 'bare'):
        for share, value in result[name].items():
            if share != 'count':
                collection.add(f'lateness.{name}_{share}_us', value, 'us', note=f"{result[name]['count']} wake-ups, a busy Python thread beside")
    collection.add('lateness.p99_ratio', result['ours']['p99'] / result['bare']['p99'], aim='<=1.5', note='ours / bare clock_nanosleep loop')
    collection.add('lateness.skipped', result['skipped'], 'ticks', note=f"of {result['ticks'] + result['skipped']}")
    for share in ('p50', 'p99'):
        collection.add(f'tick.{share}_us', result['execution'][share], 'us', note='take, four-bar step, limits, publish')
    for k, notice in enumerate(result['notices']):
        collection.add(f'notice.{k}', notice)


def _trips(collection, trips):
    for way, (device, loop) in trips.items():
        for share in ('p50', 'p99', 'p99.9', 'max'):
            collection.add(f'round_trip.{way}_{share}_us', device[share], 'us')
        collection.add(f'round_trip.{way}_cpu', loop['cpu_percent'], '%', note='of one core, the answering process')
        if way != 'udp':
            collection.add(f'round_trip.{way}_cpu_us', loop['cpu_us'], 'us', note='per answer')
    ours, rclpy, udp = (trips[w] for w in ('native', 'rclpy', 'udp'))
    collection.add('round_trip.unanswered', ours[0]['sent'] - ours[0]['answered'], 'samples', note=f"of {ours[0]['sent']}")
    collection.add('round_trip.rclpy_over_ours', rclpy[0]['p50'] / ours[0]['p50'], aim='>=4', note='medians')
    collection.add('round_trip.rclpy_cpu_over_ours', rclpy[1]['cpu_us'] / ours[1]['cpu_us'], aim='>=6', note='per answer: rclpy may lose samples')
    collection.add('round_trip.ours_over_udp', ours[0]['p50'] / udp[0]['p50'], aim='<=2', note='medians; the echo is native too')


def _middle(results):
    """Return the round whose median is the middle one: (device, loop)."""
    return sorted(results, key=lambda r: r[0]['p50'])[len(results) // 2]


# -- processes -------------------------------------------------------------------------------------
def environment() -> dict:
    """Return the environment of the processes: loopback only, and a domain of this run."""
    env = dict(os.environ)
    env.update(ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', ROS_DOMAIN_ID=str(40 + os.getpid() % 60))
    env.setdefault('AMENT_PREFIX_PATH', sys.prefix)
    env['PYTHONPATH'] = os.pathsep.join(p for p in sys.path if p)
    return env


def _start(role, seconds, **more):
    return subprocess.Popen([sys.executable, '-m', 'mbs_haptics.bench.loop_peer', role, str(seconds)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env={**environment(), **more})


def _finish(process, seconds):
    """End a process by closing its input, and return what it printed last."""
    try:
        out, _ = process.communicate(timeout=8 * seconds + 60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise MbsError('a process of the benchmark did not end; is the machine overloaded?') from None
    if process.returncode or not out.strip():
        raise MbsError(f'a process of the benchmark failed with exit code {process.returncode}; its words are above')
    result = json.loads(out.strip().splitlines()[-1])
    if 'error' in result:
        raise MbsError(result['error'])
    return result


def _round_trip(way, seconds):
    """Return what the device and the answering process measured."""
    loop = _start(f'loop_{way}', seconds)
    try:
        more = {}
        if way == 'udp':
            more['HAPTIC_BENCH_PORT'] = str(json.loads(loop.stdout.readline())['port'])
        device = _start(f'device_{way}', seconds, **more)
        try:
            device.stdin.close()
            measured = _wait(device, seconds)
        finally:
            device.kill()
        return measured, _finish(loop, seconds)
    finally:
        loop.kill()


def _wait(process, seconds):
    process.stdin = None
    return _finish(process, seconds)
