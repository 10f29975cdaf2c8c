"""rosbotran against a hand-made device: the force is the model's, parameters take effect or are refused, stops are stops."""

import importlib.util
import math
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mbs_core.mechanisms import build, catalogue
from mbs_core.runtime import compile_model

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from stack import Stack

pytestmark = pytest.mark.alone           # whole stacks: what runs beside them would show in their timing


def law(q, rate=4.0, preload=0.06, v=0.0):
    """Return the force that the lever answers with before its stop, N m."""
    return -(rate * q + preload + 0.004 * v)


def test_lever_is_in_the_catalogue_and_its_effort_is_the_spring_law():
    assert 'lever' in catalogue()
    state = compile_model(build('lever')).state()
    for q, v in ((0.0, 0.0), (0.02, 0.1), (0.035, -0.3)):
        state.drive('lever', q, v)
        assert state.forward() == 0
        assert state.eff[0] == pytest.approx(-law(q, v=v), abs=1e-12)
    state.drive('lever', 0.045)
    state.forward()
    assert state.eff[0] == pytest.approx(0.24 + 30 * 0.005 ** 2 / 0.008, abs=1e-12)


def test_slopes_of_the_lever_are_those_of_its_effort():
    state = compile_model(build('lever')).state()
    for q, v in ((0.01, 0.0), (0.044, 0.2)):
        efforts = []
        for dq, dv in ((1e-6, 0.0), (-1e-6, 0.0), (0.0, 1e-4), (0.0, -1e-4)):
            state.drive('lever', q + dq, v + dv)
            state.forward()
            efforts.append(state.eff[0])
        state.drive('lever', q, v)
        state.forward()
        out = state.outputs()
        assert out['lever.stiffness'] == pytest.approx((efforts[0] - efforts[1]) / 2e-6, rel=1e-5)
        assert out['lever.damping'] == pytest.approx((efforts[2] - efforts[3]) / 2e-4, rel=1e-5)


def test_free_lever_keeps_its_energy_through_the_stop():
    state = compile_model(build('lever', driven=False)).state()
    state.set({'damper.rate': 0.0, 'spring.preload': 0.0})
    state.q[0] = 0.1
    start = sum(state.energy())
    state.run(20000, 1e-4)
    assert sum(state.energy()) == pytest.approx(start, rel=1e-6)


if importlib.util.find_spec('rclpy'):
    @pytest.mark.parametrize('loop', ['native', 'rclpy'])
    def test_force_is_the_spring_law_and_every_tick_is_accounted_for(loop):
        with Stack(position=0.02, mechanism='lever', loop=loop) as stack:
            stack.wait_active()
            for q in (0.02, 0.021, 0.03):
                stack.position = q
                assert stack.force() == pytest.approx(law(q), abs=1e-9)
            answers = [m for _, m in stack.setpoints]
            assert list(answers[-1].name) == ['lever', 'lever/stiffness', 'lever/damping']
            assert (answers[-1].effort[1], answers[-1].effort[2]) == pytest.approx((4.0, 0.004))
            found = stack.statistics()
            assert found['native'] == (loop == 'native') and found['fault'] == 'none'
            assert found['ticks'] + found['skipped'] == pytest.approx(found['deadlines'], abs=3)      # read while it runs
            assert found['publish_errors'] == found['refused_nan'] == found['refused_layout'] == 0
            assert stack.end() == 0
            assert stack.setpoints[-1][1].effort[0] == 0.0

    def test_parameters_take_effect_and_wrong_ones_are_refused_with_a_sentence():
        with Stack(position=0.02, mechanism='lever') as stack:
            stack.wait_active()
            assert stack.set({'model.spring.rate': 6.0}) == [(True, '')]
            assert stack.force() == pytest.approx(law(0.02, 6.0), abs=1e-9)
            assert stack.set({'model.spring.rate': 3}) == [(True, '')]
            assert stack.force() == pytest.approx(law(0.02, 3.0), abs=1e-9)
            for values, words in (
                    ({'model.spring.rate': 99.0}, 'outside its range [0, 50] N m/rad'),
                    ({'model.spring.rate': math.nan}, 'must be finite'),
                    ({'model.spring.rate': math.inf}, 'must be finite'),
                    ({'model.spring.rate': 'stiff'}, 'must be a number in N m/rad, not text'),
                    ({'model.spring.rate': True}, 'must be a number'),
                    ({'model.sping.rate': 1.0}, "did you mean 'model.spring.rate'?"),
                    ({'rate_hz': 500.0}, 'read-only'),
                    ({'model.lever.length': 0.5}, 'disable it first')):
                (done, reason), = stack.set(values)
                assert not done and words in reason and '\n' not in reason, reason
            assert stack.force() == pytest.approx(law(0.02, 3.0), abs=1e-9)
            (done, reason), = stack.set({'model.spring.rate': 5.0, 'model.spring.preload': 9.0}, atomic=True)
            assert not done and 'spring.preload' in reason
            assert stack.force() == pytest.approx(law(0.02, 3.0), abs=1e-9)
            assert stack.set({'model.spring.rate': 5.0, 'model.spring.preload': 0.1}, atomic=True) == [(True, '')]
            assert stack.force() == pytest.approx(law(0.02, 5.0, 0.1), abs=1e-9)
            assert stack.enable(False)[0]
            assert stack.set({'model.lever.length': 0.5}) == [(True, '')]

    def test_random_batches_leave_the_loop_healthy_and_never_step_the_force():
        random = np.random.default_rng(5)
        with Stack(position=0.02, mechanism='lever', timing__parameter_ramp=0.05) as stack:
            stack.wait_active()
            for _ in range(100):
                rate, preload = random.uniform(-5, 60), random.uniform(-0.5, 2.5)
                good = 0 <= rate <= 50 and 0 <= preload <= 2
                (done, _), = stack.set({'model.spring.rate': rate, 'model.spring.preload': preload}, atomic=True)
                assert done == good
                if good:
                    last = rate, preload
            assert stack.force(0.3) == pytest.approx(law(0.02, *last), abs=1e-9)
            assert stack.statistics()['fault'] == 'none'

    def test_estop_reset_and_enable():
        with Stack(position=0.02, mechanism='lever') as stack:
            stack.wait_active()
            assert stack.trigger('estop')[0]
            assert stack.force() == 0.0
            assert stack.statistics()['fault'] == 'estop'
            done, reason = stack.enable()
            assert not done and 'reset first' in reason
            stack.wait_for(lambda: stack.statistics()['phase'] == 'inactive', 'inactive')
            assert stack.enable(False) == (True, 'already inactive')
            assert stack.trigger('reset')[0]
            assert stack.force() == 0.0, 'reset alone must not bring the force back'
            stack.wait_for(lambda: stack.statistics()['phase'] == 'inactive', 'inactive')
            assert stack.enable() == (True, 'active')
            assert stack.force(0.5) == pytest.approx(law(0.02), abs=1e-9)
            assert stack.enable(False)[0]
            assert stack.force() == 0.0

    def test_silent_device_ends_in_zero_force_latched():
        with Stack(position=0.02, mechanism='lever') as stack:
            stack.wait_active()
            stack.publish = False
            stack.wait_for(lambda: stack.statistics()['fault'] == 'sensor', 'fault')
            assert stack.force() == 0.0
            stack.publish = True
            assert stack.force() == 0.0, 'a device that comes back must not be pushed unasked'

    def test_terminated_node_sends_zero_last():
        with Stack(position=0.02, mechanism='lever') as stack:
            stack.wait_active()
            assert stack.end(signal.SIGTERM) == 0
            time.sleep(0.1)
            assert [m.effort[0] for _, m in stack.setpoints[-3:]][-1] == 0.0

    def test_four_bar_renders_its_crank_and_refuses_lengths_that_do_not_close():
        state = compile_model(build('four_bar', driven=True)).state()
        state.drive('crank', 1.1)
        state.assemble()
        state.forward()
        with Stack(joint='crank', position=1.1, mechanism='four_bar') as stack:
            stack.wait_active()
            assert stack.force() == pytest.approx(-float(state.eff[0]), abs=1e-7)
            (done, reason), = stack.set({'model.coupler.length': 1.0})
            assert not done and 'pin' in reason
            assert stack.force() == pytest.approx(-float(state.eff[0]), abs=1e-7)

    def test_admittance_moves_the_free_lever_by_the_measured_force():
        with Stack(position=0.0, mechanism='lever', mode='admittance', joints='[lever]', channels__lever__stiffness=5.0,
                   channels__lever__damping=0.05, model__damper__rate=0.1) as stack:
            stack.effort = 0.14               # at rest the model stands where its spring holds this torque: 0.02 rad
            stack.wait_active()
            assert stack.force(1.5) == pytest.approx(5.0 * 0.02, rel=0.02)

    @pytest.mark.parametrize('parameters, words', [
        ({'mechanism': 'leverr'}, "did you mean 'lever'?"),
        ({'mechanism': 'lever', 'mode': 'both'}, "'mode' is 'impedance' or 'admittance'"),
        ({'mechanism': 'lever', 'loop': 'fast'}, "'loop' is 'native' or 'rclpy'"),
        ({'mechanism': 'lever', 'model.spring.rate': 'stiff'}, "'model.spring.rate' must be a number"),
        ({'mechanism': 'lever', 'model.spring.rte': 1.0}, "did you mean 'model.spring.rate'?"),
        ({'mechanism': 'lever', 'rate_hz': 'fast'}, "'rate_hz' must be a number"),
        ({'mechanism': 'lever', 'rate_hz': 1e9}, 'rate_hz must be at most'),
        ({'mechanism': 'lever', 'limits.lever.force': -1.0}, 'limit force must be finite and above 0')])
    def test_wrong_settings_are_one_sentence_and_exit_code_2(parameters, words):
        with Stack(publish=False, patient=False, **parameters) as stack:
            stack.process.wait(30)
            assert stack.end() == 2
            assert words in stack.output and 'Traceback' not in stack.output


def test_inputs_of_the_model_are_live_parameters_and_change_the_force():
    state = compile_model(build('slider_crank', driven=True)).state()
    efforts = []
    for force in (0.0, 20.0):
        state.drive('crank', 0.8)
        state.inp[0] = force
        state.assemble()
        state.forward()
        efforts.append(float(state.eff[0]))
    with Stack('crank', 0.8, mechanism='slider_crank', **{'inputs.slider.force.low': -50.0, 'inputs.slider.force.high': 50.0,
                                                          'limits.crank.slew': 1e4}) as stack:
        stack.wait_active()
        before = stack.force()
        assert stack.set({'inputs.slider.force': 20.0}) == [(True, '')]
        assert stack.force() - before == pytest.approx(efforts[0] - efforts[1], rel=1e-6)
        assert stack.statistics()['input.slider.force'] == 20.0
        for value, words in ((51.0, 'outside its range'), (math.nan, 'finite'), ('much', 'must be a number')):
            ok, why = stack.set({'inputs.slider.force': value})[0]
            assert not ok and words in why
        ok, why = stack.set({'inputs.slider.forse': 1.0})[0]
        assert not ok and "did you mean 'inputs.slider.force'" in why
        assert stack.end() == 0
