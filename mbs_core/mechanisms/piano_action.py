"""The grand-piano action of paper 001, section 5.1: key, whippen, jack, repetition lever, hammer, string and damper.

All parts move in one plane; felts, leather and the string are compliant contacts with hysteresis, pivots and leather rub.
The key is driven (its motion is measured on a device; what it feels is the output) or free under a finger's force.
Every screw a technician turns is a live parameter, called by what the technician measures. Numbers: piano/numbers.py.
"""

import math

from mbs_core.description import Mechanism, edge_contact, effort, felt, friction, prismatic, revolute, spring
from mbs_core.description.laws import hunt_crossley
from mbs_core.mechanisms.piano import numbers as nb
from mbs_core.symbolic import diff, maximum, power, sin, tanh

variants = {'key': ('driven', 'free'), 'shank': ('rigid', 'flexible'), 'damper': (True, False), 'tuning': (False, True)}
UP, DOWN = (0.0, 1.0), (0.0, -1.0)


def piano_action(key='driven', shank='rigid', damper=True, tuning=False) -> Mechanism:
    """Return the action, at rest; `tuning` makes every number of its geometry and felts a parameter (for identification)."""
    m = Mechanism('piano_action', gravity=(0.0, -9.81, 0.0), doc='Action of a grand piano, one key')
    n = _Numbers(m, tuning)
    r = _regulation(m)
    keys = _key(m, n, r, key)
    whippen, jack, lever = _whippen(m, n, r)
    hammer, head = _hammer(m, n, r, shank)
    string = m.body('string', on=m.ground, joint=prismatic('y'), mass=n('string.mass', nb.STRING['mass']))
    m.add(spring(string, n('string.rate', nb.STRING['rate']), name='string'))
    m.add(effort(string, -n('string.loss', nb.STRING['loss']) * string.qd, 'string.loss'))
    touch = _contacts(m, n, r, keys, whippen, jack, lever, hammer, head, string)
    if damper:
        touch['damper'] = _damper(m, n, r, keys)
    _friction(m, n, r, {'key': keys, 'whippen': whippen, 'jack': jack, 'lever': lever, 'hammer': hammer})
    _outputs(m, n, r, key, keys, jack, hammer, head, string, touch, damper)
    return m


class _Numbers:
    """The numbers of the action: plain ones, or parameters when they are to be identified."""

    def __init__(self, m, tuning):
        self.m, self.tuning, self.known = m, tuning, {}

    def __call__(self, name, value):
        """Return a number, as a parameter `tune.name` if wanted (from a fifth to five times its value)."""
        if not self.tuning or value == 0.0:
            return value
        if name not in self.known:
            ends = sorted((0.2 * value, 5.0 * value))
            self.known[name] = self.m.parameter(f'tune.{name}', value, '1', ends, 'A number of the model, SI')
        return self.known[name]

    def mm(self, name):
        """Return a length of the geometry in m."""
        return self(name, nb.GEOMETRY[name] * 1e-3)

    def at(self, name):
        """Return the point (name.x, name.y)."""
        return self.mm(f'{name}.x'), self.mm(f'{name}.y')

    def felt(self, name):
        """Return the arguments of a felt contact."""
        k, p, a, loss, mu = nb.FELTS[name]
        return {'stiffness': self(f'felt.{name}.k', k), 'exponent': p, 'hysteresis': self(f'felt.{name}.a', a), 'loss': loss,
                'name': name}, mu


def _regulation(m) -> dict:
    """Declare what the technician may turn, and return it by name."""
    given = nb.REGULATION

    def par(name, default, unit, ends, doc):
        return m.parameter(name, default, unit, ends, doc)
    r = {'let_off': par('regulation.let_off', given['let_off'], 'm', (0.0, 0.010),
                        'Let-off: how far below the string the hammer is when the jack trips; smaller = higher button'),
         'button': par('regulation.button', 0.0, 'm', (-0.0015, 0.0015),
                       'Let-off button raised by this much from where it gives the let-off; higher = later escapement'),
         'drop': par('regulation.drop', given['drop'], 'm', (0.0, 0.006), 'Drop: how far the hammer falls after let-off'),
         'blow': par('regulation.blow', given['blow'], 'm', (0.040, 0.055), 'Blow distance: hammer at rest to string (capstan)'),
         'dip': par('regulation.dip', given['dip'], 'm', (0.0085, 0.0115), f'Key dip under a firm finger of {nb.FIRM:g} N'),
         'spring': par('regulation.repetition_spring', nb.SPRINGS['lever'][0], 'N m', (0.01, 0.12),
                       'Repetition spring: its torque on the lever'),
         'check': par('regulation.back_check', given['back_check'], 'm', (0.008, 0.025),
                      'Back check: how far below the string a firm blow is caught'),
         'mass': par('hammer.mass', nb.MASSES['hammer'][0] * 1e-3, 'kg', (0.006, 0.025),
                     'Hammer with shank; what differs from 11.74 g sits at the head'),
         'friction': par('friction.scale', 1.0, '1', (0.0, 3.0), 'Friction of pivots and leather, 1 = as measured'),
         'damper': par('damper.on', 1.0, '1', (0.0, 1.0), 'Damper on its string (1), or lifted away by the pedal (0)')}
    for name, rate in nb.TURNS.items():
        r[f'{name}.turn'] = rate * (r['check' if name == 'back_check' else name] - given[name])
    return r


def _key(m, n, r, use):
    """Add the key: driven, or free under a finger."""
    inertia = m.parameter('key.inertia', nb.KEY['inertia'], 'kg m2', (2e-4, 1e-2), 'Key with its leads, about the balance pin')
    weight = m.parameter('key.balance', nb.KEY['balance'], 'N m', (-0.2, 0.2), 'Moment of leads and wood, front down')
    body = m.body('key', on=m.ground, joint=revolute('z'), inertia=inertia)
    m.add(effort(body, weight, 'key.weight'))
    m.store(-weight * body.q, 'key.weight')
    r['key.inertia'], r['key.weight'] = inertia, weight
    if use == 'driven':
        m.drive(body)
    else:
        finger = m.input('finger.force', 'N', doc='Force of the finger on the front of the key, downward')
        r['finger'] = -n.mm('front.x') * finger
        m.add(effort(body, r['finger'], 'finger'))
    return body


def _part(m, n, name, on, x, y, **more):
    """Add a body with the mass, centre and inertia of the table."""
    mass, cx, cy, inertia = nb.MASSES[name]
    return m.body(name, on=on.at(x, y, 0), joint=revolute('z'), mass=n(f'{name}.mass', mass * 1e-3),
                  com=(cx * 1e-3, cy * 1e-3, 0), inertia=inertia, **more)


def _whippen(m, n, r):
    """Add the whippen, with jack and repetition lever on it, their springs and stops."""
    whippen = _part(m, n, 'whippen', m.ground, *n.at('whippen'), initial=nb.START['whippen'])
    jack = _part(m, n, 'jack', whippen, *n.at('jack'), initial=nb.START['jack'])
    lever = _part(m, n, 'lever', whippen, *n.at('lever'), initial=nb.START['lever'])
    for body, preload in ((jack, n('jack.preload', nb.SPRINGS['jack'][0])), (lever, r['spring'])):
        m.add(spring(body, n(f'{body.name}.rate', nb.SPRINGS[body.name][1]), preload=preload, name=f'{body.name}.spring'))
        m.add(effort(body, -n(f'{body.name}.loss', nb.SPRINGS[body.name][2]) * body.qd, f'{body.name}.spring.loss'))
        rate, loss = nb.STOPS[body.name]
        m.add(felt(-body.q, rate, exponent=1.0, hysteresis=0.0, name=f'{body.name}.stop'))
        back = maximum(-body.q, 0.0)
        m.store(0.5 * rate * back * back, f'{body.name}.stop')
        m.add(effort(body, -loss * back / (back + 1e-3) * body.qd, f'{body.name}.stop.loss'))
    return whippen, jack, lever


def _hammer(m, n, r, shank):
    """Add the hammer and return (what carries the knuckle, what carries the head): one body unless the shank bends."""
    start = nb.REST + nb.START['hammer']
    mass, cx, cy, inertia = nb.MASSES['hammer']
    mass, cx, cy = mass * 1e-3, cx * 1e-3, cy * 1e-3
    added = r['mass'] - mass
    if shank == 'rigid':
        hammer = head = _part(m, n, 'hammer', m.ground, *n.at('hammer'), initial=start)
    else:
        s = nb.SHANK
        butt, bx, hinge = s['mass'] * 1e-3, s['com'] * 1e-3, s['x'] * 1e-3
        rest = mass - butt
        hx, hy = (mass * cx - butt * bx) / rest, mass * cy / rest
        own = inertia + mass * (cx * cx + cy * cy) - butt * bx * bx - rest * (hx * hx + hy * hy)
        hammer = m.body('hammer', on=m.ground.at(*n.at('hammer'), 0), joint=revolute('z'), mass=butt, com=(bx, 0, 0),
                        inertia=0.1 * own, initial=start)
        head = m.body('head', on=hammer.at(hinge, 0, 0), joint=revolute('z'), mass=rest, com=(hx - hinge, hy, 0), inertia=0.9 * own)
        m.add(spring(head, s['rate'], name='shank'))
        m.add(effort(head, -s['loss'] * head.qd, 'shank.loss'))
    m.body('added', on=_on_head(n, hammer, head, 'head'), mass=added)
    return hammer, head


def _on_head(n, hammer, head, name):
    """Return a point of the hammer's head, given in the frame of the whole hammer."""
    x, y = n.at(name)
    return head.at(x if head is hammer else x - nb.SHANK['x'] * 1e-3, y, 0)


def _contacts(m, n, r, key, whippen, jack, lever, hammer, head, string) -> dict:
    """Add all contacts and return them by name."""
    cx, cy = n.at('capstan')
    capstan = key.at(cx, cy + r['blow.turn'], 0)
    knuckle = hammer.at(*n.at('knuckle'), 0)
    radius = n.mm('knuckle.radius')
    turned = math.radians(90.0 + nb.CHECK_ANGLE)
    face = (math.cos(turned), math.sin(turned))
    touch = {}

    def edge(name, point, on, origin, normal, along=None, radius=0.0):
        law, mu = n.felt(name)
        rub = n(f'felt.{name}.mu', mu) * r['friction'] if mu else 0.0
        ease = nb.EASE if name in ('capstan', 'jack', 'lever') else None
        touch[name] = m.add(edge_contact(point, on, origin, normal, along, radius, friction=rub, ease=ease, **law)).seen
    edge('capstan', capstan, whippen, (0.0, n.mm('heel.y')), DOWN)
    edge('jack', knuckle, jack, (n.mm('jack.edge'), n.mm('jack.top')), UP, (1.0, 0.0), radius)
    edge('lever', knuckle, lever, (0.0, n.mm('lever.top')), UP, None, radius)
    edge('button', jack.at(*n.at('toe'), 0), m.ground, (0.0, n.mm('button.y') + r['let_off.turn'] + r['button']), DOWN)
    edge('drop', lever.at(*n.at('tip'), 0), m.ground, (0.0, n.mm('drop.y') + r['drop.turn']), DOWN)
    tail = n.mm('tail.radius')
    bx, by = n.at('check')
    edge('check', _on_head(n, hammer, head, 'tail'), key, (bx - r['back_check.turn'] - tail * face[0], by - tail * face[1]), face,
         (-face[1], face[0]) if face[0] > 0 else (face[1], -face[0]), tail)

    _, y = m.position(_on_head(n, hammer, head, 'head'))[:2]
    rest = nb.GEOMETRY['hammer.y'] * 1e-3 + nb.GEOMETRY['head.x'] * 1e-3 * math.sin(nb.REST) + nb.GEOMETRY['head.y'] * 1e-3 * math.cos(nb.REST)
    line = rest + nb.REGULATION['blow']
    touch['string.line'] = line
    kf = nb.FELTS['front'][0]
    felt_top = r['dip'] + (nb.FIRM / kf) ** (1.0 / nb.FELTS['front'][1]) * -1.0
    stop = n.mm('stop.x')
    press = {'string': y - line - string.q, 'rail': rest - n.mm('hammer.rail') - y,
             'front': -stop * sin(key.q) - felt_top * (stop / n.mm('front.x')), 'back': n.mm('back.press') - n.mm('rail.x') * sin(key.q)}
    for name, depth in press.items():
        touch[name] = _press(m, n, name, depth)
    return touch


def _press(m, n, name, depth, scale=1.0) -> dict:
    """Add a felt pressed along one line, with the energy it keeps; return what it shows."""
    law, _ = n.felt(name)
    k, p, rate = scale * law['stiffness'], law['exponent'], m.rate(depth)
    push = hunt_crossley(depth, rate, k, p, law['hysteresis'], law['loss'])
    m.work(-push, depth, name)
    m.store(k * power(maximum(depth, 0.0), p + 1.0) / (p + 1.0), name)
    return {'depth': depth, 'approach': rate, 'normal': push}


def _damper(m, n, r, key) -> dict:
    """Add the damper, picked up by the end of the key."""
    body = m.body('damper', on=m.ground, joint=prismatic('y'), mass=n('damper.mass', nb.MASSES['damper'][0] * 1e-3))
    m.add(effort(body, -nb.DAMPER_PRESS, 'damper.press'))
    m.store(nb.DAMPER_PRESS * body.q, 'damper.press')
    lies = maximum(-body.q, 0.0)
    m.add(felt(-body.q, 2e4, exponent=1.0, hysteresis=0.0, name='damper.seat'))
    m.store(1e4 * lies * lies, 'damper.seat')
    m.add(effort(body, -20.0 * lies / (lies + 2e-5) * body.qd, 'damper.seat.loss'))
    seen = _press(m, n, 'damper', n.mm('damper.x') * sin(key.q) - n.mm('damper.gap') - body.q, r['damper'])
    seen['lift'] = body.q
    return seen


def _friction(m, n, r, bodies):
    """Add the friction of the pivots."""
    for name, body in bodies.items():
        level, smooth = nb.PIVOTS[name]
        m.add(friction(body, n(f'pivot.{name}', level) * r['friction'], smooth=smooth, name=f'{name}.pivot'))


def _outputs(m, n, r, use, key, jack, hammer, head, string, touch, damper):
    """Declare what is felt and seen."""
    level, smooth = nb.PIVOTS['key']
    if use == 'driven':
        hand = m.effort(key)
    else:
        hand = r['finger']
    own = r['key.inertia'] * key.qdd - r['key.weight'] + r['friction'] * level * tanh(key.qd / smooth)
    felts = sum(touch[name]['normal'] * diff(touch[name]['depth'], key.q) for name in ('front', 'back'))
    m.output('key.effort', hand, 'N m', 'What a hand on the key supplies, about the balance pin (001 eq. 13)')
    m.output('action.torque', hand - own, 'N m', 'What action, damper and felts put on the key, without the wood itself')
    m.output('felts.torque', felts, 'N m', 'The part of it that comes from the felts under the key')
    m.output('pilot.force', touch['capstan']['normal'], 'N', 'Whippen on the capstan, F_mod of 001')
    m.output('key.front', -n.mm('front.x') * sin(key.q), 'm', 'How far the front of the key is down')
    head_at = _on_head(n, hammer, head, 'head')
    m.output('hammer.angle', hammer.q - nb.REST, 'rad', 'Rise of the hammer')
    m.output('hammer.gap', touch['string.line'] - m.position(head_at)[1], 'm', 'Hammer to the string at rest')
    m.output('hammer.speed', m.velocity(head_at)[1], 'm/s', 'Head of the hammer, toward the string')
    m.output('string.force', touch['string']['normal'], 'N', 'Hammer on string')
    m.output('string.move', string.q, 'm', 'String where it is struck')
    m.output('jack.angle', jack.q, 'rad', 'Jack from its stop; it is out when this is large')
    for name in ('jack', 'lever', 'button', 'drop', 'check', 'front'):
        m.output(f'{name}.force', touch[name]['normal'], 'N', f'Force at the contact {name}')
    m.output('damper.lift', touch['damper']['lift'] if damper else 0.0, 'm', 'Damper from its string')
    on_key = [touch[name] for name in ('capstan', 'front', 'back', *(('damper',) if damper else ()))]
    law = sum(t['normal'] * diff(t['depth'], key.q) for t in on_key)
    m.output('key.stiffness', diff(law, key.q), 'N m/rad', 'How the torque changes with the key angle, all else held')
    m.output('key.damping', diff(law, key.qd), 'N m s/rad', 'How the torque changes with the rate of the key')
    _above(m, key, hand - felts, [touch['capstan'], *([touch['damper']] if damper else [])])


def _above(m, key, effort_above, touch):
    """Declare the effort for a device whose key lies on a bed of its own, with the slopes of what touches the key from above.

    A device renders it later than its sample was taken. Its own loop follows the key meanwhile, by the slopes; how the parts
    that touch the key move on in that time is foreseen here, to first order.
    """
    lead = m.parameter('device.lead', 0.0, 's', (0.0, 0.005), 'Time from a sample to when its force acts; 0 in a piano')
    share = m.parameter('device.share', 1.0, '1', (0.0, 1.0), 'Share of the felts\' slope that the device follows between two answers')
    law = sum(t['normal'] * diff(t['depth'], key.q) for t in touch)
    slope, loss = share * diff(law, key.q), diff(law, key.qd)
    moving = sum(diff(t['normal'] * diff(t['depth'], key.q), key.q) * (t['approach'] / diff(t['depth'], key.q) - key.qd) for t in touch)
    m.output('above.effort', effort_above + lead * share * moving, 'N m', 'key.effort without the felts under the key, foreseen by device.lead')
    m.output('above.stiffness', slope, 'N m/rad', 'device.share of how it changes with the key angle, all else held')
    m.output('above.damping', loss, 'N m s/rad', 'How it changes with the rate of the key')
