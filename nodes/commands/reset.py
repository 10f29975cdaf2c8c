"""`haptic reset`: call ~/reset of every running node that has it."""

from mbs_haptics.clients import add_namespace_argument, switch

HELP = 'Clear a latched fault or an emergency stop.'


def add_arguments(parser):
    """Add the namespace."""
    add_namespace_argument(parser)


def run(args):
    """Call the services and return 0 if all agreed."""
    return switch('reset', namespace=args.namespace)
