"""The live view of a run in the terminal: rate, largest gap, position, force, energy, faults."""

import time

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

COLOURS = {'running': 'green', 'ending': 'yellow'}


class View:
    """A panel that renews itself while lines of the processes pass above it; use it as a context."""

    def __init__(self, watch, device, console=None):
        """Prepare; nothing is shown yet."""
        self.watch, self.device, self.console = watch, device, console or Console()
        self.began = time.monotonic()
        self.live = Live(get_renderable=self.panel, console=self.console, refresh_per_second=8, transient=True)

    def __enter__(self):
        """Show it."""
        self.live.__enter__()
        return self

    def __exit__(self, *problem):
        """Remove it."""
        self.live.__exit__(*problem)

    def line(self, name, text, is_error):
        """Print a line of a process above the panel."""
        self.console.print(Text(f'[{name}] {text}', style='red' if is_error else ''))

    def panel(self):
        """Return the panel of this moment."""
        watch, now = self.watch, dict(self.watch.now)
        table = Table.grid(padding=(0, 2))
        for label, value in rows(now):
            table.add_row(Text(label, style='dim'), value)
        for name, message in sorted(watch.devices.items()):
            table.add_row(Text(name.partition(':')[0].strip('/'), style='dim'), message)
        parts = [table, *(Text(sentence, style='bold red') for sentence in watch.faults[-3:])]
        clock = f'{time.monotonic() - (watch.began or self.began):.0f} s'
        if watch.seconds is not None:
            clock += f' of {watch.seconds:g} s'
        colour = COLOURS.get(watch.phase, 'cyan')
        return Panel(Group(*parts), title=f'{escape(self.device)}  [{colour}]{watch.phase}[/]  {clock}', subtitle='Ctrl-C ends', expand=False)


def rows(now) -> list:
    """Return (label, text) rows of the figures that are there."""
    def value(key, scale=1.0, form='{:.1f}'):
        try:
            return form.format(scale * float(now[key]))
        except (KeyError, ValueError):
            return '-'
    out = [('rate', f"{value('measured_hz')} Hz, {value('skipped', form='{:.0f}')} skipped"),
           ('largest gap', f"{value('largest_gap_us', 1e-3, '{:.2f}')} ms"),
           ('lateness', f"median {value('lateness.p50_us', form='{:.0f}')} us, 99 % {value('lateness.p99_us', form='{:.0f}')} us")]
    for name, position in now.get('coordinates', {}).items():
        out.append((name, f'{position:+.5f}'))
    if 'push' in now:
        out.append(('force', f"{now['push']:+.4f}  {bar(now['push'], now)}"))
    for key in sorted(now):
        if key.startswith('joint.') and key.endswith('.energy'):
            out.append(('energy', f"{value(key, 1e3, '{:+.2f}')} mJ taken from the hand"))
    out.append(('state', f"{now.get('state', '-')}, fault: {now.get('fault', '-')}"))
    return out


def bar(force, now, width=20) -> str:
    """Return a force as a bar, scaled by the largest seen so far."""
    now['largest'] = max(abs(force), now.get('largest', 1e-9))
    return '#' * round(width * abs(force) / now['largest'])
