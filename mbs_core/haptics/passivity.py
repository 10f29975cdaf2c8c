"""Passivity: how stiff a device may be rendered, and an observer and controller of the energy it gives away.

A rendered wall F = -K x - B v, sampled with period T and applied after a latency tau, does not create energy as long as
the device's own physical damping b holds

    b > K (T / 2 + tau) + |B|.

Without latency this is the condition of J. E. Colgate and G. G. Schenkel, "Passivity of a class of sampled-data systems:
application to haptic interfaces", J. Robotic Systems 14(1), 1997: b > T/2 / (1 - cos wT) Re((1 - exp(-jwT)) H(exp(jwT)))
for every w up to the Nyquist frequency. A latency of n periods multiplies H by exp(-jnwT); for the spring the right-hand
side is then K T/2 sin((n + 1/2) wT) / sin(wT/2), whose supremum K (T/2 + nT) is at w = 0; for the damper it is at most |B|.
The sum is therefore sufficient for both, and exact for the spring alone.
"""

import math
from dataclasses import dataclass

from mbs_core.errors import MbsError


def required_damping(stiffness, period, latency=0.0, damping=0.0) -> float:
    """Return the physical damping b that a rendered stiffness and damping want (N s/m or N m s/rad)."""
    return abs(stiffness) * (period / 2 + latency) + abs(damping)


def stiffest(device_damping, period, latency=0.0, damping=0.0) -> float:
    """Return the largest stiffness that stays passive on a device of this damping; 0 when the damping alone is too much."""
    if not period > 0:
        raise MbsError(f'the period of the loop is {period}; it must be positive')
    return max(device_damping - abs(damping), 0.0) / (period / 2 + latency)


def check_stiffness(stiffness, device_damping, period, latency=0.0, damping=0.0, what='the model'):
    """Refuse a stiffness that the declared damping can't hold, with the largest one that it can."""
    bound = stiffest(device_damping, period, latency, damping)
    if abs(stiffness) > bound:
        raise MbsError(f'{what} wants a stiffness of {abs(stiffness):.4g}, but with a damping of {device_damping:g}, a period of '
                       f'{period * 1e3:g} ms and a latency of {latency * 1e3:g} ms only {bound:.4g} is passive: lower it, declare '
                       'more damping, or render it by the local law of the device')


@dataclass
class Observer:
    """The energy a device gave to the hand (J): of a force held between two samples it is exactly F (q - q_before).

    `allowance` is what it may give for good: the energy stored in the model at the start.
    """

    allowance: float = 0.0
    given: float = 0.0

    def observe(self, force, travel):
        """Add the energy of a force that was held while the joint moved by travel; return what is left to give."""
        if math.isfinite(force) and math.isfinite(travel):
            self.given += force * travel
        return self.allowance - self.given

    @property
    def is_passive(self) -> bool:
        """Tell whether the device gave no more than it may."""
        return self.given <= self.allowance


@dataclass
class Controller:
    """Time-domain passivity control: damp exactly as much as takes back the energy given in excess.

    After B. Hannaford and J.-H. Ryu, "Time-domain passivity control of haptic interfaces", IEEE Trans. Robotics and
    Automation 18(1), 2002, with the exact energy of a held force. damping_max bounds the damper, because beyond
    about 2 m / T of the moved mass m it would itself oscillate.
    """

    observer: Observer
    damping_max: float
    damping: float = 0.0

    def __post_init__(self):
        if not self.damping_max > 0:
            raise MbsError(f"the passivity controller's 'damping_max' is {self.damping_max}; it must be positive")

    def update(self, force, travel, velocity, period, held) -> float:
        """Return the force to apply now: `held` was applied while the joint moved by `travel`.

        If the next period at this velocity would give more than is left, a damper alpha in 0..damping_max is added.
        """
        left = self.observer.observe(held, travel)
        excess = force * velocity * period - left
        self.damping = 0.0
        if excess > 0 and abs(velocity) > 1e-9:
            self.damping = min(excess / (velocity * velocity * period), self.damping_max)
        return force - self.damping * velocity
