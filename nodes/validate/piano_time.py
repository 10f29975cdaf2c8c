"""The piano key in virtual time: firmware, plant, estimator and model in one process, every source of error switchable.

The recording shows how well the force is rendered through the real stack; only here can latency, noise and quantisation be
taken away one by one, for the same blow on the same key.
"""

import numpy as np

from mbs_core.mechanisms import build
from mbs_core.mechanisms.piano.measures import settled
from mbs_core.mechanisms.piano.numbers import KEY
from mbs_core.runtime import compile_model
from mbs_haptics.bridge.pipeline import COUNTS, FRESH

FRONT, COIL = 0.218, 0.109          # m from the balance pin
FAST = 1e-4                         # s, the firmware's fast period
OWN = KEY['balance'] + 0.0545       # N m: leads of the piano, and the device's return spring; also in config/piano_key.yaml
SUBSTEPS = 20
INERTIA = 0.218 * COIL**2            # kg m2: the device's key with its coil (firmware/plants/lever.c)
BED = {'travel': 0.0047, 'stop_damping': 300.0}          # felt under the key: 9.5 mm of dip at the front under 5 N
FINGER = {'rise_s': 0.03, 'damping': 3.0}       # of the scenes `blow`
ACTUATION = 3e-4                    # s from a set-point to its current, on the average: 0.2 to 0.3 ms, later for greater steps
SHARE = 0.6                         # of the felts' slope that the device follows; also in config/piano_key.yaml


def lead(latency_s) -> float:
    """Return the time from a sample to when its force acts, on the average: `device.lead`."""
    return latency_s + 0.5e-3 + ACTUATION


class Action:
    """The model of the action as the loop drives it: one step a millisecond, by samples of the key's motion."""

    def __init__(self, parameters=None, lead=0.0):
        self.state = compile_model(build('piano_action')).state()
        self.state.set({'key.balance': OWN, 'device.lead': lead, 'device.share': SHARE, **(parameters or {})})
        self.names = list(self.state.model.outputs)
        self.before = None

    def step(self, q, qd, h=1e-3):
        """Drive the key here within the next h seconds and return {output: value}."""
        now = (q, qd, 0.0)
        self.state.drive('key', *(self.before or now), then=now)
        self.before = now
        self.state.step(h, 'rk4', max(1, round(SUBSTEPS * h / 1e-3)))
        self.state._results()
        return dict(zip(self.names, self.state.out))


def ideal(height, velocity, parameters=None) -> np.ndarray:
    """Return what the action answers (N at the front) to a true motion of the front (m, m/s), one sample a millisecond."""
    action = Action(parameters)
    return np.array([action.step(h / FRONT, v / FRONT)['above.effort'] for h, v in zip(height, velocity)]) / FRONT


def free_blow(newton, seconds=0.3) -> dict:
    """Return what the finger of the scenes `blow` does to the free action: {'hammer'} at impact (m/s), and 'ratio' at let-off; 0 if it is silent.

    The key is as heavy as the device's, so that what differs is the device's way of rendering.
    """
    state = settled(compile_model(build('piano_action', key='free')), {'key.inertia': INERTIA})
    string, hammer = (list(state.model.outputs).index(name) for name in ('string.force', 'hammer.speed'))
    rows = [(0.0, 0.0)]                                     # (key, hammer) m/s
    for k in range(round(seconds / FAST)):
        grown = min(k * FAST / FINGER['rise_s'], 1.0)
        push = newton * grown * grown * (3.0 - 2.0 * grown)
        state.input('finger.force', max(push - FINGER['damping'] * rows[-1][0], 0.0))
        state.step(FAST, 'rk4', 3)
        state._results()
        if state.out[string] > 0.0:
            key, speed = np.array(rows).T
            return {'hammer': rows[-1][1], 'ratio': speed.max() / key[:np.argmax(speed) + 1].max()}
        rows.append((FRONT * state.v[0], state.out[hammer]))
    return {'hammer': 0.0, 'ratio': 0.0}


class Rehearsal:
    """One blow on the simulated key, in virtual time; `play` returns the truth, one row each 0.1 ms."""

    def __init__(self, newton, latency_s=0.0, seconds=0.16, seed=3):
        from mbs_haptics.bridge import config as configuration
        from mbs_haptics.bridge.pipeline import Pipeline
        from mbs_haptics.firmware.sim import Sim, SimHost
        self.sim = Sim('piano_key', seed, watchdog_us=200000)
        self.host = SimHost(self.sim)
        device = self.host.greet()
        self.sim.set(**BED, spike_rate_hz=0.0, hall_deviation=0.0)
        self.joint = Pipeline(configuration.load('piano_key', ''), device).joints[0]
        self.delay, self.steps = round(latency_s / FAST), round(seconds * 1e3)
        self.action = Action(lead=lead(latency_s))
        self.newton = newton

    def play(self) -> dict:
        """Play the blow and return {'height', 'velocity', 'force'} of the front, each 0.1 ms."""
        return self.moved(mode=6, push=self.newton, hold_s=0.35, period_s=1.0, count=1, **FINGER)

    def dip(self, each=None) -> dict:
        """Play a slow dip at 10 mm/s and return the same; `each(action, ms)` may turn something on the way."""
        return self.moved(each, mode=2, speed=0.010, dip=0.0095, hold_s=0.1)

    def moved(self, each=None, mode=0, **hand) -> dict:
        """Arm, let the hand play its program, and return the truth."""
        self.host.arm()
        for _ in range(50):
            self.tick()
        self.sim.set(**{f'hand__{name}': value for name, value in hand.items()}, hand__start_s=self.sim.get('t_s') + 0.02, hand__mode=mode)
        rows = []
        for ms in range(self.steps):
            if each:
                each(self.action, ms)
            rows.append(self.tick())
        log = {name: np.concatenate([row[name] for row in rows]) for name in ('position', 'velocity', 'current')}
        return {'height': log['position'] * FRONT / COIL, 'velocity': log['velocity'] * FRONT / COIL, 'force': -15.0 * log['current'] * COIL / FRONT}

    def tick(self) -> dict:
        """Let a millisecond pass: a sample, its answer after the latency, and the rest; return the truth of it."""
        values = self.host.state.values
        found = self.joint.take(values, 1e-3)
        law = local_law(self.action.step(found.q, found.qd), found.q, found.qd)
        at_coil = (law[0] / COIL + law[3] * found.qd / COIL, self.joint.device_position(values), law[2] / COIL**2, law[3] / COIL**2)
        parts = [self.sim.run(self.delay, 1)] if self.delay else []
        self.sim.setpoint(at_coil)
        parts.append(self.sim.run(10 - self.delay, 1))
        self.host.receive()
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def local_law(out, q, qd) -> tuple:
    """Return the set-point (F0, q0, K, B) in joint units that the loop sends for these outputs."""
    return -out['above.effort'], q, max(out['above.stiffness'], 0.0), 0.0


MEAN = np.full(10, 0.1)     # over a millisecond: the teeth of 1 kHz that the slopes leave are not felt
SOURCES = {'sampling': 'a perfect sensor and no latency: only the answer each millisecond, held and followed by its slopes',
           'estimator': 'sampling, and the estimator behind perfect sensors', 'quantisation': 'the same, with sensors that count',
           'noise': 'the same, with sensors that count and hiss', 'latency': 'sampling, and the latency',
           'all': 'everything together', 'plain_force': 'everything, without slopes and foresight: a force held for a millisecond'}


def shares(newton, latency_s) -> dict:
    """Return {source: rms error of the rendered force (N)} for one motion of the key, and its 'range' (N).

    The motion is that of a blow rendered with everything on; each case answers to this same motion.
    """
    rehearsal = Rehearsal(newton, latency_s)
    run = rehearsal.play()
    q, qd = run['height'] / FRONT, run['velocity'] / FRONT
    true = fine_ideal(q, qd)
    found = {'range': float(np.ptp(true))}
    for source in SOURCES:
        late = latency_s if source in ('latency', 'all', 'plain_force') else 0.0
        sensors = {'sampling': None, 'latency': None, 'estimator': (False, False), 'quantisation': (True, False)}.get(source, (True, True))
        force = answered(rehearsal.joint, q, qd, late, sensors, slopes=source != 'plain_force')
        found[source] = float(np.sqrt(np.mean(np.convolve(force - true, MEAN, 'valid')**2)))
    return found


def fine_ideal(q, qd) -> np.ndarray:
    """Return what the action answers (N at the front) to a motion given each 0.1 ms."""
    action = Action()
    return np.array([action.step(*now, h=FAST)['above.effort'] for now in zip(q, qd)]) / FRONT


def answered(joint, q, qd, latency_s, sensors, slopes) -> np.ndarray:
    """Return the force (N at the front, each 0.1 ms) that samples of this motion each millisecond are answered with.

    sensors: None for the truth itself, or (whether they count, whether they hiss).
    """
    chance, delay = np.random.default_rng(4), round(latency_s / FAST)
    action, force, law = Action(lead=latency_s + 0.5e-3 if slopes else 0.0), np.zeros(len(q)), (0.0, q[0], 0.0, 0.0, qd[0])
    joint.restart()
    for k in range(0, len(q) - 9, 10):
        seen = sensed(joint, q[k], qd[k], chance, *sensors) if sensors else (q[k], qd[k])
        new = (*local_law(action.step(*seen), *seen), seen[1])
        for i in range(k, k + 10):
            f0, q0, stiffness, damping, v0 = law = new if i - k == delay else law
            # The device refers its law to its own reading, so that of the sample cancels out.
            force[i] = f0 - slopes * (stiffness * (q[i] - (q0 if not sensors else q[k if i - k >= delay else k - 10])) + damping * (qd[i] - v0))
    return -force / FRONT


def sensed(joint, q, qd, chance, whole, hiss) -> tuple:
    """Return (q, qd) as the host estimates it from the counts of the Hall pair and the coil (firmware/plants/lever.c)."""
    z = FRONT * q - 5.0e-3
    volts = (np.sqrt(3.7 + 437.0 * z), np.sqrt(3.7 - 437.0 * z), 1.65 + 0.5 * FRONT * qd)
    counts = [v / 5.03663e-5 + (4.0 * chance.standard_normal() if hiss else 0.0) for v in volts]
    counts = [round(c) for c in counts] if whole else counts
    values = [0] * 40
    values[FRESH] = 7
    values[COUNTS:COUNTS + 3] = counts
    found = joint.take(values, 1e-3)
    return found.q, found.qd
