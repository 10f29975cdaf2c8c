"""Forces of all laws as joint efforts and as wrenches on bodies.

What acts between two bodies touches only the joints between them and becomes joint efforts at once; what acts from
the ground becomes a wrench on its body and is carried down by the Newton-Euler recursion.
"""

from mbs_core.description.loops import formula_coordinates
from mbs_core.errors import MbsError
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import Expr, diff


def generalized_forces(m, applied=True):
    """Return (efforts {coordinate: Q}, wrenches {body: (force, moment)} in its computing frame).

    With `applied`, the free efforts `tau` (one symbol per coordinate, array 'tau') are included.
    """
    efforts, wrenches = {}, {}
    for c in m.coordinates:
        if applied and not c.massless:
            efforts[c] = m._late(f'tau.{c.name}', 'tau', c.index)
    for _, c, value in m.efforts:
        efforts[c] = efforts.get(c, 0.0) + value
    for _, force, displacement in m.works:
        if not isinstance(displacement, Expr):
            continue
        rate = m.rate(displacement)
        for c in formula_coordinates(m, displacement):
            efforts[c] = efforts.get(c, 0.0) + force * diff(rate, c.v)
    for wrench in m.wrenches:
        _, point, _, _, on, _ = wrench
        if m.kinematics.common(point.body, on) is m.ground and on is m.ground:
            _add_wrench(wrenches, *body_wrench(m, wrench))
        else:
            for c, value in between(m, wrench):
                efforts[c] = efforts.get(c, 0.0) + value
    return {c: e for c, e in efforts.items() if not ve.is_number(e, 0.0)}, wrenches


def _add_wrench(wrenches, body, force, moment):
    f, n = wrenches.get(body, (ve.ZERO, ve.ZERO))
    wrenches[body] = ve.add(f, force), ve.add(n, moment)


def _into(m, vector, frame_body, target_frame):
    """Return a vector of a body's axes in a computing frame."""
    kin = m.kinematics
    link = kin.link(frame_body)
    vector = ve.matvec(link.attitude, vector)
    up, down = link.frame, target_frame
    above = set()
    while up is not None:
        above.add(up)
        up = up.parent
    path = []
    while down not in above:
        path.append(down)
        down = down.parent
    up = link.frame
    while up is not down:
        vector, up = up.up(vector), up.parent
    for f in reversed(path):
        vector = f.down(vector)
    return vector


def body_wrench(m, wrench):
    """Return (body, force, moment about its origin) in the computing frame of the body pushed."""
    _, point, force, torque, _, frame = wrench
    link = m.kinematics.link(point.body)
    f = _into(m, force, frame, link.frame)
    n = _into(m, torque, frame, link.frame) if not ve.all_zero(torque) else ve.ZERO
    return point.body, f, ve.add(n, ve.cross(ve.matvec(link.attitude, point.offset), f))


def between(m, wrench):
    """Return [(coordinate, effort)] of a force between two bodies, on the joints between them."""
    _, point, force, torque, on, frame = wrench
    kin = m.kinematics
    base = kin.common(point.body, on)
    home = kin.link(base).frame
    f = _into(m, force, frame, home)
    n = _into(m, torque, frame, home) if not ve.all_zero(torque) else ve.ZERO
    place = kin.point(point, base)
    out = []
    for body, sign in ((point.body, 1.0), (on, -1.0)):
        for c, kind, axis, origin in kin.columns(body, base):
            if kind == 'prismatic':
                value = ve.dot(axis, f)
            else:
                value = ve.dot(axis, ve.add(ve.cross(ve.sub(place, origin), f), n))
            out.append((c, sign * value))
    return out


def all_wrenches(m, wrenches, multipliers):
    """Return {body: wrench} with the forces between bodies and in the loops as wrenches too (for reactions)."""
    if m.works:
        raise MbsError(f"mechanism '{m.name}': reactions can't be given because the force '{m.works[0][0]}' is described by its "
                       'work only, without a point of application; describe it with push()')
    out = dict(wrenches)
    for wrench in m.wrenches:
        name, point, force, torque, on, frame = wrench
        if on is m.ground and m.kinematics.common(point.body, on) is m.ground:
            continue
        _add_wrench(out, *body_wrench(m, wrench))
        if on is not m.ground:
            base = m.kinematics.common(point.body, on)
            kin = m.kinematics
            home, there = kin.link(base), kin.link(on)
            f = _into(m, force, frame, home.frame)
            n = _into(m, torque, frame, home.frame)
            _, origin = kin.relative(on, base)
            n = ve.add(n, ve.cross(ve.sub(kin.point(point, base), origin), f))
            lift = ve.transpose(kin.frame_in(there.frame, home.frame))
            _add_wrench(out, on, ve.scale(-1.0, ve.matvec(lift, f)), ve.scale(-1.0, ve.matvec(lift, n)))
    for body, force, moment in multipliers:
        _add_wrench(out, body, force, moment)
    return out
