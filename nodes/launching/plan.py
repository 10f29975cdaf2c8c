"""What a launch file comes to: processes and messages, each with its delay; data only."""

from dataclasses import dataclass, field

from mbs_haptics.launching.parameters import ParameterFile


@dataclass
class Process:
    """One process to start: label, command line, variables, and what happens when it ends."""

    name: str
    argv: list                  # of str, and ParameterFile where a file has yet to be written
    environment: dict
    cwd: str = None
    output: str = 'log'         # 'screen', 'log' or 'both'
    respawn: bool = False
    respawn_delay: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    has_prefix: bool = False    # signals go to the whole group then: the prefix may not pass them on
    delay: float = 0.0

    def command(self, folder):
        """Return the command line with its parameter files written into `folder`."""
        words = []
        for n, word in enumerate(self.argv):
            if isinstance(word, ParameterFile):
                path = folder / f'{self.name}-parameters-{n}.yaml'
                path.write_text(word.text(), encoding='utf-8')
                word = str(path)
            words.append(word)
        return words


@dataclass
class Message:
    """A line to say to the user."""

    text: str
    delay: float = 0.0


@dataclass
class Plan:
    """Everything to do, in order of delay; `variables` are the launch arguments and <let> values at the end."""

    file: str
    steps: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)

    @property
    def processes(self):
        """Return the processes only."""
        return [step for step in self.steps if isinstance(step, Process)]
