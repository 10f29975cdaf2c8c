"""The real-time loop in virtual time, native and Python: deadlines, samples, faults, parameters, accounting."""

import functools
import math

import numpy as np
import pytest
from realtime_world import MS, WALL, World, codec, samples

from mbs_core.description import Mechanism, damper, revolute, spring
from mbs_core.errors import MbsError
from mbs_core.mechanisms import build
from mbs_core.runtime import compile_model
from mbs_haptics.realtime import Channel, Limits, Settings, messages
from mbs_haptics.realtime.block import Block
from mbs_haptics.realtime.supervise import ACTIVE, DISABLE, ENABLE, RESET

BOTH = pytest.mark.parametrize('native', [True, False], ids=['native', 'python'])
LIMITS = Limits(force=10.0, slew=1e6, energy=100.0)
NAN = float('nan')


@functools.cache
def lever():
    """Return the compiled model of a lever with a spring of 2 N m/rad and a damper."""
    m = Mechanism('lever', gravity=(0, 0, 0))
    rate = m.parameter('spring.rate', 2.0, 'N m/rad', (0.0, 50.0), 'Spring')
    body = m.body('lever', on=m.ground, joint=revolute('z'), mass=0.1, com=(0.1, 0, 0), inertia=1e-3)
    m.add(spring(body, rate, rest=0.0))
    m.add(damper(body, m.parameter('damping', 0.0, 'N m s/rad', (0.0, 1.0), 'Damper')))
    m.drive(body)
    m.output('slope', rate + 0.0 * body.q, 'N m/rad', 'Slope of the spring')
    return compile_model(m)


def settings(**more):
    """Return settings for the lever, with a trace."""
    channel = {k: more.pop(k) for k in list(more) if k in Channel.__dataclass_fields__}
    return Settings((Channel('lever', **{'limits': LIMITS, **channel}),), **{'ramp': 0.01, 'trace': 500, **more})


def still(t):
    """A joint that rests at 0.5 rad."""
    return [(0.5, 0.0, 0.0)]


def swing(t):
    """A joint that swings at 3 Hz."""
    w = 6 * math.pi
    return [(0.3 * math.sin(w * t), 0.3 * w * math.cos(w * t), 0.1)]


def layout():
    """Return the layout of a sample."""
    return messages.joint_state(codec(), ['lever'])


def ask(request):
    """Return an action that puts a request to the loop."""
    return lambda loop: loop.block.__setitem__('request', float(request))


def world(native, motion=still, n=200, ticks=60, change=None, actions=None, model=True, **more):
    """Return a world whose samples come every millisecond and that is enabled after the fifth tick."""
    keys = ('busy', 'late')
    given = {k: more.pop(k) for k in keys if k in more}
    arrivals = samples(layout(), motion, n)
    arrivals = change(arrivals) if change else arrivals
    return World(settings(**more), native, lever() if model else None, arrivals, ticks=ticks, actions={5: ask(ENABLE), **(actions or {})},
                 **given)


def sample(t, k, q=0.5, v=0.0):
    """Return one arrival of the lever with a sequence of its own."""
    return t, layout().message(WALL + t, k, {'position[0]': q, 'velocity[0]': v})


@BOTH
def test_set_points_answer_the_newest_sample_with_the_model_force(native):
    w = world(native)
    out = w.run()
    assert [s.sequence for s in out] == list(range(len(out))) and len(out) == 63         # 60 ticks, 3 zeros at the end
    assert all(s.answered == k for k, s in enumerate(out[:60]))
    assert [s.force[0] for s in out[:6]] == [0.0] * 6
    assert out[59].force[0] == pytest.approx(-2.0 * 0.5, rel=1e-9) and out[59].q == [0.5]
    assert [s.force[0] for s in out[-3:]] == [0.0] * 3
    assert w.loop.state == 'inactive' and w.loop.counters()['received'] == 60 and w.loop.counters()['lost'] == 0


@BOTH
def test_an_output_can_be_rendered_in_place_of_the_effort_of_the_driven_coordinate(native):
    out = world(native, effort_output='slope', ratio=2.0).run()
    assert out[59].force[0] == pytest.approx(-2.0 * 2.0, rel=1e-9)


@BOTH
def test_every_activation_ramps_and_disabling_decays(native):
    out = world(native, ticks=80, actions={40: ask(DISABLE), 60: ask(ENABLE)}, ramp=0.02).run()
    force = [-s.force[0] for s in out]
    assert np.all(np.diff(force[5:26]) > 0) and force[30] == pytest.approx(1.0)
    assert np.all(np.diff(force[40:48]) < 0) and force[49:60] == [0.0] * 11
    assert np.abs(np.diff(force[:80])).max() < 0.15 and force[79] == pytest.approx(0.95, abs=0.06)


def test_native_and_python_give_the_same_set_points_to_the_last_bit():
    def spoil(arrivals):
        del arrivals[30:34], arrivals[50]
        arrivals[20] = (arrivals[20][0] + 300_000, arrivals[20][1])
        t, data = arrivals[60]
        bad = bytearray(data)
        layout().write(bad, WALL + t, 65, {'position[0]': NAN})
        arrivals[60] = (t, bytes(bad))
        return arrivals

    def change(loop):
        loop.set_parameters({'spring.rate': 7.0, 'damping': 0.05})
    runs = [world(native, swing, 300, 250, spoil, {100: change, 180: ask(DISABLE), 200: ask(ENABLE)}, acceleration_filter=0.2,
                  late=lambda k: 50_000 * (k % 7), limits=Limits(force=1.2, slew=900.0, continuous=0.4, thermal_time=0.05, energy=1e-3),
                  busy=lambda k: 2_500_000 if k % 90 == 89 else 90_000) for native in (True, False)]
    native, python = [w.run() and w.sent for w in runs]
    assert native == python
    assert runs[0].loop.counters() == runs[1].loop.counters()
    counts = runs[0].loop.counters()
    assert all(counts[k] > 0 for k in ('skipped', 'lost', 'refused_nan', 'stale', 'cut_thermal', 'cut_clamp'))
    model_part = slice(0, lever().unit.total)
    assert np.array_equal(runs[0].loop.block.x[model_part], runs[1].loop.block.x[model_part], equal_nan=True)


@BOTH
def test_every_deadline_is_a_tick_or_counted_as_skipped_and_none_is_made_up_for(native):
    w = world(native, busy=lambda k: 3_400_000 if k % 10 == 7 else 100_000, late=lambda k: 1_200_000 if k % 17 == 3 else 30_000,
              ticks=200, n=1000)
    w.run()
    counts = w.loop.counters()
    due = (w.loop.block['last_due'] - w.loop.block['first_due']) / MS
    assert counts['ticks'] == 200 and due == int(due) and counts['skipped'] > 50
    last = 3 if 199 % 10 == 7 else 0
    assert counts['ticks'] + counts['skipped'] - last == int(due) + 1 and counts['deadlines'] == counts['ticks'] + counts['skipped']
    trace = w.loop.trace()
    starts = trace['t'] - trace['lateness']
    assert np.all(np.diff(starts) >= MS) and np.all((starts - starts[0]) % MS == 0)       # never two ticks for one deadline
    assert w.loop.histogram('lateness')['count'] == 200 and w.loop.statistics()['largest_gap_us'] == pytest.approx(np.diff(trace['t']).max() / 1e3)
    assert w.loop.state == 'inactive'


@BOTH
def test_too_many_missed_deadlines_in_a_row_stop_safely(native):
    w = world(native, busy=lambda k: 2_500_000 if k >= 30 else 0, ticks=60, n=1000, most_missed=20)
    out = w.run()
    assert w.loop.fault == 'overrun' and w.loop.state == 'fault'
    first = next(k for k, s in enumerate(out) if k > 25 and s.force[0] == 0.0)
    assert 30 + 9 <= first <= 30 + 12 and all(s.force[0] == 0.0 and s.k[0] == 0.0 for s in out[first:])


@BOTH
def test_one_long_stop_is_an_overrun_too(native):
    w = world(native, late=lambda k: 30 * MS if k == 40 else 0, n=1000, stale_after=0.05, fault_after=0.2)
    w.run()
    assert w.loop.fault == 'overrun'


@BOTH
def test_integrator_always_gets_the_nominal_step(native):
    w = world(native, busy=lambda k: 1_700_000, ticks=40, n=1000, most_missed=1000)
    w.run()
    active = int((w.loop.trace()['state'] == ACTIVE).sum())
    assert w.loop.counters()['skipped'] > 20 and active > 20
    assert w.loop.block.state.t == pytest.approx(active * 1e-3)


# -- sensors that fail -----------------------------------------------------------------------------
def decay_of(w, out, last):
    """Check that the force decays from 3 ms to zero at 10 ms after the sample `last` came, then is a latched fault."""
    came = last * MS + MS // 2
    for s in out[:-3]:
        age = s.t - came
        if age > 10 * MS:
            assert s.force[0] == 0.0 and s.k[0] == 0.0
        elif age > 3 * MS:
            assert abs(s.force[0]) <= 1.0 - (age - 3 * MS) / (7 * MS) + 1e-12
        elif s.t > 20 * MS:
            assert s.force[0] == pytest.approx(-1.0)
    assert np.abs(np.diff([s.force[0] for s in out[20:-3]])).max() < 0.15
    assert w.loop.fault == 'sensor' and w.loop.state == 'fault'
    tick = w.loop.trace()
    assert tick['age'][int(w.loop.block['fault_tick'])] == 20.5 * MS


@BOTH
@pytest.mark.parametrize('kind', ['silent', 'nan', 'inf', 'jump', 'repeated', 'frozen sequence', 'other names', 'no digits'])
def test_a_sensor_that_fails_ends_as_one_that_is_silent(native, kind):
    def spoil(arrivals):
        if kind == 'silent':
            return arrivals[:31]
        out = arrivals[:31]
        for k, (t, data) in enumerate(arrivals[31:], 31):
            if kind == 'nan':
                t, data = sample(t, k, NAN)
            elif kind == 'inf':
                t, data = sample(t, k, 0.5, float('inf'))
            elif kind == 'jump':
                t, data = sample(t, k, 2.5)
            elif kind == 'repeated':
                data = arrivals[30][1]
            elif kind == 'frozen sequence':
                t, data = sample(t, 30)
            elif kind == 'other names':
                data = data.replace(b'lever\0', b'xever\0')
            else:
                data = data.replace(b'#0000', b'#00x0')
            out.append((t, data))
        return out
    w = world(native, change=spoil, ticks=80)
    decay_of(w, w.run(), 30)
    counter = {'nan': 'refused_nan', 'inf': 'refused_nan', 'jump': 'refused_jump', 'repeated': 'repeated', 'frozen sequence': 'repeated',
               'other names': 'refused_layout', 'no digits': 'refused_layout'}.get(kind)
    assert counter is None or w.loop.counters()[counter] >= 45


@BOTH
def test_a_position_that_stays_while_its_rate_is_large_is_frozen(native):
    def spoil(arrivals):
        return arrivals[:31] + [sample(t, k, 0.5, 5.0) for k, (t, _) in enumerate(arrivals[31:], 31)]
    w = world(native, change=spoil, ticks=80)
    w.run()
    assert w.loop.fault == 'sensor' and w.loop.counters()['refused_frozen'] > 20


@BOTH
def test_samples_that_come_late_by_their_stamps_are_old(native):
    def spoil(arrivals):                  # from the thirtieth on, everything is held up by 15 ms, but comes regularly
        return arrivals[:30] + [(t + 15 * MS, data) for t, data in arrivals[30:]]
    w = world(native, change=spoil, ticks=100)
    out = w.run()
    assert w.loop.fault == 'none' and all(s.force[0] == 0.0 for s in out[50:100])


@BOTH
def test_one_late_sample_costs_a_little_force_and_no_fault(native):
    w = world(native, change=lambda a: a[:30] + a[34:], ticks=80)
    out = w.run()
    assert w.loop.state == 'inactive' and w.loop.fault == 'none' and w.loop.counters()['lost'] == 4
    assert min(-s.force[0] for s in out[20:80]) > 0.7 and out[79].force[0] == pytest.approx(-1.0)


@BOTH
def test_a_clock_that_is_set_is_no_late_sample(native):
    def spoil(arrivals):
        return arrivals[:30] + [(t, layout().message(WALL + t - 3600 * 10 ** 9, k, {'position[0]': 0.5}))
                                for k, (t, _) in enumerate(arrivals[30:], 30)]
    w = world(native, change=spoil, ticks=80)
    assert w.run()[79].force[0] == pytest.approx(-1.0) and w.loop.counters()['clock_steps'] == 1 and w.loop.fault == 'none'


@BOTH
def test_lost_and_overtaken_samples_are_counted(native):
    def spoil(arrivals):
        del arrivals[20:23]
        return [(t + (600_000 if k == 40 else 0), d) for k, (t, d) in enumerate(arrivals)]
    w = world(native, change=spoil, ticks=80)
    out = w.run()
    assert w.loop.counters()['lost'] == 3 and w.loop.counters()['overtaken'] == 1
    assert w.loop.counters()['received'] == out[79].answered + 1 - 3


# -- requests and faults -----------------------------------------------------------------------------
@BOTH
def test_estop_is_zero_at_once_and_latched_until_reset(native):
    w = world(native, actions={30: lambda loop: loop.estop(), 40: ask(RESET), 50: lambda loop: loop.block.__setitem__('estopped', 0.0),
                               51: ask(RESET), 55: ask(ENABLE)}, ticks=90)
    out = w.run()
    state = [int(s) for s in w.loop.trace()['state']]
    assert out[30].force[0] != 0.0 and all(s.force[0] == 0.0 for s in out[31:56])
    assert state[31:52] == [3] * 21 and state[52:56] == [0] * 4 and state[57] == ACTIVE
    assert out[89].force[0] == pytest.approx(-1.0)


@BOTH
def test_model_that_is_not_finite_never_reaches_the_set_point(native):
    w = world(native, actions={30: lambda loop: loop.block.state._par.__setitem__(0, NAN) or loop.model.unit.library.call('pre', loop.block.x)})
    out = w.run()
    assert w.loop.fault in ('model', 'force') and all(math.isfinite(v) for s in out for v in (*s.force, *s.k, *s.b))
    assert all(s.force[0] == 0.0 for s in out[31:])


@BOTH
def test_enable_without_a_sample_is_refused(native):
    w = World(settings(), native, lever(), [], ticks=20, actions={5: ask(ENABLE)})
    assert all(s.force[0] == 0.0 for s in w.run()) and w.loop.state == 'inactive'
    with pytest.raises(MbsError, match='no fresh sample'):
        w.loop.enable()


@BOTH
def test_a_device_that_restarts_while_inactive_is_met_afresh(native):
    arrivals = samples(layout(), still, 20, first=5000) + samples(layout(), still, 60, start=60 * MS + MS // 2)
    w = World(settings(), native, lever(), arrivals, ticks=100, actions={80: ask(ENABLE)})
    w.run()
    assert w.loop.counters()['repeated'] == 0 and w.loop.trace()['state'][-1] == ACTIVE


# -- parameters --------------------------------------------------------------------------------------
@BOTH
def test_parameters_take_effect_within_two_ticks_and_never_step_the_force(native):
    w = world(native, ticks=90, actions={40: lambda loop: loop.set_parameters({'spring.rate': 4.0})})
    force = [-s.force[0] for s in w.run()]
    assert force[40] == pytest.approx(1.0) and force[42] > 1.0 and w.loop.block['change_tick'] == 41
    assert 1 <= w.loop.block['took'] == w.loop.block['took_most'] <= 2
    assert force[65] == pytest.approx(2.0) and np.abs(np.diff(force[40:70])).max() < 0.1


@BOTH
def test_a_second_batch_during_the_first_goes_on_from_where_it_is(native):
    w = world(native, ticks=100, actions={40: lambda loop: loop.set_parameters({'spring.rate': 4.0}),
                                          48: lambda loop: loop.set_parameters({'spring.rate': 1.0})})
    force = [-s.force[0] for s in w.run()]
    assert np.abs(np.diff(force[20:100])).max() < 0.12 and force[90] == pytest.approx(0.5)


def test_a_wrong_batch_is_refused_as_a_whole():
    loop = world(True).loop
    for batch, words in (({'spring.rate': 3.0, 'damping': 9.0}, 'outside its range'), ({'spring.rate': NAN}, 'outside its range'),
                         ({'spring.rat': 3.0}, "did you mean 'spring.rate'"), ({'spring.rate': 'soft'}, 'is no number')):
        with pytest.raises(MbsError, match=words):
            loop.set_parameters(batch)
    assert loop.parameter('spring.rate') == 2.0 and loop.block['posted'] == 0.0


def test_a_thousand_random_batches_leave_the_loop_healthy():
    rng = np.random.default_rng(3)
    w = world(True, swing, 1200, 1100)
    w.actions.update({k: lambda loop: loop.set_parameters({'spring.rate': rng.uniform(0, 50), 'damping': rng.uniform(0, 1)})
                      for k in range(50, 1050)})
    out = w.run()
    assert w.loop.fault == 'none' and w.loop.block['taken'] == 1000 and w.loop.counters()['skipped'] == 0
    assert w.loop.block['took_most'] <= 2
    assert all(math.isfinite(s.force[0]) for s in out)


# -- ways of waking, modes -----------------------------------------------------------------------------
@BOTH
def test_woken_by_the_sample_every_sample_is_one_tick(native):
    w = world(native, ticks=10 ** 6, wake='sample')
    w.loop.prepare()
    for k, (t, _) in enumerate(list(w.arrivals)[:100]):
        w.t = t
        w.loop.call('on_sample')
        w.loop.call('on_sample')          # called again for a message that is gone
    out = w.setpoints()
    assert [s.answered for s in out] == list(range(100)) and out[99].force[0] == pytest.approx(-1.0)
    assert w.loop.counters()['ticks'] == 100 and w.loop.counters()['skipped'] == 0


@BOTH
def test_where_no_sample_wakes_it_the_loop_stands_by_itself(native):
    w = World(settings(wake='sample'), native, lever(), samples(layout(), still, 31), ticks=10 ** 6)
    w.loop.prepare()
    for k, (t, _) in enumerate(list(w.arrivals)):
        w.t = t
        w.loop.call('on_sample')
        if k == 5:
            w.loop.block['request'] = float(ENABLE)
    before = len(w.sent)
    w.ticks = before + 30
    w.loop.call('watch')
    out = w.setpoints()
    assert w.loop.fault == 'sensor' and w.loop.counters()['watch_ticks'] == 30
    assert out[before - 1].force[0] == pytest.approx(-1.0) and out[-4].force[0] == 0.0
    ages = w.loop.trace()['age'][before:before + 12]
    assert ages[0] == 3 * MS and np.all(np.diff(ages) <= 1.25 * MS)


def two_threads(w, until):
    """Run a loop that samples wake in virtual time: the thread that receives, and the one that stands by, up to a time."""
    w.loop.prepare()
    due = 0
    while due < until:
        came = w.arrivals[0][0] if w.arrivals else until
        if due < came:
            w.t = max(w.t, due)
            due = w.loop.call('stand_by')
        else:
            w.t = max(w.t, came)
            before = len(w.arrivals)
            w.loop.call('on_sample')
            if len(w.arrivals) == before:
                w.arrivals.pop(0)              # left for the next sample, which takes its place: keep last 1
    return w.setpoints()


def rough(seed, n=3000):
    """Return arrivals of a device whose clock is 300 ppm fast: 0.4 ms of jitter, one in a hundred lost, and two silences."""
    rng = np.random.default_rng(seed)
    return [(t + int(rng.uniform(0, 0.4 * MS)), data) for k, (t, data) in enumerate(samples(layout(), still, n, period=999_700))
            if rng.uniform() > 0.01 and k not in range(1000, 1012) and k not in range(2000, 2400)]


@BOTH
def test_woken_by_samples_every_one_is_answered_and_every_number_accounted_for(native):
    arrivals = rough(4)
    w = World(settings(trace=4000), native, lever(), list(arrivals), ticks=10 ** 6)
    out = two_threads(w, arrivals[-1][0] + 4 * MS)
    answered, counts = {s.answered for s in out}, w.loop.counters()
    assert len(answered) == len(arrivals) and counts['ticks'] == len(out)
    assert counts['deadlines'] == counts['ticks'] + counts['skipped'] and counts['faults_seen'] == 0
    assert counts['deadlines'] == pytest.approx(3004, abs=6)                         # no time is left out or counted twice
    assert np.diff(w.loop.trace()['t']).max() <= 3.01 * MS and counts['watch_ticks'] > 400       # ticks never cease
    alone = w.loop.trace()
    at = alone['t'][(alone['t'] > 2010 * MS) & (alone['t'] < 2390 * MS)]
    assert len(at) > 350 and np.all(np.diff(at) == MS)                               # absolute deadlines where no sample comes


def test_at_deadlines_of_its_own_the_loop_leaves_samples_out_where_the_clocks_beat():
    arrivals = [(t, d) for t, d in rough(4) if t < 990 * MS]
    unanswered = {}
    for wake in ('sample', 'timer'):
        w = World(settings(trace=0, wake=wake), True, lever(), [(t + 450_000, d) for t, d in arrivals], ticks=980 if wake == 'timer' else 10 ** 6)
        out = two_threads(w, arrivals[-1][0] + MS) if wake == 'sample' else w.run()
        answered = {s.answered for s in out}
        unanswered[wake] = 1 - len(answered) / sum(1 for t, _ in arrivals if t + 450_000 <= out[-4].t)
    assert unanswered['sample'] < 0.002 < 0.02 < unanswered['timer']


@BOTH
def test_samples_that_were_held_up_never_become_a_burst_of_ticks(native):
    arrivals = samples(layout(), still, 60)
    arrivals = [(40 * MS + 50_000 * (k - 30) if 30 <= k < 40 else t, d) for k, (t, d) in enumerate(arrivals)]
    w = World(settings(), native, lever(), arrivals, ticks=10 ** 6)
    two_threads(w, 59 * MS)
    at, counts = w.loop.trace()['t'], w.loop.counters()
    assert (np.diff(at) < MS // 4).sum() <= 2 and (at[2:] - at[:-2]).min() >= MS // 4      # at most two on each other's heels
    assert counts['deadlines'] == counts['ticks'] + counts['skipped']


@BOTH
def test_a_refused_sample_wakes_nobody(native):
    w = World(settings(), native, lever(), samples(layout(), lambda t: [(NAN, 0.0, 0.0)], 30), ticks=10 ** 6)
    two_threads(w, 30 * MS)
    counts = w.loop.counters()
    assert counts['refused_nan'] >= 28 and counts['watch_ticks'] == counts['ticks'] > 20


@BOTH
def test_lateness_of_a_tick_that_a_sample_woke_counts_from_when_the_sample_was_there(native):
    w = World(settings(), native, lever(), samples(layout(), still, 50), ticks=10 ** 6)
    w.loop.prepare()
    for t, _ in list(w.arrivals):
        w.t = t + 70_000
        w.loop.call('on_sample')
    assert np.all(w.loop.trace()['lateness'] == 70_000) and w.loop.histogram('lateness')['p50_us'] == pytest.approx(70, rel=0.04)


def test_samples_of_another_rate_may_not_wake_the_loop():
    w = World(settings(stale_after=1.0, fault_after=2.0), True, lever(), samples(layout(), still, 50, period=2 * MS), ticks=10 ** 6)
    two_threads(w, 100 * MS)
    with pytest.raises(MbsError, match='samples come every 2 ms, but a tick is 1 ms long; set rate_hz to 500, or wake to timer'):
        w.loop.enable()


@BOTH
def test_admittance_moves_the_model_by_the_measured_effort(native):
    model = compile_model(build('four_bar'))
    channel = Channel('crank', 'crank', mode='admittance', force_input='crank.torque', stiffness=5.0, damping=0.1, limits=LIMITS)
    lay = messages.joint_state(codec(), ['crank'])
    q0 = float(model.start[model.mechanism.coordinate_of('crank').position])
    w = World(Settings((channel,), ramp=0.01), native, model, samples(lay, lambda t: [(q0, 0.0, 3.0)], 100), ticks=80, actions={5: ask(ENABLE)})
    out = w.run()
    q = w.loop.block.state.q[model.mechanism.coordinate_of('crank').position]
    v = w.loop.block.state.v[model.mechanism.coordinate_of('crank').index]
    assert q > q0 + 1e-3 and out[79].force[0] == pytest.approx(5.0 * (q - q0) + 0.1 * v) and out[79].k == [5.0] and out[79].b == [0.1]


@BOTH
def test_admittance_keeps_the_power_across_the_ratio(native):
    """Model travel = ratio * joint travel, so the model's effort is the joint's divided by the ratio."""
    model = compile_model(build('four_bar'))
    channel = Channel('crank', 'crank', mode='admittance', force_input='crank.torque', ratio=4.0, stiffness=5.0, limits=LIMITS)
    lay = messages.joint_state(codec(), ['crank'])
    q0 = float(model.start[model.mechanism.coordinate_of('crank').position])
    w = World(Settings((channel,), ramp=0.01), native, model, samples(lay, lambda t: [(q0 / 4.0, 0.0, 3.0)], 60), ticks=40,
              actions={5: ask(ENABLE)})
    w.run()
    assert w.loop.block.state.inp[0] == pytest.approx(3.0 / 4.0)


@BOTH
def test_the_local_law_carries_the_slope_of_the_model(native):
    out = world(native, ticks=60, stiffness_output='slope').run()
    assert out[59].k == [2.0] and out[59].b == [0.0] and out[5].k == [0.0]


def test_settings_that_make_no_sense_are_refused_in_one_sentence():
    for make, words in ((lambda: Settings(()), 'at least one channel'), (lambda: Limits(force=0), 'above 0'),
                        (lambda: Limits(slew=float('inf')), 'finite'), (lambda: settings(rate_hz=-1), 'rate_hz'),
                        (lambda: settings(wake='never'), 'wake'), (lambda: Channel('a', mode='x'), 'mode'),
                        (lambda: Channel('a', mode='admittance'), 'force_input'), (lambda: settings(fault_after=0.005), 'fault_after'),
                        (lambda: Settings((Channel('a'), Channel('a'))), 'one channel only'), (lambda: settings(spin=0.01), 'spin'),
                        (lambda: Block(settings(), layout(), lever()).place('model.w'), 'no array'),
                        (lambda: world(True, coordinate='leve'), 'leve'), (lambda: world(True, stiffness_output='slop'), 'slope')):
        with pytest.raises(MbsError, match=words):
            make()


def test_a_loop_starts_again_from_zero_but_keeps_parameters_and_sequences():
    w = world(True, actions={30: lambda loop: loop.set_parameters({'spring.rate': 4.0})})
    w.run()
    sent = int(w.loop.block.view('sent')[0])
    w.loop._clear()
    assert w.loop.counters()['ticks'] == 0 and w.loop.histogram('lateness')['count'] == 0 and w.loop.block['have'] == 0.0
    assert w.loop.block['posted'] == w.loop.block['taken'] == 1.0 and int(w.loop.block.view('sent')[0]) == sent
