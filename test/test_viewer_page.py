"""The page without a stack: geometry against the engine's own kinematics, curves, sliders in a real browser."""

import math
import signal
import subprocess
import sys

import numpy as np
import pytest

from mbs_core import mechanisms
from mbs_core.errors import MbsError
from mbs_core.symbolic import evaluate
from mbs_haptics.skeleton import symbol_values
from mbs_haptics.view import curves, shapes
from mbs_haptics.view.poses import Poses, placed, quaternion, rotated

GROUND = 3              # rank among the lengths: crank, coupler, rocker, ground
HAPTIC = [sys.executable, '-m', 'mbs_haptics.main']


@pytest.mark.parametrize('name', ['lever', 'four_bar', 'lid_hinge', 'slider_crank', 'five_bar'])
def test_poses_place_points_where_the_engine_does(name):
    mechanism = mechanisms.build(name)
    poses, random = Poses(mechanism), np.random.default_rng(3)
    q = np.asarray(mechanism.positions) + random.normal(0, 0.3, len(mechanism.positions))
    found = poses(q.tolist())
    values = symbol_values(mechanism, q)
    for body in poses.bodies:
        local = random.normal(0, 0.1, 3)
        wanted = evaluate(mechanism.position(body.at(*local)), values)
        assert placed(found[body.name], local) == pytest.approx(wanted, abs=1e-12)


def test_quaternions_of_random_rotations_turn_vectors_the_same_way():
    from scipy.spatial.transform import Rotation
    for turn in [*Rotation.random(200, random_state=5), Rotation.identity(), Rotation.from_rotvec([math.pi, 0, 0])]:
        matrix = turn.as_matrix()
        assert rotated(quaternion(matrix.ravel()), (0.3, -0.7, 1.1)) == pytest.approx(matrix @ (0.3, -0.7, 1.1), abs=1e-9)


def test_parameters_move_the_drawing():
    mechanism = mechanisms.build('four_bar')
    poses = Poses(mechanism)
    before = poses(mechanism.positions)['coupler'][0]
    poses.set({'crank.length': 0.2})
    assert np.linalg.norm(poses(mechanism.positions)['coupler'][0]) == pytest.approx(2 * np.linalg.norm(before))


@pytest.mark.parametrize('outline', [
    [(0, 0), (2, 0), (2, 1), (0, 1)], [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)][::-1],
    shapes.link_outline([(0, 0), (3, 1), (1, 2)], 0.3)])
def test_triangles_cover_an_outline_exactly(outline):
    points = np.asarray(outline, float)
    triangles = shapes.triangulate(points)
    parts = [shapes.area(points[list(t)]) for t in triangles]
    assert min(parts) >= -1e-12 and sum(parts) == pytest.approx(abs(shapes.area(points)))


def test_a_body_of_thickness_is_closed_and_has_its_volume():
    import trimesh
    for mesh, volume in ((shapes.extrude(shapes.circle((0, 0), 1.0, 64), -1, 1), 2 * 32 * math.sin(2 * math.pi / 64)),
                         (shapes.rod((1, 2, 3), (1, 2, 5), 0.5, 4), 2 * 0.5)):
        body = trimesh.Trimesh(*mesh).process(merge_norm=True)
        body.merge_vertices(merge_norm=True)
        assert body.is_watertight and body.volume == pytest.approx(volume, rel=1e-4)


def test_history_keeps_the_last_seconds_and_refuses_what_is_not_finite():
    history = curves.History(2.0)
    for k in range(5000):
        history.add(k * 1e-3, k, 0.0, math.nan if k == 4000 else 1.0)
    t, q, _, _ = history.columns(100)
    assert len(t) <= 100 and t[-1] == 0.0 and q[-1] == 4999 and t[0] >= -2.0
    assert all(row[1] != 4000 for row in history.rows)
    history.add(1.0, 7.0, 0.0, 0.0)         # time jumped back
    assert history.columns()[1] == (7.0,)


@pytest.mark.parametrize('low, high', [(-1.0, 1.0), (0.0, 1e-6), (3.2e5, 3.3e5), (-7.0, -6.99)])
def test_ticks_are_round_and_inside(low, high):
    found = curves.ticks(low, high)
    assert 2 <= len(found) <= 7 and all(low - 1e-9 * abs(low) <= t <= high + 1e-9 * abs(high) for t in found)


def test_picture_of_nothing_and_of_a_constant_is_a_picture():
    import xml.etree.ElementTree as ElementTree
    for xs, ys in (((), ()), ((1.0, 2.0), (5.0, 5.0)), ((0.0,), (0.0,))):
        ElementTree.fromstring(curves.svg('force (N)', 'way', [('', 'red', xs, ys)], dot=True))


def test_a_port_that_is_taken_is_refused_in_one_sentence():
    import socket

    from mbs_haptics.view.page_port import free_port
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        with pytest.raises(MbsError, match='choose another one'):
            free_port(other.getsockname()[1])
    with pytest.raises(MbsError, match='65535'):
        free_port(70000)
    assert free_port(0) > 0


def test_simulated_source_follows_time_and_refuses_what_can_not_be_closed():
    from mbs_core.runtime import compile_model
    from mbs_haptics.view.offline import Simulated
    model = compile_model(mechanisms.build('four_bar', driven=True))
    now = [0.0]
    source = Simulated(model, model.state(), clock=lambda: now[0])
    for _ in range(30):
        now[0] += 1 / 30
        source.poll()
    assert source.frame.t == pytest.approx(1.0, abs=0.05) and len(source.histories['crank'].rows) > 900
    answers = []
    source.set({'spring.rate': 3.0}, lambda *a: answers.append(a))
    source.set({'ground.length': 1.0}, lambda *a: answers.append(a))
    assert answers[0] == (True, '') and source.knobs['spring.rate'].value == 3.0
    assert not answers[1][0] and 'pin' in answers[1][1] and source.knobs['ground.length'].value == 0.35
    now[0] += 10.0
    source.poll()                           # a page that was held up does not race
    assert source.frame.t < 1.3


@pytest.mark.parametrize('words, wanted', [
    (('view', 'four_bra'), "there is no mechanism 'four_bra'"), (('view', 'lever', '--port', '99999'), 'port 99999'),
    (('view', 'lever', '--frames', '0'), 'frames a second'), (('view', '--set', 'a=1'), 'has its own mechanism')])
def test_bad_input_is_one_sentence(words, wanted):
    done = subprocess.run([*HAPTIC, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and wanted in done.stderr and done.stderr.count('\n') == 1, done.stderr


@pytest.fixture
def page():
    """Return start(words...): the address of a page that `haptic view` serves."""
    running = []

    def start(*words):
        process = subprocess.Popen([*HAPTIC, 'view', *words, '--port', '0', '--no-browser'], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        running.append(process)
        line = process.stdout.readline()
        assert 'the page is at http://127.0.0.1:' in line, line
        return line.split()[-1]
    yield start
    for process in running:
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=20)[0]
        assert process.returncode == 0 and 'Traceback' not in out, out


@pytest.mark.alone                       # a browser that draws without a graphics card wants a processor
def test_mechanism_moves_in_a_browser_and_its_sliders_work(page, need_tool, tmp_path):
    from browser import Browser
    with Browser(need_tool('chromium', 'chromium'), tmp_path) as browser:
        browser.open(page('four_bar', '--variant', 'driven=true'))
        browser.says('spring on the rocker')
        browser.wait("document.querySelectorAll('polyline').length == 3", 'three curves')
        stage = {'x': 330, 'y': 180, 'width': 600, 'height': 560}
        first = browser.until(lambda: drawn(browser.picture(clip=stage)), 'something on the stage')[0]
        browser.until(lambda: np.mean(np.any(first != browser.picture(clip=stage), axis=2)) > 0.005, 'something that moves')
        browser.drag('length (m)', 0.99, GROUND)    # so far apart that the rods can't reach
        browser.says('stays open by')
        browser.until(lambda: browser.value('length (m)', GROUND) < 0.65, 'the slider jumps back to what was accepted')
        assert not browser.errors


def drawn(picture):
    """Return [picture] if it shows a body: many shades, on more than a fiftieth of it; else nothing."""
    shades = np.unique(picture.reshape(-1, 3), axis=0).shape[0]
    return [picture] if shades > 50 and np.mean(np.any(picture != picture[0, 0], axis=2)) > 0.02 else []
