"""Launch files without ROS's launch: read the XML subset, make a plan of processes, run and end them together.

The way through: `document` (XML with line numbers) -> `substitutions` ($(var x) and the like) -> `interpreter` (a plan:
commands, parameters, environment, delays) -> `supervisor` (processes). Files of this subset do the same under
`ros2 launch`; anything outside it is refused by name, with file and line.
"""

from mbs_haptics.launching.errors import LaunchError
from mbs_haptics.launching.interpreter import declared_arguments, interpret
from mbs_haptics.launching.supervisor import Supervisor

__all__ = ['LaunchError', 'Supervisor', 'declared_arguments', 'interpret']
