"""A published claim and what we measured of it: rows with aims, a sentence, a picture."""

import base64
import io
from dataclasses import dataclass, field

from mbs_haptics.figures import Figures, meets, plain


@dataclass
class Row:
    """One measured value of a claim; `ok` is None where the recording lacks what it needs (then `note` says what)."""

    id: str
    value: object
    unit: str = ''
    aim: str = ''
    note: str = ''
    ok: bool | None = True


@dataclass
class Claim:
    """One published claim: its id in CLAIMS.md, what was published, and our rows, sentence and picture.

    `published` is the paper's own value or trend in words; `saw` one sentence on what we saw; `picture` an SVG or PNG as
    the text of a data URL, with `caption` below it.
    """

    id: str
    title: str
    published: str
    saw: str = ''
    picture: str = ''
    caption: str = ''
    rows: list = field(default_factory=list)

    def measure(self, name, value, unit='', aim='', note='', ok=None):
        """Add a measured value, e.g. measure('peak_position', 8.7, 'mm', '8..9'); return whether it meets its aim.

        Without `ok` the aim is one of figures.meets; with it, `aim` is free text.
        """
        value = plain(value)
        row = Row(f'{self.id}.{name}', value, unit, aim, note, meets(value, aim) if ok is None else bool(ok))
        self.rows.append(row)
        return row.ok

    def lacks(self, name, why):
        """Say that a value can't be had from this recording, and why; it counts neither for nor against the claim."""
        self.rows.append(Row(f'{self.id}.{name}', None, note=why, ok=None))

    def draw(self, figure, caption=''):
        """Keep a matplotlib figure as the claim's picture, and close it."""
        self.picture, self.caption = svg_url(figure), caption

    @property
    def ok(self) -> bool:
        """Tell whether something was measured and all of it meets its aim."""
        judged = [row.ok for row in self.rows if row.ok is not None]
        return bool(judged) and all(judged)

    @property
    def verdict(self) -> str:
        """Return 'pass', 'fail' or 'not in this recording'."""
        if all(row.ok is None for row in self.rows):
            return 'not in this recording'
        return 'pass' if self.ok else 'fail'


def svg_url(figure) -> str:
    """Return a matplotlib figure as a data URL, its lines as SVG; close it."""
    from matplotlib import pyplot as plt
    with plt.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': 'mbs_haptics', 'path.simplify_threshold': 0.3}):
        sink = io.BytesIO()
        figure.savefig(sink, format='svg', bbox_inches='tight', metadata={'Date': None})
    plt.close(figure)
    return 'data:image/svg+xml;base64,' + base64.b64encode(sink.getvalue()).decode()


def figures_of(claims) -> Figures:
    """Return the figures of `--json`: every measured row, in order."""
    figures = Figures()
    for claim in claims:
        for row in claim.rows:
            if row.ok is not None:
                figures.add(row.id, row.value, row.unit, row.aim, row.note, ok=row.ok)
    return figures
