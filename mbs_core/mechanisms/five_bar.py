"""A five-bar falling freely: the closed 2-dof link mechanism of 003 without any torque."""

from mbs_core.description import Mechanism
from mbs_core.mechanisms.two_link import link_mechanism


def five_bar(start=None) -> Mechanism:
    """Return the free five-bar; `start` is its four joint angles in rad, (pi/2, -pi/6, pi/2, pi/6) if omitted."""
    return link_mechanism('five_bar', 'Free five-bar: the closed link mechanism of 003 without torques', True, 'none', 1, start)
