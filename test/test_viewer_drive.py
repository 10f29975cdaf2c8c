"""The driver's seat without a stack: hands and feet, obstacles, the seat's own little server, and where the car is drawn."""

import json
import math
import random
import time
import urllib.error
import urllib.request

import pytest

from mbs_core import mechanisms
from mbs_haptics.view.cockpit import Cockpit
from mbs_haptics.view.pace import IDLE, JUDGED, SLOWEST, Pace
from mbs_haptics.view.poses import Poses, placed
from mbs_haptics.view.road import HALF_WIDTH, Road
from mbs_haptics.view.scenes.car import tilted
from mbs_haptics.view.seat import MOST, SILENT, Seat


def run(seat, seconds, start, speed=20.0, message=None):
    """Let a seat go on at 30 Hz, hearing the page at every step; return (all that was told, the time after)."""
    told, now = {}, start
    while now < start + seconds:
        if message is not None:
            seat.take(message, now)
        told.update(seat.step(now, speed))
        now += 1 / 30
    return told, now


def test_a_held_key_turns_the_hands_less_at_speed_and_they_come_back():
    aims = {}
    for speed in (0.0, 20.8):
        seat = Seat()
        told, now = run(seat, 3.0, 0.0, speed, {'turn': 1, 'hands': True})
        aims[speed] = told['hand.target']
        assert told['hand.mode'] == 1 and told['hand.stiffness'] > 0
        told, now = run(seat, 3.0, now, speed, {'turn': 0, 'hands': True})
        assert told['hand.target'] == 0.0
    assert aims[0.0] == pytest.approx(MOST) and 0.3 < aims[20.8] < 1.0


def test_only_what_changed_is_told():
    seat = Seat()
    run(seat, 1.0, 0.0, message={'turn': 0, 'hands': True})
    seat.take({'turn': 0, 'hands': True, 'throttle': 0.5}, 1.1)
    assert seat.step(1.1, 20.0) == {'throttle': 0.5}
    assert seat.step(1.2, 20.0) == {}


def test_a_driver_who_is_not_heard_lets_go_of_everything_once():
    seat = Seat()
    assert run(seat, 1.0, 0.0)[0] == {}                 # nobody has sat down: other hands may hold the wheel
    _, now = run(seat, 1.0, 1.0, message={'turn': -1, 'hands': True, 'throttle': 1.0})
    told, now = run(seat, 2 * SILENT, now)
    assert told['hand.mode'] == 0 and told['throttle'] == 0.0
    assert run(seat, 1.0, now)[0] == {}


@pytest.mark.parametrize('message', [{}, {'turn': 'left'}, {'turn': math.nan, 'throttle': math.inf}, {'angle': 1e9, 'hands': True},
                                     {'throttle': True, 'brake': [1]}, {'hands': 'yes', 'turn': None}])
def test_no_message_of_a_page_makes_a_value_beyond_its_range(message):
    told, _ = run(Seat(), 1.0, 0.0, message=message)
    assert all(math.isfinite(value) for value in told.values())
    assert 0.0 <= told['throttle'] <= 1.0 and 0.0 <= told['brake'] <= 1.0 and abs(told.get('hand.target', 0.0)) <= MOST


def test_an_obstacle_appears_ahead_is_hit_or_passed_and_comes_again():
    road = Road(random.Random(1))
    road.appear(100.0)
    x0, x1, y0, y1 = road.obstacle
    assert 110.0 < x0 < x1 < 170.0 and y0 < 0.0 < y1            # in the car's own lane
    road.step(1.0, (x0 + x1) / 2, y1 + HALF_WIDTH + 0.1)
    assert not road.is_hit(1.0)
    road.step(1.1, (x0 + x1) / 2, 0.0)
    assert road.is_hit(1.1) and road.hits == 1 and not road.is_hit(9.0)
    road.step(1.2, x1 + 40.0, 0.0)
    assert road.obstacle is None
    road.by_itself, seen = True, 0
    for k in range(2000):
        road.step(10 + 0.1 * k, 300.0 + 2 * k, 2.5)
        seen += road.obstacle is not None
    assert 100 < seen < 1900


def test_pace_gives_way_when_late_or_when_the_loop_misses_ticks_and_recovers():
    now = [0.0]
    pace = Pace(30.0, clock=lambda: now[0])

    def drive(seconds, work=0.0, missed_per_s=0.0):
        end = now[0] + seconds
        while now[0] < end:
            missed[0] += missed_per_s * (wait := pace.next(True, int(missed[0])))
            now[0] += wait + work
    missed = [0.0]
    drive(5.0)
    assert pace.rate == 30.0
    drive(8.0, missed_per_s=300.0)
    assert pace.rate == SLOWEST
    drive(30.0, missed_per_s=1.0)
    assert pace.rate == 30.0
    drive(5.0, work=0.1)                    # each frame takes three periods
    assert pace.rate < 12.0
    pace.next(False)
    now[0] += 10 * JUDGED
    assert pace.next(False) <= 1 / IDLE


def test_place_of_the_drawn_car_is_the_engines():
    """Angles of the outputs, turned into the quaternion that the state on the topic lacks, give every wheel its true place."""
    from mbs_core.runtime import compile_model
    model = compile_model(mechanisms.build('car'))
    state = model.state()
    state.drive('steering_wheel', 0.6)
    state.assemble()
    for k in range(1500):
        state.drive('steering_wheel', 0.6, then=(0.6, 0.0, 0.0))
        assert state.run(1, 1e-3, 'rk4', 2) == 0
    out, poses = state.outputs(), Poses(model.mechanism)
    q = state.q.tolist()
    true = poses(q)
    assert abs(out['vehicle.roll']) > 0.02 and abs(out['vehicle.yaw']) > 0.1
    q[3:7] = tilted(out['vehicle.roll'], out['vehicle.pitch'], out['vehicle.yaw'])
    for name, pose in poses(q).items():
        assert placed(pose, (0.1, 0.2, 0.3)) == pytest.approx(placed(true[name], (0.1, 0.2, 0.3)), abs=1e-8), name


@pytest.fixture
def cockpit():
    """Return a served seat."""
    seat = Cockpit()
    yield seat
    seat.close()


def until(found, seconds=10.0):
    """Wait until something is found, and return it."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return result


def test_seat_is_served_here_and_talks_to_its_own_page_only(cockpit):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect
    page = urllib.request.urlopen(cockpit.url).read().decode()
    assert "driver's seat" in page and 'http' not in page.replace('http-equiv', '')         # nothing is fetched from elsewhere
    address = cockpit.url.replace('http', 'ws') + '/seat'
    assert cockpit.url.startswith('http://127.0.0.1:')
    for origin in (None, 'http://evil.example'):
        with pytest.raises(InvalidStatus), connect(address, origin=origin):
            pass
    with pytest.raises(urllib.error.HTTPError, match='403'):
        urllib.request.urlopen(urllib.request.Request(cockpit.url, headers={'Host': 'evil.example'}))
    with pytest.raises(urllib.error.HTTPError, match='404'):
        urllib.request.urlopen(cockpit.url + '/etc/passwd')
    with connect(address, origin=cockpit.url) as guest:
        until(lambda: cockpit.guests == 1)
        for k in range(50):
            cockpit.show({'x': k})
        states = [json.loads(guest.recv(timeout=5))['x']]
        while states[-1] != 49:
            states.append(json.loads(guest.recv(timeout=5))['x'])
        assert states == sorted(states)             # newest ones only: some may be left out, none comes late
        for word in ('{', '[1]', '5', '{"turn": 1, "obstacle": true}', '{"turn": 0.5}'):
            guest.send(word)
        taken = []
        until(lambda: (found := cockpit.inbox()) and (taken.append(found) or found['turn'] == 0.5))
        assert any(message.get('obstacle') for message in taken)        # a wish is not overtaken by the next message
    until(lambda: cockpit.guests == 0)
