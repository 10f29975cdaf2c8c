r"""The $(...) of launch files: parse a text into parts, and evaluate the parts in a context.

A text is a list of parts, each a str or a `Call`. An argument of a call is plain, or '...' or "..." as a whole; nested
calls may stand anywhere. `\` takes the meaning from the next character. Exactly one space separates arguments, as upstream.
"""

import importlib
import math
import re
from dataclasses import dataclass

from mbs_core.errors import suggest
from mbs_haptics import environment
from mbs_haptics.launching.errors import LaunchError

TRUE, FALSE = ('true', '1'), ('false', '0')


@dataclass(frozen=True)
class Call:
    """One substitution: its name and its arguments, each a list of parts."""

    name: str
    arguments: tuple


class _Parser:
    """Reads one text from left to right; `quote` is the quotation mark the reader stands inside of, or ''."""

    def __init__(self, text, place):
        self.text, self.place, self.at = text, place, 0

    def fail(self, why):
        raise LaunchError(f'{self.text!r} is not understood: {why}', self.place)

    def peek(self, length=1):
        return self.text[self.at:self.at + length]

    def template(self, quote=''):
        """Read text and calls up to the end of the text, or to the closing quotation mark."""
        parts, start = [], self.at
        while self.at < len(self.text) and (self.peek() != quote or self.escaped(start)):
            if self.is_call(start):
                _flush(parts, self.text[start:self.at])
                parts.append(self.call(quote))
                start = self.at
            else:
                self.at += 1
        _flush(parts, self.text[start:self.at])
        return parts

    def escaped(self, start):
        return self.at > start and self.text[self.at - 1] == '\\'

    def is_call(self, start):
        return self.peek(2) == '$(' and not self.escaped(start)

    def call(self, quote):
        self.at += 2
        found = re.compile(r'[A-Za-z][\w-]*', re.ASCII).match(self.text, self.at)
        if not found:
            self.fail("a name has to follow '$('")
        self.at = found.end()
        arguments = []
        while self.peek() == ' ':
            self.at += 1
            arguments.append(tuple(self.argument(quote)))
        if self.peek() != ')':
            self.fail(f"')' is missing after $({found.group()}" if self.at >= len(self.text) else
                      f'{self.peek()!r} has to be quoted or escaped in $({found.group()} ...)')
        self.at += 1
        if found.group() not in SUBSTITUTIONS:
            raise LaunchError(f'$({found.group()} ...) is outside the supported subset{suggest(found.group(), SUBSTITUTIONS)}', self.place)
        return Call(found.group(), tuple(arguments))

    def argument(self, quote):
        if not quote and self.peek() in ('"', "'"):
            mark = self.peek()
            self.at += 1
            parts = self.template(mark)
            if self.peek() != mark:
                self.fail(f'the quotation mark {mark} is not closed')
            self.at += 1
            return parts
        parts, start = [], self.at
        ends = {"'": " ()'", '"': ' ()"'}.get(quote, ' ()\'"')
        while self.at < len(self.text):
            if self.is_call(start):
                _flush(parts, self.text[start:self.at])
                parts.append(self.call(quote))
                start = self.at
            elif self.peek() in ends and (self.peek() == ' ' or not self.escaped(start)):
                break
            else:
                self.at += 1
        _flush(parts, self.text[start:self.at])
        if not parts:
            self.fail('an argument is empty (exactly one space separates arguments)')
        return parts


def _flush(parts, raw):
    if raw:
        parts.append(re.sub(r'\\(.)', r'\1', raw, flags=re.DOTALL))


def parse(text, place=None) -> list:
    """Return the parts of a text; unknown substitutions and broken ones are refused with their place."""
    return _Parser(text, place).template()


def evaluate(parts, context, place=None) -> str:
    """Return the text that the parts stand for in a context."""
    return ''.join(part if isinstance(part, str) else _apply(part, context, place) for part in parts)


def expand(text, context, place=None) -> str:
    """Parse and evaluate in one go."""
    return evaluate(parse(text, place), context, place)


def _apply(call, context, place):
    function, least, most = SUBSTITUTIONS[call.name]
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f'{least} or {most}'
        raise LaunchError(f'$({call.name} ...) takes {wanted} argument(s), not {len(call.arguments)}', place)
    return function(context, place, *[lambda parts=parts: evaluate(parts, context, place) for parts in call.arguments])


def truth(text, place, what) -> bool:
    """Return the truth value of a condition: true, 1, false or 0 in any case, nothing else."""
    word = text.strip().lower()
    if word not in TRUE + FALSE:
        raise LaunchError(f"{what} must be true, 1, false or 0, not '{text}'", place)
    return word in TRUE


def _logical(text, place, name):
    """Return the truth value of an argument of $(and), $(or), $(not), $(if): YAML's words and 1, 0."""
    import yaml
    value = {'1': True, '0': False}.get(text)
    if value is None:
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = None
    if not isinstance(value, bool):
        raise LaunchError(f"$({name} ...) needs true or false, not '{text}'", place)
    return value


def _var(context, place, name, default=None):
    name = name()
    if name in context.variables:
        return context.variables[name]
    if default is None:
        raise LaunchError(f"$(var {name}) is not set{suggest(name, context.variables)}", place)
    return default()


def _env(context, place, name, default=None):
    name, fallback = name(), default and default()
    value = context.environment.get(name, fallback)
    if value is None:
        raise LaunchError(f'$(env {name}): there is no environment variable of this name; give a default as $(env {name} text)', place)
    return value


def _find_pkg_share(context, place, package):
    package = package()
    share = environment.package_share(package, context.environment)
    if share is None:
        raise LaunchError(f"$(find-pkg-share {package}): the package is not installed; source the workspace that has it", place)
    return str(share)


def _dirname(context, place):
    return context.place_of('dirname', place)


def _filename(context, place):
    return context.place_of('filename', place)


def _eval(context, place, expression, modules=None):
    expression = expression()
    names = [name.strip() for name in modules().split(',')] if modules else ['math']
    scope = {}
    try:
        for name in names:
            scope[name] = importlib.import_module(name)
            if name == 'math':
                scope.update(vars(math))
        return str(eval(expression, {}, scope))     # as upstream; a launch file may run any program anyway
    except Exception as error:
        raise LaunchError(f'$(eval {expression}) failed: {error}', place) from None


def _equals(context, place, left, right):
    left, right = left(), right()
    words = ('true', 'false', '1', '0')
    if left.lower() in words and right.lower() in words:
        return _word((left.lower() in TRUE) == (right.lower() in TRUE))
    try:
        return _word(math.isclose(float(left), float(right)))
    except ValueError:
        return _word(left == right)


def _not_equals(context, place, left, right):
    return _word(_equals(context, place, left, right) == 'false')


def _and(context, place, left, right):
    values = [_logical(side(), place, 'and') for side in (left, right)]
    return _word(all(values))


def _or(context, place, left, right):
    values = [_logical(side(), place, 'or') for side in (left, right)]
    return _word(any(values))


def _not(context, place, value):
    return _word(not _logical(value(), place, 'not'))


def _if(context, place, condition, then, otherwise=None):
    if _logical(condition(), place, 'if'):
        return then()
    return otherwise() if otherwise else ''


def _word(value):
    return 'true' if value else 'false'


# name -> (function of context, place and unevaluated arguments; fewest and most arguments)
SUBSTITUTIONS = {
    'var': (_var, 1, 2), 'env': (_env, 1, 2), 'find-pkg-share': (_find_pkg_share, 1, 1),
    'dirname': (_dirname, 0, 0), 'filename': (_filename, 0, 0), 'eval': (_eval, 1, 2),
    'equals': (_equals, 2, 2), 'not-equals': (_not_equals, 2, 2), 'and': (_and, 2, 2), 'or': (_or, 2, 2),
    'not': (_not, 1, 1), 'if': (_if, 2, 3),
}
