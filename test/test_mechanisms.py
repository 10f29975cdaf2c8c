"""The mechanisms of the library against closed forms and published or independently integrated motions.

Reference motions of the 2-dof links (claim R1) were integrated independently from the equations of 003, with multipliers
for the closed one (DOP853, 1e-11); constraint stabilisation 0, 10 and 100 agree in the digits given.
"""

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from mbs_core import mechanisms
from mbs_core.errors import MbsError
from mbs_core.runtime import compile_model, simulate
from mbs_core.symbolic import evaluate


def started(name, **options):
    """Return an assembled state of a mechanism of the library."""
    state = compile_model(mechanisms.build(name, **options)).state()
    state.assemble()
    return state


def angles_at(state, times, h=1e-3):
    """Return the coordinates of a state at the given times (s), simulating from now on."""
    found, t = [], state.t
    for stop in times:
        state.run(round((stop - t) / h), h)
        t = stop
        found.append(state.q.copy())
    return np.array(found)


# -- the library ---------------------------------------------------------------------------------
@pytest.mark.parametrize('name', mechanisms.catalogue())
def test_every_mechanism_assembles_and_its_parameters_are_documented(name):
    m = mechanisms.build(name)
    assert m.doc
    if name != 'tree':
        assert [p.name for p in m.parameters.values() if not p.doc] == []
    state = compile_model(m).state()
    state.assemble()
    state.forward()
    assert np.all(np.isfinite(state.vd))
    assert max(state.residuals()) < 1e-9


def test_wrong_names_and_options_are_refused_with_a_suggestion():
    with pytest.raises(MbsError, match="no mechanism 'four_bars'; did you mean 'four_bar'"):
        mechanisms.build('four_bars')
    with pytest.raises(MbsError, match="no option 'close'; did you mean 'closed'"):
        mechanisms.build('two_link', close=True)
    with pytest.raises(MbsError, match='control=.p. is unknown; choose one of none, input'):
        mechanisms.build('two_link', control='p')
    with pytest.raises(MbsError, match='seed=x must be a whole number'):
        mechanisms.option_value('tree', 'seed', 'x')
    with pytest.raises(MbsError, match='start holds 3 angles; give 2'):
        mechanisms.build('two_link', start=(1, 2, 3))
    with pytest.raises(MbsError, match='3 set-points are not defined'):
        mechanisms.build('two_link', setpoints=3)


def test_options_given_as_text_take_the_type_of_their_default():
    assert mechanisms.option_value('two_link', 'closed', 'Yes') is True
    assert mechanisms.option_value('two_link', 'setpoints', '2') == 2
    assert mechanisms.option_value('two_link', 'start', '0.1,0.2') == (0.1, 0.2)


FILES = {
    'def syntax(:': 'line 1: invalid syntax',
    'def mine():\n    return nothing': "line 2: NameError: name 'nothing' is not defined",
    'import nothing_like_it': 'line 1: ModuleNotFoundError',
    'def mine():\n    pass': 'must return a Mechanism, not None: add `return m`',
    'def yours():\n    pass': "has no function 'mine'",
}


@pytest.mark.parametrize('text', FILES)
def test_what_is_wrong_in_a_users_own_file_is_told_with_its_line(tmp_path, text):
    (tmp_path / 'mine.py').write_text(text)
    with pytest.raises(MbsError) as refusal:
        mechanisms.build(str(tmp_path / 'mine.py'))
    assert FILES[text] in str(refusal.value) and '\n' not in str(refusal.value)


def test_a_users_own_file_has_options_and_variants(tmp_path):
    (tmp_path / 'mine.py').write_text('from mbs_core.mechanisms.pendulum import pendulum\nvariants = {"links": (1, 2)}\n'
                                      'def mine(links=1):\n    return pendulum(links)\n')
    path = str(tmp_path / 'mine.py')
    assert len(mechanisms.build(path, links=2).coordinates) == 2
    with pytest.raises(MbsError, match='links=3 is unknown; choose one of 1, 2'):
        mechanisms.build(path, links=3)
    with pytest.raises(MbsError, match='there is no mechanism file'):
        mechanisms.build(str(tmp_path / 'absent.py'))


# -- R1: the links of 003 ------------------------------------------------------------------------
def test_cylinder_link_has_the_slides_mass_and_inertia():
    m = mechanisms.build('two_link')
    values = {m.graph.symbols[p.name]: p.default for p in m.parameters.values()}
    mass, centre = evaluate([m['link1'].mass, m['link1'].inertia[2]], values)
    assert (round(mass, 4), round(centre, 4), round(centre + mass, 4)) == (0.0157, 0.0052, 0.0210)      # the slides
    assert (mass, centre) == pytest.approx((0.0157079633, 0.0052458052), abs=1e-10)


def test_inertia_matrix_and_torque_vector_of_the_slides_pose():
    state = started('two_link', control='none', start=(math.pi / 3, math.pi / 6))
    assert state.mass() == pytest.approx(np.array([[0.159153371, 0.048160759], [0.048160759, 0.0209537685]]), abs=1e-9)
    assert -state.bias() == pytest.approx([-0.23090706, 0.0], abs=1e-8)
    state.v[:] = 1, -2
    assert -state.bias() == pytest.approx([-0.23090706, -0.0157079633], abs=1e-8)
    state.forward()
    assert state.vd == pytest.approx([-4.01994171, 8.48990388], abs=1e-8)


def test_open_link_under_external_torques():
    found = angles_at(started('two_link', control='torques'), (1.0, 2.0))
    assert found == pytest.approx(np.array([[-0.93223260, -1.86864487], [-2.33986440, 2.45984319]]), abs=1e-6)


def test_open_link_under_pd_control():
    found = angles_at(started('two_link', control='pd'), (0.5, 1.0, 10.0))
    assert found == pytest.approx(np.array([[0.86610545, 0.45568017], [1.22816167, 0.60133641],
                                            [0.95293272, 0.51850916]]), abs=1e-7)


def test_open_link_under_pd_control_rests_where_gravity_and_springs_balance():
    state = started('two_link', control='pd')
    angles_at(state, (20.0,))
    assert state.q == pytest.approx([0.9529321303, 0.5185089766], abs=1e-9)


def test_open_link_under_pid_control():
    found = angles_at(started('two_link', control='pid'), (1.0, 5.0, 10.0))
    assert found == pytest.approx(np.array([[1.06908707, 0.55132021], [1.04400331, 0.54080033],
                                            [1.04591974, 0.52909006]]), abs=1e-7)


def test_open_link_under_pi_control_keeps_the_integral_of_the_error():
    state = started('two_link', control='pi')
    state.set({'K_P1': 0.0, 'K_P2': 0.0, 'K_I1': 0.0, 'K_I2': 0.0})
    motion = simulate(state.model, 1.0, h=1e-3, state=state)
    error = motion.q[:, 0] - math.pi / 3
    integral = np.sum((error[1:] + error[:-1]) / 2) * 1e-3
    assert state.model.states == ['xi1', 'xi2']
    assert motion.z[-1, 0] == pytest.approx(integral, abs=1e-6)


def test_pi_control_is_pid_control_without_damping():
    gains = {'K_P1': 3.0, 'K_P2': 3.0, 'K_I1': 0.5, 'K_I2': 0.5}
    pid = started('two_link', control='pid')
    pid.set({**gains, 'K_D1': 0.0, 'K_D2': 0.0})
    pi = started('two_link', control='pi')
    pi.set(gains)
    assert angles_at(pi, (1.0,)) == pytest.approx(angles_at(pid, (1.0,)), abs=1e-10)


def test_open_link_follows_two_set_points():
    state = started('two_link', control='pd', setpoints=2)
    state.set('setpoint2.start', 100.0)
    angles_at(state, (5.0,))
    state.set('setpoint2.start', 5.0)                 # as the slides: stop at 5 s, go on with new desired values
    found = angles_at(state, (5.5, 6.0, 10.0))
    assert found == pytest.approx(np.array([[0.64822000, -0.51091234], [0.44538176, -0.61813641],
                                            [0.60812563, -0.57476578]]), abs=1e-7)


def test_set_points_switch_by_time():
    state = started('two_link', control='pd', setpoints=2)
    found = angles_at(state, (10.0,))                 # the switch falls inside a step: a little less exact
    assert found[0] == pytest.approx([0.60812563, -0.57476578], abs=1e-5)


CLOSED = {0.5: (1.09162442, -0.60436639, 0.52551615, 1.59260024), 1.0: (1.01922712, -0.69700484, 0.29742030, 1.77806735),
          10.0: (1.02573653, -0.67640648, 0.33040965, 1.74999809)}


def test_closed_link_under_pd_control():
    state = started('two_link', closed=True, control='pd')
    found = angles_at(state, CLOSED)
    assert found == pytest.approx(np.array(list(CLOSED.values())), abs=1e-7)
    assert max(state.residuals()) < 1e-10


def test_closed_link_constraint_force_at_the_start():
    state = started('two_link', closed=True, control='pd')
    state.forward()
    out = state.outputs()
    assert (out['lambda.x'], out['lambda.y']) == pytest.approx((-0.075530503, -0.765106946), abs=1e-9)


def test_closed_link_under_pid_control_reaches_the_set_point():
    state = started('two_link', closed=True, control='pid')
    angles_at(state, (60.0,))
    assert state.q[[0, 2]] == pytest.approx([math.pi / 3, math.pi / 6], abs=1e-4)


def test_free_five_bar_keeps_its_energy_and_its_loop():
    model = compile_model(mechanisms.build('five_bar'))
    motion = simulate(model, 2.0, h=2e-4)
    energy = motion.energy.sum(axis=1)
    assert np.ptp(energy) < 1e-7 * np.ptp(motion.energy[:, 0])
    assert motion.residual.max() < 1e-9


# -- pendulums -----------------------------------------------------------------------------------
def test_simple_pendulum_swings_as_the_elliptic_functions_say():
    k = math.sin(math.pi / 4)                          # amplitude pi/2
    period = 4 * math.sqrt(1 / 9.81) * ellipk(k * k)
    assert period == pytest.approx(2.367841947576, abs=1e-12)
    state = started('pendulum')
    state.run(10000, 1e-3)
    out = state.outputs()
    sn = ellipj(ellipk(k * k) - math.sqrt(9.81) * 10.0, k * k)[0]
    assert out['theta1'] == pytest.approx(-2 * math.asin(k * sn), abs=1e-8)
    assert (out['x1'], out['y1']) == pytest.approx((-0.275087463, -0.961419205), abs=1e-8)
    state = started('pendulum')
    state.run(10000, period / 10000)
    assert state.q[0] == pytest.approx(-math.pi / 2, abs=1e-9)


def test_double_pendulum():
    state = started('pendulum', links=2)
    for theta in ((-0.625087700, -1.034585086), (-0.482971534, -1.324048712)):
        state.run(10000, 1e-4)
        out = state.outputs()
        assert (out['theta1'], out['theta2']) == pytest.approx(theta, abs=1e-8)


# -- linkages ------------------------------------------------------------------------------------
@pytest.mark.parametrize('crank', np.linspace(0.1, 6.2, 13))
def test_four_bar_by_freudenstein(crank):
    a, b, c, d = 0.10, 0.30, 0.25, 0.35
    state = started('four_bar', driven=True)
    for angle in np.linspace(1.0, crank, 20):          # walk there, so that the branch stays
        state.drive('crank', angle, 2.0, 0.0)
        state.assemble()
    # Freudenstein: k1 cos(rocker) - k2 cos(crank) + k3 = cos(crank - rocker), open branch
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    cosine, sine = math.cos(crank), math.sin(crank)
    big_a, big_b, big_c = cosine - k1 - k2 * cosine + k3, -2 * sine, k1 - (k2 + 1) * cosine + k3
    rocker = 2 * math.atan2(-big_b - math.sqrt(big_b ** 2 - 4 * big_a * big_c), 2 * big_a)
    coupler = math.atan2(c * math.sin(rocker) - a * sine, d + c * math.cos(rocker) - a * cosine)
    q = dict(zip(state.model.coordinates, state.q))
    assert math.remainder(q['rocker'] - rocker, 2 * math.pi) == pytest.approx(0, abs=1e-10)
    assert math.remainder(q['crank'] + q['coupler'] - coupler, 2 * math.pi) == pytest.approx(0, abs=1e-10)
    v = dict(zip(state.model.coordinates, state.v))
    assert v['rocker'] == pytest.approx(2.0 * a / c * math.sin(crank - coupler) / math.sin(rocker - coupler), abs=1e-9)
    assert v['crank'] + v['coupler'] == pytest.approx(2.0 * a / b * math.sin(rocker - crank) / math.sin(coupler - rocker),
                                                      abs=1e-9)


@pytest.mark.parametrize('offset', (0.0, 0.02))
@pytest.mark.parametrize('crank', np.linspace(0.0, 6.0, 9))
def test_slider_crank_by_the_law_of_cosines(crank, offset):
    r, l, rate = 0.05, 0.15, 3.0
    state = started('slider_crank', driven=True)
    state.set('offset', offset)
    for angle in np.linspace(0.8, crank, 20):
        state.drive('crank', angle, rate, 0.0)
        state.assemble()
    reach = math.sqrt(l * l - (r * math.sin(crank) - offset) ** 2)
    x = r * math.cos(crank) + reach
    v = -rate * r * (math.sin(crank) + (r * math.sin(crank) - offset) * math.cos(crank) / reach)
    out = state.outputs()
    assert (out['slider.x'], out['slider.v']) == pytest.approx((x, v), abs=1e-11)


def test_driven_four_bar_effort_is_the_power_of_gravity_and_spring():
    state = started('four_bar', driven=True)
    angle, speed = 1.3, 1e-3
    energies = []
    for a in (angle - 1e-4, angle + 1e-4):
        state.drive('crank', a, speed, 0.0)
        state.assemble()
        energies.append(state.energy()[1])
    state.drive('crank', angle, 0.0, 0.0)
    state.assemble()
    state.forward()
    assert state.eff[0] == pytest.approx((energies[1] - energies[0]) / 2e-4, rel=1e-6)


# -- trees ---------------------------------------------------------------------------------------
def test_random_trees_are_reproducible_and_physical():
    from mbs_core.mechanisms.tree import chain, random_tree
    a, b = random_tree(12, seed=3), random_tree(12, seed=3)
    assert [x.joint for x in a.bodies.values()] == [x.joint for x in b.bodies.values()]
    assert {x.joint.axis for x in list(chain(6).bodies.values())[1:]} == {(1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)}
    state = compile_model(a).state()
    assert np.linalg.eigvalsh(state.mass())[0] > 0
    free = compile_model(random_tree(5, seed=1, parameters=True))
    assert len(free.parameters) == 5 * 13


def test_a_tree_in_parameters_moves_as_the_same_tree_in_numbers():
    from mbs_core.mechanisms.tree import random_tree
    found = []
    for parameters in (False, True):
        state = compile_model(random_tree(6, seed=4, axes='any', parameters=parameters)).state()
        state.v[:] = np.linspace(-1, 1, 6)
        state.forward()
        found.append(state.vd.copy())
    assert found[0] == pytest.approx(found[1], rel=1e-10)


def test_the_four_bar_knows_how_its_effort_changes_with_the_crank():
    """The closed form of the statics beside differences of the effort, at rest with the loop closed."""
    from mbs_haptics.model.load import stiffness_of
    model = compile_model(mechanisms.build('four_bar', driven=True))
    for given in ({}, {'spring.rate': 30.0, 'spring.rest': 1.0}, {'crank.length': 0.08, 'rod.mass_per_length': 0.1}):
        state = model.state()
        state.set(given)
        for q in (1.0, 1.3, 1.6, 1.9, 2.2):
            wanted = stiffness_of(state, 'crank', q)
            state.drive('crank', q)
            state.assemble()
            state.forward()
            assert state.outputs()['crank.stiffness'] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
