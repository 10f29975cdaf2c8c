"""The one kind of error a user may meet: a sentence that names the culprit and the remedy."""

from difflib import get_close_matches


class MbsError(Exception):
    """A wrong input, told in one sentence that names the culprit and what to do about it."""


def suggest(word: str, known) -> str:
    """Return ``; did you mean 'x'?`` for the known word nearest to `word`, or the list of known words."""
    known = sorted(known)
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}" if known else ''
