"""The variables that ROS 2 needs are completed in one place, and taken back for processes of other environments."""

import sys
from pathlib import Path

import pytest

from mbs_core.errors import MbsError
from mbs_haptics import environment


@pytest.fixture
def wheels(tmp_path):
    """Return a prefix with the index that the wheels leave behind."""
    index = tmp_path / environment.INDEX
    index.mkdir(parents=True)
    (index / 'rclpy').touch()
    return tmp_path


def test_wheels_get_their_prefix_and_quick_discovery_on_this_machine(wheels):
    variables = environment.ready({}, wheels)
    profiles = variables.pop(environment.PROFILES[0])
    assert variables == {'AMENT_PREFIX_PATH': str(wheels), environment.DISCOVERY: 'LOCALHOST'}
    assert Path(profiles).name == 'fastdds.xml' and Path(profiles).exists()


def test_what_the_user_has_set_stays(wheels):
    variables = {'AMENT_PREFIX_PATH': '/mine', environment.DISCOVERY: 'SUBNET', environment.PROFILES[1]: '/mine.xml'}
    environment.ready(variables, wheels)
    environment.ready(variables, wheels)
    assert variables == {'AMENT_PREFIX_PATH': f'/mine:{wheels}', environment.DISCOVERY: 'SUBNET',
                         environment.PROFILES[1]: '/mine.xml'}


def test_sourced_ros_keeps_its_own_discovery(tmp_path):
    (tmp_path / environment.INDEX).mkdir(parents=True)
    assert environment.ready({}, tmp_path) == {'AMENT_PREFIX_PATH': str(tmp_path)}
    assert environment.ready({}, tmp_path / 'empty') == {}


def test_other_environments_are_spared_the_traces_of_the_wheels():
    assert environment.foreign({environment.GUARD: '1', 'LD_LIBRARY_PATH': '/wheels', 'A': 'b'}) == {'A': 'b'}
    assert environment.foreign({'LD_LIBRARY_PATH': '/cuda'}) == {'LD_LIBRARY_PATH': '/cuda'}


def test_missing_ros_is_one_sentence_with_the_remedy(monkeypatch):
    monkeypatch.setattr(environment, 'has_ros', lambda: False)
    with pytest.raises(MbsError, match='run ./haptic from the source tree'):
        environment.need_ros()


def test_wheels_are_for_some_machines_only():
    assert environment.wheels_fit('x86_64') == (sys.platform == 'linux') and not environment.wheels_fit('riscv64')


def test_executables_are_modules_that_exist():
    folder = Path(environment.__file__).parent
    assert 'recorder' in environment.executables()
    assert all((folder / f'{name}.py').exists() for name in environment.executables())
