"""Our side of the benchmark: native loops around the compiled functions of a model."""

import numpy as np

from mbs_core.runtime.batch import Batch
from mbs_core.runtime.batch_native import bench_loop


def looped(unit, function, **arrays):
    """Return run(n): call a function of a unit n times natively on a block with the given arrays."""
    x = unit.block()
    for name, value in arrays.items():
        unit.view(x, name)[:] = value
    unit.call('pre', x)
    address, at = unit.library.address(function), x.ctypes.data

    def run(n):
        bench_loop(address, at, n)
    run.view = lambda array: unit.view(x, array)     # also keeps the block alive
    return run


def parameters(model):
    """Return the model's default parameters in SI."""
    return np.array([p.default * p.factor for p in model.parameters.values()])


def tree_runs(model, q, v, a) -> dict:
    """Return {task: run(n)} of inverse dynamics, mass matrix and forward dynamics of a tree."""
    par = parameters(model)
    return {'inverse_dynamics': looped(model.side('inverse'), 'inverse', q=q, v=v, vd=a, par=par),
            'mass_matrix': looped(model.side('mass'), 'mass', q=q, par=par),
            'forward_dynamics': looped(model.unit, 'forward', q=q, v=v, tau=a, par=par)}


def stepping(state, h=1e-3):
    """Return run(n): n evaluations of the closed model as they occur in RK4 steps, four to a step.

    Newton's iterations, partition checks and the integrator itself are counted: the state moves on as in a real run.
    After 200 steps it starts again.
    """
    start = state.x.copy()

    def run(n):
        left = max(1, n // 4)
        while left > 0:
            state.x[:] = start
            state.run(min(left, 200), h)
            left -= 200
    run.batch = 800
    return run


def lanes_run(mechanism, q, v, a):
    """Return (run(n), lanes): n inverse dynamics, `lanes` of them side by side in vector registers."""
    batch = Batch(mechanism, 'inverse', threads=1)
    w, unit = batch.lanes, batch.unit
    raw = np.zeros(unit.total * w + 8)
    shift = (-raw.ctypes.data // 8) % 8
    x = raw[shift:shift + unit.total * w].reshape(unit.total, w)
    for name, value in (('q', q), ('v', v), ('vd', a), ('par', parameters(batch.model))):
        offset, size = unit.places[name]
        x[offset:offset + size] = np.asarray(value)[:, None]
    library = unit.library
    bench_loop(library.address(f'pre_x{w}'), x.ctypes.data, 1)
    address = library.address(f'inverse_x{w}')

    def run(n):
        bench_loop(address, x.ctypes.data, -(-n // w))
    run.batch = w
    run.block = raw, batch
    return run, w
