"""Counts to joint motion and set-points to laws: what roscom does with every frame, without ROS and without a clock."""

import math
from typing import NamedTuple

from mbs_core.errors import MbsError, suggest
from mbs_core.haptics.estimator import Measurement, design, step
from mbs_core.haptics.plausibility import Plausibility
from mbs_core.transducers import unwrap

COUNTS, MEASURED = 7, 13         # places in the values of a STATE frame: counts.0, measured.0.force
FRESH = 5
LARGEST = 1e12                   # no number of a law is that large; 32 bits on the wire would hold 3e38
LONGEST = 50                     # periods that are bridged by the model of motion; after more it starts anew
NOTHING = (0.0, 0.0, 0.0, 0.0)
RING = 256                       # samples that a set-point may still answer


class Motion(NamedTuple):
    """The state of one joint (SI) and whether it may be believed."""

    q: float
    qd: float
    qdd: float
    effort: float
    believed: bool


UNKNOWN = Motion(math.nan, math.nan, math.nan, 0.0, False)


class Joint:
    """One joint: its sensors, judged and fused."""

    def __init__(self, config, device):
        self.config, self.name = config, config.name
        channels = {sensor.name: (k, sensor.bits) for k, sensor in enumerate(device.sensors)}
        self._sensors = [self._place(sensor, channels) for sensor in config.motion]
        self._force = self._place(config.force, channels) if config.force else None
        self.estimator = design([Measurement(s.transducer.quantity, s.transducer.noise) for s in config.motion],
                                1.0 / device.main_rate_hz, config.jerk)
        # Plain lists: a Python loop reads them several times faster than numpy arrays.
        self._places, self._gains = self.estimator.places.tolist(), self.estimator.gains.tolist()
        self.judge = Plausibility([sensor.checks for sensor in config.motion])
        self._positions = [k for k, place in enumerate(self._places) if place == 0]
        self.restart()
        self._actuator, self.ratio, self.effort_max = None, 1.0, math.inf
        if config.actuator is not None:
            self._use(config.actuator, device)

    def _place(self, sensor, channels):
        found = []
        for channel in sensor.channels:
            if channel not in channels:
                raise MbsError(f"transducer '{sensor.name}' of '{self.name}' reads the channel '{channel}' that the device does not "
                               f'have{suggest(channel, channels)}')
            found.append(channels[channel])
        return sensor.transducer.si, tuple(k for k, _ in found), tuple(bits for _, bits in found), sum(1 << k for k, _ in found)

    def _use(self, actuator, device):
        names = [a.name for a in device.actuators]
        if actuator.channel not in names:
            raise MbsError(f"the actuator of '{self.name}' is the channel '{actuator.channel}' that the device does not "
                           f'have{suggest(actuator.channel, names)}')
        self._actuator, self.ratio = names.index(actuator.channel), actuator.ratio
        limit = device.actuators[self._actuator].force_max * abs(actuator.ratio)
        self.effort_max = min(actuator.effort_max, limit) if limit > 0 else actuator.effort_max

    @property
    def actuator(self):
        """Return the number of its actuator, or None."""
        return self._actuator

    def restart(self):
        """Forget the past: the next sample starts anew."""
        self._x, self._blind = None, 0
        self._last = [[None] * len(channels) for _, channels, _, _ in self._sensors]

    def take(self, values, elapsed) -> Motion:
        """Return the motion after a STATE frame's values, `elapsed` seconds after the one before."""
        fresh_channels, y, fresh = values[FRESH], [], 0
        for k, (si, channels, bits, needed) in enumerate(self._sensors):
            last = self._last[k]
            for j, channel in enumerate(channels):
                raw = values[COUNTS + channel]
                last[j] = unwrap(raw, last[j], bits[j]) if bits[j] and last[j] is not None else raw
            y.append(si(*last))
            if fresh_channels & needed == needed:
                fresh |= 1 << k
        x = self._x
        if x is None:
            return self._begin(y, fresh, values)
        h = elapsed
        q = x[0] + h * (x[1] + 0.5 * h * x[2])
        expected = (q, x[1] + h * x[2], x[2])
        mask = self.judge.check(y, fresh, [expected[place] for place in self._places],
                                h / self.estimator.period)
        step(x, y, mask, self._places, self._gains, h)
        seen = any(mask >> k & 1 for k in self._positions)
        self._blind = 0 if seen else self._blind + 1
        if self._blind > self.config.coast:
            self._x = None
        return Motion(x[0], x[1], x[2], self._effort(values), self._blind <= self.config.coast)

    def _begin(self, y, fresh, values):
        mask = self.judge.check(y, fresh, None)
        known = [y[k] for k in self._positions if mask >> k & 1]
        if not known:
            return Motion(0.0, 0.0, 0.0, 0.0, False)
        self._x, self._blind = [sum(known) / len(known), 0.0, 0.0], 0
        return Motion(*self._x, self._effort(values), True)

    def _effort(self, values):
        if self._force is not None:
            si, channels, _, _ = self._force
            return si(*(values[COUNTS + channel] for channel in channels))
        return 0.0 if self._actuator is None else values[MEASURED + 4 * self._actuator] * self.ratio

    def device_position(self, values):
        """Return the position of its actuator as the device has it."""
        return 0.0 if self._actuator is None else values[MEASURED + 4 * self._actuator + 2]

    def tare(self, rows) -> list:
        """Set the zero of velocity and force sensors from rows of raw counts at rest; return what changed, as words.

        Refused when readings spread more than ten times the sensor's noise: the joint moves, or something touches it.
        """
        done, force = [], self.config.force
        for sensor in self.config.sensors:
            transducer = sensor.transducer
            if transducer.quantity not in ('velocity', 'force') or not hasattr(transducer, 'zero'):
                continue
            place = self._force if sensor is force else self._sensors[self.config.motion.index(sensor)]
            counts = sorted(row[place[1][0]] for row in rows)
            values = [transducer.si(counts[round(part * (len(counts) - 1))]) for part in (0.1, 0.5, 0.9)]
            if transducer.noise and abs(values[2] - values[0]) > 10 * transducer.noise:
                raise MbsError(f"the joint '{self.name}' is not at rest ('{sensor.name}' varies by {abs(values[2] - values[0]):.3g}): "
                               'leave the device alone and calibrate again')
            quiet = [count for count in counts if counts[len(counts) // 10] <= count <= counts[-len(counts) // 10]]
            fresh = transducer.replace(zero=sum(quiet) / len(quiet))
            if sensor is force:
                self._force = (fresh.si, *place[1:])
            else:
                self._sensors[self.config.motion.index(sensor)] = (fresh.si, *place[1:])
            done.append(f'{self.name}/{sensor.name} by {fresh.zero - transducer.zero:+.1f} counts')
        return done

    def complaint(self) -> str:
        """Return one sentence about sensors that are not believed, or ''."""
        return self.judge.complaint([f'{self.name}/{sensor.name}' for sensor in self.config.motion])


class Pipeline:
    """All joints of a device: `take` a state, `laws` of a set-point."""

    def __init__(self, config, device):
        if device.app != config.app:
            raise MbsError(f"the configuration '{config.path}' is for {config.app}, but the device is a {device.app}: choose "
                           'another config:=...')
        self.joints = [Joint(joint, device) for joint in (*config.joints, *config.auxiliary)]
        self._driven = len(config.joints)
        self.period = 1.0 / device.main_rate_hz
        self._actuators, self._sent = len(device.actuators), [None] * RING
        self._t_us = None
        self.refused = self.clamped = self.unbelieved = 0

    @property
    def names(self) -> list:
        """Return the names of the joints."""
        return [joint.name for joint in self.joints]

    def take(self, state) -> list | None:
        """Return the Motions after a State, or None while a joint is not to be believed.

        An auxiliary joint that is not to be believed keeps nobody waiting: its numbers are NaN, which says so.
        """
        # The device samples at whole periods; what its stamps differ from that is no motion.
        steps = 1 if self._t_us is None else max(round((state.t_us - self._t_us) * 1e-6 / self.period), 1)
        if state.is_first or steps > LONGEST:
            for joint in self.joints:
                joint.restart()
            steps = 1
        elapsed = steps * self.period
        self._t_us, values = state.t_us, state.frame.values
        motions = [joint.take(values, elapsed) for joint in self.joints]
        motions[self._driven:] = [m if m.believed else UNKNOWN for m in motions[self._driven:]]
        if not all(motion.believed for motion in motions[:self._driven]):
            self.unbelieved += 1
            return None
        self._sent[state.sequence % RING] = (state.sequence, state.t_us,
                                             [(joint.device_position(values), m.q) for joint, m in zip(self.joints[:self._driven], motions)])
        return motions

    def laws(self, answered, setpoints):
        """Return (laws per actuator, device time of the answered sample), or None for a set-point that must not be sent.

        setpoints: per joint (F0, q0, v0, K, B) of F = F0 - K (q - q0) - B (v - v0), in joint units. q0 is handed over relative
        to the answered sample, so that the device's own calibration need not agree with ours. A set-point that is not finite
        or answers a sample we don't know is refused: the device's watchdog then does its duty. No force at all is never too
        late: it counts as answer to the newest sample, so that a force that has decayed reaches the device.
        """
        if self._t_us is not None and not any(f or k or b for f, _, _, k, b in setpoints):
            return [NOTHING] * self._actuators, self._t_us
        sample = self._sent[answered % RING]
        if sample is None or sample[0] != answered:
            self.refused += 1
            return None
        laws = [NOTHING] * self._actuators
        for joint, (x, q), (force, q0, v0, stiffness, damping) in zip(self.joints, sample[2], setpoints):
            force += damping * v0
            limit, ratio = joint.effort_max, joint.ratio
            law = (force / ratio, x + ratio * (q0 - q), max(stiffness, 0.0) / ratio**2, max(damping, 0.0) / ratio**2)
            if not all(-LARGEST < number < LARGEST for number in (stiffness, damping, *law)):
                self.refused += 1
                return None
            if joint.actuator is None:
                continue
            if not -limit <= force <= limit:
                self.clamped += 1
                law = ((limit if force > 0 else -limit) / ratio, *law[1:])
            laws[joint.actuator] = law
        return laws, sample[1]
