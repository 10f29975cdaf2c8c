"""`haptic param`: list, get and set the parameters of a running node."""

import argparse

from mbs_core.errors import MbsError

HELP = 'List, get or set parameters of a running node: param list|get|set NODE.'


def add_arguments(parser):
    """Add list, get and set."""
    actions = parser.add_subparsers(dest='action', required=True, metavar='list|get|set')
    lister = actions.add_parser('list', help='list all parameters with value, range and meaning')
    getter = actions.add_parser('get', help='print the value of one parameter')
    setter = actions.add_parser('set', help='set parameters: all of them or, if one is refused, none')
    for action in (lister, getter, setter):
        action.add_argument('node', metavar='NODE', help='name of the node, for example rosbotran')
    lister.add_argument('--filter', default='', metavar='TEXT', help='only names that contain this')
    getter.add_argument('name', metavar='NAME')
    # The rest as it is: -1e-3 is a value, not an option.
    setter.add_argument('pairs', nargs=argparse.REMAINDER, metavar='NAME VALUE', help='names and values in turn')


def run(args):
    """Do it and return the exit code."""
    from mbs_haptics.clients import conversation
    from mbs_haptics.parameters import Parameters
    if args.action == 'set' and not args.pairs:
        raise MbsError('nothing to set: give names and values in turn')
    if args.action == 'set' and len(args.pairs) % 2:
        raise MbsError(f"the parameter '{args.pairs[-1]}' has no value: give names and values in turn")
    with conversation() as talk:
        parameters = Parameters(talk, args.node)
        if args.action == 'list':
            show(parameters, args.filter)
        elif args.action == 'get':
            parameters.need([args.name])
            print(text(parameters.get([args.name])[args.name]))
        else:
            names, values = args.pairs[::2], args.pairs[1::2]
            if len(set(names)) < len(names):
                raise MbsError('a parameter is given twice')
            for name, value in parameters.set(dict(zip(names, values))).items():
                print(f'{name} = {text(value)}')
    return 0


def text(value):
    """Return a value as YAML would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(text(item) for item in value)}]"
    return 'not set' if value is None else str(value)


def show(parameters, part):
    """Print the table of parameters."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    names = [name for name in parameters.names() if part in name]
    if not names:
        raise MbsError(f"node '{parameters.node}' has no parameter with '{part}' in its name")
    values, descriptors = parameters.get(names), parameters.describe(names)
    table = Table(title=f'Parameters of {parameters.node}', box=SIMPLE_HEAD, title_justify='left')
    for heading in ('name', '>value', '>lowest', '>highest', 'what it is'):
        table.add_column(heading.lstrip('>'), justify='right' if heading.startswith('>') else 'left', overflow='fold')
    for name in names:
        descriptor = descriptors[name]
        limits = [*descriptor.floating_point_range, *descriptor.integer_range][:1]
        ends = [f'{limits[0].from_value:g}', f'{limits[0].to_value:g}'] if limits else ['', '']
        what = descriptor.description + (' (read-only)' if descriptor.read_only else '')
        table.add_row(*map(escape, [name, text(values[name]), *ends, what]))
    Console().print(table)
