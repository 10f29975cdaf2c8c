"""Trigonometric condensation of sums of products (001 section 3.2), with like terms collected.

Products are expanded into monomials; then, until nothing changes, pairs of monomials are merged:
M c^2 + M s^2 -> M,  M cx cy -+ M sx sy -> M cos(x +- y),  M sx cy +- M cx sy -> M sin(x +- y).
"""

from itertools import combinations_with_replacement

from mbs_core.symbolic.expr import Expr, angle_sum, cos, sin


def expand(e, limit=400):
    """Return {monomial: coefficient}, a monomial being a tuple of (atom, power) in the order of eq. 14; None if too long."""
    if type(e) is not Expr:
        return {(): float(e)} if e else {}
    if e.op == 'const':
        return {(): e.data}
    if e.op in ('add', 'sub'):
        a, b = expand(e.args[0], limit), expand(e.args[1], limit)
        if a is None or b is None:
            return None
        k, out = (1.0 if e.op == 'add' else -1.0), dict(a)
        for m, c in b.items():
            out[m] = out.get(m, 0.0) + k * c
    elif e.op == 'neg':
        a = expand(e.args[0], limit)
        return None if a is None else {m: -c for m, c in a.items()}
    elif e.op == 'mul':
        a, b = expand(e.args[0], limit), expand(e.args[1], limit)
        if a is None or b is None or len(a) * len(b) > limit:
            return None
        out = {}
        for ma, ca in a.items():
            for mb, cb in b.items():
                m = _times(ma, mb)
                out[m] = out.get(m, 0.0) + ca * cb
    else:
        return {((e, 1),): 1.0}
    return {m: c for m, c in out.items() if c != 0.0}


def _times(a, b):
    powers = dict(a)
    for atom, p in b:
        powers[atom] = powers.get(atom, 0) + p
    return tuple(sorted(((x, p) for x, p in powers.items() if p), key=lambda t: t[0].rank))


def _without(m, *atoms):
    """Return m divided by the atoms, or None if it does not hold them."""
    powers = dict(m)
    for a in atoms:
        if powers.get(a, 0) < 1:
            return None
        powers[a] -= 1
    return tuple((x, powers[x]) for x, _ in m if powers[x])


def _merge_once(terms):
    """Apply the first merge that applies, in canonical order; tell whether there was one."""
    for m in sorted(terms, key=_order):
        trig = [x for x, p in m for _ in range(min(p, 2)) if x.op in ('sin', 'cos')]
        for a, b in combinations_with_replacement(range(len(trig)), 2):
            if a == b:
                continue
            x, y = trig[a], trig[b]
            rest = _without(m, x, y)
            flip = {'sin': cos, 'cos': sin}
            px, py = flip[x.op](x.args[0]), flip[y.op](y.args[0])
            if type(px) is not Expr or type(py) is not Expr or px.op == 'neg' or py.op == 'neg':
                continue
            other = _times(rest, _times(((px, 1),), ((py, 1),)))
            if other == m or other not in terms:
                continue
            c, d = terms[m], terms[other]
            if abs(c) != abs(d):
                continue
            merged = _pair(x, y, c, d)
            if merged is None:
                continue
            del terms[m], terms[other]
            for mm, cc in (expand(merged) or {}).items():
                t = _times(rest, mm)
                terms[t] = terms.get(t, 0.0) + c * cc
                if terms[t] == 0.0:
                    del terms[t]
            return True
    return False


def _pair(x, y, c, d):
    """Return (x*y + d/c * partner) as one sine, cosine or 1, or None."""
    same, a, b = c == d, x.args[0], y.args[0]
    if x.op == y.op:
        if a is b:
            return 1.0 if same else (cos(2.0 * a) if x.op == 'cos' else -cos(2.0 * a))
        if same:
            return cos(angle_sum(a, b, -1))
        return cos(angle_sum(a, b)) if x.op == 'cos' else -cos(angle_sum(a, b))
    if a is b:
        return None
    s, k = (a, b) if x.op == 'sin' else (b, a)
    return sin(angle_sum(s, k, 1 if same else -1))


def _order(m):
    return (len(m), [(x.rank, p) for x, p in m])


def condense(e, limit=400):
    """Return the condensed form of `e`; an expression too long to expand is returned as it is."""
    terms = expand(e, limit)
    if terms is None:
        return e
    while _merge_once(terms):
        pass
    total = 0.0
    for m in sorted(terms, key=_order):
        product = terms[m]
        for atom, p in m:
            for _ in range(p):
                product = product * atom
        total = total + product
    return total
