"""The one error of launch files: a sentence that begins with file and line."""

from mbs_core.errors import MbsError


class LaunchError(MbsError):
    """A launch file that can't be run as it is, told in one sentence with its place."""

    def __init__(self, sentence, place=None):
        """Keep the sentence; `place` is (file, line) or an element that has them."""
        file, line = (place.file, place.line) if hasattr(place, 'line') else place or (None, None)
        super().__init__(f'{file}:{line}: {sentence}' if file else sentence)
