"""The generated models that run inside the firmware: written from their mechanisms, and checked to be in step with them.

A folder firmware/models/ holds for an application `<app>_generated.c`, made here, and `<app>_model.c`, which calls it.
"""

from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.firmware.build import source_folder

PARTITIONS = 1      # the reduced model has one free coordinate, the measured one, whatever the pose


def modelled() -> list[str]:
    """Return the applications that have a model."""
    return sorted(path.name.removesuffix('_model.c') for path in (source_folder() / 'models').glob('*_model.c'))


def generated_file(app) -> Path:
    """Return where the generated C of an application is kept."""
    return source_folder() / 'models' / f'{app}_generated.c'


def text(app) -> str:
    """Return the generated C of the mechanism of this name, as it has to be."""
    from mbs_core.mechanisms import build as mechanism
    from mbs_haptics.commands.generate import text_of
    return text_of(mechanism(app), 'c', PARTITIONS)


def behind() -> list[Path]:
    """Return the files that are not what the generator writes now."""
    files = {generated_file(app): app for app in modelled()}
    return [path for path, app in files.items() if not path.exists() or path.read_text(encoding='utf-8') != text(app)]


def write() -> list[Path]:
    """Write the files that are behind and return them."""
    late = behind()
    for path in late:
        try:
            path.write_text(text(path.name.removesuffix('_generated.c')), encoding='utf-8')
        except OSError as error:
            raise MbsError(f'{path} cannot be written ({error.strerror}): run from a source tree of your own') from None
    return late
