"""Live changes of model parameters: every batch is checked as a whole and told apart in one sentence, before anything moves.

The mechanism's own declaration gives unit, range and description; ROS sees them as `model.<name>`.
"""

import math
from typing import NamedTuple

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.parameter import Parameter

from mbs_core.errors import MbsError, suggest

PREFIX, INPUT = 'model.', 'inputs.'
KINDS = {Parameter.Type.STRING: 'text', Parameter.Type.BOOL: 'true or false', Parameter.Type.INTEGER: 'a whole number',
         Parameter.Type.DOUBLE: 'a number', Parameter.Type.NOT_SET: 'nothing'}


def descriptor(parameter) -> ParameterDescriptor:
    """Return what ROS shows of a model parameter: its sentence with the unit, and its range."""
    sentence = (parameter.doc or parameter.name).rstrip('.')
    still = 'only while the node is inactive' if parameter.structural else ''
    return ParameterDescriptor(
        description=f'{sentence} ({parameter.unit}).', additional_constraints=still,
        floating_point_range=[FloatingPointRange(from_value=float(parameter.low), to_value=float(parameter.high), step=0.0)])


def kind(parameter) -> str:
    """Return in words what type of value a ROS parameter holds."""
    return KINDS.get(parameter.type_, 'a list')


def as_double(parameter) -> Parameter:
    """Return a whole number as a double, anything else as it is: nobody means another value by 3 than by 3.0."""
    if parameter.type_ == Parameter.Type.INTEGER:
        return Parameter(parameter.name, Parameter.Type.DOUBLE, float(parameter.value))
    return parameter


class Commanded(NamedTuple):
    """A commanded input as the gate sees it; `structural` because parameters have it."""

    name: str
    unit: str
    low: float
    high: float
    structural: bool = False
    doc: str = ''


class Gate:
    """Decides about batches; `declared` are the model's parameters by name, `inputs` its commanded inputs."""

    def __init__(self, declared, inputs=()):
        self.declared = declared
        self.inputs = {i.name: Commanded(i.name, '', i.low, i.high) for i in inputs}

    def own(self, name):
        """Return what is declared of a ROS parameter that reaches the model, or None."""
        if name.startswith(PREFIX):
            return self.declared.get(name[len(PREFIX):])
        return self.inputs.get(name[len(INPUT):]) if name.startswith(INPUT) else None

    def check(self, parameters, node, active) -> list:
        """Return the batch ready to be set (numbers as doubles), or raise MbsError with the first reason against it."""
        names = [p.name for p in parameters]
        for name in names:
            if names.count(name) > 1:
                raise MbsError(f"'{name}' appears twice in one batch: send it once")
            if not node.has_parameter(name):
                raise MbsError(f"there is no parameter '{name}'{suggest(name, self._known(node, name))}")
        return [self._one(p, node, active) for p in parameters]

    def _known(self, node, name):
        if name.startswith(PREFIX):
            return [PREFIX + own for own in self.declared]
        if name.startswith(INPUT):
            return [INPUT + own for own in self.inputs]
        return list(node._parameters)

    def _one(self, p, node, active):
        own = self.own(p.name)
        if own is None:
            if node.describe_parameter(p.name).read_only:
                raise MbsError(f"'{p.name}' is read-only while the node runs: set it in the configuration file or as a launch argument")
            return p
        p = as_double(p)
        if p.type_ != Parameter.Type.DOUBLE:
            raise MbsError(f"'{p.name}' must be a number in {own.unit}, not {kind(p)} ({p.value!r})")
        if not math.isfinite(p.value):
            raise MbsError(f"'{p.name}' must be finite, not {p.value}")
        if not own.low <= p.value <= own.high:
            raise MbsError(f"'{p.name}' = {p.value:g} {own.unit} is outside its range [{own.low:g}, {own.high:g}] {own.unit}")
        if own.structural and active:
            raise MbsError(f"'{p.name}' changes the structure of the model and can't change while it is active: disable it first")
        return p

    def batch(self, parameters) -> dict:
        """Return {name: value} of the model parameters among some ROS parameters."""
        return {p.name[len(PREFIX):]: p.value for p in parameters if p.name.startswith(PREFIX) and p.name[len(PREFIX):] in self.declared}

    def commands(self, parameters) -> dict:
        """Return {name: value} of the commanded inputs among some ROS parameters."""
        return {p.name[len(INPUT):]: p.value for p in parameters if p.name.startswith(INPUT) and p.name[len(INPUT):] in self.inputs}
