"""Interpret the XML subset of launch files: walk the elements, keep variables and environment, collect a plan.

Scopes as upstream: a group restores variables, namespace and environment at its end; an include does not. The body
of a timer is interpreted in the outermost scope as it is after everything before it.
"""

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from mbs_core.errors import suggest
from mbs_haptics import environment as packages
from mbs_haptics.launching.document import read
from mbs_haptics.launching.errors import LaunchError
from mbs_haptics.launching.parameters import parameters_of
from mbs_haptics.launching.plan import Message, Plan, Process
from mbs_haptics.launching.substitutions import evaluate, expand, parse, truth

CONDITIONS = ('if', 'unless')
PROCESS = ('name', 'cwd', 'output', 'respawn', 'respawn_delay', 'respawn_max_retries', 'launch-prefix', 'on_exit')
DEEPEST = 20            # includes inside includes


@dataclass
class Context:
    """What substitutions see: variables, environment and the file in hand."""

    variables: dict
    environment: dict
    files: list = field(default_factory=list)       # the stack of files, this one last
    upstream_file: str = ''     # what upstream takes for the file in hand: the last one included

    @property
    def namespace(self):
        """Return the pushed namespace or None; upstream keeps it among the variables, under this name."""
        return self.variables.get('ros_namespace')

    def place_of(self, what, place):
        """Return the path of the file in hand ('filename') or its folder ('dirname').

        After an include, upstream answers with the included file. Where that makes a difference it is refused here.
        """
        ours, theirs = self.files[-1], self.upstream_file
        if what == 'dirname':
            ours, theirs = os.path.dirname(ours), os.path.dirname(theirs)
        if ours != theirs:
            raise LaunchError(f'$({what}) after an <include> means the included file under ros2 launch; keep it in a <let> before', place)
        return ours


def interpret(path, arguments=None, environ=None) -> Plan:
    """Return the plan of a launch file with these arguments ({name: text}); nothing is started.

    Arguments that no <arg> declares, and everything outside the subset, raise LaunchError.
    """
    return _Interpreter(Path(path).resolve(), dict(arguments or {}), dict(os.environ if environ is None else environ)).run()


def declared_arguments(path) -> dict:
    """Return {name: (default text or None, description, [choices])} of the <arg> tags of one file, in order."""
    return {arg.need('name'): (arg.get('default'), arg.get('description', ''), [choice.need('value') for choice in arg.all('choice')])
            for arg in _all_arguments(read(path))}


def _all_arguments(element):
    for child in element.children:
        if child.tag == 'arg' and element.tag != 'include':
            yield child
        yield from _all_arguments(child)


class _Interpreter:
    """One pass over a launch file."""

    def __init__(self, path, arguments, environ):
        self.path, self.arguments, self.declared = str(path), arguments, []
        self.context = Context(dict(arguments), environ)
        self.plan, self.timers, self.delay, self.count = Plan(self.path), [], 0.0, 0
        self.actions = {
            'arg': self.arg, 'let': self.let, 'group': self.group, 'push_ros_namespace': self.push_ros_namespace,
            'include': self.include, 'set_env': self.set_env, 'executable': self.executable, 'log': self.log,
            'timer': self.timer, 'node': self.node}

    def run(self):
        self.file(self.path)
        while self.timers:
            self.timers.sort(key=lambda timer: timer[0])
            self.delay, files, upstream, element = self.timers.pop(0)
            self.context.files, self.context.upstream_file = files, upstream
            self.children(element)
        for name in self.arguments:
            if name not in self.declared:
                raise LaunchError(f"{self.path} has no argument '{name}'{suggest(name, self.declared)}")
        self.plan.variables = self.context.variables
        return self.plan

    def file(self, path, place=None):
        if len(self.context.files) >= DEEPEST:
            raise LaunchError(f"'{path}' is included inside itself", place)
        root = read(path)
        root.check((), self.actions)
        self.declared += [arg.need('name') for arg in _all_arguments(root)]
        self.context.files = [*self.context.files, path]
        self.context.upstream_file = path
        self.children(root)
        self.context.files = self.context.files[:-1]

    def children(self, element):
        for child in element.children:
            if child.tag not in self.actions:
                raise LaunchError(f'<{child.tag}> is outside the supported subset{suggest(child.tag, self.actions)}', child)
            _check_form(child)
            if self.applies(child):
                self.actions[child.tag](child)

    def applies(self, element):
        for name in CONDITIONS:
            if name in element.attributes:
                return truth(self.text(element, name), element, f"'{name}' of <{element.tag}>") == (name == 'if')
        return True

    def text(self, element, name, default=None):
        """Return an attribute with its substitutions made; without a default it has to be there."""
        if default is not None and name not in element.attributes:
            return default
        return expand(element.need(name), self.context, element)

    def arg(self, element):
        name, variables = element.need('name'), self.context.variables
        if name not in variables:
            if 'default' not in element.attributes:
                raise LaunchError(f"the argument '{name}' has to be given, as {name}:=VALUE", element)
            variables[name] = self.text(element, 'default')
        choices = [choice.need('value') for choice in element.all('choice')]
        if choices and variables[name] not in choices:
            raise LaunchError(f"the argument '{name}' must be one of {', '.join(choices)}, not '{variables[name]}'", element)

    def let(self, element):
        self.context.variables[self.text(element, 'name')] = self.text(element, 'value')

    def set_env(self, element):
        self.context.environment[self.text(element, 'name')] = self.text(element, 'value')

    def log(self, element):
        self.plan.steps.append(Message(self.text(element, 'message'), self.delay))

    def group(self, element):
        context = self.context
        kept = dict(context.variables), dict(context.environment)
        self.children(element)
        context.variables, context.environment = kept

    def push_ros_namespace(self, element):
        self.context.variables['ros_namespace'] = self.namespace(self.text(element, 'namespace'), element)

    def include(self, element):
        path = os.path.abspath(self.text(element, 'file'))
        if not path.endswith('.xml'):
            raise LaunchError(f"only XML files can be included, not '{path}'", element)
        if not os.path.isfile(path):
            raise LaunchError(f"the included file '{path}' does not exist", element)
        # As upstream: the file in hand changes before the arguments are evaluated, and they stay set afterwards.
        for arg in element.children:
            self.context.variables[self.text(arg, 'name')] = self.text(arg, 'value')
        self.file(path, element)

    def timer(self, element):
        text = self.text(element, 'period')
        due = self.delay + number(text, float, element, 'the period of a timer')
        self.timers.append((due, list(self.context.files), self.context.upstream_file, element))

    def executable(self, element):
        words = self.words(element, 'cmd')
        if not words:
            raise LaunchError('<executable> has an empty cmd', element)
        label = self.text(element, 'name', os.path.basename(words[0]))
        self.process(element, label, words)

    def node(self, element):
        name = self.text(element, 'name') if 'name' in element.attributes else None
        if name is not None and not re.fullmatch(r'[A-Za-z_]\w*', name, re.ASCII):
            raise LaunchError(f"'{name}' is not a node name: letters, digits and _ only, no digit first", element)
        namespace = self.namespace(self.text(element, 'namespace') if 'namespace' in element.attributes else None, element)
        program = self.text(element, 'exec')
        words = self.program(element, program) + self.words(element, 'args')
        if 'ros_args' in element.attributes:
            words += ['--ros-args', *self.words(element, 'ros_args')]
        words.append('--ros-args')
        if name is not None:
            words += ['-r', f'__node:={name}']
        if namespace is not None:
            words += ['-r', f'__ns:={namespace}']
        full = f"{namespace.rstrip('/')}/{name}" if name is not None and namespace is not None else '/**'
        for parameters in parameters_of(element, self.context, full):
            words += ['--params-file', parameters]
        for remap in element.all('remap'):
            words += ['-r', f"{self.text(remap, 'from')}:={self.text(remap, 'to')}"]
        self.process(element, os.path.basename(program), words)

    def program(self, element, name):
        if 'pkg' not in element.attributes:
            return [name]
        package = self.text(element, 'pkg')
        words = packages.package_executable(package, name, self.context.environment)
        if words is None:
            raise LaunchError(f"there is no executable '{name}' in the package '{package}'", element)
        return words

    def process(self, element, label, words):
        prefix = _split(self.text(element, 'launch-prefix', ''), element)
        output = self.text(element, 'output', 'log')
        if output not in ('screen', 'log', 'both'):
            raise LaunchError(f"output must be screen, log or both, not '{output}'", element)
        if element.get('on_exit', 'shutdown') != 'shutdown':
            raise LaunchError(f"on_exit knows only shutdown, not '{element.get('on_exit')}'", element)
        variables = dict(self.context.environment)
        for env in element.all('env'):
            variables[self.text(env, 'name')] = self.text(env, 'value')
        cwd = self.text(element, 'cwd') if 'cwd' in element.attributes else None
        if cwd is not None and not os.path.isdir(cwd):
            raise LaunchError(f"the folder '{cwd}' of cwd does not exist", element)
        self.count += 1
        self.plan.steps.append(Process(
            f'{os.path.basename(prefix[0]) if prefix and "name" not in element.attributes else label}-{self.count}',
            prefix + words, variables, cwd, output,
            respawn=truth(self.text(element, 'respawn', 'false'), element, 'respawn'),
            respawn_delay=number(element.get('respawn_delay', '0'), float, element, 'respawn_delay'),
            respawn_max_retries=number(element.get('respawn_max_retries', '-1'), int, element, 'respawn_max_retries', -1),
            shutdown_on_exit='on_exit' in element.attributes, has_prefix=bool(prefix), delay=self.delay))

    def namespace(self, name, element):
        """Return the absolute namespace for a name in the present one; None when neither is given."""
        base = self.context.namespace
        if name is None or base is None or name.startswith('/'):
            combined = base if name is None else name
        else:
            combined = f'{base.rstrip("/")}/{name}'
        if combined is None:
            return None
        combined = '/' + combined.strip('/') if not combined.startswith('/') else '/' + combined[1:].rstrip('/')
        if not re.fullmatch(r'/|(/[A-Za-z_]\w*)+', combined, re.ASCII):
            raise LaunchError(f"'{combined}' is not a namespace: names of letters, digits and _ with / between", element)
        return combined

    def words(self, element, name):
        """Return a command line as words: text splits as in a shell, the value of a substitution never splits."""
        if name not in element.attributes:
            if name == 'cmd':
                element.need(name)
            return []
        found, word = [], []
        for part in parse(element.get(name), element):
            if not isinstance(part, str):
                word.append(evaluate([part], self.context, element))
                continue
            tokens = _split(part, element)
            if not tokens or part[0].isspace() and word:
                found.append(''.join(word))
                word = []
            if tokens:
                word.append(tokens[0])
                if len(tokens) > 1:
                    found += [''.join(word), *tokens[1:-1]]
                    word = [tokens[-1]]
                if part[-1].isspace():
                    found.append(''.join(word))
                    word = []
        return found + [''.join(word)] if word else found


def number(text, kind, element, what, least=0):
    """Return a number of this kind, finite and not below the least."""
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not least <= value < float('inf'):
        raise LaunchError(f"{what} must be a number from {least}, not '{text}'", element)
    return value


def _split(text, element):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise LaunchError(f'{text!r} is not a command line: {str(error).lower()}', element) from None


# tag -> (attributes besides if and unless, children)
FORMS = {
    'arg': (('name', 'default', 'description'), ('choice',)),
    'let': (('name', 'value'), ()),
    'set_env': (('name', 'value'), ()),
    'log': (('message',), ()),
    'push_ros_namespace': (('namespace',), ()),
    'include': (('file',), ('arg',)),
    'executable': (('cmd', *PROCESS), ('env',)),
    'node': (('pkg', 'exec', 'namespace', 'args', 'ros_args', *PROCESS), ('param', 'remap', 'env')),
    'group': ((), None),
    'timer': (('period',), None),
}
LEAVES = {('arg', 'choice'): ('value',), ('include', 'arg'): ('name', 'value'), ('node', 'remap'): ('from', 'to'),
          ('node', 'env'): ('name', 'value'), ('executable', 'env'): ('name', 'value')}


def _check_form(element):
    """Refuse what an element may not have; also inside groups whose condition does not hold."""
    attributes, children = FORMS[element.tag]
    if all(name in element.attributes for name in CONDITIONS):
        raise LaunchError(f"<{element.tag}> has both 'if' and 'unless'; keep one", element)
    element.check((*attributes, *CONDITIONS), FORMS if children is None else children)
    for child in element.children:
        if children is None:
            _check_form(child)
        elif (element.tag, child.tag) in LEAVES:
            child.check(LEAVES[element.tag, child.tag])
