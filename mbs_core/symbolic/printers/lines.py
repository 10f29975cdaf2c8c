"""Straight-line functions as readable assignments, for the languages that people read.

Inputs get the names of their symbols and are all loaded first; what is used once is written where it is used, as
long as the line stays short; results are stored last. The printers of C and Python only differ in their words.
"""

import keyword
import re

from mbs_core.symbolic.expr import Expr

_SHORT = 70                      # characters a subexpression may have to be written in place
_PRECEDENCE = {'add': 1, 'sub': 1, 'mul': 2, 'div': 2}
_SIGN = {'add': ' + ', 'sub': ' - ', 'mul': '*', 'div': '/'}
_C_WORDS = frozenset('auto break case char const continue default do double else enum extern float for goto if inline int '
                     'long register restrict return short signed sizeof static struct switch typedef union unsigned '
                     'void volatile while real x K'.split())


def safe_name(name: str, taken) -> str:
    """Return `name` as an identifier of C and Python that is not in `taken`."""
    base = re.sub(r'\W', '_', name, flags=re.ASCII)
    if not base or base[0].isdigit() or re.fullmatch(r'[tps]\d+', base):
        base = 'v_' + base
    while base in taken or base in _C_WORDS or keyword.iskeyword(base):
        base += '_'
    return base


class Lines:
    """The statements of one function: loads, assignments, calls and stores, as (name, text) pairs in order.

    `words` is the language: constant(value), place(at), function(op, args), select(c, a, b), call(...).
    """

    def __init__(self, function, words):
        self.plan, self.words = function.schedule, words
        self.loads, self.body, self.stores = [], [], []
        self.names = {}                       # node -> (text, precedence)
        self.uses = self._count_uses()
        self.count = 0
        self._load()
        for chunk in self.plan.chunks:
            for e in chunk.ops:
                self._operation(e)
        for at, value in sorted([*((at, e) for e, ats in self.plan.now.items() for at in ats), *self.plan.late],
                                key=lambda s: s[0]):
            text = self._text(value)[0] if type(value) is Expr else words.constant(value)
            self.stores.append((words.place(at), text))

    def _count_uses(self):
        uses = {}

        def use(e):
            while e.op == 'neg':
                e = e.args[0]
            if e.op in ('lt', 'le'):
                use(e.args[0]), use(e.args[1])
            else:
                uses[e] = uses.get(e, 0) + 1
        for chunk in self.plan.chunks:
            for e in chunk.ops:
                partner = self.plan.pairs.get(e.args[0], ()) if e.op in ('sin', 'cos') else (e,)
                for p in partner:
                    for a in p.args if p is not None else ():
                        use(a)
        for e, ats in self.plan.now.items():
            uses[e] = uses.get(e, 0) + len(ats)
        for _, value in self.plan.late:
            if type(value) is Expr:
                use(value)
        return uses

    def _load(self):
        taken = set(self.words.reserved)
        for e, at in sorted(self.plan.leaves.items(), key=lambda item: item[1]):
            if not self.uses.get(e):
                continue
            if e.op == 'sym':
                name = safe_name(e.data[0], taken)
            else:
                name = f'p{at - self.words.pre}'
            taken.add(name)
            self.names[e] = (name, 9)
            self.loads.append((name, self.words.place(at)))

    def _operation(self, e):
        if e.op in ('sin', 'cos'):
            for node in self.plan.pairs[e.args[0]]:
                if node is not None:
                    self._finish(node, self.words.function(node.op, [self._text(node.args[0])[0]]), 9)
        elif e.op == 'call':
            name, size = e.data
            self.count += 1
            room = f's{self.count}'
            self.body.append((None, (name, [self._text(a)[0] for a in e.args], room, size)))
            for r in self.plan.results[e]:
                self.names[r] = (f'{room}[{r.data}]', 9)
        else:
            self._finish(e, *self._formula(e))

    def _finish(self, e, text, precedence):
        """Keep a short formula that is used once for its only user; name the others."""
        if self.uses.get(e, 0) == 1 and len(text) <= _SHORT:
            self.names[e] = (text, precedence)
            return
        self.count += 1
        self.names[e] = (f't{self.count}', 9)
        self.body.append((f't{self.count}', text))

    def _formula(self, e):
        op, a = e.op, e.args
        if op == 'div' and self.words.divide:
            return self.words.function('div', [self._text(a[0])[0], self._text(a[1])[0]]), 9
        if op in _PRECEDENCE:
            mine = _PRECEDENCE[op]
            return self._operand(a[0], mine) + _SIGN[op] + self._operand(a[1], mine + 1), mine
        if op == 'select':
            sign = ' < ' if a[0].op == 'lt' else ' <= '
            test = self._operand(a[0].args[0], 1) + sign + self._operand(a[0].args[1], 1)
            return self.words.select(test, self._operand(a[1], 1), self._operand(a[2], 1)), 9
        return self.words.function(op, [self._text(v)[0] for v in a]), 9

    def _operand(self, e, least):
        text, precedence = self._text(e)
        return f'({text})' if precedence < least or text[0] == '-' else text

    def _text(self, e):
        if e.op == 'const':
            return self.words.constant(e.data), 9
        if e.op == 'neg':
            return '-' + self._operand(e.args[0], 3), 1
        return self.names[e]
