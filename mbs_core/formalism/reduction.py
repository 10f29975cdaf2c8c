"""Reduced dynamics by coordinate partitioning (001 eq. 5-13): from n joint equations to those of the free motion.

All rates follow from the independent ones: v = T u', with T the identity on u and B = -J_v^-1 J_u on the dependent
rest. The reduced mass matrix T' M T and bias T' (M b + c - Q) are formed either by the recursions (many degrees of
freedom) or body by body from the partial motions (Kane; few degrees of freedom): whichever needs fewer operations.
"""

from dataclasses import dataclass

from mbs_core.formalism import composite
from mbs_core.formalism import newton_euler as ne
from mbs_core.formalism import vectors as ve
from mbs_core.formalism.articulated import no_inertia
from mbs_core.formalism.linear import BlockElimination, Singular, ldl
from mbs_core.symbolic.analysis import cost
from mbs_core.symbolic.expr import is_zero


@dataclass
class Reduced:
    """The reduced equations for one partition, as expressions."""

    independent: list         # coordinates u, driven ones included
    mass: dict                # (k, l) -> M_r, k >= l, by rank in `independent`
    bias: list                # c_r - Q_r with the unknown accelerations zero
    shape: dict               # coordinate -> {rank: T}
    known: dict               # coordinate -> acceleration when the unknown ones are zero
    elimination: BlockElimination
    equations: list           # the recursive components written on the way


def partition(m, rows, pivots) -> tuple:
    """Return (independent coordinates, elimination) for the given block pivots."""
    elimination = BlockElimination([r.jacobian for r in rows], pivots)
    dependent = {c for _, columns in pivots for c in columns}
    return [c for c in m.coordinates if c not in dependent], elimination


def transmission(m, rows, pivots):
    """Return (independent, elimination, T, bias accelerations of the dependent coordinates)."""
    independent, elimination = partition(m, rows, pivots)
    slopes = elimination.eliminated(independent)
    shape = {c: {k: 1.0} for k, c in enumerate(independent)}
    for k, u in enumerate(independent):
        for c, e in slopes[u].items():
            shape.setdefault(c, {})[k] = e
    rest = elimination.solve([-r.gamma if not is_zero(r.gamma) else 0.0 for r in rows])
    return independent, elimination, shape, rest


def reduce(m, rows, pivots, trees, efforts) -> Reduced:
    """Return the reduced equations; `trees` are the candidates (regrouped, plain) to choose the cheaper from."""
    independent, elimination, shape, rest = transmission(m, rows, pivots)
    known = {c: e for c, e in rest.items() if not is_zero(e)}
    for k, c in enumerate(independent):
        if c.driven >= 0:
            known[c] = c.vd
            for v, row in shape.items():
                if v is not c and k in row:
                    known[v] = known.get(v, 0.0) + row[k] * c.vd
    options = [_recursive(m, trees[0], shape, known, efforts, len(independent))]
    if len(m.coordinates) <= 40:
        if rows:
            options.append(_recursive(m, trees[1], shape, known, efforts, len(independent)))
        if len(independent) <= 4 and rows:
            options.append(_kane(m, trees[1], shape, known, efforts, len(independent)))
    best = min(options, key=lambda o: cost([*o[0].values(), *o[1]]).total) if len(options) > 1 else options[0]
    return Reduced(independent, best[0], best[1], shape, known, elimination, best[2])


def _recursive(m, tree, shape, known, efforts, count):
    tree.equations = []
    matrix = composite.mass_matrix(tree)
    full = {}
    for (c, d), value in matrix.items():
        full.setdefault(c, {})[d] = value
        if c is not d:
            full.setdefault(d, {})[c] = value
    phi = ne.inverse_dynamics(tree, known, m.gravity)
    bias = [0.0] * count
    for c, row in shape.items():
        value = phi.get(c, 0.0) - efforts.get(c, 0.0)
        if not is_zero(value):
            for k, t in row.items():
                bias[k] = bias[k] + t * value
    moved = {}                                             # M T, by row
    for c, line in full.items():
        for d, value in line.items():
            for k, t in shape.get(d, {}).items():
                moved.setdefault(c, {})
                moved[c][k] = moved[c].get(k, 0.0) + value * t
    mass = {}
    for c, row in shape.items():
        for k, t in row.items():
            for l, value in moved.get(c, {}).items():
                if l <= k:
                    mass[k, l] = mass.get((k, l), 0.0) + t * value
    return {key: e for key, e in mass.items() if not is_zero(e)}, bias, tree.equations


def _kane(m, tree, shape, known, efforts, count):
    tree.equations = []
    wrench = ne.outward(tree, known, m.gravity)
    partial = {m.ground: [(ve.ZERO, ve.ZERO)] * count}
    mass, bias = {}, [0.0] * count
    for link in tree.links:
        body, here = link.body, []
        for k in range(count):
            w, v = partial[link.parent.body][k]
            v = ve.add(v, ve.cross(w, link.arm))
            kind = body.joint.kind
            rates = [shape.get(c, {}).get(k, 0.0) for c in body.coordinates]
            if kind == 'prismatic':
                v = ve.add(v, ve.scale(rates[0], link.axis))
            if link.frame is not link.parent.frame:
                w, v = link.frame.down(w), link.frame.down(v)
            if kind == 'revolute':
                w = ve.add(w, ve.scale(rates[0], link.own_axis))
            elif kind == 'spherical':
                w = ve.add(w, tuple(rates))
            here.append((tree.note(w), tree.note(v)))
        partial[body] = here
        mb, b, e = tree.inertia[body]
        force, moment = wrench[body]
        for k in range(count):
            w, v = here[k]
            bias[k] = bias[k] + (ve.dot(v, force) + ve.dot(w, moment))
            if is_zero(mb) and ve.all_zero(b) and all(ve.all_zero(r) for r in e):
                continue
            f = ve.add(ve.scale(mb, v), ve.cross(w, b))
            spin = ve.matvec(_ordinary(e), w)
            n = ve.add(ve.cross(b, v), spin)
            for l in range(k + 1):
                value = ve.dot(here[l][1], f) + ve.dot(here[l][0], n)
                if not is_zero(value):
                    mass[k, l] = mass.get((k, l), 0.0) + value
    for c, row in shape.items():
        for k, t in row.items():
            if c in efforts:
                bias[k] = bias[k] - t * efforts[c]
    return mass, bias, tree.equations


def _ordinary(e):
    """Return the inertia matrix trace(E) 1 - E."""
    return ve.mirror(e[1][1] + e[2][2], e[0][0] + e[2][2], e[0][0] + e[1][1], -e[0][1], -e[0][2], -e[1][2])


def solve(r: Reduced):
    """Return ({coordinate: vd}, {driven coordinate: effort}): 001 eq. 12 and 13."""
    free = [k for k, c in enumerate(r.independent) if c.driven < 0]

    def entry(k, l):
        return r.mass.get((k, l) if k >= l else (l, k), 0.0)
    try:
        solver = ldl([[entry(k, l) for l in free] for k in free], order=list(reversed(range(len(free)))))
    except Singular as e:
        raise no_inertia(r.independent[free[e.index]]) from None
    udd = solver([-r.bias[k] if not is_zero(r.bias[k]) else 0.0 for k in free]) if free else []
    accelerations = dict(r.known)
    for c, row in r.shape.items():
        for k, value in zip(free, udd):
            if k in row and not is_zero(value):
                accelerations[c] = accelerations.get(c, 0.0) + row[k] * value
    efforts = {}
    for k, c in enumerate(r.independent):
        if c.driven >= 0:
            total = r.bias[k]
            for l, value in zip(free, udd):
                total = total + entry(k, l) * value
            efforts[c] = total
    return accelerations, efforts
