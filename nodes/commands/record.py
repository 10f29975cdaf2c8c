"""`haptic record`: record topics of the running stack into a rosbag2 folder."""

from mbs_haptics import environment

HELP = 'Record topics of the running stack into a rosbag2 folder (MCAP).'


def add_arguments(parser):
    """Add the topics and where they go."""
    parser.add_argument('topics', nargs='*', metavar='TOPIC', help='topics (default: those of the control loop and /diagnostics)')
    parser.add_argument('--out', default='', metavar='DIR', help='new folder of the recording (default: recording_<date>_<time>)')
    parser.add_argument('--seconds', type=float, default=0.0, help='length of the recording (default: until Ctrl-C)')
    parser.add_argument('--namespace', default='', help='namespace of the stack')


def run(args):
    """Record until Ctrl-C and return the exit code."""
    from mbs_haptics.chosen import positive
    environment.need_ros()
    from mbs_haptics import recorder
    if args.seconds:
        positive(args.seconds, '--seconds')
    return recorder.record(ros_arguments(args))


def ros_arguments(args) -> list:
    """Return the arguments of the recorder node for those of the verb."""
    words = ['recorder', '--ros-args', '-p', f'seconds:={args.seconds!r}']
    if args.out:
        words += ['-p', f"output:='{args.out}'"]
    if args.topics:
        words += ['-p', f"topics:=[{', '.join(repr(topic) for topic in args.topics)}]"]
    if args.namespace:
        words += ['-r', f"__ns:=/{args.namespace.strip('/')}"]
    return words
