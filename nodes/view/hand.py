"""The hand that holds a virtual device, moved from the page: to where a slider says, to and fro by itself, or let go."""

import math

FREE, IMPEDANCE, SINE = 0, 1, 7  # modes of the plant's hand: firmware/plants/parts.h
PERIOD = 2.5                    # s of the motion to and fro
GROW = 1.0                      # s until that motion has its whole way
ALMOST = 0.96                   # of the way


class Hand:
    """Controls for the simulated hand; they appear once it is known that there is one."""

    def __init__(self, scene, source):
        self.spec, self.source = scene.hand, source
        self.folder, self.by_itself, self._since, self._dip, self._last = None, False, None, None, None

    def controls(self, gui, wishes, order):
        """Keep where the controls will be."""
        self._gui, self._wishes, self._order = gui, wishes, order

    def _appear(self):
        what, unit, low, high, _ = self.spec
        step = (high - low) / 200
        self.folder = self._gui.add_folder('Hand', order=self._order)
        with self.folder:
            self.slider = self._gui.add_slider(f'{what} ({unit})', low, high, step, max(low, min(0.0, high)),
                                               hint='Where the simulated hand wants the device to be')
            self.moving = self._gui.add_checkbox('to and fro', False, hint='The hand goes through its whole way by itself')
            self.release = self._gui.add_button('Let go')
        self.slider.on_update(lambda event: event.client is not None and self._wishes.append(('call', lambda: self.grip(event.target.value))))
        self.moving.on_update(lambda event: self._wishes.append(('call', lambda: self.play(event.target.value))))
        self.release.on_click(lambda _: self._wishes.append(('call', self.let_go)))

    def grip(self, value):
        """Take hold and go to a place, in the unit of the slider."""
        self.source.tell({'hand.target': value * self.spec[4], 'hand.mode': IMPEDANCE})

    def play(self, on):
        """Go to and fro, or stay."""
        self.by_itself, self._since = on, None
        if on and self.from_rest:
            self._dip = 0.0
            self.source.tell({'hand.dip': 0.0, 'hand.count': 1e9, 'hand.rate_hz': 1.0 / PERIOD, 'hand.mode': SINE})

    def let_go(self):
        """Let the device go."""
        self.by_itself = self.moving.value = False
        self._dip = None
        self.source.tell({'hand.mode': FREE})

    @property
    def from_rest(self) -> bool:
        """Whether the way begins at rest: the simulated drive then moves by itself, smoothly, however seldom this page is renewed."""
        return self.spec[2] >= 0.0

    def update(self, now):
        """Move on."""
        if self.spec is None or not self.source.has_hand:
            return
        if self.folder is None:
            self._appear()
        passed, self._last = now - (self._last or now), now
        if self._dip is not None:
            self._swing(passed)
        elif self.by_itself:
            self._since = now if self._since is None else self._since
            _, _, low, high, _ = self.spec
            self.grip((low + high) / 2 + 0.46 * (high - low) * math.sin(2 * math.pi * (now - self._since) / PERIOD))

    def _swing(self, passed):
        """Let the way of the drive grow to the whole, or shrink to nothing when it is to stop: nothing jumps."""
        full = ALMOST * self.spec[3] * self.spec[4]
        before = self._dip
        self._dip = min(full, before + full * passed / GROW) if self.by_itself else max(0.0, before - full * passed / GROW)
        if self._dip != before:
            self.source.tell({'hand.dip': self._dip})
        elif not self.by_itself:
            self._dip = None
            self.source.tell({'hand.mode': FREE})
