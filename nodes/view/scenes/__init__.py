"""Scenes: how a mechanism is drawn. A mechanism `name` has the scene of `name.py` in this folder, or plain links.

To add one, drop `name.py` here with a class `View(Scene)`: `build` draws shapes that hang on bodies or on the ground, `update`
moves what doesn't simply follow a body, `controls` adds elements to the page.
"""

import importlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def scene_class(name):
    """Return the class of the scene for a mechanism of this name."""
    if name and (FOLDER / f'{name}.py').exists() and name not in ('base', 'links'):
        return importlib.import_module(f'{__name__}.{name}').View
    from mbs_haptics.view.scenes.links import View
    return View
