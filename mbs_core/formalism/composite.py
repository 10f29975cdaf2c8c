"""The mass matrix by composite bodies: each joint carries everything beyond it as one rigid body."""

from mbs_core.formalism import vectors as ve
from mbs_core.formalism.inertia import shifted


def composites(tree) -> dict:
    """Return {body: (mass, first moment, pseudo-inertia)} of the body and all it carries, in its computing frame."""
    total = {link.body: tree.inertia[link.body] for link in tree.links}
    for link in reversed(tree.links):
        up = link.parent.body
        if up.parent is None:
            continue
        mass, b, e = total[link.body]
        if link.frame is not link.parent.frame:
            b, e = link.frame.up(b), link.frame.up_tensor(e)
        m0, b0, e0 = total[up]
        total[up] = (m0 + mass, ve.add(b0, ve.add(b, ve.scale(mass, link.arm))),
                     ve.symmetric_sum(e0, shifted(mass, b, e, link.arm)))
    return total


def unit_wrenches(link, composite) -> list:
    """Return [(coordinate, force, moment)] that accelerate the composite body by one unit along each joint coordinate.

    Force and moment are about the body's origin, in its computing frame (the carrier's for a slide: the same axes).
    """
    mass, b, e = composite
    kind = link.body.joint.kind
    if kind == 'prismatic':
        return [(link.body.coordinate, ve.scale(mass, link.axis), ve.cross(b, link.axis))]
    axes = [link.own_axis] if kind == 'revolute' else list(ve.EYE) if kind == 'spherical' else []
    out = []
    for c, axis in zip(link.body.coordinates, axes):
        along = ve.unit_axis(axis)
        if along:                              # (trace(E) 1 - E) axis without the term that cancels
            k, sign = along
            i, j = (k + 1) % 3, (k + 2) % 3
            moment = [0.0] * 3
            moment[k], moment[i], moment[j] = sign * (e[i][i] + e[j][j]), -sign * e[i][k], -sign * e[j][k]
            moment = tuple(moment)
        else:
            moment = ve.sub(ve.scale(e[0][0] + e[1][1] + e[2][2], axis), ve.matvec(e, axis))
        out.append((c, ve.cross(axis, b), moment))
    return out


def mass_matrix(tree) -> dict:
    """Return {(coordinate, coordinate): M} for the lower triangle by age, structural zeros left out (001 eq. 1)."""
    total, out = composites(tree), {}
    for link in reversed(tree.links):
        for c, force, moment in unit_wrenches(link, total[link.body]):
            place, f, n = link, force, moment
            while place is not None and place.body.parent is not None:
                for d, value in _felt(place, f, n):
                    if place is not link or d.index <= c.index:
                        key = (c, d) if c.index >= d.index else (d, c)
                        if not ve.is_number(value, 0.0):
                            out[key] = value
                if place.frame is not place.parent.frame:
                    f, n = place.frame.up(f), place.frame.up(n)
                n = ve.add(n, ve.cross(place.arm, f))
                place = place.parent
    return out


def _felt(link, force, moment):
    """Return [(coordinate, effort)] a wrench makes in one joint."""
    kind = link.body.joint.kind
    if kind == 'revolute':
        return [(link.body.coordinate, ve.dot(link.own_axis, moment))]
    if kind == 'prismatic':
        return [(link.body.coordinate, ve.dot(link.axis, force))]
    if kind == 'spherical':
        return list(zip(link.body.coordinates, moment))
    return []


def ground_screws(tree):
    """Return [(coordinate, motion S, wrench F)], six numbers each, about the ground's origin in its axes.

    F accelerates everything beyond the joint by one unit; then M_ij = S_j . F_i for every joint j on the way from the
    ground to i: a plain loop over pairs, which for many joints is shorter and faster than unrolled recursions.
    """
    kin, total, out = tree.kinematics, composites(tree), []
    ground = kin.m.ground
    for link in tree.links:
        lift = kin.frame_in(link.frame, kin.link(ground).frame)
        attitude, place = kin.relative(link.body, ground)
        place = ve.add(place, ve.matvec(attitude, tree.origins.get(link.body, ve.ZERO)))
        axes = {c: (kind, axis) for c, kind, axis, _ in kin.columns(link.body, link.parent.body)}
        carrier = kin.frame_in(link.parent.frame, kin.link(ground).frame)
        for c, force, moment in unit_wrenches(link, total[link.body]):
            kind, axis = axes[c]
            axis = ve.matvec(carrier, axis)
            f = ve.matvec(lift, force)
            n = ve.add(ve.matvec(lift, moment), ve.cross(place, f))
            motion = (*axis, *ve.cross(place, axis)) if kind == 'revolute' else (*ve.ZERO, *axis)
            out.append((c, motion, (*n, *f)))
    return out
