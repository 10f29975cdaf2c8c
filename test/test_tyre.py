"""The tyres against published numbers (PARAMETERS.md 2.1, 2.3), and against plain physics: symmetry, friction, alignment."""

import math

import numpy as np
import pytest

from mbs_core.description import Mechanism, damper, prismatic, revolute
from mbs_core.runtime import compile_model
from mbs_core.symbolic import Graph, evaluate
from mbs_core.vehicles import bakker
from mbs_core.vehicles.bakker import Bakker
from mbs_core.vehicles.contact import add_contact
from mbs_core.vehicles.pac2002 import Pac2002

TYRE = Pac2002()
# load, slip angle in degrees, Fy, trail in mm, Mz: an independent implementation, reference/pac2002_output.txt
TABLE = [(2000.0, 1, -694.34, 16.634, 11.550), (2000.0, 4, -1933.69, 9.555, 18.477), (2958.6, 2, -1760.13, 21.890, 38.529),
         (2958.6, 3, -2337.14, 18.437, 43.090), (2958.6, 10, -3234.88, 0.234, 0.756), (2958.6, 15, -3190.52, -3.073, -9.804),
         (3928.5, 6, -3890.88, 10.765, 41.887), (5000.0, 8, -4902.17, 7.493, 36.734)]


@pytest.mark.parametrize(('load', 'degrees', 'side', 'trail', 'moment'), TABLE)
def test_pac2002_pure_side_slip(load, degrees, side, trail, moment):
    """Side force and aligning moment, signs included, are those of the independent table."""
    _, fy, mz = TYRE.forces(0.0, math.tan(math.radians(degrees)), load)
    assert fy == pytest.approx(side, rel=2e-5)
    assert mz == pytest.approx(moment, rel=1e-3)
    assert -mz / fy * 1e3 == pytest.approx(trail, abs=2e-3)


@pytest.mark.parametrize(('load', 'stiffness', 'friction'), [(2000.0, -41151, 1.1374), (2958.6, -56773, 1.0934), (5000.0, -77989, 0.9997)])
def test_pac2002_stiffness_and_friction(load, stiffness, friction):
    """Cornering stiffness saturates with the load, friction falls with it."""
    assert TYRE.stiffness(load)[1] * load == pytest.approx(stiffness, abs=1.0)
    assert TYRE.friction(load)[1] == pytest.approx(friction, abs=1e-4)
    slope = 1e-6
    assert TYRE.forces(0.0, slope, load)[1] / slope == pytest.approx(stiffness, rel=1e-4)


def test_commonroad_is_proportional_to_the_load():
    """The simplified set has K = 21.92 Fz whatever the load: its linear car is neutral."""
    tyre = Pac2002(load_sensitive=False)
    for load in (1500.0, 4000.0):
        assert tyre.forces(0.0, 1e-6, load)[1] / 1e-6 == pytest.approx(-21.92 * load, rel=1e-5)


def test_pac2002_longitudinal_peak():
    """The braking peak is mu Fz, its slope at the origin the slip stiffness, and both directions are alike."""
    load = TYRE.load
    kappas = np.linspace(0.0, 0.5, 501)
    forces = [TYRE.forces(k, 0.0, load)[0] for k in kappas]
    assert max(forces) == pytest.approx(1.1739 * load, rel=1e-4)
    assert TYRE.forces(1e-6, 0.0, load)[0] / 1e-6 == pytest.approx(22.303 * load, rel=1e-4)
    assert TYRE.forces(-0.07, 0.0, load)[0] == pytest.approx(-TYRE.forces(0.07, 0.0, load)[0], rel=1e-12)


def test_pac2002_combined_slip_shares_the_friction():
    """Braking takes away side force, cornering takes away braking force, and the sum stays about within friction."""
    load = 3000.0
    pure_x, pure_y = TYRE.forces(-0.1, 0.0, load)[0], TYRE.forces(0.0, math.tan(0.1), load)[1]
    fx, fy, _ = TYRE.forces(-0.1, math.tan(0.1), load)
    assert abs(fx) < 0.9 * abs(pure_x)
    assert abs(fy) < 0.9 * abs(pure_y)
    assert math.copysign(1, fx) == -1
    assert math.copysign(1, fy) == -1
    for kappa in np.linspace(-1, 1, 21):
        for slope in np.linspace(-1, 1, 21):
            fx, fy, _ = TYRE.forces(kappa, slope, load)
            mu_x, mu_y = TYRE.friction(load)
            assert math.hypot(fx / mu_x, fy / mu_y) < 1.15 * load


@pytest.mark.parametrize('tyre', [TYRE, Bakker()], ids=['pac2002', 'bakker'])
def test_tyre_is_mirror_symmetric(tyre):
    """A tyre mirrored left to right gives the mirrored force: Fy and Mz odd together in slip angle and camber, Fx even."""
    one, other = tyre.forces(0.05, 0.07, 3500.0, 0.04), tyre.forces(0.05, -0.07, 3500.0, -0.04)
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    assert one[1] == pytest.approx(-other[1], rel=1e-12)
    assert one[2] == pytest.approx(-other[2], rel=1e-12)


@pytest.mark.parametrize('tyre', [TYRE, Bakker()], ids=['pac2002', 'bakker'])
def test_road_friction_scales_the_peak_only(tyre):
    """On a slippery road the peak falls with the friction; the slope at the origin stays."""
    load = 3000.0
    peak = [max(-tyre.forces(0.0, math.tan(a), load, 0.0, road)[1] for a in np.linspace(0, 0.6, 200)) for road in (1.0, 0.3)]
    assert peak[1] == pytest.approx(0.3 * peak[0], rel=0.02)
    slopes = [tyre.forces(0.0, 1e-6, load, 0.0, road)[1] for road in (1.0, 0.3)]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-3)


def test_camber_pushes_to_the_side_it_leans():
    """A wheel that leans to the right (positive inclination) pushes to the right."""
    for tyre in (TYRE, Bakker()):
        assert tyre.forces(0.0, 1e-9, 3000.0, math.radians(3))[1] <= 0.0
    assert TYRE.forces(0.0, 0.0, 3000.0, math.radians(3))[1] < -50.0


# load, degrees, Fy, Mz of the ROBOTRAN routine: reference/hirai_bakker_output.txt
BAKKER = [(2000.0, 1, -676.3, -9.95), (3000.0, 4, -2478.9, -22.42), (4000.0, 1, -1009.4, -25.61), (4000.0, 2, -1911.1, -45.81),
          (4000.0, 4, -3096.6, -45.79), (4000.0, 8, -3676.8, -4.19), (6000.0, 4, -3833.1, -111.02)]


@pytest.mark.parametrize(('load', 'degrees', 'side', 'moment'), BAKKER)
def test_bakker_table(load, degrees, side, moment):
    """The routine gives its published table; the sign of Mz is the routine's own."""
    _, fy, mz = bakker.routine(load, math.radians(degrees), 0.0, 0.0)
    assert fy == pytest.approx(side, abs=0.06)
    assert mz == pytest.approx(moment, abs=0.006)


def test_bakker_combined_and_stiffness():
    """Combined slip with camber, and the stiffness at 4 kN."""
    got = bakker.routine(4000.0, math.radians(4), math.radians(2), 0.05)
    assert got == pytest.approx((2224.009, -2576.465, -43.5345), abs=1e-3)
    assert bakker.stiffness(4000.0) == pytest.approx(58862, abs=1.0)


def test_relaxation_lengths():
    """The lateral relaxation length is PTY1 sin(2 atan(Fz / PTY2 Fz0)) R0, and never vanishes."""
    load = 2958.6
    assert TYRE.relaxation(load)[1] == pytest.approx(2.1439 * math.sin(2 * math.atan(load / (1.9829 * 3928.5))) * 0.344, rel=1e-12)
    assert min(TYRE.relaxation(0.0)) > 0.05


def test_expressions_equal_numbers():
    """The same formula made of expressions and evaluated gives the numbers it gives on numbers."""
    g = Graph('tyre')
    symbols = [g.symbol(n, 'parameter', 'par', k) for k, n in enumerate(('kappa', 'slope', 'load', 'camber'))]
    values = (0.03, -0.08, 4100.0, 0.02)
    for tyre in (TYRE, Bakker()):
        made = evaluate(tyre.forces(*symbols), dict(zip(symbols, values)))
        assert made == pytest.approx(tyre.forces(*values), rel=1e-13)


START = 0.08                 # rad; beyond about 10 degrees the aligning moment of a real tyre changes its sign


def caster(tyre, trail):
    """Return a wheel that trails behind a vertical pivot which is drawn along at 10 m/s, free to turn about it."""
    m = Mechanism('caster')
    cart = m.body('cart', m.ground, prismatic('x'), mass=500.0, rate=10.0)
    lift = m.body('lift', cart, prismatic('z'), mass=300.0, initial=0.0)
    fork = m.body('fork', lift.at(0, 0, 0.32), revolute('z'), mass=5.0, inertia=(0.1, 0.1, 0.1), initial=START)
    m.add(damper(fork, 120.0))                             # without any, relaxation makes a real caster shimmy, too
    centre = fork.at(-trail, 0.0, 0.0)
    wheel = m.body('wheel', centre, revolute('y'), mass=15.0, inertia=(0.6, 1.2, 0.6), rate=10.0 / 0.335)
    add_contact(m, 'wheel', wheel, fork, centre, tyre, 160000.0, 800.0, 1.0, 0.0)
    return compile_model(m)


@pytest.mark.parametrize('tyre', [TYRE, Bakker()], ids=['pac2002', 'bakker'])
@pytest.mark.parametrize('trail', [0.0, 0.03])
def test_free_castering_wheel_aligns(tyre, trail):
    """A wheel free to turn about its pivot aligns with where it goes: with a trail, and by the aligning moment alone."""
    state = caster(tyre, trail).state()
    k = state.model.coordinates.index('fork')
    angles = []
    for _ in range(40):
        assert state.run(100, 1e-3) == 0
        angles.append(abs(state.q[k]))
    assert max(angles[-10:]) < 0.15 * START
    assert np.all(np.isfinite(angles))


def test_wrong_sign_of_the_moment_does_not_align():
    """With the routine's own sign of Mz and no trail the wheel turns away: the proof above can fail."""
    class Wrong(Bakker):
        def forces(self, kappa, slope, fz, camber=0.0, road=1.0):
            fx, fy, mz = super().forces(kappa, slope, fz, camber, road)
            return fx, fy, -mz
    state = caster(Wrong(), 0.0).state()
    k = state.model.coordinates.index('fork')
    state.run(1500, 1e-3)
    assert abs(state.q[k]) > 1.5 * START
