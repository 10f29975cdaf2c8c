"""The page of a running stack in a real browser: it shows, it sets parameters through ROS, and it does not disturb the loop."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from browser import Browser
from stack import free_domain, start
from test_stack_run import HAPTIC, finish, patient_config

pytestmark = pytest.mark.alone           # a whole stack, a page and a browser
SECONDS = 8


class Viewed:
    """A running stack with the virtual device, and its viewer as a process of its own."""

    def __init__(self, device, folder, seconds=60, viewer=True):
        self.domain = free_domain()
        words = [*HAPTIC, 'run', device, '--seconds', str(seconds), '--json', f'config:={patient_config(folder, device)}']
        self.process = start(words, self.domain, stderr=-1)
        self.viewer = None
        if viewer:
            self.viewer = start([sys.executable, '-m', 'mbs_haptics.viewer', '--ros-args', '-p', 'page_port:=0', '-p', 'browser:=false'],
                                self.domain, stderr=-2)
            line = self.viewer.stdout.readline()
            assert 'the page is at http://127.0.0.1:' in line, line
            self.url = line.split()[-1]

    def parameter(self, name):
        """Return a parameter of rosbotran, asked for through ROS by a process that is not the viewer."""
        process = start([*HAPTIC, 'param', 'get', 'rosbotran', name], self.domain)
        out = process.communicate(timeout=30)[0]
        assert process.returncode == 0, out
        return float(out)

    def set(self, name, value):
        """Set a parameter of rosbotran from outside."""
        process = start([*HAPTIC, 'param', 'set', 'rosbotran', name, str(value)], self.domain)
        out = process.communicate(timeout=30)[0]
        assert process.returncode == 0, out

    def cpu(self):
        """Return the seconds that the viewer has worked."""
        fields = Path(f'/proc/{self.viewer.pid}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def end(self):
        """End the viewer, then the stack; return the figures of the run."""
        if self.viewer is not None:
            self.viewer.send_signal(signal.SIGINT)
            words = self.viewer.communicate(timeout=20)[0]
            assert self.viewer.returncode == 0 and 'Traceback' not in words, words
        self.process.send_signal(signal.SIGINT)
        code, out, err = finish(self.process, self.domain)
        assert code == 0, err
        return {row['id'].rpartition('.')[2]: row['value'] for row in json.loads(out)['figures']}


def test_sliders_of_the_page_are_parameters_of_rosbotran(need_tool, tmp_path):
    stack = Viewed('lever', tmp_path)
    (tmp_path / 'profile').mkdir()
    try:
        with Browser(need_tool('chromium', 'chromium'), tmp_path / 'profile') as browser:
            browser.open(stack.url)
            browser.says('Balanced lever', 60)
            browser.says('preload (N m)')
            browser.says('active, fault: none')
            picture = browser.picture(clip={'x': 330, 'y': 180, 'width': 600, 'height': 400})
            assert np.unique(picture.reshape(-1, 3), axis=0).shape[0] > 50, 'the canvas is blank'

            browser.drag('preload (N m)', 0.1)          # a slider moved in the page ...
            wished = browser.until(lambda: browser.value('preload (N m)') != 0.06 and browser.value('preload (N m)'), 'a moved slider')
            browser.until(lambda: stack.parameter('model.spring.preload') == pytest.approx(wished), '... is the parameter in rosbotran')

            browser.drag('length (m)', 0.9)             # structural: not while the force is on
            browser.says("'model.lever.length' changes the structure of the model and can't change while it is active")
            browser.until(lambda: browser.value('length (m)') == 0.436, 'the slider jumps back')
            assert stack.parameter('model.lever.length') == 0.436

            stack.set('model.stop.rate', 77.0)          # what somebody else sets shows in the page
            browser.until(lambda: browser.value('rate (N m/rad)', 1) == 77.0, 'the page follows')

            browser.press('E-stop')
            browser.says('set-points are zero until reset')
            browser.says('fault: estop')
            browser.press('Reset')
            browser.says('reset: inactive')
            assert not browser.errors
    finally:
        stack.end()


def test_a_page_that_is_watched_does_not_disturb_the_loop(need_tool, tmp_path, record_property):
    """Same run twice, without and with a viewer and a browser: skipped ticks and lateness are no worse."""
    plain = Viewed('lever', tmp_path, viewer=False)
    time.sleep(SECONDS + 4)
    without = plain.end()
    stack = Viewed('lever', tmp_path)
    (tmp_path / 'profile').mkdir()
    with Browser(need_tool('chromium', 'chromium'), tmp_path / 'profile', size=(800, 500), idle=True) as browser:
        browser.open(stack.url)
        browser.says('active, fault: none', 60)
        began, cpu = time.monotonic(), stack.cpu()
        time.sleep(SECONDS)
        record_property('viewer_cpu', (stack.cpu() - cpu) / (time.monotonic() - began))
        watched = stack.end()
    for name in ('skipped', 'samples_lost', 'lateness_p99', 'age_p99'):
        record_property(f'{name}_without', without[name])
        record_property(f'{name}_watched', watched[name])
    # The loop's own figures. How many samples are overtaken by newer ones also hangs on the phase of two clocks and on how much of the
    # processor the drawing browser leaves to the simulated device: it is recorded, not judged.
    assert watched['skipped'] <= 2 * without['skipped'] + 0.02 * 1000 * SECONDS
    assert watched['lateness_p99'] <= 3 * without['lateness_p99'] + 100
    assert watched['publish_errors'] == 0 and watched['faults'] == 0
