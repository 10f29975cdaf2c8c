"""Inputs of the model in the loop: measured at auxiliary joints or commanded live, native and Python, in virtual time."""

import functools
import math

import numpy as np
import pytest
from realtime_world import MS, WALL, World, codec

from mbs_core.description import Mechanism, effort, revolute, spring
from mbs_core.errors import MbsError
from mbs_core.runtime import compile_model
from mbs_haptics.model import load
from mbs_haptics.realtime import Channel, Input, Limits, Settings, messages
from mbs_haptics.realtime.supervise import ENABLE

BOTH = pytest.mark.parametrize('native', [True, False], ids=['native', 'python'])
NAMES = ['wheel', 'wheel/acceleration', 'pedal']
PEDAL = Input('push', 'pedal', gain=2.0, offset=-1.0, low=0.0, high=3.0, safe=0.25, slew=1e6)


@functools.cache
def model():
    """Return a wheel whose effort shows its two inputs: a held wheel needs -(push + pull)."""
    m = Mechanism('wheel', gravity=(0, 0, 0))
    body = m.body('wheel', on=m.ground, joint=revolute('z'), mass=0.1, com=(0, 0, 0), inertia=1e-3)
    m.add(spring(body, m.parameter('rate', 0.0, 'N m/rad', (0.0, 9.0), 'Spring'), rest=0.0))
    m.add(effort(body, m.input('push', 'N m', doc='Measured') + m.input('pull', 'N m', default=0.125, doc='Commanded'), 'pushes'))
    m.drive(body)
    return compile_model(m)


def world(native, pedal, inputs=(PEDAL, Input('pull', low=-2.0, high=2.0, value=0.125)), ticks=80, n=200, actions=None, q=0.5, **more):
    """Return a world whose pedal is at pedal(k) in sample k (None: that sample does not come)."""
    layout = messages.joint_state(codec(), NAMES)
    arrivals = []
    for k in range(n):
        if pedal(k) is not None:
            t = MS // 2 + k * MS
            arrivals.append((t, layout.message(WALL + t, k, {'position[0]': q(k) if callable(q) else q, 'position[2]': pedal(k)})))
    limits = Limits(force=10.0, slew=1e6, energy=100.0)
    settings = Settings((Channel('wheel', limits=limits),), ramp=0.002, trace=500, inputs=tuple(inputs), **more)
    ask = {5: lambda loop: loop.block.__setitem__('request', float(ENABLE))}
    return World(settings, native, model(), arrivals, ticks=ticks, actions={**ask, **(actions or {})}, joints=NAMES)


def forces(w):
    """Return the force of every set-point."""
    return np.array([s.force[0] for s in w.run()])


@BOTH
def test_a_measured_input_reaches_the_model_within_its_range(native):
    values = forces(world(native, lambda k: 0.75 if k < 40 else 9.0))[20:]
    assert values[:15] == pytest.approx(0.5 + 0.125, abs=1e-12)             # 2 * 0.75 - 1, and the commanded one
    assert values[-35:-3] == pytest.approx(3.0 + 0.125, abs=1e-12)          # 17 is clamped to 3; the last three are zero


@BOTH
def test_an_input_that_is_not_finite_or_does_not_come_goes_to_its_safe_value(native):
    w = world(native, lambda k: math.nan if 30 <= k < 50 else 0.75)
    values = forces(w)
    assert values[25:30] == pytest.approx(0.625)
    assert values[36:48] == pytest.approx(0.25 + 0.125)                     # 3 ms of patience, then safe; the wheel goes on
    assert values[55:70] == pytest.approx(0.625)
    assert w.loop.counters()['refused_input'] == 20 and w.loop.counters()['refused_nan'] == 0 and w.loop.fault == 'none'
    assert 14 <= w.loop.counters()['stale_input'] - 1 <= 20


@BOTH
def test_a_refused_sample_of_the_wheel_does_not_keep_the_pedal_away(native):
    w = world(native, lambda k: 0.75 if k < 30 else 1.0, q=lambda k: math.nan if k >= 25 else 0.5, ticks=40)
    w.run()
    assert w.loop.counters()['refused_nan'] > 5
    assert w.loop.inputs()['push'] == 1.0


@BOTH
def test_measured_inputs_move_no_faster_than_their_slew(native):
    slow = Input('push', 'pedal', low=0.0, high=1.0, slew=100.0)
    values = forces(world(native, lambda k: 0.0 if k < 20 else 1.0, (slow, Input('pull', value=0.0)), ticks=60))[10:-3]
    steps = np.diff(values)
    assert steps.max() == pytest.approx(0.1) and values[-1] == 1.0 and np.count_nonzero(steps > 1e-9) == 10


@BOTH
def test_a_commanded_input_moves_like_a_parameter_and_survives_enabling(native):
    w = world(native, lambda k: 0.5, actions={20: lambda loop: loop.set_parameters({}, {'pull': 1.125})})
    values = forces(w)
    assert values[8:20] == pytest.approx(0.125)
    assert values[45:70] == pytest.approx(1.125)
    assert 0 < np.abs(np.diff(values[10:60])).max() < 0.09                  # over 20 ticks, smoothly: at most 1.5 times the mean rate
    assert w.loop.inputs() == {'push': 0.0, 'pull': 1.125}


@BOTH
def test_commanded_inputs_are_checked(native):
    loop = world(native, lambda k: 0.5).loop
    for inputs, words in (({'pull': 3.0}, 'outside its range'), ({'pull': math.nan}, 'outside its range'), ({'push': 1.0}, 'measured'),
                          ({'pul': 1.0}, "there is no input 'pul'")):
        with pytest.raises(MbsError, match=words):
            loop.set_parameters({}, inputs)
    assert loop.block['posted'] == 0


def test_native_and_python_agree_to_the_last_bit():
    sent = []
    for native in (True, False):
        w = world(native, lambda k: 0.5 + 0.4 * math.sin(0.3 * k), q=lambda k: 0.01 * k,
                  actions={30: lambda loop: loop.set_parameters({'rate': 2.0}, {'pull': -0.3})})
        w.run()
        sent.append([data for _, data in w.sent])
    assert sent[0] == sent[1]


@pytest.mark.parametrize(('given', 'words'), [
    ({'low': 1.0, 'high': 0.0}, 'low'), ({'safe': 7.0, 'joint': 'pedal'}, 'safe'), ({'value': 7.0}, 'value'), ({'gain': 0.0}, 'gain'),
    ({'offset': math.nan}, 'offset'), ({'slew': -1.0}, 'slew')])
def test_wrong_inputs_are_refused(given, words):
    with pytest.raises(MbsError, match=words):
        Input('push', **given)


def test_unknown_inputs_and_joints_are_refused():
    for inputs, words in (([Input('pusch', 'pedal')], "no input 'pusch'"), ([Input('push', 'pedals')], "no joint 'pedals'")):
        with pytest.raises(MbsError, match=words):
            world(True, lambda k: 0.5, inputs)


def test_inputs_come_from_parameters():
    given = {'inputs.push.joint': 'pedal', 'inputs.push.high': 2.0, 'inputs.push.safe': 0.5, 'inputs.pull.low': -1.0}
    channels = (Channel('wheel'),)
    found = load.inputs_of(lambda name, default: given.get(name, default), model().mechanism, channels)
    assert found == (Input('push', 'pedal', high=2.0, safe=0.5), Input('pull', low=-1.0, high=load.WIDEST, value=0.125))
