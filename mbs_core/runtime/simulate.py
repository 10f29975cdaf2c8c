"""Whole runs: fixed-step with everything recorded, and adaptive through scipy as a reference."""

from dataclasses import dataclass, field

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.formalism.equations import RESIDUAL


@dataclass
class Trajectory:
    """A recorded run: one row per kept step."""

    model: object
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vd: np.ndarray
    z: np.ndarray
    eff: np.ndarray
    energy: np.ndarray            # kinetic, potential
    residual: np.ndarray          # largest loop residual
    out: dict = field(default_factory=dict)
    switches: int = 0

    def columns(self) -> dict:
        """Return {name: array} of everything, time first."""
        data = {'t': self.t}
        symbols = [s.data[0] for s in self.model.mechanism.kinematics.position_symbols()]
        data.update((n, self.q[:, k]) for k, n in enumerate(symbols))
        for letter, block in (('v', self.v), ('a', self.vd)):
            data.update((f'{letter}.{n}', block[:, k]) for k, n in enumerate(self.model.coordinates))
        data.update((n, self.z[:, k]) for k, n in enumerate(self.model.states))
        data.update((f'effort.{n}', self.eff[:, k]) for k, n in enumerate(self.model.driven))
        data.update(self.out)
        data.update(kinetic=self.energy[:, 0], potential=self.energy[:, 1], residual=self.residual)
        return data

    def save_csv(self, path):
        """Write all columns as CSV with full precision."""
        data = self.columns()
        np.savetxt(path, np.column_stack(list(data.values())), delimiter=',', header=','.join(data), comments='', fmt='%.17g')


def simulate(model, seconds, h=1e-3, method='rk4', substeps=1, state=None, every=1, progress=None, before_step=None) -> Trajectory:
    """Run a model for `seconds` from its start (or from `state`) and keep every `every`-th step.

    before_step(state) may set inputs and driven motion before each step; without it the steps between two kept rows
    run natively. progress(fraction) is called now and then.
    """
    if not (np.isfinite(seconds) and seconds > 0 and h > 0 and every >= 1):
        raise MbsError(f'a run needs a positive length and step, not {seconds} s in steps of {h} s')
    s = state if state is not None else model.state()
    steps = max(1, int(round(seconds / h)))
    kept = steps // every + 1
    rows = {a: np.empty((kept, len(getattr(s, a)))) for a in ('q', 'v', 'vd', 'z', 'eff', 'out')}
    t, energy, residual = np.empty(kept), np.empty((kept, 2)), np.empty(kept)

    def keep(k):
        t[k] = s.t
        energy[k] = s.energy()
        s._results()
        residual[k] = s.info[RESIDUAL]
        for a in rows:
            rows[a][k] = getattr(s, a)
    s.forward()
    keep(0)
    for k in range(1, kept):
        if before_step is None:
            status = s.run(every, h, method, substeps)
        else:
            status = 0
            for _ in range(every):
                before_step(s)
                status = max(status, s.step(h, method, substeps))
        keep(k)
        if status == 2 or not np.all(np.isfinite(s.q)):
            raise MbsError(f"the run of '{model.name}' left the finite numbers at t = {s.t:.4g} s: use a shorter step, more "
                           "sub-steps or method 'implicit'")
        if status == 1:
            raise MbsError(f"the loops of '{model.name}' could not be closed at t = {s.t:.4g} s (residual {s.info[RESIDUAL]:.2g}): "
                           'the mechanism reached a dead point or the step is too long')
        if progress and k % max(1, kept // 200) == 0:
            progress(k / (kept - 1))
    out = {n: rows['out'][:, k] for k, n in enumerate(model.outputs)}
    return Trajectory(model, t, rows['q'], rows['v'], rows['vd'], rows['z'], rows['eff'], energy, residual, out, s.switches)


def adaptive(model, seconds, times=None, rtol=1e-10, atol=1e-12, state=None, method='DOP853') -> Trajectory:
    """Run with scipy's adaptive integrators: the reference for the fixed-step ones.

    All of q is integrated and the loops are closed again at every evaluation. Driven coordinates stay where they are.
    """
    from scipy.integrate import solve_ivp
    s = state if state is not None else model.state()
    nq, nv = model.nq, model.nv
    view = s._view
    balls = 'rates' in model.unit.signatures

    def load(t, y):
        s.t = t
        for _ in range(2):                     # once more if another partition is better there
            s.q[:], s.v[:], s.z[:] = y[:nq], y[nq:nq + nv], y[nq + nv:]
            s.forward()
            before = s.partition
            if 'repartition' in model.unit.signatures:
                s._call('repartition', s.x)
            if s.partition == before:
                break

    def rates(t, y):
        load(t, y)
        if balls:
            s._call('rates', s.x)
        return np.concatenate([view['qd'] if balls else s.v, s.vd, s.zd])
    s.forward()
    start = np.concatenate([s.q, s.v, s.z])
    times = np.linspace(0.0, seconds, 201) if times is None else np.asarray(times, float)
    result = solve_ivp(rates, (s.t, s.t + seconds), start, t_eval=s.t + times, rtol=rtol, atol=atol, method=method)
    if not result.success:
        raise MbsError(f"the adaptive run of '{model.name}' stopped at t = {result.t[-1] if len(result.t) else 0:.4g} s: {result.message}")
    kept = len(result.t)
    rows = {a: np.empty((kept, len(getattr(s, a)))) for a in ('q', 'v', 'vd', 'z', 'eff', 'out')}
    energy, residual = np.empty((kept, 2)), np.empty(kept)
    for k in range(kept):
        load(result.t[k], result.y[:, k])
        energy[k], residual[k] = s.energy(), s.info[RESIDUAL]
        s._results()
        for a in rows:
            rows[a][k] = getattr(s, a)
    out = {n: rows['out'][:, k] for k, n in enumerate(model.outputs)}
    return Trajectory(model, result.t, rows['q'], rows['v'], rows['vd'], rows['z'], rows['eff'], energy, residual, out, s.switches)
