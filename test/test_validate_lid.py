"""The lid's validation: claims judged from a recording made in virtual time, what is lacking is said, and the pictures."""

import json

import numpy as np
import pytest

from mbs_core.mechanisms import lid_hinge as hinge
from mbs_haptics.firmware.lid import LidSim, lid_model
from mbs_haptics.validate import lid_firmware, lid_hinge, lid_pictures
from mbs_haptics.validate.recording import Recorded, Scene, Series

OUTPUTS = ('theta_o', 'theta_wanted', 'F1', 'F1m', 'F1c', 'hand', 'hit')
TRUTH = ('position', 'position1', 'force', 'force1', 'push')


class Made(Recorded):
    """A recording of the firmware's world in virtual time, with the scenes of stage()."""

    def __init__(self, scenes):
        """Run the lid through the scenes: (name, command, assist, push, seconds)."""
        lid, rows = LidSim(lid_model(), lid_hinge.OFF), {'model_outputs': [], 'joint_states': [], 'truth': []}
        self.scenes, self.diagnostics = [], []

        def note(one):
            out, t = one.out, one.sim.time_s
            rows['model_outputs'].append((t, *(out[name] for name in OUTPUTS)))
            rows['joint_states'].append((t, *(one.sim.view(rod)['q'] for rod in (0, 1)), *(one.sim.get(n) for n in ('force', 'force1'))))
            rows['truth'].append((t, *(one.sim.get(name) for name in TRUTH)))
        for name, command, assist, push, seconds in scenes:
            begin = lid.sim.time_s
            lid.command(command, assist)
            lid.sim.set(push=push)
            lid.run(seconds, note)
            self.scenes.append(Scene(name, begin, lid.sim.time_s, {}))
        self.topics = {}
        for topic, names in (('model_outputs', OUTPUTS), ('joint_states', ('left', 'right')), ('truth', TRUTH)):
            table = np.array(rows[topic])
            values = table[:, 1:1 + len(names)]
            effort = table[:, 3:5] if topic == 'joint_states' else 0 * values
            self.topics[topic] = Series(table[:, 0], names, values, 0 * values, effort)


@pytest.fixture(scope='module')
def recorded():
    """Return the whole programme of stage(), in virtual time."""
    return Made([('opening', 1, 0, 0, 4.2), ('closing', -1, 0, 0, 4.8), ('before the hand', 1, 0, 0, 2.7), ('hand', 1, 0, -5.0, 0.15),
                 ('forgiven', 0, 0, 0, 1.0), ('assisting', 0, 1, 0, 0.5), ('led', 0, 1, 1.5, 0.5), ('last closing', -1, 0, 0, 4.5)])


@pytest.fixture(scope='module')
def claims(recorded):
    """Return the judged claims by their id."""
    return {claim.id: claim for claim in lid_hinge.judge(recorded)}


def test_every_claim_is_judged_and_passes(claims):
    assert list(claims) == [f'H{k}' for k in range(1, 8)]
    for claim in claims.values():
        judged = [row for row in claim.rows if row.ok is not None]
        assert judged and all(row.ok for row in judged), [row for row in claim.rows if not row.ok]
        assert claim.published and claim.saw
        assert all(json.dumps(row.value) for row in judged)
    assert {k for k, claim in claims.items() if claim.picture} == {'H2', 'H3', 'H4', 'H7'}


def test_what_was_not_recorded_is_said_and_not_judged(recorded):
    part = object.__new__(Made)
    part.scenes, part.topics, part.diagnostics = [s for s in recorded.scenes if s.name in ('opening', 'closing')], recorded.topics, []
    h7 = lid_hinge._h7(part)
    assert [row.note for row in h7.rows if row.ok is None] == ["the scenes 'hand' and 'led' are not recorded"]
    part.scenes = []
    assert lid_hinge._h3(part, hinge.stroke()).verdict == lid_hinge._h4(part).verdict == lid_hinge._h7(part).verdict == 'not in this recording'


def test_a_late_alarm_and_a_false_one_fail_h7(recorded):
    late = object.__new__(Made)
    late.scenes, late.topics, late.diagnostics = recorded.scenes, dict(recorded.topics), []
    out = recorded.topics['model_outputs']
    position = out.position.copy()
    hit, opening = out.names.index('hit'), recorded.scene('opening')
    position[:, hit] = np.roll(position[:, hit], 30)                                # 30 ms later
    position[np.searchsorted(out.t, opening.begin + 1.0), hit] = 1.0
    late.topics['model_outputs'] = Series(out.t, out.names, position, out.velocity, out.effort)
    bad = {row.id for row in lid_hinge._h7(late).rows if row.ok is False}
    assert bad == {'H7.hand_delay', 'H7.alarms_without_hand'}


def test_h5_rates_are_read_from_the_steps_of_a_signal():
    steps = np.repeat(np.arange(80.0), 25)
    assert lid_firmware.rate_of_steps(steps) == 400.0 and lid_firmware.rate_of_steps(0 * steps) == 0.0
    assert lid_firmware.rate_of_steps(np.repeat(np.arange(200.0), 5)) == 2000.0


def test_fig_8_draws_the_lid_where_the_engine_has_it():
    from matplotlib import pyplot as plt

    from mbs_core.mechanisms import build
    from mbs_core.runtime import compile_model
    poses, state = hinge.stroke(), compile_model(build('lid_hinge')).state()
    for k in (0, 500, 900, 1199):
        figure, axis = plt.subplots()
        lid_pictures.draw_pose(axis, build('lid_hinge'), poses, k)
        lid = next(line for line in axis.lines if line.get_linewidth() == 4 and line.get_solid_capstyle() == 'round')
        state.q[:10], state.q[10], state.v[:] = poses.q[k], poses.s[k], 0.0
        out = state.outputs()
        assert [1e-3 * lid.get_xdata().mean(), 1e-3 * lid.get_ydata().mean()] == pytest.approx([out['lid.x'], out['lid.y']], abs=1e-9)
        plt.close(figure)
    figure = lid_pictures.snapshots(poses.r1, np.linspace(0, 3.5, len(poses.r1)), poses)
    titles = [axis.get_title() for axis in figure.axes]
    assert len(titles) == 6 and [title.split(', ')[1] for title in titles] == ['0 deg', '0 deg', '30 deg', '45 deg', '60 deg', '100 deg']
    plt.close(figure)
