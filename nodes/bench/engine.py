"""`haptic bench engine`: everything about the speed and size of models, in one run."""

import os
import platform
import sys

from mbs_core.errors import MbsError
from mbs_core.runtime.library import host

SIZES = (6, 10, 20, 50, 100)
QUICK_SIZES = (6,)


def figures(collection, quick=False, quiet=False):
    """Measure and add all figures to `collection`."""
    missing = [name for name in ('pinocchio', 'mujoco') if not _present(name)]
    if missing:
        raise MbsError(f"`haptic bench` compares with {' and '.join(missing)}, which can't be imported: run it as `./haptic bench`, "
                       "or pip install 'mbs_haptics[bench]'")
    from mbs_haptics.bench import car_peer, closed, generation, trees
    sizes, rounds = (QUICK_SIZES, 3) if quick else (SIZES, 15)

    def say(what):
        if not quiet:
            print(f'haptic: measuring {what}', file=sys.stderr, flush=True)
    collection.add('machine', f'{host()[0]}, {os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}',
                   note='times are the best of interleaved rounds')
    trees.measure(collection, sizes, rounds, say)
    closed.measure(collection, rounds, say, quick)
    car_peer.measure(collection, rounds, say, quick)
    generation.measure(collection, sizes, rounds, say)
    return collection


def _present(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True
