"""`haptic estop`: call ~/estop of every running node that has it."""

from mbs_haptics.clients import add_namespace_argument, switch

HELP = 'Stop the force at once on every device that runs, until a reset.'


def add_arguments(parser):
    """Add the namespace."""
    add_namespace_argument(parser)


def run(args):
    """Call the services and return 0 if all agreed."""
    return switch('estop', namespace=args.namespace)
