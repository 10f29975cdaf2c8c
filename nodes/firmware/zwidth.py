"""The Z-width of a device: which walls it renders without oscillating, by force at 1 kHz and by its local law.

In the board `sim`, a finger pushes the device against a virtual wall of stiffness K and damping B. The wall is computed
by a host at 1 kHz whose set-points take effect one millisecond after the sample, either as plain force (K = B = 0 on
the wire) or as local law (K, B on the wire, rendered by the firmware at 10 kHz). Force only is bound by its age: a wall
stays calm up to K of about (B + b) / 1.5 ms, b being the device's own damping. The local law is bound by how fast the
force may rise, K of about slew limit / speed of the impact: beyond it the wall throws the device back.
"""

from dataclasses import dataclass

import numpy as np

from mbs_haptics.firmware.sim import BOOT_TICKS, Sim

SETTLE_TICKS = 200
LOOK_TICKS = 2000
STEPS, QUICK_STEPS = 24, 8
GAIN_AIM = 3.0


@dataclass(frozen=True)
class Trial:
    """How a device is pushed against the wall: where it stands, the push, how long, and what counts as standing still."""

    q0: float
    push: float
    wait_ticks: int
    still: float
    stiffness: tuple
    damping: tuple
    unit: str
    force: str


TRIALS = {
    'piano_key': Trial(0.0025, 1.5, 16000, 2e-5, (500.0, 150000.0), (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0), 'm', 'N'),
    'steering_wheel': Trial(0.2, 1.0, 30000, 2e-3, (20.0, 8000.0), (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0), 'rad', 'N m'),
}


@dataclass(frozen=True)
class ZWidth:
    """A map: amplitude[way, i, j] in m or rad of the oscillation at damping[i], stiffness[j]; way 0 force, 1 local law.

    NaN where the device stopped itself. largest[way, i] is the stiffness up to which no wall oscillates.
    """

    app: str
    stiffness: np.ndarray
    damping: np.ndarray
    amplitude: np.ndarray
    largest: np.ndarray

    @property
    def gain(self):
        """Return how many times stiffer the local law's walls are, for each damping."""
        return self.largest[1] / self.largest[0]


def press(sim, stiffness, damping, local, seed=1):
    """Return the peak-to-peak amplitude after the impact has had time to die away; NaN if a fault stopped the device."""
    trial = TRIALS[sim.app]
    sim.reset(seed)
    sim.run(BOOT_TICKS)
    sim.arm()
    sim.wall(trial.q0, stiffness, damping, local=local)
    sim.run(SETTLE_TICKS)
    sim.set(hand__mode=4, hand__push=trial.push)
    sim.run(trial.wait_ticks)
    log = sim.run(LOOK_TICKS, 1)
    return np.nan if log['fault'][-1] else np.ptp(log['position'])


def measure(app='piano_key', steps=STEPS, seed=1) -> ZWidth:
    """Return the map of an application: `steps` stiffnesses, evenly spaced in ratio, for each of its dampings."""
    trial, sim = TRIALS[app], Sim(app)
    stiffness = np.geomspace(*trial.stiffness, steps)
    damping = np.array(trial.damping)
    shape = (2, len(damping), steps)
    amplitude = np.zeros(shape)
    for way, i, j in np.ndindex(shape):
        amplitude[way, i, j] = press(sim, stiffness[j], damping[i], way, seed)
    runs = np.cumprod(amplitude < trial.still, axis=2).sum(axis=2)    # walls before the first that oscillates
    largest = np.where(runs > 0, stiffness[np.maximum(runs - 1, 0)], np.nan)
    return ZWidth(app, stiffness, damping, amplitude, largest)


def add_figures(figures, zwidth):
    """Add how many times stiffer the local law's walls are for each damping, and the stiffest wall of each way."""
    trial = TRIALS[zwidth.app]
    where, per = f'firmware.zwidth.{zwidth.app}', f'{trial.force}/{trial.unit}'
    for damping, force, local, gain in zip(zwidth.damping, *zwidth.largest, zwidth.gain):
        tried = ', the stiffest tried' if local >= zwidth.stiffness[-1] else ''
        figures.add(f'{where}.gain.B_{damping:g}'.replace('_0.', '_0p'), float(gain), 'x', f'>={GAIN_AIM:g}',
                    f'damping {damping:g} {trial.force} s/{trial.unit}: {force:.0f} {per} by force, {local:.0f} by local law{tried}')
    for name, largest in zip(('force_only', 'local_law'), zwidth.largest):
        figures.add(f'{where}.stiffest.{name}', float(np.nanmax(largest)), per, note='over all dampings, without oscillation')


def draw(zwidth, path):
    """Draw both maps side by side, with their borders, to a PNG file and return its path."""
    from matplotlib import pyplot as plt
    from matplotlib.colors import LogNorm

    from mbs_haptics import plots
    trial = TRIALS[zwidth.app]
    shown = np.clip(zwidth.amplitude, trial.still * 0.1, None)
    rows = np.arange(len(zwidth.damping))
    per = f'{trial.force}/{trial.unit}'
    with plt.rc_context({**plots.STYLE, 'axes.grid': False}):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout='constrained')
        for way, (ax, title) in enumerate(zip(axes, ('force only, 1 kHz (K = B = 0 on the wire)',
                                                     'local law F0, q0, K, B at 10 kHz'))):
            picture = ax.pcolormesh(rows, zwidth.stiffness, shown[way].T, cmap='magma_r', shading='nearest',
                                    norm=LogNorm(trial.still * 0.1, np.nanmax(shown)))
            ax.set_facecolor('#9aa')    # seen where there is no number
            for other in (0, 1):
                ax.plot(rows, zwidth.largest[other], marker='o', color='#0a6', linestyle='-' if other == way else ':',
                        alpha=1.0 if other == way else 0.6, label=('force only', 'local law')[other])
            ax.set(yscale='log', title=title, xlabel=f'damping B of the wall ({trial.force} s/{trial.unit})')
            ax.set_xticks(rows, [f'{value:g}' for value in zwidth.damping])
            ax.legend(loc='lower right', title='largest K without oscillation', title_fontsize=9, fontsize=9,
                      frameon=True)
        axes[0].set_ylabel(f'stiffness K of the wall ({per})')
        figure.colorbar(picture, ax=axes, label=f'oscillation, peak to peak ({trial.unit}); grey: fault')
        figure.suptitle(f'{zwidth.app}: walls rendered without oscillation; the local law is '
                        f'{np.nanmin(zwidth.gain):.1f} to {np.nanmax(zwidth.gain):.1f} times stiffer', fontsize=12)
        return plots.save(figure, path)
