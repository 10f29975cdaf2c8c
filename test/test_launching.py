"""The launch-XML interpreter: every word of the subset means what it means to ros2 launch, everything else is refused.

The expected command lines and parameters were compared with those of upstream's launch, launch_ros and launch_xml.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mbs_haptics import environment
from mbs_haptics.launching import LaunchError, declared_arguments, interpret
from mbs_haptics.launching.parameters import ParameterFile

ROOT = Path(__file__).resolve().parents[1]
PROBE = '<node pkg="probe" exec="probe" {}/>'


@pytest.fixture
def launch(tmp_path):
    """Return launch(body, **arguments): the plan of a launch file with that body, beside an ament prefix with a probe."""
    index = tmp_path / 'prefix' / environment.INDEX
    index.mkdir(parents=True)
    (index / 'probe').touch()
    program = tmp_path / 'prefix' / 'lib' / 'probe' / 'probe'
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n')
    program.chmod(0o755)

    def plan(body, name='main.launch.xml', **arguments):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'<launch>{body}</launch>')
        variables = {'AMENT_PREFIX_PATH': str(tmp_path / 'prefix'), 'HOME': '/home/me', 'PATH': os.environ['PATH']}
        return interpret(path, arguments, variables)
    return plan


def words(plan, n=0):
    """Return the command line of a process without the program."""
    return plan.processes[n].argv[1:]


def parameters(plan, n=0):
    """Return {name: value} of all parameters of a process that its launch file states."""
    found = {}
    for word in plan.processes[n].argv:
        if isinstance(word, ParameterFile):
            for block in word.content.values():
                found.update(block['ros__parameters'])
    return found


def refusal(launch, body, **arguments):
    """Return the sentence with which a body is refused."""
    with pytest.raises(LaunchError) as caught:
        launch(body, **arguments)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_argument_has_its_default_or_what_is_given(launch):
    body = '<arg name="a" default="x"/>' + PROBE.format('args="$(var a)"')
    assert words(launch(body)) == ['x', '--ros-args']
    assert words(launch(body, a='y')) == ['y', '--ros-args']


def test_default_may_use_earlier_arguments(launch):
    body = '<arg name="a" default="x"/><arg name="b" default="$(var a)/$(env HOME)"/>' + PROBE.format('args="$(var b)"')
    assert words(launch(body))[0] == 'x//home/me'


def test_choices_are_enforced_for_given_and_default_values(launch):
    body = '<arg name="device" default="{}"><choice value="virtual"/><choice value="udp"/></arg>'
    launch(body.format('virtual'), device='udp')
    assert "must be one of virtual, udp, not 'usb'" in refusal(launch, body.format('virtual'), device='usb')
    assert "not 'no'" in refusal(launch, body.format('no'))


def test_argument_without_default_has_to_be_given(launch):
    assert "'port' has to be given, as port:=VALUE" in refusal(launch, '<arg name="port"/>')


def test_undeclared_argument_is_refused_with_the_nearest_name(launch):
    sentence = refusal(launch, '<arg name="rate_hz" default="1"/>', rate='2')
    assert "no argument 'rate'; did you mean 'rate_hz'?" in sentence


def test_declared_arguments_are_listed(tmp_path):
    path = tmp_path / 'a.launch.xml'
    path.write_text('<launch><arg name="a"/><group><arg name="b" default="1" description="d"><choice value="1"/></arg></group>'
                    '<include file="x"><arg name="c" value="1"/></include></launch>')
    assert declared_arguments(path) == {'a': (None, '', []), 'b': ('1', 'd', ['1'])}


def test_command_line_has_upstreams_order(launch):
    plan = launch('<node pkg="probe" exec="probe" name="n" namespace="s" args="-a" ros_args="--log-level debug">'
                  '<remap from="a" to="b"/><param name="p" value="1"/></node>')
    assert words(plan) == ['-a', '--ros-args', '--log-level', 'debug', '--ros-args', '-r', '__node:=n', '-r', '__ns:=/s',
                           '--params-file', ParameterFile({'/s/n': {'ros__parameters': {'p': 1}}}), '-r', 'a:=b']


def test_text_splits_as_in_a_shell_but_values_never_split(launch):
    body = '<arg name="a" default="x y"/>' + PROBE.format("args=\"-k 'b c' $(var a) --f=$(var a)/z end\"")
    assert words(launch(body)) == ['-k', 'b c', 'x y', '--f=x y/z', 'end', '--ros-args']


@pytest.mark.parametrize('text, value', [
    ('1', 1), ('1.0', 1.0), ('1.5e-3', 0.0015), ('1e3', '1e3'), ('true', True), ('off', False), ('text', 'text'), ('', ''),
    ("'3'", '3'), ('[1.0, 2.0]', [1.0, 2.0]), ('[a, $(var device)]', ['a', 'udp']), ('0x10', 16), ('$(var n)', 5),
    ("$(eval 'float(\\'$(var n)\\')')", 5.0), ('$(equals True 1)', True), ('$(if false a)', ''), (r'\$(var n)', '$(var n)'),
    ("$(eval 'sqrt(16)')", 4.0), ("$(eval 'math.floor(2.5)' math)", 2), ("$(var c 'it\\'s')", "it's"), ('5 $ and ($)', '5 $ and ($)'),
    ('$(var d \\(x\\))', '(x)'), ('$(not-equals 1 1.0)', False), ('$(and true $(not false))', True), ('$(or 0 0)', False),
    ("$(if $(equals $(var device) udp) 'a b' c)", 'a b'), ('$(equals a A)', False)])
def test_parameter_values_have_the_types_of_yaml(launch, text, value):
    quoted = text.replace('"', '&quot;')
    plan = launch('<arg name="n" default="5"/><arg name="device" default="udp"/><node pkg="probe" exec="probe">'
                  f'<param name="p" value="{quoted}"/></node>')
    found = parameters(plan)['p']
    assert found == value and type(found) is type(value)


def test_nested_parameters_are_joined_by_dots(launch):
    plan = launch('<node pkg="probe" exec="probe"><param name="model"><param name="k" value="2.0"/><param name="hammer">'
                  '<param name="mass" value="0.1"/></param></param></node>')
    assert parameters(plan) == {'model.k': 2.0, 'model.hammer.mass': 0.1}


def test_parameter_file_is_passed_on_and_checked(launch, tmp_path):
    body = '<node pkg="probe" exec="probe"><param from="$(dirname)/p.yaml"/></node>'
    assert "p.yaml' can't be read: No such file or directory" in refusal(launch, body)
    path = tmp_path / 'p.yaml'
    for text, wanted in [('a: [1', 'malformed in line 1'), ('', 'no \'/**: ros__parameters:\' block'), ('x: 1', "'x' has no"),
                         ('/**:\n  a: 1', "'/**' has no 'ros__parameters:' block"), ('/**:\n ros__parameters: 3', "'/**' has no")]:
        path.write_text(text)
        assert wanted in refusal(launch, body)
    path.write_text('/**:\n  ros__parameters:\n    a: 1\n')
    assert words(launch(body)) == ['--ros-args', '--params-file', str(path)]


@pytest.mark.parametrize('pushed, own, namespace', [
    ('a', 'b', '/a/b'), ('a', '/b', '/b'), ('a', None, '/a'), (None, 'b', '/b'), ('', None, '/'), ('/', 'b', '/b'), ('a', '', '/a'),
    (None, None, None), ('a/b/', 'c', '/a/b/c')])
def test_namespaces_combine(launch, pushed, own, namespace):
    push = '' if pushed is None else f'<push_ros_namespace namespace="{pushed}"/>'
    plan = launch(f'<group>{push}' + PROBE.format('' if own is None else f'namespace="{own}"') + '</group>' + PROBE.format(''))
    assert words(plan) == (['--ros-args', '-r', f'__ns:={namespace}'] if namespace else ['--ros-args'])
    assert words(plan, 1) == ['--ros-args']


def test_group_keeps_its_variables_and_environment_to_itself(launch):
    inside = '<let name="a" value="in"/><set_env name="E" value="in"/>'
    probe = PROBE.format('args="$(var a) $(env E none)"')
    plan = launch(f'<let name="a" value="out"/><group>{inside}{probe}</group>{probe}')
    assert [words(plan, n)[:2] for n in (0, 1)] == [['in', 'in'], ['out', 'none']]
    assert plan.processes[0].environment['E'] == 'in' and 'E' not in plan.processes[1].environment


@pytest.mark.parametrize('word, runs', [('true', True), ('1', True), ('TRUE', True), ('false', False), ('0', False)])
def test_conditions(launch, word, runs):
    plan = launch(PROBE.format(f'if="{word}"') + f'<group unless="{word}">' + PROBE.format('') + '</group>')
    assert len(plan.processes) == 1 and (plan.processes[0].name == 'probe-1')
    assert runs == (len(launch(PROBE.format(f'if="{word}"')).processes) == 1)


def test_include_passes_arguments_and_shares_variables(launch, tmp_path):
    (tmp_path / 'sub').mkdir()
    (tmp_path / 'sub' / 'inc.launch.xml').write_text(
        '<launch><arg name="given"/><arg name="leaked" default="l"/>' + PROBE.format('args="$(var given) $(dirname)"') + '</launch>')
    plan = launch('<include file="$(dirname)/sub/inc.launch.xml"><arg name="given" value="g"/></include>'
                  + PROBE.format('args="$(var given) $(var leaked)"'))
    assert words(plan)[:2] == ['g', str(tmp_path / 'sub')] and words(plan, 1)[:2] == ['g', 'l']


def test_place_of_the_file_after_an_include_is_refused_because_upstream_means_the_other_file(launch, tmp_path):
    (tmp_path / 'inc.launch.xml').write_text('<launch/>')
    include = '<include file="$(dirname)/inc.launch.xml"/>'
    assert words(launch(include + PROBE.format('args="$(dirname)"')))[0] == str(tmp_path)
    assert 'keep it in a <let> before' in refusal(launch, include + PROBE.format('args="$(filename)"'))


def test_file_that_includes_itself_is_refused(launch):
    assert 'included inside itself' in refusal(launch, '<include file="$(filename)"/>')


def test_timer_delays_and_sees_the_outermost_scope(launch):
    plan = launch('<let name="a" value="out"/><group><let name="a" value="in"/><timer period="$(eval \'0.5\')">'
                  + PROBE.format('args="$(var a)"') + '<timer period="1"><log message="late"/></timer></timer></group>')
    assert [step.delay for step in plan.steps] == [0.5, 1.5] and words(plan)[0] == 'out'


def test_process_attributes(launch):
    plan = launch('<node pkg="probe" exec="probe" output="both" respawn="true" respawn_delay="0.5" respawn_max_retries="3" cwd="/usr" '
                  'launch-prefix="nice -n 5" on_exit="shutdown"><env name="A" value="1"/></node>')
    process = plan.processes[0]
    assert process.argv[:3] == ['nice', '-n', '5'] and process.name == 'nice-1' and process.has_prefix
    assert (process.output, process.respawn, process.respawn_delay, process.respawn_max_retries) == ('both', True, 0.5, 3)
    assert process.cwd == '/usr' and process.shutdown_on_exit and process.environment['A'] == '1'


def test_executable_and_log(launch):
    plan = launch('<executable cmd="echo &quot;a b&quot; $(env HOME)" name="say"><env name="A" value="1"/></executable><log message="hi"/>')
    assert plan.processes[0].argv == ['echo', 'a b', '/home/me'] and plan.processes[0].name == 'say-1'
    assert plan.steps[1].text == 'hi'


@pytest.mark.parametrize('body, wanted', [
    ('<lifecycle_node/>', '<lifecycle_node> inside <launch> is outside the supported subset'),
    ('<group><composable_node/></group>', '<composable_node> inside <group>'),
    ('<group if="false"><set_parameter name="a" value="1"/></group>', '<set_parameter> inside <group>'),
    ('<group scoped="false"/>', "<group> has no attribute 'scoped'"),
    (PROBE.format('colour="red"'), "<node> has no attribute 'colour'"),
    (PROBE.format('if="yes"'), "'if' of <node> must be true, 1, false or 0, not 'yes'"),
    (PROBE.format('if="1" unless="0"'), "both 'if' and 'unless'"),
    (PROBE.format('name="a b"'), 'is not a node name'),
    (PROBE.format('namespace="1a"'), 'is not a namespace'),
    (PROBE.format('output="loud"'), 'output must be screen, log or both'),
    (PROBE.format('on_exit="dance"'), 'on_exit knows only shutdown'),
    (PROBE.format('respawn_delay="soon"'), 'respawn_delay must be a number'),
    (PROBE.format('respawn_max_retries="-2"'), 'respawn_max_retries must be a number'),
    (PROBE.format('cwd="/no/where"'), "the folder '/no/where' of cwd does not exist"),
    (PROBE.format('args="$(var nothing)"'), '$(var nothing) is not set'),
    (PROBE.format('args="$(env NOTHING)"'), 'no environment variable'),
    (PROBE.format('args="$(anon x)"'), '$(anon ...) is outside the supported subset'),
    (PROBE.format('args="$(eval 1 + 1)"'), 'takes 1 or 2 argument(s), not 3'),
    (PROBE.format('args="$(eval 1/0)"'), 'failed: division by zero'),
    (PROBE.format('args="$(var a"'), 'is not understood'),
    (PROBE.format('args="$(not maybe)"'), "needs true or false, not 'maybe'"),
    (PROBE.format('args="\'open"'), 'no closing quotation'),
    ('<node pkg="probe" exec="other"/>', "no executable 'other' in the package 'probe'"),
    ('<node pkg="other" exec="probe"/>', "no executable 'probe' in the package 'other'"),
    ('<node pkg="probe"/>', "<node> needs the attribute 'exec'"),
    ('<node pkg="probe" exec="probe"><param name="p" value="{a: 1}"/></node>', 'neither a truth value'),
    ('<node pkg="probe" exec="probe"><param name="p" value="[1, a]"/></node>', 'mixes kinds'),
    ('<node pkg="probe" exec="probe"><param name="p" value="1" type="str"/></node>', "<param> has no attribute 'type'"),
    ('<node pkg="probe" exec="probe"><param name="p"/></node>', 'neither a value nor'),
    ('<node pkg="probe" exec="probe"><param from="x" allow_substs="true"/></node>', "no attribute 'allow_substs'"),
    ('<include file="$(dirname)/none.launch.xml"/>', 'does not exist'),
    ('<include file="x.launch.py"/>', 'only XML files can be included'),
    ('<include file="x"><let name="a" value="1"/></include>', '<let> inside <include>'),
    ('<timer period="-1"/>', 'the period of a timer must be a number'),
    ('<let name="a" value="$(find-pkg-share nothing)"/>', 'the package is not installed'),
    ('words', "text 'words' between the tags")])
def test_everything_outside_the_subset_is_refused_by_name_with_file_and_line(launch, body, wanted):
    sentence = refusal(launch, '\n\n' + body)
    assert wanted in sentence and 'main.launch.xml:3: ' in sentence


@pytest.mark.parametrize('text, wanted', [
    ('<launch>', 'not well-formed XML: no element found'), ('<robot/>', 'the outermost tag must be <launch>'),
    ('<!DOCTYPE x><launch/>', '<!DOCTYPE> is outside'), ('', 'not well-formed XML')])
def test_file_that_is_no_launch_file_is_one_sentence(tmp_path, text, wanted):
    path = tmp_path / 'a.launch.xml'
    path.write_text(text)
    with pytest.raises(LaunchError, match=wanted):
        interpret(path)


def test_missing_launch_file_is_one_sentence(tmp_path):
    with pytest.raises(LaunchError, match="none.launch.xml' can't be read: No such file"):
        interpret(tmp_path / 'none.launch.xml')


def test_package_share_of_the_source_tree_needs_no_installation():
    assert environment.package_share('mbs_haptics', {}) == ROOT
    assert environment.package_executable('mbs_haptics', 'recorder', {}) == [sys.executable, '-m', 'mbs_haptics.recorder']


@pytest.mark.parametrize('path', sorted((ROOT / 'launch').glob('*.launch.xml')), ids=lambda path: path.name)
def test_own_launch_files_take_the_common_arguments(path):
    assert {'device', 'port', 'rate_hz', 'record', 'viewer', 'namespace'} <= set(declared_arguments(path))
    for name, (default, description, _) in declared_arguments(path).items():
        assert default is not None and description.endswith('.'), name


@pytest.fixture
def installed(tmp_path):
    """Return the variables of a prefix where every executable of this package is there and does nothing."""
    index = tmp_path / 'prefix' / environment.INDEX
    programs = tmp_path / 'prefix' / 'lib' / 'mbs_haptics'
    share = tmp_path / 'prefix' / 'share' / 'mbs_haptics'
    for folder in (index, programs, share):
        folder.mkdir(parents=True)
    (index / 'mbs_haptics').touch()
    for name in environment.EXECUTABLES:
        (programs / name).write_text('#!/bin/sh\n')
        (programs / name).chmod(0o755)
    (share / 'config').mkdir()
    for device in ('lever', 'four_bar'):
        (share / 'config' / f'{device}.yaml').write_text('/**:\n  ros__parameters:\n    mechanism: any\n')
    return {'AMENT_PREFIX_PATH': str(tmp_path / 'prefix')}


@pytest.mark.parametrize('device', ['lever', 'four_bar'])
def test_own_launch_files_start_the_stack(installed, device):
    path = ROOT / 'launch' / f'{device}.launch.xml'
    plan = interpret(path, {}, installed)
    assert [process.name for process in plan.processes] == ['rosbotran-1', 'roscom-2']
    assert all(process.shutdown_on_exit and process.output == 'screen' for process in plan.processes)
    assert parameters(plan)['rate_hz'] == 1000.0 and parameters(plan, 1)['device'] == 'virtual'
    assert any(str(word).endswith(f'config/{device}.yaml') for word in words(plan))


def test_arguments_of_own_launch_files_reach_their_nodes_as_texts_and_numbers(installed):
    given = {'device': 'udp', 'port': '5000', 'rate_hz': '500', 'record': 'true', 'viewer': 'true', 'namespace': 'left/hand', 'bag': 'a b'}
    plan = interpret(ROOT / 'launch' / 'lever.launch.xml', given, installed)
    assert [process.name for process in plan.processes] == ['recorder-1', 'rosbotran-2', 'roscom-3', 'viewer-4']
    assert parameters(plan) == {'output': 'a b'} and parameters(plan, 1) == {'rate_hz': 500.0, 'device': 'udp', 'loop': 'native'}
    assert parameters(plan, 2)['port'] == '5000' and parameters(plan, 2)['device'] == 'udp'
    assert all('__ns:=/left/hand' in process.argv for process in plan.processes)


@pytest.mark.parametrize('given, wanted', [
    ({'device': 'usb'}, "'device' must be one of virtual, serial, udp, replay, not 'usb'"), ({'rate_hz': 'fast'}, "float: 'fast'"),
    ({'record': 'maybe'}, "'record' must be one of true, false"), ({'config': '/no.yaml'}, "'/no.yaml' can't be read"),
    ({'namespace': '1/x'}, 'is not a namespace'), ({'prot': 'x'}, "did you mean 'port'?")])
def test_bad_argument_of_own_launch_files_is_one_sentence(installed, given, wanted):
    with pytest.raises(LaunchError) as caught:
        interpret(ROOT / 'launch' / 'lever.launch.xml', given, installed)
    assert wanted in str(caught.value) and '\n' not in str(caught.value)


def run_verb(*words):
    """Run `haptic launch` with these words."""
    return subprocess.run([sys.executable, '-m', 'mbs_haptics.main', 'launch', *map(str, words)], capture_output=True, text=True, check=False)


def test_verb_says_bad_arguments_in_one_sentence(tmp_path):
    path = tmp_path / 'a.launch.xml'
    path.write_text('<launch><arg name="device" default="virtual"/></launch>')
    for arguments, wanted in [(['device=udp'], 'is not of the form name:=value'), (['devise:=udp'], "did you mean 'device'?")]:
        done = run_verb(path, *arguments)
        assert done.returncode == 2 and wanted in done.stderr and len(done.stderr.splitlines()) == 1
    done = run_verb('levr')
    assert done.returncode == 2 and 'there is no launch file' in done.stderr


def test_verb_runs_a_file_and_returns_its_outcome(tmp_path):
    path = tmp_path / 'a.launch.xml'
    path.write_text('<launch><arg name="code" default="0"/><arg name="word" default="hi"/><executable output="screen" '
                    'cmd="sh -c &quot;echo $WORD; exit $CODE&quot;"><env name="WORD" value="$(var word)"/>'
                    '<env name="CODE" value="$(var code)"/></executable></launch>')
    done = run_verb(path)
    assert (done.returncode, done.stdout) == (0, '[sh-1] hi\n')
    done = run_verb(path, 'code:=3')
    assert done.returncode == 1 and 'sh-1 died by itself: exit code 3' in done.stderr
