"""The lid on its device: two rods whose strokes are measured, the hinge between them, and the controller as native code.

What `rosbotran` runs for the lid. The mean stroke of both rods moves the massless hinge of `lid_hinge`, which tells height,
tilt, Jacobians and, in closed form, the reduced dynamics of the lid that the device carries; the controller of
`mbs_core/control/lid.py` turns them into the forces of both rods. Its memories are states of the model. Commands are
parameters: `command` 1 opens, -1 closes, 0 holds and forgives a hand; `assist` 1 lets the lid follow the hand.
"""

from mbs_core.control.generic import cos, minimum, select
from mbs_core.control.lid import PEAK, Memory, Motion, Tuning, control
from mbs_core.control.lid_map import GRAVITY, lid_rates
from mbs_core.description import Mechanism, prismatic
from mbs_core.mechanisms import lid_hinge

# name of the tuning: (unit, lowest, highest, what it is)
TUNED = {
    'T_t': ('s', 0.3, 10, 'Time of the lift'), 'T_b': ('s', 0.05, 10, 'Idle time between lift and rotation'),
    'T_r': ('s', 0.5, 10, 'Time of the rotation'), 'kp': ('1', 100, 6400, 'Stiffness of the task, 1/s2'),
    'kd': ('1/s', 10, 200, 'Damping of the task'), 'coulomb': ('N', 0, 50, 'Dry friction that the controller believes in'),
    'viscous': ('N s/m', 0, 1000, 'Viscous friction that the controller believes in'),
    'threshold': ('N', 0.5, 20, "A hand's sudden force at the lid's edge"),
    'lasting': ('N', 1, 50, "A hand's force at the lid's edge, however slow"),
    'help': ('1', 0, 0.9, "Share of the hand's force added while assisting"),
    'help_most': ('N', 0, 20, "Most force of a hand, at the lid's edge, that is helped"), 'drag': ('N s/m', 0, 500, 'Drag felt while assisting'),
}
DAMPING = 900.0      # N s/m, the most that goes with a set-point; the device allows 1000
variants = {'smoothness': tuple(PEAK), 'law': ('blended', 'literal')}


def lid_control(smoothness=3, law='blended') -> Mechanism:
    """Return the controlled lid: driven strokes `left` and `right`, outputs with the forces and their local slopes."""
    m = Mechanism('lid_control', gravity=(0.0, -GRAVITY, 0.0), doc='Two hinges, one lid, and its controller')
    closed = lid_hinge.rest_pose(lid_hinge.lengths())[0]
    rods = [m.body(name, on=m.ground, joint=prismatic('x'), initial=closed) for name in ('left', 'right')]
    m.drive(*rods)
    hinge = lid_hinge.assemble(m, massless=True)
    m.constrain('mean', hinge.B1.q - 0.5 * (rods[0].q + rods[1].q))
    c = _tuning(m, hinge, smoothness, law)
    command = m.parameter('command', 0.0, '1', (-1.0, 1.0), '1 open, -1 close, 0 hold')
    assist = m.parameter('assist', 0.0, '1', (0.0, 1.0), '1: the lid follows the hand')
    carried = m.parameter('carried', 1.2, 'kg', (0.0, 5.0), 'Mass of the lid whose weight the device carries by itself')
    memory = Memory(*(m.state(f'control.{name}') for name in Memory._fields))
    motion = _motion(m, hinge, c)
    rates, force, told = control(memory, motion, command, assist, c)
    for state, rate in zip(memory, rates):
        m.derivative(state, rate)
    soft = select(memory.hit > 0.5, 1.0, assist)
    own = carried / c.m_o * (motion.weight + 0.5 * motion.m_rate * motion.v)
    for rod in rods:
        m.output(f'{rod.name}.force', 0.5 * (force - own), 'N', 'Force asked of the rod, beside what its device adds')
        m.output(f'{rod.name}.effort', 0.5 * (own - force), 'N', 'The same as an effort on the model, against which a channel acts')
        # K = 0: the reference moves on, so a stiffness to where the rod was would pull it back by K v times the latency
        m.output(f'{rod.name}.damping', minimum(0.5 * memory.grip * (1.0 - soft) * motion.m_r * c.kd, DAMPING), 'N s/m',
                 'How that force changes with the speed, for the loop in the device')
    _tell(m, hinge, memory, force, told, soft)
    return m


def _tuning(m, hinge, smoothness, law):
    """Return the tuning with its numbers as parameters, and the geometry's own as expressions of the lengths."""
    default, g = Tuning(), lid_hinge.geometry(hinge.p)
    given = {name: m.parameter(f'control.{name}', getattr(default, name), unit, (low, high), doc)
             for name, (unit, low, high, doc) in TUNED.items()}
    return Tuning(h1=hinge.p['h1'], lift=g['lift'], theta_open=lid_hinge.OPEN, smoothness=smoothness, law=law, m_o=hinge.m_o,
                  m_1=hinge.m_1, **given)


def _motion(m, hinge, c):
    """Return what the controller sees, the reduced dynamics in closed form (000 eq. 7-8)."""
    v = hinge.B1.coordinate.v
    unit, rise, edge = lid_rates(hinge.theta_o, hinge.J_h, hinge.J_theta, hinge.p['l_o'], cos)
    return Motion(v, hinge.h_o, hinge.theta_o, hinge.J_h, hinge.J_theta, m.rate(hinge.J_h), m.rate(hinge.J_theta),
                  c.m_o * unit + c.m_1, c.m_o * m.rate(unit), c.m_o * GRAVITY * rise, edge)


def _tell(m, hinge, memory, force, told, soft):
    lid_hinge.tell(m, hinge)
    for name, value, unit, doc in (
            ('F1', force, 'N', 'Force of both rods'), ('F1m', told['model'], 'N', 'Its part from the model'),
            ('F1c', told['feedback'], 'N', 'Its part from the feedback'), ('theta_wanted', told['theta_wanted'], 'rad', 'Tilt asked for'),
            ('h_wanted', told['h_wanted'], 'm', 'Height asked for'), ('hand', told['residual'], 'N', "Residual, as a force at the lid's edge"),
            ('hit', memory.hit, '1', '1 when a hand was met'), ('soft', soft, '1', '1 while the lid follows a hand'),
            ('sigma', memory.sigma, 's', 'Place on the path'), ('w', memory.w, '1', 'Speed along the path'), ('grip', memory.grip, '1', 'Share of the force')):
        m.output(name, value, unit, doc)
