"""Expressions as readable formulas, with ROBOTRAN's short names for sines and cosines of joint angles."""

_PREC = {'add': 1, 'sub': 1, 'neg': 2, 'mul': 3, 'div': 3}
_SIGN = {'add': ' + ', 'sub': ' - ', 'mul': '*', 'div': '/', 'lt': ' < ', 'le': ' <= '}


def formula(e, names=None, limit=4000) -> str:
    """Return `e` as text; `names` maps nodes to names that stand for them. Long formulas are cut at `limit`."""
    budget = [limit]

    def put(e, outer, right=False):
        if names and e in names:
            return names[e]
        budget[0] -= 1
        if budget[0] < 0:
            return '...'
        op = e.op
        if op == 'const':
            text = repr(e.data)
            text = text[:-2] if text.endswith('.0') else text
            return f'({text})' if e.data < 0 and outer else text
        if op == 'sym':
            return e.data[0]
        if op == 'neg':
            text, prec = '-' + put(e.args[0], 3), 2
        elif op in ('add', 'sub', 'mul', 'div'):
            prec = _PREC[op]
            text = put(e.args[0], prec) + _SIGN[op] + put(e.args[1], prec, op in ('sub', 'div'))
        elif op in ('lt', 'le'):
            text, prec = put(e.args[0], 0) + _SIGN[op] + put(e.args[1], 0), 0
        elif op == 'call':
            return f"{e.data[0]}({', '.join(put(a, 0) for a in e.args)})"
        elif op == 'result':
            return f'{put(e.args[0], 0)}[{e.data}]'
        else:
            return f"{op}({', '.join(put(a, 0) for a in e.args)})"
        return f'({text})' if prec < outer or (right and prec == outer) else text

    return put(e, 0) if hasattr(e, 'op') else repr(e)
