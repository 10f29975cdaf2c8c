"""Functions of a control law that take numbers, arrays or expressions, so that one text is simulated and generated.

A law written with these runs over numpy arrays (many devices at once) and, put into a mechanism, becomes native code.
"""

import numpy as np

from mbs_core.symbolic import Expr
from mbs_core.symbolic import expr as ex


def _either(symbolic, numeric):
    def function(*arguments):
        return (symbolic if any(isinstance(a, Expr) for a in arguments) else numeric)(*arguments)
    function.__doc__ = f'Return {numeric.__name__} of numbers, arrays or expressions.'
    return function


sin, cos, tanh, sqrt, absolute = (_either(getattr(ex, n), getattr(np, n)) for n in ('sin', 'cos', 'tanh', 'sqrt', 'absolute'))
atan2 = _either(ex.atan2, np.arctan2)
maximum, minimum = _either(ex.maximum, np.maximum), _either(ex.minimum, np.minimum)
exp = _either(ex.exp, np.exp)


def select(condition, a, b):
    """Return a where the condition holds, else b."""
    return ex.select(condition, a, b) if isinstance(condition, Expr) else np.where(condition, a, b)


def clip(x, low, high):
    """Return x kept between low and high."""
    return minimum(maximum(x, low), high)
