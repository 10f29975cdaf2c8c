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


def skew(a):
    """Return the matrix of a x."""
    return (0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)


def symmetric_sum(a, b):
    """Return a + b of two symmetric matrices, each off-diagonal term written once."""
    return mirror(*(a[i][j] + b[i][j] for i, j in SIX))


SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def mirror(xx, yy, zz, xy, xz, yz):
    """Return the symmetric matrix of its six terms."""
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def plane_turn(m):
    """Return (k, c, s) if m is exactly a rotation about coordinate axis k with cosine c and sine s, else None."""
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if is_number(m[k][k], 1.0) and all(is_zero(m[k][a]) and is_zero(m[a][k]) for a in (i, j)):
            c, s = m[i][i], m[j][i]
            if (c is m[j][j] or is_number(c, m[j][j])) and _opposite(m[i][j], s):
                return k, c, s
    return None


def _opposite(a, b):
    total = a + b
    return type(total) is not Expr and abs(total) < 1e-15


def rotate_tensor(r, t, symmetric=True):
    """Return r t r'. For a plane rotation the 2x2 block costs four products: with x = s (p - u) + c (q + v),

    [[p, q], [v, u]] becomes [[p - s x, c x - v], [c x - q, u + s x]].
    """
    turn = plane_turn(r)
    if turn is None:
        full = matmul(matmul(r, t), transpose(r))
        return mirror(*(full[i][j] for i, j in SIX)) if symmetric else full
    k, c, s = turn
    i, j = (k + 1) % 3, (k + 2) % 3
    out = [[0.0] * 3 for _ in range(3)]
    p, q, v, u = t[i][i], t[i][j], t[j][i], t[j][j]
    x = s * (p - u) + c * (q + v)
    out[i][i], out[j][j] = p - s * x, u + s * x
    out[i][j], out[j][i] = c * x - v, c * x - q
    out[k][k] = t[k][k]
    out[i][k], out[j][k] = c * t[i][k] - s * t[j][k], s * t[i][k] + c * t[j][k]
    out[k][i], out[k][j] = c * t[k][i] - s * t[k][j], s * t[k][i] + c * t[k][j]
    return tuple(map(tuple, out))
