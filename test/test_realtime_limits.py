"""The limit chain: each limit against a twin written from its definition, native against Python, and what must hold for all."""

import math

import numpy as np
import pytest
from realtime_world import codec

from mbs_haptics.realtime import Channel, Limits, Settings, messages, program
from mbs_haptics.realtime.block import Block, Outlet
from mbs_haptics.realtime.limits import CHAIN

H = 1e-3
LIMITS = Limits(force=4.0, slew=800.0, continuous=1.5, thermal_time=0.1, thermal_start=0.7, speed_soft=2.0, speed_hard=5.0, energy=0.01,
                energy_kept=0.05, damping=3.0)


class Chain:
    """The chain alone, compiled or as Python, on a block of its own."""

    def __init__(self, native):
        layout = messages.joint_state(codec(), ['a', 'b'])
        self.block = Block(Settings((Channel('a', limits=Limits()), Channel('b', limits=LIMITS))), layout)
        outlets = [Outlet(messages.setpoint(codec(), ['a', 'b']), self.block.setpoint_sources())]
        rules = program.build(self.block.layout, self.block.constants(outlets), CHAIN, 'chain')
        if native:
            library = program.compile_native(rules)
            self.call = lambda name, *args: library.call(name, self.block.x, *args)
        else:
            functions = program.as_python(rules, {})
            self.call = lambda name, *args: functions[name](self.block.x, *args)

    def __getitem__(self, name):
        return self.block.view(name)[1]

    def __setitem__(self, name, value):
        self.block.view(name)[1] = value


@pytest.fixture(params=[True, False], ids=['native', 'python'])
def chain(request):
    """Return the chain, in both ways."""
    return Chain(request.param)


def values(seed, n=200, scale=5.0):
    """Return random numbers with the awkward ones among them."""
    rng = np.random.default_rng(seed)
    return [0.0, -0.0, 1e-9, *rng.normal(scale=scale, size=n), 1e6, -1e6]


def test_finite_lets_only_numbers_pass(chain):
    assert [chain.call('finite', 1, f) for f in (1.5, -2.0, 0.0)] == [1.5, -2.0, 0.0]
    assert [chain.call('finite', 1, f) for f in (math.nan, math.inf, -math.inf)] == [0.0] * 3
    assert chain.block['cut_finite'] == 3


def test_velocity_takes_away_what_accelerates_and_leaves_what_brakes(chain):
    for f, v in zip(values(1), values(2)):
        share = np.clip((5.0 - abs(v)) / (5.0 - 2.0), 0.0, 1.0) if f * v > 0 else 1.0
        assert chain.call('velocity', 1, f, v) == pytest.approx(f * share, rel=1e-12, abs=1e-300)


def test_thermal_follows_the_square_of_the_force_and_derates_linearly(chain):
    heat, rng = 0.0, np.random.default_rng(4)
    for _ in range(500):
        force = rng.uniform(-4, 4)
        heat += H / 0.1 * (force ** 2 - heat)
        chain['force'] = force
        chain.call('heat', 1)
        assert chain['heat'] == pytest.approx(heat, rel=1e-12)
        share = np.clip((heat - 0.7 * 2.25) / (0.3 * 2.25), 0.0, 1.0)
        most = 4.0 + share * (1.5 - 4.0) if share > 0 else math.inf
        f = rng.uniform(-6, 6)
        assert chain.call('thermal', 1, f) == pytest.approx(np.clip(f, -most, most), rel=1e-12)


def test_slew_and_clamp_bound_change_and_size(chain):
    for f, last in zip(values(5), values(6, scale=1.0)):
        chain['force'] = last
        assert chain.call('slew', 1, f) == pytest.approx(np.clip(f, last - 0.8, last + 0.8), abs=1e-9)
        gain = abs(math.tanh(last))
        assert chain.call('clamp', 1, f, gain) == np.clip(f, -4.0 * gain, 4.0 * gain)


def test_observer_counts_the_energy_of_the_held_force_exactly(chain):
    rng, energy, q = np.random.default_rng(8), 0.0, 0.0
    for _ in range(300):
        force, new = rng.normal(), q + rng.normal(scale=1e-2)
        energy = min(energy - force * (new - q), 0.05)
        chain['force'] = force
        chain.call('observe', 1, new)
        q = new
        assert chain['energy'] == pytest.approx(energy, rel=1e-9, abs=1e-15)


def test_passivity_damps_by_what_is_missing_and_never_pushes(chain):
    for energy, v in zip(values(9, scale=0.05), values(10)):
        chain['energy'] = energy
        lack = -(energy + 0.01)
        b = min(lack / (v * v * H), 3.0) if lack > 0 and v * v * H > 1e-15 else 0.0
        passed = chain.call('passivity', 1, 0.25, v)
        assert passed == pytest.approx(0.25 - b * v, rel=1e-12) and (passed - 0.25) * v <= 0


def test_an_active_force_gives_no_more_energy_than_allowed(chain):
    """A force along the velocity, as a spring with delay would give: with the chain, the hand gains a bounded energy."""
    q, v, given, force = 0.0, 0.5, 0.0, 0.0
    chain['damping_most'] = 50.0
    for k in range(3000):
        new = q + H * v
        given += force * (new - q)
        q, v = new, 0.5 * math.cos(5.0 * H * k)
        force = chain.call('limit', 1, 1.0 * v, q, v, 1.0)
    assert given < 0.01 + 0.01 and chain.block['cut_passivity'] > 100


def test_whole_chain_native_equals_python_and_keeps_its_promises():
    both = [Chain(True), Chain(False)]
    rng, q, last = np.random.default_rng(11), 0.0, 0.0
    for k in range(2000):
        f = rng.normal(scale=6.0) if k % 50 else math.nan
        v = rng.normal(scale=3.0)
        q, gain = q + v * H, min(1.0, k / 200)
        a, b = (c.call('limit', 1, f, q, v, gain) for c in both)
        assert a == b and abs(a) <= 4.0 * gain
        if gain == 1.0:
            assert abs(a - last) <= 0.8 + 1e-12
        last = a
    assert np.array_equal(both[0].block.x, both[1].block.x)
    assert all(both[0].block[f'cut_{name}'] > 0 for name in ('finite', 'passivity', 'velocity', 'thermal', 'slew', 'clamp'))
    assert both[0].block.view('force')[0] == 0.0                       # the other channel is untouched


def test_order_is_the_documented_one():
    import inspect

    from mbs_haptics.realtime import limits
    source = inspect.getsource(limits.limit)
    order = [source.index(f' {name}(x') for name in ('finite', 'passivity', 'velocity', 'thermal', 'slew', 'clamp')]
    assert order == sorted(order)
