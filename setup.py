"""Install mbs_haptics with colcon, pip or pip -e; version and dependencies are read, not repeated."""

import os
import re
import runpy
import xml.etree.ElementTree as ElementTree

from setuptools import find_packages, setup

NAME = 'mbs_haptics'
HERE = os.path.dirname(os.path.realpath(__file__))
# Folders installed as they are under share/mbs_haptics. A folder that does not exist adds nothing.
SHARED_FOLDERS = ('launch', 'config', 'firmware')


def version():
    """Return the version written in package.xml."""
    return ElementTree.parse(os.path.join(HERE, 'package.xml')).findtext('version')


def requirements():
    """Return {section: ['name>=lowest', ...]} from requirements.txt, each package once a section."""
    sections, section = {}, None
    with open(os.path.join(HERE, 'requirements.txt'), encoding='utf-8') as lines:
        for line in lines:
            heading = re.match(r'# \[(\w+)\]', line)
            pin = re.match(r'([\w.-]+)==\S+.*# from (\S+)', line)
            if heading:
                section = sections.setdefault(heading.group(1), {})
            elif pin:
                section[pin.group(1)] = pin.group(2)
            elif line.strip() and not line.startswith('#'):
                raise ValueError("requirements.txt: want 'name==version # from lowest', got: " + line)
    return {name: ['%s>=%s' % item for item in pins.items()] for name, pins in sections.items()}


def shared_files():
    """Return data_files entries that keep the structure of each shared folder."""
    entries = []
    for top in SHARED_FOLDERS:
        for folder, _, files in sorted(os.walk(os.path.join(HERE, top))):
            folder = os.path.relpath(folder, HERE)
            if files:
                entries.append((os.path.join('share', NAME, folder), [os.path.join(folder, file) for file in sorted(files)]))
    return entries


def scripts():
    """Return the console scripts: the command, and one per node that exists."""
    nodes = runpy.run_path(os.path.join(HERE, 'nodes', 'environment.py'))['executables']()
    return ['haptic = %s.main:main' % NAME] + ['%s = %s.%s:main' % (node, NAME, node) for node in nodes]


def long_description():
    """Return the text of README.md."""
    with open(os.path.join(HERE, 'README.md'), encoding='utf-8') as text:
        return text.read()


REQUIREMENTS = requirements()
REQUIREMENTS.pop('tool')

setup(
    name=NAME,
    version=version(),
    description='Symbolic multibody models rendered as touch on real devices at 1 kHz, in ROS 2',
    long_description=long_description(),
    long_description_content_type='text/markdown',
    license='BSD-3-Clause',
    maintainer='The mbs_haptics maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-860df1c9.example',
    python_requires='>=3.10',
    # The folder nodes/ is imported as mbs_haptics. Dotted entries here would break colcon --symlink-install.
    package_dir={NAME: 'nodes'},
    packages=[NAME] + [NAME + '.' + name for name in find_packages(os.path.join(HERE, 'nodes'))]
    + find_packages(HERE, include=['mbs_core', 'mbs_core.*']),
    package_data={NAME: ['view/*.html']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + NAME]),
        ('share/' + NAME, ['package.xml', 'requirements.txt']),
    ] + shared_files(),
    install_requires=REQUIREMENTS.pop('run'),
    extras_require=REQUIREMENTS,
    zip_safe=False,
    entry_points={
        'console_scripts': scripts(),
    },
)
