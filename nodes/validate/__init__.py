"""Validation of devices against published claims: a bench that runs the real stack, recordings, claims, and their report.

A device's claims are one module of this folder, named as its launch file, with
`TITLE`, `INTRODUCTION`, `TOPICS` (that a recording has to have), `stage(folder, quick, domain, progress) -> bag`, which plays
every scene on a Bench, and `judge(recorded) -> [Claim]`, which reads the recording and nothing else.
"""

import importlib
from pathlib import Path

from mbs_core.errors import MbsError, suggest


def devices() -> list:
    """Return the names of the devices that have claims."""
    folder = Path(__file__).resolve().parent
    return sorted(path.stem for path in folder.glob('*.py')
                  if not path.stem.startswith('_') and 'def stage(' in path.read_text(encoding='utf-8'))


def module_of(device):
    """Return the module with the claims of a device, or say which there are."""
    if device not in devices():
        raise MbsError(f"there are no claims to validate for '{device}'{suggest(device, devices())}")
    return importlib.import_module(f'mbs_haptics.validate.{device}')
