"""Many simulated lids at once, to try the controller on: friction, model error, noise, lag, stops and a hand.

The plant is the reduced hinge (000 eq. 6) with the numbers that the controller does not know; arrays run over the devices.
Its controller runs at 400 Hz as in the paper, on a quantised, noisy stroke and a velocity estimated from it.
"""

from dataclasses import dataclass, replace

import numpy as np

from mbs_core.control.lid import Memory, Tuning, control, motion_of
from mbs_core.control.lid_map import lid_map

CONTROL_DT = 1.0 / 400.0
PARTS = 5                            # plant steps in a control period
OBSERVER_HZ = 2000.0                 # at which the encoder is read
BANDWIDTH = 700.0                    # rad/s, of the velocity estimate


@dataclass(frozen=True)
class Truth:
    """What the plant really is; numbers or arrays (one a device). Both rods together."""

    m_o: object = 1.2
    m_1: object = 4.0
    coulomb: object = 4.0
    static: object = 5.0
    stribeck: float = 0.002
    viscous: object = 80.0
    strength: object = 1.0           # of the actuators: force made over force asked for
    lag: float = 1.0 / 600.0         # s, of the current loops
    count: float = 9.765625e-7       # m, of the encoder
    noise: float = 1.0e-6            # m, one deviation
    stop: float = 4e5                # N/m, of both ends
    stop_damping: float = 1e3


MODEL_ERROR = Truth(m_o=1.32, m_1=3.6, coulomb=5.0, static=6.5, viscous=60.0, strength=0.95)


class Lids:
    """N lids with their controllers; `log` of the last run as {name: (times, N)}."""

    def __init__(self, count=1, truth=MODEL_ERROR, tuning=None, seed=1, table=None):
        self.table = table or lid_map()
        self.c = tuning or Tuning()
        self.truth, self.chance = truth, np.random.default_rng(seed)
        self.t, zero = 0.0, np.zeros(count)
        self.r, self.v, self.force, self.asked = zero + self.table.first, zero.copy(), zero.copy(), zero.copy()
        self.seen, self.rate, self.memory = self.r.copy(), zero.copy(), Memory(*(zero.copy() for _ in Memory._fields))
        self.command, self.assist, self.hand, self.told = zero.copy(), zero.copy(), zero.copy(), {}
        self.least, self.landing = self.table.last, zero.copy()

    def run(self, seconds, each=None, keep=()):
        """Let time pass; `each(lids)` is called before every control step. Return {name: array} of the kept signals."""
        log = {name: [] for name in keep}
        for _ in range(round(seconds / CONTROL_DT)):
            if each:
                each(self)
            self._control()
            for name in keep:
                value = getattr(self, name, None) if name not in self.told else self.told[name]
                log[name].append(np.array(value if value is not None else getattr(self.memory, name)))
            for _ in range(PARTS):
                self._step(CONTROL_DT / PARTS)
            self.t += CONTROL_DT
        return {name: np.array(values) for name, values in log.items()}

    @property
    def lid(self) -> dict:
        """Return the true lid (h, theta, ...)."""
        return self.table.at(self.r)

    def _control(self):
        m = motion_of(self.table, self.seen, self.rate, self.c.m_o, self.c.m_1)
        rates, self.asked, self.told = control(self.memory, m, self.command, self.assist, self.c)
        self.memory = Memory(*(a + CONTROL_DT * b for a, b in zip(self.memory, rates)))
        self.memory = self.memory._replace(sigma=np.clip(self.memory.sigma, 0.0, self.c.total))
        self.told |= {'force': self.force.copy(), 'theta': self.lid['theta'], 'h': self.lid['h']}

    def _step(self, dt):
        """One plant step: actuator with lag, weight, changing mass, stops, hand at the edge, friction that can hold."""
        k, t = self.truth, self.table.at(self.r)
        self.force += (np.clip(self.asked, -200.0, 200.0) * k.strength - self.force) * (1 - np.exp(-dt / k.lag))
        below, above = self.table.first - self.r, self.r - self.table.last - 1e-4
        stops = (np.where(below > 0, np.maximum(k.stop * below - k.stop_damping * self.v, 0.0), 0.0)
                 - np.where(above > 0, np.maximum(k.stop * above + k.stop_damping * self.v, 0.0), 0.0))
        self.landing = np.maximum(self.landing, np.where((below > 0) | (above > 0), np.abs(self.v), 0.0))
        mass = k.m_o * t['mass'] + k.m_1
        push = (self.force - k.m_o * 9.81 * t['rise'] - 0.5 * k.m_o * t['dmass'] * self.v ** 2 + stops
                + self.hand * t['edge'] - k.viscous * self.v)
        free = self.v + dt * push / mass
        level = k.coulomb + (k.static - k.coulomb) * np.exp(-(self.v / k.stribeck) ** 2)
        hold = dt * level / mass
        self.v = np.where(np.abs(free) <= hold, 0.0, free - np.sign(free) * hold)
        self.r = self.r + dt * self.v
        self._look(dt)

    def _look(self, dt):
        """Read the encoder and follow it: position and velocity by a critically damped observer."""
        k = self.truth
        read = np.floor((self.r + k.noise * self.chance.standard_normal(self.r.shape)) / k.count) * k.count
        self.seen = self.seen + dt * self.rate
        error = read - self.seen
        self.seen = self.seen + min(2 * BANDWIDTH * dt, 1.0) * error
        self.rate = self.rate + BANDWIDTH ** 2 * dt * error


def spread(count, seed, share=0.1) -> Truth:
    """Return a plant for each of `count` devices, masses and friction off by up to `share` (friction: three times that)."""
    chance = np.random.default_rng(seed)
    off = lambda s: 1.0 + s * chance.uniform(-1, 1, count)
    coulomb = 4.0 * off(3 * share)
    return replace(Truth(), m_o=1.2 * off(share), m_1=4.0 * off(share), coulomb=coulomb, static=1.25 * coulomb,
                   viscous=80.0 * off(3 * share), strength=off(share / 2))
