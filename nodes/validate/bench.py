"""The bench: the whole stack of a device on a ROS domain of its own, with the virtual device, its hand and a recording in reach.

The firmware's process is started here, so that its simulated plant can be told what to do and writes its truth; both
nodes and the recorder are those of the launch file. Only time-outs are relaxed, for machines shared with others.
"""

import contextlib
import json
import os
import random
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.validate.recording import TRUTH

RELAXED = {'timing': {'stale_after': 0.05, 'decay': 0.05, 'fault_after': 0.3, 'most_missed': 300}}
START = 90.0            # s until the stack must run: the first time the model is compiled and the firmware built


class Bench:
    """The stack of a device while the `with` block lasts; afterwards `bag` is its recording, the plant's truth in it.

    settings: nested ROS parameters laid over the device's configuration; signals: numbers of the plant whose truth is
    recorded on the topic `truth`; domain: ROS domain, by default a free one; say: takes the processes' lines.
    """

    def __init__(self, device, folder, settings=None, signals=(), seed=1, domain=None, say=None, **arguments):
        self.device, self.folder, self.seed = device, Path(folder), seed
        self.settings, self.signals, self.arguments = settings or {}, tuple(signals), arguments
        self.domain = domain if domain is not None else random.SystemRandom().choice([*range(65, 102), *range(215, 233)])
        self.say = say or (lambda name, text, is_error: None)
        self.bag, self.log = self.folder / 'bag', self.folder / 'stack.log'
        self.plant_device = self.watch = None
        self.notes = {}

    # -- beginning and end -------------------------------------------------------------------------
    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *problem):
        self._stack.close()
        if problem[0] is None:
            self._keep_truth()

    def _start(self, stack):
        from mbs_haptics.clients import conversation
        from mbs_haptics.commands.launch import find
        from mbs_haptics.launching import Supervisor, interpret
        from mbs_haptics.running import Run, Watch
        self.folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(on_domain(self.domain))
        config, app = self._config()
        self.plant_device = stack.enter_context(self._device(app))
        host, port = self.plant_device.address[1]
        plan = interpret(find(self.device), {'device': 'udp', 'port': f'{host}:{port}', 'record': 'true', 'bag': str(self.bag),
                                             'config': str(config), **self.arguments})
        run = None
        self.watch = Watch(plan.variables.get('namespace', ''), None, lambda: Supervisor.stop(run, 'the watch is over'))
        run = Run(plan, self.watch, screen=self.say, log=self.log)
        self.thread = threading.Thread(target=run.run, name='supervisor', daemon=True)
        self.run = run
        stack.callback(self._end)
        self.thread.start()
        self.watch.start()
        self._await_running()
        self.talk = stack.enter_context(conversation())
        from std_msgs.msg import String
        self._marks = self.talk.node.create_publisher(String, f'{self.watch.space}/scene', 10)
        self._String = String
        self.talk.await_(lambda: self._marks.get_subscription_count(), 5.0)

    def _config(self):
        """Write the configuration with our settings laid over it; return (path, application)."""
        import yaml

        from mbs_haptics import environment
        source = environment.package_share(environment.PACKAGE) / 'config' / f'{self.device}.yaml'
        if not source.is_file():
            raise MbsError(f"the device '{self.device}' has no configuration '{source}'")
        tree = yaml.safe_load(source.read_text(encoding='utf-8'))
        parameters = tree['/**']['ros__parameters']
        for layer in (RELAXED, self.settings):
            lay_over(parameters, layer)
        path = self.folder / f'{self.device}.yaml'
        path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding='utf-8')
        return path, parameters['app']

    def _device(self, app):
        from mbs_haptics.firmware.device import Virtual
        options = [f'--truth={self.folder / "truth.bin"}={",".join(self.signals)}'] if self.signals else []
        return Virtual(app, 'udp', seed=self.seed, options=options)

    def _await_running(self):
        end = time.monotonic() + START
        while self.watch.phase != 'running':
            if not self.watch.is_alive() or not self.thread.is_alive() or time.monotonic() > end:
                raise MbsError(f'the stack did not come up: {self.watch.problem or self.watch.phase}; see {self.log}')
            time.sleep(0.02)

    def _end(self):
        self.watch.asked.set()
        if self.watch.is_alive():
            self.watch.join(15.0)
        else:
            self.run.stop('the bench is over')
        self.thread.join(20.0)
        if self.thread.is_alive():
            raise MbsError(f'the stack does not end; see {self.log}')

    def _keep_truth(self):
        """Put the plant's truth beside the recording's own file, as a topic of its own."""
        if not self.signals:
            return
        from mbs_haptics.joint_bag import write_joint_bag
        rows = np.fromfile(self.folder / 'truth.bin')
        rows = rows[:rows.size // (1 + len(self.signals)) * (1 + len(self.signals))].reshape(-1, 1 + len(self.signals))
        numbers = rows[:, 1:]
        write_joint_bag(self.bag / f'{TRUTH}.mcap', rows[:, 0], self.signals, numbers, np.zeros_like(numbers), topic=TRUTH)
        (self.folder / 'truth.bin').unlink()

    # -- what a validation does --------------------------------------------------------------------
    def plant(self, **numbers):
        """Set numbers of the plant, e.g. plant(hand__mode=1, hand__target=0.005)."""
        self._check()
        for name, value in numbers.items():
            self.plant_device.command(f'set {name.replace("__", ".")} {float(value):.9g}')

    def ask(self, name) -> float:
        """Return a number of the plant."""
        self._check()
        return float(self.plant_device.command(f'get {name}', answers=True).split()[-1])

    def act(self, after=0.1, **numbers):
        """Set numbers of the hand, its program to begin `after` seconds from now: act(mode=2, speed=0.01)."""
        mode = numbers.pop('mode', None)
        if mode is not None:
            self.plant(hand__mode=0)            # the program before would go on with the new numbers
        self.plant(**{f'hand__{name}': value for name, value in numbers.items()}, hand__start_s=self.ask('t_s') + after)
        if mode is not None:
            self.plant(hand__mode=mode)

    def set(self, **parameters):
        """Set parameters of the running model, e.g. set(**{'hammer.mass': 0.0147}); they are noted with the next scenes."""
        from mbs_haptics.parameters import Parameters
        self._check()
        Parameters(self.talk, f'{self.watch.space}/rosbotran').set({f'model.{name}': str(value) for name, value in parameters.items()})
        self.notes.update(parameters)

    def scene(self, name, seconds=0.0, **notes):
        """Mark the beginning of a scene in the recording, and wait."""
        self._marks.publish(self._String(data=json.dumps({'scene': name, **self.notes, **notes})))
        self.wait(seconds)

    def wait(self, seconds):
        """Let time pass; a fault or a dead process becomes MbsError."""
        end = time.monotonic() + seconds
        while True:
            self._check()
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.2))

    def statistics(self) -> dict:
        """Return what the loop has counted so far (rosbotran's ~/statistics)."""
        from std_srvs.srv import Trigger
        return json.loads(self.talk.call(Trigger, f'{self.watch.space}/rosbotran/statistics', Trigger.Request()).message)

    def _check(self):
        if self.watch.faults:
            raise MbsError(f'the stack has a fault: {self.watch.faults[0]}; see {self.log}')
        if not self.watch.is_alive() or not self.thread.is_alive():
            raise MbsError(f'the stack ended before its time: {self.watch.problem or "a process died"}; see {self.log}')


def lay_over(tree, layer):
    """Write the leaves of a nested dict over another."""
    for name, value in layer.items():
        if isinstance(value, dict) and isinstance(tree.get(name), dict):
            lay_over(tree[name], value)
        else:
            tree[name] = value


@contextlib.contextmanager
def on_domain(number):
    """Speak on another ROS domain inside the block, on this machine only."""
    wanted = {'ROS_DOMAIN_ID': str(number), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    kept = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def machine() -> str:
    """Return a word on this machine, for reports."""
    try:
        model = next(line.partition(':')[2].strip() for line in Path('/proc/cpuinfo').read_text().splitlines() if line.startswith('model name'))
    except (OSError, StopIteration):
        model = subprocess.run(['uname', '-m'], capture_output=True, text=True, check=False).stdout.strip()
    return f'{os.cpu_count()} x {model}'
