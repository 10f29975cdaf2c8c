"""What a set of equations costs: operation counts, dead equations, critical path and width."""

from dataclasses import dataclass

from mbs_core.symbolic.calculus import needed
from mbs_core.symbolic.expr import Expr

LEAVES = ('const', 'sym')


@dataclass(frozen=True)
class Cost:
    """Operations by kind, and how they could be laid out in parallel (001 section 6)."""

    operations: dict
    total: int
    depth: int      # operations on the critical path: the fewest sequential vector steps
    width: int      # most operations that can run side by side in one step


def cost(outputs) -> Cost:
    """Count what the outputs need; parameter-only parts are left out (they are evaluated once per change)."""
    level, kinds, per_level = {}, {}, {}
    for e in needed(outputs):
        if e.op in LEAVES or e.par:
            level[e] = 0
            continue
        deep = max((level[a] for a in e.args), default=0)
        if e.op in ('neg', 'result', 'lt', 'le'):          # folded into its user by every back end
            level[e] = deep
            continue
        level[e] = deep + 1
        kinds[e.op] = kinds.get(e.op, 0) + 1
        per_level[deep + 1] = per_level.get(deep + 1, 0) + 1
    return Cost(dict(sorted(kinds.items())), sum(kinds.values()), max(per_level, default=0),
                max(per_level.values(), default=0))


@dataclass(frozen=True)
class Removal:
    """How many of the recursive equations no output needs (001 section 3.2: up to 30 %)."""

    equations: int
    useless: int

    @property
    def share(self) -> float:
        """The useless part, 0 to 1."""
        return self.useless / self.equations if self.equations else 0.0


def removal(equations, outputs) -> Removal:
    """Compare the recursive equations written (any iterable of components) with those the outputs use.

    A component that simplified to a number, or is just another name for an earlier one, is no equation.
    """
    useful = {e.id for e in needed(outputs)}
    distinct = {e.id: e for e in equations if type(e) is Expr and e.op not in LEAVES and not e.par}
    return Removal(len(distinct), sum(i not in useful for i in distinct))
