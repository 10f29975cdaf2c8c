"""`haptic soak stack`: the whole stack at 1 kHz with a recording, half the time left alone, half in a storm of parameters.

It is the stack of `haptic run DEVICE record:=true` in processes of their own; here is a client like any other. What the loop
counted, what the recording holds and what the kernel says of the process are set beside each other.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics import clients
from mbs_haptics.bag_check import survey
from mbs_haptics.bench import allocations, loop
from mbs_haptics.figures import Figures
from mbs_haptics.parameters import DOUBLE, FIELDS, STRING, Parameters

BATCHES = 1000 / 60             # per second of the run
READY, SETTLE = 90.0, 2.0       # s until the stack must be active, and for ramps and rights after that
UNANSWERED = 0.5                # % of samples, at most
CPU = 15.0                      # % of one core, at most
REFUSED = (('out of range', {'model.{0}': 1e12}), ('NaN', {'model.{0}': float('nan')}), ('wrong type', {'model.{0}': 'stiff'}),
           ('unknown', {'model.{0}x': 1.0}), ('read-only', {'rate_hz': 500.0}))


class Process:
    """What the kernel says of a process: processor time (s), page faults, memory."""

    def __init__(self, pid):
        self.pid = pid

    def now(self) -> dict:
        """Return the figures of this moment."""
        try:
            fields = Path(f'/proc/{self.pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
            pages = int(Path(f'/proc/{self.pid}/statm').read_text(encoding='utf-8').split()[1])
        except OSError:
            raise MbsError('rosbotran ended during the run; its own words are above') from None
        return {'time': time.monotonic(), 'wall': time.time_ns(), 'cpu': (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK'),
                'resident_MB': pages * os.sysconf('SC_PAGE_SIZE') / 1e6}


def child_of(parent, name) -> int:
    """Return the process number of a child that runs a node of ours."""
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            if f'PPid:\t{parent}\n' in (folder / 'status').read_text() and f'/{name}' in (folder / 'cmdline').read_text().replace('.', '/'):
                return int(folder.name)
    raise MbsError(f"the process of '{name}' was not found")


class Client:
    """Talks to rosbotran: its figures, its parameters."""

    def __init__(self, talk):
        self.talk = talk

    def statistics(self) -> dict:
        """Return the loop's own figures, {} while there are none."""
        from std_srvs.srv import Trigger
        answer = self.talk.call(Trigger, '/rosbotran/statistics', Trigger.Request())
        return json.loads(answer.message) if answer.success else {}

    def wait_active(self, alive):
        """Wait until the loop is active."""
        end, why = time.monotonic() + READY, 'rosbotran does not answer'
        while time.monotonic() < end and alive():
            try:
                found = self.statistics()
                if found.get('state') == 'active':
                    return
                why = f"rosbotran is {found.get('state')}"
            except MbsError as error:
                why = str(error)
            self.talk.await_(lambda: False, 0.2)
        raise MbsError(f'the stack was not ready: {why}')

    def declared(self) -> dict:
        """Return {name: (low, high, value)} of the parameters of the model that may change while it is active."""
        parameters = Parameters(self.talk, 'rosbotran')
        names = [name for name in parameters.names() if name.startswith('model.')]
        described, values = parameters.describe(names), parameters.get(names)
        return {name: (d.floating_point_range[0].from_value, d.floating_point_range[0].to_value, values[name])
                for name, d in described.items() if d.floating_point_range and not d.additional_constraints}

    def set(self, batch):
        """Set a batch as a whole; return (done, reason)."""
        from rcl_interfaces.msg import Parameter, ParameterValue
        from rcl_interfaces.srv import SetParametersAtomically
        kinds = {name: STRING if isinstance(value, str) else DOUBLE for name, value in batch.items()}
        messages = [Parameter(name=name, value=ParameterValue(**{'type': kinds[name], FIELDS[kinds[name]]: value})) for name, value in batch.items()]
        answer = self.talk.call(SetParametersAtomically, '/rosbotran/set_parameters_atomically',
                                SetParametersAtomically.Request(parameters=messages))
        return answer.result.successful, answer.result.reason

    def storm(self, seconds, count, seed=1) -> tuple:
        """Set `count` random batches spread over some seconds, within a tenth of each value and its range; return (good, tried)."""
        source, declared = random.Random(seed), self.declared()
        begun, good = time.monotonic(), 0
        for k in range(count):
            chosen = source.sample(sorted(declared), source.randint(1, min(4, len(declared))))
            good += self.set({name: near(source, *declared[name]) for name in chosen})[0]
            self.talk.await_(lambda: False, max(0.0, begun + (k + 1) * seconds / count - time.monotonic()))
        self.set({name: value for name, (_, _, value) in declared.items()})
        return good, count

    def refusals(self) -> dict:
        """Try what has to be refused; return {kind: the sentence, or '' where it was taken}."""
        name = min(self.declared())[len('model.'):]
        found = {}
        for kind, batch in REFUSED:
            done, reason = self.set({key.format(name): value for key, value in batch.items()})
            found[kind] = '' if done else reason
        return found


def near(source, low, high, value):
    """Return a random value near one, within its range."""
    width = 0.1 * abs(value) or 0.001 * (high - low)
    return min(high, max(low, value + source.uniform(-width, width)))


def figures(device, seconds, keep=None, quiet=False) -> Figures:
    """Run the stack and return the figures."""
    def say(what):
        if not quiet:
            print(f'haptic: {what}', file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))        # so that a terminated soak ends what it started
    with tempfile.TemporaryDirectory(prefix='haptic_soak_') as folder:
        bag = Path(keep) if keep else Path(folder) / 'bag'
        os.environ.update({name: value for name, value in loop.environment().items() if name.startswith(('ROS_', 'AMENT_'))})
        say(f'{seconds:g} s of {device} with a recording')
        with open(Path(folder) / 'log', 'w+', encoding='utf-8') as log:
            process = subprocess.Popen([sys.executable, '-m', 'mbs_haptics.main', 'run', device, '--headless', 'record:=true', f'bag:={bag}'],
                                       env=loop.environment(), stdout=log, stderr=subprocess.STDOUT)
            try:
                found = soak(process, seconds)
                process.send_signal(signal.SIGINT)
                found['exit'] = process.wait(30)
            except MbsError as error:
                log.seek(0)
                raise MbsError(f"{error}; it said: {' / '.join(log.read().strip().splitlines()[-3:])}") from None
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(20)
                    process.kill()
        say('allocations')
        return judge(found, survey(bag)[0], allocations.measure(folder))


def soak(process, seconds) -> dict:
    """Do the two halves as a client of the running stack; return what was found."""
    with clients.conversation() as talk:
        client = Client(talk)
        client.wait_active(lambda: process.poll() is None)
        rosbotran = Process(child_of(process.pid, 'rosbotran'))
        talk.await_(lambda: False, SETTLE)
        moments = [(client.statistics(), rosbotran.now())]
        time.sleep(seconds / 2)
        moments.append((client.statistics(), rosbotran.now()))
        good, tried = client.storm(seconds / 2, max(100, round(BATCHES * seconds)))
        moments.append((client.statistics(), rosbotran.now()))
        return {'moments': moments, 'good': good, 'tried': tried, 'refused': client.refusals(), 'last': client.statistics()}


def judge(found, topics, allocated) -> Figures:
    """Return the figures with their aims."""
    (first, then), (middle, half), (last, now) = found['moments']
    figures, count = Figures(), {key: last[key] - first[key] for key in ('ticks', 'skipped', 'deadlines', 'watch_ticks', 'lost')}
    seconds = now['time'] - then['time']
    figures.add('soak.seconds', seconds, 's')
    figures.add('soak.rate', count['ticks'] / seconds, 'Hz', f"{0.99 * last['rate_hz']:g}..{1.01 * last['rate_hz']:g}", f"{count['ticks']} ticks")
    figures.add('soak.unaccounted', count['ticks'] + count['skipped'] - count['deadlines'], 'ticks', '-2..2', 'ticks + skipped - deadlines, read while it runs')
    figures.add('soak.skipped', count['skipped'], 'ticks', note=f"largest gap {last['largest_gap_us'] * 1e-3:.2f} ms, {count['watch_ticks']} ticks without a sample")
    figures.add('soak.faults', last['faults_seen'], '', '==0', last['fault'])
    for key in ('lateness', 'execution', 'age'):
        figures.add(f'soak.{key}_p99', last[key]['p99_us'], 'us', note=f"median {last[key]['p50_us']:.3g} us, largest {last[key]['max_us']:.4g} us")
    record(figures, topics, found['last'], then['wall'], now['wall'])
    figures.add('soak.cpu', 100 * (half['cpu'] - then['cpu']) / (half['time'] - then['time']), '% of a core', f'<={CPU:g}', 'rosbotran, left alone')
    figures.add('soak.cpu_storm', 100 * (now['cpu'] - half['cpu']) / (now['time'] - half['time']), '% of a core', note='rosbotran, with its parameters being set')
    figures.add('soak.memory_growth', now['resident_MB'] - then['resident_MB'], 'MB', '<=8', 'resident memory of rosbotran')
    figures.add('soak.allocations', allocated['own'], 'per tick', '==0',
                f"calls of malloc, calloc, realloc by the loop's thread, middleware left out; with it {allocated['with_middleware']:.2g}")
    figures.add('soak.parameters.batches', found['good'], '', f"=={found['tried']}", 'random, all accepted')
    figures.add('soak.parameters.ticks_to_effect', last['parameters']['ticks_to_effect_max'], 'ticks', '<=2', "largest, from acceptance, by the loop's own record")
    halves = [answered(topics, *walls) for walls in ((then['wall'], half['wall']), (half['wall'], now['wall']))]
    quiet, busy = (100 * unanswered / max(1, regular) for regular, unanswered, _, _ in halves)
    figures.add('soak.parameters.unanswered', busy, '%', f'<{UNANSWERED:g}', f'of regular samples while parameters were set; {quiet:.2g} % in the half without')
    figures.add('soak.parameters.skipped', last['skipped'] - middle['skipped'], 'ticks', note=f"{middle['skipped'] - first['skipped']} in the half without")
    for kind, sentence in found['refused'].items():
        figures.add(f"soak.refused.{kind.replace(' ', '_')}", sentence, aim='one sentence', ok=bool(sentence) and '\n' not in sentence)
    figures.add('soak.exit', found['exit'], '', '==0', 'of `haptic run`, after Ctrl-C')
    return figures


def record(figures, topics, last, begin, end):
    """Add what the recording holds: nothing is missing between publisher and file, and how many samples were not answered."""
    for name in ('joint_states', 'setpoint'):
        topic = topics.get(f'/{name}')
        if topic is None:
            raise MbsError(f"the recording holds no '{name}'")
        lost, doubled, disordered = topic.losses()
        figures.add(f'soak.bag.{name}.lost', lost, '', '==0', f'{len(topic.times)} messages, by their sequence')
        figures.add(f'soak.bag.{name}.doubled', doubled + disordered, '', '==0')
    kept = len(topics['/setpoint'].times)
    figures.add('soak.bag.setpoint.missing', last['ticks'] - kept, 'ticks', '<=0', f"{last['ticks']} ticks at the last look, {kept} set-points in the recording")
    regular, unanswered, whole, missed = answered(topics, begin, end)
    figures.add('soak.unanswered', 100 * unanswered / max(1, regular), '%', f'<{UNANSWERED:g}', f'of {regular} samples that came a period apart from their neighbours')
    figures.add('soak.unanswered_all', 100 * missed / max(1, whole), '%', note=f'of all {whole}, also those that a stalled machine held up and sent in a bunch')


def answered(topics, begin, end) -> tuple:
    """Return (samples that came regularly, those of them no set-point answers, all samples, those no set-point answers).

    Of those that came from `begin` to `end` (ns). Regular: half to one and a half periods after the sample before and before
    the next. What a stalled machine sends in a bunch is not answered one by one: the loop never bursts.
    """
    import numpy as np
    samples, answers = topics['/joint_states'], np.unique(np.array(topics['/setpoint'].answered, dtype=np.int64))
    number, came = np.array(samples.sequence, dtype=np.int64), np.array(samples.times, dtype=np.int64)
    order = np.argsort(number)
    number, came = number[order], came[order]
    gaps = np.diff(came) / np.median(np.diff(came))
    fine = (gaps > 0.5) & (gaps < 1.5)
    counted = (came[1:-1] >= begin) & (came[1:-1] <= end) & (number[1:-1] < answers.max())
    regular, met = counted & fine[:-1] & fine[1:], np.isin(number[1:-1], answers)
    return int(regular.sum()), int((regular & ~met).sum()), int(counted.sum()), int((counted & ~met).sum())
