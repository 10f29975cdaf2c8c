"""The grand-piano action as a model: at rest, in a slow stroke, in blows."""

import pytest

from mbs_core.mechanisms import build
from mbs_core.mechanisms.piano.strokes import FRONT, blow, impacts, play, ramp
from mbs_core.runtime import compile_model


@pytest.fixture(scope='module')
def driven():
    return compile_model(build('piano_action'))


@pytest.fixture(scope='module')
def free():
    return compile_model(build('piano_action', key='free'))


def test_slow_stroke_lifts_the_hammer_and_lets_it_off(driven):
    motion, seconds = ramp(9.5e-3, 0.010, back=False)
    run = play(driven.state(), seconds, motion)
    assert run['hammer.gap'][0] == pytest.approx(0.048, abs=1e-3)
    assert 0.0 < run['hammer.gap'].min() < 5e-3                     # let off before the string
    assert run['jack.angle'][-1] > 0.05                             # the jack is out
    assert 0.3 < run['key.effort'][300] / FRONT < 1.0


def test_a_firm_blow_strikes_once_and_stays_checked(free):
    run = play(free.state(), 0.4, force=blow(8.0), h=2.5e-4)
    struck = impacts(run)
    assert len(struck) == 1 and 2.0 < struck[0][1] < 4.0            # m/s
    assert 0.010 < run['hammer.gap'][-1] < 0.025                    # m, held by the back check
