"""What the user chose on the command line: a mechanism, its variants, its parameters and its inputs."""

from mbs_core import mechanisms
from mbs_core.errors import MbsError


def add_mechanism_arguments(parser):
    """Add the name of a mechanism and its variants."""
    parser.add_argument('mechanism', metavar='MECHANISM', help='name (see `haptic mechanism list`) or path of a .py file')
    parser.add_argument('--variant', action='append', default=[], metavar='KEY=VALUE',
                        help='option of the mechanism, for example closed=true (may be repeated)')


def add_value_arguments(parser):
    """Add parameters and inputs."""
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', dest='parameters',
                        help='parameter in its declared unit (may be repeated)')
    parser.add_argument('--input', action='append', default=[], metavar='NAME=VALUE', dest='inputs',
                        help='input, held constant (may be repeated)')


def pairs(words, what) -> dict:
    """Return {name: text} of words 'name=text'."""
    found = {}
    for word in words:
        name, sign, text = word.partition('=')
        if not sign or not name.strip() or not text.strip():
            raise MbsError(f"the {what} '{word}' is not of the form name=value")
        found[name.strip()] = text.strip()
    return found


def numbers(words, what) -> dict:
    """Return {name: number} of words 'name=number'."""
    found = {}
    for name, text in pairs(words, what).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise MbsError(f"the {what} '{name}' must be a number, not '{text}'") from None
    return found


def positive(value, what):
    """Return a number that has to be positive and finite, or refuse it."""
    if not 0 < value < float('inf'):
        raise MbsError(f'{what} must be a positive number, not {value:g}')
    return value


def chosen_mechanism(args):
    """Return the Mechanism that the arguments name."""
    given = pairs(args.variant, 'variant')
    return mechanisms.build(args.mechanism, **{k: mechanisms.option_value(args.mechanism, k, v) for k, v in given.items()})


def apply_values(state, args):
    """Give a state the parameters and inputs of the arguments."""
    parameters = numbers(args.parameters, 'parameter')
    if parameters:
        state.set(parameters)
    for name, value in numbers(args.inputs, 'input').items():
        state.input(name, value)
