"""The controller of the lid: path, states, force, hand detection and assistance, as one law without a clock.

Twelve memories and their rates: the caller integrates them (400 Hz on numpy arrays, or natively inside a mechanism).
sigma runs along the path's own time (lift T_t, idle T_b, rotation T_r), w is its rate: 1 opens, -1 closes, 0 holds, so a
motion is interrupted, reversed and resumed anywhere without a jump. delta lets the reference start where a hand has left it.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from mbs_core.control.computed_torque import blended, literal
from mbs_core.control.generic import absolute, clip, exp, maximum, minimum, select, tanh
from mbs_core.control.lid_map import GRAVITY
from mbs_core.control.trajectories import slope
from mbs_core.errors import MbsError

CLOSED, RISING, IDLE, OPENING, OPEN, CLOSING, ASSISTING, FAULT = STATES = (
    'closed', 'rising', 'idle', 'opening', 'open', 'closing', 'assisting', 'fault')
PEAK = {2: 1.875, 3: 2.1875}         # largest rate of the slopes of class C2 and C3
LEARN = 0.02                         # s, as quickly as the bias follows while friction is in doubt
FOLLOW, RETURN = 60.0, 4.0           # 1/s: how quickly delta follows a hand, and decays afterwards
FASTEST = 0.08                       # m/s, of r1 on the path: friction is compensated for no more
BRAKE = 600.0                        # N s/m against a hand that moves r1 faster than that
YIELD = 400.0                        # N s/m while giving way to a hand in the way: it stops soon after the hand has gone
TARE = 0.4                           # N at the lid's edge: so much of the weight's learned error is kept while assisting
TAKE, LET_GO = 0.03, 0.2             # s over which the force takes the closed lid, and lets go of it


class Memory(NamedTuple):
    """What the controller remembers; all zero for a closed lid at rest."""

    sigma: Any = 0.0                 # s, along the path
    wish: Any = 0.0                  # the command, rounded while the lid is fast
    w: Any = 0.0                     # rate of sigma
    delta: Any = 0.0                 # m, reference beside the path
    delta_rate: Any = 0.0
    made: Any = 0.0                  # N, the force that the actuators make by now
    impulse: Any = 0.0               # N s, momentum that the model explains
    bias: Any = 0.0                  # N at r1, what the model is off by if it is friction ...
    bias_edge: Any = 0.0             # ... and N at the edge, if it is the lid's weight
    doubt: Any = 0.0                 # 1 while dry friction may hide or feign a hand: at rest, led by a hand, and just after either
    hit: Any = 0.0                   # 1 when a hand was met
    grip: Any = 0.0                  # share of the force: 0 while the lid lies in its box


class Motion(NamedTuple):
    """What is measured and follows from the model at r1, v: lid, Jacobians and reduced dynamics."""

    v: Any
    h: Any
    theta: Any
    J_h: Any
    J_theta: Any
    drift_h: Any                     # J_h' v
    drift_theta: Any
    m_r: Any                         # kg, with the rotors
    m_rate: Any                      # kg/s, its time derivative
    weight: Any                      # N at r1
    edge: Any                        # way of the lid's edge per r1


@dataclass(frozen=True)
class Tuning:
    """Path, gains and what the controller believes of the device (SI)."""

    h1: float = 0.008
    lift: float = 0.0032039
    theta_open: float = math.radians(100)
    T_t: float = 1.0
    T_b: float = 1.0
    T_r: float = 1.5
    smoothness: int = 3
    rho: float = 1.0                 # m per rad; the larger, the nearer the tilt follows its own slope in C1
    kp: float = 2500.0
    kd: float = 100.0
    law: str = 'blended'
    m_o: float = 1.2
    m_1: float = 4.0
    coulomb: float = 4.0
    viscous: float = 80.0
    creep: float = 5e-4              # m/s over which the friction's sign is rounded
    brake: float = 0.12              # s to stop from full speed
    lag: float = 0.004               # s, from a force asked for to the force made
    observer: float = 150.0          # 1/s
    learning: float = 1.0            # share of the learned error that is compensated
    forget: float = 0.15             # s, after which a lasting residual counts as an error of the model
    threshold: float = 2.0           # N at the lid's edge, sudden
    lasting: float = 7.0             # N at the lid's edge, however slowly it came
    slow: float = 2e-3               # m/s below which dry friction is in doubt, and widens both by 1.5 coulomb ...
    settle: float = 0.06             # ... until so many s after breaking away
    h_armed: float = 4e-4            # m above the closed stop from where on a hand is looked for ...
    open_margin: float = 0.006       # ... and rad before the open stop; nearer, the stops may carry the lid
    help: float = 0.5                # share of the hand's force that the actuator adds while assisting
    help_most: float = 8.0           # N at the lid's edge: of a larger residual no more is taken for a hand
    drag: float = 20.0               # N s/m felt while assisting

    def __post_init__(self):
        if self.law not in ('blended', 'literal'):
            raise MbsError(f"the control law '{self.law}' is unknown: choose 'blended' or 'literal'")
        if self.smoothness not in PEAK:
            raise MbsError(f'a slope of class C{self.smoothness} is not known; use smoothness=2 or 3')

    @property
    def total(self):
        """Return the path's whole time."""
        return self.T_t + self.T_b + self.T_r

    @property
    def rotation(self):
        """Return what the rotation adds to z."""
        return self.lift + self.rho * self.theta_open


def path(sigma, c) -> dict:
    """Return {'h', 'theta', 'z'} of the path at sigma, each (value, first, second derivative by sigma)."""
    f = slope(sigma, 0.0, c.T_t, c.smoothness)[:3]
    g = slope(sigma, c.T_t + c.T_b, c.total, c.smoothness)[:3]
    return {'h': tuple(c.h1 * a for a in f), 'theta': tuple(c.theta_open * b for b in g),
            'z': tuple(c.h1 * a + c.rotation * b for a, b in zip(f, g))}


def friction(v, c):
    """Return the friction that the controller believes in at speed v."""
    return c.coulomb * tanh(v / c.creep) + c.viscous * v


def control(x, m, command, assist, c, applied=None) -> tuple:
    """Return (rates of the memory, F1, {name: value}) at memory x and motion m.

    command: 1 open, -1 close, 0 hold; assist: 1 while the lid shall follow the hand. applied: the force that really acts, where
    it is measured. F1 = model + feedback (F_1m and F_1c of 000), friction compensated in the model part.
    """
    soft = maximum(assist, select(x.hit > 0.5, 1.0, 0.0))
    p = path(x.sigma, c)
    z, J, drift = m.h + c.rho * m.theta, m.J_h + c.rho * m.J_theta, m.drift_h + c.rho * m.drift_theta
    fast = (p['h'][1] / (c.h1 / c.T_t) + p['theta'][1] / (c.theta_open / c.T_r)) / PEAK[c.smoothness]      # 1 at full speed
    wish_rate = (command * (1.0 - soft) - x.wish) / (0.4 * c.brake * fast + 0.004)
    w_rate = (x.wish - x.w) / (c.brake * fast + 0.004)
    own = select(x.w > 0.0, select(x.sigma < c.total, x.w, 0.0), select(x.sigma > 0.0, x.w, 0.0))
    sigma_rate = soft * clip(20.0 * (z - p['z'][0]), -3.0, 3.0) + (1.0 - soft) * own
    pace = soft * FOLLOW + (1.0 - soft) * RETURN
    delta_acc = pace * pace * (soft * (z - p['z'][0]) - x.delta) - 2.0 * pace * x.delta_rate
    wanted = (p['z'][0] + x.delta, p['z'][1] * own + x.delta_rate,
              p['z'][2] * own * own + p['z'][1] * w_rate * select(absolute(own) > 0.0, 1.0, 0.0) + delta_acc)
    feed, full = _accelerations(x, m, p, (z, J * m.v, J, drift * m.v), wanted, own, w_rate, c)
    v_wanted = clip(wanted[1] / J, -FASTEST, FASTEST) if c.law == 'blended' else m.v
    inertial = 0.5 * m.m_rate * m.v
    moved = (1.0 - soft) * (m.m_r * feed + friction(v_wanted, c))
    residual = c.observer * (m.m_r * m.v - x.impulse)
    usual = clip(m.v, -FASTEST, FASTEST)
    tare = assist * m.edge * clip(x.bias_edge, -TARE, TARE)
    drag = assist * c.drag + (1.0 - assist) * YIELD
    followed = soft * (0.7 * assist * friction(usual, c) - drag * m.v - BRAKE * (m.v - usual)
                       + assist * c.help * clip(residual - tare, -c.help_most * m.edge, c.help_most * m.edge))
    learned = c.learning * (1.0 - x.doubt) * (1.0 - soft) * clip(x.bias, -2.0 * c.coulomb, 2.0 * c.coulomb)
    model = x.grip * (m.weight + inertial + moved + followed - learned - tare)
    feedback = x.grip * (1.0 - soft) * m.m_r * (full - feed)
    force = model + feedback
    free, armed = _away(x, m, c, 0.25), _away(x, m, c, 1.0)
    explained = (x.made if applied is None else applied) + inertial - m.weight - friction(m.v, c)
    momentum = m.m_r * m.v
    rest = maximum(exp(-(m.v / c.slow) * (m.v / c.slow)), soft)         # a hand that lets go is no new one
    unsure = 1.5 * c.coulomb * x.doubt
    sudden = minimum(absolute(residual - x.bias), absolute(residual - m.edge * x.bias_edge))
    surplus = maximum(sudden - c.threshold * m.edge, absolute(residual) - c.lasting * m.edge) - unsure
    learn = 1.0 / (armed * (1.0 - x.doubt) * c.forget + LEARN)
    alarm = select(surplus > 0.0, armed, 0.0)
    held = select(x.sigma > 0.0, 1.0, maximum(soft, select(command > 0.0, 1.0, 0.0)))
    rates = Memory(sigma_rate, wish_rate, w_rate, x.delta_rate, delta_acc, (force - x.made) / c.lag,
                   free * (explained + residual) + (1.0 - free) * 200.0 * (momentum - x.impulse),
                   learn * (free * residual - x.bias), (1.0 - soft) * learn * (free * residual / m.edge - x.bias_edge),
                   (rest - x.doubt) / select(rest > x.doubt, 0.02, c.settle),
                   select(assist > 0.5, -200.0 * x.hit, select(
                       alarm > 0.5, 400.0 * (1.0 - x.hit),
                       select(absolute(command) < 0.5, -200.0 * x.hit, select(x.hit > 0.5, 0.0, -300.0 * x.hit)))),
                   (held - x.grip) / select(held > x.grip, TAKE, LET_GO))
    told = {'model': model, 'feedback': feedback, 'residual': residual / m.edge, 'surplus': armed * surplus, 'alarm': alarm, 'theta_wanted': p['theta'][0],
            'h_wanted': p['h'][0] + c.lift * p['theta'][0] / c.theta_open, 'z_wanted': wanted[0], 'z': z}
    return rates, force, told


def _away(x, m, c, share):
    """Return 1 where the lid is gripped and this share of the margins away from both stops, else 0."""
    return select(m.h > share * c.h_armed,
                  select(m.theta < c.theta_open - share * c.open_margin, select(x.grip > 0.95, 1.0, 0.0), 0.0), 0.0)


def _accelerations(x, m, p, z, wanted, own, w_rate, c):
    """Return r1'' without and with feedback, by the blended law or by the paper's two."""
    if c.law == 'blended':
        still = (wanted[0], wanted[1], z[2], z[3])
        return blended(wanted, still, 0.0, 0.0), blended(wanted, z, c.kp, c.kd)
    timed = {k: (p[k][0], p[k][1] * own, p[k][2] * own * own + p[k][1] * w_rate) for k in ('h', 'theta')}
    h, theta = (m.h, m.J_h * m.v, m.J_h, m.drift_h * m.v), (m.theta, m.J_theta * m.v, m.J_theta, m.drift_theta * m.v)
    lifting = x.sigma < c.T_t + c.T_b
    return tuple(literal(lifting, timed['h'], timed['theta'], h if kept else (*timed['h'][:2], *h[2:]),
                         theta if kept else (*timed['theta'][:2], *theta[2:]), kept * c.kp, kept * c.kd) for kept in (0, 1))


def motion_of(table, r1, v, m_o, m_1) -> Motion:
    """Return the motion at r1, v from the look-up tables, for a lid of m_o and rotors of m_1."""
    t = table.at(r1)
    return Motion(v, t['h'], t['theta'], t['J_h'], t['J_theta'], t['dJ_h'] * v, t['dJ_theta'] * v, m_o * t['mass'] + m_1,
                  m_o * t['dmass'] * v, m_o * GRAVITY * t['rise'], t['edge'])


def state_name(sigma, w, soft, c, fault=False) -> str:
    """Return the name of the lid's state: where it is on its path and which way it goes."""
    if fault:
        return FAULT
    if soft:
        return ASSISTING
    if w < -0.05 and sigma > 0:
        return CLOSING
    if sigma <= 0:
        return CLOSED if w <= 0.05 else RISING
    if sigma >= c.total - 1e-9:
        return OPEN
    if w > 0.05:
        return RISING if sigma < c.T_t else IDLE if sigma < c.T_t + c.T_b else OPENING
    return IDLE
