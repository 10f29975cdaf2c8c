"""The plain scene: any mechanism as links, pins, slides and cams, from nothing but its description."""

import numpy as np

from mbs_core.description.loops import Cam, RodLoop
from mbs_core.symbolic import Expr
from mbs_haptics.skeleton import distinct, skeleton_of
from mbs_haptics.view import shapes
from mbs_haptics.view.scenes.base import COLOURS, GROUND, INK, PIN, Scene

WIDTH = 0.022           # radius of a link, for the size of the mechanism
THICK = 0.016           # thickness of a link of a planar mechanism; neighbours lie in layers
ROD = (150, 156, 164)


class View(Scene):
    """Links with rounded ends in layers when all is planar, else round rods; pins where they meet."""

    rail = 0.6              # half of the length of a slide's rail, for the size of the mechanism

    def build(self):
        """Draw the links, the pins and what is fixed."""
        low, high = self.extent()
        size = max(float(np.max(high - low)), 1e-3)
        self.size, self.radius, self.thick = size, WIDTH * size, THICK * size
        for k, (name, points) in enumerate(self.anchors().items()):
            colour = COLOURS[k % len(COLOURS)]
            if name in self.mechanism.bodies:
                self.link(name, points, colour, k)
                self.label(name, np.mean(points, axis=0) + np.array([0, 1.6 * self.radius, 3 * self.thick]))
        self.ground()
        self.rods = {loop.name: loop for loop in self.mechanism.loops if isinstance(loop, RodLoop)}

    def anchors(self) -> dict:
        """Return {body: the points of it that something hangs on, in its frame}; its centre of mass if there is only one."""
        points = {b.name: [(0.0, 0.0, 0.0)] for b in self.poses.bodies}

        def add(point):
            if point is not None and point.body is not self.mechanism.ground:
                points[point.body.name].append(self.poses.offset(point))
        for body in self.poses.bodies:
            add(body.mount)
        for loop in self.mechanism.loops:
            for end in [loop.point] if isinstance(loop, Cam) else [getattr(loop, 'a', None), getattr(loop, 'b', None)]:
                add(end)
        for body in self.poses.bodies:
            heavy = isinstance(body.mass, Expr) or body.mass > 0
            if heavy and len(distinct(points[body.name])) == 1:
                points[body.name].append(tuple(self.poses.numbers(body.com)))
        return {name: distinct(found) for name, found in points.items()}

    def link(self, name, points, colour, layer):
        """Draw one body."""
        if self.planar:
            low = (2 * (layer % 3) - 3) * self.thick / 2
            if len(points) == 1 and self.mechanism.bodies[name].joint.kind == 'prismatic':
                half = 1.5 * self.radius
                outline = [(-half, -half), (half, -half), (half, half), (-half, half)]
            else:
                outline = shapes.link_outline(points, self.radius)
            self.mesh('link', shapes.extrude(outline, low, low + 0.9 * self.thick), colour, name)
            pins = [shapes.extrude(shapes.circle(p, 0.42 * self.radius), -1.8 * self.thick, 1.8 * self.thick) for p in points]
            self.mesh('pins', shapes.joined(pins), PIN, name)
            return
        parts = [shapes.rod(points[0], p, 0.5 * self.radius) for p in points[1:]] or [shapes.rod(
            (0, 0, -self.radius), (0, 0, self.radius), self.radius)]
        self.mesh('link', shapes.joined(parts), colour, name)

    def ground(self):
        """Draw what is fixed: a foot under every pivot on the ground, rails of slides, cams, and a floor."""
        shape = skeleton_of(self.mechanism, self.mechanism.positions, self.poses.parameters)
        self.cam(shape['curve'])
        up, r = self.up(), self.radius
        side = np.cross(up, [0.0, 0.0, 1.0]) if abs(up[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
        for k, body in enumerate(b for b in self.poses.bodies if b.parent is self.mechanism.ground):
            at = np.array(self.poses.offset(body.mount))
            if body.joint.kind == 'prismatic':
                along = np.array(body.joint.axis, float)
                self.mesh(f'rail{k}', shapes.rod(at - self.rail * self.size * along, at + self.rail * self.size * along, 0.35 * r), ROD)
            elif self.planar:
                foot = np.array([at + s * side * 1.5 * r - 2.6 * r * up for s in (-1, 1)] + [at + 0.75 * r * up])[:, :2]
                self.mesh(f'foot{k}', shapes.extrude(shapes.link_outline(foot, 0.35 * r), -3.2 * self.thick, -1.9 * self.thick), GROUND)

    def cam(self, track):
        """Draw the track of a cam."""
        if track is not None:
            self.line('cam', track, INK, 0.35 * self.radius)

    def update(self, frame):
        """Draw the rods, whose ends belong to two bodies."""
        for name, loop in getattr(self, 'rods', {}).items():
            self.moving_line(f'rod.{name}', [self._where(frame, loop.a), self._where(frame, loop.b)], ROD, self.radius)

    def _where(self, frame, point):
        offset = self.poses.offset(point)
        return offset if point.body is self.mechanism.ground else self.point(frame, point.body.name, offset)
