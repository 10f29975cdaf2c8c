"""`haptic bench`: measure the engine beside its peers and tell which aims are met."""

from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Measure the engine beside Pinocchio and MuJoCo, per call and without interpreter overhead.'
WHAT = ('engine',)


def add_arguments(parser):
    """Add what to measure and how."""
    parser.add_argument('what', nargs='?', default='engine', choices=WHAT, help='what to measure (default: engine)')
    parser.add_argument('--quick', action='store_true', help='small models and few rounds: a check, not a measurement')
    add_json_argument(parser)


def run(args):
    """Measure, print the figures, and return 0 only if every aim is met."""
    from mbs_haptics.bench import engine
    figures = engine.figures(Figures(), quick=args.quick, quiet=args.json)
    return figures.report(args.json, title=f'haptic bench {args.what}')
