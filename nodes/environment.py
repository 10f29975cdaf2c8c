"""The environment variables that ROS 2 needs, and where the package's own files are.

The wheels from PyPI set no AMENT_PREFIX_PATH, find each other beyond this machine, and leave traces (a guard and a
library path) that break the Python of another environment. `haptic` and every node call `ready()` before anything
imports rclpy; whoever starts a Python of another environment passes it `foreign()`. Standard library only.
"""

import functools
import importlib.util
import os
import platform
import sys
from pathlib import Path

PACKAGE = 'mbs_haptics'
# The nodes of this package: each is a module with main(), a console script and a file of lib/mbs_haptics.
EXECUTABLES = ('rosbotran', 'lid', 'roscom', 'recorder', 'viewer', 'sound')
GUARD = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
INDEX = Path('share') / 'ament_index' / 'resource_index' / 'packages'
DISCOVERY = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')     # the name of Fast DDS 2, and of 3
SOURCES = Path(__file__).resolve().parents[1]
# The wheels are built for these machines only; elsewhere ROS 2 comes from an installation.
WHEELS_FOR = ('x86_64',)


def wheels_fit(machine=None):
    """Tell whether PyPI has ROS 2 wheels for this machine."""
    return (machine or platform.machine()) in WHEELS_FOR and sys.platform == 'linux'


def uses_wheels(prefix=None):
    """Tell whether the ROS 2 of this environment came as wheels: they leave their index in its prefix."""
    return (Path(prefix or sys.prefix) / INDEX / 'rclpy').exists()


def ready(environ=None, prefix=None):
    """Complete the variables for ROS 2 in this environment; what the user has set stays.

    AMENT_PREFIX_PATH gets the environment's prefix. With the wheels, discovery is limited to this machine and made
    quick (config/fastdds.xml) unless the user says otherwise; a sourced ROS 2 keeps its own custom.
    """
    environ = os.environ if environ is None else environ
    prefix = str(prefix or sys.prefix)
    if (Path(prefix) / INDEX).is_dir():
        paths = [path for path in environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if path]
        if prefix not in paths:
            environ['AMENT_PREFIX_PATH'] = os.pathsep.join([*paths, prefix])
    if uses_wheels(prefix):
        environ.setdefault(DISCOVERY, 'LOCALHOST')
        share = own_share()
        if share and (share / 'config' / 'fastdds.xml').exists() and not any(name in environ for name in PROFILES):
            environ[PROFILES[0]] = str(share / 'config' / 'fastdds.xml')
    return environ


def foreign(environ=None):
    """Return the variables for a process of another environment: without what the wheels of this one left behind."""
    environ = dict(os.environ if environ is None else environ)
    if environ.pop(GUARD, None) is not None:
        environ.pop('LD_LIBRARY_PATH', None)
    return environ


def has_ros():
    """Tell whether rclpy is installed, without importing it."""
    return importlib.util.find_spec('rclpy') is not None


def need_ros():
    """Make ROS 2 usable for a verb or node, or say in one sentence how to get it."""
    ready()
    if not has_ros():
        from mbs_core.errors import MbsError
        raise MbsError('ROS 2 (rclpy) is not installed here: run ./haptic from the source tree, which installs it, '
                       'or source a ROS 2 installation first')


def prefixes(environ=None):
    """Return the ament prefixes in the order of search."""
    environ = os.environ if environ is None else environ
    return [Path(path) for path in environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if path]


def package_prefix(package, environ=None):
    """Return the ament prefix that holds a package, or None."""
    return next((prefix for prefix in prefixes(environ) if (prefix / INDEX / package).exists()), None)


def package_share(package, environ=None):
    """Return the share folder of a package, or None; for this package the source tree serves when nothing is installed."""
    prefix = package_prefix(package, environ)
    if prefix is not None:
        return prefix / 'share' / package
    if package == PACKAGE:
        return own_share()
    return None


@functools.lru_cache(maxsize=1)
def own_share():
    """Return the folder with this package's launch/ and config/: the source tree, or the prefix it was installed in."""
    for folder in (SOURCES, Path(sys.prefix) / 'share' / PACKAGE):
        if (folder / 'package.xml').exists():
            return folder
    return None


def package_executable(package, name, environ=None):
    """Return the command (a list) of a package's executable, or None.

    Executables live in lib/<package>/ of the prefix; this package's own also run as modules, so that a source tree
    and a plain pip installation need no such folder.
    """
    prefix = package_prefix(package, environ)
    if prefix is not None and os.access(prefix / 'lib' / package / name, os.X_OK):
        return [str(prefix / 'lib' / package / name)]
    if package == PACKAGE and name in executables():
        return [sys.executable, '-m', f'{PACKAGE}.{name}']
    return None


def executables():
    """Return the names of this package's own executables: modules of nodes/ named in its list and present."""
    folder = Path(__file__).resolve().parent
    return [name for name in EXECUTABLES if (folder / f'{name}.py').exists()]
