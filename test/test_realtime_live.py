"""The loop on its own thread and the real clock, without ROS: requests from Python, accounting, the way it ends."""

import ctypes
import time

import pytest
from realtime_world import World
from test_realtime_loop import BOTH, layout, lever, settings

from mbs_core.errors import MbsError
from mbs_haptics.realtime.fallback import PythonLoop
from mbs_haptics.realtime.loop import address


class Live(World):
    """A world whose clock is the real one, and where every tick finds one new sample."""

    def __init__(self, native, **more):
        patient = dict(wake='timer', stale_after=5.0, fault_after=20.0, most_missed=10 ** 6, **more)
        super().__init__(settings(**patient), native, lever(), ticks=10 ** 9)
        self.count, self.turn = 0, 0
        if native:
            for name in ('clock_gettime', 'clock_nanosleep'):
                self.loop.set_word(name, address(getattr(ctypes.CDLL(None), name)))
        else:
            self.loop.clock, self.loop.wall = time.monotonic_ns, time.time_ns
            self.loop.sleep = PythonLoop(self.loop.settings, self.sample, self.setpoint).sleep

    def __len__(self):
        self.turn += 1
        return self.turn % 2

    def popleft(self):
        """Return a new sample at every second call, so that a drain ends."""
        if isinstance(self.loop, PythonLoop) or len(self):
            self.count += 1
            return layout().message(time.time_ns(), self.count, {'position[0]': 0.5}), time.monotonic_ns()
        return None


def until(done, seconds=20.0):
    """Wait for something that has to happen."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.002)


@BOTH
def test_requests_from_python_are_obeyed_and_every_tick_is_accounted_for(native):
    w = Live(native)
    loop = w.loop
    loop.start()
    try:
        with pytest.raises(MbsError, match='already running'):
            loop.start()
        until(lambda: loop.block['received'] > 5)
        loop.enable()
        until(lambda: loop.block['gain'] == 1.0)
        loop.set_parameters({'spring.rate': 6.0})
        until(lambda: loop.block['taken'] == 1.0 and loop.block['way'] == 1.0)
        until(lambda: loop.snapshot()[loop.block.place('force')] == pytest.approx(-3.0))
        loop.disable()
        until(lambda: loop.state == 'inactive')
        loop.enable()
        loop.estop()
        until(lambda: loop.state == 'fault')
        with pytest.raises(MbsError, match="'estop' is latched; reset first"):
            loop.enable()
        loop.reset()
        assert loop.state == 'inactive' and loop.fault == 'none'
        until(lambda: loop.block['received'] > 50 and loop.block['have'])
        loop.enable()
        until(lambda: loop.block['gain'] == 1.0)
    finally:
        loop.stop()
    counts = loop.counters()
    due = (loop.block['last_due'] - loop.block['first_due']) / loop.settings.period_ns
    assert due == int(due) and 0 <= counts['ticks'] + counts['skipped'] - (due + 1) <= counts['skipped']
    assert len(w.sent) == counts['ticks'] + 3 and loop.histogram('lateness')['count'] == counts['ticks']
    assert all(s.force == [0.0] and s.k == [0.0] for s in w.setpoints()[-3:]) and not loop.running
    assert loop.parameter('spring.rate') == 6.0 and loop.block.state.get('spring.rate') == 6.0


@BOTH
def test_a_loop_can_be_started_again(native):
    w = Live(native)
    for _ in range(2):
        w.loop.start()
        until(lambda: w.loop.block['ticks'] > 20)
        w.loop.stop()
    sequences = [s.sequence for s in w.setpoints()]
    assert sequences == list(range(len(sequences))) and w.loop.counters()['faults_seen'] == 0
    with pytest.raises(MbsError, match='not running'):
        w.loop.disable()
