"""The tutorial works as printed: its Python is executed in order, its commands are run, its C compiled."""

import re
import shlex
import subprocess
from pathlib import Path

from mbs_haptics.main import main

TUTORIAL = Path(__file__).resolve().parents[1] / 'docs' / 'tutorial.md'


def blocks():
    """Return [(language, text)] of the fenced blocks, in order."""
    return re.findall(r'^```(\w+)\n(.*?)^```$', TUTORIAL.read_text(encoding='utf-8'), re.MULTILINE | re.DOTALL)


def saved_names():
    """Return the names under which the reader is told to save files."""
    return re.findall(r'Save this as\s+`([\w.]+)`', TUTORIAL.read_text(encoding='utf-8'))


def run_shell(text):
    """Run the lines of a shell block: `./haptic` inside this process, anything else as it is."""
    for line in text.splitlines():
        if line.startswith('./haptic '):
            assert main(shlex.split(line)[1:]) == 0, line
        else:
            done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f'{line}\n{done.stderr}'


def test_the_tutorial_works_as_printed(tmp_path, monkeypatch, capsys, need_tool):
    need_tool('cc', 'gcc')
    monkeypatch.chdir(tmp_path)
    assert saved_names() == ['my_four_bar.py', 'main.c']
    namespace, saved = {}, False
    for language, text in blocks():
        if language == 'python':
            if not saved:
                (tmp_path / 'my_four_bar.py').write_text(text, encoding='utf-8')
                saved = True
            exec(compile(text, 'docs/tutorial.md', 'exec'), namespace)
        elif language == 'c':
            (tmp_path / 'main.c').write_text(text, encoding='utf-8')
        elif language == 'sh':
            run_shell(text)
        else:
            raise AssertionError(f'what is to be done with a block of {language}?')
    made = {path.name for path in tmp_path.iterdir()}
    assert {'my_four_bar.png', 'motion.png', 'motion.csv', 'my_four_bar.c', 'angles.txt'} <= made
    assert 'is outside its range [0, 50] N m/rad' in capsys.readouterr().out
