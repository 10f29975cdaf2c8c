"""The lid hinge as functions of r1 alone: look-up tables of its geometric models, Jacobians and reduced dynamics (000 fig. 6).

The paper's product uses look-up tables for dgm_h and dgm_theta. Here they come from the closed forms of the stroke, with
their error. With one degree of freedom (6) reads m_r r1'' + m_r' r1'^2 / 2 + weight = F1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from mbs_core.errors import MbsError
from mbs_core.mechanisms import lid_hinge

COLUMNS = ('h', 'theta', 'J_h', 'J_theta', 'dJ_h', 'dJ_theta', 'mass', 'dmass', 'rise', 'edge')
GRAVITY = 9.81


@dataclass(frozen=True)
class LidMap:
    """Tables over r1: `rows` is (count, 10) in the order of COLUMNS, of a lid of 1 kg; outside the stroke they go on straight.

    mass: m_r of the lid; rise: of its centre of mass per r1; edge: way of its front edge, along the push of a hand across it.
    """

    first: float
    step: float
    rows: np.ndarray
    l_o: float
    h1: float
    lift: float

    @property
    def last(self) -> float:
        """Return r1 of the open lid."""
        return self.first + self.step * (len(self.rows) - 1)

    def at(self, r1) -> dict:
        """Return {column: value} at r1 (number or array), by linear interpolation."""
        place = (np.asarray(r1, float) - self.first) / self.step
        row = np.clip(place.astype(int), 0, len(self.rows) - 2)
        part = (place - row)[..., None]
        values = self.rows[row] * (1 - part) + self.rows[row + 1] * part
        return dict(zip(COLUMNS, np.moveaxis(values, -1, 0)))


def lid_map(rows=4097, **changed_mm) -> LidMap:
    """Return the tables of a geometry (lengths in mm), checked over its stroke."""
    if rows < 8:
        raise MbsError(f'a look-up table needs at least 8 rows, not {rows}')
    poses, p = lid_hinge.stroke(count=1000, **changed_mm), lid_hinge.lengths(**changed_mm)
    r1 = np.linspace(poses.r1[0], poses.r1[-1], rows)
    table = np.empty((rows, len(COLUMNS)))
    for piece in range(3):
        own = poses.piece == piece
        low, high = poses.r1[own][[0, -1]]
        inside = (r1 >= low if piece == 0 else r1 > low) & (r1 <= high)
        table[inside] = _columns(poses, own, p, r1[inside])
    g = lid_hinge.geometry(p)
    return LidMap(r1[0], r1[1] - r1[0], table, p['l_o'], p['h1'], float(g['lift']))


def _columns(poses, own, p, r1):
    """Return the columns on one piece of the cam, where all is smooth."""
    x = poses.r1[own]
    J_h, J_theta = lid_hinge.rates(p, *(poses.q[own, k] for k in (1, 2, 3, 5)), poses.theta_c[own])
    h, theta, J_h, J_theta = (CubicSpline(x, y) for y in (poses.h_o[own], poses.theta_o[own], J_h + 0 * x, J_theta + 0 * x))
    mass, rise, edge = lid_rates(theta(r1), J_h(r1), J_theta(r1), p['l_o'])
    dmass = lid_rates_slope(theta(r1), J_h(r1), J_theta(r1), J_h(r1, 1), J_theta(r1, 1), p['l_o'])
    return np.column_stack([h(r1), theta(r1), J_h(r1), J_theta(r1), J_h(r1, 1), J_theta(r1, 1), mass, dmass, rise, edge])


def lid_rates(theta, J_h, J_theta, l_o, cosine=np.cos) -> tuple:
    """Return (m_r of 1 kg, rise of the centre of mass, way of the front edge) per unit of r1, from 000 eq. 7.

    The lid turns about a centre that rises with h_o: its centre of mass is l_o/2 away, I = m l_o^2 / 12, its edge l_o.
    """
    c = cosine(theta)
    mass = J_h * J_h + l_o * c * J_h * J_theta + l_o * l_o / 3 * J_theta * J_theta
    return mass, J_h + 0.5 * l_o * c * J_theta, J_h * c + l_o * J_theta


def lid_rates_slope(theta, J_h, J_theta, dJ_h, dJ_theta, l_o):
    """Return the derivative of m_r of 1 kg by r1."""
    c, s = np.cos(theta), np.sin(theta)
    return (2 * J_h * dJ_h + l_o * (c * (dJ_h * J_theta + J_h * dJ_theta) - s * J_theta * J_h * J_theta)
            + 2 * l_o * l_o / 3 * J_theta * dJ_theta)


def table_errors(rows, fine=20001) -> dict:
    """Return {column: largest error} of dgm_h (m), dgm_theta (rad), J_h and J_theta with so many rows (claim H6)."""
    table, exact = lid_map(rows), lid_map(fine)
    r1 = np.linspace(exact.first, exact.last, fine)
    found, true = table.at(r1), exact.at(r1)
    return {name: float(np.abs(found[name] - true[name]).max()) for name in COLUMNS[:4]}
