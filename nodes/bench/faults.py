"""The fault matrix: every fault is made on the running chain, and the time to zero force is read in the device's clock.

Zero force: the device drives nothing, or less than a hundredth of what it drove. `haptic bench faults --write` keeps the
table of docs/fault_matrix.md; test/test_fault_matrix.py sees to it that the table and this list stay in step.
"""

import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.bench.fault_chain import Chain, driven_force
from mbs_haptics.figures import Figures

SMALL = 0.01            # part of the force before that counts as zero
TICK = 1e-4             # s, resolution of the firmware's log
OBSERVED, HEALED = 250, 400         # ms with the fault, and after it has been taken away


@dataclass(frozen=True)
class Fault:
    """One fault: how it is made and taken away, and what is promised.

    within_ms: time to zero force, None where the force has to go on undisturbed; latched: whether it takes a reset, or
    enabling, to get force again once the cause is gone.
    """

    name: str
    what: str
    within_ms: float | None
    latched: bool
    reason: str
    inject: Callable
    heal: Callable | None = None


@dataclass(frozen=True)
class Found:
    """What came of a fault: time to zero force (None: it never was zero), whether it stayed off, who latched what, and the
    largest change of the force in a millisecond beside what the slew limit allows."""

    to_zero_ms: float | None
    stayed_off: bool
    device_fault: int
    loop_fault: str
    step_N: float
    slew_N: float
    violations: dict

    def keeps(self, fault: Fault) -> bool:
        """Tell whether this keeps the promise of the fault."""
        if self.violations:
            return False
        if fault.within_ms is None:
            return self.to_zero_ms is None and not self.stayed_off and self.step_N <= self.slew_N
        return self.to_zero_ms is not None and self.to_zero_ms <= fault.within_ms and self.stayed_off == fault.latched


# -- the faults ------------------------------------------------------------------------------------
def _unplug(chain, on=True):
    chain.link.cut = on
    chain.sim.library.sim_drop_link(int(on))


def _freeze(chain):
    for channel in (0, 1):
        chain.sim.override(channel, chain.counts[channel])


def _thaw(chain):
    for channel in (0, 1):
        chain.sim.override(channel)


def _nan(chain, data):
    data = bytearray(data)
    struct.pack_into('<d', data, chain.writer.layout.places['position[0]'], float('nan'))
    return bytes(data)


def _storm(chain):
    source = random.Random(2)
    declared = [p for p in chain.model.parameters.values() if not p.structural]

    def batch(chain):
        chosen = source.sample(declared, source.randint(1, len(declared)))
        chain.loop.set_parameters({p.name: source.uniform(p.low, min(p.high, 4 * p.default + 1e-3)) for p in chosen})
    chain.before_tick = batch


def _set(**switches):
    def act(chain):
        for name, value in switches.items():
            setattr(chain, name, value)
    return act


FAULTS = (
    Fault('link unplugged', 'the cable is pulled, later plugged in again', 10.5, True,
          'set-point time-out of the firmware, 10 ms after the last one it took', _unplug, lambda c: _unplug(c, False)),
    Fault('device killed', "the device's power fails and comes back", 0.2, True,
          'it starts disarmed; set-points that go on coming move nothing', lambda c: c.restart_device()),
    Fault('roscom killed', 'roscom is gone', 10.5, True, 'set-point time-out of the firmware', _set(roscom=False)),
    Fault('rosbotran killed', 'rosbotran is gone', 10.5, True, 'roscom sends nothing by itself: set-point time-out', _set(rosbotran=False)),
    Fault('rosbotran stopped', 'SIGSTOP, and SIGCONT after 250 ms', 10.5, True,
          'set-point time-out; the loop latches the missed deadlines when it goes on', _set(rosbotran=False), _set(rosbotran=True)),
    Fault('frozen sensor', 'both Hall sensors repeat their counts, at rest', 115.0, True,
          'an analogue sensor never repeats itself for 100 ms: implausible, power off', _freeze, _thaw),
    Fault('NaN from a sensor', 'joint_states carry NaN', 12.0, True,
          'refused: 3 to 10 ms after the last good sample the force decays, at 20 ms the loop latches', _set(spoil=_nan), _set(spoil=None)),
    Fault('jump', 'a Hall sensor jumps by 20 000 counts and stays', 6.0, True,
          'further than any motion for 3 ms: implausible, power off', lambda c: c.sim.override(0, c.counts[0] - 20000),
          lambda c: c.sim.override(0)),
    Fault('late samples', 'samples reach rosbotran 25 ms late', 12.0, True,
          'their age counts: the force decays from 3 to 10 ms, latched at 20 ms', _set(delay_ms=25), _set(delay_ms=0)),
    Fault('short gap', 'no samples reach rosbotran for 8 ms', None, False,
          'the force decays from 3 ms on and comes back over the ramp', _set(drop=8)),
    Fault('clock step', 'the wall clock is set forward by an hour, later back', None, False,
          'ages count on the monotonic clock; the loop follows the stamps anew', _set(wall_shift=3600 * 10**9), _set(wall_shift=0)),
    Fault('corrupted bytes', 'a bit flips in every frame, both ways', 10.5, True,
          'checksums refuse all of them: set-point time-out', lambda c: setattr(c.link, 'corrupt', True),
          lambda c: setattr(c.link, 'corrupt', False)),
    Fault('parameter storm', 'a random batch of parameters in every tick', None, False,
          'each is approached over 20 ms, and the slew limit holds', _storm, _set(before_tick=None)),
)


def by_name(name) -> Fault:
    """Return a fault of the matrix."""
    found = [fault for fault in FAULTS if fault.name == name]
    if not found:
        raise MbsError(f"there is no fault '{name}' in the matrix")
    return found[0]


def measure(fault, seed=1) -> Found:
    """Make a fault on a fresh chain and return what came of it."""
    chain = Chain(seed=seed).start()
    before = driven_force(chain.log())[-100:]
    small, step, zero = SMALL * float(before.mean()), 0.0, None
    if not small > 0:
        raise MbsError('the chain drives no force before the fault: the measurement would be void')
    fault.inject(chain)
    chain.step(OBSERVED)
    force = driven_force(chain.log())
    last = np.flatnonzero(force > small)
    if len(last) < len(force) and not (len(last) and last[-1] == len(force) - 1):
        zero = 0.0 if not len(last) else (float(last[-1]) + 1) * TICK * 1e3
    step = largest_step(np.concatenate([before, force]))
    if fault.heal:
        fault.heal(chain)
    chain.step(HEALED)
    log = chain.log()
    after = driven_force(log)
    if zero is None:
        step = max(step, largest_step(np.concatenate([force, after])))
    limits = chain.settings.channels[0].limits
    ratio = abs(chain.pipeline.joints[0].ratio)
    return Found(zero, bool(after[-100:].max() <= small), int(log['fault'][-1]), chain.loop.fault, step,
                 limits.slew * chain.settings.step / ratio, chain.sim.violations)


def largest_step(force) -> float:
    """Return the largest change of a force within a millisecond."""
    per = round(1e-3 / TICK)
    return float(np.abs(force[per:] - force[:-per]).max())


# -- the table -------------------------------------------------------------------------------------
BEGIN, END = '<!-- table: haptic bench faults --write -->', '<!-- end of table -->'
HEAD = ('| fault | what is done | promise | measured | force comes back | why |', '|---|---|---|---|---|---|')


def row(fault, found) -> str:
    """Return the line of a fault in the table."""
    promise = 'force goes on' if fault.within_ms is None else f'{fault.within_ms:g} ms'
    if fault.within_ms is None:
        told = f'largest step {found.step_N:.2f} N of {found.slew_N:.2f} N in 1 ms'
    else:
        told = 'never zero' if found.to_zero_ms is None else f'{found.to_zero_ms:.1f} ms'
    who = [f'device {found.device_fault}'] * bool(found.device_fault) + [f"loop '{found.loop_fault}'"] * (found.loop_fault != 'none')
    back = ('after reset and enable' + (f" ({', '.join(who)})" if who else '')) if found.stayed_off else 'by itself'
    if fault.within_ms is None:
        back = 'by itself'
    return f'| {fault.name} | {fault.what} | {promise} | {told} | {back} | {fault.reason} |'


def table(results) -> str:
    """Return the whole table of {fault: found}."""
    return '\n'.join([BEGIN, *HEAD, *(row(fault, found) for fault, found in results), END])


def rows_of(text) -> dict:
    """Return {fault name: [cells]} of the table in a page."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    lines = [[cell.strip() for cell in re.split(r'\s*\|\s*', line.strip().strip('|'))] for line in inside.strip().splitlines()[2:]]
    return {cells[0]: cells for cells in lines}


def write_table(path, results):
    """Replace the table in a page."""
    path = Path(path)
    try:
        text = path.read_text(encoding='utf-8')
        if BEGIN not in text or END not in text:
            raise MbsError(f"'{path}' has no place for the table: add the lines '{BEGIN}' and '{END}'")
        head, rest = text.split(BEGIN, 1)
        path.write_text(head + table(results) + rest.split(END, 1)[1], encoding='utf-8')
    except OSError as error:
        raise MbsError(f"'{path}' can't be read or written ({error.strerror}): choose another page with --write") from None


def run(args) -> int:
    """Measure all faults, print the figures, write the table on request; 0 if every promise is kept."""
    figures, results = Figures(), []
    for fault in FAULTS:
        found = measure(fault)
        results.append((fault, found))
        name, note = f"fault.{fault.name.replace(' ', '_')}", f'device fault {found.device_fault}, loop {found.loop_fault}'
        if fault.within_ms is None:
            figures.add(name, found.step_N, 'N in 1 ms', f'<={found.slew_N:g}', f'force goes on; {note}', ok=found.keeps(fault))
        else:
            figures.add(name, float('nan') if found.to_zero_ms is None else found.to_zero_ms, 'ms', f'<={fault.within_ms:g}',
                        f"{'latched' if found.stayed_off else 'comes back'}; {note}", ok=found.keeps(fault))
    if args.write:
        write_table(args.write, results)
    return figures.report(args.json, title='Faults: time to zero force in the clock of the firmware')
