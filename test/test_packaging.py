"""The package describes itself once: version, layout, dependencies and files agree with each other."""

import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from mbs_haptics import environment

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ElementTree.parse(ROOT / 'package.xml')


@pytest.fixture(scope='module')
def metadata():
    """Return the arguments that setup.py gives to setuptools.setup."""
    setuptools = pytest.importorskip('setuptools')
    given = {}
    patch = pytest.MonkeyPatch()
    patch.setattr(setuptools, 'setup', lambda **arguments: given.update(arguments))
    try:
        runpy.run_path(str(ROOT / 'setup.py'))
    finally:
        patch.undo()
    return given


def pins():
    """Yield (section, name, pinned version, marker, lowest version) for each line of requirements.txt."""
    section = None
    for line in (ROOT / 'requirements.txt').read_text().splitlines():
        if heading := re.match(r'# \[(\w+)\]', line):
            section = heading.group(1)
        elif line and not line.startswith('#'):
            name, version, marker, lowest = re.match(r'(\S+)==(\S+)(?: ; (.*?))? +# from (\S+)$', line).groups()
            yield section, name, version, marker, lowest


def numbers(version):
    """Return a version as a tuple that compares."""
    return tuple(int(part) for part in version.split('.'))


def test_version_in_package_xml_is_the_version_of_setup(metadata):
    assert metadata['version'] == PACKAGE.findtext('version')
    assert re.fullmatch(r'\d+\.\d+\.\d+', metadata['version'])


def test_changelog_has_a_place_for_the_version():
    headings = re.findall(r'^(?:Forthcoming|\d+\.\d+\.\d+ \(.*\))$', (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE)
    assert headings and (headings[0] == 'Forthcoming' or headings[0].startswith(PACKAGE.findtext('version')))


def test_package_xml_is_an_ament_python_package_of_format_3():
    assert PACKAGE.getroot().get('format') == '3'
    assert PACKAGE.findtext('name') == 'mbs_haptics'
    assert PACKAGE.findtext('export/build_type') == 'ament_python'
    assert (ROOT / 'resource' / 'mbs_haptics').exists()


def test_licence_is_the_same_everywhere(metadata):
    assert metadata['license'] == PACKAGE.findtext('license') == 'BSD-3-Clause'
    assert 'BSD 3-Clause' in (ROOT / 'LICENSE').read_text()


def test_every_package_with_an_init_file_is_installed(metadata):
    folders = {'nodes': 'mbs_haptics', 'mbs_core': 'mbs_core'}
    for folder, name in folders.items():
        for init in (ROOT / folder).rglob('__init__.py'):
            parts = init.parent.relative_to(ROOT / folder).parts
            assert '.'.join([name, *parts]) in metadata['packages'], init


def test_every_folder_with_modules_has_an_init_file():
    for folder in ('nodes', 'mbs_core'):
        for module in (ROOT / folder).rglob('*.py'):
            assert (module.parent / '__init__.py').exists(), f'{module.parent} would not be installed'


def test_no_init_file_hides_the_launch_package_of_ros():
    assert not (ROOT / 'launch' / '__init__.py').exists()


def test_data_files_exist_and_follow_their_folders(metadata):
    for target, files in metadata['data_files']:
        for file in files:
            assert (ROOT / file).is_file()
            if target.startswith('share/mbs_haptics/'):
                assert str(Path(file).parent) == target.removeprefix('share/mbs_haptics/')


def test_console_scripts_lead_to_functions(metadata):
    for script in metadata['entry_points']['console_scripts']:
        module, function = re.fullmatch(r'\w+ = mbs_haptics\.([\w.]+):(\w+)', script).groups()
        source = (ROOT / 'nodes' / (module.replace('.', '/') + '.py')).read_text()
        assert f'def {function}(' in source, script


def test_every_node_is_a_console_script_and_has_main(metadata):
    scripts = [script.split(' = ')[0] for script in metadata['entry_points']['console_scripts']]
    assert scripts[0] == 'haptic' and scripts[1:] == environment.executables()
    assert 'recorder' in scripts


def test_messages_of_the_wheels_are_those_of_package_xml():
    wheels = {name.removeprefix('ros-jazzy-').replace('-', '_') for section, name, *_ in pins() if section == 'ros'}
    wanted = {node.text for node in PACKAGE.iter('exec_depend') if node.text.endswith(('_msgs', '_srvs'))}
    assert wanted | {'rclpy'} <= wheels | {'rcl_interfaces'}


def test_every_pin_satisfies_what_setup_asks_for():
    rows = list(pins())
    assert {row[0] for row in rows} == {'tool', 'run', 'ros', 'compiler', 'test', 'bench', 'batch'}
    for _, name, version, _, lowest in rows:
        assert numbers(version) >= numbers(lowest), name


def test_each_package_is_pinned_once_for_each_python():
    markers = {}
    for section, name, version, marker, lowest in pins():
        markers.setdefault((section, name), []).append((marker, version, lowest))
    for key, lines in markers.items():
        assert [marker for marker, _, _ in lines] in (
            [None], ['python_version < "3.11"', 'python_version >= "3.11"']), key
        assert len({lowest for _, _, lowest in lines}) == 1, key


def test_a_package_in_two_sections_has_one_version():
    versions = {}
    for _, name, version, marker, _ in pins():
        assert versions.setdefault((name, marker), version) == version


def test_setup_asks_for_lowest_versions_and_not_for_pins(metadata):
    assert 'numpy>=1.24' in metadata['install_requires']
    assert 'pytest' in ' '.join(metadata['extras_require']['test'])
    assert set(metadata['extras_require']) == {'ros', 'compiler', 'test', 'bench', 'batch'}
    assert not any('==' in line for line in metadata['install_requires'])


def test_package_is_imported_from_its_folders():
    where = 'import mbs_core, mbs_haptics.main; print(mbs_core.__file__, mbs_haptics.main.__file__)'
    shown = subprocess.run([sys.executable, '-c', where], capture_output=True, text=True, check=True, cwd='/').stdout
    assert shown.split() == [str(ROOT / 'mbs_core' / '__init__.py'), str(ROOT / 'nodes' / 'main.py')]
