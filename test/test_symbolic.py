"""The symbolic layer: simplification never changes a value, derivatives are right, order is deterministic (E5, eq. 14)."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_core.symbolic import (Expr, Graph, absolute, atan, atan2, call, condense, cos, diff, evaluate, exp, gradient, log,
                               maximum, minimum, power, select, sign, sin, sqrt, substitute, tan, tangent, tanh)
from mbs_core.symbolic.analysis import cost, removal
from mbs_core.symbolic.condense import expand
from mbs_core.symbolic.expr import angle_sum

NAMES = ('m1', 'l1', 'f1', 'q1', 'q2', 'q3')
KINDS = ('mass', 'length', 'force', 'coordinate', 'coordinate', 'coordinate')


def symbols(g=None):
    """Return a graph and its symbols, two of them parameters."""
    g = g or Graph('test')
    return g, [g.symbol(n, k, 'par' if k in ('mass', 'length') else 'x', i) for i, (n, k) in enumerate(zip(NAMES, KINDS))]


# -- random formulas, computed twice: by the graph and by plain Python -------------------------------
leaf = st.one_of(st.integers(0, 5), st.floats(-3, 3).map(lambda x: round(x, 2)), st.sampled_from([0.0, 1.0, -1.0, 2.0]))
SMOOTH = ('add', 'sub', 'mul', 'neg', 'sin', 'cos', 'tanh', 'atan', 'root', 'ratio', 'cube', 'angles')
SHARP = ('min', 'max', 'abs', 'select', 'sign')


def formulas(operations):
    """Return a strategy of formula trees: a leaf, or (operation, formulas...); an int names a symbol."""
    return st.recursive(leaf, lambda inner: st.tuples(st.sampled_from(operations), inner, inner, inner), max_leaves=14)


NUMERIC = {
    'add': lambda a, b, c: a + b, 'sub': lambda a, b, c: a - b, 'mul': lambda a, b, c: a * b, 'neg': lambda a, b, c: -a,
    'sin': lambda a, b, c: math.sin(a), 'cos': lambda a, b, c: math.cos(a), 'tanh': lambda a, b, c: math.tanh(a),
    'atan': lambda a, b, c: math.atan2(a, 1.0 + b * b), 'root': lambda a, b, c: math.sqrt(1.0 + a * a),
    'ratio': lambda a, b, c: a / (2.0 + b * b), 'cube': lambda a, b, c: math.sin(a) ** 3,
    'angles': lambda a, b, c: math.sin(a) * math.cos(b) - math.cos(a) * math.sin(b) + math.cos(a + c),
    'min': lambda a, b, c: min(a, b), 'max': lambda a, b, c: max(a, b), 'abs': lambda a, b, c: abs(a),
    'select': lambda a, b, c: b if a < c else c - b, 'sign': lambda a, b, c: float((a > 0) - (a < 0))}
SYMBOLIC = {
    'add': lambda a, b, c: a + b, 'sub': lambda a, b, c: a - b, 'mul': lambda a, b, c: a * b, 'neg': lambda a, b, c: -a,
    'sin': lambda a, b, c: sin(a), 'cos': lambda a, b, c: cos(a), 'tanh': lambda a, b, c: tanh(a),
    'atan': lambda a, b, c: atan2(a, 1.0 + b * b), 'root': lambda a, b, c: sqrt(1.0 + a * a),
    'ratio': lambda a, b, c: a / (2.0 + b * b), 'cube': lambda a, b, c: power(sin(a), 3),
    'angles': lambda a, b, c: sin(a) * cos(b) - cos(a) * sin(b) + cos(angle_sum(a, c)),
    'min': lambda a, b, c: minimum(a, b), 'max': lambda a, b, c: maximum(a, b), 'abs': lambda a, b, c: absolute(a),
    'select': lambda a, b, c: select(a < c, b, c - b), 'sign': lambda a, b, c: sign(a)}


def build(formula, leaves, table):
    """Compute a formula tree with the operations of `table` on the given leaves."""
    if isinstance(formula, tuple):
        return table[formula[0]](*(build(f, leaves, table) for f in formula[1:]))
    return leaves[formula] if isinstance(formula, int) else formula


def scale_of(formula, leaves):
    """Return the largest value that occurs anywhere, as the measure for rounding."""
    if isinstance(formula, tuple):
        return max(abs(build(formula, leaves, NUMERIC)), *(scale_of(f, leaves) for f in formula[1:]))
    return abs(build(formula, leaves, NUMERIC))


values = st.lists(st.floats(-2, 2).map(lambda x: round(x, 3)), min_size=6, max_size=6)


@settings(max_examples=400, deadline=None)
@given(formulas(SMOOTH + SHARP), values)
def test_simplified_expressions_keep_their_value(formula, x):
    """Whatever is built with operators evaluates to what plain Python computes."""
    g, s = symbols()
    result = build(formula, s, SYMBOLIC)
    scale = scale_of(formula, x)
    assume(scale < 1e6)
    sharp = {'min', 'max', 'abs', 'select', 'sign'} & set(str(formula).replace("'", ' ').split())
    expected = build(formula, x, NUMERIC)
    got = evaluate([result], dict(zip(s, x)))[0]
    if sharp and abs(got - expected) > 1e-9 * max(1.0, scale):
        # a condition within rounding of its switch may go either way; moved off it, both must agree
        x = [v + 1e-4 * math.sin(7.0 * k + 1.0) for k, v in enumerate(x)]
        expected, got = build(formula, x, NUMERIC), evaluate([result], dict(zip(s, x)))[0]
        assume(any(map(lambda k: isinstance(k, int), _leaves(formula))))
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1.0, scale))


def _leaves(formula):
    if isinstance(formula, tuple):
        return [x for f in formula[1:] for x in _leaves(f)]
    return [formula]


@settings(max_examples=150, deadline=None)
@given(formulas(SMOOTH), values, st.integers(0, 5))
def test_derivatives_agree_with_central_differences(formula, x, k):
    """diff, gradient and tangent are one derivative."""
    g, s = symbols()
    result = build(formula, s, SYMBOLIC)
    assume(isinstance(result, Expr) and scale_of(formula, x) < 50)

    def f(d):
        return evaluate([result], dict(zip(s, [v + d * (i == k) for i, v in enumerate(x)])))[0]
    h = 1e-4
    third = abs(f(2 * h) - 2 * f(h) + 2 * f(-h) - f(-2 * h)) / (2 * h ** 3)      # error of the difference: h^2 f'''/6
    assume(third < 1e4)
    numeric = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
    d = diff(result, s[k])
    got = evaluate([d], dict(zip(s, x)))[0]
    assert got == pytest.approx(numeric, rel=1e-6, abs=1e-6 * max(1.0, third))
    assert gradient(result, s)[k] is d or gradient(result, s)[k] == d
    assert tangent([result], {s[k]: 1.0})[0] is d or tangent([result], {s[k]: 1.0})[0] == d


@settings(max_examples=150, deadline=None)
@given(formulas(SMOOTH + SHARP), formulas(SMOOTH), values)
def test_substitution_is_evaluation_at_the_substituted_value(formula, inner, x):
    """Replacing q1 by a formula equals evaluating with q1 set to that formula's value."""
    g, s = symbols()
    result, new = build(formula, s, SYMBOLIC), build(inner, s, SYMBOLIC)
    assume(isinstance(result, Expr))
    point = evaluate([new], dict(zip(s, x)))[0]
    moved = dict(zip(s, x)) | {s[3]: point}
    replaced = substitute([result], {s[3]: new})[0]
    leaves = [moved[e] for e in s]
    assume(scale_of(formula, leaves) < 1e6 and not {'select', 'sign'} & set(str(formula).replace("'", ' ').split()))
    assert evaluate([replaced], dict(zip(s, x)))[0] == pytest.approx(
        evaluate([result], moved)[0], rel=1e-9, abs=1e-8 * max(1.0, scale_of(formula, leaves)))


# -- E5: condensation ---------------------------------------------------------------------------------
def paper():
    """Return graph, angles and the six-term expression of 001 section 3.2."""
    g = Graph('paper')
    q2, q4, q5, q6, q8 = (g.symbol(f'q{i}', 'coordinate', 'q', i) for i in (2, 4, 5, 6, 8))
    q56 = angle_sum(q5, q6)
    c2, s2, c4, s4, c8, s8, c56, s56 = cos(q2), sin(q2), cos(q4), sin(q4), cos(q8), sin(q8), cos(q56), sin(q56)
    terms = [c2 * c4 * c56 * c56 * s8, c2 * c4 * s56 * s56 * s8, c2 * s4 * s56 * c8,
             s2 * c4 * s56 * c8, -(s2 * s4 * c56 * c56 * s8), -(s2 * s4 * s56 * s56 * s8)]
    return g, (q2, q4, q5, q6, q8), q56, terms


def test_six_terms_of_the_paper_condense_to_two():
    """E5: exactly C24*S8 + S24*S56*C8, as monomials, however the six terms are added."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        g, (q2, q4, q5, q6, q8), q56, terms = paper()
        q24 = angle_sum(q2, q4)
        wanted = {frozenset([cos(q24), sin(q8)]): 1.0, frozenset([sin(q24), sin(q56), cos(q8)]): 1.0}
        total = 0.0
        for k in rng.permutation(6):
            total = total + terms[k]
        condensed = condense(total)
        monomials = {frozenset(a for a, p in m for _ in range(p)): c for m, c in expand(condensed).items()}
        assert monomials == wanted
        assert cost([condensed]).operations['mul'] == 3


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.lists(st.tuples(st.sampled_from(['sin', 'cos']), st.integers(3, 5),
                                                                 st.integers(3, 5)), min_size=1, max_size=4)),
                min_size=1, max_size=7), values)
def test_condensation_keeps_the_value(sum_of_products, x):
    """Random sums of products of sines and cosines of angles and angle sums keep their value and never grow."""
    g, s = symbols()
    total = 0.0
    for k, factors in sum_of_products:
        product = float(k)
        for name, i, j in factors:
            angle = s[i] if i == j else angle_sum(s[i], s[j])
            product = product * (sin(angle) if name == 'sin' else cos(angle))
        total = total + product
    condensed = condense(total)
    at = dict(zip(s, x))
    assert evaluate([condensed], at)[0] == pytest.approx(evaluate([total], at)[0], abs=1e-11)
    assert len(expand(condensed) or {}) <= len(expand(total))


def test_angle_sums_merge_as_they_are_built():
    """C1 C2 - S1 S2 is C12, S1 C2 + C1 S2 is S12, C^2 + S^2 is 1: one node each."""
    g, s = symbols()
    a, b = s[3], s[4]
    assert cos(a) * cos(b) - sin(a) * sin(b) is cos(a + b)
    assert sin(a) * cos(b) + cos(a) * sin(b) is sin(a + b)
    assert cos(a) * cos(a) + sin(a) * sin(a) == 1.0
    assert evaluate([sin(a) * cos(b) - cos(a) * sin(b) - sin(a - b)], dict(zip(s, [1, 1, 1, .3, .9, 0])))[0] == \
        pytest.approx(0.0, abs=1e-15)


# -- structure ----------------------------------------------------------------------------------------
def test_terms_are_ordered_by_the_priority_rule():
    """001 eq. 14: mass < length < force < coordinate < sin, cos < product < sum, in every commutative pair."""
    g = Graph('order')
    made = {k: g.symbol(k, k) for k in ('coordinate', 'force', 'length', 'mass')}      # made in the wrong order
    made['function'] = sin(made['coordinate'])
    made['product'] = made['force'] * made['mass']
    made['sum'] = made['length'] + made['coordinate']
    order = ['mass', 'length', 'force', 'coordinate', 'function', 'product', 'sum']
    for i, low in enumerate(order):
        for high in order[i + 1:]:
            for e in (made[low] * made[high], made[high] * made[low]):
                assert e.args == (made[low], made[high]), (low, high)
    assert repr(made['coordinate'] * made['mass']) == 'mass*coordinate'


def test_the_same_formula_prints_the_same_in_every_run():
    """Text does not depend on hashes or addresses: two graphs built alike print alike."""
    def text():
        g, s = symbols()
        return repr(condense((s[3] + s[4] * s[0]) * (sin(s[3]) + s[1]) * cos(s[5]) - s[2] / (s[0] + s[4])))
    assert text() == text()
    assert len({text() for _ in range(5)}) == 1


def test_equal_subexpressions_are_one_node():
    """Commuted sums and products, and differences either way, share one node."""
    g, s = symbols()
    a, b = s[3], s[4]
    assert a * b is b * a and a + b is b + a
    assert (-(a - b)) is (b - a) or (-(a - b)).args == (b - a).args or (b - a).op == 'neg'
    assert -(-a) is a and a - (-b) is a + b
    assert (a - a) == 0.0 and a / a == 1.0 and 0.0 * a == 0.0 and 1.0 * a is a and a + 0.0 is a
    assert 2.0 * (3.0 * a) is 6.0 * a
    assert sin(-a) is -sin(a) or evaluate([sin(-a) + sin(a)], {a: 0.3})[0] == 0.0
    assert cos(-a) is cos(a)


def test_choices_follow_their_conditions():
    """select, minimum, maximum, sign and absolute at, below and above the switch."""
    g, s = symbols()
    x = s[3]
    for v in (-1.5, 0.0, 2.5):
        got = evaluate([select(x < 0, -1.0, x), select(x <= 0, 5.0, x), minimum(x, 1.0), maximum(x, 1.0), sign(x),
                        absolute(x)], {x: v})
        assert got == [-1.0 if v < 0 else v, 5.0 if v <= 0 else v, min(v, 1.0), max(v, 1.0), float(np.sign(v)), abs(v)]
    assert select(True, x, 1.0) is x and select(False, x, 1.0) == 1.0
    assert minimum(x, x) is x and select(x < 1.0, x, x) is x


def test_functions_of_numbers_are_numbers():
    """Without a symbol nothing enters the graph."""
    assert sin(0.5) == math.sin(0.5) and power(2.0, 3) == 8.0 and sqrt(4.0) == 2.0 and atan2(1.0, 2.0) == math.atan2(1, 2)
    assert exp(0.0) == 1.0 and log(1.0) == 0.0 and tan(0.3) == pytest.approx(math.tan(0.3)) and atan(1.0) == math.atan(1.0)


def test_powers_become_products_and_roots():
    """Whole exponents cost multiplications only."""
    g, s = symbols()
    x = s[3]
    for n in (0, 1, 2, 3, 5, 8, 16, -1, -3):
        e = power(x, n)
        assert evaluate([e], {x: 1.3})[0] == pytest.approx(1.3 ** n, rel=1e-14)
        if isinstance(e, Expr):
            assert 'pow' not in cost([e]).operations
    assert power(x, 0.5).op == 'sqrt' and power(x, 2.5).op == 'pow'
    assert evaluate([diff(power(x, 2.5), x)], {x: 1.7})[0] == pytest.approx(2.5 * 1.7 ** 1.5, rel=1e-14)
    assert evaluate([diff(power(x, s[4]), s[4])], {x: 1.7, s[4]: 2.2})[0] == pytest.approx(1.7 ** 2.2 * math.log(1.7))


def test_parameter_only_terms_are_marked():
    """What holds parameters only is known to be so, and counts as no operation."""
    g, s = symbols()
    m, length, q = s[0], s[1], s[3]
    assert (m * length).par and not (m * q).par and sin(length).par
    assert cost([m * length * q]).total == 1


def test_equations_no_output_needs_are_counted():
    """E6: removal tells written from needed equations."""
    g, s = symbols()
    used, unused = s[3] * s[4], s[3] * s[5]
    r = removal([used, unused, 1.0, s[3], used], [used + 1.0])
    assert (r.equations, r.useless, r.share) == (2, 1, 0.5)


# -- misuse -------------------------------------------------------------------------------------------
@pytest.mark.parametrize('misuse, named', [
    (lambda s: bool(s[3] > 0), 'select'), (lambda s: float(s[3]), 'q1'), (lambda s: s[3] / 0, 'zero'),
    (lambda s: s[3] + symbols(Graph('other'))[1][3], 'other'), (lambda s: s[3] * 'two', 'two'),
    (lambda s: s[3] + math.nan, 'finite'), (lambda s: math.inf * s[3], 'finite'), (lambda s: select(s[3], 1.0, 2.0), 'comparison'),
    (lambda s: s[3].g.symbol('q1'), 'q1'), (lambda s: evaluate([s[3]], {}), 'q1'), (lambda s: call('f', [1.0], 1), 'f'),
    (lambda s: diff(call('tyre', [s[3]], 1)[0], s[3]), 'tyre'), (lambda s: max(s[3], s[4]), 'maximum'),
])
def test_misuse_is_refused_with_a_sentence(misuse, named):
    """Wrong use of expressions names what is wrong."""
    with pytest.raises(MbsError, match=named):
        misuse(symbols()[1])


def test_external_functions_evaluate_and_substitute():
    """A call node takes its numbers from the given Python function, also after substitution."""
    g, s = symbols()
    a, b = call('f', [s[3], s[4]], 2)
    functions = {'f': lambda v: [v[0] + v[1], v[0] * v[1]]}
    assert evaluate([a, b], {s[3]: 2.0, s[4]: 3.0}, functions) == [5.0, 6.0]
    moved = substitute([a + b], {s[3]: s[5] + 1.0})
    assert evaluate(moved, {s[5]: 1.0, s[4]: 3.0}, functions) == [11.0]
