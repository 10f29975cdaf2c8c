"""Numeric assembly of closed mechanisms: find a pose that closes the loops, name what can't, sample the motion."""

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.formalism import partition as pt

SAMPLES = 240


class Assembler:
    """Loop equations as numbers: residual, Jacobian and moves on the configuration space."""

    def __init__(self, mechanism, equations, unit):
        self.m, self.eq, self.unit = mechanism, equations, unit
        self.n = len(mechanism.coordinates)
        self.balls = [b.coordinates for b in mechanism.bodies.values() if b.quaternion]
        self.x = unit.block()

    def evaluate(self, q):
        """Return (h, J) at a pose."""
        self.unit.view(self.x, 'q')[:] = q
        self.unit.call('loops', self.x)
        return self.unit.view(self.x, 'h').copy(), self.unit.view(self.x, 'J').reshape(-1, self.n).copy()

    def moved(self, q, d):
        """Return the pose q moved by d, one number per velocity coordinate."""
        q = q.copy()
        for c in self.m.coordinates:
            if c.q is not None:
                q[c.position] += d[c.index]
        for cs in self.balls:
            o = cs[0].position
            w, (a, b, c, s) = 0.5 * d[[k.index for k in cs]], q[o:o + 4]
            q[o:o + 4] += (s * w[0] - c * w[1] + b * w[2], c * w[0] + s * w[1] - a * w[2],
                           a * w[1] - b * w[0] + s * w[2], -(a * w[0] + b * w[1] + c * w[2]))
            q[o:o + 4] /= np.linalg.norm(q[o:o + 4])
        return q

    def close(self, q, held=(), tries=60):
        """Return a pose near q that closes the loops, moving `held` columns only if it must; None if there is none."""
        free = [c.index for c in self.m.coordinates if c.driven < 0]
        soft = [i for i in free if i not in held]
        for columns in ([soft, free] if len(soft) < len(free) else [free]):
            pose = q
            for _ in range(tries):
                h, j = self.evaluate(pose)
                if not np.all(np.isfinite(h)):
                    break
                if np.abs(h).max(initial=0.0) < 1e-13:
                    return self.unwound(pose, q)
                d = np.zeros(self.n)
                step = np.linalg.lstsq(j[:, columns], -h, rcond=1e-9)[0]
                step *= min(1.0, 0.5 / max(np.abs(step).max(initial=0.0), 1e-12))
                d[columns] = step
                now, size = np.abs(h).max(), 1.0
                while size > 1e-3:
                    there = self.moved(pose, size * d)
                    if np.abs(self.evaluate(there)[0]).max() < now * (1 - 0.1 * size) or now < 1e-10:
                        break
                    size *= 0.5
                pose = there
            h, _ = self.evaluate(pose)
            if np.all(np.isfinite(h)) and np.abs(h).max(initial=0.0) < 1e-11:
                return self.unwound(pose, q)
        return None

    def unwound(self, pose, near):
        """Return the pose with whole turns of hinges taken out, as near to `near` as the loops allow."""
        hinges = [c.position for c in self.m.coordinates if c.q is not None and c.body and c.body.joint.kind == 'revolute']
        turns = np.zeros(len(pose))
        turns[hinges] = 2 * np.pi * np.round((pose - near)[hinges] / (2 * np.pi))
        if not turns.any():
            return pose
        there = pose - turns
        return there if np.abs(self.evaluate(there)[0]).max(initial=0.0) < 1e-9 else pose

    def worst_loop(self, q):
        """Return (name, residual) of the loop that is furthest open at q."""
        h, _ = self.evaluate(q)
        k = int(np.argmax(np.abs(np.nan_to_num(h, nan=np.inf))))
        return self.eq.rows[k].loop.name, float(abs(h[k]))

    def best_effort(self, q):
        """Return the pose nearest to closing the loops (for the error message)."""
        free = [c.index for c in self.m.coordinates if c.driven < 0]
        for _ in range(40):
            h, j = self.evaluate(q)
            a = j[:, free]
            step = np.linalg.solve(a.T @ a + 1e-8 * np.eye(len(free)), -a.T @ h)
            d = np.zeros(self.n)
            d[free] = np.clip(step, -0.3, 0.3)
            q = self.moved(q, d)
        return q

    def walk(self, q, count, seed=0):
        """Return poses of a random walk over the closed mechanism's motion, `q` first."""
        rng, poses = np.random.default_rng(seed), [q]
        direction = rng.standard_normal(self.n)
        while len(poses) < count:
            pose = poses[-1] if len(poses) % 80 else q     # several walks, each from the start
            _, j = self.evaluate(pose)
            direction = 0.9 * direction + 0.4 * rng.standard_normal(self.n)
            tangent = direction - np.linalg.lstsq(j, j @ direction, rcond=1e-9)[0] if len(j) else direction
            size = np.linalg.norm(tangent)
            if size < 1e-9:
                direction = rng.standard_normal(self.n)
                poses.append(pose)
                continue
            there = self.close(self.moved(pose, tangent * (0.2 / size)), tries=12)
            if there is None or np.abs(there).max() > 1e3:
                direction = -direction
                there = poses[int(rng.integers(len(poses)))]
            poses.append(there)
        return poses


def assemble_start(assembler, held):
    """Return the start pose with closed loops, or say which loop can't be closed."""
    m = assembler.m
    start = np.array(m.positions, float)
    pose = assembler.close(start, held)
    if pose is None:
        for seed in range(12):                             # zero angles are often dead points: try near them
            d = 0.4 * np.random.default_rng(seed).standard_normal(assembler.n)
            d[[c.index for c in m.coordinates if c.driven >= 0 or c.index in held]] = 0.0
            pose = assembler.close(assembler.moved(start, d), held)
            if pose is not None:
                break
    if pose is None:
        there = assembler.best_effort(start)
        name, gap = assembler.worst_loop(there)
        freedom = assembler.n - np.linalg.matrix_rank(assembler.evaluate(there)[1], tol=1e-9)
        check_freedom(m, freedom)
        raise MbsError(f"mechanism '{m.name}' can't be assembled: the loop '{name}' stays open by {gap:.3g} "
                       '(m or rad); check its lengths, or give start values nearer to a closed pose')
    return pose


def check_freedom(m, free):
    """Refuse more driven coordinates than degrees of freedom."""
    if free < len(m.driven):
        raise MbsError(f"mechanism '{m.name}' has {max(free, 0)} degrees of freedom but {len(m.driven)} driven coordinates "
                       f"({', '.join(c.name for c in m.driven)}): drive fewer")


def choose_partitions(assembler, pose, held, wished, most):
    """Return (kept row indices, redundant row indices, [Choice, ...]) for the mechanism's motion around `pose`."""
    m, eq = assembler.m, assembler.eq
    poses = assembler.walk(pose, SAMPLES)
    jacobians = [assembler.evaluate(p)[1] for p in poses]
    kept, redundant = pt.independent_rows(jacobians[:1] + jacobians[1::8], eq.groups)
    place = {row: k for k, row in enumerate(kept)}
    groups = [[place[i] for i in g if i in place] for g in eq.groups]
    jacobians = [j[kept] for j in jacobians]
    scale = 1.0 / np.maximum(np.max([np.abs(j).max(axis=0) for j in jacobians], axis=0), 1e-12)
    forbidden = [c.index for c in m.driven]
    forced = [c.index for c in m.coordinates if c.massless]
    free = assembler.n - len(kept)
    check_freedom(m, free)
    if free == 0:
        raise MbsError(f"mechanism '{m.name}' can't move: its {len(kept)} loop equations hold all {assembler.n} coordinates; "
                       f"loosen one of the loops {', '.join(one.name for one in m.loops)}")
    first = None
    tries = [([*forbidden, *wished], held)] if wished and len(wished) + len(forbidden) <= free else []
    for never, shy in [*tries, (forbidden, [*wished, *held]), (forbidden, ())]:
        first = next((c for j in jacobians if (c := pt.choose(j, groups, scale, never, forced, shy))), None)
        if first is not None:
            break
    if first is None:
        loops = sorted({eq.rows[i].loop.name for i in kept})
        raise MbsError(f"mechanism '{m.name}': its loops ({', '.join(loops)}) can't be solved for any choice of coordinates; "
                       'check that the driven ones may move independently')
    choices = pt.cover(jacobians, groups, first, forbidden, forced, scale, most, wished)
    if not wished:
        choices = pt.elect(jacobians[::3], groups, choices, forbidden, forced, scale, most)
    return kept, redundant, choices
