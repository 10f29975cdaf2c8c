"""The library of mechanisms: one file each, found by its name and imported only when it is asked for.

To add one, drop `name.py` with a function `name(**options) -> Mechanism` in this folder; or keep the file anywhere and
give its path instead of a name. A file may also have `variants`, {option: its admissible values}, for options that
change the structure; files `_name.py` are helpers.
"""

import importlib
import importlib.util
import inspect
from collections.abc import Mapping
from pathlib import Path

from mbs_core.description import Mechanism
from mbs_core.errors import MbsError, suggest

FOLDER = Path(__file__).resolve().parent


class _Catalogue(Mapping):
    """{name: function returning the Mechanism}; the file is imported when its function is taken."""

    def __init__(self):
        self.names = sorted(p.stem for p in FOLDER.glob('*.py') if not p.stem.startswith('_'))

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)

    def __contains__(self, name):
        return name in self.names           # without importing it

    def __getitem__(self, name):
        return _module(name)[1]


def catalogue() -> Mapping:
    """Return {name: function returning the Mechanism} of all mechanisms, imported lazily."""
    return _Catalogue()


def _module(name):
    """Return (module, function) of a mechanism given by its name or by the path of its file."""
    if str(name).endswith('.py'):
        module, name = _load(Path(name)), Path(name).stem
    else:
        known = catalogue()
        if name not in known:
            raise MbsError(f"there is no mechanism '{name}'{suggest(str(name), known)}")
        module = importlib.import_module(f'{__name__}.{name}')
    function = getattr(module, name, None)
    if not callable(function):
        raise MbsError(f"mechanism '{name}': its file {module.__file__} has no function '{name}' that returns a Mechanism")
    return module, function


def _load(path):
    """Return the module of a user's own file; what is wrong in it is told with its line."""
    path = path.expanduser()
    if not path.is_file():
        raise MbsError(f"there is no mechanism file '{path}'; give a path that exists, or a name of the library")
    spec = importlib.util.spec_from_file_location(f'{__name__}._user_{path.stem}', path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except MbsError:
        raise
    except SyntaxError as error:
        raise MbsError(f"mechanism file '{path}', line {error.lineno}: {error.msg}") from error
    except Exception as error:
        raise MbsError(f"mechanism file '{path}'{_line(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _line(error, path):
    """Return ', line n' of the last call inside a file that led to an error."""
    lines, step = [], error.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).resolve() == path.resolve():
            lines.append(step.tb_lineno)
        step = step.tb_next
    return f', line {lines[-1]}' if lines else ''


def options(name) -> dict:
    """Return {option: (default, admissible values or None)} of a mechanism."""
    module, function = _module(name)
    choices = getattr(module, 'variants', {})
    return {p.name: (p.default, choices.get(p.name)) for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def build(name, **chosen):
    """Return the Mechanism `name` built with the given options; wrong names and values are refused by name."""
    known = options(name)
    for option, value in chosen.items():
        if option not in known:
            raise MbsError(f"mechanism '{name}' has no option '{option}'{suggest(option, known) if known else '; it has none'}")
        choices = known[option][1]
        if choices is not None and value not in choices:
            raise MbsError(f"mechanism '{name}': {option}={value!r} is unknown; choose one of {', '.join(map(str, choices))}")
    function = _module(name)[1]
    if not str(name).endswith('.py'):
        return function(**chosen)
    try:
        mechanism = function(**chosen)
    except MbsError:
        raise
    except Exception as error:              # the user's own file: no traceback, but the line
        where = _line(error, Path(name).expanduser())
        raise MbsError(f"mechanism file '{name}'{where}: {type(error).__name__}: {error}") from error
    if not isinstance(mechanism, Mechanism):
        raise MbsError(f"mechanism file '{name}': its function must return a Mechanism, not {mechanism!r}: add `return m`")
    return mechanism


def option_value(name, option, text):
    """Return the value of an option given as text, in the type of its default: 'true', '3', 'pd', or '0.1,0.2' for None."""
    known = options(name)
    if option not in known:
        raise MbsError(f"mechanism '{name}' has no option '{option}'{suggest(option, known) if known else '; it has none'}")
    kind = type(known[option][0])
    try:
        if kind is bool:
            return {'true': True, 'yes': True, '1': True, 'false': False, 'no': False, '0': False}[text.lower()]
        if kind is type(None):
            return tuple(float(word) for word in text.split(','))
        return kind(text)
    except (KeyError, ValueError):
        wanted = {bool: 'true or false', int: 'a whole number', float: 'a number'}.get(kind, 'numbers separated by commas')
        raise MbsError(f"mechanism '{name}': option {option}={text} must be {wanted}") from None
