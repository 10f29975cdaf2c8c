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
from watcher import Watcher

pytestmark = pytest.mark.alone           # a whole stack, a page and a browser
SECONDS = 8


class Viewed:
    """A running stack with the virtual device, and its viewer as a process of its own."""

    def __init__(self, device, folder, seconds=150, viewer=True):
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


def test_lid_is_opened_and_stopped_from_the_page(need_tool, tmp_path):
    stack = Viewed('lid_hinge', tmp_path)
    (tmp_path / 'profile').mkdir()
    try:
        with Browser(need_tool('chromium', 'chromium'), tmp_path / 'profile', idle=True) as browser:
            browser.open(stack.url)
            browser.says('active, fault: none', 60)
            browser.says('height')
            insist(browser, 'Open', 'open: from', lambda: shown(browser, 'tilt') > 20.0)
            browser.press('Stop')
            browser.says('hold: from')
            insist(browser, 'Close', 'close: from', lambda: shown(browser, 'tilt') < 1.0)
            assert not browser.errors
    finally:
        stack.end()


def insist(browser, button, answer, done, most=60.0):
    """Press a button until something is done: where the machine stalls, the lid believes it met a hand, holds, and wants to be asked again."""
    end = time.monotonic() + most
    while not done():
        assert time.monotonic() < end, f'{button} does not work: {browser.text()}'
        browser.press(button)
        browser.says(answer)
        pause = time.monotonic() + 6.0
        while not done() and time.monotonic() < pause:
            time.sleep(0.1)


def shown(browser, row):
    """Return the number that a row of the status shows."""
    cell = browser.run(f"[...document.querySelectorAll('tr')].find(r => r.cells[0]?.innerText.trim() === '{row}')?.cells[1].innerText ?? 'nan'")
    return float(cell.split()[0])


def test_driver_in_the_browser_steers_the_car_through_the_device(need_tool, tmp_path):
    """Keys move the simulated arms; the encoder, the model and the page tell what comes of it."""
    stack = Viewed('steering_wheel', tmp_path)
    (tmp_path / 'profile').mkdir()
    try:
        with Browser(need_tool('chromium', 'chromium'), tmp_path / 'profile', idle=True) as browser:
            line = stack.viewer.stdout.readline()
            assert "the driver's seat is at http://127.0.0.1:" in line, line
            browser.open(line.split()[-1])
            browser.wait('window.seat?.received > 20 && seat.frames > 20 && seat.state.note === ""', 'the road', 60)
            assert len(np.unique(browser.picture().reshape(-1, 3), axis=0)) > 50
            browser.wait('seat.state.speed > 20', 'a rolling car')
            heading = browser.run('seat.state.yaw')
            browser.key('keyDown', 'ArrowLeft', 'ArrowLeft', 37)
            browser.wait('seat.state.angle > 0.2 && seat.state.torque < -1', 'a wheel turned to the left, which resists')
            browser.wait(f'seat.state.yaw > {heading} + 0.1', 'a car that turns to the left')
            browser.key('keyUp', 'ArrowLeft', 'ArrowLeft', 37)
            browser.wait('Math.abs(seat.state.angle) < 0.05', 'a straight wheel')
            browser.key('keyDown', 'ArrowUp', 'ArrowUp', 38)
            browser.wait('seat.state.speed > 23', 'a faster car')
            browser.key('keyUp', 'ArrowUp', 'ArrowUp', 38)
            browser.key('keyDown', 'o', 'o', 79)
            browser.wait('seat.state.obstacle && seat.state.obstacle[0] > seat.state.x', 'an obstacle ahead')
            assert not browser.errors
    finally:
        stack.end()


def test_serving_a_page_does_not_disturb_the_loop(tmp_path, record_property):
    """The same run without a viewer and with one whose page is watched by something that draws nothing: our part of a page.

    What a browser takes of the processor is not ours; docs/viewer.md has the figures of that.
    """
    plain = Viewed('lever', tmp_path, viewer=False)
    time.sleep(SECONDS + 5)
    without = plain.end()
    stack = Viewed('lever', tmp_path)
    with Watcher(stack.url) as watcher:
        time.sleep(5)
        began, cpu, messages = time.monotonic(), stack.cpu(), watcher.messages
        time.sleep(SECONDS)
        record_property('viewer_cpu', (stack.cpu() - cpu) / (time.monotonic() - began))
        record_property('messages', watcher.messages - messages)
        assert watcher.messages - messages > 3 * SECONDS, 'nobody was served'
        watched = stack.end()
    for name in ('skipped', 'samples_lost', 'lateness_p99', 'age_p99'):
        record_property(f'{name}_without', without[name])
        record_property(f'{name}_watched', watched[name])
    # How many samples are overtaken by newer ones hangs on the phase of two clocks: it is recorded, not judged.
    assert watched['skipped'] <= 2 * without['skipped'] + 0.01 * 1000 * SECONDS
    assert watched['lateness_p99'] <= 2 * without['lateness_p99'] + 50
    assert watched['publish_errors'] == 0 and watched['faults'] == 0
