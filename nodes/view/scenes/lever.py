"""The lever as what it stands for: a key on its balance pin, with the finger's end, the felt of the stop and the spring."""

import math

import numpy as np

from mbs_haptics.view import shapes
from mbs_haptics.view.scenes.base import Scene

WOOD, IVORY, FELT, METAL, RAIL = (196, 150, 96), (245, 240, 226), (170, 52, 60), (120, 126, 134), (112, 96, 84)


class View(Scene):
    """A key seen from the side; its front, at negative x, goes down with a positive angle."""

    names = {'lever': 'key'}
    curve = ('angle', 'mrad', 1e3)
    force = ('torque', 'N m', 1.0)
    way = (0.0, 0.044)
    hand = ('front pressed down', 'mm', 0.0, 10.0, 1e-3)

    def build(self):
        """Draw key, pin, felt and spring."""
        p = self.poses.parameters
        half, stop = p['lever.length'] / 2, p['stop.angle']
        h, w = 0.045 * half, 0.05 * half
        body = [(-half, -h), (half, -h), (half, h), (-half, h)]
        self.mesh('wood', shapes.extrude(body, -w, w), WOOD, 'lever')
        top = [(-half, h), (-0.35 * half, h), (-0.35 * half, 1.35 * h), (-half, 1.35 * h)]
        self.mesh('ivory', shapes.extrude(top, -1.08 * w, 1.08 * w), IVORY, 'lever')
        self.label('lever', (-0.1 * half, 2.4 * h, w))
        bed = -h - half * math.sin(stop) - 2.2 * h
        self.mesh('pin', shapes.rod((0, bed, 0), (0, 2.0 * h, 0), 0.35 * w), METAL)
        self.mesh('balance', shapes.extrude(shapes.link_outline([(-1.4 * h, bed + 0.4 * h), (1.4 * h, bed + 0.4 * h), (0, -1.6 * h)], 0.3 * h),
                                            -w, w), RAIL)
        self.mesh('bed', shapes.extrude([(-1.05 * half, bed - h), (1.05 * half, bed - h), (1.05 * half, bed), (-1.05 * half, bed)],
                                        -1.8 * w, 1.8 * w), RAIL)
        met = -0.82 * half * math.sin(stop) - h * math.cos(stop)
        self.mesh('felt', shapes.extrude([(-0.9 * half, bed), (-0.74 * half, bed), (-0.74 * half, met), (-0.9 * half, met)], -w, w), FELT)
        self._spring, self._bed, self._h = (0.6 * half, -h), bed, h

    def update(self, frame):
        """Draw the spring between the bed and the rear of the key."""
        x, y, _ = self.point(frame, 'lever', (*self._spring, 0.0))
        turns = np.linspace(0, 7 * 2 * math.pi, 85)
        r = 0.9 * self._h
        path = np.column_stack([x + r * np.cos(turns), self._bed + (y - self._bed) * turns / turns[-1], r * np.sin(turns)])
        self.moving_line('spring', path, METAL, 0.28 * self._h)

    def extent(self):
        """Return the corners of the key."""
        half = self.poses.parameters['lever.length'] / 2
        return np.array([-half, -0.25 * half, 0]), np.array([half, 0.15 * half, 0])
