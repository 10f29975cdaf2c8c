"""Pictures: curves over time and the skeleton of a mechanism, drawn to PNG files without a display."""

from pathlib import Path

import matplotlib

matplotlib.use('Agg')
from matplotlib import patheffects  # noqa: E402 the backend has to be chosen first
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import MaxNLocator  # noqa: E402

from mbs_core.errors import MbsError  # noqa: E402

STYLE = {'font.size': 10, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False, 'axes.spines.right': False,
         'lines.linewidth': 1.6, 'legend.frameon': False, 'figure.dpi': 120, 'savefig.dpi': 120,
         'axes.axisbelow': True}
LEGEND_LIMIT = 12


def writable(path, ending=None) -> Path:
    """Return `path` as a Path whose folder exists (made if need be), or refuse it in one sentence."""
    path = Path(path).expanduser()
    if ending and path.suffix.lower() != ending:
        raise MbsError(f"the file '{path}' must end in {ending}")
    if path.is_dir():
        raise MbsError(f"'{path}' is a folder: give the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, 'ab'):
            pass
    except OSError as error:
        raise MbsError(f"the file '{path}' can't be written: {error.strerror}; choose another place") from None
    return path


def save(figure, path) -> Path:
    """Write a figure to a PNG file and return its path."""
    path = writable(path, '.png')
    figure.savefig(path, bbox_inches='tight')
    plt.close(figure)
    return path


def curves(path, t, panels, title='', x_label='time (s)') -> Path:
    """Draw panels over t, below each other (in two columns if they are many), and return the path.

    panels: [(label of the y axis with unit, {name: values}, {name: a level drawn dashed})].
    """
    columns = 1 if len(panels) <= 5 else 2
    rows = -(-len(panels) // columns)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(rows, columns, sharex=True, figsize=(8 * columns, 1.2 + 2.1 * rows), squeeze=False)
        filled = axes.T.ravel()[:len(panels)]
        for ax, (label, lines, levels) in zip(filled, panels):
            _panel(ax, t, label, lines, levels)
        for ax in axes.T.ravel()[len(panels):]:
            ax.set_visible(False)
        for ax in (filled[-1], *axes[-1, :columns - 1]):
            ax.set_xlabel(x_label)
            ax.tick_params(labelbottom=True)
        if len(t):
            filled[0].set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1)
        figure.suptitle(title, fontsize=12)
        figure.align_ylabels()
        figure.tight_layout()
        return save(figure, path)


def _panel(ax, t, label, lines, levels):
    colour = {}
    for name, values in lines.items():
        colour[name], = ax.plot(t, values, label=name)
    for name, level in levels.items():
        like = colour[name].get_color() if name in colour else 'black'
        ax.axhline(level, color=like, linestyle='--', linewidth=1, label=None if name in colour else name)
    flat = [abs(v).max() for v in lines.values() if len(v)]
    if flat and max(flat) == 0:
        ax.set_ylim(-1, 1)
    ax.set_ylabel(label)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.ticklabel_format(axis='y', style='sci', scilimits=(-3, 4), useMathText=True)
    if 1 <= len(lines) <= LEGEND_LIMIT:
        ax.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), ncols=1 if len(lines) <= 6 else 2, fontsize=9)
    elif lines:
        ax.annotate(f'{len(lines)} curves', (1.01, 0.5), xycoords='axes fraction', va='center')


LOOKS = {
    'ground': {'marker': '^', 's': 90, 'color': 'black', 'label': 'joint on the ground'},
    'joint': {'marker': 'o', 's': 36, 'facecolor': 'white', 'edgecolor': 'black', 'label': 'joint'},
    'loop': {'marker': 'o', 's': 90, 'facecolor': 'none', 'edgecolor': 'tab:red', 'linewidth': 1.6, 'label': 'closed loop'},
    'mass': {'marker': 'x', 's': 30, 'color': 'dimgrey', 'label': 'centre of mass'},
}


def skeleton(path, bones, pins, slides=(), curve=None, names=(), title='') -> Path:
    """Draw the bodies of a mechanism in one pose and return the path.

    bones: {body: [points (x, y, z)]}, joint origin first; pins: {kind of LOOKS: [points]}; slides: [(from, to)] of
    prismatic joints; curve: points of a cam; names: bodies to label. Flat mechanisms are drawn in their plane.
    """
    everything = [p for points in bones.values() for p in points] + [p for points in pins.values() for p in points]
    spread = [max(p[k] for p in everything) - min(p[k] for p in everything) for k in range(3)]
    flat = [k for k in range(3) if spread[k] <= 1e-6 * max(max(spread), 1e-12)]
    kept = [k for k in range(3) if k != (flat[-1] if flat else None)]
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(7.5, 6.5))
        ax = figure.add_subplot(projection='3d' if len(kept) == 3 else None)
        _bones(ax, bones, kept, names)
        for n, ends in enumerate(slides):
            ax.plot(*_columns(ends, kept), color='grey', linewidth=1.4, linestyle='--', label=None if n else 'slide')
        for kind, points in pins.items():
            if points:
                ax.scatter(*_columns(points, kept), zorder=4, **LOOKS[kind])
        if curve is not None:
            ax.plot(*_columns(curve, kept), color='tab:red', linewidth=1.2, linestyle=':', label='cam')
        for k, setter in zip(kept, (ax.set_xlabel, ax.set_ylabel, getattr(ax, 'set_zlabel', None))):
            setter(f'{"xyz"[k]} (m)')
        if len(kept) == 3:
            for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
                axis.set_major_locator(MaxNLocator(4))
        ax.set_aspect('equal', **({'adjustable': 'datalim'} if len(kept) == 2 else {}))
        ax.set_title(title)
        ax.legend(loc='upper left', bbox_to_anchor=(1.0, 1.0))
        return save(figure, path)


def _columns(points, kept):
    return [[p[k] for p in points] for k in kept]


def _bones(ax, bones, kept, names):
    palette = plt.get_cmap('tab10')
    for n, (name, points) in enumerate(bones.items()):
        origin, colour = points[0], palette(n % 10)
        for p in points[1:]:
            ax.plot(*_columns([origin, p], kept), color=colour, linewidth=3.5, solid_capstyle='round', alpha=0.75)
        if len(points) == 3:                        # close the triangle of a body with three points
            ax.plot(*_columns(points[1:], kept), color=colour, linewidth=3.5, alpha=0.75)
        if name in names:
            far = points[-1]
            # off the middle, where the centre of mass of a rod is; above a body that is a mere point
            place = [0.65 * origin[k] + 0.35 * far[k] for k in kept]
            word = {'color': colour, 'fontsize': 9, 'fontweight': 'bold', 'ha': 'center', 'va': 'center', 'zorder': 5}
            if len(kept) == 2:
                text = ax.annotate(name, place, xytext=(0, 0 if len(points) > 1 else 14), textcoords='offset points', **word)
            else:
                text = ax.text(*place, name, **word)
            text.set_path_effects([patheffects.withStroke(linewidth=3.5, foreground='white')])
