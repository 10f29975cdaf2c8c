"""The README's Python is executed as printed."""

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / 'README.md'


def test_readme_examples_run(capsys):
    """Its code blocks run in order, close their loop and print their outputs."""
    blocks = re.findall(r'```python\n(.*?)```', README.read_text(encoding='utf-8'), re.S)
    assert len(blocks) == 2
    room = {}
    for block in blocks:
        exec(compile(block, str(README), 'exec'), room)
    state = room['s']
    assert max(state.residuals()) < 1e-10
    assert 'crank.effort' in capsys.readouterr().out


def test_readme_links_lead_somewhere():
    """Every file the README links to exists."""
    for target in re.findall(r'\]\(([^)#:]+)\)', README.read_text(encoding='utf-8')):
        assert (README.parent / target).exists(), target
