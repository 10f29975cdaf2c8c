"""Forward dynamics of trees in O(n): articulated bodies (Featherstone), on top of the Newton-Euler bias.

The Newton-Euler sweep with the known accelerations only gives each body's bias wrench; what is left is linear in the
unknown accelerations, with the articulated inertia [[A, H], [H', M]] (moment and force for angular and linear
acceleration). Joints whose acceleration is known count as rigid here.
"""

from mbs_core.errors import MbsError
from mbs_core.formalism import newton_euler as ne
from mbs_core.formalism import vectors as ve
from mbs_core.formalism.linear import Singular, ldl
from mbs_core.symbolic.expr import is_zero


def forward_dynamics(tree, known, tau, gravity):
    """Return ({coordinate: vd}, {known coordinate: effort}).

    known: {coordinate: acceleration} of driven joints; tau: {coordinate: effort} on all joints.
    """
    wrench, gain, carried = ne.outward(tree, known, gravity), {}, {}
    for link in reversed(tree.links):
        body = link.body
        a, h, m = _rigid(tree.inertia[body])
        for a0, h0, m0 in carried.pop(body, ()):
            a, h, m = ve.symmetric_sum(a, a0), ve.matadd(h, h0), ve.symmetric_sum(m, m0)
        force, moment = wrench[body]
        free = [c for c in body.coordinates if c not in known]
        if free:
            a, h, m, force, moment, gain[body] = _release(link, a, h, m, force, moment, tau)
        up = link.parent.body
        if up.parent is None:
            continue
        if link.frame is not link.parent.frame:
            f = link.frame
            a, h, m = f.up_tensor(a), f.up_tensor(h, False), f.up_tensor(m)
            force, moment = f.up(force), f.up(moment)
        a, h = _shift(a, h, m, link.arm)
        carried.setdefault(up, []).append((a, h, m))
        f0, n0 = wrench[up]
        wrench[up] = ve.add(f0, force), ve.add(n0, ve.add(moment, ve.cross(link.arm, force)))
    return _outward(tree, known, gain)


def no_inertia(c) -> MbsError:
    """Return the refusal of a coordinate that moves nothing."""
    if c.body is None:
        return MbsError(f"coordinate '{c.name}' carries no body and no loop determines it: add the loop, or remove it")
    return MbsError(f"joint '{c.name}' of mechanism '{c.body.mechanism.name}' moves no inertia: give body '{c.body.name}' (or what "
                    'it carries) mass or inertia about that axis, or drive it')


def _rigid(inertia):
    mass, b, e = inertia
    i = ve.mirror(e[1][1] + e[2][2], e[0][0] + e[2][2], e[0][0] + e[1][1], -e[0][1], -e[0][2], -e[1][2])
    return i, ve.skew(b), ve.mirror(mass, mass, mass, 0.0, 0.0, 0.0)


def _release(link, a, h, m, force, moment, tau):
    """Take a joint's freedom out of the articulated inertia; return it with the gains for the outward sweep."""
    kind = link.body.joint.kind
    if kind == 'spherical':
        return _release_ball(link, a, h, m, force, moment, tau)
    c = link.body.coordinate
    axis = link.own_axis if kind == 'revolute' else link.axis
    if kind == 'revolute':
        ua, ul = ve.matvec(a, axis), ve.matvec(ve.transpose(h), axis)
        d, u = ve.dot(axis, ua), tau.get(c, 0.0) - ve.dot(axis, moment)
    else:
        ua, ul = ve.matvec(h, axis), ve.matvec(m, axis)
        d, u = ve.dot(axis, ul), tau.get(c, 0.0) - ve.dot(axis, force)
    if is_zero(d):
        raise no_inertia(c)
    inverse = 1.0 / d
    ka, kl = ve.scale(inverse, ua), ve.scale(inverse, ul)
    rate = inverse * u
    a = ve.mirror(*(a[i][j] - ua[i] * ka[j] for i, j in ve.SIX))
    h = tuple(tuple(h[i][j] - ua[i] * kl[j] for j in range(3)) for i in range(3))
    m = ve.mirror(*(m[i][j] - ul[i] * kl[j] for i, j in ve.SIX))
    along = ve.unit_axis(axis)
    if along:                                  # the released row is exactly zero
        k = along[0]
        if kind == 'revolute':
            a = tuple(tuple(0.0 if k in (i, j) else a[i][j] for j in range(3)) for i in range(3))
            h = tuple(tuple(0.0 if i == k else h[i][j] for j in range(3)) for i in range(3))
        else:
            m = tuple(tuple(0.0 if k in (i, j) else m[i][j] for j in range(3)) for i in range(3))
            h = tuple(tuple(0.0 if j == k else h[i][j] for j in range(3)) for i in range(3))
    moment = ve.add(moment, ve.scale(rate, ua))
    force = ve.add(force, ve.scale(rate, ul))
    if along:
        k, sign = along
        exact = sign * tau.get(c, 0.0)
        if kind == 'revolute':
            moment = tuple(exact if i == k else moment[i] for i in range(3))
        else:
            force = tuple(exact if i == k else force[i] for i in range(3))
    return a, h, m, force, moment, [(c, rate, ka, kl)]


def _release_ball(link, a, h, m, force, moment, tau):
    cs = link.body.coordinates
    u = [tau.get(c, 0.0) - n for c, n in zip(cs, moment)]
    try:
        solve = ldl([list(r) for r in a])
    except Singular as e:
        raise no_inertia(cs[e.index]) from None
    rates = solve(u)
    columns = ve.transpose([solve(list(col)) for col in ve.transpose(h)])     # A^-1 H
    m = ve.mirror(*(m[i][j] - sum(h[k][i] * columns[k][j] for k in range(3)) for i, j in ve.SIX))
    force = ve.add(force, ve.matvec(ve.transpose(h), tuple(rates)))
    moment = tuple(tau.get(c, 0.0) for c in cs)
    none = (ve.ZERO,) * 3
    gains = [(c, rates[i], tuple(float(i == j) for j in range(3)), columns[i]) for i, c in enumerate(cs)]
    return none, none, m, force, moment, gains


def _shift(a, h, m, arm):
    """Return A and H about a point from which the origin is at `arm`."""
    t = ve.skew(arm)
    moved = ve.matadd(h, ve.matmul(t, m))
    back = ve.transpose(moved)
    rows = ve.matmul(h, t)
    lift = ve.matmul(t, back)
    return ve.mirror(*(a[i][j] - rows[i][j] + lift[i][j] for i, j in ve.SIX)), moved


def _outward(tree, known, gain):
    """Return {coordinate: vd}: accelerations beyond the bias, from the ground outwards."""
    ground = tree.kinematics.m.ground
    motion, out = {ground: (ve.ZERO, ve.ZERO)}, dict(known)
    for link in tree.links:
        alpha, a = motion[link.parent.body]
        a = ve.add(a, ve.cross(alpha, link.arm))
        if link.frame is not link.parent.frame:
            alpha, a = link.frame.down(alpha), link.frame.down(a)
        kind = link.body.joint.kind
        for c, rate, ka, kl in gain.get(link.body, ()):
            out[c] = rate - (ve.dot(ka, alpha) + ve.dot(kl, a))
        if link.body in gain:
            if kind == 'revolute':
                alpha = ve.add(alpha, ve.scale(out[link.body.coordinate], link.own_axis))
            elif kind == 'prismatic':
                a = ve.add(a, ve.scale(out[link.body.coordinate], link.axis))
            else:
                alpha = ve.add(alpha, tuple(out[c] for c in link.body.coordinates))
        tree.note(alpha), tree.note(a)
        motion[link.body] = alpha, a
    return out
