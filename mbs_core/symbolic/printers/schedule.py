"""The order in which a straight-line function computes its nodes, cut into chunks that compile quickly.

Nodes keep the order in which the formalism made them: neighbours there are neighbours in the mechanism. The
compile time of one function grows faster than its length, so long functions become several short ones that
hand values over in the array 'spill', whose slots are used again as soon as the last reader is through.
"""

from dataclasses import dataclass, field

from mbs_core.errors import MbsError
from mbs_core.symbolic.expr import Expr

CHUNK = 600          # operations; longer ones run no faster (1 %), and 1000 compile in 1.5 times the time
_INLINE = frozenset(('neg', 'lt', 'le'))            # made where they are used, never carried between chunks
_LEAF = frozenset(('const', 'sym'))
LIGHT = 12           # operations in a term that is moved to its first use
_TRIG = frozenset(('sin', 'cos'))


@dataclass
class Chunk:
    """Some operations in order; `give` are the computed nodes that later chunks read, with their spill slots."""

    ops: list
    give: dict = field(default_factory=dict)
    early: list = field(default_factory=list)       # trigonometric nodes whose angle needs no computed value


@dataclass
class Schedule:
    """All a printer has to know about one function."""

    chunks: list
    leaves: dict          # symbol or hoisted node -> index in x
    slots: dict           # node carried between chunks -> slot in 'spill'
    spill: int            # slots used
    now: dict             # node -> indices in x to store it to as soon as it is known
    late: list            # (index in x, node or float): stored at the very end
    pairs: dict           # angle -> (sine node or None, cosine node or None)
    results: dict         # call node -> its result nodes in use
    written: frozenset    # indices in x that the function stores to
    externals: set


def operands(e) -> list:
    """Return the nodes whose values `e` needs, seen through signs and conditions."""
    out, todo = [], list(e.args)
    while todo:
        a = todo.pop(0)
        if a.op in _INLINE:
            todo = list(a.args) + todo
        else:
            out.append(a)
    return out


def schedule(function, program, chunk: int = CHUNK) -> Schedule:
    """Return the schedule of a function of a program whose arrays, but for 'spill', are laid out."""
    layout = program.layout
    hoisted = {} if function.name == 'pre' else program.hoisted
    leaves, nodes = _reachable(function, layout, hoisted)
    pairs, results, ops = {}, {}, []
    for e in nodes:
        if e.op in _TRIG:
            pair = pairs.get(e.args[0])
            if pair is None:
                ops.append(e)                       # the first of a sine and cosine stands for both
            pairs[e.args[0]] = (e, pair and pair[1]) if e.op == 'sin' else (pair and pair[0], e)
        elif e.op == 'result':
            results[e.args[0]].append(e)
        else:
            if e.op == 'call':
                results[e] = []
            ops.append(e)
    size = -(-len(ops) // -(-len(ops) // chunk)) if ops else 1           # pieces of equal length
    chunks = [Chunk(ops[i:i + size]) for i in range(0, max(len(ops), 1), size)]
    read = set(leaves.values())
    now, late, written = {}, [], set()
    for array, index, value in function.stores:
        at = layout.at(array, index)
        if at in written:
            raise MbsError(f"the function '{function.name}' stores twice to {array}[{index}]: keep one of the two")
        written.add(at)
        if type(value) is Expr and value.op not in _INLINE and value.op not in _LEAF and value not in leaves \
                and at not in read:
            now.setdefault(value, []).append(at)
        else:
            late.append((at, value))
    slots, spill = _carry(chunks, pairs, results, late)
    _mark_early(chunks, leaves)
    return Schedule(chunks, leaves, slots, spill, now, late, pairs, results, frozenset(written),
                    {e.data[0] for e in results})


def _reachable(function, layout, hoisted):
    """Return {leaf: index in x} and the other nodes that need computing, in the order they were made."""
    leaves, seen = {}, set()
    todo = [v for _, _, v in function.stores if type(v) is Expr]
    pre = layout.offset('pre') if hoisted else 0
    while todo:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        if e.op == 'sym':
            leaves[e] = layout.at(e.data[1], e.data[2])
        elif e in hoisted:
            leaves[e] = pre + hoisted[e]
        else:
            todo.extend(e.args)
    rest = [e for e in seen if e.op not in _LEAF and e.op not in _INLINE and e not in leaves]
    rest.sort(key=lambda e: e.id)
    return leaves, _sink(rest, leaves)


def _sink(nodes, leaves):
    """Move short terms of leaves, sines and cosines (a rotated arm, say) to just before their first use.

    The formalism makes them long before; computed there they would only fill registers.
    """
    size = {}
    for e in nodes:
        if e.op in _TRIG or e.op in ('call', 'result'):
            continue
        total = 1
        for a in operands(e):
            if a in leaves or a.op in _LEAF or a.op in _TRIG:
                continue
            total += size.get(a, LIGHT)
        if total < LIGHT:
            size[e] = total
    wanted = {a for e in nodes for a in operands(e)}
    order, done = [], set()

    def emit(e):
        if e in done:
            return
        done.add(e)
        for a in operands(e):
            if a in size:
                emit(a)
        order.append(e)
    for e in nodes:
        if e not in size or e not in wanted:
            emit(e)
    return order


def _carry(chunks, pairs, results, late):
    """Find the values that cross chunk borders, give them slots, and return {node: slot} and the slot count."""
    if len(chunks) == 1:
        return {}, 0
    home, last = {}, {}
    for c, part in enumerate(chunks):
        for e in part.ops:
            if e.op in _TRIG:
                for p in pairs[e.args[0]]:
                    home[p] = c
            elif e.op == 'call':
                for r in results[e]:
                    home[r] = c
            else:
                home[e] = c
            for a in operands(e):
                if home.get(a, c) != c:
                    last[a] = c
    end = len(chunks) - 1
    for _, value in late:
        if type(value) is Expr:
            for a in [value] if value.op not in _INLINE else operands(value):
                if a in home and home[a] != end:
                    last[a] = end
    slots, free, count, expire, givers = {}, [], 0, {}, {}
    for a in sorted(last, key=lambda a: a.id):
        givers.setdefault(home[a], []).append(a)
    for c, part in enumerate(chunks):
        for a in givers.get(c, ()):
            if free:
                slot = free.pop()
            else:
                slot, count = count, count + 1
            slots[a] = part.give[a] = slot
            expire.setdefault(last[a], []).append(slot)
        free.extend(expire.get(c, ()))              # a chunk may not write the slots it still reads
    return slots, count


def _mark_early(chunks, leaves):
    """List the sines and cosines of leaves and of sums of leaves: they can be computed first, several at once."""
    early = set(leaves)
    for part in chunks:
        for e in part.ops:
            if e.op in _TRIG:
                if all(a in early for a in operands(e)):
                    part.early.append(e)
            elif e.op in ('add', 'sub', 'mul') and all(a.op == 'const' or a in early for a in operands(e)) \
                    and (e.op != 'mul' or e.args[0].op == 'const'):
                early.add(e)
