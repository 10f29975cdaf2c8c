"""Many states at once: SIMD lanes within a core, threads across cores, Dask beyond the machine.

For sweeps over poses or parameters and for identification. States are rows of ordinary arrays; inside, they are
interleaved so that one vector instruction works on the same number of several states.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_core.formalism.equations import QUALITY, RESIDUAL, Equations
from mbs_core.runtime import build as bd
from mbs_core.runtime import unit as un
from mbs_core.runtime.batch_native import batch_loop
from mbs_core.runtime.library import default_lanes
from mbs_core.runtime.model import Model, compile_model

RESULTS = {'forward': ('vd', 'eff', 'zd'), 'inverse': ('Q',), 'bias': ('c',)}
ROUNDS = 8                       # Newton steps per state in a batch: fixed, lanes go together
TILE = 32                        # blocks a thread works on before it takes the next ones


class Batch:
    """One function of a mechanism ('forward', 'inverse' or 'bias') over many states."""

    def __init__(self, mechanism, what='forward', threads=None, lanes=None):
        if what not in RESULTS:
            raise MbsError(f"there is no batch function '{what}'{suggest(str(what), RESULTS)}")
        self.model = mechanism if isinstance(mechanism, Model) else compile_model(mechanism)
        self.what, self.lanes = what, lanes or default_lanes()
        self.threads = threads or os.cpu_count() or 1
        m = self.model.mechanism
        eq = Equations(m)
        if what == 'forward':
            plan = bd.make_plan(m, eq)
            plan.pivots, plan.references = plan.pivots[:1], plan.references[:1]
            program = bd.make_program(m, eq, plan, drivers=False)
            self.calls = ['newton_0'] * (ROUNDS if m.loops else 0) + ['forward_0']
        else:
            program = un.analysis_program(m, eq, [what])
            self.calls = [what]
        self.unit = un.compile_unit(program, lanes=self.lanes)

    def __call__(self, **arrays) -> dict:
        """Evaluate states given as arrays (count, size) by name: q, v, vd, z, in, tau, par (SI); others keep their defaults.

        Returns the results by name, for 'forward' also 'q' and 'v' with the loops closed and 'residual'.
        """
        count = max((np.shape(a)[0] for a in arrays.values() if np.ndim(a) == 2), default=0)
        if count == 0:
            raise MbsError('a batch needs at least one array of shape (count, size), such as q=...')
        w, unit = self.lanes, self.unit
        blocks = -(-count // w)
        data = np.zeros((blocks, unit.total, w))
        self._fill(data, arrays, count)
        addresses = [unit.library.address(f'{name}_x{w}') for name in ['pre', *self.calls]]

        def work(first):
            tile = data[first:first + TILE]
            for f in addresses:
                batch_loop(f, tile.ctypes.data, unit.total * w, len(tile))
        starts = range(0, blocks, TILE)
        if self.threads > 1 and blocks > TILE:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, starts))
        else:
            for first in starts:
                work(first)
        out = {a: self._rows(data, a, count) for a in RESULTS[self.what]}
        if self.what == 'forward':
            out.update(q=self._rows(data, 'q', count), v=self._rows(data, 'v', count))
            self._mend(out, data, arrays, count)
        return out

    def _fill(self, data, arrays, count):
        m = self.model.mechanism
        given = {'q': self.model.start, 'par': bd.parameter_values(m), 'z': [z[1] for z in m.states.values()],
                 'in': [i.default for i in m.inputs.values()], **arrays}
        for name, rows in given.items():
            if name not in self.unit.places or name in RESULTS[self.what] and name != 'vd':
                raise MbsError(f"a batch takes no array '{name}'; give any of q, v, vd, z, in, tau, par")
            offset, size = self.unit.places[name]
            if size == 0:
                continue
            rows = np.broadcast_to(np.asarray(rows, float), (count, size))
            if not np.all(np.isfinite(rows)):
                raise MbsError(f"the batch array '{name}' holds numbers that are not finite")
            padded = np.empty((data.shape[0] * self.lanes, size))
            padded[:count], padded[count:] = rows, rows[:1]
            data[:, offset:offset + size] = padded.reshape(-1, self.lanes, size).transpose(0, 2, 1)

    def _rows(self, data, array, count):
        offset, size = self.unit.places[array]
        return data[:, offset:offset + size].transpose(0, 2, 1).reshape(len(data) * self.lanes, size)[:count]

    def _mend(self, out, data, arrays, count):
        """Evaluate again, one by one, the states whose lane did not converge or came near a singular partition."""
        info = self._rows(data, 'info', count)
        out['residual'] = info[:, RESIDUAL].copy()
        if not self.model.mechanism.loops:
            return
        bad = ~(info[:, RESIDUAL] < 1e-11) | ~(info[:, QUALITY] > un.LOW) | ~np.isfinite(out['vd']).all(axis=1)
        s = self.model.state() if bad.any() else None
        for k in np.flatnonzero(bad):
            for name, rows in arrays.items():
                s._view[name][:] = np.broadcast_to(np.asarray(rows, float), (count, s._view[name].size))[k]
            s._call('pre', s.x)
            s.forward()
            if 'repartition' in self.model.unit.signatures:
                s._call('repartition', s.x)
                s.forward()
            for name in ('vd', 'eff', 'zd', 'q', 'v'):
                out[name][k] = s._view[name]
            out['residual'][k] = s.info[RESIDUAL]


def sweep(build, what='forward', chunk=4096, dask=False, **arrays) -> dict:
    """Evaluate very many states of the mechanism that `build()` returns, `chunk` at a time; with `dask` on a cluster.

    `build` must be importable on the workers. Dask is an extra: pip install 'mbs_haptics[batch]'.
    """
    count = max(np.shape(a)[0] for a in arrays.values() if np.ndim(a) == 2)
    parts = [{n: (a[k:k + chunk] if np.ndim(a) == 2 else a) for n, a in arrays.items()} for k in range(0, count, chunk)]
    if dask:
        try:
            import dask as dk
        except ImportError:
            raise MbsError("sweep(dask=True) needs Dask: pip install 'mbs_haptics[batch]'") from None
        results = dk.compute(*[dk.delayed(_part)(build, what, p) for p in parts])
    else:
        batch = Batch(build(), what)
        results = [batch(**p) for p in parts]
    return {n: np.concatenate([r[n] for r in results]) for n in results[0]}


def _part(build, what, arrays):
    return Batch(build(), what)(**arrays)
