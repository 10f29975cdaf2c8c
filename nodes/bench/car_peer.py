"""The whole car in MuJoCo: the bodies, joints, loops, struts and bars of our model, for one tick of both in the same run.

The same: masses, inertias, hard points, three loop equations per wishbone and one per tie rod (a tendon kept at its length), springs,
dampers, anti-roll bars, the tyres' vertical springs. Not the same, all in MuJoCo's favour: its tyres have no slip forces (an actuator
per wheel pushes up, nothing else), and it has no bump stops, powertrain, air, column or outputs; its rack is held by one equation.
"""

import mujoco
import numpy as np

from mbs_core.mechanisms.car import CORNERS, car
from mbs_core.runtime import compile_model
from mbs_core.symbolic import evaluate
from mbs_core.vehicles.data import Car, Hardpoints
from mbs_core.vehicles.suspension import strut_of
from mbs_haptics.bench import timing
from mbs_haptics.bench.mujoco_peer import LIBRARY, as_field
from mbs_haptics.bench.native import pipeline
from mbs_haptics.bench.pinocchio_peer import Numbers

TICK, SUBSTEPS = 1e-3, 2                # as config/steering_wheel.yaml
RESTART = 200                           # ticks after which a timed run begins again
LIFTED, ROLLING = 0.01, 0.2             # m, rad/s of the body at the start: every spring moves
WAYS = {'mujoco': mujoco.mjtIntegrator.mjINT_RK4, 'mujoco_implicitfast': mujoco.mjtIntegrator.mjINT_IMPLICITFAST}


class CarPeer:
    """The MuJoCo model of our car with wishbones, its steering wheel held straight ahead."""

    def __init__(self, m, integrator=mujoco.mjtIntegrator.mjINT_RK4):
        self.m, self.value = m, Numbers(m)
        spec = self.spec = mujoco.MjSpec()
        spec.option.gravity, spec.option.timestep, spec.option.integrator = self.value.array(m.gravity), TICK / SUBSTEPS, integrator
        spec.option.tolerance, spec.option.iterations = 1e-12, 50
        spec.compiler.degree, spec.compiler.balanceinertia = False, True
        self.parts, self.joints = {}, []
        joints = []
        for body in m.bodies.values():
            if body.parent is None or body.name.startswith('chassis.'):
                continue
            if body.name != 'chassis' and body.name != 'steering_wheel':
                joints.append(body)
            if self.value.one(body.mass) > 0.0:         # the upright's three hinges are one chain on one body
                self._part(body, joints)
                joints = []
        for loop in m.loops:
            self._close(loop)
        self._ride()
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def _part(self, body, joints):
        value, first = self.value, joints[0] if joints else body
        parent = self.spec.worldbody if body.name == 'chassis' else self.parts[first.parent]
        part = self.parts[body] = parent.add_body(name=body.name, pos=value.array(first.mount.offset) if body.name != 'chassis' else [0, 0, 0])
        if body.name == 'chassis':
            part.add_freejoint(name='chassis')
        for one in joints:
            kind = mujoco.mjtJoint.mjJNT_SLIDE if one.joint.kind == 'prismatic' else mujoco.mjtJoint.mjJNT_HINGE
            part.add_joint(name=one.name, type=kind, axis=np.array(one.joint.axis, float))
            self.joints.append(one)
        part.explicitinertial = True
        inertia = value.array(body.inertia)
        inertia[:3] = np.where(inertia[:3] > 0.0, inertia[:3], inertia[:3].max())       # the steering wheel's other two
        part.mass, part.ipos, part.fullinertia = value.one(body.mass), value.array(body.com), inertia

    def _site(self, name, body, place):
        self.parts[body].add_site(name=name, pos=self.value.array(place))
        return name

    def _equality(self, name, kind, **what):
        e = self.spec.add_equality(name=name, type=kind, **what)
        e.solref = [2.0 * TICK / SUBSTEPS, 1.0]         # the stiffest that MuJoCo allows: two steps
        e.solimp = [0.9999, 0.9999, 0.001, 0.5, 2]
        return e

    def _close(self, loop):
        """Add a wishbone's ball joint, a tie rod, or the rack that the driver holds."""
        if loop.kind == 'formula':
            self._equality(loop.name, mujoco.mjtEq.mjEQ_JOINT, name1='rack', objtype=mujoco.mjtObj.mjOBJ_JOINT).data[:5] = 0.0
            return
        names = [self._site(f'{loop.name}.{side}', p.body, p.offset) for side, p in zip('ab', (loop.a, loop.b))]
        if loop.kind == 'point':
            self._equality(loop.name, mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=names[0], name2=names[1])
            return
        self._tendon(loop.name, names)
        self._equality(loop.name, mujoco.mjtEq.mjEQ_TENDON, name1=loop.name, objtype=mujoco.mjtObj.mjOBJ_TENDON).data[:5] = 0.0

    def _tendon(self, name, sites):
        t = self.spec.add_tendon(name=name)
        for site in sites:
            t.wrap_site(site)
        return t

    def _ride(self):
        """Add struts, anti-roll bars and the vertical springs of the tyres."""
        m, numbers = self.m, Car()
        self.spec.worldbody.add_site(name='road')
        for axle in numbers.axles():
            rate = self._at_one_radian(next(e for name, c, e in m.efforts if name == f'{axle.name}.bar'), f'{axle.name}.right.arm')
            bar = self.spec.add_tendon(name=f'{axle.name}.bar', springlength=[0.0, 0.0])
            bar.stiffness = as_field(bar.stiffness, rate)
            for side, word in ((1.0, 'left'), (-1.0, 'right')):
                name = f'{axle.name}.{word}'
                bar.wrap_joint(f'{name}.arm', side)
                lift = self._at_one_radian(m.outputs[f'{name}.travel'][0], f'{name}.arm')
                s = strut_of(axle, side, lift, Hardpoints(), numbers)
                strut = self._tendon(f'{name}.strut', [self._site(f'{name}.head', m.bodies['chassis'], s.head),
                                                       self._site(f'{name}.foot', m.bodies[f'{name}.arm'], s.foot)])
                strut.stiffness = as_field(strut.stiffness, axle.spring / s.ratio ** 2)
                strut.damping = as_field(strut.damping, axle.damping / s.ratio ** 2)
                strut.springlength = [s.length + s.share * s.ratio / axle.spring] * 2
                self._tyre(name, numbers)

    def _at_one_radian(self, expression, joint) -> float:
        """Return an expression with one joint at 1 rad and all others at zero."""
        places = {c.q: float(c.name == joint) for c in self.m.coordinates if c.q is not None}
        return evaluate([expression], self.value.values | places)[0]

    def _tyre(self, name, numbers):
        hub = self._site(f'{name}.hub', self.m.bodies[f'{name}.upright'], self.m.bodies[f'{name}.wheel'].mount.offset)
        a = self.spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_SITE, target=hub, refsite='road',
                                   gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
                                   forcelimited=True, forcerange=[0.0, 1e6], gear=[0, 0, 1, 0, 0, 0])
        a.gainprm[0] = 0.0
        a.biasprm[:3] = numbers.tyre_rate * numbers.radius, -numbers.tyre_rate, -numbers.tyre_damping

    def set(self, q, v):
        """Take over a state of ours."""
        d = self.data
        mujoco.mj_resetData(self.model, d)
        d.qpos[:7], d.qvel[:6] = np.r_[q[:3], q[6], q[3:6]], v[:6]
        for body in self.joints:
            joint, c = d.joint(body.name), body.coordinate
            joint.qpos[0], joint.qvel[0] = q[c.position], v[c.index]

    def gap(self) -> float:
        """Return how far the loops are open now, m."""
        d = self.data
        mujoco.mj_kinematics(self.model, d)
        mujoco.mj_comPos(self.model, d)
        mujoco.mj_tendon(self.model, d)
        gaps = [d.joint('rack').qpos[0]]
        for loop in self.m.loops:
            if loop.kind == 'point':
                gaps += list(d.site(f'{loop.name}.a').xpos - d.site(f'{loop.name}.b').xpos)
            elif loop.kind == 'rod':
                gaps.append(d.tendon(loop.name).length[0] - self.value.one(loop.length))
        return float(np.abs(gaps).max())

    def loads(self) -> list:
        """Return the load of every tyre, N."""
        mujoco.mj_forward(self.model, self.data)
        return [float(self.data.actuator(name).force[0]) for name in CORNERS]

    def ticks(self, q, v):
        """Return run(n): n ticks in a native loop, from the given state again after every RESTART."""
        step = pipeline([LIBRARY.mj_step] * SUBSTEPS, self.model._address, self.data._address)
        self.set(q, v)
        d = self.data
        first = d.qpos.copy(), d.qvel.copy()

        def begin():
            d.qpos[:], d.qvel[:] = first
        return _restarting(begin, step)


def _restarting(begin, advance):
    def run(n):
        while n > 0:
            begin()
            advance(min(n, RESTART))
            n -= RESTART
    return run


def start(model):
    """Return a state of our car at 75 km/h whose body is a little too high and rolling."""
    s = model.state()
    s.assemble()
    names = model.coordinates
    s.q[model.mechanism.coordinate_of('chassis.z').position] += LIFTED
    s.v[names.index('chassis.wx')] = ROLLING
    s.forward()
    return s


def difference(s, peer) -> float:
    """Return how far the accelerations of the lower arms are from MuJoCo's in the same state, relative."""
    peer.set(s.q, s.v)
    mujoco.mj_forward(peer.model, peer.data)
    mine = np.array([s.vd[s.model.coordinates.index(f'{name}.arm')] for name in CORNERS])
    theirs = np.array([peer.data.joint(f'{name}.arm').qacc[0] for name in CORNERS])
    return float(np.abs(mine - theirs).max() / np.abs(theirs).max())


def our_gap(s) -> float:
    """Return how far our loops are open, m: a rod's equation is its length times its gap."""
    scale = [1.0 / Numbers(loop.m).one(loop.length) if loop.kind == 'rod' else 1.0 for loop in s.model.mechanism.loops for _ in range(loop.size)]
    return float(np.abs(s.constraints()[0] * scale).max())


def measure(figures, rounds, say, quick=False):
    """Add the figures of one tick of the car: ours and MuJoCo's, from the same start in the same run."""
    say('the whole car')
    model = compile_model(car())
    s = start(model)
    begin, q, v = s.x.copy(), s.q.copy(), s.v.copy()
    peers = {name: CarPeer(model.mechanism, way) for name, way in WAYS.items()}
    runs = {'ours': _restarting(lambda: s.x.__setitem__(slice(None), begin), lambda n: s.run(n, TICK, 'rk4', SUBSTEPS))}
    runs |= {name: peer.ticks(q, v) for name, peer in peers.items()}
    t = timing.interleaved(runs, rounds, 1e-2)
    s.x[:] = begin
    gaps = dict.fromkeys(runs, 0.0)
    for peer in peers.values():
        peer.set(q, v)
    figures.add('constrained.car.difference', difference(s, peers['mujoco']), '1', '<0.01',
                "accelerations of the wishbones at the start against MuJoCo's, relative: tyre slip and engine are left out there")
    ticks = 50 if quick else 2000
    for _ in range(ticks):
        s.run(1, TICK, 'rk4', SUBSTEPS)
        gaps['ours'] = max(gaps['ours'], our_gap(s))
        for name, peer in peers.items():
            mujoco.mj_step(peer.model, peer.data, SUBSTEPS)
            gaps[name] = max(gaps[name], peer.gap())
    _add(figures, t, gaps, ticks)


def _add(figures, t, gaps, ticks):
    notes = {'ours': f'a 1 ms tick at 75 km/h, {SUBSTEPS} RK4 sub-steps, PAC2002 tyres, powertrain and steering wheel included',
             'mujoco': f'{SUBSTEPS} mj_step with RK4 in a native loop: same car, same sub-steps, but tyres that only carry',
             'mujoco_implicitfast': f'{SUBSTEPS} mj_step with implicitfast: one evaluation a sub-step where RK4 has four'}
    for name, note in notes.items():
        figures.add(f'constrained.car.{name}_ns', 1e9 * t[name], 'ns', note=note)
        figures.add(f'constrained.car.{name}_loop_error', gaps[name], 'm', note=f'largest gap in {ticks} ticks')
    for name in WAYS:
        figures.add(f'constrained.car.ratio_{name}', t[name] / t['ours'], 'x', note='time of a tick, MuJoCo / ours')
    best = min(WAYS, key=gaps.get)
    figures.add('constrained.car.loop_error_ratio', gaps[best] / max(gaps['ours'], 1e-17), 'x', note=f'the better of the two, {best} / ours')
