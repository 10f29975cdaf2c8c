"""Every back end computes what the plain evaluator computes: native, native in lanes, C and Python."""

import ctypes
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_core.runtime import library
from mbs_core.runtime.batch_native import batch, seconds_per_call
from mbs_core.runtime.library import Library, compile_program, default_lanes, register_external
from mbs_core.symbolic import (Graph, absolute, atan, atan2, call, cos, evaluate, exp, log, maximum, minimum, power, select,
                               sin, sqrt, tanh)
from mbs_core.symbolic.printers import emit, emit_c, emit_python
from mbs_core.symbolic.program import Layout, Program

HOST = library.host
INPUTS, PARAMETERS = 5, 3


def symbols(outputs=8):
    """Return a layout with inputs q, parameters and outputs, and the symbols of q and par."""
    g, layout = Graph('test'), Layout()
    layout.add('q', INPUTS)
    layout.add('par', PARAMETERS)
    layout.add('out', outputs)
    q = [g.symbol(f'q{i}', 'coordinate', 'q', i) for i in range(INPUTS)]
    par = [g.symbol(f'p.{i}', 'parameter', 'par', i) for i in range(PARAMETERS)]
    return layout, q, par


def make(layout, values, chunk=1000, name='f'):
    """Return a finished program with one function that stores the values to `out`."""
    program = Program('test', layout, 'A test.')
    program.function(name, [('out', i, v) for i, v in enumerate(values)])
    return program.finish(chunk)


def block(program, numbers):
    """Return x with the inputs and parameters filled in."""
    x = np.full(program.layout.total, np.nan)
    x[:len(numbers)] = numbers
    return x


def run_llvm(program, numbers):
    """Return the outputs of the native code."""
    lib, x = compile_program(program), block(program, numbers)
    lib.call('pre', x)
    lib.call('f', x)
    return x[program.layout.slice('out')]


def run_lanes(program, numbers, lanes=None):
    """Return the outputs of the native code for several states, after checking that all lanes agree with their own input."""
    lanes = lanes or default_lanes()
    lib, x = compile_program(program, lanes=lanes), block(program, numbers)
    others = [block(program, np.asarray(numbers) * (1 + 0.01 * k)) for k in range(lanes)]
    wide = np.ascontiguousarray(np.array(others).T).reshape(-1)
    lib.call(f'pre_x{lanes}', wide)
    lib.call(f'f_x{lanes}', wide)
    wide = wide.reshape(-1, lanes)[program.layout.slice('out')]
    for k, x in enumerate(others):
        lib.call('pre', x)
        lib.call('f', x)
        assert np.allclose(wide[:, k], x[program.layout.slice('out')], rtol=1e-9, atol=1e-9, equal_nan=True)
    return wide[:, 0]


def run_python(program, numbers, externals=None):
    """Return the outputs of the printed Python module."""
    module = {}
    exec(emit_python(program), module)
    module['externals'].update(externals or {})
    x = list(block(program, numbers))
    module['pre'](x)
    module['f'](x)
    return np.array(x)[program.layout.slice('out')]


def compile_c(program, folder, gcc, real='double', more=()):
    """Return the shared library of the printed C file, compiled without any warning."""
    source, target = folder / 'm.c', folder / f'm_{real}.so'
    source.write_text(emit_c(program))
    subprocess.run([gcc, '-std=c99', '-O1', '-Wall', '-Wextra', '-Werror', '-pedantic', f'-DMBS_REAL={real}', '-shared', '-fPIC',
                    str(source), *more, '-o', str(target), '-lm'], check=True)
    return ctypes.CDLL(str(target))


def run_c(program, numbers, folder, gcc, real='double'):
    """Return the outputs of the printed C file."""
    lib, x = compile_c(program, folder, gcc, real), block(program, numbers)
    x = x.astype(np.float32 if real == 'float' else np.float64)
    for name in ('test_pre', 'test_f'):
        getattr(lib, name)(x.ctypes.data_as(ctypes.c_void_p))
    return x[program.layout.slice('out')]


def operations(q, par):
    """Return one expression for every operation, each of them used on inputs and on parameters."""
    a, b, c, _, _ = q
    p, r, _ = par
    return {
        'add': a + b + p, 'sub': a - b - r, 'mul': a * b * p, 'div': a / b + a / p, 'neg': -(a * b), 'sin': sin(a),
        'cos': cos(b), 'both': sin(c) * 2 + cos(c), 'angle': sin(a + b) + cos(a - c), 'sqrt': sqrt(absolute(a)),
        'exp': exp(a), 'log': log(absolute(b)), 'tanh': tanh(c), 'atan': atan(a), 'abs': absolute(b),
        'atan2': atan2(a, b), 'pow': power(absolute(a), b), 'min': minimum(a, b), 'max': maximum(a, b),
        'lt': select(a < b, c, -a), 'le': select(b <= a, 1.5, c), 'par': sin(p) * r + exp(r) * a, 'par_if': select(p < r, a, b),
        'nested': select(a < sin(b), select(p <= r, a, p), tanh(a) / c), 'const': 2.5, 'copy': a, 'par_copy': p * r,
        'minus': -a, 'far': sin(100 * a) + cos(1e4 * b), 'of_sin': sin(sin(a) * 3) + cos(exp(b)),
    }


NUMBERS = [0.7, -1.3, 2.1, 0.4, -0.2, 1.2, 0.8, -0.6]


def expected(values, q, par, numbers=NUMBERS, functions=None):
    """Return what the plain evaluator says."""
    return np.array(evaluate(values, dict(zip([*q, *par], numbers)), functions))


def every_operation(chunk=1000):
    """Return the program of all operations, and the expected numbers."""
    layout, q, par = symbols(len(operations(*symbols()[1:])))
    values = list(operations(q, par).values())
    return make(layout, values, chunk), expected(values, q, par)


@pytest.mark.parametrize('chunk', [1000, 7, 1])
def test_native_code_computes_every_operation(chunk):
    program, wanted = every_operation(chunk)
    assert np.allclose(run_llvm(program, NUMBERS), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize('lanes', [2, 4, 8])
@pytest.mark.parametrize('chunk', [1000, 3])
def test_lanes_compute_every_operation(lanes, chunk):
    program, wanted = every_operation(chunk)
    assert np.allclose(run_lanes(program, NUMBERS, lanes), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize('chunk', [1000, 3])
def test_python_computes_every_operation(chunk):
    program, wanted = every_operation(chunk)
    assert np.array_equal(run_python(program, NUMBERS), wanted)


@pytest.mark.parametrize('chunk', [1000, 3])
def test_c_computes_every_operation(chunk, tmp_path, need_tool):
    program, wanted = every_operation(chunk)
    gcc = need_tool('gcc', 'gcc')
    assert np.allclose(run_c(program, NUMBERS, tmp_path, gcc), wanted, rtol=1e-14, atol=1e-15)
    single = run_c(program, NUMBERS, tmp_path, gcc, 'float')
    far = list(operations(*symbols()[1:])).index('far')            # 1e4 times a rounding error is not small
    single[far] = wanted[far]
    assert np.allclose(single, wanted, rtol=1e-5, atol=1e-5)


@st.composite
def graphs(draw):
    """Draw (layout, q, par, expressions): a random graph whose nodes are used again and again."""
    layout, q, par = symbols(outputs=6)
    pool = [*q, *par]
    kinds = st.sampled_from(['add', 'sub', 'mul', 'div', 'sin', 'cos', 'sqrt', 'tanh', 'atan', 'atan2', 'min', 'max', 'select',
                             'neg', 'abs', 'scale', 'shift'])
    for _ in range(draw(st.integers(1, 60))):
        a, b, c, d = (pool[draw(st.integers(0, len(pool) - 1))] for _ in range(4))
        kind = draw(kinds)
        e = {'add': lambda: a + b, 'sub': lambda: a - b, 'mul': lambda: tanh(a) * b, 'div': lambda: a / (1.5 + b * b),
             'sin': lambda: sin(a), 'cos': lambda: cos(a), 'sqrt': lambda: sqrt(1 + a * a), 'tanh': lambda: tanh(a),
             'atan': lambda: atan(a), 'atan2': lambda: atan2(a, 2 + b * b), 'min': lambda: minimum(a, b),
             'max': lambda: maximum(a, b), 'select': lambda: select(a < b, c, d) if a is not b else c, 'neg': lambda: -a,
             'abs': lambda: absolute(a), 'scale': lambda: -0.75 * a, 'shift': lambda: 0.5 + a}[kind]()
        if hasattr(e, 'op'):
            pool.append(e)
    return layout, q, par, [*pool[-5:], 1.0]


def agree(found, wanted):
    """Tell whether two results are the same up to rounding, a switch at a rounding border aside."""
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.integers(1, 20), st.lists(st.floats(-3, 3, width=16), min_size=8, max_size=8))
def test_random_graphs_native_lanes_and_python(graph, chunk, numbers):
    layout, q, par, values = graph
    numbers = [v + 0.001 * k for k, v in enumerate(numbers)]        # no ties: which side of a tie is taken may differ
    program = make(layout, values, chunk)
    wanted = expected(values, q, par, numbers)
    if not np.all(np.abs(wanted) < 1e6):
        return
    assert agree(run_python(program, numbers), wanted)
    assert agree(run_llvm(program, numbers), wanted)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.integers(1, 20), st.lists(st.floats(-3, 3, width=16), min_size=8, max_size=8))
def test_random_graphs_c(tmp_path, need_tool, graph, chunk, numbers):
    layout, q, par, values = graph
    folder = tmp_path / str(len(list(tmp_path.iterdir())))          # a loaded library is never overwritten
    folder.mkdir()
    numbers = [v + 0.001 * k for k, v in enumerate(numbers)]
    wanted = expected(values, q, par, numbers)
    if np.all(np.abs(wanted) < 1e6):
        assert agree(run_c(make(layout, values, chunk), numbers, folder, need_tool('gcc', 'gcc')), wanted)


# -- what stores see -----------------------------------------------------------------------------
@pytest.mark.parametrize('chunk', [1000, 2, 1])
def test_all_loads_see_the_values_before_the_call(chunk):
    layout, q, _ = symbols()
    program = Program('test', layout)
    stores = [('q', 0, q[1]), ('q', 1, q[0]), ('q', 2, q[2] + q[3] * sin(q[0])), ('q', 3, q[2] * q[2] + q[3]), ('out', 0, q[2] * q[4]),
              ('out', 1, -q[0]), ('out', 2, q[3] * q[4])]
    program.function('f', stores)
    program.finish(chunk)
    x = block(program, NUMBERS)
    wanted = evaluate([v for _, _, v in stores], dict(zip(q, NUMBERS)))
    module, y = {}, list(x)
    exec(emit_python(program), module)
    module['f'](y)
    lanes = default_lanes()
    lib, wide = compile_program(program, lanes), np.repeat(x, lanes)
    lib.call('f', x)
    lib.call(f'f_x{lanes}', wide)
    places = [layout.at(a, i) for a, i, _ in stores]
    for found in (x, np.array(y), wide[lanes - 1::lanes]):
        assert np.allclose(found[places], wanted, rtol=1e-14)


def test_the_same_place_is_not_stored_twice():
    layout, q, _ = symbols()
    program = Program('test', layout)
    program.function('f', [('out', 0, q[0]), ('out', 0, q[1])])
    with pytest.raises(MbsError, match=r"stores twice to out\[0\]"):
        program.finish()


def test_parameter_only_terms_are_computed_by_pre_alone():
    layout, q, par = symbols()
    program = make(layout, [sin(par[0]) * q[0], -(sin(par[0]) * par[1]) * q[1], par[2] + q[2]])
    assert layout.size('pre') == 2                                  # sin(p0) and sin(p0)*p1; p2 itself is an input
    lib, x = compile_program(program), block(program, NUMBERS)
    lib.call('pre', x)
    lib.call('f', x)
    before = x[layout.slice('out')].copy()
    x[layout.offset('par')] = 0.3
    lib.call('f', x)
    assert np.array_equal(x[layout.slice('out')], before, equal_nan=True)
    lib.call('pre', x)
    lib.call('f', x)
    assert x[layout.offset('out')] == pytest.approx(math.sin(0.3) * NUMBERS[0], rel=1e-15)


# -- sine and cosine -----------------------------------------------------------------------------
def ulps(found, wanted):
    """Return the error of doubles against longer numbers in units of the last place."""
    return (np.abs(found - wanted) / np.spacing(np.abs(wanted.astype(float)))).astype(float)


@pytest.fixture(scope='module', params=['fused', 'plain'])
def sines(request):
    """Return the native sine and cosine of arrays of angles: as scalars, four at once, and in lanes; also without FMA."""
    lanes, patch = default_lanes(), pytest.MonkeyPatch()
    if request.param == 'plain':
        patch.setattr(library, 'fused', lambda: False)
        patch.setattr(library, 'host', lambda: ('x86-64', '') if 'x86' in platform.machine() else HOST())
    g, layout = Graph('trig'), Layout()
    layout.add('q', 4)
    layout.add('out', 8)
    q = [g.symbol(f'q{i}', 'coordinate', 'q', i) for i in range(4)]
    program = Program('trig', layout)
    program.function('four', [('out', 2 * i + k, f(q[i])) for i in range(4) for k, f in enumerate((sin, cos))])
    program.function('one', [('out', k, f(q[0])) for k, f in enumerate((sin, cos))])
    program.finish()
    lib = compile_program(program, lanes)
    patch.undo()

    def compute(angles, how):
        """Return (sines, cosines)."""
        if how == 'lanes':
            x = np.zeros((len(angles) // lanes, layout.total, lanes))
            x[:, 0, :] = angles.reshape(-1, lanes)
            batch(lib.address(f'one_x{lanes}'), x.reshape(len(x), -1))
            return x[:, 4, :].reshape(-1), x[:, 5, :].reshape(-1)
        width = 4 if how == 'four' else 1
        x = np.zeros((len(angles) // width, layout.total))
        x[:, :width] = angles.reshape(-1, width)
        batch(lib.address(how), x)
        return x[:, 4:4 + 2 * width:2].reshape(-1), x[:, 5:5 + 2 * width:2].reshape(-1)
    compute.limits = {'fused': (1.6, 1e-15), 'plain': (2.5, 1e-7)}[request.param]     # ulp to 1e4, absolute to 1e8
    return compute


@pytest.mark.parametrize('how', ['one', 'four', 'lanes'])
def test_sine_and_cosine_are_accurate(sines, how):
    rng = np.random.default_rng(3)
    near = np.arange(-4000, 4000) * (math.pi / 2)
    angles = np.concatenate([rng.uniform(-10, 10, 80000), rng.uniform(-1e4, 1e4, 80000), near, np.nextafter(near, 1e9)])
    s, c = sines(angles, how)
    long = angles.astype(np.longdouble)                             # the reference needs more digits near zeros
    units, far = sines.limits
    assert ulps(s, np.sin(long)).max() < units
    assert ulps(c, np.cos(long)).max() < units
    big = rng.uniform(-1e8, 1e8, 80000)
    s, c = sines(big, how)
    assert np.abs(s - np.sin(big)).max() < far and np.abs(c - np.cos(big)).max() < far


@pytest.mark.parametrize('how', ['one', 'four', 'lanes'])
def test_sine_of_nan_and_infinity_is_nan(sines, how):
    bad = np.array([np.nan, np.inf, -np.inf, np.nan] * 2)
    for values in sines(bad, how):
        assert np.all(np.isnan(values))
    s, c = sines(np.zeros(8), how)
    assert np.all(s == 0) and np.all(c == 1)


def test_neighbours_of_the_angles_may_hold_anything(sines):
    """Angles are loaded four at once; what lies behind the last one must not disturb the others."""
    layout = Layout()
    g = Graph('trig')
    layout.add('q', 3)
    layout.add('out', 3)
    q = [g.symbol(f'q{i}', 'coordinate', 'q', i) for i in range(3)]
    program = Program('trig', layout)
    program.function('f', [('out', i, sin(q[i])) for i in range(3)])
    x = block(program.finish(), [0.1, 0.2, 0.3])
    compile_program(program).call('f', x)
    assert np.allclose(x[3:6], np.sin([0.1, 0.2, 0.3]), rtol=1e-15)


# -- NaN, infinity -------------------------------------------------------------------------------
def test_division_by_zero_and_nan_pass_through():
    layout, q, _ = symbols(outputs=6)
    values = [q[0] / q[1], -q[0] / q[1], (q[1] * 2) / q[1], q[2] + q[0], sqrt(-absolute(q[0])), log(q[1] * q[0])]
    program = make(layout, values)
    found = run_llvm(program, [1.0, 0.0, math.nan, 0, 0, 0, 0, 0])
    assert found[0] == math.inf and found[1] == -math.inf and found[5] == -math.inf
    assert np.all(np.isnan(found[2:5]))


# -- outside functions ---------------------------------------------------------------------------
@pytest.mark.parametrize('chunk', [1000, 2])
def test_outside_functions_are_called(chunk, tmp_path, need_tool):
    layout, q, par = symbols(outputs=4)
    swing = call('test_swing', [q[0] * q[1], par[0], 2.0], 3)
    program = make(layout, [swing[0], swing[2] + q[2], sin(swing[0]), swing[2] * swing[0]], chunk)
    assert program.externals == {'test_swing'}
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))

    def formula(v):
        return [v[0] + v[1], v[1] * v[2], v[0] * v[2]]

    @kind
    def swing_native(given, taken):
        taken[0], taken[1], taken[2] = formula(given)
    register_external('test_swing', ctypes.cast(swing_native, ctypes.c_void_p).value)
    wanted = np.array([(r := formula([NUMBERS[0] * NUMBERS[1], NUMBERS[5], 2.0]))[0], r[2] + NUMBERS[2], math.sin(r[0]), r[2] * r[0]])
    assert np.allclose(run_llvm(program, NUMBERS), wanted, rtol=1e-14)
    assert np.allclose(run_lanes(program, NUMBERS), wanted, rtol=1e-14)
    assert np.allclose(run_python(program, NUMBERS, {'test_swing': formula}), wanted, rtol=1e-14)
    other = tmp_path / 'swing.c'
    other.write_text('void test_swing(const double *v, double *r);\nvoid test_swing(const double *v, double *r)\n'
                     '{ r[0] = v[0] + v[1]; r[1] = v[1]*v[2]; r[2] = v[0]*v[2]; }\n')
    lib, x = compile_c(program, tmp_path, need_tool('gcc', 'gcc'), more=[str(other)]), block(program, NUMBERS)
    lib.test_pre(x.ctypes.data_as(ctypes.c_void_p))
    lib.test_f(x.ctypes.data_as(ctypes.c_void_p))
    assert np.allclose(x[layout.slice('out')], wanted, rtol=1e-14)


def test_an_outside_function_that_nobody_registered_is_named():
    layout, q, _ = symbols(outputs=1)
    program = make(layout, call('nobody_knows_me', [q[0]], 1))
    with pytest.raises(MbsError, match='nobody_knows_me'):
        compile_program(program)


# -- the printed text ----------------------------------------------------------------------------
def test_equal_programs_print_the_same_text():
    first, second = every_operation(7)[0], every_operation(7)[0]
    for printer in (emit_c, emit_python, lambda p: emit(p, 4)):
        assert printer(first) == printer(second)


def test_the_text_does_not_depend_on_the_process():
    code = ('import sys, hashlib; sys.path[:0] = sys.argv[1:]; import test_backends as t; p = t.every_operation(7)[0]; '
            'print(hashlib.sha256((t.emit(p, 4) + t.emit_c(p) + t.emit_python(p)).encode()).hexdigest())')
    here = Path(__file__).resolve()
    texts = {subprocess.run([sys.executable, '-c', code, here.parent, here.parents[1]], check=True, capture_output=True,
                            env={**os.environ, 'PYTHONHASHSEED': seed}).stdout for seed in ('1', '2')}
    assert len(texts) == 1


def test_c_says_what_x_holds():
    text = emit_c(every_operation()[0])
    assert 'A test.' in text and 'x[0] .. x[4]: q[5]' in text and 'TEST_PAR = 5,' in text
    assert 'const real p_0 = x[TEST_PAR];' in text


# -- libraries -----------------------------------------------------------------------------------
def test_object_files_load_again_and_give_the_same_numbers():
    program, _ = every_operation()
    lib = compile_program(program)
    again = Library.from_object(lib.object_bytes(), lib.signatures)
    x, y = block(program, NUMBERS), block(program, NUMBERS)
    for name in ('pre', 'f'):
        lib.call(name, x)
        again.call(name, y)
    assert np.array_equal(x, y, equal_nan=True)


def test_level_zero_is_a_preview_with_the_same_numbers():
    program, wanted = every_operation()
    lib, x = compile_program(program, level=0), block(program, NUMBERS)
    lib.call('pre', x)
    lib.call('f', x)
    assert np.allclose(x[program.layout.slice('out')], wanted, rtol=1e-13, atol=1e-14)


def test_misuse_is_told_in_a_sentence():
    layout, q, _ = symbols()
    program = Program('test', layout)
    program.function('f', [('out', 0, q[0])])
    with pytest.raises(MbsError, match='not finished'):
        compile_program(program)
    with pytest.raises(MbsError, match='two functions named'):
        program.function('f', [])
    with pytest.raises(MbsError, match="no array 'outt'.*did you mean 'out'"):
        layout.offset('outt')
    with pytest.raises(MbsError, match='laid out twice'):
        layout.add('q', 3)
    program.finish()
    with pytest.raises(MbsError, match='finished'):
        layout.add('more', 3)
    lib = compile_program(program)
    with pytest.raises(MbsError, match="no function 'g'"):
        lib.address('g')
    with pytest.raises(MbsError, match='contiguous array of doubles'):
        lib.call('f', np.zeros(layout.total, dtype=np.float32))
    with pytest.raises(MbsError, match='outside the array'):
        layout.at('q', INPUTS)


def test_batches_and_timing_run_natively():
    program, wanted = every_operation()
    lib = compile_program(program)
    blocks = np.tile(block(program, NUMBERS), (50, 1))
    batch(lib.address('pre'), blocks)
    batch(lib.address('f'), blocks)
    assert np.allclose(blocks[:, program.layout.slice('out')], wanted, rtol=1e-13, atol=1e-14)
    assert 0 < seconds_per_call(lib.address('f'), blocks[0], rounds=2, least=1e-4) < 1e-3
    with pytest.raises(MbsError, match='two-dimensional'):
        batch(lib.address('f'), blocks[0])
