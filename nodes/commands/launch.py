"""`haptic launch`: run an XML launch file where ROS's launch isn't installed."""

import os
import time
from pathlib import Path

from mbs_core.errors import MbsError, suggest
from mbs_haptics import environment

HELP = 'Run a launch file: haptic launch FILE_OR_DEVICE [argument:=value ...].'
PASS_THROUGH = True         # so that options may stand between the arguments


def add_arguments(parser):
    """Add the file and its arguments."""
    parser.add_argument('file', metavar='FILE', help='path of a launch file, or the name of one in launch/, for example lever')
    parser.usage = 'haptic launch FILE [--show-args] [--print] [NAME:=VALUE ...]'
    parser.add_argument('--show-args', action='store_true', help='list the arguments of the file and exit')
    parser.add_argument('--print', action='store_true', help='print the commands and exit')


def run(args):
    """Run the launch file until its processes end or Ctrl-C; return the exit code."""
    from mbs_haptics.launching import Supervisor, declared_arguments, interpret
    environment.ready()
    path = find(args.file)
    if args.show_args:
        for name, (default, description, choices) in declared_arguments(path).items():
            given = 'required' if default is None else f"default '{default}'"
            print(f"  {name}: {description} ({given}{'; one of ' + ', '.join(choices) if choices else ''})")
        return 0
    plan = interpret(path, pairs(args.rest))
    if args.print:
        for process in plan.processes:
            print(f'[{process.name}]', *[word if isinstance(word, str) else repr(word.content) for word in process.argv])
        return 0
    return Supervisor(plan, log=log_file()).run()


def pairs(words) -> dict:
    """Return {name: value} of words name:=value."""
    found = {}
    for word in words:
        name, sign, value = word.partition(':=')
        if not sign or not name:
            raise MbsError(f"the argument '{word}' is not of the form name:=value")
        found[name] = value
    return found


def find(name) -> Path:
    """Return the path of a launch file by its path or by its name in this package's launch/ folder."""
    if os.path.isfile(name):
        return Path(name)
    share = environment.package_share(environment.PACKAGE)
    known = {path.name.removesuffix('.launch.xml'): path for path in sorted((share / 'launch').glob('*.launch.xml'))} if share else {}
    if name not in known:
        raise MbsError(f"there is no launch file '{name}'{suggest(name, known)}")
    return known[name]


def log_file() -> Path:
    """Return the path of a new log file where ROS keeps its logs."""
    home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
    folder = Path(os.environ.get('ROS_LOG_DIR') or home / 'log')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MbsError(f"the log folder '{folder}' can't be made: {error.strerror}; set ROS_LOG_DIR to a folder you can write to") from None
    return folder / time.strftime(f'haptic-launch-%Y%m%d-%H%M%S-{os.getpid()}.log')
