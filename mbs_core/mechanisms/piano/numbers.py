"""The numbers of the grand-piano action, in mm, g and N; docs/piano.md says which are published, derived or fitted.

x points to the rear, y up, the origin is the balance pin; the key is at rest, the hammer's frame is aligned at the strike.
"""

GEOMETRY = {                       # name: value in mm
    'front.x': -218.0,             # where the finger presses; Hirschkorn's front lever
    'stop.x': -205.0,              # front rail felt
    'rail.x': 150.0,               # back rail felt
    'back.press': 0.0760,          # how deep the resting key lies in it: the angle is 0 there
    'capstan.x': 109.0, 'capstan.y': 25.008,
    'damper.x': 160.0, 'damper.gap': 2.6,
    'check.x': 221.7, 'check.y': 99.2,
    'whippen.x': 176.0, 'whippen.y': 58.0, 'heel.y': -33.0,
    'jack.x': -90.0, 'jack.y': -2.0, 'jack.edge': 2.0, 'jack.top': 50.0, 'toe.x': -24.0, 'toe.y': 6.0,
    'lever.x': -50.0, 'lever.y': 34.0, 'lever.top': 14.15, 'tip.x': -62.0, 'tip.y': 14.0,
    'hammer.x': 71.25, 'hammer.y': 123.9, 'knuckle.x': 18.35, 'knuckle.y': -7.0, 'knuckle.radius': 5.0,
    'head.x': 132.1, 'head.y': 35.6, 'tail.x': 146.0, 'tail.y': -4.0, 'tail.radius': 2.0,
    'button.y': 67.16, 'drop.y': 111.88, 'hammer.rail': 2.0,
}
CHECK_ANGLE = 68.0                 # deg, face of the back check
REST = -0.36                       # rad, hammer at rest in the frame aligned at the strike

MASSES = {                         # body: (g, CoM x, y in mm, inertia about the CoM in kg m2)
    'whippen': (11.0, -52.0, 6.0, 4.4e-5),
    'jack': (2.5, -3.0, 18.0, 8e-7),
    'lever': (4.5, -22.0, 8.0, 2.6e-6),
    'hammer': (11.74, 102.2, 14.5, 2.90e-5),
    'damper': (30.0, 0.0, 0.0, 0.0),
}
KEY = {'inertia': 2.0e-3, 'balance': 0.0424}        # kg m2 about the balance pin; N m of leads and wood, front down

FELTS = {                          # contact: (k in N/m^p, p, hysteresis in s/m, its bound, friction)
    'capstan': (3.2e11, 3.0, 150.0, 0.5, 0.20),
    'jack': (3.9e11, 3.0, 150.0, 0.5, 0.25),
    'lever': (3.9e11, 3.0, 150.0, 0.5, 0.20),
    'button': (6.0e7, 2.0, 5.0, 0.5, 0.15),
    'drop': (1.2e7, 2.0, 5.0, 0.5, 0.15),
    'check': (1.6e7, 2.0, 3.0, 0.8, 0.9),
    'string': (4.5e9, 2.5, 0.15, None, 0.0),
    'damper': (2.0e7, 2.0, 5.0, 0.6, 0.0),
    'front': (8.0e7, 2.0, 5.0, 0.7, 0.0),
    'back': (1.0e8, 2.0, 10.0, 0.7, 0.0),
    'rail': (2.0e7, 2.0, 5.0, 0.8, 0.0),
}
EASE = 0.2e-3                      # m: knuckle leather and heel cloth lose half their hysteresis when pressed by this
SPRINGS = {                        # N m, N m/rad, N m s/rad
    'jack': (0.0042, 0.010, 2e-5), 'lever': (0.070, 0.12, 6e-3),
}
STOPS = {'jack': (20.0, 4e-3), 'lever': (30.0, 1e-2)}      # N m/rad and N m s/rad, button of the jack, hook of the lever
PIVOTS = {                         # N m of friction, rad/s over which its sign is rounded
    'key': (1.2e-3, 5e-3), 'whippen': (1.2e-3, 1e-2), 'jack': (1.5e-4, 5e-2), 'lever': (4e-4, 5e-2), 'hammer': (1.01e-3, 5e-2),
}
STRING = {'mass': 3.0e-3, 'rate': 3.0e4, 'loss': 2.5}      # the struck place: kg, N/m, N s/m
SHANK = {'x': 35.0, 'mass': 2.5, 'com': 20.0, 'rate': 8.0, 'loss': 4e-3}     # its bending, as a hinge (mm, g, N m/rad, N m s/rad)
DAMPER_PRESS = 0.05                # N beside its weight
FIRM = 5.0                         # N: the finger that measures the dip

REGULATION = {                     # what the technician measures at this setting of screws and buttons, m
    'let_off': 4.3e-3, 'drop': 1.0e-3, 'blow': 48e-3, 'dip': 9.5e-3, 'back_check': 15e-3,
}
TURNS = {                          # how far a screw moves for a change of what is measured: m per m
    'let_off': -0.25, 'drop': -0.21, 'blow': -0.087, 'back_check': -0.235,
}
START = {'whippen': 0.0021833, 'jack': -0.0002062, 'lever': -0.0012925, 'hammer': -0.0002086}      # rad: the action at rest
