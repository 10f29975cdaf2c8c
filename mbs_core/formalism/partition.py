"""Which coordinates depend on which: the choice of block pivots, from numbers (001 eq. 5).

At a sample pose the loop equations are eliminated group by group (two equations of a plane joint, three of a ball, ...),
each time with the columns that are well conditioned and touch the fewest other equations. One choice seldom serves the
whole motion, so poses all over the mechanism's motion are sampled and a few choices kept that cover them.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

GOOD = 0.2           # relative determinant above which a choice serves a pose


@dataclass
class Choice:
    """Block pivots [(row indices, column indices)] and the size their determinants reach."""

    pivots: list
    reference: list = field(default_factory=list)

    @property
    def dependent(self) -> list:
        """Column indices of the dependent coordinates."""
        return sorted(c for _, columns in self.pivots for c in columns)


def independent_rows(jacobians, groups) -> tuple:
    """Return (kept rows, redundant rows) judged over several poses; rows of earlier groups are kept first."""
    stacked = np.hstack(jacobians)
    scale = np.abs(stacked).max(axis=1)
    kept, basis = [], np.zeros((0, stacked.shape[1]))
    for row in (i for g in groups for i in g):
        if scale[row] < 1e-13:
            continue
        r = stacked[row] / np.linalg.norm(stacked[row])
        for _ in range(2):
            r = r - basis.T @ (basis @ r)
        if np.linalg.norm(r) > 1e-8:
            kept.append(row)
            basis = np.vstack([basis, r / np.linalg.norm(r)])
    return kept, sorted(set(range(stacked.shape[0])) - set(kept))


def choose(jacobian, groups, scale, forbidden=(), forced=(), reluctant=()) -> Choice | None:
    """Return block pivots for one pose, or None if the mechanism is singular there.

    scale: column scale; forbidden columns (driven) never become dependent, forced ones (abscissae) must, reluctant
    ones (given start values, wished independent) only if nothing else is well conditioned.
    """
    j = jacobian.copy()
    size = np.maximum(np.abs(jacobian * scale).max(axis=1), 1e-300)
    available = [c for c in range(j.shape[1]) if c not in forbidden]
    remaining = [list(g) for g in groups if len(g)]
    pivots = []
    while remaining:
        best = None
        for g in remaining:
            found = _columns(j, g, available, scale, size, forced, reluctant, remaining)
            if found and (best is None or found[0] < best[0]):
                best = (*found, g)
        if best is None:
            big = [g for g in remaining if len(g) > 1]
            if not big:
                return None
            remaining.remove(big[0])                       # no full block left in this loop: pivot on single rows
            remaining += [[i] for i in big[0]]
            continue
        _, columns, g = best
        remaining.remove(g)
        available = [c for c in available if c not in columns]
        pivots.append((list(g), list(columns)))
        block = np.linalg.inv(j[np.ix_(g, columns)])
        for i in (i for other in remaining for i in other):
            j[i] -= j[i, columns] @ block @ j[g]
            j[i, columns] = 0.0
    return Choice(pivots)


def _columns(j, g, available, scale, size, forced, reluctant, remaining):
    """Return (score, columns) of the best block of group g, lower score first, or None."""
    here = [c for c in available if np.any(np.abs(j[g, c]) * scale[c] > 1e-9 * size[g])]
    need = [c for c in here if c in forced]
    others = [i for o in remaining if o is not g for i in o]
    found = []
    rest = sorted((c for c in here if c not in need), key=lambda c: -np.abs(j[g, c] * scale[c]).max())[:10]
    if len(need) > len(g):
        return None
    for extra in combinations(rest, len(g) - len(need)):
        columns = need + list(extra)
        det = abs(np.linalg.det(j[np.ix_(g, columns)] * scale[columns] / size[g][:, None]))
        touched = sum(bool(np.any(np.abs(j[i, columns]) > 1e-12)) for i in others)
        found.append((det, columns, touched * (len(here) - len(g)), sum(c in reluctant for c in columns)))
    top = max((f[0] for f in found), default=0.0)
    if top < 1e-7:
        return None
    fair = [f for f in found if f[0] > 0.3 * top]
    gentle = [f for f in found if f[0] > max(0.02, 0.05 * top)] or fair
    det, columns, fill, shy = min(gentle, key=lambda f: (f[3], f not in fair, f[2], -f[0]))
    return (det < 0.02, shy, fill, -det), columns


def determinants(jacobian, choice: Choice) -> np.ndarray:
    """Return the block determinants of a choice at one pose."""
    j, out = jacobian.copy(), []
    for k, (g, columns) in enumerate(choice.pivots):
        block = j[np.ix_(g, columns)]
        det = np.linalg.det(block)
        out.append(abs(det))
        if abs(det) < 1e-300:
            return np.array(out + [0.0] * (len(choice.pivots) - len(out)))
        inverse = np.linalg.inv(block)
        for later, _ in choice.pivots[k + 1:]:
            for i in later:
                j[i] -= j[i, columns] @ inverse @ j[g]
    return np.array(out)


def usual(values) -> list:
    """Return the usual size of each block determinant; a few poses where an earlier block is singular don't count."""
    return [float(max(v, 1e-300)) for v in np.minimum(values.max(axis=0), 5.0 * np.quantile(values, 0.8, axis=0))]


def cover(jacobians, groups, first: Choice, forbidden, forced, scale, most, reluctant=()) -> list:
    """Return `first` and as many more choices (at most `most` in all) as the sampled poses need."""
    choices = [first]
    table = [np.array([determinants(j, first) for j in jacobians])]
    first.reference = usual(table[0])

    def quality(k):
        return (table[k] / choices[k].reference).min(axis=1)
    for _ in range(most - 1):
        worst = np.max([quality(k) for k in range(len(choices))], axis=0)
        pose = int(np.argmin(worst))
        if worst[pose] > GOOD:
            break
        new = choose(jacobians[pose], groups, scale, forbidden, forced, reluctant)
        if new is None or any(new.pivots == c.pivots for c in choices):
            jacobians = [j for i, j in enumerate(jacobians) if i != pose]
            table = [np.delete(t, pose, axis=0) for t in table]
            if len(jacobians) < 2:
                break
            continue
        values = np.array([determinants(j, new) for j in jacobians])
        new.reference = usual(values)
        choices.append(new)
        table.append(values)
    return choices


def elect(jacobians, groups, choices, forbidden, forced, scale, most) -> list:
    """Return `choices` and, up to `most` in all, those that are the best ones at the most sampled poses.

    A walk may miss the poses where the motion goes later; what is best somewhere else is the best guess for them.
    """
    votes = {}
    used = [g for g in groups if len(g)]
    if len(used) == 1:                                     # a single loop: every choice of columns is cheap to keep
        columns = [c for c in range(len(scale)) if c not in forbidden and any(abs(j[:, c]).max() > 1e-9 for j in jacobians)]
        need = [c for c in forced if c in columns]
        rest = [c for c in columns if c not in need]
        for extra in combinations(rest, len(used[0]) - len(need)):
            new = Choice([(list(used[0]), need + list(extra))])
            size = max(determinants(j, new)[0] * np.prod(scale[need + list(extra)]) for j in jacobians)
            if size > 1e-3:
                votes[tuple(new.dependent)] = [2 + size, new]
    for j in jacobians:
        c = choose(j, groups, scale, forbidden, forced)
        if c is not None:
            votes.setdefault(tuple(c.dependent), [0, c])[0] += 1
    have = {tuple(c.dependent) for c in choices}
    for dependent, (count, new) in sorted(votes.items(), key=lambda v: (-v[1][0], v[0])):
        if len(choices) >= most or count < 2:
            break
        if dependent not in have:
            new.reference = usual(np.array([determinants(j, new) for j in jacobians]))
            choices.append(new)
    return choices
