"""The tyre formula of Bakker, Nyborg and Pacejka with the coefficients of the ROBOTRAN routine (PARAMETERS.md 2.3).

`routine` gives exactly its values: angles in degrees and slip in percent inside, side force negative for a positive slip
angle, and Mz negative there too, which in axes x forward, y left, z up would turn the wheel away from where it goes.
`Bakker.forces` turns that sign round, so that a castering wheel aligns (proven in test/test_tyre.py on a free wheel).
"""

import math
from dataclasses import dataclass

from mbs_core.symbolic import absolute, atan, exp, maximum, minimum, sin, sqrt, tan

DEGREE = 180.0 / math.pi
HEAVIEST = 8.0               # kN; the fit of the curvatures and peaks does not reach farther
LIGHTEST = 0.01
TINY = 1e-9                  # of slip: the shares of a combination without any slip


def routine(load, alpha, camber, kappa):
    """Return (Fx, Fy, Mz) in N and N m of the published routine: load in N, angles in rad, kappa as a fraction."""
    f = minimum(maximum(load / 1000.0, LIGHTEST), HEAVIEST)
    a, g, k = alpha * DEGREE, camber * DEGREE, kappa * 100.0
    tilt = absolute(g)
    d = (-21.3 * f + 1144.0) * f
    fx = _magic(k, 1.65, d, (49.6 * f + 226.0) * f * exp(-0.069 * f), (-0.006 * f + 0.056) * f + 0.486)
    d = (-22.1 * f + 1011.0) * f
    slope = 1078.0 * sin(1.82 * atan(0.208 * f)) * (1.0 - 0.022 * tilt)
    fy = -(_magic(a + 0.028 * g, 1.30, d, slope, -0.354 * f + 0.707) + 14.8 * f * g)
    lateral = tan(alpha)
    whole = sqrt(kappa * kappa + lateral * lateral + TINY * TINY)
    d = (-2.72 * f - 2.28) * f
    slope = (-1.86 * f - 2.73) * f * exp(-0.11 * f) * (1.0 - 0.03 * tilt)
    curve = ((-0.07 * f + 0.643) * f - 4.04) * (1.0 - 0.07 * tilt)
    mz = _magic(a + 0.015 * g, 2.40, d, slope, curve) + (-0.066 * f + 0.945) * f * g
    return fx * absolute(kappa) / whole, fy * absolute(lateral) / whole, mz


def stiffness(load):
    """Return the lateral slip stiffness in N/rad, positive, without camber."""
    f = minimum(maximum(load / 1000.0, LIGHTEST), HEAVIEST)
    return 1078.0 * sin(1.82 * atan(0.208 * f)) * DEGREE


def _magic(x, c, d, slope, e):
    """Return d sin(c atan(b phi)), b the stiffness factor, phi the curved slip."""
    b = slope / (c * d)
    return d * sin(c * atan(b * ((1.0 - e) * x + e / b * atan(b * x))))


@dataclass(frozen=True)
class Bakker:
    """The same tyre with the face of `Pac2002`: aligning moment with the right sign, friction of the road, relaxation."""

    r0: float = 0.344
    along: float = 0.30          # relaxation lengths, m: the routine itself has none
    across: float = 0.50

    def relaxation(self, fz):
        """Return the relaxation lengths (longitudinal, lateral) in m."""
        return self.along, self.across

    def forces(self, kappa, slope, fz, camber=0.0, road=1.0):
        """Return (Fx, Fy, Mz), the slips stretched by 1 / road so that the slope at the origin stays."""
        fx, fy, mz = routine(fz, atan(slope / road), camber, kappa / road)
        return road * fx, road * fy, -road * mz
