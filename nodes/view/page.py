"""The page itself: the scene in the middle, curves to the left, status, switches and sliders to the right.

Callbacks of the browser come on threads of viser; they only put wishes into a queue, and the one thread that polls the
source carries them out.
"""

import contextlib
import html
import io
import math
import time
from collections import deque

from mbs_haptics.view import curves
from mbs_haptics.view.hand import Hand
from mbs_haptics.view.page_port import free_port
from mbs_haptics.view.scenes import scene_class

CURVES = 0.2            # s between two drawings of the curves
RETURN = 0.4            # s after a refusal, when the slider is set once more: values of a hand still on it may have crossed ours
STATUS = 0.25           # s between two renewals of the text
HINTS = {'enable': 'Enable: let the force rise.', 'disable': 'Disable: let it decay.', 'reset': 'Reset: leave a fault, or begin again.'}


def step_of(low, high, value) -> float:
    """Return the step of a slider: about a 500th of the range, finer where the value is small beside it."""
    wish = (high - low) / 500
    if value and abs(value) < (high - low) / 10:
        wish = min(wish, abs(value) / 25)
    power = 10.0 ** math.floor(math.log10(max(wish, 1e-12)))
    return next(m * power for m in (5, 2, 1) if m * power <= wish * 1.0001)


def handy_unit(knob) -> tuple:
    """Return (factor, unit) in which a small length or mass is read best: a technician says 1.5 mm, not 0.0015 m."""
    small = max(abs(knob.low), abs(knob.high)) < 0.1
    return {'m': (1e3, 'mm'), 'kg': (1e3, 'g')}.get(knob.unit, (1.0, knob.unit)) if small else (1.0, knob.unit)


def quiet_server(port):
    """Return viser's server on this machine only; its own banner is left out, the address is told once."""
    import viser
    with contextlib.redirect_stdout(io.StringIO()):
        return viser.ViserServer(host='127.0.0.1', port=port, verbose=False)


class Page:
    """A page for a source; call `update` often, from one thread."""

    def __init__(self, source, port=0, clock=time.monotonic, say=print):
        self.source, self.clock, self.say = source, clock, say
        self.server = quiet_server(free_port(port))
        self.url = f'http://127.0.0.1:{self.server.get_port()}'
        self.scene, self.hand, self.pictures, self.sliders, self.accepted, self.factors = None, None, [], {}, {}, {}
        self.wishes, self.pending, self.wanted, self.returning = deque(), None, {}, {}
        self.watched, self.frames, self._last_frame, self._due = False, 0, None, {'curves': 0.0, 'status': 0.0}
        self._message = ('', False)
        self.server.gui.configure_theme(control_layout='collapsible', control_width='medium', show_logo=False, show_share_button=False,
                                        brand_color=(58, 110, 165))
        self._frame_of_page()

    # -- what is always there --------------------------------------------------------------------
    def _frame_of_page(self):
        gui = self.server.gui
        gui.set_panel_label('mbs_haptics')
        self.title = gui.add_html('<div style="padding:6px 12px;font:600 15px sans-serif">waiting for rosbotran ...</div>')
        self.status = gui.add_html('')
        self.news = gui.add_html('')
        self.server.scene.configure_environment_map(None)
        self.server.scene.configure_default_lights(True, cast_shadow=False)
        self.server.scene.add_light_ambient('/light', color=(255, 255, 255), intensity=2.2)

    def _fill(self):
        """Add everything that depends on the mechanism, once it is known."""
        gui, source = self.server.gui, self.source
        self.scene = scene_class(source.mechanism.name)(self.server, source.mechanism)
        self.title.content = (f'<div style="padding:6px 12px 0;font:600 15px sans-serif">{html.escape(source.mechanism.name)}'
                              f'<div style="font:12px sans-serif;opacity:.7">{html.escape(source.mechanism.doc)}</div></div>')
        self.server.scene.set_up_direction(tuple(self.scene.up()))
        self.scene.draw()
        if 'estop' in source.switches:
            gui.add_button('E-stop', hint='No force at once, until reset and enable', color='red').on_click(
                lambda _: self.wishes.append(('switch', 'estop')))
        words = [verb.capitalize() for verb in source.switches if verb != 'estop']
        gui.add_button_group('Force' if len(words) > 1 else 'Run', words, hint=' '.join(HINTS[w.lower()] for w in words)).on_click(
            lambda event: self.wishes.append(('switch', event.target.value.lower())))
        view = gui.add_folder('View')
        with view:
            gui.add_checkbox('Names', False, hint='Write the names of the parts beside them').on_update(
                lambda event: self.wishes.append(('names', event.target.value)))
            gui.add_button_group('Look', list(self.scene.views()), hint='Where to look from').on_click(
                lambda event: self._look(event.client, event.target.value))
        self.hand = Hand(self.scene, source)
        self.hand.controls(gui, self.wishes, view.order + 0.5)
        self.scene.controls(self)
        self._camera()

    def _camera(self):
        position, look_at, up, field = next(iter(self.scene.views().values()))
        camera = self.server.initial_camera
        camera.fov, camera.up, camera.position, camera.look_at = field, up, position, look_at
        reach = float(sum((a - b) ** 2 for a, b in zip(position, look_at)) ** 0.5)
        camera.near, camera.far = reach / 50, reach * 50
        for client in self.server.get_clients().values():
            self._look(client)

    def _look(self, client, view=None):
        if client is not None and self.scene is not None:
            views = self.scene.views()
            position, look_at, up, field = views.get(view) or next(iter(views.values()))
            with client.atomic():
                client.camera.fov, client.camera.up_direction = field, up
                client.camera.position, client.camera.look_at = position, look_at

    def _sliders(self):
        """Add a folder of sliders for each group of parameters: what stands before the first dot."""
        groups = {}
        self.scene.set({name: k.value for name, k in self.source.knobs.items() if name in self.source.mechanism.parameters})
        for name, knob in self.source.knobs.items():
            groups.setdefault(self.scene.group(name), []).append(knob)
        for group, knobs in groups.items():
            with self.server.gui.add_folder(group):
                for k in knobs:
                    self._slider(k)

    def _slider(self, k):
        factor, unit = handy_unit(k)
        low, high, value = (float(f'{factor * x:.12g}') for x in (k.low, k.high, k.value))
        hint = f'{k.doc} ({unit}), {low:g} to {high:g}' + ('; only while inactive' if k.structural else '')
        words = self.scene.word(k.name) + ('' if unit == '1' else f' ({unit})')
        slider = self.server.gui.add_slider(words, low, high, step_of(low, high, value), value, hint=hint)
        slider.on_update(lambda event, name=k.name: event.client is not None and self.wishes.append(('set', name, event.target.value / factor)))
        self.sliders[k.name], self.accepted[k.name], self.factors[k.name] = slider, float(k.value), factor

    def _curves(self):
        panel = self.server.gui.add_panel()
        with panel.add_tab('Curves'):
            self.pictures = [self.server.gui.add_html('') for _ in range(3)]
        panel.dock_left()

    # -- renewing --------------------------------------------------------------------------------
    def update(self):
        """Bring the page up to the source: the scene at every frame, curves and text less often."""
        self._carry_out()
        source, now, seen = self.source, self.clock(), bool(self.server.get_clients())
        self.watched = seen or (self.scene is not None and self.scene.watched)
        source.watch(self.watched)
        if self.scene is None:
            if source.mechanism is not None:
                self._fill()
            self._tell(now)
            return
        if source.knobs and not self.sliders:
            self._sliders()
        if source.joints and not self.pictures:
            self._curves()
        if source.knobs_changed:
            self._follow_knobs()
        self.hand.update(now)
        if source.frame is not None and source.frame is not self._last_frame:
            self._last_frame = source.frame
            if seen:
                with self.server.atomic():
                    self.scene.place(source.frame)
                self.frames += 1
        self.scene.tick(source, now)
        if now >= self._due['curves'] and seen:
            self._due['curves'] = now + CURVES
            self._draw_curves()
        self._tell(now)

    def _draw_curves(self):
        if not self.pictures:
            return
        joint = self.source.joints[0]
        t, q, v, f = self.source.histories[joint].columns()
        name, unit, factor, what, force_unit, force_factor = self.scene.axes(joint)
        q, f = [factor * x for x in q], [force_factor * y for y in f]
        span = (-curves.SECONDS, 0.0)
        for handle, picture in zip(self.pictures, (
                curves.svg(f'{what} ({force_unit})', f'{name} ({unit})', [('', curves.BLUE, q, f)], dot=True),
                curves.svg(f'{name} ({unit})', 'time (s)', [('', curves.BLUE, t, q)], span, height=158),
                curves.svg(f'{what} ({force_unit})', 'time (s)', [('', curves.ORANGE, t, f)], span, height=158))):
            handle.content = picture

    def _tell(self, now):
        if self.source.message != self._message:
            self._message = self.source.message
            self._news(*self._message)
        if now < self._due['status']:
            return
        self._due['status'] = now + STATUS
        rows = [*self.source.rows, *(self.scene.rows(self.source) if self.scene else ())]
        cells = ''.join(f'<tr><td style="opacity:.6;padding-right:10px;white-space:nowrap">{html.escape(a)}</td><td>{html.escape(b)}</td></tr>'
                        for a, b in rows)
        text = f'<table style="font:12px sans-serif;margin:4px 12px;border-spacing:0">{cells}</table>' if rows else ''
        if text != self.status.content:
            self.status.content = text

    def _news(self, sentence, bad):
        colour = '#c23b3b' if bad else '#3d8a57'
        self.news.content = (f'<div role="status" style="margin:4px 12px;padding:6px 8px;border-left:3px solid {colour};font:12px sans-serif;'
                             f'color:{colour}">{html.escape(sentence)}</div>' if sentence else '')

    # -- wishes ----------------------------------------------------------------------------------
    def _carry_out(self):
        while self.wishes:
            kind, *rest = self.wishes.popleft()
            if kind == 'set':
                name, value = rest
                if value != self.accepted.get(name):
                    self.wanted[name] = value           # the newest wish counts: sliders send many
                else:
                    self.wanted.pop(name, None)
            elif kind == 'switch':
                self.source.switch(rest[0], lambda good, sentence: self._news(sentence, not good))
            elif kind == 'request':
                self.source.request(rest[0], lambda good, sentence: self._news(sentence, not good))
            elif kind == 'names':
                self.scene.show_names(rest[0])
            elif kind == 'call':
                rest[0]()
        for name, due in list(self.returning.items()):
            if name in self.wanted:
                del self.returning[name]
            elif self.clock() > due:
                del self.returning[name]
                self._show(name)
        if self.wanted and self.pending is None:
            batch, self.wanted, self.pending = self.wanted, {}, True
            self.source.set(batch, lambda good, sentence: self._decided(batch, good, sentence))

    def _decided(self, batch, good, sentence):
        self.pending = None
        if good:
            self.accepted.update(batch)
            self._news('', False)
            self.scene.set({name: value for name, value in batch.items() if name in self.source.mechanism.parameters})
            return
        for name in batch:
            self._show(name)
            self.returning[name] = self.clock() + RETURN
        self._news(sentence, True)

    def _show(self, name):
        """Let a slider show the accepted value, whatever it shows now: viser sends only what differs from what it has."""
        slider, value = self.sliders[name], float(f'{self.factors[name] * self.accepted[name]:.12g}')
        with self.server.atomic():
            slider.value = value + slider.step
            slider.value = value

    def _follow_knobs(self):
        """Take over values that somebody else has set."""
        self.source.knobs_changed, changed = False, {}
        for name, knob in self.source.knobs.items():
            if name in self.sliders and knob.value != self.accepted[name] and name not in self.wanted:
                self.accepted[name] = changed[name] = float(knob.value)
                self._show(name)
        self.scene.set({name: value for name, value in changed.items() if name in self.source.mechanism.parameters})

    def close(self):
        """Stop serving."""
        if self.scene is not None:
            self.scene.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()
