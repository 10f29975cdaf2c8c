"""Three-vectors and 3x3 matrices of numbers and expressions, as plain tuples: zeros vanish by themselves."""

from mbs_core.symbolic.expr import Expr, is_zero

ZERO = (0.0, 0.0, 0.0)
EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(k, a):
    """Return k a."""
    return k * a[0], k * a[1], k * a[2]


def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def matvec(m, a):
    """Return m a."""
    return dot(m[0], a), dot(m[1], a), dot(m[2], a)


def transpose(m):
    """Return m'."""
    return tuple(zip(*m))


def matmul(a, b):
    """Return the matrix product a b."""
    columns = transpose(b)
    return tuple(tuple(dot(row, c) for c in columns) for row in a)


def column(m, k):
    """Return column k of m."""
    return m[0][k], m[1][k], m[2][k]


def outer(a, b):
    """Return a b'."""
    return tuple(tuple(x * y for y in b) for x in a)


def matadd(a, b):
    """Return the matrix sum a + b."""
    return tuple(tuple(x + y for x, y in zip(r, s)) for r, s in zip(a, b))


def is_number(x, value) -> bool:
    """Tell whether x is the number `value` (not an expression)."""
    return type(x) is not Expr and x == value


def is_identity(m) -> bool:
    """Tell whether m is structurally the identity."""
    return all(is_number(m[i][j], float(i == j)) for i in range(3) for j in range(3))


def all_zero(a) -> bool:
    """Tell whether every component of a vector or row is a structural zero."""
    return all(is_zero(c) for c in a)


def unit_axis(a):
    """Return (k, +-1.0) if the vector is exactly a coordinate axis, else None."""
    if any(type(c) is Expr for c in a):
        return None
    big = [k for k in range(3) if a[k] != 0.0]
    if len(big) == 1 and abs(a[big[0]]) == 1.0:
        return big[0], a[big[0]]
    return None
