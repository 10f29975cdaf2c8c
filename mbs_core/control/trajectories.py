"""Smooth slopes f_s(t, t_a, t_b) that rise from 0 to 1 between t_a and t_b (000 eq. 12 and 14), with their derivatives.

They take numbers, arrays or expressions of a mechanism, so a reference can be generated into its model.
Class C2 is the quintic the paper asks for. Class C3 (septic) also starts without a jump of jerk: after the lid
hinge's junction, where theta_o grows as the square of r1, a C2 slope asks for r1'' ~ t^-1/2 and a C3 one does not.
"""

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.symbolic import Expr, maximum, minimum

# smoothness class: coefficients of x^0, x^1, ... on [0, 1]
_POLYNOMIALS = {2: (0, 0, 0, 10, -15, 6), 3: (0, 0, 0, 0, 35, -84, 70, -20)}


def slope(t, t_a=0.0, t_b=1.0, smoothness=2) -> tuple:
    """Return (f, f', f'', ...) of the slope of class C2 or C3, with as many derivatives as are continuous.

    It is 0 before t_a and 1 after t_b; times in s.
    """
    if smoothness not in _POLYNOMIALS:
        raise MbsError(f'a slope of class C{smoothness} is not known; use smoothness=2 or 3')
    if not isinstance(t_a, Expr) and not isinstance(t_b, Expr) and not t_a < t_b:
        raise MbsError(f'a slope must end after it begins, but it goes from {t_a:g} to {t_b:g} s')
    span = t_b - t_a
    x = _clamp((t - t_a) / span)
    values, coefficients, scale = [], _POLYNOMIALS[smoothness], 1.0
    for _ in range(smoothness + 1):
        values.append(_horner(coefficients, x) * scale)
        coefficients = [k * c for k, c in enumerate(coefficients)][1:]
        scale = scale / span
    return tuple(values)


def move(t, start, end, t_a=0.0, t_b=1.0, smoothness=2) -> tuple:
    """Return position, velocity, acceleration (and jerk for C3) of a smooth move from `start` to `end`."""
    f, *rates = slope(t, t_a, t_b, smoothness)
    return (start + (end - start) * f, *((end - start) * r for r in rates))


def _clamp(x):
    return minimum(maximum(x, 0.0), 1.0) if isinstance(x, Expr) else np.clip(x, 0.0, 1.0)


def _horner(coefficients, x):
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + float(c)
    return total
