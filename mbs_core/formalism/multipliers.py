"""The multiplier form with constraint stabilisation (003, E10): a second, independent road to the same motion.

    [M  -J'] [vd ]   [tau - c                         ]
    [J   0 ] [lam] = [-gamma - 2 alpha J v - alpha^2 h]

It uses the tree's mass matrix and bias and the loop equations, but neither partitions nor elimination: the loops are
held by R'' + 2 alpha R' + alpha^2 R = 0 instead of being solved.
"""

import numpy as np


def accelerations(state, alpha=0.0):
    """Return (vd, lambda) at a state; driven coordinates keep the acceleration in state.vd."""
    h, j, gamma = state.constraints()
    m, c = state.mass(), state.bias()
    n, r = len(c), len(h)
    driven = [k.index for k in state.model.mechanism.driven]
    free = [i for i in range(n) if i not in driven]
    given = np.zeros(n)
    given[driven] = state.vd[driven]
    right = -gamma - 2.0 * alpha * (j @ state.v) - alpha ** 2 * h - j @ given
    k = np.zeros((len(free) + r,) * 2)
    k[:len(free), :len(free)] = m[np.ix_(free, free)]
    k[:len(free), len(free):] = -j[:, free].T
    k[len(free):, :len(free)] = j[:, free]
    b = np.concatenate([(state.tau - c - m @ given)[free], right])
    solution = np.linalg.lstsq(k, b, rcond=None)[0]        # redundant loops: the least multipliers
    vd = given
    vd[free] = solution[:len(free)]
    return vd, solution[len(free):]


def integrate(state, seconds, alpha=100.0, rtol=1e-10, atol=1e-11, times=None):
    """Return (t, q, v) of the stabilised multiplier form, integrated with scipy; for mechanisms without ball joints."""
    from scipy.integrate import solve_ivp
    n = state.model.nv

    def rates(t, y):
        state.t = t
        state.q[:], state.v[:] = y[:n], y[n:]
        return np.concatenate([y[n:], accelerations(state, alpha)[0]])
    start = np.concatenate([state.q, state.v])
    result = solve_ivp(rates, (state.t, state.t + seconds), start, method='DOP853', rtol=rtol, atol=atol,
                       t_eval=None if times is None else np.asarray(times) + state.t)
    return result.t, result.y[:n].T, result.y[n:].T
