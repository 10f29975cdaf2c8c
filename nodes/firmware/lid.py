"""The lid in virtual time: the firmware's `sim` board with its two screws, and the controller's own compiled model as host.

The same two programs as on a real device, the model of `lid_control` at 1 kHz above and the firmware below, without a link
between them: set-points take effect one period after the sample they answer.
"""

import numpy as np

from mbs_core.control.lid import Tuning, state_name
from mbs_core.control.lid_map import lid_map
from mbs_core.errors import MbsError
from mbs_haptics.firmware.sim import BOOT_TICKS, FAULT, MAIN_TICKS, Sim

RODS = ('left', 'right')
BELIEVED = {'m_1': 4.0}          # of the device: two rotors of 2 kg, seen at the rods
KEPT = ('t', 'theta', 'h', 'theta_wanted', 'h_wanted', 'F1', 'F1m', 'F1c', 'hand', 'hit', 'sigma', 'w', 'skew', 'force', 'r1')


def lid_model(smoothness=3, law='blended'):
    """Return the compiled model of the controlled lid."""
    from mbs_core.mechanisms import build
    from mbs_core.runtime import compile_model
    return compile_model(build('lid_control', smoothness=smoothness, law=law))


class LidSim:
    """One lid, closed and armed. plant: numbers of the simulated device; model: of `lid_model`; parameters: of the model."""

    def __init__(self, model, plant=None, seed=1, table=None, **parameters):
        self.sim, self.table = Sim('lid_hinge', seed), table or lid_map()
        self.sim.set(**(plant or {}))
        self.state = model.state()
        self.state.set({**BELIEVED, **parameters})
        self.c = Tuning(**{name: self.state.get(f'control.{name}') for name in ('T_t', 'T_b', 'T_r')})
        self.sim.run(BOOT_TICKS)
        if self.sim.arm():
            raise MbsError('the simulated lid was not armed')
        self._drive(first=True)

    def command(self, value, assist=0.0):
        """Ask for opening (1), closing (-1) or holding (0), and for assistance; refused while the device is in a fault."""
        if self.faulted:
            raise MbsError('the lid has a fault: it is without force until it is reset; ask again then')
        self.state.set({'command': value, 'assist': assist})

    @property
    def faulted(self) -> bool:
        """Tell whether the firmware has latched a fault."""
        return self._firmware_state == FAULT

    @property
    def name(self) -> str:
        """Return the name of the lid's state."""
        out = self.out
        return state_name(out['sigma'], out['w'], out['soft'] > 0.5, self.c, self.faulted)

    def run(self, seconds, each=None) -> dict:
        """Let time pass; `each(lid)` is called every ms. Return {signal: array}; theta, h, r1 are the plant's own."""
        rows = []
        for _ in range(round(seconds * 1000)):
            if each:
                each(self)
            self._drive()
            out = self.out
            laws = []
            for i, rod in enumerate(RODS):
                q, v = self._seen[i]
                damping = out[f'{rod}.damping']
                laws.append((out[f'{rod}.force'] + damping * v, q, 0.0, damping))
            log = self.sim.run(MAIN_TICKS, MAIN_TICKS)
            self._firmware_state = log['state'][-1]
            self.sim.setpoint(*laws)
            r = 0.5 * (self.sim.get('position') + self.sim.get('position1'))
            true = self.table.at(r)
            rows.append((self.sim.time_s, true['theta'], true['h'], *(out[n] for n in KEPT[3:12]),
                         self.sim.get('position') - self.sim.get('position1'), self.sim.get('force') + self.sim.get('force1'), r))
        return dict(zip(KEPT, np.array(rows, float).T))

    def _drive(self, first=False):
        """Give the model the measured strokes of this period and step it."""
        views = [self.sim.view(i) for i in range(2)]
        seen = [(view['q'], view['qd']) for view in views]
        for rod, before, now in zip(RODS, seen if first else self._seen, seen):
            self.state.drive(rod, *before, then=(*now, 0.0))      # from where it was to where it is
        self._seen = seen
        if first:
            self._firmware_state = 0
            self.state.assemble()
        else:
            self.state.run(1, 1e-3, 'euler')
        self.out = self.state.outputs()
