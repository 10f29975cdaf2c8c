"""The car on its road: from behind, through the wind-screen or from above, with the forces of its tyres; and the driver's seat.

The picture stays with the car: everything is drawn in a frame that follows its place and heading, and the road moves below it. So
cameras rest where they are, and one moving frame stands for the whole world.
"""

import math

import numpy as np

from mbs_core.vehicles.data import Car
from mbs_haptics.view import shapes
from mbs_haptics.view.cockpit import Cockpit
from mbs_haptics.view.road import LANE, LEFT, RIGHT, Road
from mbs_haptics.view.scenes.base import Scene
from mbs_haptics.view.seat import Seat

CORNERS = ('front.left', 'front.right', 'rear.left', 'rear.right')
PAINT, DARK, GLASS, TYRE, RIM, CHROME = (58, 110, 165), (38, 44, 52), (140, 170, 190), (28, 30, 34), (176, 182, 190), (150, 156, 164)
ASPHALT, GRASS, WHITE, RED, ORANGE, BLUE = (86, 92, 99), (111, 143, 90), (236, 238, 240), (205, 60, 60), (240, 150, 40), (70, 130, 220)
PERIOD = 48.0               # m after which the road looks the same again
FORCE = 1 / 2000.0          # m of an arrow for a newton along the ground
LOAD = 1 / 5000.0           # and for one of load
NEEDED = ('vehicle.x', 'vehicle.y', 'vehicle.yaw')


class View(Scene):
    """The car with its road."""

    names = {'chassis': 'car'}
    titles = {'hold': 'Speed', 'caster': 'Front axle: caster', 'front': 'Front axle', 'rear': 'Rear axle', 'road': 'Road'}
    curve = ('steering wheel, to the left', 'deg', math.degrees(1))
    force = ('torque against the hands', 'N m', 1.0)
    hand = ('wheel to the left', 'deg', -90.0, 90.0, math.radians(1))
    solver = ('rk4', 2)         # as in config/steering_wheel.yaml

    def __init__(self, server, mechanism):
        super().__init__(server, mechanism)
        self.road, self.seat, self.cockpit, self._arrows, self._state = Road(), Seat(), None, None, None
        self._places = {c.name: c.position for c in mechanism.coordinates if c.q is not None}
        first = self._places['chassis.z'] + 1
        self._quaternion = slice(first, first + 4)      # x, y, z, w

    # -- drawing ---------------------------------------------------------------------------------
    def shape(self):
        """Say that no parameter changes a drawn shape."""
        return ()

    def build(self):
        """Draw car, road, and places for the arrows."""
        self._body()
        for name in CORNERS:
            self._wheel(name)
        self._steering_wheel()
        self._world()
        self.label('chassis', (0.0, 0.0, 1.6))
        self._arrows = self.server.scene.add_arrows('/forces', np.zeros((8, 2, 3), np.float32), np.array([ORANGE] * 4 + [BLUE] * 4, np.uint8),
                                                    shaft_radius=0.035, head_radius=0.09, head_length=0.2)
        self._shapes.append(self._arrows)

    def _body(self):
        low = [(2.05, 0.3), (2.1, 0.55), (1.95, 0.72), (0.75, 0.86), (-1.75, 0.9), (-2.2, 0.82), (-2.25, 0.4), (-2.15, 0.3)]
        self.mesh('hull', across(low, -0.80, 0.80), PAINT, 'chassis')
        self.mesh('roof', across([(-0.15, 1.40), (-1.2, 1.40), (-1.25, 1.36), (-0.1, 1.36)], -0.6, 0.6), PAINT, 'chassis')
        posts = [shapes.rod((x0, s * 0.72, 0.86), (x1, s * 0.6, 1.38), 0.035) for s in (-1, 1) for x0, x1 in ((0.72, -0.12), (-1.85, -1.2))]
        self.mesh('posts', shapes.joined(posts), PAINT, 'chassis')
        self.mesh('dash', across([(0.72, 0.80), (0.72, 0.93), (0.42, 0.91), (0.42, 0.80)], -0.72, 0.72), DARK, 'chassis')
        self.mesh('lamps', shapes.joined([shapes.rod((2.0, s * 0.6, 0.6), (2.09, s * 0.6, 0.6), 0.09) for s in (-1, 1)]), WHITE, 'chassis')

    def _wheel(self, name):
        radius = Car().radius - 0.015          # it stands on the road with its load
        body = f'{name}.wheel'
        self.mesh('tyre', shapes.rod((0, -0.1, 0), (0, 0.1, 0), radius, 32), TYRE, body)
        self.mesh('rim', shapes.rod((0, -0.11, 0), (0, 0.11, 0), 0.62 * radius, 24), RIM, body)
        spokes = [shapes.rod((0, s * 0.1, 0), (0.6 * radius * math.cos(a), s * 0.115, 0.6 * radius * math.sin(a)), 0.02, 6)
                  for s in (-1, 1) for a in np.linspace(0, 2 * math.pi, 5, False)]
        self.mesh('spokes', shapes.joined(spokes), DARK, body)

    def _steering_wheel(self):
        corners = [(-0.02, 0.18 * math.cos(a), 0.18 * math.sin(a)) for a in np.linspace(0, 2 * math.pi, 25)]
        rim = [shapes.rod(a, b, 0.014, 8) for a, b in zip(corners, corners[1:])]
        spokes = [shapes.rod((-0.02, 0, 0), (-0.02, 0.18 * y, 0.18 * z), 0.011, 6) for y, z in ((1, 0), (-1, 0), (0, -1))]
        self.mesh('rim', shapes.joined(rim + spokes), DARK, 'steering_wheel')
        self.mesh('mark', shapes.rod((-0.02, -0.012, 0.18), (-0.02, 0.012, 0.18), 0.018, 8), ORANGE, 'steering_wheel')
        self.mesh('column', shapes.rod((0, 0, 0), (0.3, 0, -0.05), 0.02), CHROME, 'steering_wheel')

    def _world(self):
        shades = np.linspace((110, 160, 205), (222, 233, 240), 64)[:, None].repeat(2, axis=1)
        self.server.scene.set_background_image(shades.astype(np.uint8), format='png')
        self._ground = self.server.scene.add_frame('/world', show_axes=False)
        self._shapes.append(self._ground)
        back, ahead = -4 * PERIOD, 9 * PERIOD
        self.mesh('grass', flat(back, ahead, -150, 150, -0.03), GRASS, 'world')
        self.mesh('asphalt', flat(back, ahead, RIGHT, LEFT, -0.015), ASPHALT, 'world')
        lines = [flat(back, ahead, y - 0.06, y + 0.06, 0.0) for y in (RIGHT + 0.3, LEFT - 0.3)]
        lines += [flat(x, x + 5, LANE / 2 - 0.06, LANE / 2 + 0.06, 0.0) for x in np.arange(back, ahead, 12.0)]
        self.mesh('lines', shapes.joined(lines), WHITE, 'world')
        posts = [shapes.rod((x, y, 0), (x, y, 1), 0.06, 6) for x in np.arange(back, ahead, PERIOD / 2) for y in (RIGHT - 1, LEFT + 1)]
        self.mesh('posts', shapes.joined(posts), WHITE, 'world')
        self._obstacle = self.mesh('obstacle', across([(0, 0), (10, 0), (10, 1.4), (0, 1.4)], -1.0, 0.9), RED, 'world')
        self._obstacle.visible = False

    # -- following -------------------------------------------------------------------------------
    def place(self, frame):
        """Move the parts of the car in its own frame, and the world below it."""
        out = frame.outputs
        if not all(math.isfinite(out.get(name, math.nan)) for name in NEEDED):
            return
        yaw, q = out['vehicle.yaw'], list(frame.q)
        q[self._places['chassis.x']] = q[self._places['chassis.y']] = 0.0
        q[self._quaternion] = tilted(out.get('vehicle.roll', 0.0), out.get('vehicle.pitch', 0.0))
        frame.q = q
        super().place(frame)
        turns = math.floor(out['vehicle.x'] / PERIOD) * PERIOD
        x, y, c, s = out['vehicle.x'] - turns, out['vehicle.y'], math.cos(yaw), math.sin(yaw)
        self._ground.position = (-c * x - s * y, s * x - c * y, 0.0)
        self._ground.wxyz = (math.cos(yaw / 2), 0.0, 0.0, -math.sin(yaw / 2))
        self._show_obstacle(turns)
        self._arrows.points = self._forces(frame)

    def _show_obstacle(self, turns):
        there = self.road.obstacle
        if self._obstacle.visible != (there is not None):
            self._obstacle.visible = there is not None
        if there is not None:
            self._obstacle.position = (there[0] - turns, 0.0, 0.0)

    def _forces(self, frame):
        """Return where the arrows begin and end: what the road does to each tyre, along the ground and upwards."""
        out, points = frame.outputs, np.zeros((8, 2, 3), np.float32)
        for k, name in enumerate(CORNERS):
            x, y, _ = frame.poses[f'{name}.wheel'][0]
            foot, angle = np.array([x, y, 0.03]), out.get(f'{name}.steer', 0.0)
            fx, fy, fz = (out.get(f'{name}.{part}', 0.0) for part in ('fx', 'fy', 'fz'))
            side = foot + (0, math.copysign(0.32, y), 0)
            points[k] = foot, foot + FORCE * np.array([math.cos(angle) * fx - math.sin(angle) * fy, math.sin(angle) * fx + math.cos(angle) * fy, 0])
            points[4 + k] = side, side + (0, 0, LOAD * fz)
        return points

    # -- the driver's seat -----------------------------------------------------------------------
    @property
    def watched(self):
        """Whether somebody sits at the wheel, even if nobody looks at the page."""
        return self.cockpit is not None and self.cockpit.guests > 0

    def controls(self, page):
        """Serve the driver's seat and tell where it is."""
        self.cockpit = Cockpit()
        page.say(f"the driver's seat is at {self.cockpit.url}", flush=True)
        with page.server.gui.add_folder('Drive'):
            page.server.gui.add_html(f'<div style="padding:4px 12px;font:13px sans-serif"><a href="{self.cockpit.url}" target="_blank">Take the driver\'s seat</a>: '
                                     'keys, mouse or gamepad, and the view through the wind-screen.</div>')
            page.server.gui.add_button('Obstacle', hint='Let one appear suddenly').on_click(lambda _: page.wishes.append(('call', self._surprise)))

    def _surprise(self):
        if self._state is not None:
            self.road.appear(self._state['x'])

    def tick(self, source, now):
        """Take what the driver does to the simulated arms, and show him the road."""
        message, frame = self.cockpit.inbox(), source.frame
        if message is not None:
            self.seat.take(message, now)
            self.road.by_itself = message.get('surprise') is True
            if message.get('obstacle') is True:
                self._surprise()
        changed = self.seat.step(now, self._state['speed'] if self._state else 0.0)
        if changed:
            source.tell(changed)
        if frame is None or not all(math.isfinite(frame.outputs.get(name, math.nan)) for name in NEEDED):
            return
        state = self.seen(frame)
        self.road.step(now, state['x'], state['y'])
        self._state = state
        if self.watched:
            self.cockpit.show({**state, 'obstacle': self.road.obstacle, 'hit': self.road.is_hit(now), 'edges': (RIGHT, LEFT), 'lane': LANE,
                               'note': '' if source.has_hand else source.only_shows, **self.seat.pedals})

    def seen(self, frame) -> dict:
        """Return what is seen from the seat: place, motion, wheel and tyres, with few digits."""
        out = frame.outputs
        state = {name: rounded(out.get(f'vehicle.{name}', 0.0)) for name in ('x', 'y', 'yaw', 'roll', 'pitch', 'speed', 'yaw_rate', 'ay')}
        places, car = self._places, Car()
        state['angle'] = rounded(frame.q[places['steering_wheel']])
        state['torque'] = rounded(-out.get('steering_wheel.effort', 0.0))
        state['wheels'] = [[x, y, *(rounded(out.get(f'{name}.{part}', 0.0)) for part in ('steer', 'fx', 'fy', 'fz'))]
                           for name, x, y in zip(CORNERS, (car.a, car.a, -car.b, -car.b), np.array([1, -1, 1, -1]) * car.track_front / 2)]
        return state

    def close(self):
        """End the driver's seat."""
        if self.cockpit is not None:
            self.cockpit.close()

    # -- words and cameras -----------------------------------------------------------------------
    def rows(self, source):
        """Tell speed, side acceleration and torque."""
        s = self._state
        return () if s is None else (('speed', f'{3.6 * s["speed"]:.1f} km/h'), ('to the side', f'{s["ay"]:.2f} m/s2'),
                                     ('wheel', f'{math.degrees(s["angle"]):.1f} deg, {s["torque"]:.2f} N m felt'))

    def views(self):
        """Return the cameras: from behind, through the wind-screen, from above."""
        up = (0.0, 0.0, 1.0)
        return {'Behind': ((-9.5, 1.6, 3.4), (1.5, 0.0, 0.6), up, math.radians(40)),
                'Windscreen': ((-0.35, 0.35, 1.2), (14.65, 0.35, 0.2), up, math.radians(55)),
                'Above': ((-3.0, 0.0, 30.0), (4.0, 0.0, 0.0), (1.0, 0.0, 0.0), math.radians(40))}


def across(outline, right, left) -> tuple:
    """Return the mesh of an outline (x, z) that reaches from one side of the car to the other."""
    vertices, faces = shapes.extrude(outline, right, left)
    return vertices[:, [0, 2, 1]], faces


def flat(x0, x1, y0, y1, z) -> tuple:
    """Return a rectangle on the ground."""
    return np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)], np.float32), np.array([(0, 1, 2), (0, 2, 3)], np.uint32)


def tilted(roll, pitch, yaw=0.0) -> list:
    """Return the quaternion (x, y, z, w) of a body with these angles, as the model's outputs have them."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in (roll, pitch, yaw))
    return [sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy]


def rounded(value) -> float:
    """Return a number with as many digits as a picture needs; 0 for what is none."""
    return round(float(value), 4) if math.isfinite(value) else 0.0
