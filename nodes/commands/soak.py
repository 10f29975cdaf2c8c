"""`haptic soak`: a long run of the whole stack, and whether it kept every tick, sample and parameter."""

from mbs_core.errors import MbsError
from mbs_haptics.figures import add_json_argument

HELP = 'Run the whole stack for long, with recording and live parameters, and account for every tick and sample.'
WHAT = ('stack',)


def add_arguments(parser):
    """Add what to run and for how long."""
    parser.add_argument('what', nargs='?', default='stack', choices=WHAT, help='what to run (default: stack)')
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the run, 4 to 3600 (default 60)')
    parser.add_argument('--device', default='lever', help='whose launch file to run, with its virtual device (default: lever)')
    parser.add_argument('--keep', metavar='FOLDER', default=None, help='keep the recording in this new folder')
    add_json_argument(parser)


def run(args):
    """Run it, print the figures, and return 0 only if every aim is met."""
    from mbs_haptics.bench import soak
    if not 4.0 <= args.seconds <= 3600.0:
        raise MbsError(f'--seconds must be from 4 to 3600, not {args.seconds:g}')
    return soak.figures(args.device, args.seconds, args.keep, quiet=args.json).report(args.json, title=f'haptic soak stack, {args.device}')
