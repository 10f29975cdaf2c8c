"""Equilibrium, linearisation and modes of a compiled model."""

from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError


@dataclass
class Linear:
    """y' = A y + B u around a state; y = (free positions, free rates, law states), u = (inputs, driven accelerations, efforts tau)."""

    A: np.ndarray
    B: np.ndarray
    names: list
    inputs: list


@dataclass
class Modes:
    """Natural modes: frequency (Hz, undamped), damping ratio, growth rate and shape over the free coordinates."""

    frequency: np.ndarray
    damping: np.ndarray
    eigenvalues: np.ndarray
    shapes: np.ndarray
    names: list


class _Point:
    """A state seen as y: free independent positions and rates and law states around a base pose."""

    def __init__(self, s):
        self.s = s
        s.forward()
        names = s.model.report.partitions[s.partition]['independent'] if s.model.report.partitions else s.model.coordinates
        m = s.model.mechanism
        self.free = [m.coordinate_of(n) for n in names if m.coordinate_of(n).driven < 0]
        self.q, self.v, self.z = s.q.copy(), s.v.copy(), s.z.copy()
        self.size = len(self.free)

    def place(self, y):
        """Move to the increment y and evaluate."""
        s, n = self.s, self.size
        s.q[:], s.v[:], s.z[:] = self.q, self.v, self.z
        turned = {}
        for k, c in enumerate(self.free):
            s.v[c.index] += y[n + k]
            if c.q is not None:
                s.q[c.position] += y[k]
            else:
                turned.setdefault(c.body, np.zeros(3))[c.body.coordinates.index(c)] = y[k]
        for body, w in turned.items():
            o = body.coordinates[0].position
            a, b, c, r = s.q[o:o + 4]
            w = 0.5 * w
            s.q[o:o + 4] += (r * w[0] - c * w[1] + b * w[2], c * w[0] + r * w[1] - a * w[2],
                             a * w[1] - b * w[0] + r * w[2], -(a * w[0] + b * w[1] + c * w[2]))
            s.q[o:o + 4] /= np.linalg.norm(s.q[o:o + 4])
        s.z[:] += y[2 * n:]
        if s.forward() != 0:
            raise MbsError(f"'{s.model.name}' has no finite motion near this state: choose another one")
        ix = [c.index for c in self.free]
        return np.concatenate([s.v[ix], s.vd[ix], s.zd])


def linearise(state) -> Linear:
    """Return the linear model around a state, by central differences (the state is left as it was)."""
    p = _Point(state)
    ny = 2 * p.size + len(state.z)
    a = np.empty((ny, ny))
    for j in range(ny):
        d, columns = np.zeros(ny), []
        step = 1e-5
        for k in (1, -1, 2, -2):
            d[j] = k * step
            columns.append(p.place(d))
        a[:, j] = (8.0 * (columns[0] - columns[1]) - (columns[2] - columns[3])) / (12.0 * step)
    columns, names = [], []
    m = state.model.mechanism
    moved = [(state.inp, i.index, i.name) for i in m.inputs.values()] + \
            [(state.vd, c.index, f'acceleration of {c.name}') for c in m.driven] + \
            [(state.tau, c.index, f'tau.{c.name}') for c in m.coordinates if not c.massless and c.driven < 0]
    for block, k, name in moved:
        keep, values = block[k], []
        for sign in (1.0, -1.0):
            block[k] = keep + sign
            values.append(p.place(np.zeros(ny)))
        block[k] = keep
        columns.append(0.5 * (values[0] - values[1]))
        names.append(name)
    p.place(np.zeros(ny))
    free = [c.name for c in p.free]
    b = np.column_stack(columns) if columns else np.zeros((ny, 0))
    return Linear(a, b, [f'q.{n}' for n in free] + [f'v.{n}' for n in free] + list(m.states), names)


def equilibrium(state, tolerance=1e-11):
    """Move a state to rest at the nearest equilibrium (rates zero, law states settled); return it."""
    state.v[[c.index for c in state.model.mechanism.coordinates if c.driven < 0]] = 0.0
    best = np.inf
    for _ in range(60):
        p = _Point(state)
        n, nz = p.size, len(state.z)
        f = p.place(np.zeros(2 * n + nz))[n:]
        size = np.abs(f).max(initial=0.0)
        if size < tolerance or (size >= best and size < 1e-8):
            return state
        best = min(best, size)
        jac = np.empty((n + nz, n + nz))
        where = [*range(n), *range(2 * n, 2 * n + nz)]
        for j, k in enumerate(where):
            d = np.zeros(2 * n + nz)
            d[k] = 1e-6
            plus = p.place(d)[n:]
            minus = p.place(-d)[n:]
            jac[:, j] = (plus - minus) / 2e-6
        step = np.linalg.lstsq(jac, -f, rcond=1e-12)[0]
        full = np.zeros(2 * n + nz)
        scale = min(1.0, 0.3 / max(np.abs(step[:n]).max(initial=0.0), 1e-300))
        while scale > 1e-4:
            full[where] = scale * step
            try:
                if np.abs(p.place(full)[n:]).max(initial=0.0) < size * (1 - 0.1 * scale):
                    break
            except MbsError:
                pass
            scale *= 0.5
        p.place(full)
    raise MbsError(f"no equilibrium of '{state.model.name}' was found near this state (largest acceleration {best:.3g}): "
                   'start nearer to one, or add a spring that holds the mechanism')


def modes(state) -> Modes:
    """Return the natural modes around a state (put it at an equilibrium first)."""
    lin = linearise(state)
    n = (lin.A.shape[0] - len(state.z)) // 2
    values, vectors = np.linalg.eig(lin.A)
    keep = [k for k in np.argsort(np.abs(values)) if values[k].imag >= 0]
    values, vectors = values[keep], vectors[:, keep]
    size = np.maximum(np.abs(values), 1e-300)
    return Modes(np.abs(values) / (2 * np.pi), -values.real / size, values, vectors[:n], [k[2:] for k in lin.names[:n]])
