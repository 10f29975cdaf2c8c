"""MuJoCo's version of a benchmark mechanism; its C functions are timed in a native loop on the same model.

Only what the task needs is called: for inverse dynamics kinematics, centres of mass, velocities and RNE, not the
whole of mj_inverse; for forward dynamics also the mass matrix, its factor and one solve. Loops are equality
constraints as stiff as MuJoCo allows, because its default softness changes accelerations visibly.
"""

import ctypes
import pathlib

import mujoco
import numpy as np

from mbs_haptics.bench import native
from mbs_haptics.bench.pinocchio_peer import Numbers

LIBRARY = ctypes.CDLL(str(next(pathlib.Path(mujoco.__file__).parent.glob('libmujoco.*'))))
_POSITION = ('mj_kinematics', 'mj_comPos')


class MujocoPeer:
    """The MuJoCo model of a mechanism of hinges and slides, with planar point loops."""

    def __init__(self, m, welded=(), springs=None, step=1e-3):
        self.m, self.value, self.springs = m, Numbers(m), springs or {}
        spec = mujoco.MjSpec()
        spec.option.gravity = self.value.array(m.gravity)
        spec.option.timestep = step
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        spec.option.tolerance, spec.option.iterations = 1e-12, 50
        spec.compiler.degree = False
        spec.compiler.balanceinertia = True
        parts, self.names = {m.ground: spec.worldbody}, []
        for body in m.bodies.values():
            if body.parent is not None:
                parts[body] = self._part(parts[body.parent], body)
                self.names.append(body.name)
        for loop in m.loops:
            if hasattr(loop, 'a'):
                self._equality(spec, parts, loop, loop.name in welded)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        addresses = [self.model.joint(n).qposadr[0] for n in self.names]
        ours = [body.coordinate.index for body in m.bodies.values() if body.parent is not None]
        self._v = np.empty(len(addresses), int)
        self._v[addresses] = ours

    def _part(self, parent, body):
        value = self.value
        part = parent.add_body(name=body.name, pos=value.array(body.mount.offset))
        kind = mujoco.mjtJoint.mjJNT_HINGE if body.joint.kind == 'revolute' else mujoco.mjtJoint.mjJNT_SLIDE
        rate, rest = self.springs.get(body.name, (0.0, 0.0))
        joint = part.add_joint(name=body.name, type=kind, axis=np.array(body.joint.axis, float), springref=rest)
        if rate:
            joint.stiffness = as_field(joint.stiffness, rate)
        xx, yy, zz, xy, xz, yz = value.array(body.inertia)
        if xx == yy == 0.0:                             # a planar body: MuJoCo wants a real one; this one moves alike
            xx = yy = 0.6 * zz
        part.explicitinertial = True
        part.mass, part.ipos = max(value.one(body.mass), 1e-9), value.array(body.com)
        part.fullinertia = [xx, yy, zz, xy, xz, yz]
        return part

    def _equality(self, spec, parts, loop, welded):
        # two sites, so that the points need not coincide at the reference pose
        names = []
        for side, point in zip('ab', (loop.a, loop.b)):
            names.append(f'{loop.name}.{side}')
            parts[point.body].add_site(name=names[-1], pos=self.value.array(point.offset),
                                       quat=self._upright(point.body) if welded else [1, 0, 0, 0])
        e = spec.add_equality(name=loop.name, type=mujoco.mjtEq.mjEQ_WELD if welded else mujoco.mjtEq.mjEQ_CONNECT,
                              objtype=mujoco.mjtObj.mjOBJ_SITE, name1=names[0], name2=names[1])
        e.solref = [0.002, 1.0]                         # the stiffest that is stable: two steps
        e.solimp = [0.9999, 0.9999, 0.001, 0.5, 2]
        if welded:
            e.data[10] = 1.0

    def _upright(self, body):
        """Return the turn about z that makes a site on the body upright at the start (a planar mechanism)."""
        angle = 0.0
        while body.parent is not None:
            if body.joint.kind == 'revolute':
                angle += self.m.positions[body.coordinate.position]
            body = body.parent
        return [np.cos(-angle / 2), 0, 0, np.sin(-angle / 2)]

    def set(self, q, v, a=None):
        """Take over a state given in our order."""
        self.data.qpos[:], self.data.qvel[:] = np.asarray(q)[self._v], np.asarray(v)[self._v]
        if a is not None:
            self.data.qacc[:] = np.asarray(a)[self._v]

    def ours(self, x):
        """Return one of MuJoCo's vectors in our order."""
        out = np.empty(len(x))
        out[self._v] = x
        return out

    def _pipe(self, *names):
        return native.pipeline([getattr(LIBRARY, n) for n in names], self.model._address, self.data._address)

    # -- timed calls -----------------------------------------------------------------------------
    def inverse(self):
        """Return run(n) of n inverse dynamics at the state and acceleration set."""
        self._out = np.zeros(self.model.nv)
        before = self._pipe(*_POSITION, 'mj_comVel')
        last = native.call4(LIBRARY.mj_rne, self.model._address, self.data._address, 1, self._out.ctypes.data)
        return _both(before, last)

    def mass(self):
        """Return run(n) of n mass matrices (composite bodies, MuJoCo's sparse form)."""
        return self._pipe(*_POSITION, 'mj_makeM')

    def forward(self):
        """Return run(n) of n forward dynamics of the tree: mass matrix, factor, bias, solve."""
        self._out = np.zeros(self.model.nv)
        before = self._pipe(*_POSITION, 'mj_makeM', 'mj_factorM', 'mj_comVel')
        bias = native.call4(LIBRARY.mj_rne, self.model._address, self.data._address, 0, self._out.ctypes.data)
        end = native.solve(LIBRARY.mj_solveM, self.model._address, self.data._address, self._out.ctypes.data,
                           self._out.ctypes.data, 1)
        return _both(before, bias, end)

    def closed(self):
        """Return run(n) of n forward dynamics with loops (mj_forward)."""
        return self._pipe('mj_forward')

    def simulate(self, q, v, steps) -> float:
        """Return the largest gap of the loops over a run of RK4 steps."""
        self.set(q, v)
        worst = 0.0
        pairs = [(self.data.site(f'{p.name}.a'), self.data.site(f'{p.name}.b')) for p in self.m.loops if hasattr(p, 'a')]
        for _ in range(steps):
            mujoco.mj_step(self.model, self.data)
            mujoco.mj_kinematics(self.model, self.data)
            worst = max(worst, max(np.abs(a.xpos - b.xpos).max() for a, b in pairs))
        return worst


def _both(*runs):
    """Return the runs one after the other, each n times: the same work as n rounds of them."""
    def run(n):
        for one in runs:
            one(n)
    return run


def as_field(old, value):
    """Return the value in the form of the field: MuJoCo 4 keeps polynomial stiffnesses, earlier versions one number."""
    if np.ndim(old) == 0:
        return value
    new = np.zeros(np.shape(old))
    new[0] = value
    return new
