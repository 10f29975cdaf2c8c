"""The report of a validation: one self-contained page, claims first as a table, then each with its picture and numbers."""

import html
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.figures import short
from mbs_haptics.validate.bench import machine

STYLE = """
:root { --ink: #22252a; --soft: #6a7078; --line: #e3e0d8; --paper: #fdfcf9; --good: #2c7a4b; --bad: #b3362b; --none: #9a8f78; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.55 Georgia, 'Iowan Old Style', 'Palatino Linotype', serif; }
main { max-width: 62rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
h1 { font-size: 2.3rem; line-height: 1.15; font-weight: 400; letter-spacing: -.01em; margin: 0 0 .6rem; }
h2 { font-size: 1.45rem; font-weight: 400; margin: 0 0 .4rem; }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.12rem; color: #3c4148; }
.facts, .caption, th, .aim, .note { font-family: ui-sans-serif, system-ui, 'Helvetica Neue', Arial, sans-serif; }
.facts { color: var(--soft); font-size: .82rem; margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1.6rem 0 0; font-size: .95rem; }
th { text-align: left; font-size: .72rem; font-weight: 600; text-transform: uppercase; letter-spacing: .07em; color: var(--soft);
     border-bottom: 1.5px solid var(--ink); padding: .3rem .7rem .4rem 0; }
td { vertical-align: top; border-bottom: 1px solid var(--line); padding: .55rem .7rem .55rem 0; }
td a { color: inherit; text-decoration: none; border-bottom: 1px solid var(--line); }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { font: 600 .72rem/1 ui-sans-serif, system-ui, Arial, sans-serif; letter-spacing: .06em; text-transform: uppercase; padding: .28rem .5rem;
         border-radius: 2px; color: white; white-space: nowrap; display: inline-block; }
.pass { background: var(--good); } .fail { background: var(--bad); } .not { background: var(--none); }
section { border-top: 1px solid var(--line); margin-top: 3.2rem; padding-top: 1.8rem; }
section header { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; }
.id { color: var(--soft); font-style: italic; margin-right: .5rem; }
blockquote { margin: .6rem 0 .9rem; padding-left: 1rem; border-left: 3px solid var(--line); color: #4a5058; font-style: italic; max-width: 46rem; }
figure { margin: 1.3rem 0 .4rem; } figure img { width: 100%; height: auto; display: block; }
.caption { font-size: .82rem; color: var(--soft); max-width: 46rem; }
.rows { font-size: .88rem; margin-top: 1rem; } .aim, .note { font-size: .8rem; color: var(--soft); }
.bad { color: var(--bad); font-weight: 700; }
@media (max-width: 40rem) { body { font-size: 15px; } h1 { font-size: 1.7rem; } .published { display: none; } }
@media print { section { break-inside: avoid; } main { padding: 0; } }
"""


def write(folder, device, claims, bag, seconds) -> Path:
    """Write folder/index.html and return its path; `device` is the module with the claims."""
    path = Path(folder).expanduser() / 'index.html'
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(device.TITLE, device.INTRODUCTION, claims, facts(claims, bag, seconds)), encoding='utf-8')
    except OSError as error:
        raise MbsError(f"the report '{path}' can't be written: {error.strerror}; choose another folder") from None
    return path


def facts(claims, bag, seconds) -> str:
    """Return the small print: where the numbers come from."""
    source = f'judged from the recording {bag}' if bag else 'run through the whole stack with the virtual device and recorded'
    passed = sum(claim.verdict == 'pass' for claim in claims)
    return (f'{passed} of {len(claims)} claims pass · {source} · {time.strftime("%Y-%m-%d %H:%M")} · {machine()} · '
            f'{seconds:.0f} s · `haptic validate` of mbs_haptics')


def page(title, introduction, claims, small_print) -> str:
    """Return the whole page."""
    parts = [f'<h1>{text(title)}</h1>', *(f'<p class="lead">{text(p)}</p>' for p in introduction.strip().split('\n\n')),
             f'<p class="facts">{text(small_print)}</p>', summary(claims), *map(section, claims)]
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>{text(title)}</title><style>{STYLE}</style></head>\n<body><main>\n' + '\n'.join(parts) + '\n</main></body></html>\n')


def summary(claims) -> str:
    """Return the table of all claims: published, ours, verdict."""
    rows = [f'<tr><td><a href="#{claim.id}"><span class="id">{claim.id}</span></a></td><td><a href="#{claim.id}">{text(claim.title)}</a></td>'
            f'<td class="published">{text(claim.published)}</td><td>{text(ours(claim))}</td><td>{badge(claim)}</td></tr>' for claim in claims]
    return ('<table><tr><th></th><th>Claim</th><th class="published">Published</th><th>Ours</th><th></th></tr>' + ''.join(rows) + '</table>')


def section(claim) -> str:
    """Return a claim with its picture and its rows."""
    picture = (f'<figure><img alt="{text(claim.title)}" src="{claim.picture}"><figcaption class="caption">{text(claim.caption)}</figcaption></figure>'
               if claim.picture else '')
    return (f'<section id="{claim.id}"><header><h2><span class="id">{claim.id}</span>{text(claim.title)}</h2>{badge(claim)}</header>'
            f'<blockquote>{text(claim.published)}</blockquote><p>{text(claim.saw)}</p>{picture}{rows(claim)}</section>')


def rows(claim) -> str:
    """Return the measured values of a claim as a table."""
    cells = ''.join(
        f'<tr><td>{text(row.id.partition(".")[2].replace("_", " ").replace(".", ", "))}</td>'
        f'<td class="number{"" if row.ok is not False else " bad"}">{text(value(row))}</td><td class="aim">{text(row.aim)}</td>'
        f'<td class="note">{text(row.note)}</td></tr>' for row in claim.rows)
    return f'<table class="rows"><tr><th>Measured</th><th>Value</th><th>Aim</th><th></th></tr>{cells}</table>' if cells else ''


def ours(claim) -> str:
    """Return the claim's first values in a few words."""
    judged = [row for row in claim.rows if row.ok is not None]
    shown = [row for row in judged if row.ok is False] or judged
    return '; '.join(f'{row.id.partition(".")[2].replace("_", " ")} {value(row)}' for row in shown[:2]) or 'not measured'


def value(row) -> str:
    """Return a value with its unit."""
    if row.value is None:
        return '–'
    if isinstance(row.value, bool):
        return 'yes' if row.value else 'no'
    return f'{short(row.value)} {"" if row.unit in ("1", "") else row.unit}'.strip()


def badge(claim) -> str:
    """Return the verdict as a badge."""
    return f'<span class="badge {claim.verdict.split()[0]}">{claim.verdict if claim.verdict in ("pass", "fail") else "not recorded"}</span>'


def text(words) -> str:
    """Return words as HTML."""
    return html.escape(str(words))
