"""The one block of doubles a loop works on: the model's state, then the loop's own arrays, named scalars and words.

Everything the tick touches lies here, allocated before it starts; Python sees the same memory as numpy arrays.
"""

import copy
import dataclasses

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_core.runtime.model import METHODS
from mbs_core.symbolic.program import Layout
from mbs_haptics.realtime import primitives, supervise
from mbs_haptics.realtime.messages import DIGITS
from mbs_haptics.realtime.settings import ADMITTANCE, IMPEDANCE
from mbs_haptics.realtime.statistics import BINS, HISTOGRAMS

SCALARS = ('stop', 'state', 'fault_code', 'fault_tick', 'faults_seen', 'request', 'estopped', 'gain', 'ticks', 'skipped', 'in_a_row',
           'start', 'first_due', 'last_due', 'begun', 'ended', 'pending', 'raised', 'alone', 'watch_ticks', 'have', 'have_sequence',
           'have_offset', 'offset_time', 'sequence', 'accepted', 'born', 'age', 'fresh', 'stale', 'received', 'lost', 'repeated',
           'overtaken', 'refused_layout', 'refused_nan', 'refused_jump', 'refused_frozen', 'take_errors', 'clock_steps', 'primed',
           'status', 'open', 'failed', 'publish_errors', 'posted', 'taken', 'way', 'change_tick', 'cut_finite', 'cut_passivity',
           'cut_velocity', 'cut_thermal', 'cut_slew', 'cut_clamp', 'refused_input', 'stale_input', 'deadlines', 'ticked', 'have_ticked',
           'stood_in', 'came', 'stamp', 'stamp_of', 'spacing', 'posted_tick', 'took', 'took_most', 'before')
PER_CHANNEL = ('q', 'v', 'a', 'f', 'same', 'raw', 'force', 'energy', 'energy_q', 'heat', 'set_q', 'set_v', 'set_f', 'set_k', 'set_b',
               'plausible', 'frozen_speed', 'energy_kept', 'energy_allowed', 'damping_most', 'speed_soft', 'speed_hard',
               'thermal_weight', 'thermal_start', 'continuous', 'force_most', 'slew_most', 'stiffness_most', 'damping_sent')
PER_INPUT = ('input_target', 'input_value', 'input_born', 'input_low', 'input_high', 'input_safe', 'input_step')
TRACE_COLUMNS = ('t', 'lateness', 'execution', 'sample', 'state', 'gain', 'force', 'age')


@dataclasses.dataclass(frozen=True)
class Outlet:
    """A message the loop publishes: its layout, {path: place in the block}, and every how many ticks."""

    layout: object
    sources: dict
    every: int = 1


class Block:
    """Layout, memory and constants of one loop; `x` is the memory, `state` the model's State in it (or None)."""

    def __init__(self, settings, sample, model=None):
        self.settings, self.sample, self.model = settings, sample, model
        n = len(settings.channels)
        self.layout = layout = Layout()
        layout.add('model', -(-model.unit.total // 8) * 8 if model else 0)
        for name, size in [(s, 1) for s in SCALARS] + [(s, n) for s in PER_CHANNEL] + [(s, len(settings.measured)) for s in PER_INPUT]:
            layout.add(name, size)
        npar = (len(model.parameters) if model else 0) + len(settings.commanded)
        for name, size in (('largest', len(HISTOGRAMS)), ('histogram', len(HISTOGRAMS) * BINS), ('new', 2 * npar), ('par_from', npar),
                           ('par_to', npar), ('sent', 8), ('trace', len(TRACE_COLUMNS) * settings.trace),
                           ('info', primitives.INFO), ('words', len(primitives.WORDS) + 8 * primitives.SLOT)):
            layout.add(name, size)
        self._allocate()
        self.words = self.x.view(np.int64)[layout.slice('words')]
        self._fill()

    def _allocate(self):
        """Make the memory; the model's state becomes its first part."""
        if self.model is None:
            raw = np.zeros(self.layout.total + 8)
            shift = (-raw.ctypes.data // 8) % 8
            self.x, self.state = raw[shift:shift + self.layout.total], None
            return
        wide = copy.copy(self.model)
        wide.unit = dataclasses.replace(self.model.unit, total=self.layout.total)
        self.state = wide.state()
        self.x = self.state.x

    def _fill(self):
        """Write the settings that are data: limits, bounds, and a parameter way that has been gone."""
        s = self.settings
        self['way'] = 1.0
        for i, c in enumerate(s.channels):
            m = c.limits
            for name, value in (
                    ('plausible', c.plausible_speed), ('frozen_speed', c.frozen_speed), ('energy_kept', m.energy_kept),
                    ('energy_allowed', m.energy), ('damping_most', m.damping), ('speed_soft', m.speed_soft),
                    ('speed_hard', m.speed_hard), ('thermal_weight', min(1.0, s.step / m.thermal_time)),
                    ('thermal_start', m.thermal_start), ('continuous', m.continuous), ('force_most', m.force), ('slew_most', m.slew),
                    ('stiffness_most', c.stiffness_max), ('damping_sent', c.damping_max)):
                self.view(name)[i] = value
        for i, given in enumerate(s.measured):
            slew = given.slew or (given.high - given.low) / s.parameter_ramp
            for name, value in (('low', given.low), ('high', given.high), ('safe', given.safe), ('step', slew * s.step)):
                self.view(f'input_{name}')[i] = value
        self.forget_inputs()
        for given in s.commanded:
            if self.model and given.name in self.model.inputs:
                self.state.inp[self.model.inputs[given.name].index] = given.value

    def forget_inputs(self):
        """Let measured inputs be safe until a sample comes."""
        for name in ('target', 'value'):
            self.view(f'input_{name}')[:] = self.view('input_safe')
        self.view('input_born')[:] = -1e18

    # -- access ----------------------------------------------------------------------------------
    def view(self, name) -> np.ndarray:
        """Return an array of the block by name."""
        return self.x[self.layout.slice(name)]

    def __getitem__(self, name) -> float:
        return float(self.x[self.layout.offset(name)])

    def __setitem__(self, name, value):
        self.x[self.layout.offset(name)] = value

    def word(self, name) -> int:
        """Return the place of a word among the words."""
        return primitives.WORDS.index(name)

    def slot(self, k) -> slice:
        """Return the slice of the words of message k (0 is the sample, outlets follow)."""
        first = len(primitives.WORDS) + primitives.SLOT * k
        return slice(first, first + primitives.SLOT)

    def place(self, name, index=0) -> int:
        """Return the index in x of a loop array's number, or of a model's: 'model.q', 'model.eff', 'model.out', ..."""
        if name.startswith('model.'):
            if self.model is None:
                raise MbsError(f"'{name}' can't be sent: the loop has no model")
            places = self.model.unit.places
            if name[6:] not in places:
                raise MbsError(f"the model '{self.model.name}' has no array '{name[6:]}'{suggest(name[6:], places)}")
            offset, size = places[name[6:]]
        else:
            offset, size = self.layout.offset(name), self.layout.size(name)
        if not 0 <= index < size:
            raise MbsError(f"index {index} is outside '{name}' of {size} numbers")
        return offset + index

    def setpoint_sources(self) -> dict:
        """Return {path: place} of a set-point message (see messages.setpoint)."""
        n, out = len(self.settings.channels), {}
        for i in range(n):
            out[f'position[{i}]'], out[f'velocity[{i}]'] = self.place('set_q', i), self.place('set_v', i)
            for k, name in enumerate(('set_f', 'set_k', 'set_b')):
                out[f'effort[{k * n + i}]'] = self.place(name, i)
        return out

    # -- constants of the kernels ----------------------------------------------------------------
    def constants(self, outlets) -> dict:
        """Return what the upper-case names of the kernels stand for."""
        s, lay = self.settings, self.layout
        c = {name.upper(): lay.offset(name) for name in lay.names()}
        c.update({f'{name.upper()}_STATE': k for k, name in enumerate(supervise.STATES)})
        c.update({f'{name.upper()}_FAULT': k for k, name in enumerate(supervise.FAULTS)})
        c.update(NC=len(s.channels), DIGITS=DIGITS, BINS=BINS, STEP=s.step, PERIOD=s.period_ns, SPIN=round(s.spin * 1e9),
                 STALE_AFTER=s.stale_after * 1e9, DECAY=s.decay * 1e9, FAULT_AFTER=s.fault_after * 1e9, RISE=s.step / s.ramp,
                 FALL=s.step / s.decay, CLOCK_STEP=round(s.clock_step * 1e9), WAY_STEP=min(1.0, s.step / s.parameter_ramp),
                 MOST_MISSED=float(s.most_missed), MOST_FAILED=float(supervise.MOST_FAILED), FROZEN_SAMPLES=s.frozen_samples,
                 ACCELERATION=float(s.acceleration_filter), SUBSTEPS=s.substeps, TRACE_ROWS=s.trace,
                 SOONEST=s.period_ns * 3 // 4,
                 PATIENCE=round(max(2.5 * s.period_ns, min(s.stale_after * 1e9, 5.0 * s.period_ns))),
                 MODELLED=int(self.model is not None), OFFSET_WORD=lay.offset('words') + self.word('offset'))
        if s.method not in METHODS:
            raise MbsError(f"the integrator '{s.method}' is unknown{suggest(s.method, METHODS)}")
        c['METHOD'] = METHODS[s.method]
        c.update(self._sample_constants(), **self._model_constants(), **self._input_constants(), **self._outlet_constants(outlets))
        return c

    def _sample_constants(self):
        names = list(self.sample._message.name)
        out = {'SAMPLE_STAMP': self.sample.stamp, 'SAMPLE_DIGITS': self.sample.digits}
        for key, array in (('SAMPLE_Q', 'position'), ('SAMPLE_V', 'velocity'), ('SAMPLE_F', 'effort')):
            for ch in self.settings.channels:
                if ch.joint not in names:
                    raise MbsError(f"the samples have no joint '{ch.joint}'{suggest(ch.joint, names)}")
            out[key] = tuple(self.sample.places[f'{array}[{names.index(ch.joint)}]'] for ch in self.settings.channels)
        return out

    def _input_constants(self):
        """Return where measured inputs are read and where measured and commanded ones enter the model."""
        s, names = self.settings, list(self.sample._message.name)
        forces = [ch.force_input for ch in s.channels if ch.mode == ADMITTANCE]
        for given in s.inputs:
            if self.model is None or given.name not in self.model.inputs:
                raise MbsError(f"there is no input '{given.name}' in the model{suggest(given.name, self.model.inputs if self.model else ())}")
            if given.name in forces:
                raise MbsError(f"the input '{given.name}' is the measured force of a channel already: leave it out of 'inputs'")
            if given.joint and given.joint not in names:
                raise MbsError(f"input '{given.name}': the samples have no joint '{given.joint}'{suggest(given.joint, names)}")

        def at(given):
            return tuple(self.place('model.in', self.model.inputs[i.name].index) for i in given) or (0,)
        return {'MEASURED': len(s.measured), 'INPUT_AT': at(s.measured), 'COMMANDED': len(s.commanded), 'COMMAND_AT': at(s.commanded),
                'INPUT_SAMPLE': tuple(self.sample.places[f'position[{names.index(i.joint)}]'] for i in s.measured) or (0,),
                'INPUT_GAIN': tuple(float(i.gain) for i in s.measured) or (0.0,),
                'INPUT_OFFSET': tuple(float(i.offset) for i in s.measured) or (0.0,)}

    def _model_constants(self):
        """Return where each channel meets the model; -1 where it doesn't."""
        rows = {k: [] for k in ('DRIVE', 'EFFORT', 'FORCE_INPUT', 'MODEL_Q', 'MODEL_V', 'SLOPE_K', 'SLOPE_B')}
        for ch in self.settings.channels:
            row = self._meet(ch) if self.model else {}
            for key, values in rows.items():
                values.append(row.get(key, -1))
        used = any(ch.stiffness_output or ch.damping_output or ch.effort_output for ch in self.settings.channels)
        channels = self.settings.channels
        return {**{k: tuple(v) for k, v in rows.items()}, 'PAR': self.place('model.par') if self.model and self.model.parameters else 0,
                'NPAR': len(self.model.parameters) if self.model else 0, 'OUTPUTS': int(self.settings.outputs or used),
                'RATIO': tuple(float(ch.ratio) for ch in channels),
                'COUPLING_K': tuple(float(ch.stiffness) if ch.mode == ADMITTANCE else 0.0 for ch in channels),
                'COUPLING_B': tuple(float(ch.damping) if ch.mode == ADMITTANCE else 0.0 for ch in channels)}

    def _meet(self, ch):
        m = self.model.mechanism
        c = m.coordinate_of(ch.coordinate or ch.joint)
        out = {'MODEL_Q': self.place('model.q', c.position), 'MODEL_V': self.place('model.v', c.index)}
        if ch.mode == IMPEDANCE:
            if c.driven < 0:
                raise MbsError(f"channel '{ch.joint}': the coordinate '{c.name}' of '{m.name}' is not driven"
                               f'{suggest(c.name, self.model.driven)}')
            out.update(DRIVE=self.place('model.drv', 6 * c.driven), EFFORT=self.place('model.eff', c.driven))
            if ch.effort_output:
                out['EFFORT'] = self._output(ch, ch.effort_output)
        elif ch.force_input not in self.model.inputs:
            raise MbsError(f"channel '{ch.joint}': '{m.name}' has no input '{ch.force_input}'{suggest(ch.force_input, self.model.inputs)}")
        else:
            out['FORCE_INPUT'] = self.place('model.in', self.model.inputs[ch.force_input].index)
        for key, name in (('SLOPE_K', ch.stiffness_output), ('SLOPE_B', ch.damping_output)):
            if name:
                out[key] = self._output(ch, name)
        return out

    def _output(self, ch, name):
        if name not in self.model.outputs:
            raise MbsError(f"channel '{ch.joint}': '{self.model.name}' has no output '{name}'{suggest(name, self.model.outputs)}")
        return self.place('model.out', self.model.outputs.index(name))

    def _outlet_constants(self, outlets):
        first, at, source = [0], [], []
        for o in outlets:
            at += [o.layout.places[path] for path in o.sources]
            source += list(o.sources.values())
            first.append(len(at))
        return {'OUTLETS': len(outlets), 'OUT_FIRST': tuple(first), 'OUT_AT': tuple(at), 'OUT_FROM': tuple(source),
                'OUT_EVERY': tuple(o.every for o in outlets), 'OUT_STAMP': tuple(o.layout.stamp for o in outlets),
                'OUT_DIGITS': tuple(o.layout.digits for o in outlets), 'OUT_ANSWERED': tuple(o.layout.answered for o in outlets)}
