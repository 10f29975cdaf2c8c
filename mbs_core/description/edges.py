"""Dry contacts of felt, leather and wood in a plane: a round nose on a face or over an edge, with friction that holds.

The pieces of an action touch each other this way: a knuckle on a jack, a capstan under a heel, a tail on a check. The
normal force is that of `hunt_crossley`; the friction has a bristle that is bent before it slides (Dahl), so that two
parts pressed together rest for ever, while an explicit integrator meets no stiffer thing than the bristle itself.
"""

from mbs_core.description.laws import Law, hunt_crossley
from mbs_core.formalism import vectors as ve
from mbs_core.symbolic import absolute, maximum, minimum, power, select, sqrt

SOFT = 1e-4             # m: rounds the beginning of a touch, where the bristle's energy is nothing yet
RELEASE = 1e-3          # s: a bristle in the air comes back in this time
QUICK = 2e-5            # s: no bristle turns over in less, however fast it slides: an explicit step of 50 us stays stable


def edge_contact(point, on, origin, normal, along=None, radius=0.0, stiffness=1e7, exponent=2.0, hysteresis=0.0,
                 loss=None, ease=None, friction=0.0, bristle=1e-4, scale=1.0, name='edge') -> Law:
    """Return the contact of a round nose (`radius` about `point`) with a face of body `on`, in the plane xy.

    The face passes through `origin` with unit `normal` (in the frame of `on`) and is endless; with the unit vector
    `along` it ends at `origin`, and the nose may roll over that edge. The push is that of `hunt_crossley`, times `scale`;
    its hysteresis falls to a half at the depth `ease` (m), as in leather that is already packed. Friction is Coulomb with a bristle of length `bristle` (m). Once added, `seen` has depth, approach and normal force.
    """
    seen = {}

    def apply(m):
        p, v = m.position(point, seen_from=on), m.velocity(point, seen_from=on)
        n, height = _nearest(p, origin, normal, along)
        depth, approach = radius - height, -(v[0] * n[0] + v[1] * n[1])
        x = maximum(depth, 0.0)
        viscous = hysteresis if ease is None else hysteresis / (1.0 + power(x / ease, 4))
        push = hunt_crossley(depth, approach, scale * stiffness, exponent, viscous, loss)
        elastic = scale * stiffness * power(x, exponent)
        m.store(elastic * x / (exponent + 1.0), name)
        seen.update(depth=depth, approach=approach, normal=push, direction=n)
        force, torque = (push * n[0], push * n[1], 0.0), (0.0, 0.0, 0.0)
        if not ve.is_number(friction, 0.0):
            body = m._point(point).body
            spin = m.angular_velocity(body, seen_from=on)[2]
            slide = v[1] * n[0] - v[0] * n[1] - spin * radius      # along (-n_y, n_x), at the place of touch
            z = m.state(f'{name}.bristle')
            m.derivative(z, _bristle(z, slide, depth, approach, exponent, bristle))
            m.store(0.5 * friction * elastic * bristle * z * z, f'{name}.bristle')
            # turned over late, a bristle would give back more than it holds: it pushes less on its way back
            back = select(z * slide < 0.0, bristle / (bristle + QUICK * absolute(slide)), 1.0)
            drag = -friction * elastic * z * back
            force = (force[0] - drag * n[1], force[1] + drag * n[0], 0.0)
            torque = (0.0, 0.0, -drag * radius)
        m.push(point, force, on=on, torque=torque, name=name, frame=on)
    return Law(name, apply, seen)


def _nearest(p, origin, normal, along):
    """Return (unit normal, signed height) of point p over a face, or over the corner where the face ends."""
    rx, ry = p[0] - origin[0], p[1] - origin[1]
    over = rx * normal[0] + ry * normal[1]
    if along is None:
        return normal, over
    beyond = rx * along[0] + ry * along[1]
    a, b = maximum(beyond, 0.0), maximum(over, 0.0)
    round_ = sqrt(a * a + b * b + 1e-18)
    height = round_ + minimum(maximum(beyond, over), 0.0)
    inside = maximum(beyond, over) <= 0.0                          # deeper than the radius: the face pushes it out
    n = tuple(select(inside, normal[k], (a * along[k] + b * normal[k]) / round_) for k in range(2))
    return n, height


def _bristle(z, slide, depth, approach, exponent, length):
    """Return the rate of a bristle's bend z (-1...1): Dahl's law; it slips as the load grows, so that load adds no energy.

    The bristle stores mu N length z^2 / 2. Without the last term a growing N would fill it from nowhere.
    """
    closing = maximum(approach, 0.0)
    yielding = 0.5 * exponent * closing / (maximum(depth, 0.0) + SOFT + QUICK * closing)
    bending = (slide - absolute(slide) * z) / (length + QUICK * absolute(slide))
    return select(0.0 < depth, bending - yielding * z, -z / RELEASE)
