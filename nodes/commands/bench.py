"""`haptic bench`: measure the engine or the real-time loop beside their peers, or what faults lead to, and tell which aims are met."""

from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Measure the engine beside Pinocchio and MuJoCo, the loop beside a bare loop, plain rclpy and UDP, or faults.'
WHAT = ('engine', 'loop', 'faults')


def add_arguments(parser):
    """Add what to measure and how."""
    parser.add_argument('what', nargs='?', default='engine', choices=WHAT, help='what to measure (default: engine)')
    parser.add_argument('--quick', action='store_true', help='small models, few rounds, short times: a check, not a measurement')
    parser.add_argument('--seconds', type=float, default=None, help='time per measurement of the loop')
    parser.add_argument('--write', metavar='FILE', default=None, help='put the table of faults into this page, for example docs/fault_matrix.md')
    add_json_argument(parser)


def run(args):
    """Measure, print the figures, and return 0 only if every aim is met."""
    if args.what == 'loop':
        from mbs_haptics.bench import loop
        return loop.run(args)
    if args.what == 'faults':
        from mbs_haptics.bench import faults
        return faults.run(args)
    from mbs_haptics.bench import engine
    figures = engine.figures(Figures(), quick=args.quick, quiet=args.json)
    return figures.report(args.json, title=f'haptic bench {args.what}')
