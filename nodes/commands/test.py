"""`haptic test`: run the project's own tests with pytest.

Those marked `alone` go first, one at a time, because they measure time; the rest runs on all cores and has the last word.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HELP = "Run the project's own tests; further arguments go to pytest."
PASS_THROUGH = True

NO_TESTS = 5    # pytest's exit code when nothing was selected
OWN_SELECTION = ('-n', '-m', '--numprocesses', '--collect-only', '--co', '--fixtures', '--markers', '--pdb')


def add_arguments(parser):
    """Add nothing: every argument belongs to pytest."""
    parser.usage = 'haptic test [PYTEST ARGUMENT ...]'
    parser.epilog = 'With CI=true in the environment a skipped test counts as failed.'


def source_tree():
    """Return the folder of the sources that this module belongs to, or None when it runs from an installation."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / 'test' / 'conftest.py').exists() and (root / 'package.xml').exists() else None


def phases(rest, parallel):
    """Return the pytest arguments of each pass; one pass only when the user chooses himself."""
    if any(word.startswith(OWN_SELECTION) for word in rest):
        return [rest]
    return [['-m', 'alone', '-q', *rest], ['-m', 'not alone', *(['-n', 'auto'] if parallel else []), *rest]]


def worst(codes):
    """Return the exit code of all passes together; an empty pass counts only if all are empty."""
    failures = [code for code in codes if code not in (0, NO_TESTS)]
    if failures:
        return failures[0]
    return 0 if 0 in codes else NO_TESTS


def run(args):
    """Run pytest in the source tree and return its exit code, or 2 with a sentence when it cannot."""
    root = source_tree()
    if root is None:
        print('haptic: an installed package has no tests; run `./haptic test` in the source tree.', file=sys.stderr)
        return 2
    if importlib.util.find_spec('pytest') is None:
        print("haptic: pytest is missing; run `./haptic test`, or `pip install -e '.[test]'` in the source tree.",
              file=sys.stderr)
        return 2
    parallel = importlib.util.find_spec('xdist') is not None and (os.cpu_count() or 1) > 1
    # Paths among the arguments are meant from where the user stands.
    rest = [os.path.abspath(word) if not word.startswith('-') and os.path.exists(word.partition('::')[0]) else word
            for word in args.rest]
    codes = []
    for chosen in phases(rest, parallel):
        codes.append(subprocess.run([sys.executable, '-m', 'pytest', *chosen], cwd=root, check=False).returncode)
        if codes[-1] not in (0, 1, NO_TESTS):
            break
    return worst(codes)
