"""The grand-piano action from the side: outlines of its parts with their names, and the regulations as a technician says them.

The points where parts touch are the model's own; the outlines between them are drawn to look like the wood they stand for.
"""

import math

import numpy as np

from mbs_core.mechanisms.piano import numbers as nb
from mbs_haptics.view import shapes
from mbs_haptics.view.scenes.base import Scene

SPRUCE, MAPLE, BEECH, WALNUT, PEAR = (214, 172, 116), (232, 202, 150), (203, 146, 92), (126, 84, 56), (181, 112, 74)
WHITE, RED, GREEN, BLACK, STEEL, RAIL = (244, 241, 232), (178, 48, 58), (62, 122, 92), (48, 48, 54), (140, 147, 156), (122, 112, 104)
TOP, BOTTOM = 11.0, -11.0       # mm, of the key's wood about the balance pin
FRONT = -nb.GEOMETRY['front.x'] * 1e-3


class View(Scene):
    """The action seen from the side, the pianist to the left."""

    names = {'lever': 'repetition lever'}
    titles = {'regulation': 'Regulation', 'hammer': 'Hammer', 'friction': 'Friction', 'damper': 'Damper', 'key': 'Key', 'device': 'Device'}
    curve = ('front of the key, down', 'mm', 1e3 * FRONT)
    force = ('force at the front', 'N', 1.0 / FRONT)
    hand = ('finger, down', 'mm', 0.0, 10.5, 1e-3)
    way = (0.0, 0.0445)             # rad, that the key goes when it is simulated without a stack
    solver = ('rk4', 20)            # sub-steps of 50 us, as in config/piano_key.yaml

    def build(self):
        """Draw all parts."""
        self._key()
        self._whippen()
        self._hammer()
        self._string_and_damper()
        self._fixed()
        for body, at in (('key', (-120, 16)), ('whippen', (-16, 7)), ('jack', (-14, 22)), ('lever', (-40, 20)), ('hammer', (70, 6)),
                         ('string', (110, self._line() + 2)), ('damper', (nb.GEOMETRY['damper.x'], self._line() + 19))):
            if body in self.bodies:
                self.label(body, (at[0] * 1e-3, at[1] * 1e-3, 0.02))

    def part(self, name, outline, colour, body=None, low=-4.0, high=4.0):
        """Draw an outline given in mm, with a thickness in mm."""
        self.mesh(name, shapes.extrude(np.asarray(outline, float) * 1e-3, low * 1e-3, high * 1e-3), colour, body)

    def box(self, name, left, bottom, right, top, colour, body=None, low=-4.0, high=4.0):
        """Draw a rectangle in mm."""
        self.part(name, [(left, bottom), (right, bottom), (right, top), (left, top)], colour, body, low, high)

    def round(self, name, points, radius, colour, body=None, low=-4.0, high=4.0):
        """Draw a rounded link through points in mm."""
        self.part(name, shapes.link_outline(points, radius), colour, body, low, high)

    def _key(self):
        g, p = nb.GEOMETRY, self.poses.parameters
        front, rear = g['front.x'] - 14, g['check.x'] + 14
        self.part('wood', [(front, BOTTOM), (rear, BOTTOM + 3), (rear, TOP - 2), (60, TOP), (front, TOP - 3)], SPRUCE, 'key', -9, 9)
        self.part('ivory', [(front - 2, TOP - 3), (front + 130, TOP - 1.2), (front + 130, TOP + 1.4), (front - 2, TOP)], WHITE, 'key', -9.6, 9.6)
        self.box('lip', front - 2, BOTTOM + 6, front, TOP, WHITE, 'key', -9.6, 9.6)
        top = g['capstan.y'] + 1e3 * nb.TURNS['blow'] * (p['regulation.blow'] - nb.REGULATION['blow'])
        self.box('capstan', g['capstan.x'] - 1.6, TOP - 2, g['capstan.x'] + 1.6, top - 3, STEEL, 'key', -3, 3)
        self.round('capstan.head', [(g['capstan.x'] - 2.4, top - 2), (g['capstan.x'] + 2.4, top - 2)], 2.0, STEEL, 'key', -3.6, 3.6)
        turn = 1e3 * nb.TURNS['back_check'] * (p['regulation.back_check'] - nb.REGULATION['back_check'])
        x, y = g['check.x'] - turn, g['check.y']
        lean = math.radians(nb.CHECK_ANGLE)
        along = np.array([-math.cos(lean), math.sin(lean)])
        foot, head = np.array([g['check.x'] + 8, TOP - 3]), np.array([x, y])
        out = np.array([math.sin(lean), math.cos(lean)])
        middle = head + 6.5 * out
        self.part('check.wire', shapes.link_outline([foot, middle - 8 * along], 1.0), STEEL, 'key', 8, 10)
        self.round('check', [middle - 9 * along, middle + 9 * along], 4.2, BEECH, 'key', 6, 14)
        self.round('check.felt', [head + 1.4 * out - 9 * along, head + 1.4 * out + 9 * along], 1.5, GREEN, 'key', 5.5, 14.5)

    def _whippen(self):
        g = nb.GEOMETRY
        jx, jy, lx, ly = g['jack.x'], g['jack.y'], g['lever.x'], g['lever.y']
        heel = g['capstan.x'] - g['whippen.x']
        body = [(6, -4), (6, 5), (-30, 8), (lx + 6, 9), (lx + 4.5, ly + 1), (lx - 4.5, ly + 1), (lx - 6, 8), (-76, 5), (jx - 6, jy + 5),
                (jx - 6, jy - 6), (-78, -8), (heel - 9, g['heel.y'] + 3), (heel + 9, g['heel.y'] + 3), (-50, -9), (-20, -6)]
        self.part('wood', body, MAPLE, 'whippen', -6, 0)
        self.box('heel', heel - 10, g['heel.y'], heel + 10, g['heel.y'] + 3, RED, 'whippen', -6.5, 0.5)
        e, top, tx, ty = g['jack.edge'], g['jack.top'], g['toe.x'], g['toe.y']
        jack = [(-4, -4), (4, -4), (4.5, 8), (e, top), (e - 7, top), (-5.5, 14), (tx - 3, ty - 0.5), (tx - 4, ty - 4), (tx + 4, ty - 5.5), (-6, 1)]
        self.part('wood', jack, PEAR, 'jack', 1, 7)
        t, (px, py) = g['lever.top'], (g['tip.x'], g['tip.y'])
        lever = [(px - 4, py - 5), (-9, t - 6.5), (-5, -5), (5, -5), (9, t - 7), (30, t - 6), (30, t), (-14, t), (px - 4, py)]
        self.part('wood', lever, BEECH, 'lever', 8, 13)
        for body in ('whippen', 'jack', 'lever'):
            self.round('pin', [(0, 0), (0.01, 0)], 1.7, BLACK, body, -7, 15)

    def _hammer(self):
        g = nb.GEOMETRY
        kx, ky, r, hx, hy = g['knuckle.x'], g['knuckle.y'], g['knuckle.radius'], g['head.x'], g['head.y']
        head = 'head' if 'head' in self.bodies else 'hammer'
        shift = nb.SHANK['x'] if head == 'head' else 0.0
        self.round('shank', [(0, 0), ((hx if head == 'hammer' else shift) - 4, 0)], 2.9, MAPLE, 'hammer', -2, 3)
        if head == 'head':
            self.round('shank', [(0, 0), (hx - shift, 0)], 2.9, MAPLE, 'head', -2, 3)
        self.part('butt', [(-6, -5), (26, -4), (26, 4), (-6, 5)], MAPLE, 'hammer', -4, 4)
        self.round('knuckle', [(kx - 0.01, ky), (kx, ky)], r, RED, 'hammer', -5, 5)
        self.round('knuckle.core', [(kx, ky - 0.5), (kx, ky + 3.5)], 1.6, WALNUT, 'hammer', -5.4, 5.4)
        self.round('pin', [(0, 0), (0.01, 0)], 1.7, BLACK, 'hammer', -7, 7)
        tail = [(hx - 6, -7), (g['tail.x'] - 2, g['tail.y'] - 9), (g['tail.x'] + g['tail.radius'], g['tail.y']), (hx + 6, 8), (hx + 4, hy - 6), (hx - 4, hy - 6)]
        self.part('moulding', np.asarray(tail) - (shift, 0), WALNUT, head, -5, 4)
        across, tall = 10.0, 13.5
        egg = [(hx - shift + across * math.sin(a) * (0.78 + 0.22 * math.cos(a)), hy - tall + tall * math.cos(a)) for a in np.linspace(0, 2 * math.pi, 40, False)]
        self.part('felt', egg, WHITE, head, -5.5, 4.5)

    def _line(self):
        """Return the height of the string in mm, as the model has it."""
        g = nb.GEOMETRY
        return g['hammer.y'] + g['head.x'] * math.sin(nb.REST) + g['head.y'] * math.cos(nb.REST) + 1e3 * nb.REGULATION['blow']

    def _string_and_damper(self):
        line, x = self._line(), nb.GEOMETRY['hammer.x'] + nb.GEOMETRY['head.x']
        self.mesh('wire', shapes.rod(((x - 130) * 1e-3, line * 1e-3 + 6e-4, 0), ((x + 70) * 1e-3, line * 1e-3 + 6e-4, 0), 6e-4), STEEL, 'string')
        if 'damper' in self.bodies:
            at, foot = nb.GEOMETRY['damper.x'], TOP - 1 + nb.GEOMETRY['damper.gap']
            self.box('damper.wire', at - 0.8, foot + 2, at + 0.8, line + 8, STEEL, 'damper', -16, -14.4)
            self.round('damper.foot', [(at - 8, foot + 2), (at + 8, foot + 2)], 2.0, BEECH, 'damper', -18, -12)
            self.part('damper.felt', [(at - 13, line + 1.2), (at + 13, line + 1.2), (at + 10, line + 7), (at - 10, line + 7)], WHITE, 'damper', -14, 6)
            self.box('damper.head', at - 11, line + 7, at + 11, line + 17, BLACK, 'damper', -14, 6)

    def _fixed(self):
        g, p = nb.GEOMETRY, self.poses.parameters
        dip = 1e3 * p['regulation.dip']
        self.box('bed', g['front.x'] - 30, BOTTOM - 30, g['check.x'] + 40, BOTTOM - 22, RAIL, None, -16, 10)
        self.part('balance', [(-14, BOTTOM - 22), (14, BOTTOM - 22), (9, BOTTOM - 4), (3, BOTTOM - 0.5), (-3, BOTTOM - 0.5), (-9, BOTTOM - 4)], RAIL)
        self.box('balance.pin', -1.2, BOTTOM - 3, 1.2, TOP + 7, STEEL, None, -1, 11)
        stop = BOTTOM + 1.2 - dip * g['stop.x'] / g['front.x']
        self.box('front.rail', g['stop.x'] - 10, BOTTOM - 22, g['stop.x'] + 10, stop - 4, RAIL)
        self.box('front.felt', g['stop.x'] - 9, stop - 4, g['stop.x'] + 9, stop, GREEN)
        self.box('back.felt', g['rail.x'] - 12, BOTTOM - 22, g['rail.x'] + 30, BOTTOM + 1.5, RED, None, -8, 0)
        self.part('flange', shapes.link_outline([(g['whippen.x'], g['whippen.y']), (g['whippen.x'] + 16, g['whippen.y'] + 4)], 5), RAIL, None, -14, -7)
        self.box('whippen.rail', g['whippen.x'] + 10, g['whippen.y'] - 12, g['whippen.x'] + 30, g['whippen.y'] + 14, RAIL, None, -24, -10)
        self.round('hammer.rail', [(g['hammer.x'] - 26, g['hammer.y'] + 6), (g['hammer.x'] - 8, g['hammer.y'] + 6)], 8, RAIL, None, -24, -6)
        self.round('hammer.flange', [(g['hammer.x'], g['hammer.y']), (g['hammer.x'] - 20, g['hammer.y'] + 2)], 4, RAIL, None, -9, -5)
        toe, tip = g['whippen.x'] + g['jack.x'] + g['toe.x'], g['whippen.x'] + g['lever.x'] + g['tip.x']

        def turned(name):
            return 1e3 * nb.TURNS[name] * (p[f'regulation.{name}'] - nb.REGULATION[name])
        button = g['button.y'] + turned('let_off') + 1e3 * p['regulation.button']
        self.round('button', [(toe - 3, button + 2.4), (toe + 3, button + 2.4)], 2.4, GREEN, None, 1, 7)
        self.box('button.screw', toe - 1, button + 4, toe + 1, g['hammer.y'] + 4, STEEL, None, -12, -10)
        drop = g['drop.y'] + turned('drop')
        self.round('drop', [(tip - 1.5, drop + 1.6), (tip + 1.5, drop + 1.6)], 1.6, STEEL, None, 8, 13)
        self.box('drop.screw', tip - 1, drop + 2, tip + 1, g['hammer.y'] + 4, STEEL, None, 9, 12)

    def group(self, name):
        """Return the folder: regulations, and one for the rest of the action."""
        return 'Regulation' if name.startswith('regulation.') else 'Action' if not name.startswith('hand.') else 'Hand'

    def word(self, name):
        """Return the words of a technician."""
        word = name.removeprefix('regulation.').removeprefix('hand.').replace('_', ' ').replace('.', ' ')
        return {'spring': 'repetition spring', 'dip': 'key dip', 'blow': 'blow distance', 'button': 'let-off button'}.get(word, word.replace('let off', 'let-off'))

    def rows(self, source):
        """Tell hammer and key as a technician looks at them."""
        if source.frame is None:
            return ()
        angles = {c.name: source.frame.q[c.position] for c in self.mechanism.coordinates if c.q is not None}
        g = nb.GEOMETRY
        angle = angles['hammer']
        height = g['hammer.y'] + g['head.x'] * math.sin(angle) + g['head.y'] * math.cos(angle)
        return (('key', f'{1e3 * FRONT * math.sin(angles["key"]):.2f} mm down'), ('hammer', f'{self._line() - height:.1f} mm below the string'))

    def extent(self):
        """Return the corners of the action."""
        return np.array([nb.GEOMETRY['front.x'] - 20, BOTTOM - 30, 0]) * 1e-3, np.array([nb.GEOMETRY['check.x'] + 40, 180, 0]) * 1e-3

    def camera(self):
        """Look from the side, close."""
        return self.side_view(1.32)
