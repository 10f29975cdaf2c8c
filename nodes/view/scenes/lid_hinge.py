"""The lid on its two hinges: a shell that lifts and turns, the rods of both sides, and the box they stand in."""

import math

import numpy as np

from mbs_haptics.view import shapes
from mbs_haptics.view.scenes import links

WIDE = 0.30                 # m between the two hinges; the paper does not tell
SHELL, BOX = (205, 210, 216), (150, 156, 164)
THIN = 0.005                # m, of the shell's walls
CENTRE = (0.072, 0.009)     # m, about where the closed lid begins to turn, with the default lengths: V in world coordinates


class View(links.View):
    """Both hinges as links in the planes z = 0 and z = -WIDE, the lid across them."""

    names = {'r9': 'lid', 'r1': 'slider', 'r2': 'rod B2', 'r3': 'rod B3', 'r4': 'arm B4', 'r5': 'slide B5', 'r6': 'rod B6', 'r7': 'B7', 'r8': 'B8', 'r10': 'B10'}
    titles = {'control': 'Control', 'parameters': 'Lengths'}
    single = ('lid.',)      # shapes that exist once
    rail = 0.2

    def build(self):
        """Draw the links twice, then lid and box."""
        super().build()
        rest = self.poses(self.mechanism.positions)['r9']
        x0, x1 = CENTRE[0] - self.poses.parameters['l_o'], CENTRE[0]
        top, skirt = CENTRE[1] + 0.034, CENTRE[1] - 0.030
        walls = [(box(x0, x1, top, top + THIN, -WIDE - 0.04, 0.04)), box(x0, x0 + THIN, skirt, top, -WIDE - 0.04, 0.04),
                 box(x0, x1, skirt, top, -WIDE - 0.04 - THIN, -WIDE - 0.04)]
        vertices, faces = shapes.joined(walls)
        self.mesh('lid.shell', (into(rest, vertices), faces), SHELL, 'r9')
        floor, rear = -0.085, 0.11
        self.mesh('lid.box', shapes.joined([box(x0 - 0.01, rear, floor - THIN, floor, -WIDE - 0.05, 0.05), box(x0 - 0.01, x0 - 0.01 + THIN, floor, skirt - 0.004, -WIDE - 0.05, 0.05),
                                            box(x0 - 0.01, rear, floor, skirt - 0.004, -WIDE - 0.05 - THIN, -WIDE - 0.05)]), BOX)

    def mesh(self, name, mesh, colour, body=None, **options):
        """Draw a shape, and once more at the other hinge, unless it exists once."""
        if not name.startswith(self.single):
            vertices, faces = mesh
            mesh = shapes.joined([mesh, (vertices - np.array([0, 0, WIDE], np.float32), faces)])
        return super().mesh(name, mesh, colour, body, **options)

    def rows(self, source):
        """Tell height and tilt of the lid."""
        out = source.frame.outputs if source.frame is not None else {}
        told = []
        if 'h_o' in out:
            told.append(('height', f'{1e3 * out["h_o"]:.2f} mm' + wanted(out, 'h_wanted', 1e3)))
        if 'theta_o' in out:
            told.append(('tilt', f'{math.degrees(out["theta_o"]):.2f} deg' + wanted(out, 'theta_wanted', math.degrees(1))))
        return told

    def extent(self):
        """Return the corners of box and open lid."""
        return np.array([-0.19, -0.1, -WIDE]), np.array([0.2, 0.26, 0.0])

    def camera(self):
        """Look from the side, a little from the front and above, so that both hinges are seen."""
        low, high = self.extent()
        middle, towards = (low + high) / 2, np.array([-0.35, 0.3, 1.0])
        return middle + 1.35 * towards / np.linalg.norm(towards), middle, np.array([0.0, 1.0, 0.0])


def wanted(out, name, factor):
    """Return ', wanted ...' where the controller tells it."""
    return f', wanted {factor * out[name]:.2f}' if name in out else ''


def box(x0, x1, y0, y1, z0, z1) -> tuple:
    """Return the mesh of a box."""
    return shapes.extrude([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], z0, z1)


def into(pose, vertices):
    """Return points of the ground's frame in the frame of a body at a pose."""
    from mbs_haptics.view.poses import rotated
    where, (w, x, y, z) = pose
    return np.array([rotated((w, -x, -y, -z), p) for p in vertices - np.array(where)], np.float32)
