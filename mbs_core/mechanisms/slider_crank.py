"""A slider-crank: crank, rod and a slider on the line y = offset; a force from outside on the slider."""

from mbs_core.description import Mechanism, damper, effort, prismatic, revolute

variants = {'driven': (False, True)}


def slider_crank(driven=False) -> Mechanism:
    """Return the slider-crank; its crank is moved by a torque from outside, or `driven` (its motion given, its effort felt)."""
    m = Mechanism('slider_crank', gravity=(0.0, -9.81, 0.0), doc='Crank, connecting rod and slider')
    r = m.parameter('crank.length', 0.05, 'm', (0.01, 0.20), 'Crank, pivot to pin')
    l = m.parameter('rod.length', 0.15, 'm', (0.03, 0.60), 'Connecting rod, pin to pin')
    e = m.parameter('offset', 0.0, 'm', (-0.05, 0.05), 'Height of the slide above the crank pivot')
    crank_mass = m.parameter('crank.mass', 0.4, 'kg', (0.01, 10.0), 'Crank, a slender rod')
    rod_mass = m.parameter('rod.mass', 0.6, 'kg', (0.01, 10.0), 'Connecting rod, a slender rod')
    slider_mass = m.parameter('slider.mass', 0.5, 'kg', (0.01, 10.0), 'Slider')
    loss = m.parameter('slider.damping', 0.0, 'N s/m', (0.0, 1e3), 'Viscous friction of the slide')
    crank = m.body('crank', on=m.ground, joint=revolute('z'), mass=crank_mass, com=(r / 2, 0, 0),
                   inertia=crank_mass * r * r / 12, initial=0.8)
    rod = m.body('rod', on=crank.at(r, 0, 0), joint=revolute('z'), mass=rod_mass, com=(l / 2, 0, 0),
                 inertia=rod_mass * l * l / 12, guess=-1.05)
    slider = m.body('slider', on=m.ground.at(0, e, 0), joint=prismatic('x'), mass=slider_mass, guess=0.18)
    m.close(rod.at(l, 0, 0), slider, plane='xy', name='pin')
    m.add(damper(slider, loss))
    m.add(effort(slider, m.input('slider.force', 'N', doc='Force on the slider, away from the crank')))
    if driven:
        m.drive(crank)
        m.output('crank.effort', m.effort(crank), 'N m', 'What a hand on the crank feels (001 eq. 13)')
    else:
        m.add(effort(crank, m.input('crank.torque', 'N m', doc='Torque on the crank')))
    m.output('slider.x', slider.q, 'm', 'Slider, from the crank pivot')
    m.output('slider.v', slider.qd, 'm/s', 'Speed of the slider')
    return m
