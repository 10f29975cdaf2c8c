"""Figures: measured values with their aims, shown as a table or as one JSON object.

Every verb that yields figures collects them here, so that people and programs read the same ones:
`{"figures": [{"id": "P6", "value": 8.7, "unit": "mm", "aim": "8..9", "ok": true, "note": "..."}, ...]}`.
"""

import json
import math
import operator
import os
import re

COMPARISONS = {'>=': operator.ge, '<=': operator.le, '==': operator.eq, '>': operator.gt, '<': operator.lt}


def meets(value, aim):
    """Tell whether a value meets an aim: '>=12', '<=5', '>0', '<1', '==3', '8..9' (ends included), '' (always).

    A value that is not a finite number meets no aim. An aim of another form raises ValueError.
    """
    check = parse_aim(aim)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return check(value)


def parse_aim(aim):
    """Return the function value -> bool that an aim stands for."""
    text = aim.replace(' ', '')
    if not text:
        return lambda value: True
    try:
        if '..' in text:
            low, high = map(float, text.split('..'))
            return lambda value: is_number(value) and low <= value <= high
        sign, limit = re.fullmatch(r'(>=|<=|==|>|<)(.+)', text).groups()
        limit = float(limit)
    except (AttributeError, ValueError):
        raise ValueError(f"aim {aim!r} is none of '>=12', '<=5', '>0', '<1', '==3', '8..9', ''") from None
    return lambda value: is_number(value) and COMPARISONS[sign](value, limit)


def is_number(value):
    """Tell whether a value can be compared with a limit."""
    return isinstance(value, (int, float))


def plain(value):
    """Return a numpy scalar as the Python number it holds, anything else as it is."""
    return value.item() if hasattr(value, 'item') else value


def for_json(value):
    """Return the value, or None where JSON has no word for it (nan, inf)."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def short(value):
    """Return the text of a value for the table, numbers with four digits."""
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def shared_prefix(ids) -> str:
    """Return the whole dotted words with which all ids begin, '' for fewer than two of them."""
    return os.path.commonprefix(ids).rpartition('.')[0] + '.' if len(ids) > 1 and '.' in os.path.commonprefix(ids) else ''


class Figures:
    """The figures of one run of a verb, in the order they were added."""

    def __init__(self):
        """Start without figures."""
        self.rows = []

    def add(self, id, value, unit='', aim='', note='', ok=None):
        """Add a figure and return whether it is ok.

        `ok` is worked out from `aim`; give it where no aim can say it, and `aim` is then free text.
        An id that is already there raises ValueError.
        """
        if any(row['id'] == id for row in self.rows):
            raise ValueError(f'figure {id!r} was added twice')
        value = plain(value)
        ok = meets(value, aim) if ok is None else bool(ok)
        self.rows.append({'id': id, 'value': value, 'unit': unit, 'aim': aim, 'ok': ok, 'note': note})
        return ok

    @property
    def ok(self):
        """Tell whether every figure is ok."""
        return all(row['ok'] for row in self.rows)

    def to_json(self):
        """Return the one object of `--json` as text."""
        rows = [{**row, 'value': for_json(row['value'])} for row in self.rows]
        return json.dumps({'figures': rows}, allow_nan=False)

    def print_table(self, title=None):
        """Print the figures as a table on standard output."""
        from rich import box
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table
        common = shared_prefix([row['id'] for row in self.rows])
        table = Table(title=title, box=box.SIMPLE_HEAD, caption=common and f'all ids begin with {common}', pad_edge=False)
        for heading, side, whole in (('figure', 'left', True), ('value', 'right', True), ('unit', 'left', True),
                                     ('aim', 'right', True), ('ok', 'left', True), ('note', 'left', False)):
            table.add_column(heading, justify=side, overflow='fold', no_wrap=whole)
        for row in self.rows:
            verdict = 'NO' if not row['ok'] else 'yes' if row['aim'] else ''
            cells = [row['id'][len(common):], short(row['value']), row['unit'], row['aim'], verdict, row['note']]
            table.add_row(*map(escape, cells), style=None if row['ok'] else 'bold red')
        Console().print(table)

    def report(self, as_json=False, title=None):
        """Print the figures, as JSON or as a table, and return the exit code: 0 only if every figure is ok."""
        if as_json:
            print(self.to_json())
        else:
            self.print_table(title)
        return 0 if self.ok else 1


def add_json_argument(parser):
    """Add the `--json` option that every verb with figures has."""
    parser.add_argument('--json', action='store_true', help='print the figures as one JSON object and nothing else')
