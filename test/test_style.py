"""The house style that a machine can check: docstrings, layers, size, no notes to self."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 600
UNFINISHED = ('TO' 'DO', 'FIX' 'ME')
BELOW_ROS = {'mbs_haptics', 'nodes', 'rclpy', 'rcl_interfaces', 'sensor_msgs', 'std_msgs', 'serial', 'socket'}


def sources(*folders, pattern='*.py'):
    """Return test parameters: the files of these folders, named by their path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob(pattern))
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def parse(path):
    """Return the syntax tree of a source file."""
    return ast.parse(path.read_text(encoding='utf-8'), filename=str(path))


def public(tree, prefix=''):
    """Yield (dotted name, node) for every public function, class and method."""
    for node in tree.body:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named and not node.name.startswith('_'):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node, prefix + node.name + '.')


def imported(tree):
    """Yield the first part of the name of every imported module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition('.')[0]


@pytest.mark.parametrize('path', sources('mbs_core', 'nodes', 'test', 'bench'))
def test_module_says_what_it_is_for_and_is_short_enough_to_read(path):
    assert ast.get_docstring(parse(path)), 'a docstring at the top is missing'
    assert len(path.read_text(encoding='utf-8').splitlines()) <= LONGEST


@pytest.mark.parametrize('path', sources('mbs_core', 'nodes'))
def test_every_public_name_has_a_docstring(path):
    assert [name for name, node in public(parse(path)) if not ast.get_docstring(node)] == []


@pytest.mark.parametrize('path', sources('mbs_core'))
def test_core_knows_neither_ros_nor_devices(path):
    assert set(imported(parse(path))) & BELOW_ROS == set()


def text_files():
    """Return every text file of the project as test parameters, generated and installed folders left out."""
    folders = ('mbs_core', 'nodes', 'launch', 'config', 'firmware', 'test', 'bench', 'docs', '.ci')
    kinds = ('*.py', '*.xml', '*.yaml', '*.c', '*.h', '*.md', '*.rst', 'run')
    inside = [parameter for kind in kinds for parameter in sources(*folders, pattern=kind)]
    top = ('README.md', 'CHANGELOG.rst', 'setup.py', 'setup.cfg', 'package.xml', 'requirements.txt', 'haptic')
    return inside + [pytest.param(ROOT / name, id=name) for name in top]


@pytest.mark.parametrize('path', text_files())
def test_no_file_carries_notes_about_unfinished_work(path):
    text = path.read_text(encoding='utf-8')
    assert [word for word in UNFINISHED if word in text] == []
