"""`haptic enable`: call ~/enable of every running node that has it, to switch the force on or off."""

from mbs_haptics.clients import add_namespace_argument, switch

HELP = 'Switch the force on, or off with --off.'


def add_arguments(parser):
    """Add the namespace and off."""
    add_namespace_argument(parser)
    parser.add_argument('--off', action='store_true', help='switch off instead')


def run(args):
    """Call the services and return 0 if all agreed."""
    return switch('enable', on=not args.off, namespace=args.namespace)
