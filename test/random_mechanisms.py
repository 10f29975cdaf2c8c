"""Random mechanisms for tests: trees of every kind of joint, their states, and the closed ones tests share."""

import numpy as np

from mbs_core.description import Mechanism, fixed, free, prismatic, revolute, spherical

KINDS = ('revolute', 'prismatic', 'spherical', 'free', 'fixed')


def random_rotation(rng):
    """Return a random rotation matrix as tuples."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    q[:, 0] *= np.linalg.det(q)
    return tuple(map(tuple, q.tolist()))


def random_inertia(rng, mass):
    """Return the six numbers of a real body's inertia: that of a box, turned."""
    a, b, c = rng.uniform(0.05, 0.4, 3) ** 2
    r = np.array(random_rotation(rng))
    i = r @ np.diag([b + c, a + c, a + b]) @ r.T * mass / 12
    return tuple(float(x) for x in (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]))


def random_joint(rng, kind):
    """Return a joint of the kind; its axis is a coordinate axis half of the time."""
    if kind in ('revolute', 'prismatic'):
        make = revolute if kind == 'revolute' else prismatic
        if rng.random() < 0.5:
            return make(('x', 'y', 'z', '-x', '-y', '-z')[rng.integers(6)])
        return make(tuple(rng.normal(size=3)))
    return {'spherical': spherical, 'free': free, 'fixed': fixed}[kind]()


def random_tree(seed, bodies, kinds=KINDS, branching=0.3, planar_mounts=0.5):
    """Return a random tree: any joint types, offset and turned mounts, mass and lengths as parameters here and there."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f'tree{bodies}', gravity=tuple(rng.normal(size=3) * 6))
    last = [m.ground]
    for k in range(bodies):
        parent = last[-1] if rng.random() > branching else last[rng.integers(len(last))]
        offset = rng.uniform(-0.4, 0.4, 3)
        x = float(offset[0])
        if rng.random() < 0.2:
            x = m.parameter(f'length{k}', 1e3 * x, unit='mm', range=(-500, 500))
        rotation = None if rng.random() < planar_mounts else random_rotation(rng)
        mass = float(rng.uniform(0.2, 3.0))
        value = m.parameter(f'mass{k}', 1e3 * mass, unit='g', range=(0, 1e4)) if rng.random() < 0.2 else mass
        joint = random_joint(rng, kinds[rng.integers(len(kinds))] if k else kinds[0])
        last.append(m.body(f'b{k}', parent.at(x, *offset[1:], rotation=rotation), joint, mass=value,
                           com=tuple(rng.uniform(-0.2, 0.2, 3)), inertia=random_inertia(rng, mass)))
    return m


def chain(n, seed=1):
    """Return a chain of n revolute joints about alternating axes, its dimensions numbers."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f'chain{n}')
    last = m.ground
    for k in range(n):
        last = m.body(f'b{k}', last.at(0, 0, 0.2) if k else last, revolute('zyx'[k % 3]), mass=float(rng.uniform(0.5, 2)),
                      com=(0.0, 0.02, 0.1), inertia=tuple(rng.uniform(0.01, 0.015, 3)))
    return m


def random_positions(m, rng, spread=1.5):
    """Return a random q of the mechanism, quaternions normalised."""
    q = rng.uniform(-spread, spread, len(m.positions))
    for body in m.bodies.values():
        if body.joint.kind == 'spherical':
            first = body.coordinates[0].position
            quaternion = rng.normal(size=4)
            q[first:first + 4] = quaternion / np.linalg.norm(quaternion)
    return q


def four_bar(driven=False):
    """Return a four-bar linkage with crank 0.1, coupler 0.25, rocker 0.2, ground 0.22 m."""
    m = Mechanism('four_bar', gravity=(0, -9.81, 0))
    a = m.parameter('crank.length', 0.10, unit='m', range=(0.02, 0.5), doc='Crank, pivot to pivot')
    crank = m.body('crank', m.ground, revolute('z'), mass=0.5, com=(a / 2, 0, 0), inertia=0.002, initial=0.7)
    coupler = m.body('coupler', crank.at(a, 0, 0), revolute('z'), mass=0.8, com=(0.125, 0.02, 0), inertia=0.005,
                     initial=-0.1)
    rocker = m.body('rocker', m.ground.at(0.22, 0, 0), revolute('z'), mass=0.6, com=(0.1, 0, 0), inertia=0.003,
                    initial=1.4)
    m.close(coupler.at(0.25, 0, 0), rocker.at(0.2, 0, 0), plane='xy', name='closure')
    if driven:
        m.drive(crank)
        m.output('crank.effort', m.effort(crank), unit='N m')
    return m


def five_bar():
    """Return a five-bar linkage (two freedoms) hanging from two pivots."""
    m = Mechanism('five_bar', gravity=(0, -9.81, 0))
    parts = []
    for side, x, start in (('left', 0.0, (2.2, -1.0)), ('right', 0.12, (0.9, 1.0))):
        upper = m.body(f'{side}.upper', m.ground.at(x, 0, 0), revolute('z'), mass=0.3, com=(0.07, 0, 0), inertia=0.0006,
                       initial=start[0])
        parts.append(m.body(f'{side}.lower', upper.at(0.15, 0, 0), revolute('z'), mass=0.25, com=(0.1, 0, 0),
                            inertia=0.0009, initial=start[1]))
    m.close(parts[0].at(0.2, 0, 0), parts[1].at(0.2, 0, 0), plane='xy', name='tip')
    return m


def slider_crank():
    """Return a slider-crank: crank, rod, and a piston along x."""
    m = Mechanism('slider_crank', gravity=(0, -9.81, 0))
    crank = m.body('crank', m.ground, revolute('z'), mass=0.4, com=(0.02, 0, 0), inertia=0.001, initial=0.8)
    rod = m.body('rod', crank.at(0.06, 0, 0), revolute('z'), mass=0.3, com=(0.08, 0, 0), inertia=0.0008, initial=-1.0)
    piston = m.body('piston', m.ground, prismatic('x'), mass=0.7, initial=0.2)
    m.close(rod.at(0.2, 0, 0), piston.at(), plane='xy', name='wrist')
    return m


def rssr():
    """Return a spatial four-bar: two cranks about skew axes joined by a rod of fixed length."""
    m = Mechanism('rssr', gravity=(0, 0, -9.81))
    a = m.body('input', m.ground, revolute('z'), mass=0.5, com=(0.05, 0, 0.01), inertia=(0.001, 0.002, 0.002), initial=0.3)
    b = m.body('output', m.ground.at(0.3, 0.1, 0.2), revolute((0.2, 1.0, 0.1)), mass=0.7, com=(0.0, 0.02, 0.1),
               inertia=(0.003, 0.003, 0.001), initial=0.4)
    m.close(a.at(0.12, 0, 0), b.at(0, 0, 0.2), kind='rod', length=0.42, name='rod')
    return m


def wishbone():
    """Return the corner of a car: two wishbones, an upright on ball joints, a tie rod and a strut, on a heaving chassis."""
    m = Mechanism('wishbone', gravity=(0, 0, -9.81))
    chassis = m.body('chassis', m.ground, prismatic('z'), mass=250.0, initial=0.4)
    lower = m.body('lower', chassis.at(0, 0.35, -0.15), revolute('x'), mass=4.0, com=(0, 0.17, 0),
                   inertia=(0.05, 0.02, 0.06), initial=0.05)
    upper = m.body('upper', chassis.at(0, 0.45, 0.12), revolute((1.0, 0.1, 0.0)), mass=1.5, com=(0, 0.11, 0),
                   inertia=(0.01, 0.004, 0.01), initial=0.02)
    upright = m.body('upright', lower.at(0, 0.35, 0), spherical(), mass=11.0, com=(0, 0.05, 0.13),
                     inertia=(0.12, 0.1, 0.08, 0.001, 0.002, -0.003))
    m.body('wheel', upright.at(0, 0.08, 0.13), revolute('y'), mass=15.0, inertia=(0.4, 0.8, 0.4), rate=20.0)
    m.close(upright.at(-0.02, 0.0, 0.27), upper.at(0, 0.25, 0), name='upper.ball')
    m.close(upright.at(-0.12, -0.02, 0.1), chassis.at(-0.15, 0.42, -0.02), length=0.29, name='tie')
    return m


def ring(kind):
    """Return a spatial closed chain of seven joints, closed on the ground by a 'revolute' or a 'solid' loop."""
    m = Mechanism(f'ring_{kind}', gravity=(1.0, -2.0, -9.0))
    rng = np.random.default_rng(11)
    last, count = m.ground, 8 if kind == 'solid' else 7
    for k in range(count):
        mass = float(rng.uniform(0.5, 1.5))
        last = m.body(f'r{k}', last.at(*rng.uniform(-0.2, 0.3, 3)), revolute(tuple(rng.normal(size=3))), mass=mass,
                      com=tuple(rng.uniform(-0.1, 0.1, 3)), inertia=random_inertia(rng, mass))
    end = free_end(m, last)
    m.close(last.at(0.1, 0.0, 0.05), m.ground.at(*end[0], rotation=end[1]), kind=kind, axis='z', name='ring')
    return m


def free_end(m, last):
    """Return the place and orientation of the point (0.1, 0, 0.05) of the last body at q = 0."""
    from oracles import Oracle
    o = Oracle(m)
    o.update(np.zeros(o.nq))
    place, rotation, *_ = o.motion(last.at(0.1, 0.0, 0.05))
    return tuple(map(float, place)), tuple(map(tuple, rotation.tolist()))


def random_closed(seed, bodies=5, kinds=('revolute', 'prismatic', 'spherical', 'revolute'), closures=('point', 'rod')):
    """Return a random tree with random loops that are closed at its start pose, and that pose.

    The places of the loops' points are taken from the oracle, so nothing of the engine under test is used.
    """
    from oracles import Oracle
    rng = np.random.default_rng(seed)
    m = random_tree(seed, bodies, kinds=kinds, branching=0.0)       # one chain: every loop has joints enough to move
    q = random_positions(m, rng, 1.0)
    m.positions[:] = q.tolist()
    o = Oracle(m)
    o.update(q)
    names = [n for n in m.bodies if n != 'ground']
    for k, kind in enumerate(closures):
        a = m[names[-1 - k % 3]]
        b = m.bodies[('ground', names[0])[rng.integers(2)]]
        here = a.at(*rng.uniform(-0.2, 0.2, 3), rotation=random_rotation(rng))
        place, rotation, *_ = o.motion(here)
        if kind == 'rod':
            there = b.at(*rng.uniform(-0.3, 0.3, 3))
            m.close(here, there, length=float(np.linalg.norm(place - o.motion(there)[0])), name=f'{kind}{k}')
            continue
        origin, turn, *_ = o.motion(b.at())
        there = b.at(*(turn.T @ (place - origin)).tolist(), rotation=tuple(map(tuple, (turn.T @ rotation).tolist())))
        m.close(here, there, kind=kind, axis=tuple(rng.normal(size=3)), name=f'{kind}{k}')
    return m, q
