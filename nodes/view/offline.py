"""A mechanism without a stack: simulated here, in real time, with a driven coordinate moved by a sine that sliders change."""

import math
import time

from mbs_core.errors import MbsError
from mbs_haptics.view.curves import History
from mbs_haptics.view.source import Frame, Knob, Source

STEP = 1e-3
LONGEST = 0.1           # s that are caught up with at most: a page that was held up goes on, it does not race
HAND = 'hand.'          # sliders of ours, beside the mechanism's


class Simulated(Source):
    """The mechanism of a State, run as time passes."""

    switches = ('reset',)
    only_shows = 'simulated here, moved by itself: run the device with viewer:=true to hold it'

    def __init__(self, model, state, method='rk4', substeps=1, way=None, clock=time.monotonic):
        super().__init__()
        self.model, self.state, self.mechanism = model, state, model.mechanism
        self.method, self.substeps, self.way, self.clock = method, substeps, way, clock
        self._start, self._begun, self._last = state.x.copy(), 0.0, None
        self.joints = [c.name for c in self.mechanism.driven]
        self.histories = {name: History() for name in self.joints}
        for name, p in model.parameters.items():
            self.knobs[name] = Knob(name, state.get(name), p.low, p.high, p.unit, p.doc)
        self._middle = {c.name: float(state.q[c.position]) for c in self.mechanism.driven}
        if self.joints:
            unit = 'm' if self.mechanism.driven[0].body.joint.kind == 'prismatic' else 'rad'
            stroke = (way[1] - way[0]) / 2 if way else 0.02 if unit == 'm' else 0.2
            self.knobs[HAND + 'stroke'] = Knob(HAND + 'stroke', stroke, 0.0, 1.2 * stroke if way else 0.5, unit,
                                               'How far the hand moves the driven joint to each side of the middle')
            self.knobs[HAND + 'rate'] = Knob(HAND + 'rate', 0.5, 0.05, 5.0, 'Hz', 'How often the hand moves it')
        self.frame = self._frame()

    def poll(self):
        """Run the model up to now."""
        now = self.clock()
        behind = STEP if self._last is None else min(now - self._last, LONGEST)
        steps = max(0, int(behind / STEP))
        self._last = now if self._last is None or behind >= LONGEST else self._last + steps * STEP
        for _ in range(steps):
            status = self._step()
            if status:
                self.message = (f"the run of '{self.model.name}' stopped at {self.state.t:.3g} s: "
                                + ('its loops can not be closed there' if status == 1 else 'it left the finite numbers')
                                + '; change a parameter back, or reset', True)
                self._restore()
                break
        self.frame = self._frame()

    def _step(self):
        s = self.state
        for c in self.mechanism.driven:
            s.drive(c.name, *self._hand(c, s.t), then=self._hand(c, s.t + STEP))
        status = s.run(1, STEP, self.method, self.substeps)
        if not self.joints:
            return status
        for c in self.mechanism.driven:
            self.histories[c.name].add(s.t, float(s.q[c.position]), float(s.v[c.index]), float(s.eff[c.driven]))
        return status

    def _hand(self, c, t):
        stroke, w = self.knobs[HAND + 'stroke'].value, 2 * math.pi * self.knobs[HAND + 'rate'].value
        a = w * (t - self._begun)
        if self.way:                    # from one end: it begins at rest
            return self.way[0] + stroke * (1 - math.cos(a)), stroke * w * math.sin(a), stroke * w * w * math.cos(a)
        return self._middle[c.name] + stroke * math.sin(a), stroke * w * math.cos(a), -stroke * w * w * math.sin(a)

    def _frame(self):
        s = self.state
        rates = {c.name: float(s.v[c.index]) for c in self.mechanism.coordinates}
        kinetic, potential = s.energy()
        self.rows = [('simulated', f'{s.t:.1f} s'), ('energy', f'{kinetic:.4g} J kinetic, {potential:.4g} J potential')]
        return Frame(s.t, s.q.tolist(), rates, {c.name: float(s.eff[c.driven]) for c in self.mechanism.driven}, s.outputs())

    def set(self, values, answer):
        """Set parameters in their units, or refuse them where the loops could not be closed."""
        own = {name: value for name, value in values.items() if name in self.model.parameters}
        before = self.state.x.copy()
        try:
            if own:
                self.state.set(own)
                self.state.assemble()
        except MbsError as error:
            self.state.x[:] = before
            answer(False, str(error))
            return
        for name, value in values.items():
            self.knobs[name] = Knob(**{**vars(self.knobs[name]), 'value': value})
        answer(True, '')

    def switch(self, verb, answer):
        """Begin again."""
        self._restore()
        answer(True, 'begun again')

    def _restore(self):
        now = self.state._par.copy()
        self.state.x[:] = self._start
        self.state._par[:] = now
        self.model.unit.library.call('pre', self.state.x)
        try:
            self.state.assemble()
        except MbsError:                # with these parameters there is no way back: the ones it began with
            self.state.x[:] = self._start
            self.knobs.update((name, Knob(**{**vars(self.knobs[name]), 'value': self.state.get(name)})) for name in self.model.parameters)
            self.knobs_changed = True
        self._begun = self.state.t
        for history in self.histories.values():
            history.rows.clear()
