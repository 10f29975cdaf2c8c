"""Compiled models and their states: the face of the engine.

A `Model` is frozen; a `State` is one preallocated block of doubles with named views. Nothing here allocates in
`forward`, `step` or `run`, and every one of them is a plain C function that a real-time thread can call by address.
"""

import math

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_core.formalism.equations import ITERATIONS, PARTITION, QUALITY, RESIDUAL, STATUS, SWITCHES
from mbs_core.runtime import build as bd

METHODS = {'rk4': 0, 'euler': 1, 'implicit': 2}


def compile_model(mechanism, cache=True) -> 'Model':
    """Generate, compile (or load from the cache) and return the model of a mechanism."""
    return Model(mechanism, *bd.build(mechanism, cache), cache)


class Model:
    """A compiled mechanism: frozen, shared by any number of states."""

    def __init__(self, mechanism, unit, start, report, cache=True):
        self.mechanism, self.unit, self.start, self.report = mechanism, unit, start, report
        self.name = mechanism.name
        self.parameters, self.inputs = mechanism.parameters, mechanism.inputs
        self.coordinates = [c.name for c in mechanism.coordinates]
        self.driven = [c.name for c in mechanism.driven]
        self.states, self.outputs = list(mechanism.states), list(mechanism.outputs)
        self.nq, self.nv = len(mechanism.positions), len(self.coordinates)
        self._cache, self._sides = cache, {}

    def state(self) -> 'State':
        """Return a new state at the assembled start pose with default parameters."""
        return State(self)

    def address(self, name='forward') -> int:
        """Return the address of a native function of this model; all take the block as first argument."""
        return self.unit.library.address(name)

    def side(self, *names):
        """Return the unit of analysis functions (inverse, bias, mass, loops), compiled when first asked for."""
        if names not in self._sides:
            self._sides[names] = bd.build(self.mechanism, self._cache, names)[0]
        return self._sides[names]


class State:
    """One state of a model: positions, rates, parameters, inputs and results in one block `x`."""

    def __init__(self, model: Model):
        self.model, unit = model, model.unit
        self.x = unit.block()
        view = {a: unit.view(self.x, a) for a in unit.places}
        self._view = view
        self.q, self.v, self.vd, self.z, self.zd = (view[a] for a in ('q', 'v', 'vd', 'z', 'zd'))
        self.inp, self.tau, self.eff, self.lam, self.out = (view[a] for a in ('in', 'tau', 'eff', 'lam', 'out'))
        self.info, self._par = view['info'], view['par']
        self._sides = {}
        self._call = unit.library.call
        self._call('start', self.x)
        self._call('pre', self.x)
        if model.mechanism.loops:
            self.forward()                     # dependent rates follow the independent ones

    # -- parameters, inputs, driven motion -------------------------------------------------------
    def set(self, name, value=None):
        """Set one parameter (or a dict of them) in its declared unit; all or none, refused outside the range."""
        batch = name if isinstance(name, dict) else {name: value}
        new = self._par.copy()
        for key, number in batch.items():
            p = self.model.parameters.get(key)
            if p is None:
                raise MbsError(f"'{self.model.name}' has no parameter '{key}'{suggest(str(key), self.model.parameters)}")
            try:
                number = float(number)
            except (TypeError, ValueError):
                raise MbsError(f"parameter '{key}': {number!r} is no number; give one in {p.unit}") from None
            if not math.isfinite(number) or not p.low <= number <= p.high:
                raise MbsError(f"parameter '{key}': {number:g} {p.unit} is outside its range [{p.low:g}, {p.high:g}] {p.unit}")
            new[p.index] = number * p.factor
        self._par[:] = new
        self._call('pre', self.x)

    def get(self, name) -> float:
        """Return a parameter in its declared unit."""
        p = self.model.parameters.get(name)
        if p is None:
            raise MbsError(f"'{self.model.name}' has no parameter '{name}'{suggest(str(name), self.model.parameters)}")
        return self._par[p.index] / p.factor

    def input(self, name, value):
        """Set an input by name."""
        if name not in self.model.inputs:
            raise MbsError(f"'{self.model.name}' has no input '{name}'{suggest(str(name), self.model.inputs)}")
        if not math.isfinite(value):
            raise MbsError(f"input '{name}': {value} is not finite")
        self.inp[self.model.inputs[name].index] = value

    def drive(self, name, q, v=0.0, a=0.0, then=None):
        """Set the motion of a driven coordinate now; `then` = (q, v, a) is its motion at the end of the next step."""
        c = self.model.mechanism.coordinate_of(name)
        if c.driven < 0:
            raise MbsError(f"coordinate '{c.name}' of '{self.model.name}' is not driven{suggest(str(name), self.model.driven)}")
        if not all(math.isfinite(k) for k in (q, v, a, *(then or ()))):
            raise MbsError(f"driven coordinate '{c.name}': its motion {(q, v, a)} is not finite")
        self.q[c.position], self.v[c.index], self.vd[c.index] = q, v, a
        self._view['drv'][6 * c.driven:6 * c.driven + 6] = (q, v, a, *(then if then is not None else (q, v, a)))

    @property
    def t(self) -> float:
        """The time."""
        return self._view['time'][0]

    @t.setter
    def t(self, value):
        """Set the time."""
        self._view['time'][0] = value

    # -- dynamics --------------------------------------------------------------------------------
    def assemble(self):
        """Close the loops at position and rate from the present guess, or say which loop stays open."""
        m = self.model.mechanism
        if not m.loops:
            return
        guess = np.where(np.isfinite(self.q), self.q, self.model.start)
        if self.forward() == 0 and self.info[RESIDUAL] < 1e-10 and np.abs(self.q - guess).max() < 3.0:
            return
        from mbs_core.formalism.equations import Equations
        from mbs_core.runtime.assembly import Assembler
        side = self.model.side('loops')
        assembler = Assembler(m, Equations(m), side)
        side.view(assembler.x, 'par')[:] = self._par
        side.call('pre', assembler.x)
        pose = assembler.close(guess, [c.index for c in m.coordinates if c.given])
        if pose is None:
            name, gap = assembler.worst_loop(assembler.best_effort(guess))
            raise MbsError(f"mechanism '{m.name}' can't be assembled from here: the loop '{name}' stays open by {gap:.3g}; "
                           'check parameters and driven positions, or start nearer to a closed pose')
        self.q[:] = pose
        self.v[:] = np.nan_to_num(self.v)
        self.forward()

    def forward(self) -> int:
        """Solve loops, forces and reduced dynamics (001 eq. 16): vd, zd, efforts. Return 0, 1 open loop, 2 not finite."""
        return self._call('forward', self.x)

    def step(self, h, method='rk4', substeps=1) -> int:
        """Advance by one step of length h in `substeps` parts; return the worst status."""
        return self.run(1, h, method, substeps)

    def run(self, n, h, method='rk4', substeps=1) -> int:
        """Advance by n steps natively; driven motion set with `then` is followed over each step."""
        if method not in METHODS:
            raise MbsError(f"the integrator '{method}' is unknown{suggest(str(method), METHODS)}")
        if not (math.isfinite(h) and h > 0) or substeps < 1:
            raise MbsError(f'a step must be positive, with at least one sub-step, not {h} s in {substeps}')
        return self._call('advance', self.x, float(h), int(substeps), int(n), METHODS[method])

    # -- results ---------------------------------------------------------------------------------
    def outputs(self) -> dict:
        """Return the declared outputs by name, at the present state."""
        self._results()
        return dict(zip(self.model.outputs, self.out.tolist()))

    def _results(self):
        signatures = self.model.unit.signatures
        p = int(self.info[PARTITION])
        if f'multipliers_{p}' in signatures:
            self._call(f'multipliers_{p}', self.x)
        if 'reactions' in signatures:
            self._call('reactions', self.x)
        self._call('outputs', self.x)

    def energy(self) -> tuple:
        """Return (kinetic, potential) energy."""
        self._call('outputs', self.x)
        return tuple(self._view['energy'].tolist())

    @property
    def partition(self) -> int:
        """The partition in use."""
        return int(self.info[PARTITION])

    @property
    def switches(self) -> int:
        """How often the partition was changed."""
        return int(self.info[SWITCHES])

    @property
    def newton_iterations(self) -> int:
        """Newton steps of the last loop solution."""
        return int(self.info[ITERATIONS])

    @property
    def status(self) -> int:
        """Status of the last forward evaluation."""
        return int(self.info[STATUS])

    @property
    def quality(self) -> float:
        """How far the partition in use is from singular (1 well, 0 singular)."""
        return float(self.info[QUALITY])

    # -- analysis --------------------------------------------------------------------------------
    def _side(self, *names):
        unit = self.model.side(*names)
        if names not in self._sides:
            self._sides[names] = unit.block()
        y = self._sides[names]
        for array in ('time', 'q', 'v', 'vd', 'z', 'in', 'tau', 'par'):
            unit.view(y, array)[:] = self._view[array]
        unit.call('pre', y)
        for name in names:
            unit.call(name, y)
        return lambda array: unit.view(y, array).copy()

    def inverse(self, vd=None) -> np.ndarray:
        """Return the joint efforts Q = M vd + c of the tree (001 eq. 2), forces of all laws included."""
        if vd is not None:
            keep = self.vd.copy()
            self.vd[:] = vd
        result = self._side('inverse')('Q')
        if vd is not None:
            self.vd[:] = keep
        return result

    def mass(self) -> np.ndarray:
        """Return the mass matrix M of the tree (001 eq. 1)."""
        return self._side('mass')('M').reshape(self.model.nv, -1)

    def bias(self) -> np.ndarray:
        """Return c of 001 eq. 1: M vd + c = tau (law forces included)."""
        return self._side('bias')('c')

    def constraints(self) -> tuple:
        """Return (h, J, gamma): loop residuals, Jacobian and J-dot q-dot (001 eq. 3)."""
        get = self._side('loops')
        return get('h'), get('J').reshape(-1, self.model.nv), get('gamma')

    def residuals(self) -> tuple:
        """Return the largest loop residual at position, velocity and acceleration level."""
        h, j, gamma = self.constraints()
        return tuple(float(np.abs(e).max(initial=0.0)) for e in (h, j @ self.v, j @ self.vd + gamma))

    def _transmission(self):
        """Return (independent indices, T) with v = T u' for the partition in use."""
        names = self.model.report.partitions[self.partition]['independent'] if self.model.report.partitions else \
            self.model.coordinates
        u = [self.model.coordinates.index(n) for n in names]
        t = np.zeros((self.model.nv, len(u)))
        t[u, range(len(u))] = 1.0
        v = [i for i in range(self.model.nv) if i not in u]
        if v:
            _, j, _ = self.constraints()
            t[v] = -np.linalg.lstsq(j[:, v], j[:, u], rcond=None)[0]
        return u, t

    def reduced(self) -> tuple:
        """Return (M_r, c_r, names): the reduced form 001 eq. 7, c_r holding all forces (M_r u'' + c_r = Q_r)."""
        u, t = self._transmission()
        drift = np.zeros(self.model.nv)
        if len(u) < self.model.nv:
            _, j, gamma = self.constraints()
            v = [i for i in range(self.model.nv) if i not in u]
            drift[v] = -np.linalg.lstsq(j[:, v], gamma, rcond=None)[0]
        m = self.mass()
        c = self.bias() - self.tau
        return t.T @ m @ t, t.T @ (m @ drift + c), [self.model.coordinates[i] for i in u]

    def inverse_closed(self, udd) -> np.ndarray:
        """Return the efforts on the independent coordinates that give them the accelerations udd (001 eq. 8)."""
        m_r, c_r, _ = self.reduced()
        return m_r @ np.asarray(udd, float) + c_r
