"""The face of a loop, native or not: start, stop, enable, e-stop, reset, parameters, statistics.

Everything here talks to the running tick through a few numbers of the block; nothing waits inside the tick.
"""

import threading
import time

import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_haptics.realtime import program, rights, statistics, supervise
from mbs_haptics.realtime.block import SCALARS, TRACE_COLUMNS, Block, Outlet
from mbs_haptics.realtime.settings import SAMPLE

COUNTERS = ('ticks', 'skipped', 'deadlines', 'watch_ticks', 'stale', 'received', 'lost', 'repeated', 'overtaken', 'refused_layout', 'refused_nan',
            'refused_jump', 'refused_frozen', 'take_errors', 'clock_steps', 'publish_errors', 'faults_seen', 'cut_finite',
            'cut_passivity', 'cut_velocity', 'cut_thermal', 'cut_slew', 'cut_clamp', 'refused_input', 'stale_input')
KEPT = ('posted', 'taken', 'way', 'estopped')
PACE = 0.6, 1.7          # bounds of the samples' spacing in periods; a busy machine that simulates a device is slower now and then
PATIENCE = 0.5            # seconds to wait for a tick to take a request; a running loop needs two periods


class Loop:
    """A 1 kHz loop over one model: samples of the layout `sample` in, set-points of the layout `setpoint` out.

    `outlets` is a function (block -> list of Outlet) for messages besides the set-point. Subclasses say how it runs.
    """

    native = False

    def __init__(self, settings, sample, setpoint, model=None, outlets=None, priority=80, cpu=None, lock_memory=True):
        self.settings, self.model = settings, model
        self.block = Block(settings, sample, model)
        self.outlets = [Outlet(setpoint, self.block.setpoint_sources()), *(outlets(self.block) if outlets else ())]
        if len(self.outlets) > 7:
            raise MbsError(f'a loop publishes at most 7 messages, not {len(self.outlets)}')
        self.program = program.build(self.block.layout, self.block.constants(self.outlets))
        self.priority, self.cpu, self.lock_memory = priority, cpu, lock_memory
        self.notices = []
        self._thread, self._requests = None, threading.RLock()
        self._scratch = model.state() if model else None
        self._commanded = {i.name: i.value for i in settings.commanded}

    # -- running ---------------------------------------------------------------------------------
    @property
    def running(self) -> bool:
        """Tell whether the loop's thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def start(self):
        """Start the loop's thread; it begins inactive, with zero set-points."""
        if self.running:
            raise MbsError('the loop is already running')
        self._clear()
        self.prepare()
        rights.collector()
        if self.lock_memory:
            self.notices += rights.memory()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(ready,), name='haptic_loop', daemon=True)
        self._thread.start()
        ready.wait(5.0)

    def _clear(self):
        """Forget the last run: counts, histograms, samples. Parameters, sequences, heat and a pressed e-stop stay."""
        for name in SCALARS:
            if name not in KEPT:
                self.block[name] = 0.0
        for name in ('histogram', 'largest', 'trace', 'force', 'raw', 'a', 'same', 'energy'):
            self.block.view(name)[:] = 0.0
        self.block.forget_inputs()

    def stop(self, timeout=2.0):
        """Stop the loop; its last messages are zero set-points."""
        if self._thread is None:
            return
        self.block['stop'] = 1.0
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise MbsError(f'the loop did not end within {timeout:g} s')
        self._thread = None
        self.release()

    def _main(self, ready):
        notices = rights.thread(self.priority, self.cpu)
        self.notices += notices
        self.thread_ready(rights.is_fifo())
        ready.set()
        self.call('watch' if self.settings.wake == SAMPLE else 'run')

    def prepare(self):
        """Get ready to run (subclasses)."""

    def thread_ready(self, fifo):
        """Note what the thread was given (subclasses)."""

    def release(self):
        """Give back what prepare took (subclasses)."""

    def call(self, name, *args):
        """Run one of the rules (subclasses)."""
        raise NotImplementedError

    # -- requests --------------------------------------------------------------------------------
    @property
    def state(self) -> str:
        """The state: inactive, active, stopping or fault."""
        return supervise.STATES[int(self.block['state'])]

    @property
    def fault(self) -> str:
        """The latched fault: none, sensor, overrun, model, estop, force or publish."""
        return supervise.FAULTS[int(self.block['fault_code'])]

    def enable(self):
        """Become active: the force rises from zero. Refused in a fault, or without a fresh sample."""
        if self.state == 'active':
            return
        if self.state == 'fault':
            raise MbsError(f"enable was refused: the fault '{self.fault}' is latched; reset first")
        if not self.block['have'] or self.block['age'] > self.settings.stale_after * 1e9:
            raise MbsError('enable was refused: there is no fresh sample; check that the device is publishing')
        self._check_pace()
        with self._requests:
            if self.model:
                self._assemble()
            self._request(supervise.ENABLE)
        if self.state != 'active':
            raise MbsError(f'enable was refused: the loop is {self.state}' + (f" ('{self.fault}')" if self.state == 'fault' else ''))

    def _check_pace(self):
        """Refuse samples of another rate to wake the loop: the model would run faster or slower than time."""
        spacing, period = float(self.block['spacing']), self.settings.period_ns
        if self.settings.wake == SAMPLE and spacing and not PACE[0] < spacing / period < PACE[1]:
            raise MbsError(f'enable was refused: samples come every {spacing * 1e-6:.3g} ms, but a tick is {period * 1e-6:.3g} ms long; set '
                           f'rate_hz to {1e9 / spacing:.0f}, or wake to timer')

    def _assemble(self):
        """Bring the model to the measured pose; the loop leaves it alone while inactive."""
        state, block = self.block.state, self.block
        self._wait(lambda: block['posted'] == block['taken'] and block['way'] >= 1.0, 'take the last parameters')
        parameters, inputs = state._par.copy(), state.inp.copy()
        self.model.unit.library.call('start', block.x)          # law states and rates anew, with the parameters of now
        state._par[:], state.inp[:] = parameters, inputs
        self.model.unit.library.call('pre', block.x)
        for i, c in enumerate(self.settings.channels):
            coordinate = self.model.mechanism.coordinate_of(c.coordinate or c.joint)
            q = c.ratio * float(block.view('q')[i])
            if coordinate.driven >= 0:
                state.drive(coordinate.name, q)
            else:
                state.q[coordinate.position], state.v[coordinate.index] = q, 0.0
        state.assemble()

    def disable(self):
        """Let the force decay, then be inactive."""
        self._request(supervise.DISABLE)

    def estop(self):
        """Stop at once: zero set-point from the next tick on, latched until reset."""
        self.block['estopped'] = 1.0

    def reset(self):
        """Leave the fault state; the loop is inactive then, and enable starts again from zero force."""
        if self.state != 'fault' and not self.block['estopped']:
            return
        self.block['estopped'] = 0.0
        self._request(supervise.RESET)
        if self.state == 'fault':
            raise MbsError(f"reset was refused: the fault '{self.fault}' is still there")

    def _request(self, number):
        with self._requests:
            self.block['request'] = float(number)
            self._wait(lambda: self.block['request'] == 0.0, 'take the request')

    def _wait(self, done, what):
        end = time.monotonic() + PATIENCE
        while not done():
            if not self.running or time.monotonic() > end:
                raise MbsError(f'the loop did not {what}: it is not running' if not self.running else f'the loop did not {what} in time')
            time.sleep(2e-4)

    # -- parameters ------------------------------------------------------------------------------
    def check_parameters(self, batch: dict):
        """Refuse a batch that names an unknown parameter, or holds a value outside its range; changes nothing."""
        if self._scratch is None:
            raise MbsError(f"there is no parameter '{next(iter(batch), '')}': the loop has no model")
        before = self._scratch._par.copy()
        try:
            self._scratch.set(batch)
        finally:
            self._scratch._par[:] = before

    def check_inputs(self, inputs: dict):
        """Refuse inputs that can't be commanded or lie outside their range; changes nothing."""
        known = {i.name: i for i in self.settings.commanded}
        for name, value in inputs.items():
            if name not in known:
                measured = [i.name for i in self.settings.measured]
                raise MbsError(f"the input '{name}' is measured: it can't be set" if name in measured else
                               f"there is no input '{name}' to set{suggest(name, known)}")
            if not known[name].low <= value <= known[name].high:
                raise MbsError(f"the input '{name}' = {value:g} is outside its range [{known[name].low:g}, {known[name].high:g}]")

    def set_parameters(self, batch: dict, inputs: dict | None = None):
        """Check a batch (and commanded inputs) as a whole and hand it to the loop, which moves there from its next tick on."""
        inputs = inputs or {}
        if batch or not inputs:
            self.check_parameters(batch)
        self.check_inputs(inputs)
        with self._requests:
            if self.running:
                self._wait(lambda: self.block['posted'] == self.block['taken'], 'take the last parameters')
            self._scratch.set(batch)
            number = int(self.block['posted']) + 1
            self._commanded.update(inputs)
            values = [*self._scratch._par, *self._commanded.values()]
            n = len(values)
            self.block.view('new')[number % 2 * n:number % 2 * n + n] = values
            self.block['posted_tick'] = self.block['ticks'] - 1.0      # the last one done; -1 before the first
            self.block['posted'] = float(number)      # last: from here on the loop may read

    def inputs(self) -> dict:
        """Return {name: value} of the inputs as the model has them now."""
        if not self.model:
            return {}
        return {i.name: float(self.block.state.inp[self.model.inputs[i.name].index]) for i in self.settings.inputs}

    def parameter(self, name) -> float:
        """Return what a parameter was last set to, in its declared unit."""
        if self._scratch is None:
            raise MbsError(f"there is no parameter '{name}': the loop has no model")
        return self._scratch.get(name)

    # -- what happened ---------------------------------------------------------------------------
    def snapshot(self) -> np.ndarray:
        """Return a copy of the block from between two ticks (the best try of a few where ticks never pause)."""
        for _ in range(20):
            begun = self.block['begun']
            if begun == self.block['ended']:
                x = self.block.x.copy()
                if self.block['begun'] == begun:
                    return x
            time.sleep(2e-5)
        return self.block.x.copy()

    def counters(self) -> dict:
        """Return the counts since the start."""
        return {name: int(self.block[name]) for name in COUNTERS}

    def histogram(self, name) -> dict:
        """Return the summary of 'lateness', 'period', 'execution' or 'age', in microseconds."""
        if name not in statistics.HISTOGRAMS:
            raise MbsError(f"there is no histogram '{name}'{suggest(name, statistics.HISTOGRAMS)}")
        k = statistics.HISTOGRAMS.index(name)
        counts = self.block.view('histogram')[k * statistics.BINS:(k + 1) * statistics.BINS].copy()
        return statistics.summary(counts, float(self.block.view('largest')[k]))

    def statistics(self) -> dict:
        """Return state, counts, largest gap and all histograms."""
        return {'state': self.state, 'fault': self.fault, 'native': self.native, **self.counters(),
                'largest_gap_us': float(self.block.view('largest')[1]) / 1e3,
                **{name: self.histogram(name) for name in statistics.HISTOGRAMS}}

    def forget_statistics(self):
        """Empty the histograms, for instance after a warm-up; counts go on."""
        self.block.view('histogram')[:] = 0.0
        self.block.view('largest')[:] = 0.0

    def trace(self) -> dict:
        """Return the last ticks kept, oldest first, as arrays by name (times in ns)."""
        rows = self.block.view('trace').reshape(-1, len(TRACE_COLUMNS)).copy()
        n = int(self.block['ticks'])
        if n > len(rows) > 0:
            rows = np.roll(rows, -(n % len(rows)), axis=0)
        return dict(zip(TRACE_COLUMNS, rows[:n].T))
