"""An independent engine beside ours: Pinocchio models made from a mechanism's plain data, and what tests ask of them.

Nothing here calls our kinematics, loops or formalism. Bodies, joints, mounts and parameters are read as numbers
(`mbs_core.symbolic.evaluate`), the tree is rebuilt joint by joint, and closed loops are solved as one dense
system from Pinocchio's mass matrix, bias and frame Jacobians.
"""

import numpy as np
import pinocchio as pin

from mbs_core.symbolic import Expr, evaluate

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class Oracle:
    """A Pinocchio model of the tree of a mechanism, with q, v, tau in our order.

    `values` gives parameters by name in their declared unit; the others keep their defaults.
    """

    def __init__(self, mechanism, values=None):
        self.m = mechanism
        given = {name: p.default for name, p in mechanism.parameters.items()} | (values or {})
        self.values = {mechanism.graph.symbols[n]: x * mechanism.parameters[n].factor for n, x in given.items()}
        self.model = pin.Model()
        self.model.gravity.linear = self.numbers(mechanism.gravity)
        self.place = {mechanism.ground: (0, pin.SE3.Identity())}   # body -> (joint, body frame in the joint's)
        children = {}
        for body in mechanism.bodies.values():
            if body.parent is not None:
                children.setdefault(body.parent, []).append(body)
        self._q, self._v = [], []                                  # our index of every entry of theirs
        self._rest = 0.0                                           # potential of what is fixed to the ground
        todo = children.get(mechanism.ground, [])[::-1]
        while todo:                                                # depth first, or Pinocchio's CRBA is wrong
            body = todo.pop()
            self._add(body)
            todo += children.get(body, [])[::-1]
        self.data = self.model.createData()
        assert self.model.check(self.data)
        self.nq, self.nv = len(mechanism.positions), len(mechanism.coordinates)

    # -- building --------------------------------------------------------------------------------
    def number(self, x) -> float:
        """Return the value of a number or an expression of parameters."""
        return evaluate([x], self.values)[0] if isinstance(x, Expr) else float(x)

    def numbers(self, xs):
        """Return an array of values, of the shape of `xs`."""
        a = np.array(xs, dtype=object)
        return np.array([self.number(x) for x in a.ravel()]).reshape(a.shape)

    def _mount(self, point):
        joint, placement = self.place[point.body]
        return joint, placement * pin.SE3(self.numbers(point.rotation), self.numbers(point.offset))

    def _add(self, body):
        parent, placement = self._mount(body.mount)
        kind = body.joint.kind
        if kind == 'fixed':
            self.place[body] = (parent, placement)
        else:
            axis = np.array(body.joint.axis, float)
            joint = {'revolute': lambda: pin.JointModelRevoluteUnaligned(axis), 'spherical': pin.JointModelSpherical,
                     'prismatic': lambda: pin.JointModelPrismaticUnaligned(axis)}[kind]()
            self.place[body] = (self.model.addJoint(parent, joint, placement, body.name), pin.SE3.Identity())
            first = body.coordinates[0]
            self._q += [first.position + k for k in range(4 if kind == 'spherical' else 1)]
            self._v += [c.index for c in body.coordinates]
        xx, yy, zz, xy, xz, yz = self.numbers(body.inertia)
        inertia = pin.Inertia(self.number(body.mass), self.numbers(body.com),
                              np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        joint, placement = self.place[body]
        if joint:
            self.model.appendBodyToJoint(joint, inertia, placement)
        else:                                                      # Pinocchio forgets what is fixed to the ground
            self._rest -= inertia.mass * self.model.gravity.linear @ placement.act(inertia.lever)

    # -- order of coordinates --------------------------------------------------------------------
    def _in(self, q, *vectors):
        return [np.asarray(q, float)[self._q]] + [np.asarray(v, float)[self._v] for v in vectors]

    def _out(self, theirs):
        ours = np.zeros((self.nv,) + np.shape(theirs)[1:])
        ours[self._v] = theirs
        return ours

    # -- the tree --------------------------------------------------------------------------------
    def inverse(self, q, v, vd):
        """Return M vd + c."""
        return self._out(pin.rnea(self.model, self.data, *self._in(q, v, vd)))

    def mass(self, q):
        """Return the mass matrix (nv, nv)."""
        theirs = pin.crba(self.model, self.data, *self._in(q))
        ours = np.zeros((self.nv, self.nv))
        ours[np.ix_(self._v, self._v)] = np.triu(theirs) + np.triu(theirs, 1).T
        return ours

    def bias(self, q, v):
        """Return the effort that holds zero accelerations."""
        return self._out(pin.nonLinearEffects(self.model, self.data, *self._in(q, v)))

    def forward(self, q, v, tau):
        """Return the accelerations of the tree under the joint efforts `tau`."""
        return self._out(pin.aba(self.model, self.data, *self._in(q, v, tau)))

    def energy(self, q, v):
        """Return (kinetic, potential)."""
        q, v = self._in(q, v)
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q) + self._rest

    def reaction(self, body, q, v, vd):
        """Return the wrench (force, moment) a moving body's joint puts on it, about its origin, in ground axes."""
        self.update(q)
        pin.rnea(self.model, self.data, *self._in(q, v, vd))
        joint, _ = self.place[body]
        rotation = self.data.oMi[joint].rotation
        return np.concatenate([rotation @ self.data.f[joint].linear, rotation @ self.data.f[joint].angular])

    # -- points ----------------------------------------------------------------------------------
    def update(self, q, v=None, vd=None):
        """Compute what the point functions read."""
        q, v, vd = self._in(q, *(np.zeros(self.nv) if x is None else x for x in (v, vd)))
        pin.forwardKinematics(self.model, self.data, q, v, vd)
        pin.computeJointJacobians(self.model, self.data, q)

    def motion(self, point):
        """Return (position, rotation, velocity, angular velocity, acceleration, angular acceleration) in ground axes."""
        joint, local = self._mount(point)
        if joint == 0:
            return local.translation, local.rotation, *np.zeros((4, 3))
        frame = self.data.oMi[joint] * local
        v = pin.getVelocity(self.model, self.data, joint, WORLD)
        a = pin.getClassicalAcceleration(self.model, self.data, joint, WORLD)
        arm = frame.translation - self.data.oMi[joint].translation
        w, alpha = v.angular, a.angular
        return (frame.translation, frame.rotation, v.linear + np.cross(w, arm), w.copy(),
                a.linear + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)), alpha.copy())

    def jacobian(self, point):
        """Return the Jacobian (6, nv) of a point: velocity, angular velocity, in ground axes."""
        joint, local = self._mount(point)
        if joint == 0:
            return np.zeros((6, self.nv))
        j = pin.getJointJacobian(self.model, self.data, joint, WORLD).copy()
        arm = self.data.oMi[joint].rotation @ local.translation
        j[:3] -= pin.skew(arm) @ j[3:]
        return self._out(j.T).T

    # -- loops -----------------------------------------------------------------------------------
    def common(self, a, b):
        """Return the nearest body that carries both."""
        above = []
        while a is not None:
            above.append(a)
            a = a.parent
        while b not in above:
            b = b.parent
        return b

    def constraints(self, q, v):
        """Return (J, gamma, violation): J vd + gamma = 0 for the loops, and the largest position error in m or rad."""
        self.update(q, v)
        blocks = [self._loop(loop) for loop in self.m.loops]
        if not blocks:
            return np.zeros((0, self.nv)), np.zeros(0), 0.0
        return np.vstack([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks]), max(b[2] for b in blocks)

    def _loop(self, loop):
        pa, ra, va, wa, aa, la = self.motion(loop.a)
        pb, rb, vb, wb, ab, lb = self.motion(loop.b)
        ja, jb = self.jacobian(loop.a), self.jacobian(loop.b)
        g, gd, gdd = pa - pb, va - vb, aa - ab
        j = ja - jb
        kind = loop.kind.split()[0]
        if kind == 'rod':
            error = abs(np.linalg.norm(g) - self.number(loop.length))
            return (g @ j[:3])[None], np.array([g @ gdd + gd @ gd]), error
        if kind == 'point' and loop.size == 2:                     # seen from the common body, in its plane
            carrier = self.common(loop.a.body, loop.b.body).at()
            _, r, _, w, _, alpha = self.motion(carrier)
            jw = self.jacobian(carrier)[3:]
            rows = list(loop.components)
            j_rel = (r.T @ (j[:3] + pin.skew(g) @ jw))[rows]
            bias = gdd - 2 * np.cross(w, gd - np.cross(w, g)) - np.cross(alpha, g) - np.cross(w, np.cross(w, g))
            return j_rel, (r.T @ bias)[rows], np.abs((r.T @ g)[rows]).max()
        rows, gammas, errors = [j[:3]], [gdd], [np.abs(g).max()]
        if kind in ('revolute', 'solid'):
            axes = rb if kind == 'solid' else rb @ np.linalg.svd(np.array([loop.axis], float))[2][1:].T
            rows.append(axes.T @ j[3:])                            # no relative turning about these, fixed on b
            gammas.append(axes.T @ (la - lb) + np.array([np.cross(wb, e) @ (wa - wb) for e in axes.T]))
            turn = pin.log3(rb.T @ ra) if kind == 'solid' else axes.T @ (ra @ np.array(loop.axis, float))
            errors.append(np.abs(turn).max())
        elif kind != 'point':
            raise NotImplementedError(f"loop '{loop.name}' of kind {loop.kind}")
        return np.vstack(rows), np.concatenate(gammas), max(errors)

    def closed_forward(self, q, v, tau=None, driven=None):
        """Return (vd, effort of loops J' lambda, driven efforts) of the closed mechanism: one dense KKT system.

        `driven` maps coordinates' indices to their accelerations. Redundant equations are shared by least squares.
        """
        driven = driven or {}
        tau = np.zeros(self.nv) if tau is None else tau
        j, gamma, _ = self.constraints(q, v)
        e = np.zeros((len(driven), self.nv))
        e[range(len(driven)), list(driven)] = 1.0
        rows = np.vstack([j, e])
        mass, bias = self.mass(q), self.bias(q, v)
        k = np.block([[mass, -rows.T], [rows, np.zeros((len(rows),) * 2)]])
        right = np.concatenate([tau - bias, -gamma, list(driven.values())])
        scale = np.concatenate([np.full(self.nv, 1.0), np.full(len(rows), max(1e-12, np.abs(mass).max()))])
        x = np.linalg.lstsq(k * scale, right, rcond=1e-13)[0] * scale
        lam = x[self.nv:self.nv + len(j)]
        return x[:self.nv], j.T @ lam, x[self.nv + len(j):]


def agreement(ours, theirs):
    """Return the largest difference relative to the largest value of the oracle."""
    theirs = np.asarray(theirs, float)
    return float(np.abs(np.asarray(ours, float) - theirs).max(initial=0.0) / max(1e-12, np.abs(theirs).max(initial=0.0)))
