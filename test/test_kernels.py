"""Kernels compute the same natively, in C and in Python, and what is outside their language is refused by line."""

import ctypes
import subprocess
from math import isfinite, sqrt                      # what a kernel sees when it runs as plain Python

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_core.runtime.library import compile_program
from mbs_core.symbolic import Graph
from mbs_core.symbolic.printers import emit_c, emit_python
from mbs_core.symbolic.program import Layout, Program

assert sqrt and isfinite
N = 4


def solve(x, tol: float) -> int:
    """Solve A y = b in place by elimination with row exchange; return 0, or the column without a pivot."""
    for k in range(N):
        best = abs(x[A + k * N + k])
        row = k
        for i in range(k + 1, N):
            v = abs(x[A + i * N + k])
            if v > best:
                best = v
                row = i
        if not best > tol:
            return k + 1
        if row != k:
            for j in range(N):
                t = x[A + k * N + j]
                x[A + k * N + j] = x[A + row * N + j]
                x[A + row * N + j] = t
            t = x[B + k]
            x[B + k] = x[B + row]
            x[B + row] = t
        for i in range(k + 1, N):
            m = x[A + i * N + k] / x[A + k * N + k]
            for j in range(k + 1, N):
                x[A + i * N + j] -= m * x[A + k * N + j]
            x[B + i] -= m * x[B + k]
    for i in range(N - 1, -1, -1):
        s = x[B + i]
        for j in range(i + 1, N):
            s -= x[A + i * N + j] * x[B + j]
        x[B + i] = s / x[A + i * N + i]
    return 0


def language(x, n: int, h: float) -> float:
    """Use everything the language has."""
    total = 0                                        # becomes a float below: é in a comment counts as two bytes
    i = 0
    while True:
        i += 1
        if i > n or i % 7 == 5 and not i < 3:
            break
        if i == 2:
            continue
        TABLE[i % len(TABLE)](x)
        total += x[OUT] * WEIGHTS[i % 3] + (1 if i // 2 > 1 else 0.5) + min(i, 3, 2.5) + max(-i, -2)
        inside = 1 < i <= 3
        total += inside
        n_far = abs(-i) + int(-2.7) + PLACES[i % 2]
        x[OUT + 1] = float(n_far) + +h
    for k in range(10, 2, -3):
        total -= k // 4 + (-k) // 4 + (-k) % 4 + k % -4
    for k in range(n):
        n -= 1                                       # the end of a range is evaluated once
        total += 0.25
    for k in range(0, int(x[OUT + 1]), 2):
        x[OUT + 1] = 0.0
        total += 1e-3
    if UNUSED:
        NOTHING[i](x)
    elif not isfinite(h) or h != h:
        return -1.0
    else:
        pass
    if isfinite(1.0 / x[ZERO]) and True:
        total = 1e9
    done = solve(x, 1e-12)
    if done != 0 and done < 3 or sqrt(h) < 0:
        return -2
    value: float = 3
    return total + value / 2 + h * (i if i > 3 else -1)


def first(x, limit: float) -> int:
    """Return early from inside loops."""
    for i in range(N):
        for j in range(N):
            if x[A + N * i + j] > limit:
                return N * i + j
    return -1


def search(x) -> int:
    """Call another kernel twice."""
    place = first(x, 0.5)
    return place + first(x, 1e9)


def build():
    """Return a finished program with all the kernels above, and its layout."""
    g, layout = Graph('k'), Layout()
    layout.add('a', N * N)
    layout.add('b', N)
    layout.add('out', 4)
    a = [g.symbol(f'a{i}', 'coordinate', 'a', i) for i in range(2)]
    program = Program('k', layout)
    one = program.function('one', [('out', 0, a[0] + 1)])
    program.function('two', [('out', 0, a[1] * 2)])
    program.kernel(search)                          # uses a kernel that is added later
    place = {'A': layout.offset('a'), 'B': layout.offset('b'), 'N': N}
    program.kernel(first, A=place['A'], N=N)
    program.kernel(solve, name='lu', **place)
    program.kernel(language, TABLE=(one, 'two'), WEIGHTS=(0.5, 2, 3), PLACES=np.array([4, -7]), OUT=layout.offset('out'),
                   ZERO=layout.at('out', 3), UNUSED=0, NOTHING=(), solve='lu')
    return program.finish(), layout


@pytest.fixture(scope='module')
def program():
    """Return the finished program."""
    return build()[0]


def start():
    """Return a block with a regular matrix."""
    x = np.zeros(N * N + N + 4)
    x[:N * N + N] = np.random.default_rng(5).normal(size=N * N + N)
    return x


def c_library(program, folder, gcc, real='double'):
    """Return the kernels compiled by a C compiler, without any warning."""
    source, target = folder / 'k.c', folder / f'k_{real}.so'
    source.write_text(emit_c(program))
    subprocess.run([gcc, '-std=c99', '-O2', '-Wall', '-Wextra', '-Werror', '-pedantic', f'-DMBS_REAL={real}', '-shared', '-fPIC',
                    str(source), '-o', str(target), '-lm'], check=True)
    lib = ctypes.CDLL(str(target))
    lib.k_language.restype = ctypes.c_double
    return lib


def python_module(program):
    """Return the printed Python module as a dictionary; division by zero in a kernel needs numpy's floats."""
    module = {}
    exec(emit_python(program), module)
    return module


def test_native_kernels_solve_linear_equations(program):
    x = start()
    wanted = np.linalg.solve(x[:N * N].reshape(N, N), x[N * N:N * N + N])
    lib = compile_program(program)
    assert lib.call('lu', x, 1e-12) == 0
    assert np.allclose(x[N * N:N * N + N], wanted, rtol=1e-12)
    x = start()
    x[:N] = 2 * x[N:2 * N]
    assert lib.call('lu', x, 1e-12) == N


def test_python_native_and_c_agree_on_the_whole_language(program, tmp_path, need_tool):
    lib, module = compile_program(program), python_module(program)
    c = c_library(program, tmp_path, need_tool('gcc', 'gcc'))
    for n in (0, 1, 4, 20):
        x, y, z = start(), start(), start()
        native = lib.call('language', x, n, 0.01)
        with np.errstate(divide='ignore'):
            plain = module['language'](y, n, 0.01)
        c_value = c.k_language(ctypes.c_void_p(z.ctypes.data), n, ctypes.c_double(0.01))
        assert native == pytest.approx(plain, rel=1e-12) and c_value == pytest.approx(plain, rel=1e-12)
        assert np.allclose(x, y, rtol=1e-10) and np.allclose(z, y, rtol=1e-10)


def test_kernels_call_kernels_and_return_early(program, tmp_path, need_tool):
    lib, module = compile_program(program), python_module(program)
    c = c_library(program, tmp_path, need_tool('gcc', 'gcc'))
    x = start()
    wanted = int(np.flatnonzero(x[:N * N] > 0.5)[0]) - 1
    assert lib.call('search', x) == module['search'](x) == c.k_search(ctypes.c_void_p(x.ctypes.data)) == wanted


def test_c_kernels_compile_for_single_precision(program, tmp_path, need_tool):
    c_library(program, tmp_path, need_tool('gcc', 'gcc'), 'float')


def test_equal_kernels_print_the_same_text(program):
    again = build()[0]
    assert emit_c(program) == emit_c(again) and emit_python(program) == emit_python(again)


REFUSED = {
    'def f(y): pass': "first parameter of a kernel is 'x'",
    'def f(x, a): pass': "'a' must be marked as int or float",
    'def f(x, a: str): pass': "'a' must be marked as int or float",
    'def f(x, *a): pass': 'plain parameters',
    'def f(x, a: int = 3): pass': 'without defaults',
    'def f(x) -> list: return x': 'returns int, float or None',
    'def f(x): y = [1, 2]': 'list is not part',
    'def f(x): a = b': "neither a variable nor a given constant|has no value",
    'def f(x): a, b = 1, 2': 'assign to a name|tuple is not part',
    'def f(x): x = 3': "'x' can't be assigned",
    'def f(x): a = x': 'can only be indexed',
    'def f(x): a = x[1.5]': 'whole number',
    'def f(x): a = x[x[0]]': 'whole number',
    'def f(x): a = x[1:2]': 'slice is not part',
    'def f(x): a = 1 ** x[0]': 'operator',
    'def f(x): a = x[0] // 2': 'whole numbers',
    'def f(x): a = sin(x[0])': "no function 'sin'",
    'def f(x): print(x)': "no function 'print'",
    'def f(x): x.sort()': "no function 'x.sort'",
    'def f(x): go()': "gets x and 0 more",
    'def f(x): go(x, 3)': "gets x and 0 more",
    'def f(x): a = go(x)': 'returns nothing',
    'def f(x): a = min(1)': 'two or more arguments',
    'def f(x): a = abs(1, 2)': 'one argument',
    'def f(x): return 3': 'return nothing',
    'def f(x) -> int: pass': 'must end with a return',
    'def f(x) -> int: return x[0]': 'is a float',
    'def f(x, n: int): n = x[0]': "'n' is an int",
    'def f(x): break': 'belong into a loop',
    'def f(x):\n    for i in (1, 2): pass': 'goes over range',
    'def f(x):\n    for i in range(3): i = 2': "'i' can't be assigned",
    'def f(x):\n    for i in range(3): pass\n    x[0] = i': 'after its loop',
    'def f(x, n: int):\n    for i in range(0, 9, n): pass': 'step of a range',
    'def f(x):\n    for i in range(x[0]): pass': 'range needs whole numbers',
    'def f(x):\n    for i in range(3):\n        for i in range(3): pass': "'i' is in use",
    'def f(x):\n    while x[0]: pass': 'a condition is a comparison',
    'def f(x):\n    while x[0] > 0: pass\n    else: pass': 'no else',
    'def f(x):\n    try: pass\n    finally: pass': 'try is not part',
    'def f(x):\n    with x: pass': 'with is not part',
    'def f(x): a = x[1] and x[0]': 'and, or join comparisons',
    'def f(x): a = x[0] is x[1]': 'compare with',
    'def f(x): a = "text"': 'only numbers',
    'def f(x): a = lambda: 3': 'lambda is not part',
    'def f(x): x[0] + 1': 'does nothing',
    'def f(x): a: int = x[0]': 'marked as int but gets a float',
    'def f(x): a = 1 // 0': 'division by zero',
    'def f(x): a = TABLE[7]': "outside the table 'TABLE'",
    'def f(x, n: int): FUNCTIONS[n](x, 1)': 'gets x and 0 more',
    'def f(x, n: int): a = FUNCTIONS[n]': "can't be indexed",
    'def f(x, n: int): TABLE[n](x)': 'no table of functions',
    'def f(x): a = x[0] + twice(x)': 'line of its own',
    'def f(x): a = twice(x) + twice(x)': 'line of its own',
    'def f(x): a = 0 < twice(x) < 3': 'line of its own',
    'def f(x): TABLE = 3': 'both a constant and a variable',
    'def f(x': 'no valid Python',
    'a = 3': 'one plain function',
}


@pytest.mark.parametrize('source', REFUSED)
def test_what_is_outside_the_language_is_refused_with_its_line(source):
    g, layout = Graph('r'), Layout()
    layout.add('q', 4)
    q = g.symbol('q', 'coordinate', 'q', 0)
    program = Program('r', layout)
    program.function('go', [('q', 1, q + 1)])
    program.kernel('def twice(x) -> float: return 2 * x[0]')
    with pytest.raises(MbsError, match=REFUSED[source]) as error:
        program.kernel(source, TABLE=(1, 2, 3), FUNCTIONS=('go',))
        program.finish()
    if source.startswith('def f(x)') and 'both' not in REFUSED[source]:
        assert "kernel 'f', line " in str(error.value)


def test_a_kernel_of_numbers_only_keeps_its_ints():
    program = Program('ints', Layout())
    program.layout.add('q', 1)
    program.kernel('def f(x, n: int) -> int:\n    s = 0\n    for i in range(n):\n        s += i * i\n    return s')
    lib = compile_program(program.finish())
    assert lib.call('f', np.zeros(1), 100_000) == sum(i * i for i in range(100_000))
