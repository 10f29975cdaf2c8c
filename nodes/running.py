"""Run a device: the processes of its launch file, armed when both ends are ready, watched, and ended with zero force.

The supervisor has the main thread and its signals; a second thread talks to the nodes over ROS like any other client. It
subscribes to nothing faster than 100 Hz, so that watching disturbs nothing.
"""

import json
import math
import signal
import sys
import threading
import time

from mbs_core.errors import MbsError
from mbs_haptics import clients
from mbs_haptics.figures import Figures
from mbs_haptics.launching import Supervisor, interpret

READY = 60.0            # s until both nodes must be ready: the first time the model is compiled and the firmware built
SETTLE = 0.4            # s for the force to decay before the processes are ended
YOUNG = 5.0             # s in which a process may still be importing
SIGNALS = ('SIGINT', 'SIGTERM', 'SIGHUP')


class Watch(threading.Thread):
    """Waits until rosbotran is active, arms the device, watches for `seconds` (None: until asked), disarms, and calls `done`.

    `now` is what the view shows; `first` and `last` are the loop's figures at the beginning and the end of the watch.
    """

    def __init__(self, namespace, seconds, done):
        super().__init__(name='watch', daemon=True)
        self.space = f"/{namespace.strip('/')}" if namespace.strip('/') else ''
        self.seconds, self.done = seconds, done
        self.asked = threading.Event()
        self.phase, self.problem, self.now, self.devices = 'starting', '', {}, {}
        self.first, self.last, self.began, self.ended = None, None, None, None
        self.faults = []            # sentences, each once, in order

    def run(self):
        """Do everything; what goes wrong becomes `problem`."""
        try:
            with clients.conversation() as talk:
                self._listen(talk)
                self._arm(talk)
                self._look(talk)
                self._disarm(talk)
        except MbsError as error:
            self.problem = str(error)
        except Exception as error:      # of the middleware, most likely; the processes must be ended all the same
            self.problem = f'{type(error).__name__}: {error}'
        self.phase = 'ending'
        self.done()

    # -- the steps ---------------------------------------------------------------------------------
    def _listen(self, talk):
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import WrenchStamped
        from sensor_msgs.msg import JointState

        from mbs_haptics.realtime.ros import CONTROL_QOS
        talk.node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnosed, 10)
        talk.node.create_subscription(WrenchStamped, f'{self.space}/wrench', self._pushed, 10)
        talk.node.create_subscription(JointState, f'{self.space}/model_state', self._moved, CONTROL_QOS)

    def _arm(self, talk):
        """Wait for rosbotran to be active, then arm the device."""
        from std_srvs.srv import SetBool
        end, reason = time.monotonic() + READY, 'rosbotran does not answer'
        while not self.asked.is_set():
            if time.monotonic() > end:
                raise MbsError(f'the stack was not ready within {READY:g} s: {reason}')
            talk.await_(self.asked.is_set, 0.1)
            names = talk.services('/enable')
            if not all(f'{self.space}/{node}/enable' in names for node in ('rosbotran', 'roscom')):
                reason = 'rosbotran and roscom do not both answer'
                continue
            try:
                found = self._statistics(talk)
            except MbsError as error:           # still busy with compiling its model, most likely
                reason = str(error)
                continue
            if found.get('state') != 'active':
                reason = f"rosbotran is {found.get('state')}" + ('' if found.get('fault') == 'none' else f" (fault '{found.get('fault')}')")
                self.phase = 'waiting for samples'
                continue
            answer = talk.call(SetBool, f'{self.space}/roscom/enable', SetBool.Request(data=True))
            if answer.success:
                self.phase = 'running'
                return
            reason = answer.message

    def _look(self, talk):
        """Spin until the time is up or somebody asks for the end."""
        if self.asked.is_set():
            return
        self.first, self.began = self._statistics(talk), time.monotonic()
        end = self.began + (math.inf if self.seconds is None else self.seconds)
        while not self.asked.is_set() and time.monotonic() < end:
            talk.executor.spin_once(timeout_sec=0.1)
        self.last, self.ended = self._statistics(talk), time.monotonic()
        if self.last['fault'] != 'none':
            self._note(f"rosbotran: fault '{self.last['fault']}'")

    def _disarm(self, talk):
        """Let the force decay at both ends before the processes end."""
        from std_srvs.srv import SetBool
        self.phase = 'ending'
        for node in ('rosbotran', 'roscom'):
            if f'{self.space}/{node}/enable' in talk.services('/enable'):
                talk.call(SetBool, f'{self.space}/{node}/enable', SetBool.Request(data=False))
        talk.await_(lambda: False, SETTLE)

    def _statistics(self, talk):
        from std_srvs.srv import Trigger
        answer = talk.call(Trigger, f'{self.space}/rosbotran/statistics', Trigger.Request())
        return json.loads(answer.message) if answer.success else {}

    # -- what comes in -----------------------------------------------------------------------------
    def _diagnosed(self, message):
        for status in message.status:
            level = int.from_bytes(status.level, 'little') if isinstance(status.level, bytes) else int(status.level)
            if not status.name.startswith(f'{self.space}/'):
                continue
            values = {pair.key: pair.value for pair in status.values}
            if status.name.endswith('rosbotran: loop'):
                self.now.update(values)
            else:
                self.devices[status.name] = status.message
            if level >= 2 and self.phase == 'running':
                self._note(f'{status.name.partition(":")[0]}: {status.message}')

    def _note(self, sentence):
        if sentence not in self.faults:
            self.faults.append(sentence)

    def _pushed(self, message):
        parts = [getattr(part, axis) for part in (message.wrench.force, message.wrench.torque) for axis in 'xyz']
        self.now['push'] = max(parts, key=abs)

    def _moved(self, message):
        self.now['coordinates'] = dict(zip(message.name, message.position))


class Run(Supervisor):
    """A supervisor that, asked by a signal, lets the watch disarm the device first; asked twice, it ends at once."""

    def __init__(self, plan, watch, **options):
        super().__init__(plan, **options)
        self.watch, self.by_user = watch, False

    def stop(self, why=''):
        """Ask for the end."""
        if why in SIGNALS and not self.by_user:
            self.by_user = True
            if self.watch.is_alive():
                self.watch.asked.set()
                return
        super().stop(why)

    def start(self, process):
        """Start one process and keep when."""
        before = len(self.children)
        super().start(process)
        for child in self.children[before:]:
            child.began = time.monotonic()

    def escalate(self, now):
        """Begin with SIGTERM where Python is still starting: SIGINT would leave a traceback then."""
        if self.level:
            super().escalate(now)
            return
        for child in self.children:
            child.signal(signal.SIGTERM if now - child.began < YOUNG else signal.SIGINT)
        self.level, self.stop_at = 1, now + self.term_after


def run_device(path, arguments, seconds=None, headless=False, as_json=False, log=None) -> int:
    """Run the launch file of a device and return the exit code: 0 after Ctrl-C, or if every figure is good."""
    plan = interpret(path, arguments)
    device = path.name.removesuffix('.launch.xml')
    holder = []
    watch = Watch(plan.variables.get('namespace', ''), seconds, lambda: Supervisor.stop(holder[0], 'the watch is over'))
    quiet = as_json or headless or not sys.stdout.isatty()
    show = view(watch, device) if not quiet else None
    run = Run(plan, watch, screen=show.line if show else plain(sys.stderr if as_json else None), log=log)
    holder.append(run)
    watch.start()
    if show:
        with show:
            code = run.run()
    else:
        code = run.run()
    watch.asked.set()
    watch.join(10.0)
    return conclude(watch, run, device, code, as_json)


def conclude(watch, run, device, code, as_json) -> int:
    """Print the figures and return the exit code."""
    if watch.last is None:
        if watch.problem and not run.by_user and not run.failures:
            raise MbsError(watch.problem)
        if run.failures and not run.by_user:
            name, what = run.failures[0]
            raise MbsError(f'{name} died ({what}); its own words are above')
        if as_json:
            print(Figures().to_json())
        return code
    figures = summary(watch, device)
    good = figures.report(as_json, title=f'{device}, {watch.ended - watch.began:.1f} s')
    if not as_json:
        for sentence in [*watch.faults, watch.problem]:
            if sentence:
                print(sentence, file=sys.stderr)
    return code if run.by_user else code or good


def summary(watch, device) -> Figures:
    """Return the figures of a run from what the loop counted between its beginning and its end."""
    first, last, seconds = watch.first, watch.last, watch.ended - watch.began
    figures, name = Figures(), f'run.{device}'
    count = {key: last[key] - first[key] for key in ('ticks', 'skipped', 'received', 'lost', 'publish_errors')}
    wanted = last['rate_hz']
    figures.add(f'{name}.rate', count['ticks'] / seconds, 'Hz', f'>={0.9 * wanted:g}', f'{count["ticks"]} ticks in {seconds:.2f} s')
    figures.add(f'{name}.skipped', count['skipped'], 'ticks', note='deadlines missed, never made up for')
    if 'deadlines' in last:
        rest = last['ticks'] + last['skipped'] - last['deadlines']
        figures.add(f'{name}.unaccounted', rest, 'ticks', '-3..3', 'ticks + skipped - deadlines, read while it runs')
    figures.add(f'{name}.largest_gap', last['largest_gap_us'], 'us', note='between two ticks, since the start')
    for key in ('lateness', 'execution', 'age'):
        median, most = number(last[key]['p50_us']), number(last[key]['max_us'])
        figures.add(f'{name}.{key}_p99', number(last[key]['p99_us']), 'us', note=f'median {median:.3g} us, largest {most:.4g} us')
    figures.add(f'{name}.samples_lost', count['lost'], 'samples', note=f'{count["received"]} received')
    refused = {key[8:]: last[key] - first[key] for key in last if key.startswith('refused_') and last[key] > first[key]}
    figures.add(f'{name}.samples_refused', sum(refused.values()), 'samples', note=', '.join(f'{n} {why}' for why, n in refused.items()))
    figures.add(f'{name}.publish_errors', count['publish_errors'], '1', '==0')
    for key, values in last.items():
        if key.startswith('joint.'):
            joint = key[6:]
            figures.add(f'{name}.{joint}.position', number(values['position']), 'SI')
            figures.add(f'{name}.{joint}.effort', number(values['effort']), 'SI', note='of the set-point')
            figures.add(f'{name}.{joint}.energy', number(values['energy']), 'J', note='taken from the hand; negative: given')
    figures.add(f'{name}.faults', len(watch.faults), '1', '==0', '; '.join(watch.faults)[:200])
    return figures


def number(value) -> float:
    """Return a figure that JSON could not hold as NaN."""
    return float('nan') if value is None else value


def plain(stream):
    """Return a screen that prints lines as they come, all to one stream if given."""
    def line(name, text, is_error):
        print(f'[{name}] {text}', file=stream or (sys.stderr if is_error else sys.stdout), flush=True)
    return line


def view(watch, device):
    """Return the live view of a run."""
    from mbs_haptics.live import View
    return View(watch, device)
