"""Parameters of nodes: values by YAML's rules, files that are checked before a node sees them.

A missing or malformed parameter file is silent under real launch and kills the node later; here it is one sentence.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from mbs_haptics.launching.errors import LaunchError
from mbs_haptics.launching.substitutions import evaluate, expand, parse

SCALARS = (bool, int, float, str)


@dataclass(frozen=True)
class ParameterFile:
    """A parameter file still to be written: {node name or '/**': {'ros__parameters': {...}}}."""

    content: dict

    def text(self):
        """Return the YAML text."""
        return yaml.dump(self.content, default_flow_style=False)


def value_of(text, context, element):
    """Return the typed value of a parameter's text: YAML first, then substitutions, then YAML again on their result."""
    first = _from_yaml(text, element, lenient=True)
    if isinstance(first, list):
        values = [_element(item, context, element) for item in first]
        if len({type(value) for value in values}) > 1:
            raise LaunchError(f"the list '{text}' mixes kinds of values", element)
        return values
    return _element(first, context, element)


def _element(value, context, element):
    if not isinstance(value, str):
        return value
    parts = parse(value, element)
    text = evaluate(parts, context, element)
    return text if all(isinstance(part, str) for part in parts) else _from_yaml(text, element)


def _from_yaml(text, element, lenient=False):
    if not text:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        if lenient:
            return text
        raise LaunchError(f"the value '{text}' is not valid YAML; quote it", element) from None
    kinds = {type(item) for item in (value if isinstance(value, list) else [value])}
    if lenient:
        kinds -= {str} if len(kinds) > 1 else set()
    if not kinds <= set(SCALARS) or len(kinds) > 1:
        raise LaunchError(f"the value '{text}' is neither a truth value, a number, a text nor a list of one of these", element)
    return value


def parameters_of(node, context, full_name) -> list:
    """Return what the <param> children of a node stand for, in order: ParameterFile objects and paths (str)."""
    found = []
    for param in node.all('param'):
        if 'from' in param.attributes:
            param.check(('from',))
            path = expand(param.need('from'), context, param)
            check_file(path, param)
            found.append(path)
        else:
            found.append(ParameterFile({full_name: {'ros__parameters': _named(param, context)}}))
    return found


def _named(param, context):
    param.check(('name', 'value'), ('param',))
    name = expand(param.need('name'), context, param)
    if 'value' in param.attributes and param.children:
        raise LaunchError(f"parameter '{name}' has both a value and parameters inside; keep one", param)
    if 'value' in param.attributes:
        return {name: value_of(param.get('value'), context, param)}
    if not param.children:
        raise LaunchError(f"parameter '{name}' has neither a value nor parameters inside", param)
    nested = {}
    for child in param.children:
        nested.update({f'{name}.{inner}': value for inner, value in _named(child, context).items()})
    return nested


def check_file(path, place=None):
    """Refuse a parameter file that is missing, is not YAML, or has not the form of ROS parameters."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise LaunchError(f"the parameter file '{path}' can't be read: {error.strerror}", place) from None
    except UnicodeDecodeError:
        raise LaunchError(f"the parameter file '{path}' is not a text file", place) from None
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}' if mark else ''
        what = getattr(error, 'problem', None) or 'it is not YAML'
        raise LaunchError(f"the parameter file '{path}' is malformed{where}: {what}", place) from None
    if not isinstance(content, dict) or not content:
        raise LaunchError(f"the parameter file '{path}' has no '/**: ros__parameters:' block", place)
    for name, block in content.items():
        # Namespaces may be nested above the block; it is there, or deeper.
        if not isinstance(block, dict) or not _has_block(block):
            raise LaunchError(f"in the parameter file '{path}', '{name}' has no 'ros__parameters:' block", place)


def _has_block(block):
    if 'ros__parameters' in block:
        return isinstance(block['ros__parameters'], dict)
    return any(isinstance(inner, dict) and _has_block(inner) for inner in block.values())
