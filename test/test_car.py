"""The car against what others computed (CommonRoad, single-track formulas: PARAMETERS.md 2.1), and against mechanics."""

import math

import numpy as np
import pytest

from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.mechanisms.car import CORNERS
from mbs_core.runtime import compile_model
from mbs_core.vehicles.data import Car

SPEED = 75 / 3.6
MADE = {}


def model_of(**options):
    """Return a compiled car, each kind once."""
    key = tuple(sorted(options.items()))
    if key not in MADE:
        MADE[key] = compile_model(build('car', **options))
    return MADE[key]


def ease(u):
    """Return position, rate and acceleration of a smooth step from 0 to 1."""
    return u ** 3 * (10 - 15 * u + 6 * u * u), 30 * u * u * (1 - u) ** 2, 60 * u * (1 - u) * (1 - 2 * u)


def turn(state, start, end, seconds):
    """Turn the driven steering wheel smoothly from one angle to another; return the worst status."""
    n, worst = round(seconds * 1000), 0
    for k in range(n):
        now, then = ([start + (end - start) * p, (end - start) * v / seconds, (end - start) * a / seconds ** 2]
                     for p, v, a in (ease(k / n), ease((k + 1) / n)))
        state.drive('steering_wheel', *now, then=then)
        worst = max(worst, state.run(1, 1e-3))
    state.drive('steering_wheel', end)
    return worst


def steady(model, angle, settle=4.0, **settings):
    """Return the outputs after a smooth turn of the steering wheel and some seconds."""
    state = model.state()
    state.set({name.replace('__', '.'): value for name, value in settings.items()})
    state.assemble()
    assert turn(state, 0.0, angle, 1.0) == 0
    assert state.run(round(settle * 1000), 1e-3) == 0
    return state.outputs()


def set_speed(state, kmh):
    """Let the whole car roll at a speed."""
    v = kmh / 3.6
    state.set('hold.speed', kmh)
    names = state.model.coordinates
    state.v[:] = 0.0
    state.v[names.index('chassis.x')] = v
    for corner in CORNERS:
        state.v[names.index(f'{corner}.wheel')] = v / 0.338
    state.forward()


def wheel_angle(outputs):
    """Return the mean angle of the front wheels."""
    return 0.5 * (outputs['front.left.steer'] + outputs['front.right.steer'])


# -- mechanics ---------------------------------------------------------------------------------------

def test_structure():
    """Fifteen degrees of freedom are left of 32 joints: chassis 6, each wheel 2, the steering wheel."""
    model = model_of()
    assert len(model.coordinates) == 32
    assert len(model.report.partitions[0]['independent']) == 15
    assert model.report.redundant == []
    assert model.driven == ['steering_wheel']


@pytest.mark.parametrize('suspension', ['wishbone', 'simple'])
def test_it_stands_on_its_wheels(suspension):
    """The tyres carry the car's weight, shared as the centre of gravity says, and it stands level."""
    out = steady(model_of(suspension=suspension), 0.0)
    car = Car()
    loads = [out[f'{c}.fz'] for c in CORNERS]
    assert sum(loads) == pytest.approx(car.mass * 9.81, rel=2e-4)
    assert loads[0] + loads[1] == pytest.approx(car.mass * 9.81 * car.b / car.wheelbase, rel=0.01)
    assert abs(out['vehicle.z']) < 0.002
    assert abs(out['vehicle.roll']) < 1e-4
    assert abs(out['vehicle.y']) < 0.01


def test_newton_in_a_corner():
    """Tyre forces equal mass times acceleration, and the loops stay closed to 1e-10 through a slalom."""
    model = model_of()
    out = steady(model, 0.4, 6.0)
    side = sum(out[f'{c}.fy'] * math.cos(out[f'{c}.steer']) + out[f'{c}.fx'] * math.sin(out[f'{c}.steer']) for c in CORNERS)
    assert side == pytest.approx(Car().mass * out['vehicle.yaw_rate'] * out['vehicle.speed'], rel=0.01)
    state = model.state()
    for start, end in ((0.0, 1.5), (1.5, -1.5), (-1.5, 0.8)):
        assert turn(state, start, end, 0.6) == 0
        assert max(state.residuals()) < 1e-10


def test_effort_does_the_work_of_the_front_axle():
    """Turning slowly at rest, the effort of the wheel is the kingpins' moment divided by the ratio (virtual work)."""
    model = model_of()
    out = steady(model, 0.3, 5.0, column__friction=0.0)
    slow = steady(model, 0.3 + 1e-3, 5.0, column__friction=0.0)
    per_wheel = [(slow[f'front.{s}.steer'] - out[f'front.{s}.steer']) / 1e-3 for s in ('left', 'right')]
    assert 1 / np.mean(per_wheel) == pytest.approx(16.0, rel=0.06)


def test_momentum_of_the_free_car():
    """In the air the car falls as any body: no inner force moves its centre of gravity."""
    model = model_of(suspension='simple')
    state = model.state()
    names = [c.name for c in model.mechanism.coordinates]
    place = model.mechanism.coordinate_of('chassis.z').position
    state.q[place] = 2.0
    state.v[names.index('chassis.x')] = 0.0
    for corner in CORNERS:
        state.v[names.index(f'{corner}.wheel')] = 0.0
    state.set('hold.speed', 0.0)
    state.forward()
    mass = state.mass()[:3]
    start = mass @ state.v
    assert state.run(200, 1e-3) == 0
    after = state.mass()[:3] @ state.v
    assert after - start == pytest.approx([0.0, 0.0, -Car().mass * 9.81 * 0.2], abs=0.01)


# -- oracles -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(('delta', 'ay', 'roll'), [(0.005, 0.857, 0.775), (0.02, 3.412, 3.100)])
def test_commonroad_steady_state(delta, ay, roll):
    """CommonRoad's multi-body car at 75 km/h: gain within 7 %, roll per acceleration within 5 % (wishbones).

    It has solid axles, no aligning moment, rolling resistance or air; ours drives against both, and leans its wheels more.
    """
    out = steady(model_of(tyre='commonroad'), 16 * delta, 6.0)
    gain = out['vehicle.yaw_rate'] / wheel_angle(out) * SPEED / out['vehicle.speed']
    published = ay / SPEED / delta
    assert gain == pytest.approx(published, rel=0.07)
    assert math.degrees(out['vehicle.roll']) / out['vehicle.ay'] == pytest.approx(roll / ay, rel=0.05)


@pytest.mark.parametrize('suspension', ['wishbone', 'simple'])
def test_single_track_gain_of_the_full_tyre(suspension):
    """Linear single track with the full set: 7.785 1/s, K_us 0.126 deg/g; the aligning moments, added, make it 7.56 1/s.

    Per unit of side acceleration they turn the car by m (b t_f + a t_r) / L, which front and rear side forces balance.
    """
    out = steady(model_of(suspension=suspension), 16 * 0.004, 6.0)
    gain = out['vehicle.yaw_rate'] / wheel_angle(out) * SPEED / out['vehicle.speed']
    car, cf, cr = Car(), 113541.0, 96328.0
    moment = car.mass * (car.b * 0.0242 + car.a * 0.0204) / car.wheelbase
    understeer = math.radians(0.126) / 9.81 + moment / car.wheelbase * (1 / cf + 1 / cr)
    assert gain == pytest.approx(SPEED / (car.wheelbase + understeer * SPEED ** 2), rel=0.035)
    assert gain == pytest.approx(7.785, rel=0.065)


def test_steering_torque_rises_with_the_caster_distance():
    """At 3 m/s2 without roll: 2.73, 4.26, 6.13, 8.39 N m for 0, 13.5, 30, 50 mm within 8 %, and the rise within 2.5 %."""
    stiff = {'front__spring': 2e5, 'rear__spring': 2e5, 'front__anti_roll': 1e5, 'rear__anti_roll': 1e5, 'tyre__rate': 5e5,
             'column__friction': 0.0, 'caster__angle': 0.0}
    torque = []
    for distance, published in ((0.0, 2.73), (13.5, 4.26), (30.0, 6.13), (50.0, 8.39)):
        out = steady(model_of(suspension='simple'), 0.315, 3.0, caster__distance=distance, **stiff)
        torque.append(out['steering_wheel.effort'] * 3.0 / out['vehicle.ay'])
        assert torque[-1] == pytest.approx(published, rel=0.08)
    assert (torque[3] - torque[0]) / 0.05 == pytest.approx((8.39 - 2.73) / 0.05, rel=0.025)


def test_caster_angle_and_distance_are_felt_on_wishbones():
    """On the whole suspension, too, the torque rises with the caster distance at the same angle, and the path does not."""
    outs = [steady(model_of(), 0.32, 4.0, caster__distance=d) for d in (0.0, 30.0, 60.0)]
    torque = [o['steering_wheel.effort'] for o in outs]
    assert torque[0] < torque[1] - 1.0 < torque[2] - 2.0
    assert max(o['vehicle.ay'] for o in outs) == pytest.approx(min(o['vehicle.ay'] for o in outs), rel=0.02)


# -- released, abused, pedals -------------------------------------------------------------------------

@pytest.mark.parametrize('speed', [20.0, 50.0, 75.0, 100.0, 130.0])
def test_released_wheel_comes_back(speed):
    """Hands off after a push, the steering wheel returns and no oscillation grows, with the default settings."""
    model = model_of(driven=False)
    state = model.state()
    set_speed(state, speed)
    state.input('hand.torque', 3.0)
    assert state.run(500, 1e-3) == 0
    state.input('hand.torque', 0.0)
    place = model.mechanism.coordinate_of('steering_wheel').position
    angles = []
    for _ in range(800):
        assert state.run(10, 1e-3) == 0
        angles.append(abs(state.q[place]))
    assert max(angles[:100]) > 0.05
    assert max(angles[200:400]) < 0.5 * max(angles[:100])
    assert max(angles[600:]) < 0.1 * max(angles[:100])


LIVE = ('caster.angle', 'caster.distance', 'front.toe', 'rear.toe', 'front.camber', 'rear.camber', 'front.anti_roll', 'rear.anti_roll',
        'road.friction', 'front.damping', 'rear.damping', 'front.spring', 'rear.spring', 'tyre.rate', 'steering.ratio',
        'column.damping', 'column.friction')


def between(start, end, share):
    """Return start + share (end - start), exactly `end` at the end."""
    return end if share == 1 else start + (end - start) * share


def change(state, name, target, seconds=0.3):
    """Change a parameter as the loop does, spread over a time; return the effort after every millisecond."""
    start, n, efforts = state.get(name), round(seconds * 1000), []
    for k in range(1, n + 1):
        state.set(name, between(start, target, k / n))
        assert state.run(1, 1e-3) == 0, name
        efforts.append(state.eff[0])
    return np.array(efforts)


@pytest.mark.parametrize('name', LIVE)
def test_live_settings_take_effect_without_a_jump(name):
    """Changed by a fair step in a corner, every setting acts from the first millisecond on, and the torque never jumps."""
    model = model_of()
    state, twin = model.state(), model.state()
    for s in (state, twin):
        turn(s, 0.0, 0.4, 0.5)
        s.run(1500, 1e-3)
    p = model.parameters[name]
    before = state.eff[0]
    fair = p.default + 0.15 * (p.high - p.default) if p.default < 0.9 * p.high else p.low
    efforts = change(state, name, fair)
    assert np.abs(np.diff(np.concatenate([[before], efforts]))).max() < 0.12
    twin.set(name, p.default + (fair - p.default) / 300)
    twin.run(1, 1e-3)
    assert twin.eff[0] == pytest.approx(efforts[0], abs=1e-9)
    still = model.state()
    turn(still, 0.0, 0.4, 0.5)
    still.run(1501, 1e-3)
    slow = name.endswith(('damping', 'friction')) and not name.startswith('road')
    assert slow or not np.array_equal(still.vd, twin.vd)


def test_absurd_settings_survive():
    """Every setting at both ends of its range, while steering hard: finite, loops closed, and the car comes back to order."""
    model = model_of()
    for name in LIVE:
        p = model.parameters[name]
        for value in (p.low, p.high):
            state = model.state()
            change(state, name, value, 0.05)
            assert turn(state, 0.0, 1.2, 0.4) == 0, (name, value)
            assert turn(state, 1.2, -1.2, 0.6) == 0, (name, value)
            out = state.outputs()
            assert np.all(np.isfinite(list(out.values()))), (name, value)
            assert abs(out['vehicle.roll']) < 0.6, (name, value)


def test_all_settings_at_once():
    """All of them at their lowest, or all at their highest: the numbers stay finite."""
    model = model_of()
    for pick in ('low', 'high'):
        state = model.state()
        for k in range(1, 51):
            state.set({n: between(model.parameters[n].default, getattr(model.parameters[n], pick), k / 50) for n in LIVE})
            assert state.run(1, 1e-3) == 0
        assert turn(state, 0.0, 0.8, 0.5) == 0
        assert state.run(1000, 1e-3) == 0
        assert np.all(np.isfinite(list(state.outputs().values())))


def test_pedals():
    """The accelerator adds speed, the brake takes it away, down to rest, and the hold brings the speed back."""
    model = model_of()
    state = model.state()
    state.input('accelerator', 1.0)
    state.run(3000, 1e-3)
    fast = state.outputs()['vehicle.speed']
    assert fast > SPEED + 5.0
    state.input('accelerator', 0.0)
    state.input('brake', 0.6)
    state.run(2000, 1e-3)
    slow = state.outputs()
    assert slow['vehicle.speed'] < fast - 8.0
    assert slow['vehicle.ax'] == pytest.approx(-0.6 * 12000 / Car().mass, rel=0.15)
    assert state.run(6000, 1e-3) == 0
    assert abs(state.outputs()['vehicle.speed']) < 0.2
    state.input('brake', 0.0)
    state.run(12000, 1e-3)
    assert state.outputs()['vehicle.speed'] == pytest.approx(SPEED, rel=0.02)


def test_full_braking_on_ice_locks_the_wheels_and_survives():
    """Full brake on a road of friction 0.1: wheels lock, the car slides on, and nothing breaks."""
    state = model_of().state()
    state.set('road.friction', 0.1)
    state.input('brake', 1.0)
    assert state.run(3000, 1e-3) == 0
    out = state.outputs()
    assert out['front.left.kappa'] < -0.8
    assert -1.4 < out['vehicle.ax'] < -0.7


def test_assisted_column():
    """With the torsion bar and the motor less is felt for the same corner, and the hands still feel the direction."""
    plain, helped = (steady(model_of(assist=a), 0.32, 4.0)['steering_wheel.effort'] for a in (False, True))
    assert 0.3 * plain < helped < 0.75 * plain


def test_bad_options_are_refused():
    """What makes no car is refused by name."""
    with pytest.raises(MbsError, match='suspension'):
        build('car', suspension='leaf')
    with pytest.raises(MbsError, match='km/h'):
        build('car', speed=-5.0)
    with pytest.raises(MbsError, match='caster.distance'):
        model_of().state().set('caster.distance', 500.0)
