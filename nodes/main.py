"""The `haptic` command: find the verb, import only its module, run it, and word its failures in one sentence.

Exit codes: the verb's own; 2 for bad input; 130 after Ctrl-C; 141 when the reader of our output went away.
"""

import argparse
import ast
import importlib
import importlib.metadata
import os
import re
import sys
from pathlib import Path

from mbs_haptics import environment
from mbs_haptics.suggest import unknown

COMMANDS = Path(__file__).resolve().parent / 'commands'


def verbs():
    """Return {verb: its one-line help}, read from the sources: importing every verb would make --help slow."""
    found = {}
    for path in sorted(COMMANDS.glob('*.py')):
        if not path.stem.startswith('_'):
            line = re.search(r'^HELP(?:: str)? = (.*)$', path.read_text(encoding='utf-8'), re.MULTILINE)
            found[path.stem] = ast.literal_eval(line.group(1)) if line else ''
    return found


def version():
    """Return the version of the installed package."""
    try:
        return importlib.metadata.version('mbs_haptics')
    except importlib.metadata.PackageNotFoundError:
        return 'unknown: the package is not installed'


def frame(known):
    """Return the parser of what comes before the verb; `known` is the result of verbs()."""
    width = max(map(len, known), default=0)
    listing = [f'  {name:{width}}  {text}' for name, text in known.items()]
    parser = argparse.ArgumentParser(
        prog='haptic', formatter_class=argparse.RawDescriptionHelpFormatter, usage='haptic VERB [ARGUMENT ...]',
        description='Render the touch of a mechanism on a real or virtual device.',
        epilog='\n'.join(['verbs:', *listing, '', '`haptic VERB --help` tells more.']))
    parser.add_argument('--version', action='store_true', help='show the version and exit')
    return parser


def call(verb, argv):
    """Import the module of a verb, let it parse argv, run it and return its exit code."""
    environment.ready()         # before anything imports rclpy
    module = importlib.import_module('mbs_haptics.commands.' + verb)
    parser = argparse.ArgumentParser(prog='haptic ' + verb, description=module.HELP, allow_abbrev=False)
    module.add_arguments(parser)
    if getattr(module, 'PASS_THROUGH', False):
        args, args.rest = parser.parse_known_args(argv)
    else:
        args = parser.parse_args(argv)
    return module.run(args) or 0


def dispatch(argv):
    """Run `haptic` with these arguments and return its exit code; failures are raised."""
    known = verbs()
    if argv and argv[0] in known:
        return call(argv[0], argv[1:])
    if argv and not argv[0].startswith('-'):
        return complain(unknown('verb', argv[0], known))
    args = frame(known).parse_args(argv)
    if args.version:
        print(version())
    else:
        frame(known).print_help()
    return 0


def complain(sentence):
    """Print one sentence on standard error and return the exit code for bad input."""
    print(f'haptic: {sentence}', file=sys.stderr)
    return 2


def is_ours(error):
    """Tell whether the error is an MbsError, without importing mbs_core for it."""
    module = sys.modules.get('mbs_core.errors')
    return module is not None and isinstance(error, module.MbsError)


def main(argv=None):
    """Run `haptic` and return the exit code."""
    try:
        try:
            code = dispatch(sys.argv[1:] if argv is None else argv)
        except SystemExit as leaving:       # argparse, after --help or bad arguments
            code = leaving.code
        sys.stdout.flush()      # here, so that a broken pipe shows inside this try
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes once more at exit; give that flush somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if not is_ours(error):
            raise
        return complain(' '.join(str(error).split()))


if __name__ == '__main__':
    sys.exit(main())
