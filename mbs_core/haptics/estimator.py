"""Position, velocity and acceleration of a joint from whatever sensors it has: a steady-state Kalman filter.

The joint is a triple integrator driven by white jerk of spectral density jerk^2: x = (q, qd, qdd). Sensors measure one of
the three each. The gains are constant, from the discrete algebraic Riccati equation (scipy), worked out once for every
subset of sensors, so that a sensor that falls out is left out by a bit mask and nothing is solved at run time.
"""

import math
from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError, suggest

QUANTITIES = {'position': 0, 'velocity': 1, 'acceleration': 2}


@dataclass(frozen=True)
class Measurement:
    """One sensor as the estimator sees it: its quantity and the standard deviation of one sample (SI)."""

    quantity: str
    noise: float

    def __post_init__(self):
        if self.quantity not in QUANTITIES:
            raise MbsError(f"an estimator can't use a sensor of '{self.quantity}'{suggest(self.quantity, QUANTITIES)}")
        if not 0 < self.noise < math.inf:
            raise MbsError(f"the noise of a {self.quantity} sensor is {self.noise}; the estimator wants a positive number")


@dataclass(frozen=True)
class Estimator:
    """Gains for every subset of sensors: gains[mask] is (3, n); deviation[mask] the standard deviations of q, qd, qdd."""

    period: float
    places: np.ndarray
    gains: np.ndarray
    deviation: np.ndarray

    @property
    def complete(self) -> int:
        """Return the mask of all sensors."""
        return len(self.gains) - 1

    def has_position(self, mask) -> bool:
        """Tell whether a subset knows the position, without which q only drifts on."""
        return any(mask >> k & 1 and place == 0 for k, place in enumerate(self.places))

    def start(self, q=0.0, qd=0.0, qdd=0.0) -> np.ndarray:
        """Return a state to begin with."""
        return np.array([q, qd, qdd], float)


def design(measurements, period, jerk) -> Estimator:
    """Return the estimator of these Measurements at a sample period (s).

    jerk: intensity of the motion, (m or rad)/s^3/sqrt(Hz). Larger follows faster, smaller is smoother.
    """
    measurements = list(measurements)
    if not measurements or len(measurements) > 6:
        raise MbsError(f'an estimator takes 1 to 6 sensors, not {len(measurements)}')
    if not 0 < period < math.inf or not 0 < jerk < math.inf:
        raise MbsError(f"the estimator's period {period} s and jerk {jerk} must be positive numbers")
    places = np.array([QUANTITIES[m.quantity] for m in measurements])
    if 0 not in places:
        raise MbsError('none of the sensors measures a position: add one, or the position is not known')
    n = len(measurements)
    gains, deviation = np.zeros((1 << n, 3, n)), np.full((1 << n, 3), np.inf)
    for mask in range(1, 1 << n):
        chosen = [k for k in range(n) if mask >> k & 1]
        low = min(places[k] for k in chosen)        # the states below the lowest measured one are not observable
        gain, spread = _steady([(places[k] - low, measurements[k].noise) for k in chosen], 3 - low, period, jerk)
        gains[mask][np.ix_(range(low, 3), chosen)] = gain
        deviation[mask, low:] = spread
    return Estimator(period, places, gains, deviation)


def _steady(sensors, order, period, jerk):
    """Return gain and standard deviations after the update, for a chain of `order` integrators.

    Solved in units of the period (state k times T^k) and of the noise, where every number is near 1.
    """
    from scipy.linalg import solve_discrete_are
    powers = np.arange(order)
    a = np.array([[1.0 / math.factorial(j - i) if j >= i else 0.0 for j in range(order)] for i in range(order)])
    # State i is the integral of jerk over (order - i) steps: Van Loan's integral in closed form.
    back = order - 1 - powers
    q = np.array([[1.0 / (math.factorial(i) * math.factorial(j) * (i + j + 1)) for j in back] for i in back])
    intensity = jerk * period**(order - 0.5)
    unit = max(noise * period**place for place, noise in sensors)
    h = np.zeros((len(sensors), order))
    for row, (place, noise) in enumerate(sensors):
        h[row, place] = 1.0
    r = np.diag([(noise * period**place / unit)**2 for place, noise in sensors])
    # Below this the filter is so slow that the equation loses its digits; nothing real is that smooth.
    q = q * max((intensity / unit)**2, 1e-18)
    p = solve_discrete_are(a.T, h.T, q, r, balanced=True)
    innovation = h @ p @ h.T + r
    gain = np.linalg.solve(innovation, h @ p).T
    after = (np.eye(order) - gain @ h) @ p
    scale = period**powers.astype(float)
    rows = np.array([period**place for place, _ in sensors])
    return gain * rows / scale[:, None], unit * np.sqrt(np.maximum(np.diag(after), 0.0)) / scale


def step(x, y, mask, places, gains, h):
    """Advance x = (q, qd, qdd) by h seconds and correct it with the measurements y of the sensors in mask.

    In place. y[k] is in SI; places and gains are those of the Estimator; h differs from its period only after loss.
    """
    q, qd, qdd = x[0], x[1], x[2]
    q += h * (qd + 0.5 * h * qdd)
    qd += h * qdd
    gain = gains[mask]
    dq, dqd, dqdd = 0.0, 0.0, 0.0
    for k in range(len(places)):
        if mask >> k & 1:
            place = places[k]
            error = y[k] - (q if place == 0 else qd if place == 1 else qdd)
            dq += gain[0][k] * error
            dqd += gain[1][k] * error
            dqdd += gain[2][k] * error
    x[0], x[1], x[2] = q + dq, qd + dqd, qdd + dqdd
