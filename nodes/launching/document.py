"""Read an XML launch file into elements that know their line, and refuse what launch files never contain."""

import xml.parsers.expat
from dataclasses import dataclass, field
from pathlib import Path

from mbs_core.errors import suggest
from mbs_haptics.launching.errors import LaunchError


@dataclass
class Element:
    """A tag with its attributes, its children, and where it stands."""

    tag: str
    attributes: dict
    file: str
    line: int
    children: list = field(default_factory=list)

    def get(self, name, default=None):
        """Return the text of an attribute, or the default."""
        return self.attributes.get(name, default)

    def need(self, name):
        """Return the text of an attribute that has to be there."""
        if name not in self.attributes:
            raise LaunchError(f"<{self.tag}> needs the attribute '{name}'", self)
        return self.attributes[name]

    def check(self, attributes, children=()):
        """Refuse attributes and children other than these, by name."""
        for name in self.attributes:
            if name not in attributes:
                raise LaunchError(f"<{self.tag}> has no attribute '{name}' in the supported subset{suggest(name, attributes)}", self)
        for child in self.children:
            if child.tag not in children:
                inside = suggest(child.tag, children) if children else '; it has no children'
                raise LaunchError(f'<{child.tag}> inside <{self.tag}> is outside the supported subset{inside}', child)

    def all(self, tag):
        """Return the children with this tag."""
        return [child for child in self.children if child.tag == tag]


def read(path) -> Element:
    """Return the root element of a launch file; a file that can't be read or isn't XML is one sentence."""
    path = Path(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise LaunchError(f"the launch file '{path}' can't be read: {error.strerror}") from None
    root = _Builder(str(path)).build(text)
    if root.tag != 'launch':
        raise LaunchError(f'the outermost tag must be <launch>, not <{root.tag}>', root)
    return root


class _Builder:
    """Turns the events of expat into elements."""

    def __init__(self, file):
        self.file, self.root, self.open = file, None, []
        self.parser = xml.parsers.expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = lambda tag: self.open.pop()
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.doctype

    def build(self, text):
        try:
            self.parser.Parse(text, True)
        except xml.parsers.expat.ExpatError as error:
            what = xml.parsers.expat.errors.messages[error.code]
            raise LaunchError(f'this is not well-formed XML: {what}', (self.file, error.lineno)) from None
        return self.root

    def start(self, tag, attributes):
        element = Element(tag, attributes, self.file, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def text(self, text):
        if text.strip():
            raise LaunchError(f'text {text.strip()[:30]!r} between the tags means nothing here',
                              (self.file, self.parser.CurrentLineNumber))

    def doctype(self, *_):
        raise LaunchError('<!DOCTYPE> is outside the supported subset', (self.file, self.parser.CurrentLineNumber))
