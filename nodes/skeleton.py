"""The skeleton of a mechanism in one pose: where its bodies' joints, loop points and cams are, by forward kinematics."""

from mbs_core.description.loops import Cam, RodLoop
from mbs_core.symbolic import Expr, evaluate

CAM_SAMPLES = 121


def symbol_values(mechanism, q, si_parameters=None) -> dict:
    """Return {symbol: number} for position formulas: parameters in SI (their defaults unless given) and q."""
    given = si_parameters or {}
    arrays = {'q': list(q), 'par': [given.get(p.name, p.default * p.factor) for p in mechanism.parameters.values()],
              'time': [0.0], 'in': [i.default for i in mechanism.inputs.values()],
              'z': [entry[1] for entry in mechanism.states.values()]}
    return {s: arrays[s.data[1]][s.data[2]] for s in mechanism.graph.symbols.values() if s.data[1] in arrays}


def skeleton_of(mechanism, q, si_parameters=None) -> dict:
    """Return {'bones': {body: [xyz]}, 'pins': {kind: [xyz]}, 'slides': [(xyz, xyz)], 'curve': [xyz] or None} at q.

    The points of a body are its joint, then what hangs on it: other joints, loop points; its centre of mass if nothing.
    The pins are of kind 'ground', 'joint', 'loop' and 'mass'.
    """
    values = symbol_values(mechanism, q, si_parameters)

    def place(point):
        return tuple(evaluate(mechanism.position(point), values))

    bodies = [b for b in mechanism.bodies.values() if b is not mechanism.ground]
    points = {b.name: [b.at()] for b in bodies}
    pins, slides = {'ground': [], 'joint': [], 'loop': [], 'mass': []}, []
    for b in bodies:
        pins['ground' if b.parent is mechanism.ground else 'joint'].append(place(b.mount))
        if b.joint.kind == 'prismatic':
            slides.append((place(b.mount), place(b.at())))
        if isinstance(b.mass, Expr) or b.mass > 0:
            pins['mass'].append(place(b.at(*b.com)))
        if b.parent is not mechanism.ground:
            points[b.parent.name].append(b.mount)
    rods, curve = {}, None
    for loop in mechanism.loops:
        ends = [loop.point] if isinstance(loop, Cam) else [getattr(loop, 'a', None), getattr(loop, 'b', None)]
        for end in filter(None, ends):
            pins['loop'].append(place(end))
            if end.body is not mechanism.ground:
                points[end.body.name].append(end)
        if isinstance(loop, RodLoop):
            rods[loop.name] = [place(loop.a), place(loop.b)]
        if isinstance(loop, Cam):
            curve = _cam(mechanism, loop, values, place)
    bones = {}
    for b in bodies:
        shown = points[b.name] if len(points[b.name]) > 1 else points[b.name] + [b.at(*b.com)]
        bones[b.name] = distinct([place(p) for p in shown])
    return {'bones': {**bones, **rods}, 'pins': {k: distinct(v) for k, v in pins.items()}, 'slides': slides, 'curve': curve}


def distinct(points) -> list:
    """Return the points without those that repeat an earlier one."""
    kept = []
    for p in points:
        if all(max(abs(a - b) for a, b in zip(p, k)) > 1e-9 for k in kept):
            kept.append(p)
    return kept


def _cam(mechanism, loop, values, place):
    length = loop.curve.length
    if isinstance(length, Expr):
        length, = evaluate([length], values)
    s = loop.s.q
    formula = loop.curve.at(s)[:2]
    track = []
    for k in range(CAM_SAMPLES):
        x, y = evaluate(formula, {**values, s: length * k / (CAM_SAMPLES - 1)})
        track.append(place(loop.on.at(x, y, 0.0)))
    return track
