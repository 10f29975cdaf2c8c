"""Identify a lid from its recorded motion: masses, centre of mass, inertia and friction, with confidence intervals.

With one degree of freedom the reduced dynamics (000 eq. 6) are linear in what is unknown:
m_1 a + m_o Y_m + (m_o l_c) Y_s + I Y_i + coulomb sign(v) + viscous v = F1, the Y from the geometry alone. The centre of mass lies
l_c in front of the centre that the lid turns about, and I is its moment of inertia about that centre.
"""

from typing import NamedTuple

import numpy as np

from mbs_core.control.lid_map import GRAVITY, lid_map
from mbs_core.errors import MbsError
from mbs_core.mechanisms import lid_hinge

NAMES = ('m_1', 'm_o', 'first', 'inertia', 'coulomb', 'viscous')
UNITS = {'m_1': 'kg', 'm_o': 'kg', 'first': 'kg m', 'inertia': 'kg m2', 'coulomb': 'N', 'viscous': 'N s/m', 'l_c': 'm'}
CUTOFF = 12.0           # Hz: the motion is below 5 Hz, the encoder's noise above
SLIDING = 6e-3          # m/s below which dry friction has no certain value: three times the Stribeck speed of the screws
END, KINK = 6e-4, 6e-4  # m from both stops and from the cam's junctions, where the filter would round corners
BLOCK = 0.25            # s: residuals closer together are not independent
SURE = 1.96             # deviations of a 95 % interval
HUBER = 2.0             # deviations beyond which a sample counts less: a touch of a hand must not tilt the result
LEAST = 3.0             # s of sliding motion that are needed


class Identified(NamedTuple):
    """What was found: {name: value}, {name: (low, high)} at 95 %, and how well the motion is explained."""

    values: dict
    intervals: dict
    residual: float      # N, rms of F1 that is not explained
    force: float         # N, rms of F1
    seconds: float       # of sliding motion that were used
    condition: float     # of the scaled regressor


def regressor(r1, v, a, table=None) -> np.ndarray:
    """Return Y (times, 6) in the order of NAMES, so that Y @ parameters is F1."""
    t = (table or lid_map()).at(r1)
    J, K, dJ, dK, c, s = t['J_h'], t['J_theta'], t['dJ_h'], t['dJ_theta'], np.cos(t['theta']), np.sin(t['theta'])
    cross, slope = 2 * c * J * K, 2 * (c * (dJ * K + J * dK) - s * K * J * K)
    return np.column_stack([a, J * J * a + J * dJ * v * v + GRAVITY * J, cross * a + 0.5 * slope * v * v + GRAVITY * c * K,
                            K * K * a + K * dK * v * v, np.sign(v), v])


def identify(t, r1, force, table=None) -> Identified:
    """Return what the motion r1(t) (m) under F1(t) (N, both rods) tells; too little motion is MbsError."""
    t, r1, force = (np.asarray(x, float) for x in (t, r1, force))
    if len(t) < 100 or not all(np.isfinite(x).all() for x in (t, r1, force)) or not (np.diff(t) > 0).all():
        raise MbsError('the motion needs at least 100 finite samples at rising times: record an opening and a closing')
    table = table or lid_map()
    dt = float(np.median(np.diff(t)))
    r, v, a, F = _smoothed(t, r1, force, dt)
    keep = _usable(r, v, table)
    if keep.sum() * dt < LEAST or np.ptp(r[keep]) < 0.5 * (table.last - table.first) or not ((v[keep] > 0).any() and (v[keep] < 0).any()):
        raise MbsError(f'the recording has {keep.sum() * dt:.1f} s of motion: to identify the lid it must open and close over most of its '
                       f'stroke, for at least {LEAST:g} s in all')
    Y, F = regressor(r[keep], v[keep], a[keep], table), F[keep]
    scale = np.sqrt(np.mean(Y * Y, axis=0))
    condition = float(np.linalg.cond(Y / scale))
    found, weight = _robust(Y / scale, F)
    rest = F - Y / scale @ found
    blocks = (np.flatnonzero(keep) * dt / BLOCK).astype(int)
    covariance = _covariance(Y / scale * weight[:, None], Y / scale, rest, blocks) / np.outer(scale, scale)
    found = found / scale
    values, deviations = dict(zip(NAMES, found)), dict(zip(NAMES, np.sqrt(np.diag(covariance))))
    values['l_c'] = values['first'] / values['m_o']
    gradient = np.array([0, -values['l_c'] / values['m_o'], 1 / values['m_o'], 0, 0, 0])
    deviations['l_c'] = float(np.sqrt(gradient @ covariance @ gradient))
    intervals = {name: (float(values[name] - SURE * deviations[name]), float(values[name] + SURE * deviations[name])) for name in values}
    return Identified({k: float(x) for k, x in values.items()}, intervals, float(np.sqrt(np.mean(rest ** 2))),
                      float(np.sqrt(np.mean(F ** 2))), float(keep.sum() * dt), condition)


def _smoothed(t, r1, force, dt):
    """Return r1, its rates and F1 at even times, all through the same filter without delay."""
    from scipy.signal import butter, sosfiltfilt
    even = np.arange(t[0], t[-1], dt)
    sos = butter(4, min(CUTOFF, 0.2 / dt), fs=1 / dt, output='sos')
    r, F = (sosfiltfilt(sos, np.interp(even, t, x)) for x in (r1, force))
    v = np.gradient(r, dt)
    return r, v, np.gradient(v, dt), F


def _usable(r, v, table):
    """Tell where the lid slides, away from stops and the cam's junctions, and has done so for a moment."""
    poses = lid_hinge.stroke(count=50)
    junctions = poses.r1[np.flatnonzero(np.diff(poses.piece))]
    good = (np.abs(v) > SLIDING) & (r > table.first + END) & (r < table.last - END)
    for place in junctions:
        good &= np.abs(r - place) > KINK
    return good


def _robust(Y, F, rounds=8):
    """Return (parameters, weights) by least squares that counts outliers less."""
    weight = np.ones(len(F))
    for _ in range(rounds):
        root = np.sqrt(weight)
        found = np.linalg.lstsq(Y * root[:, None], F * root, rcond=None)[0]
        rest = np.abs(F - Y @ found)
        spread = max(1.4826 * float(np.median(rest)), 1e-9)
        weight = np.minimum(1.0, HUBER * spread / np.maximum(rest, 1e-12))
    return found, weight


def _covariance(weighted, Y, rest, blocks):
    """Return the covariance of the parameters, residuals taken as dependent within a block and independent between."""
    inverse = np.linalg.inv(weighted.T @ Y)
    sums = np.zeros((blocks.max() + 1, Y.shape[1]))
    np.add.at(sums, blocks, weighted * rest[:, None])
    return inverse @ (sums.T @ sums) @ inverse
