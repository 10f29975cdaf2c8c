"""Parameters of running nodes: list, get and set them, with one sentence for everything that can be wrong.

What a node declares (type, range, read-only) is checked here before it is asked, so that the sentence names the
limit; what only the node knows comes back as its own reason.
"""

import math

from mbs_core.errors import MbsError, suggest

# The numbers of rcl_interfaces/msg/ParameterType.
NOT_SET, BOOL, INTEGER, DOUBLE, STRING = range(5)
BYTE_ARRAY, BOOL_ARRAY, INTEGER_ARRAY, DOUBLE_ARRAY, STRING_ARRAY = range(5, 10)
FIELDS = {BOOL: 'bool_value', INTEGER: 'integer_value', DOUBLE: 'double_value', STRING: 'string_value',
          BYTE_ARRAY: 'byte_array_value', BOOL_ARRAY: 'bool_array_value', INTEGER_ARRAY: 'integer_array_value',
          DOUBLE_ARRAY: 'double_array_value', STRING_ARRAY: 'string_array_value'}
WORDS = {BOOL: 'true or false', INTEGER: 'a whole number', DOUBLE: 'a number', STRING: 'a text', BOOL_ARRAY: 'a list of true and false',
         INTEGER_ARRAY: 'a list of whole numbers', DOUBLE_ARRAY: 'a list of numbers', STRING_ARRAY: 'a list of texts'}
ELEMENT = {BOOL_ARRAY: BOOL, INTEGER_ARRAY: INTEGER, DOUBLE_ARRAY: DOUBLE, STRING_ARRAY: STRING}
INT64 = range(-2**63, 2**63)


def convert(name, text, kind):
    """Return the value that a text stands for, in the type of the parameter, or refuse it in one sentence."""
    import yaml
    refusal = MbsError(f"parameter '{name}' must be {WORDS.get(kind, 'of another kind')}, not '{text}'")
    if kind == STRING:
        return text
    if kind in ELEMENT:
        try:
            items = yaml.safe_load(text)
        except yaml.YAMLError:
            raise refusal from None
        if not isinstance(items, list):
            raise refusal
        return [convert(name, str(item).lower() if isinstance(item, bool) else str(item), ELEMENT[kind]) for item in items]
    if kind == BOOL:
        if text.lower() not in ('true', 'false'):
            raise refusal
        return text.lower() == 'true'
    if kind not in (INTEGER, DOUBLE):
        raise refusal
    try:
        value = int(text) if kind == INTEGER else float(text)
    except ValueError:
        raise refusal from None
    if kind == DOUBLE and not math.isfinite(value) or kind == INTEGER and value not in INT64:
        raise MbsError(f"parameter '{name}' must be a finite number, not '{text}'")
    return value


def check(descriptor, value):
    """Refuse a value that a parameter's declaration doesn't allow."""
    if descriptor.read_only:
        raise MbsError(f"parameter '{descriptor.name}' is read-only; set it in the launch file or configuration")
    for limits in [*descriptor.floating_point_range, *descriptor.integer_range]:
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, (int, float)) or isinstance(item, bool):
                continue
            if not limits.from_value <= item <= limits.to_value:
                raise MbsError(f"parameter '{descriptor.name}' must be from {limits.from_value:g} to {limits.to_value:g}, not {item:g}")


def plain(value):
    """Return the Python value of a rcl_interfaces/msg/ParameterValue; None when it isn't set."""
    if value.type == NOT_SET:
        return None
    found = getattr(value, FIELDS[value.type])
    return found if isinstance(found, (bool, int, float, str)) else list(found)


class Parameters:
    """The parameters of one running node, through a Conversation."""

    def __init__(self, talk, node):
        """Find the node."""
        self.talk, self.node = talk, talk.find_node(node)

    def call(self, name, **request):
        """Call one of the node's parameter services."""
        from rcl_interfaces import srv
        kind = getattr(srv, ''.join(word.title() for word in name.split('_')))
        return self.talk.call(kind, f'{self.node}/{name}', kind.Request(**request))

    def names(self):
        """Return the names of all parameters."""
        return sorted(self.call('list_parameters').result.names)

    def need(self, wanted):
        """Refuse names that the node doesn't have."""
        known = self.names()
        for name in wanted:
            if name not in known:
                raise MbsError(f"node '{self.node}' has no parameter '{name}'{suggest(name, known)}")

    def get(self, names):
        """Return {name: value}."""
        return {name: plain(value) for name, value in zip(names, self.call('get_parameters', names=list(names)).values)}

    def describe(self, names):
        """Return {name: descriptor}."""
        return dict(zip(names, self.call('describe_parameters', names=list(names)).descriptors))

    def set(self, texts):
        """Set all of {name: text} at once or none; return the typed values."""
        from rcl_interfaces.msg import Parameter, ParameterValue
        self.need(texts)
        values, descriptors = {}, self.describe(texts)
        for name, text in texts.items():
            kind = descriptors[name].type
            values[name] = convert(name, text, kind)
            check(descriptors[name], values[name])
        batch = [Parameter(name=name, value=ParameterValue(**{'type': descriptors[name].type, FIELDS[descriptors[name].type]: value}))
                 for name, value in values.items()]
        result = self.call('set_parameters_atomically', parameters=batch).result
        if not result.successful:
            raise MbsError(f"node '{self.node}' refuses: {result.reason or 'it gives no reason'}")
        return values
