"""From parameters to settings: what wakes the loop, and the passivity that the configurations declare."""

import pytest

from mbs_core.errors import MbsError
from mbs_core.runtime import compile_model
from mbs_haptics.bench.fault_chain import _flat, _getter
from mbs_haptics.bridge import config as configuration
from mbs_haptics.model import load


def getter(**given):
    """Return a getter of some parameters."""
    return _getter(given)


def test_the_sample_wakes_the_loop_unless_rate_or_python_is_in_the_way():
    assert load.wake_of(getter()) == 'sample'
    assert load.wake_of(getter(rate_hz=500.0)) == 'timer' and load.wake_of(getter(loop='rclpy')) == 'timer'
    assert load.wake_of(getter(wake='timer')) == 'timer' and load.wake_of(getter(wake='sample', rate_hz=500.0)) == 'sample'
    with pytest.raises(MbsError, match="'wake' is 'auto', 'sample' or 'timer', not 'never'"):
        load.wake_of(getter(wake='never'))


@pytest.mark.parametrize('device, poses, stiff, where', [
    ('lever', (0.0, 0.02, 0.045), {'spring.rate': 50.0, 'stop.rate': 200.0}, 0.045),
    ('four_bar', (0.6, 1.0, 1.4), {'spring.rate': 100.0, 'spring.rest': 1.8}, 1.4)])
def test_devices_declare_their_damping_and_a_model_that_is_too_stiff_for_it_is_refused(device, poses, stiff, where):
    get = _getter(_flat(configuration.read_yaml(configuration.load(device).path)))
    mechanism = load.mechanism_of(get)
    settings = load.settings_of(get, mechanism)
    damping, latency = load.passivity_of(get)
    state = compile_model(mechanism).state()
    channel = settings.channels[0]
    assert damping > 0 and latency > 0 and channel.stiffness_output and channel.stiffness_max <= damping / (load.LOCAL_PERIOD / 2)
    for q in poses:
        load.check_passivity(settings, state, [q], damping, latency)
    state.set(stiff)
    with pytest.raises(MbsError, match='is passive: lower it'):
        load.check_passivity(settings, state, [where], damping, latency)


@pytest.mark.parametrize('name, value', [('damping', -1.0), ('damping', float('nan')), ('latency', 2.0), ('latency', float('inf'))])
def test_a_passivity_that_can_not_be_is_one_sentence(name, value):
    with pytest.raises(MbsError, match=f"'passivity.{name}' must be from 0 to"):
        load.passivity_of(getter(**{f'passivity.{name}': value}))
