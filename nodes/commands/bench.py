"""`haptic bench`: measure the engine or the real-time loop beside their peers and tell which aims are met."""

from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Measure the engine beside Pinocchio and MuJoCo, or the loop beside a bare loop, plain rclpy and UDP.'
WHAT = ('engine', 'loop')


def add_arguments(parser):
    """Add what to measure and how."""
    parser.add_argument('what', nargs='?', default='engine', choices=WHAT, help='what to measure (default: engine)')
    parser.add_argument('--quick', action='store_true', help='small models, few rounds, short times: a check, not a measurement')
    parser.add_argument('--seconds', type=float, default=None, help='time per measurement of the loop')
    add_json_argument(parser)


def run(args):
    """Measure, print the figures, and return 0 only if every aim is met."""
    if args.what == 'loop':
        from mbs_haptics.bench import loop
        return loop.run(args)
    from mbs_haptics.bench import engine
    figures = engine.figures(Figures(), quick=args.quick, quiet=args.json)
    return figures.report(args.json, title=f'haptic bench {args.what}')
