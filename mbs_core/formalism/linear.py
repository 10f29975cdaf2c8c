"""Symbolic linear algebra with structural zeros: LDL' of a symmetric matrix and block elimination of the loops.

Pivots are blocks (the equations of one loop, two in a plane, three in space) inverted by Cramer's rule: unlike a single
element of a rotating vector, the determinant of such a block does not vanish unless the mechanism itself is singular.
"""

from mbs_core.symbolic.expr import is_zero


class Singular(ArithmeticError):
    """A pivot is structurally zero; `index` says which."""

    def __init__(self, index):
        super().__init__(f'pivot {index} is zero')
        self.index = index


def ldl(matrix, order=None):
    """Factor a symmetric matrix (list of lists) and return solve(b); `order` is the elimination order of its indices."""
    n = len(matrix)
    order = list(order) if order is not None else list(range(n))
    a = [[matrix[i][j] for j in range(n)] for i in range(n)]
    inverse, factor = {}, {}
    for step, p in enumerate(order):
        if is_zero(a[p][p]):
            raise Singular(p)
        inverse[p] = 1.0 / a[p][p]
        rest = [i for i in order[step + 1:] if not is_zero(a[i][p])]
        for i in rest:
            factor[i, p] = a[i][p] * inverse[p]
        for k, i in enumerate(rest):
            for j in rest[:k + 1]:
                a[i][j] = a[j][i] = a[i][j] - factor[i, p] * a[j][p]
    below = {p: [i for i in order if (i, p) in factor] for p in order}

    def solve(b):
        x = list(b)
        for p in order:
            if not is_zero(x[p]):
                for i in below[p]:
                    x[i] = x[i] - factor[i, p] * x[p]
        for p in reversed(order):
            x[p] = inverse[p] * x[p] if not is_zero(x[p]) else 0.0
            for i in below[p]:
                if not is_zero(x[i]):
                    x[p] = x[p] - factor[i, p] * x[i]
        return x
    return solve


def determinant(p):
    """Return the determinant of a 1x1, 2x2 or 3x3 matrix."""
    if len(p) == 1:
        return p[0][0]
    if len(p) == 2:
        return p[0][0] * p[1][1] - p[0][1] * p[1][0]
    return sum((p[0][j] * (p[1][(j + 1) % 3] * p[2][(j + 2) % 3] - p[1][(j + 2) % 3] * p[2][(j + 1) % 3])
                for j in range(3)), 0.0)


def adjugate(p):
    """Return the adjugate of a 1x1, 2x2 or 3x3 matrix."""
    if len(p) == 1:
        return [[1.0]]
    if len(p) == 2:
        return [[p[1][1], -p[0][1]], [-p[1][0], p[0][0]]]
    return [[p[(j + 1) % 3][(i + 1) % 3] * p[(j + 2) % 3][(i + 2) % 3]
             - p[(j + 1) % 3][(i + 2) % 3] * p[(j + 2) % 3][(i + 1) % 3] for j in range(3)] for i in range(3)]


class BlockElimination:
    """Elimination of A x_v + (rest) = b for sparse rows {column: expression}, by a given sequence of block pivots."""

    def __init__(self, rows, pivots):
        """`pivots` is a list of (row indices, columns) with blocks of size 1 to 3, covering all rows."""
        self.rows = [dict(r) for r in rows]
        self.pivots = pivots
        self.determinants, self.inverse, self.lower = [], [], []
        done = set()
        for k, (group, columns) in enumerate(pivots):
            block = [[self.rows[i].get(c, 0.0) for c in columns] for i in group]
            det = determinant(block)
            scale = 1.0 / det
            self.determinants.append(det)
            self.inverse.append([[scale * e if not is_zero(e) else 0.0 for e in row] for row in adjugate(block)])
            done.update(group)
            lower = {}
            for i in range(len(self.rows)):
                if i in done:
                    continue
                here = [self.rows[i].get(c, 0.0) for c in columns]
                if all(is_zero(e) for e in here):
                    continue
                lower[i] = factor = self._times(here, self.inverse[k])
                for c in columns:
                    self.rows[i].pop(c, None)
                for f, g in zip(factor, group):
                    if is_zero(f):
                        continue
                    for c, e in self.rows[g].items():
                        if c not in columns:
                            value = self.rows[i].get(c, 0.0) - f * e
                            if is_zero(value):
                                self.rows[i].pop(c, None)
                            else:
                                self.rows[i][c] = value
            self.lower.append(lower)

    @staticmethod
    def _times(row, matrix):
        return [_sum(row[i] * matrix[i][j] for i in range(len(row)) if not is_zero(row[i])) for j in range(len(matrix[0]))]

    def _forward(self, b):
        b = list(b)
        for (group, _), lower in zip(self.pivots, self.lower):
            for i, factor in lower.items():
                for f, g in zip(factor, group):
                    if not is_zero(f) and not is_zero(b[g]):
                        b[i] = b[i] - f * b[g]
        return b

    def solve(self, b) -> dict:
        """Return {column: x} of A_v x = b (one right-hand side per row)."""
        return self._back(self._forward(b))

    def _back(self, b) -> dict:
        """Return {column: x} from the eliminated right-hand sides."""
        x = {}
        for (group, columns), inverse in zip(reversed(self.pivots), reversed(self.inverse)):
            right = []
            for g in group:
                value = b[g]
                for c, e in self.rows[g].items():
                    if c in x and not is_zero(x[c]):
                        value = value - e * x[c]
                right.append(value)
            for c, row in zip(columns, inverse):
                x[c] = _sum(e * r for e, r in zip(row, right) if not is_zero(e) and not is_zero(r))
        return x

    def eliminated(self, columns) -> dict:
        """Return {u column: {v column: dv/du}} for the given independent columns, from the eliminated rows."""
        out = {}
        for u in columns:
            x = self._back([-row[u] if u in row else 0.0 for row in self.rows])
            out[u] = {c: e for c, e in x.items() if not is_zero(e)}
        return out

    def solve_transposed(self, b: dict) -> list:
        """Return y with A_v' y = b, b given per column."""
        size = len(self.rows)
        b, y = dict(b), [0.0] * size
        for (group, columns), inverse in zip(self.pivots, self.inverse):
            right = [b.get(c, 0.0) for c in columns]
            z = [_sum(inverse[k][j] * right[k] for k in range(len(columns)) if not is_zero(right[k]) and not is_zero(inverse[k][j]))
                 for j in range(len(group))]
            for g, value in zip(group, z):
                y[g] = value
                if not is_zero(value):
                    for c, e in self.rows[g].items():
                        if c not in columns:
                            b[c] = b.get(c, 0.0) - e * value
        for (group, _), lower in zip(reversed(self.pivots), reversed(self.lower)):
            for i, factor in lower.items():
                for f, g in zip(factor, group):
                    if not is_zero(f) and not is_zero(y[i]):
                        y[g] = y[g] - f * y[i]
        return y


def _sum(terms):
    total = 0.0
    for t in terms:
        total = total + t
    return total
