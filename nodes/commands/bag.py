"""`haptic bag`: look into a recording: what it holds, what it lacks, how it looks."""

from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.chosen import positive
from mbs_haptics.figures import add_json_argument

HELP = 'Look into a recording: bag info|check|plot BAG.'


def add_arguments(parser):
    """Add info, check and plot."""
    actions = parser.add_subparsers(dest='action', required=True, metavar='info|check|plot')
    info = actions.add_parser('info', help='topics, types, counts and rates')
    check = actions.add_parser('check', help='rate, gaps, loss and duplicates; exit code 1 if anything is missing')
    plot = actions.add_parser('plot', help='draw the joints over time into a PNG file')
    for action in (info, check, plot):
        action.add_argument('bag', metavar='BAG', help='rosbag2 folder or .mcap file, also one cut off by a kill')
    for action in (info, check):
        add_json_argument(action)
    check.add_argument('--rate', type=float, metavar='HZ', help='wanted rate of joint_states and setpoint, within 1 %%')
    check.add_argument('--gap', type=float, metavar='S', help='largest time allowed between two of their samples, in s')
    plot.add_argument('--topic', action='append', default=[], help='topic to draw (may be repeated; default: all joint states)')
    plot.add_argument('--out', metavar='FILE.png', help='the picture (default: beside the recording)')


def run(args):
    """Look into the recording and return the exit code."""
    if args.action == 'plot':
        return plot(args)
    from mbs_haptics.bag_check import check, survey
    topics, recording = survey(args.bag)
    if not topics:
        raise MbsError(f"the recording '{args.bag}' holds no messages")
    if args.action == 'info' and not args.json:
        show(args.bag, topics, recording)
        return 0
    if args.action == 'info':
        figures = check(topics, recording)
        print(figures.to_json())
        return 0
    for name in ('rate', 'gap'):
        if getattr(args, name) is not None:
            positive(getattr(args, name), f'--{name}')
    return check(topics, recording, args.rate, args.gap).report(args.json, f'Recording {args.bag}')


def plot(args):
    """Draw the recording and say where the picture is."""
    from mbs_haptics.bag_plot import draw
    from mbs_haptics.plots import writable
    bag = Path(args.bag).expanduser()
    picture = args.out or bag.with_name(f'{bag.stem if bag.is_file() else bag.name}.png')
    if not Path(args.bag).expanduser().exists():
        raise MbsError(f"there is no recording '{args.bag}'")
    writable(picture, '.png')
    wanted = [topic if topic.startswith('/') else f'/{topic}' for topic in args.topic]
    print(f'picture: {draw(args.bag, picture, wanted, bag.name)}')
    return 0


def show(path, topics, recording):
    """Print what the recording holds."""
    import time

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    console = Console()
    begin = min(min(topic.times) for topic in topics.values())
    end = max(max(topic.times) for topic in topics.values())
    size = sum(file.stat().st_size for file in recording.files if file.is_file())
    console.print(f'{path}: {(end - begin) * 1e-9:.3f} s from {time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(begin * 1e-9))}, '
                  f'{size / 1e6:.1f} MB', highlight=False)
    if not recording.is_whole:
        console.print('The file was cut off; this is what could be recovered.', style='bold yellow')
    table = Table(box=SIMPLE_HEAD)
    for heading in ('topic', 'type', '>messages', '>rate (Hz)', '>largest gap (ms)'):
        table.add_column(heading.lstrip('>'), justify='right' if heading.startswith('>') else 'left', overflow='fold')
    for name, topic in sorted(topics.items()):
        table.add_row(name, topic.kind, str(len(topic.times)), f'{topic.rate:.2f}', f'{topic.gap * 1e3:.3f}')
    console.print(table)
