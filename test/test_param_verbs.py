"""`haptic param`, `estop`, `reset` and `enable` against a running node: values arrive, refusals are one sentence."""

import importlib.util
import sys
from pathlib import Path

import pytest

from mbs_core.errors import MbsError
from mbs_haptics.parameters import BOOL, DOUBLE, DOUBLE_ARRAY, INTEGER, STRING, convert

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from ros_world import TARGET, haptic, running


@pytest.mark.parametrize('text, kind, value', [
    ('3', DOUBLE, 3.0), ('-1e-3', DOUBLE, -1e-3), ('3', INTEGER, 3), ('TRUE', BOOL, True), ('3', STRING, '3'), ('[1, 2.5]', DOUBLE_ARRAY, [1.0, 2.5])])
def test_texts_become_values_of_the_parameters_type(text, kind, value):
    found = convert('p', text, kind)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize('text, kind, wanted', [
    ('abc', DOUBLE, 'must be a number'), ('nan', DOUBLE, 'finite'), ('inf', DOUBLE, 'finite'), ('1.5', INTEGER, 'a whole number'),
    ('9' * 20, INTEGER, 'finite'), ('yes', BOOL, 'true or false'), ('1', DOUBLE_ARRAY, 'a list of numbers'), ('[1, x]', DOUBLE_ARRAY, 'a number'),
    ('[1', DOUBLE_ARRAY, 'a list of numbers'), ('[.nan]', DOUBLE_ARRAY, 'finite')])
def test_wrong_texts_are_refused(text, kind, wanted):
    with pytest.raises(MbsError, match=wanted):
        convert('p', text, kind)


if importlib.util.find_spec('rclpy'):

    @pytest.fixture(scope='module')
    def target():
        """Run a node with parameters and switches."""
        with running('-c', TARGET) as process:
            assert process.stdout.readline() == 'ready\n'
            yield process

    def refused(*words):
        """Return the one sentence with which a verb refuses."""
        done = haptic(*words)
        assert done.returncode == 2 and done.stdout == '' and len(done.stderr.splitlines()) == 1, done.stderr
        return done.stderr

    def test_set_get_and_list(target):
        done = haptic('param', 'set', 'target', 'mass', '-2.5e-1', 'list', '[3, 4.5]', 'on', 'false')
        assert done.stdout.splitlines() == ['mass = -0.25', 'list = [3.0, 4.5]', 'on = false'], done.stderr
        assert haptic('param', 'get', '/target', 'mass').stdout == '-0.25\n'
        shown = haptic('param', 'list', 'target').stdout
        assert 'Mass (kg)' in shown and 'impedance' in shown and '(read-only)' in shown

    @pytest.mark.parametrize('words, wanted', [
        (['mass', '2'], "'mass' must be from -1 to 1, not 2"), (['mass', 'nan'], 'must be a finite number'), (['count', '1.5'], 'a whole number'),
        (['mas', '1'], "no parameter 'mas'; did you mean 'mass'?"), (['mode', 'x'], "'mode' is read-only"), (['mass'], 'has no value'),
        (['structural', '2'], 'refuses: structural is fixed while the loop runs'), ([], 'nothing to set'), (['mass', '1', 'mass', '0'], 'twice')])
    def test_each_refusal_is_one_sentence(target, words, wanted):
        assert wanted in refused('param', 'set', 'target', *words)

    def test_batch_with_one_refusal_changes_nothing(target):
        before = haptic('param', 'get', 'target', 'count').stdout
        refused('param', 'set', 'target', 'count', '77', 'structural', '5')
        refused('param', 'set', 'target', 'count', '77', 'mass', '5')
        assert haptic('param', 'get', 'target', 'count').stdout == before

    def test_unknown_node_names_the_nearest(target):
        assert "no node '/targt'; did you mean '/target'?" in refused('param', 'get', 'targt', 'mass')

    def test_switches(target):
        done = haptic('estop')
        assert (done.returncode, done.stdout) == (0, '/target: force is off\n')
        assert haptic('enable').stdout == '/target: force is on\n'
        done = haptic('enable', '--off')
        assert (done.returncode, done.stdout) == (1, '/target: refused\n')
        assert "no running node has a service 'reset'" in refused('reset')
        assert 'under /nowhere/' in refused('estop', '--namespace', 'nowhere')


def test_a_switch_reaches_both_nodes_of_a_stack_or_says_which_it_did_not(monkeypatch, capsys):
    """The second node is discovered half a second late, as happens on a busy machine, or never."""
    import contextlib

    from mbs_haptics import clients

    class Discovering:
        def __init__(self, late):
            self.late, self.time = late, 0.0

        def services(self, ending):
            known = ['/rosbotran/enable', '/desk/rosbotran/enable', '/desk/roscom/enable']
            return {name: 'std_srvs/srv/SetBool' for name in known + (['/roscom/enable'] if self.time >= self.late else [])}

        def await_(self, found, appear=clients.APPEAR):
            end = self.time + appear
            while not found() and self.time < end:
                self.time += 0.02
            return found()

    for late, code in ((0.5, 0), (9.9, 1)):
        talk = Discovering(late)
        asked = []
        monkeypatch.setattr(clients, 'conversation', lambda: contextlib.nullcontext(talk))
        monkeypatch.setattr(clients, 'ask', lambda talk, name, kind, on: asked.append(name) or True)
        monkeypatch.setattr(clients.time, 'monotonic', lambda: talk.time)
        assert clients.switch('enable') == code
        assert len(asked) == len(set(asked)) == 4 - code and '/rosbotran/enable' in asked
        assert ('/roscom: not found' in capsys.readouterr().out) == bool(code)
