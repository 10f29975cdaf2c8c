"""Every malformed mechanism is refused with an MbsError that names the culprit; nothing else escapes."""

import math

import pytest

from mbs_core.description import (Curve, Mechanism, arc, contact, damper, felt, fixed, free, link, prismatic, revolute,
                                  segment, spherical, spline, spring)
from mbs_core.errors import MbsError
from mbs_core.runtime import compile_model
from mbs_core.symbolic import sqrt

NAN, INF = math.nan, math.inf


def arm(name='arm'):
    """Return a planar double pendulum."""
    m = Mechanism(name, gravity=(0, -9.81, 0))
    a = m.body('upper', m.ground, revolute('z'), mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    m.body('lower', a.at(1.0, 0, 0), revolute('z'), mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    return m


def tip(m):
    """Return the end of the double pendulum."""
    return m['lower'].at(1.0, 0, 0)


OTHER = arm('other')

# (what is wrong, what is done to the mechanism m, what the sentence has to name)
DESCRIPTIONS = [
    ('unknown body', lambda m: m['uper'], 'uper.*upper'),
    ('body mounted on a name', lambda m: m.body('x', 'upper', revolute()), "'x'.*upper"),
    ('body mounted on an unknown name', lambda m: m.body('x', 'loser', revolute()), 'loser.*lower'),
    ('body mounted on nothing', lambda m: m.body('x', None, revolute()), "'x'"),
    ('body on a foreign body', lambda m: m.body('x', OTHER['upper'], revolute()), "'x'.*'arm'"),
    ('duplicate body', lambda m: m.body('upper', m.ground, revolute()), "'upper'.*twice"),
    ('body named like the ground', lambda m: m.body('ground', m.ground, revolute()), "'ground'"),
    ('bad name', lambda m: m.body('9 lives', m.ground, revolute()), '9 lives'),
    ('name that is no text', lambda m: m.body(3, m.ground, revolute()), '3'),
    ('joint that is a name', lambda m: m.body('x', m.ground, 'revolute'), "'x'.*joint"),
    ('mass NaN', lambda m: m.body('x', m.ground, revolute(), mass=NAN), "mass of body 'x'"),
    ('mass infinite', lambda m: m.body('x', m.ground, revolute(), mass=INF), "mass of body 'x'"),
    ('mass negative', lambda m: m.body('x', m.ground, revolute(), mass=-1), "'x'.*negative"),
    ('mass text', lambda m: m.body('x', m.ground, revolute(), mass='heavy'), "'x'.*heavy"),
    ('mass of another mechanism', lambda m: m.body('x', m.ground, revolute(), mass=OTHER['upper'].q), "'x'.*'other'"),
    ('com of two numbers', lambda m: m.body('x', m.ground, revolute(), com=(1, 2)), "'x'.*2 components"),
    ('com a number', lambda m: m.body('x', m.ground, revolute(), com=1.0), "'x'"),
    ('inertia of two numbers', lambda m: m.body('x', m.ground, revolute(), inertia=(1, 2)), "'x'.*2 numbers"),
    ('inertia negative', lambda m: m.body('x', m.ground, spherical(), inertia=(1, 1, -1)), "inertia of body 'x'"),
    ('one inertia negative', lambda m: m.body('x', m.ground, revolute(), inertia=-1.0), "inertia of body 'x'"),
    ('inertia of no real body', lambda m: m.body('x', m.ground, spherical(), mass=1, inertia=(1, 1, 5)), "'x'.*principal"),
    ('inertia NaN', lambda m: m.body('x', m.ground, revolute(), inertia=(NAN, 1, 1)), "inertia of body 'x'"),
    ('start value NaN', lambda m: m.body('x', m.ground, revolute(), initial=NAN), "'x'"),
    ('start rate NaN', lambda m: m.body('x', m.ground, revolute(), rate=NAN), "'x'"),
    ('start rate text', lambda m: m.body('x', m.ground, revolute(), rate='fast'), "'x'"),
    ('quaternion of two numbers', lambda m: m.body('x', m.ground, spherical(), initial=(1, 2)), "'x'.*quaternion"),
    ('quaternion zero', lambda m: m.body('x', m.ground, spherical(), initial=(0, 0, 0, 0)), "'x'.*quaternion"),
    ('ball rates of two numbers', lambda m: m.body('x', m.ground, spherical(), rate=(1, 2)), "'x'"),
    ('free start of one number', lambda m: m.body('x', m.ground, free(), initial=(1,)), "'x'"),
    ('free rates of one number', lambda m: m.body('x', m.ground, free(), rate=(1,)), "'x'"),
    ('unknown axis', lambda m: revolute('q'), "'q'"),
    ('axis of two numbers', lambda m: prismatic((1, 0)), 'axis'),
    ('axis zero', lambda m: revolute((0, 0, 0)), 'axis'),
    ('axis NaN', lambda m: prismatic((NAN, 0, 1)), 'axis'),
    ('axis a parameter', lambda m: revolute((m.parameter('k', 1.0), 0, 0)), 'axis'),
    ('point coordinate text', lambda m: m['upper'].at('far'), "'upper'.*far"),
    ('point coordinate NaN', lambda m: m['upper'].at(0, NAN), "'upper'"),
    ('rotation about w', lambda m: m['upper'].at(rotation=('w', 1.0)), "'w'"),
    ('rotation NaN', lambda m: m['upper'].at(rotation=('x', NAN)), 'upper|finite'),
    ('rotation a number', lambda m: m['upper'].at(rotation=5), 'upper'),
    ('rotation a mirror', lambda m: m['upper'].at(rotation=((1, 0, 0), (0, 1, 0), (0, 0, -1))), "'upper'"),
    ('rotation two by two', lambda m: m['upper'].at(rotation=[[1, 0], [0, 1]]), "'upper'"),
    ('gravity of two numbers', lambda m: Mechanism('x', gravity=(0, 1)), "'x'"),
    ('gravity a number', lambda m: Mechanism('x', gravity=5), "'x'"),
    ('gravity NaN', lambda m: Mechanism('x', gravity=(0, 0, NAN)), "'x'"),
    ('parameter in unknown unit', lambda m: m.parameter('k', 1, unit='inch'), "'k'.*'inch'"),
    ('parameter outside its range', lambda m: m.parameter('k', 5, range=(0, 1)), "'k'.*range"),
    ('parameter range reversed', lambda m: m.parameter('k', 1, range=(2, 0)), "'k'.*range"),
    ('parameter range of one number', lambda m: m.parameter('k', 1, range=(2,)), "'k'.*range"),
    ('parameter range infinite', lambda m: m.parameter('k', 1, range=(0, INF)), "'k'.*range"),
    ('parameter NaN', lambda m: m.parameter('k', NAN), "'k'"),
    ('parameter twice', lambda m: [m.parameter('k', 1), m.parameter('k', 1)], "'k'.*twice"),
    ('input in unknown unit', lambda m: m.input('u', unit='volts'), "'u'.*'volts'"),
    ('input twice', lambda m: [m.input('u'), m.input('u')], "'u'.*twice"),
    ('input named like a parameter', lambda m: [m.parameter('u', 1), m.input('u')], "'u'.*twice"),
    ('state twice', lambda m: [m.state('z'), m.state('z')], "'z'.*twice"),
    ('rate of what is no state', lambda m: m.derivative(m['upper'].q, 1.0), 'upper'),
    ('output twice', lambda m: [m.output('y', 1.0), m.output('y', 1.0)], "'y'.*twice"),
    ('output infinite', lambda m: m.output('y', INF), "'y'"),
    ('output of another mechanism', lambda m: m.output('y', OTHER['upper'].q), "'y'.*'other'"),
    ('output in unknown unit', lambda m: m.output('y', 1.0, unit='furlong'), "'y'.*furlong"),
    ('one coordinate of a ball joint', lambda m: m.body('x', m.ground, spherical()).q, "'x'.*3 coordinates"),
    ('coordinate of a fixed body', lambda m: m.body('x', m.ground, fixed()).q, "'x'.*fixed"),
]

LOOPS = [
    ('loop on one body', lambda m: m.close(m['upper'].at(1), m['upper'].at(2)), "'upper'"),
    ('loop with a foreign point', lambda m: m.close(tip(m), OTHER.ground.at()), "'arm'"),
    ('loop with a name', lambda m: m.close('lower', m.ground), "'lower'"),
    ('unknown plane', lambda m: m.close(tip(m), m.ground, plane='xw'), "'xw'"),
    ('plane of a solid loop', lambda m: m.close(tip(m), m.ground, kind='solid', plane='xy'), 'plane'),
    ('unknown kind', lambda m: m.close(tip(m), m.ground, kind='weld'), "'weld'"),
    ('rod without length', lambda m: m.close(tip(m), m.ground, kind='rod', name='bar'), "'bar'.*length"),
    ('rod of negative length', lambda m: m.close(tip(m), m.ground, length=-1, name='bar'), "'bar'.*positive"),
    ('rod of length NaN', lambda m: m.close(tip(m), m.ground, length=NAN, name='bar'), "'bar'"),
    ('revolute loop about w', lambda m: m.close(tip(m), m.ground, kind='revolute', axis='w', name='pin'), "'w'"),
    ('revolute loop about zero', lambda m: m.close(tip(m), m.ground, kind='revolute', axis=(0, 0, 0)), 'axis'),
    ('constraint of a number', lambda m: m.constrain('c', 1.0), "'c'"),
    ('constraint of a parameter', lambda m: m.constrain('c', m.parameter('k', 1)), "'c'"),
    ('constraint of another mechanism', lambda m: m.constrain('c', OTHER['upper'].q), "'c'.*'other'"),
    ('empty curve', lambda m: m.on_curve(tip(m), Curve((0, 0), 0, [])), 'curve'),
    ('arc without extent', lambda m: arc(1.0), 'arc'),
    ('arc turning up', lambda m: arc(1.0, angle=1.0, turn='up'), 'up'),
    ('spline of two points', lambda m: spline([(0, 0), (1, 1)]), 'three'),
    ('spline with a point twice', lambda m: spline([(0, 0), (1, 1), (1, 1)]), 'coincide'),
    ('cam point of another mechanism', lambda m: m.on_curve(tip(OTHER), Curve((0, 0), 0, [segment(1)])), 'arm|lower'),
    ('curve that is none', lambda m: m.on_curve(tip(m), 5), 'curve'),
    ('driving an unknown joint', lambda m: m.drive('elbow'), "'elbow'"),
    ('driving a foreign joint', lambda m: m.drive(OTHER['upper']), "'upper'|'arm'"),
    ('driving a ball joint', lambda m: m.drive(m.body('x', m.ground, spherical()).coordinates[0]), "'x.wx'"),
    ('driving what carries no body', lambda m: m.drive(m.auxiliary('s')), "'s'"),
    ('effort of a joint not driven', lambda m: m.effort('upper'), "'upper'.*drive"),
    ('multiplier of an unknown loop', lambda m: m.multiplier('zz'), "'zz'"),
    ('multiplier beyond the loop', lambda m: m.multiplier(m.close(tip(m), m.ground, plane='xy', name='l'), 2), "'l'.*2"),
    ('reaction of the ground', lambda m: m.reaction(m.ground), 'ground'),
    ('reaction of a foreign body', lambda m: m.reaction(OTHER['upper']), "'upper'"),
    ('reaction of a name', lambda m: m.reaction('uper'), 'uper'),
    ('position of a foreign point', lambda m: m.position(tip(OTHER)), 'arm'),
    ('position seen from a foreign body', lambda m: m.position(tip(m), seen_from=OTHER['upper']), 'upper|arm'),
]

LAWS = [
    ('what is no law', lambda m: m.add(5), '5'),
    ('spring on an unknown joint', lambda m: m.add(spring('elbow', 1.0)), "'elbow'"),
    ('spring on a foreign joint', lambda m: m.add(spring(OTHER['upper'], 1.0)), "'other'|'upper'"),
    ('spring rate NaN', lambda m: m.add(spring(m['upper'], NAN)), 'nan'),
    ('damper rate of another mechanism', lambda m: m.add(damper(m['upper'], OTHER['upper'].q)), "'other'"),
    ('link to a foreign point', lambda m: m.add(link(tip(m), tip(OTHER), rate=1.0)), 'lower|arm'),
    ('link on one body', lambda m: m.add(link(m['upper'].at(1), m['upper'].at(2), rate=1.0, name='strut')), 'upper|strut'),
    ('contact on a foreign body', lambda m: m.add(contact(tip(m), OTHER.ground, (0, 1, 0))), 'ground|arm'),
    ('contact normal of length two', lambda m: m.add(contact(tip(m), m.ground, (0, 2, 0), name='floor')), "'floor'"),
    ('contact normal of two numbers', lambda m: m.add(contact(tip(m), m.ground, (0, 1), name='floor')), "'floor'"),
    ('felt with memory and no name', lambda m: m.add(felt(m['upper'].q, 1.0, relaxation=0.1)), 'name'),
    ('force on a foreign body', lambda m: m.push(OTHER['upper'], (1, 0, 0)), 'upper|arm'),
    ('force against a foreign body', lambda m: m.push(m['upper'], (1, 0, 0), on=OTHER.ground), 'ground|arm|upper'),
    ('force of two components', lambda m: m.push(m['upper'], (1, 0)), "'upper'.*2 components"),
    ('effort on a foreign joint', lambda m: m.push_joint(OTHER['upper'], 1.0), 'upper|arm'),
    ('effort NaN', lambda m: m.push_joint('upper', NAN), "'upper'"),
    ('python if on an expression', lambda m: 1.0 if m['upper'].q > 0 else 0.0, 'select'),
]


def bare(*joints, **options):
    """Return a mechanism of bodies b0, b1, ... one on the other; only the last may have mass, given by the options."""
    m = Mechanism('bare', gravity=(0, -9.81, 0))
    last = m.ground
    for k, joint in enumerate(joints):
        last = m.body(f'b{k}', last, joint, **(options if k == len(joints) - 1 else {}))
    return m


def with_mass(add, joint=None):
    """Return a mechanism of one healthy body b0, with what `add` does to it."""
    m = bare(joint or revolute('z'), mass=1.0, inertia=(1.0, 1.0, 1.0))
    add(m)
    return m


# (what is wrong, the mechanism, what the sentence has to name): found when the model is compiled
COMPILED = [
    ('empty mechanism', lambda: Mechanism('nothing'), "'nothing'"),
    ('nothing that moves', lambda: bare(fixed(), mass=1.0), "'bare'"),
    ('no inertia about the axis', lambda: bare(revolute('z'), mass=1.0, com=(0, 0, 0.1)), "'b0'"),
    ('no mass on a slide', lambda: bare(prismatic('x')), "'b0'"),
    ('a hinge that carries its axis only', lambda: bare(revolute('z'), prismatic('z'), mass=1.0), "'b0'"),
    ('a ball joint without inertia about its arm', lambda: bare(spherical(), mass=1.0, com=(0, 0, 0.1)), "'b0"),
    ('a massless tip', lambda: with_mass(lambda m: m.body('tip', m['b0'].at(1, 0, 0), revolute('z'))), "'tip'"),
    ('state without rate', lambda: with_mass(lambda m: m.push_joint('b0', m.state('z'))), "'z'"),
    ('coordinate nothing determines', lambda: with_mass(lambda m: m.auxiliary('s')), "'s'"),
    ('law without a value at the start', lambda: with_mass(lambda m: m.push_joint('b0', sqrt(m['b0'].q - 1.0))), 'b0'),
    ('law that needs the acceleration', lambda: with_mass(lambda m: m.push_joint('b0', -5.0 * m['b0'].qdd, 'inertor')), 'inertor|b0'),
    ('law that needs an effort', lambda: with_mass(lambda m: [m.drive('b0'), m.push_joint(m.body(
        'b1', m.ground, revolute('z'), mass=1.0, inertia=1.0), m.effort('b0'), 'servo')]), 'servo|b1'),
    ('constraint with time', lambda: with_mass(lambda m: m.constrain('c', m['b0'].q - m.body(
        'b1', m.ground, revolute('z'), mass=1.0, inertia=1.0).q - m.time)), "'c'"),
    ('constraint with an input', lambda: with_mass(lambda m: m.constrain('c', m['b0'].q - m.body(
        'b1', m.ground, revolute('z'), mass=1.0, inertia=1.0).q - m.input('u'))), "'c'"),
    ('constraint with a rate', lambda: with_mass(lambda m: m.constrain('c', m['b0'].q * m['b0'].qd)), "'c'"),
    ('no freedom left', lambda: with_mass(lambda m: m.close(m['b0'].at(1, 0, 0), m.ground.at(1, 0, 0), plane='xy', name='pin')), 'pin'),
    ('cam on a body that does not carry the follower', lambda: with_mass(lambda m: m.on_curve(
        m.body('f', m.ground, prismatic('y'), mass=1.0).at(), Curve((0, 0), 0, [segment(1)]), on=m['b0'], name='cam')), "'cam'"),
    ('what is no mechanism', lambda: 5, 'mechanism'),
]


@pytest.mark.parametrize('what, make, named', COMPILED, ids=[d[0] for d in COMPILED])
def test_mechanism_without_a_determined_motion_is_refused_by_name(what, make, named):
    """What only shows in the equations is refused when the model is compiled."""
    with pytest.raises(MbsError, match=f'(?s){named}'):
        compile_model(make(), cache=False)


def test_parameters_and_driven_motion_that_open_a_loop_are_refused():
    """The loop that can't be closed any more is named."""
    m = arm('reach')
    m.close(tip(m), m.ground.at(1.2, 0.5, 0), length=m.parameter('rod.length', 0.5, 'm', (0.01, 50.0)), name='rod')
    s = compile_model(m).state()
    s.set('rod.length', 40.0)
    with pytest.raises(MbsError, match="'rod'"):
        s.assemble()
    m = arm('reach')
    m.close(tip(m), m.ground.at(1.2, 0.5, 0), length=0.5, name='rod')
    m.drive('upper')
    s = compile_model(m).state()
    s.drive('upper', math.pi)
    with pytest.raises(MbsError, match="'rod'"):
        s.assemble()


def check(wrong, named):
    """Do it and see the refusal."""
    with pytest.raises(MbsError, match=f'(?s){named}'):
        wrong(arm())


@pytest.mark.parametrize('what, wrong, named', DESCRIPTIONS, ids=[d[0] for d in DESCRIPTIONS])
def test_malformed_description_is_refused_by_name(what, wrong, named):
    """Bodies, joints, points and parameters."""
    check(wrong, named)


@pytest.mark.parametrize('what, wrong, named', LOOPS, ids=[d[0] for d in LOOPS])
def test_malformed_loop_is_refused_by_name(what, wrong, named):
    """Loops, cams, driven joints and measures."""
    check(wrong, named)


@pytest.mark.parametrize('what, wrong, named', LAWS, ids=[d[0] for d in LAWS])
def test_malformed_law_is_refused_by_name(what, wrong, named):
    """Force laws."""
    check(wrong, named)


def test_refused_body_leaves_nothing_behind():
    """After a refusal the mechanism is as before: a corrected call succeeds."""
    m = arm()
    before = (len(m.bodies), len(m.coordinates), len(m.positions))
    for bad in (dict(initial=(1,)), dict(rate=(1,)), dict(initial=(0, 0, 0, 0, 0, 0, 0))):
        with pytest.raises(MbsError):
            m.body('box', m.ground, free(), mass=1.0, inertia=(1, 1, 1), **bad)
        assert (len(m.bodies), len(m.coordinates), len(m.positions)) == before
    m.body('box', m.ground, free(), mass=1.0, inertia=(1, 1, 1))
