"""Say what is wrong with a mistyped name, and which name was probably meant."""

import difflib


def unknown(kind, name, choices):
    """Return a sentence: the kind of thing, the unknown name, and the nearest choice or all of them."""
    choices = sorted(choices)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    if near:
        return f'there is no {kind} {name!r}; did you mean {near[0]!r}?'
    return f'there is no {kind} {name!r}; choose one of: {", ".join(choices) or "(none yet)"}.'
