"""What every scene shares: bodies as frames that follow the state, shapes that hang on them, names, and where to look from."""

import math

import numpy as np

from mbs_haptics.view.poses import Poses, placed

COLOURS = ((58, 110, 165), (226, 135, 67), (90, 155, 110), (190, 84, 92), (129, 114, 178), (120, 140, 155), (201, 164, 70), (70, 160, 165))
GROUND, PIN, INK = (110, 118, 128), (52, 58, 66), (34, 40, 49)
FIELD = math.radians(24)        # angle of the camera: nearly a drawing, yet one sees depth


class Scene:
    """A scene of a mechanism on a page; `server` is the viser server, `values` the parameters by name in their units."""

    titles = {}             # group of parameters -> title of its folder
    names = {}              # body -> the name people give it; bodies left out keep their own
    curve = None            # (what is moved, its unit, factor from SI) of the force-position curve; None: the first joint
    force = None            # (what is felt, its unit, factor from SI)
    way = None              # (from, to) that the driven coordinate goes when it is simulated without a stack; None: to both sides
    solver = ('rk4', 1)     # and how it is integrated then: method and sub-steps of a millisecond
    hand = None             # (what it moves, unit, lowest, highest, factor to the plant's unit) of the hand at a virtual device

    def __init__(self, server, mechanism):
        self.server, self.mechanism, self.poses = server, mechanism, Poses(mechanism)
        self.bodies, self.labels, self._shapes, self._moving, self._with_names, self._drawn = {}, {}, [], {}, False, set()
        self.planar = is_planar(mechanism)

    # -- what a scene of its own overrides -------------------------------------------------------
    def build(self):
        """Draw everything for the present parameters; called again when they change."""
        raise NotImplementedError

    def update(self, frame):
        """Follow a frame: bodies are placed already."""

    watched = False         # whether somebody looks at this scene beside the page

    def controls(self, page):
        """Add elements of this scene to the page; what a callback wants done goes into page.wishes as ('call', function)."""

    def tick(self, source, now):
        """Do what is due besides drawing; called as often as the page is renewed, whether anybody looks or not."""

    def close(self):
        """End what this scene has started."""

    def rows(self, source):
        """Return (label, text) rows for the status."""
        return ()

    def group(self, name):
        """Return the title of the folder that a parameter belongs to."""
        group = name.partition('.')[0] if '.' in name else 'parameters'
        return self.titles.get(group, group.replace('_', ' ').capitalize())

    def word(self, name):
        """Return what a parameter's slider is called inside its folder."""
        return name.partition('.')[2].replace('_', ' ') or name

    def axes(self, joint):
        """Return (position, its unit, factor, force, its unit, factor) of the curves; the force is what resists the hand."""
        if self.curve:
            return *self.curve, *self.force
        body = self.mechanism.bodies.get(joint)
        slides = body is not None and body.joint.kind == 'prismatic'
        return (joint, 'mm', 1e3, 'force', 'N', 1.0) if slides else (joint, 'deg', math.degrees(1), 'torque', 'N m', 1.0)

    def camera(self):
        """Return (position, look at, up) of the view to begin with."""
        return self.side_view()

    def views(self):
        """Return {words on the button: (position, look at, up, angle of the camera)}; the first one is to begin with."""
        return {'Side view': (*self.camera(), FIELD)}

    # -- drawing ---------------------------------------------------------------------------------
    def draw(self):
        """Draw everything afresh."""
        with self.server.atomic():
            for handle in self._shapes:
                handle.remove()
            self._shapes, self._moving, self.labels = [], {}, {}
            for body in self.poses.bodies:
                if body.name not in self.bodies:
                    self.bodies[body.name] = self.server.scene.add_frame(f'/{body.name}', show_axes=False)
            self.build()
            self.show_names(self._with_names)

    def mesh(self, name, mesh, colour, body=None, **options):
        """Draw (vertices, faces) in the frame of a body, or of the ground; return its handle."""
        path = f'/{body}/{name}' if body else f'/ground/{name}'
        self._drawn.add(body)
        handle = self.server.scene.add_mesh_simple(path, mesh[0], mesh[1], color=colour, flat_shading=False, side='double', **options)
        self._shapes.append(handle)
        return handle

    def line(self, name, points, colour, width, body=None):
        """Draw a polyline."""
        points = np.asarray(points, np.float32)
        self._drawn.add(body)
        handle = self.server.scene.add_line_segments(f'/{body or "ground"}/{name}', np.stack([points[:-1], points[1:]], axis=1), colour,
                                                     thickness=width)
        self._shapes.append(handle)
        return handle

    def moving_line(self, name, points, colour, width):
        """Draw a polyline in the ground's frame, or move the one of this name that was drawn before."""
        points = np.asarray(points, np.float32)
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        if name in self._moving:
            self._moving[name].points = pieces
        else:
            self._moving[name] = self.line(name, points, colour, width)

    def label(self, body, at, text=None):
        """Write the name of a body beside a point of it; it is shown on request."""
        text = text or self.names.get(body, body)
        self._drawn.add(body)
        self.labels[body] = self.server.scene.add_label(f'/{body}/name', text, position=tuple(at), visible=False,
                                                        anchor='bottom-center', font_size_mode='screen')
        self._shapes.append(self.labels[body])

    def show_names(self, on):
        """Show or hide the names of the parts."""
        self._with_names = on
        for label in self.labels.values():
            label.visible = on

    # -- following -------------------------------------------------------------------------------
    def set(self, values):
        """Take parameters, and draw afresh where that changes a shape."""
        before = self.shape()
        self.poses.set(values)
        if self.shape() != before or not self._shapes:
            self.draw()

    def shape(self):
        """Return what the drawn shapes depend on: all parameters, unless a scene knows better."""
        return dict(self.poses.parameters)

    def place(self, frame):
        """Move every body to where the frame says."""
        frame.poses = self.poses(frame.q)
        for name, (position, wxyz) in frame.poses.items():
            handle = self.bodies[name]
            if name in self._drawn:         # a frame on which nothing hangs needs no messages
                handle.position, handle.wxyz = position, wxyz
        self.update(frame)

    # -- looking ---------------------------------------------------------------------------------
    def extent(self):
        """Return (lowest, highest) corner of all that is drawn, at the start pose."""
        from mbs_haptics.skeleton import skeleton_of
        shape = skeleton_of(self.mechanism, self.mechanism.positions, self.poses.parameters)
        points = np.array([p for bone in shape['bones'].values() for p in bone] + [p for kind in shape['pins'].values() for p in kind])
        return points.min(axis=0), points.max(axis=0)

    def up(self):
        """Return the direction opposite to gravity; y for a planar mechanism without it."""
        g = np.array(self.poses.numbers(self.mechanism.gravity))
        size = float(np.linalg.norm(g))
        if size == 0:
            return np.array([0.0, 1.0, 0.0] if self.planar else [0.0, 0.0, 1.0])
        return -g / size

    def side_view(self, room=1.5):
        """Return a camera that looks along -z onto the plane xy, or from the front and above where the mechanism is spatial."""
        low, high = self.extent()
        middle, size = (low + high) / 2, max(float(np.max(high - low)), 1e-3)
        distance = room * size / (2 * math.tan(FIELD / 2))
        up = self.up()
        towards = np.array([0.0, 0.0, 1.0]) if abs(up[2]) < 0.9 else np.array([-0.5, -1.0, 0.35])
        if not self.planar and abs(up[2]) < 0.9:
            towards = np.array([0.4, 0.3, 1.0])
        towards = towards / np.linalg.norm(towards)
        return middle + distance * towards, middle, up

    def point(self, frame, body, at):
        """Return where a point of a body is in a frame that was placed."""
        return placed(frame.poses[body], at)


def is_planar(mechanism) -> bool:
    """Tell whether everything moves in the plane xy: hinges about z, slides across it."""
    for body in mechanism.bodies.values():
        joint = body.joint
        if joint.kind == 'revolute' and abs(joint.axis[2]) < 0.999:
            return False
        if joint.kind == 'prismatic' and abs(joint.axis[2]) > 1e-3:
            return False
        if joint.kind in ('spherical', 'free'):
            return False
    return True
