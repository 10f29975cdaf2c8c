"""`haptic validate`: show that a device does what was published of it, with figures, a recording and a report."""

import sys
import tempfile
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.figures import add_json_argument

HELP = 'Validate a device against the published claims: runs it virtually and records it, or reads a recording.'


def add_arguments(parser):
    """Add the device, and where things come from and go."""
    from mbs_haptics.validate import devices
    parser.add_argument('device', metavar='DEVICE', help=f'what to validate: {", ".join(devices())}')
    parser.add_argument('--report', metavar='DIR', help='write DIR/index.html, and keep the recording in DIR/bag')
    parser.add_argument('--bag', metavar='BAG', help='judge this recording instead of running the virtual device')
    parser.add_argument('--domain', type=int, help='ROS domain to run on (default: a free one)')
    parser.add_argument('--quick', action='store_true', help='a shortened run: fewer scenes, claims that need the others are left out')
    add_json_argument(parser)


def run(args):
    """Validate, report, and return 0 only if every figure is ok."""
    from mbs_haptics.validate import module_of
    from mbs_haptics.validate.claims import figures_of
    from mbs_haptics.validate.report import write
    device = module_of(args.device)
    if args.bag and not Path(args.bag).expanduser().exists():
        raise MbsError(f"there is no recording '{args.bag}'")
    if args.report and Path(args.report).exists() and not Path(args.report).is_dir():
        raise MbsError(f"the report '{args.report}' is not a folder: give the name of one")
    began = time.time()
    with tempfile.TemporaryDirectory(prefix='haptic-validate-') as scratch:
        claims = judge(device, args, Path(scratch))
        page = write(args.report, device, claims, args.bag, time.time() - began) if args.report else None
    figures = figures_of(claims)
    code = figures.report(args.json, title=device.TITLE)
    if not figures.rows:
        raise MbsError(f"nothing of the claims could be judged from '{args.bag}': it has no scenes that they need (docs/validate.md)")
    if not args.json:
        for row in (row for claim in claims for row in claim.rows if row.ok is None):
            print(f'not judged: {row.id}: {row.note}', file=sys.stderr)
        if page:
            print(f'report: {page}')
    return code


def judge(device, args, scratch):
    """Return the claims, judged by the recording given, or by one made now."""
    from mbs_haptics.validate.recording import Recorded
    if args.bag:
        return device.judge(Recorded(args.bag, device.TOPICS))
    folder = Path(args.report).expanduser() if args.report else scratch
    fresh(folder / 'bag')
    progress = (lambda text: None) if args.json else (lambda text: print(text, file=sys.stderr, flush=True))
    return device.judge(Recorded(device.stage(folder, args.quick, args.domain, progress), device.TOPICS))


def fresh(bag):
    """Remove an earlier recording of ours; anything else in its place is refused."""
    import shutil
    if bag.exists():
        if not (bag / 'metadata.yaml').is_file():
            raise MbsError(f"'{bag}' exists and is no recording: choose another folder for --report")
        shutil.rmtree(bag)
