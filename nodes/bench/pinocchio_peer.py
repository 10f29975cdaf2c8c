"""Pinocchio's version of a benchmark mechanism, and how its calls are timed fairly.

Inverse and forward dynamics are timed inside Pinocchio's own batch loops (`rneaInParallel`, `abaInParallel` on one
thread): no Python between the calls. `crba` and `constraintDynamics` have no such loop; from the time of their Python
call the time of the same call on a model of one joint is taken off, which pays for the interpreter and the
binding and leaves out a little of the real work, in Pinocchio's favour.
"""

import numpy as np
import pinocchio as pin

from mbs_core.symbolic import Expr, evaluate

_ALIGNED = {('revolute', 0): pin.JointModelRX, ('revolute', 1): pin.JointModelRY, ('revolute', 2): pin.JointModelRZ,
            ('prismatic', 0): pin.JointModelPX, ('prismatic', 1): pin.JointModelPY, ('prismatic', 2): pin.JointModelPZ}
BATCH = 256


class Numbers:
    """The numbers of a mechanism at its parameters' defaults."""

    def __init__(self, m):
        self.values = {m.graph.symbols[n]: p.default * p.factor for n, p in m.parameters.items()}

    def one(self, x) -> float:
        """Return the value of a number or expression."""
        return evaluate([x], self.values)[0] if isinstance(x, Expr) else float(x)

    def array(self, xs):
        """Return an array of values."""
        a = np.array(xs, dtype=object)
        return np.array([self.one(x) for x in a.ravel()]).reshape(a.shape)


class PinocchioPeer:
    """The Pinocchio model of a mechanism of hinges and slides along coordinate axes, with planar point loops."""

    def __init__(self, m, welded=(), springs=None):
        self.m, value = m, Numbers(m)
        self.model = pin.Model()
        self.model.gravity.linear = value.array(m.gravity)
        self.joint, self._v = {m.ground: 0}, []
        children = {}
        for body in m.bodies.values():
            if body.parent is not None:
                children.setdefault(body.parent, []).append(body)
        todo = children.get(m.ground, [])[::-1]
        while todo:                                     # depth first: Pinocchio's CRBA relies on it
            body = todo.pop()
            k = int(np.argmax(np.abs(body.joint.axis)))
            mount = pin.SE3(value.array(body.mount.rotation), value.array(body.mount.offset))
            joint = self.model.addJoint(self.joint[body.parent], _ALIGNED[body.joint.kind, k](), mount, body.name)
            xx, yy, zz, xy, xz, yz = value.array(body.inertia)
            self.model.appendBodyToJoint(joint, pin.Inertia(value.one(body.mass), value.array(body.com), np.array(
                [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])), pin.SE3.Identity())
            self.joint[body] = joint
            self._v.append(body.coordinate.index)
            todo += children.get(body, [])[::-1]
        self.springs = [(self.model.joints[self.model.getJointId(n)].idx_v, *k) for n, k in (springs or {}).items()]
        self.data = self.model.createData()
        if not self.model.check(self.data):
            raise AssertionError('the Pinocchio model is inconsistent')
        self.loops = [self._loop(loop, value, loop.name in welded) for loop in m.loops if hasattr(loop, 'a')]

    def _loop(self, loop, value, welded):
        places = [pin.SE3(np.eye(3), value.array(p.offset)) for p in (loop.a, loop.b)]
        if welded:                                      # the angle is kept as it is at the start
            pin.forwardKinematics(self.model, self.data, self.order(np.array(self.m.positions)))
            turn = [self.data.oMi[self.joint[p.body]].rotation for p in (loop.a, loop.b)]
            places[0] = pin.SE3(turn[0].T @ turn[1], places[0].translation)
        kind = pin.ContactType.CONTACT_6D if welded else pin.ContactType.CONTACT_3D
        c = pin.RigidConstraintModel(kind, self.model, self.joint[loop.a.body], places[0], self.joint[loop.b.body], places[1],
                                     pin.ReferenceFrame.LOCAL)
        return c

    def order(self, ours):
        """Return a vector of ours in Pinocchio's order."""
        return np.asarray(ours, float)[self._v]

    # -- trees -----------------------------------------------------------------------------------
    def _batch(self, q, v, x):
        return [np.asfortranarray(np.tile(self.order(y)[:, None], BATCH)) for y in (q, v, x)]

    def inverse(self, q, v, a):
        """Return run(n) of at least n inverse dynamics in Pinocchio's native loop."""
        pool, arrays, out = pin.ModelPool(self.model, 1), self._batch(q, v, a), np.zeros((self.model.nv, BATCH), order='F')
        return _batched(lambda: pin.rneaInParallel(1, pool, *arrays, out))

    def forward(self, q, v, tau):
        """Return run(n) of at least n forward dynamics in Pinocchio's native loop."""
        pool, arrays, out = pin.ModelPool(self.model, 1), self._batch(q, v, tau), np.zeros((self.model.nv, BATCH), order='F')
        return _batched(lambda: pin.abaInParallel(1, pool, *arrays, out))

    def mass(self, q, world=False):
        """Return run(n) of n Python calls of crba, in local or world axes; take `empty_mass` off."""
        model, data, q, crba = self.model, self.data, self.order(q), pin.crba
        convention = pin.Convention.WORLD if world else pin.Convention.LOCAL

        def run(n):
            for _ in range(n):
                crba(model, data, q, convention)
        return run

    # -- one result each, in our order -------------------------------------------------------------
    def _ours(self, theirs):
        out = np.empty(len(theirs))
        out[self._v] = theirs
        return out

    def inverse_once(self, q, v, a):
        """Return M a + c."""
        return self._ours(pin.rnea(self.model, self.data, *map(self.order, (q, v, a))))

    def forward_once(self, q, v, tau):
        """Return the accelerations of the tree."""
        return self._ours(pin.aba(self.model, self.data, *map(self.order, (q, v, tau))))

    def mass_once(self, q):
        """Return the mass matrix."""
        theirs, out = pin.crba(self.model, self.data, self.order(q)), np.zeros((self.model.nv,) * 2)
        out[np.ix_(self._v, self._v)] = np.triu(theirs) + np.triu(theirs, 1).T
        return out

    def closed(self, q, v):
        """Return run(n) of n Python calls of constraintDynamics; take `empty_closed` off."""
        q = self.order(q)
        return _constrained(self.model, self.data, q, self.order(v), self.effort(q), self.loops)

    def effort(self, q):
        """Return the efforts of the joint springs, in Pinocchio's order."""
        tau = np.zeros(self.model.nv)
        for k, rate, rest in self.springs:
            tau[k] -= rate * (q[k] - rest)
        return tau

    # -- loops -----------------------------------------------------------------------------------
    def stabilise(self, gain):
        """Set the constraint stabilisation R'' + 2 gain R' + gain^2 R = 0 of all loops."""
        for c in self.loops:
            c.m_baumgarte_parameters.Kp, c.m_baumgarte_parameters.Kd = gain ** 2, 2 * gain

    def acceleration(self, q, v, constraints=None):
        """Return the accelerations of the closed mechanism, all in Pinocchio's order."""
        if constraints is None:
            constraints = _prepared(self.model, self.data, self.loops)
        return pin.constraintDynamics(self.model, self.data, q, v, self.effort(q), *constraints).copy()

    def gap(self, q) -> float:
        """Return the largest distance of two points that should coincide."""
        pin.forwardKinematics(self.model, self.data, q)
        return max(np.abs((self.data.oMi[c.joint1_id] * c.joint1_placement).translation
                          - (self.data.oMi[c.joint2_id] * c.joint2_placement).translation).max() for c in self.loops)

    def simulate(self, q, v, h, steps) -> float:
        """Return the largest gap of the loops over a run of classical RK4 steps with constraint stabilisation."""
        q, v, worst = self.order(q), self.order(v), 0.0
        constraints = _prepared(self.model, self.data, self.loops)
        for _ in range(steps):
            a1 = self.acceleration(q, v, constraints)
            v2 = v + h / 2 * a1
            a2 = self.acceleration(q + h / 2 * v, v2, constraints)
            v3 = v + h / 2 * a2
            a3 = self.acceleration(q + h / 2 * v2, v3, constraints)
            v4 = v + h * a3
            a4 = self.acceleration(q + h * v3, v4, constraints)
            q = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            worst = max(worst, self.gap(q))
        return worst


def _prepared(model, data, loops):
    models = pin.StdVec_RigidConstraintModel()
    models.extend(loops)
    datas = pin.StdVec_RigidConstraintData()
    datas.extend([c.createData() for c in loops])
    pin.initConstraintDynamics(model, data, models, datas)
    # plane loops in space hold equations that say nothing: the proximal term makes the system regular
    return models, datas, pin.ProximalSettings(1e-12, 1e-10, 5)


def _constrained(model, data, q, v, tau, loops):
    constraints, dynamics = _prepared(model, data, loops), pin.constraintDynamics

    def run(n):
        for _ in range(n):
            dynamics(model, data, q, v, tau, *constraints)
    return run


def _batched(action):
    def run(n):
        for _ in range(-(-n // BATCH)):
            action()
    run.batch = BATCH
    return run


def _single():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), 'one')
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model, model.createData()


def empty_mass():
    """Return run(n) of crba on one joint: the cost of calling it."""
    model, data = _single()
    q, crba, convention = np.zeros(1), pin.crba, pin.Convention.LOCAL

    def run(n):
        for _ in range(n):
            crba(model, data, q, convention)
    return run


def empty_closed():
    """Return run(n) of constraintDynamics on one joint without loops: the cost of calling it."""
    model, data = _single()
    return _constrained(model, data, np.zeros(1), np.zeros(1), np.zeros(1), [])
