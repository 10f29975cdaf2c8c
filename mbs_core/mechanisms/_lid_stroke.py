"""The lid hinge over its whole stroke in closed form of the cam's abscissa s, and the check that a geometry works.

Numbers only, no engine: poses, lid rates and B come from plane trigonometry, which makes them an oracle for the engine
and lets a geometry be judged before anything is generated. Arrays run over the poses; lengths in m, angles in rad.
"""

from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError

CHAINS = {1: (1,), 2: (1, 2), 3: (1, 2, 3), 4: (1, 2, 4), 5: (1, 2, 4, 5), 6: (1, 2, 4, 5, 6), 7: (1, 2, 4, 5, 7),
          8: (1, 2, 4, 5, 7, 8), 9: (1, 2, 4, 5, 7, 8, 9), 10: (1, 2, 4, 5, 7, 8, 9, 10)}
ANGLE_SCALE = 0.05       # m: an angle counts as the way it moves a point 50 mm away, for singular values
SINGULAR = 1e-3          # smallest over largest singular value of the scaled B
IMPOSSIBLE = {'b0': 'rods B3, B4 and B6 do not reach each other at rest (s = 0, tilt 0 deg): change l3, l4, l6 or x56',
              'b2': 'rods B3, B4 and B6 do not reach each other open (tilt 100 deg): change l3, l4, l6 or x56',
              'b1': 'the arcs C1 and C2 of the cam have no common tangent: take a smaller R1'}
DEAD = 0.2               # smallest sine of a transmission angle (11.5 deg) that still carries load


@dataclass(frozen=True)
class Stroke:
    """Poses along the stroke: q is (poses, 10) r1..r10, the rest one number a pose; `piece` is 0 D1, 1 C1, 2 C2."""

    s: np.ndarray
    piece: np.ndarray
    q: np.ndarray
    h_o: np.ndarray
    theta_o: np.ndarray
    theta_c: np.ndarray
    B: np.ndarray                    # (poses, 9, 10), 000 sec. 4.2
    transmission: dict               # {joint pair: sine of its transmission angle}

    @property
    def r1(self):
        """Return the actuator's position."""
        return self.q[:, 0]

    @property
    def kernel(self):
        """Return H = ker B with H_1 = 1 (000 eq. 5), (poses, 10)."""
        scaled = self.B[:, :, 1:]
        return np.concatenate([np.ones((len(self.s), 1)), np.linalg.solve(scaled, -self.B[:, :, :1])[:, :, 0]], axis=1)

    def where(self, k) -> str:
        """Return the words for pose k."""
        return (f's = {self.s[k] * 1e3:.3f} mm ({("D1", "C1", "C2")[self.piece[k]]}), '
                f'tilt {np.degrees(self.theta_o[k]):.2f} deg')


def stroke(p, g, count=400) -> Stroke:
    """Return the poses of lengths p with derived geometry g, `count` on each piece of the cam (shared ends repeated)."""
    s, piece, b, h = _along_the_cam(p, g, count)
    with np.errstate(invalid='ignore'):
        cx, cy = p['x56'] - p['l6'] * np.cos(b), p['y56'] + p['l6'] * np.sin(b)      # C seen from joint B4/B5
        reach = np.hypot(cx, cy)
        inner = np.arccos((p['l4'] ** 2 + reach ** 2 - p['l3'] ** 2) / (2 * p['l4'] * reach))
        theta = np.pi - np.arctan2(cy, cx) - inner
        theta[piece == 0] = 0.0
        px, py = -p['l4'] * np.cos(theta), p['l4'] * np.sin(theta)                     # joint B2/B3/B4 from joint B4/B5
        height = p['y5'] + h + py
        r1 = p['xA'] + px + np.sqrt(p['l2'] ** 2 - height ** 2)
    a2 = np.arctan2(height, p['xA'] + px - r1) % (2 * np.pi)
    a3 = np.arctan2(cy - py, cx - px)
    q = np.empty((len(s), 10))
    q[:, 0], q[:, 1], q[:, 2], q[:, 3], q[:, 4], q[:, 5] = r1, a2, a3 - a2, -theta - a2, theta, np.pi - b
    q[:, 6] = np.arctan2(p['yB'], p['xB'] - p['l4']) - theta
    a8 = np.arctan2(p['yV'] - p['y57'], p['xV'] - p['x57'])
    a9 = np.arctan2(p['yD'] - p['yB'], p['xD'] - p['xB']) - theta
    a10 = np.arctan2(-p['yV'], -p['xV'])
    q[:, 7], q[:, 8], q[:, 9] = a8 - q[:, 6], a9 - a8, a10 - a9
    theta_c = np.select([piece == 0, piece == 1], [np.pi / 2, np.pi / 2 - (s - p['h1']) / p['R1']],
                        np.pi / 2 - g['b1'] - (s - p['h1'] - p['R1'] * g['b1']) / p['l6'])
    B, angles = _constraint_matrix(q, theta_c, p, g)
    angles['8B'] = angles[8] + np.arctan2(g['B'][1], g['B'][0])                    # from joint B7/B8 to B
    sines = {pair: np.abs(np.sin(angles[j] - angles[i])) for pair, (i, j) in
             {'B3-B6': (3, 6), 'B3-B4': (3, 4), 'B7-B8': (7, '8B'), 'B9-B10': (9, 10)}.items()}
    sines['B2-slider'] = np.abs(np.cos(a2))
    sines['B6-cam'] = np.abs(np.sin(b))
    return Stroke(s, piece, q, h, theta, theta_c, B, sines)


def _along_the_cam(p, g, count):
    """Return s, piece, elevation b of B6 and height of B5 on the three pieces."""
    s2 = p['h1'] + p['R1'] * g['b1']
    ends = [0.0, p['h1'], s2, s2 + p['l6'] * (g['b2'] - g['b1'])]
    s = np.concatenate([np.linspace(a, b, count) for a, b in zip(ends, ends[1:])])
    piece = np.repeat((0, 1, 2), count)
    heading = np.pi / 2 - (s - p['h1']) / p['R1']
    x = g['start'][0] + p['R1'] * (1 - np.sin(heading))
    y = g['start'][1] + p['h1'] + p['R1'] * np.cos(heading)
    with np.errstate(invalid='ignore'):
        on_c1 = np.arccos((p['xA'] + p['x56'] - x) / p['l6'])
    b = np.select([piece == 0, piece == 1], [np.full_like(s, g['b0']), on_c1], g['b1'] + (s - s2) / p['l6'])
    h = np.select([piece == 0, piece == 1], [s, y - p['y5'] - p['y56'] - p['l6'] * np.sin(b)], p['h1'] + g['lift'])
    return s, piece, b, h


def _constraint_matrix(q, theta_c, p, g):
    """Return (B, {body: absolute angle}): A, B, C, D and the cam, each row a velocity that must vanish."""
    origin, angle, zero = {1: np.stack([q[:, 0], 0 * q[:, 0]], 1)}, {1: 0 * q[:, 0]}, 0.0
    reach = {2: (1, zero, zero), 3: (2, p['l2'], zero), 4: (2, p['l2'], zero), 5: (4, p['l4'], zero), 6: (5, p['x56'], p['y56']),
             7: (5, p['x57'], p['y57']), 8: (7, g['l7'], zero), 9: (8, g['l8'], zero), 10: (9, g['l9'], zero)}

    def at(body, x, y):
        c, s = np.cos(angle[body]), np.sin(angle[body])
        return origin[body] + np.stack([c * x - s * y, s * x + c * y], 1)

    for j, (carrier, x, y) in reach.items():
        origin[j], angle[j] = at(carrier, x, y), angle[carrier] + q[:, j - 1]

    def jacobian(body, x, y):
        point, rows = at(body, x, y), np.zeros((len(q), 2, 10))
        rows[:, 0, 0] = 1.0
        for j in CHAINS[body][1:]:
            arm = point - origin[j]
            rows[:, 0, j - 1], rows[:, 1, j - 1] = -arm[:, 1], arm[:, 0]
        return rows

    turn = np.zeros((len(q), 1, 10))
    turn[:, 0, [j - 1 for j in CHAINS[5][1:]]] = 1.0
    c6 = jacobian(6, p['l6'], 0.0)
    normal = np.stack([-np.sin(theta_c), np.cos(theta_c)], 1)
    B = np.concatenate([jacobian(5, 0.0, 0.0)[:, :1], turn,
                        jacobian(4, p['xB'], p['yB']) - jacobian(8, *g['B']),
                        jacobian(3, p['l3'], 0.0) - c6,
                        jacobian(4, p['xD'], p['yD']) - jacobian(10, g['l10'], 0.0),
                        np.einsum('pk,pkj->pj', normal, c6)[:, None]], axis=1)
    return B, angle


def check(p, g, count=400) -> Stroke:
    """Return the stroke of a geometry that works over all of it; else raise MbsError that names the pose and the reason."""
    for name, value in g.items():
        if not np.all(np.isfinite(value)):
            why = IMPOSSIBLE.get(name, 'two joints that it connects fall together')
            raise MbsError(f"the lid hinge can't be assembled: '{name}' does not exist for these lengths, because {why}")
    if not (0 < g['b0'] < g['b1'] < g['b2'] < np.pi):
        raise MbsError(f"the lid hinge's cam can't be made: rod B6 stands at {np.degrees(g['b0']):.1f}, {np.degrees(g['b1']):.1f} and "
                       f"{np.degrees(g['b2']):.1f} deg at rest, after C1 and open, and these must rise; change R1 or l6")
    found = stroke(p, g, count)
    bad = np.flatnonzero(~np.isfinite(found.q).all(axis=1))
    if bad.size:
        raise MbsError(f'the lid hinge comes apart at {found.where(bad[0])}: a rod is too short there; lengthen l2 or l3')
    for pair, sines in found.transmission.items():
        k = int(np.argmin(sines))
        if sines[k] < DEAD:
            raise MbsError(f'the lid hinge nears a dead point at {found.where(k)}: the transmission angle {pair} has a sine of '
                           f'{sines[k]:.3f}, at least {DEAD} is needed')
    scaled = found.B / np.array([1.0] + [ANGLE_SCALE] * 9)
    values = np.linalg.svd(scaled / np.abs(scaled).max(axis=2, keepdims=True), compute_uv=False)
    quality = values[:, -1] / values[:, 0]
    k = int(np.argmin(quality))
    if quality[k] < SINGULAR:
        raise MbsError(f'the lid hinge is singular at {found.where(k)}: the rank of B is below 9 (singular values 1 to {quality[k]:.1e})')
    for piece in range(3):
        own = np.flatnonzero(found.piece == piece)
        back = np.flatnonzero(np.diff(found.r1[own]) <= 0)
        if back.size:
            raise MbsError(f"the lid hinge's actuator turns back at {found.where(own[back[0]])}: r1 must grow all the way")
    return found
