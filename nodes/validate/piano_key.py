"""The haptic piano key against section 5.1 of paper 001: claims P1 to P8, played by a simulated hand through the whole stack."""

import random

from mbs_haptics.validate import piano_claims, piano_regulated, piano_touch
from mbs_haptics.validate.bench import Bench
from mbs_haptics.validate.piano_time import BED, FINGER

TITLE = 'The haptic piano key'
INTRODUCTION = """
A wooden key with a voice coil in place of the action. Hall sensors and a coil measure how it moves; a multibody model of a grand
piano's action answers, a thousand times a second, with the force that hammer, whippen, jack and damper would put on it.

Each section below is one published claim about such a key (the multibody team of UCLouvain, section 5.1 of their paper), what
was measured here, and the curve behind it. Everything was played through the real stack: firmware, link, both ROS nodes and a
recording, with a simulated key and finger at the far end.
"""
TOPICS = ('joint_states', 'setpoint', 'model_outputs')
SIGNALS = ('height', 'velocity', 'force', 'hand.force')     # of the plant: front (m), coil (m/s), coil force (N), finger (N)
PROFILE, STROKES, BLOWS, SINE = 2, 5, 6, 7                  # programs of the hand (firmware/plants/parts.h)
TOUCHES = {'pp': 1.5, 'p': 2.0, 'mf': 5.0, 'f': 12.0, 'ff': 20.0}       # N of the finger
VARIANTS = {                                                # scene: what is turned, live
    'dip': {}, 'dip.no_damper': {'damper.on': 0.0}, 'button.high': {'regulation.button': 0.0005},
    'button.low': {'regulation.button': -0.0005}, 'mass.high': {'hammer.mass': 0.01474}, 'mass.very_high': {'hammer.mass': 0.01774},
    'mass.low': {'hammer.mass': 0.00874}}
NORMAL = {'damper.on': 1.0, 'regulation.button': 0.0, 'regulation.let_off': 0.0043, 'hammer.mass': 0.01174}
TURNED = {'turn.let_off': {'regulation.let_off': 0.0033}, 'turn.mass': {'hammer.mass': 0.01474}}       # in the middle of a dip


def stage(folder, quick, domain, progress):
    """Play every scene and return the recording; quick: only the slow dips, one blow and the double strokes."""
    with Bench('piano_key', folder, signals=SIGNALS, domain=domain) as bench:
        bench.plant(**BED)
        bench.scene('rest', 0.3)
        for name, turned in VARIANTS.items():
            if not quick or name in ('dip', 'button.high', 'mass.high'):
                progress(f'slow dip at 10 mm/s: {name}')
                slow_dip(bench, name, turned, 1 if quick else 3)
        progress('screws turned during a dip')
        for name, turned in TURNED.items():
            turn_in_dip(bench, name, turned)
        progress('double keystrokes')
        double_keystrokes(bench)
        for touch, newton in TOUCHES.items():
            if not quick or touch in ('p', 'f'):
                progress(f'blow: {touch}')
                blow(bench, f'blow.{touch}', newton)
        progress('sensors against the truth')
        sensors(bench)
        if not quick:
            progress('playing for a minute')
            play(bench, 60.0)
        bench.scene('end', 0.2)
    return bench.bag


def slow_dip(bench, name, turned, times):
    """Full key dips at 10 mm/s by a stiff drive, as the external actuator of Fig. 23; the paper took three in a row."""
    bench.set(**{**NORMAL, **turned})
    bench.wait(0.3)
    for _ in range(times):
        bench.act(mode=PROFILE, speed=0.010, dip=0.0095, hold_s=0.1)
        bench.scene(name, 2.3)
    if turned:
        bench.set(**NORMAL)


def turn_in_dip(bench, name, turned):
    """A slow dip in which something is turned 7.5 mm down, just before the escapement."""
    bench.act(mode=PROFILE, speed=0.010, dip=0.0095, hold_s=0.1)
    bench.scene(name, 0.85)
    bench.set(**turned)
    bench.wait(1.45)
    bench.set(**NORMAL)


def double_keystrokes(bench):
    """Slow (Fig. 14-15), fast (Fig. 16-17) and halfway (Fig. 22) keystrokes of given motion."""
    for name, seconds, motion in (
            ('double.slow', 3.0, {'count': 2, 'move_s': 0.12, 'hold_s': 0.5, 'low': 0.0, 'rest_s': 0.5}),
            ('double.fast', 1.1, {'count': 2, 'move_s': 0.06, 'hold_s': 0.15, 'low': 0.003, 'rest_s': 0.02}),
            ('half', 1.6, {'count': 4, 'move_s': 0.07, 'hold_s': 0.1, 'low': 0.0045, 'rest_s': 0.03})):
        bench.act(mode=STROKES, dip=0.0095, **motion)
        bench.scene(name, seconds)


def blow(bench, name, newton):
    """One blow with the force of a finger."""
    bench.act(mode=BLOWS, push=newton, hold_s=0.35, period_s=1.0, count=1, **FINGER)
    bench.scene(name, 1.0, newton=newton)


def sensors(bench):
    """Up and down over the sensors' whole 10 mm, the felt under the key taken out: slowly, and at 5 Hz (Fig. 19-21)."""
    bench.plant(hand__mode=0, travel=0.005)
    for name, rate_hz, count in (('hall.slow', 0.8, 2), ('hall.fast', 5.0, 8)):
        bench.act(mode=SINE, dip=0.010, rate_hz=rate_hz, count=count)
        bench.scene(name, count / rate_hz + 0.3)
    bench.plant(hand__mode=0, **BED)


def play(bench, seconds):
    """Blows of all strengths, at random."""
    chance = random.Random(5)
    bench.scene('playing')
    left = seconds
    while left > 0:
        count, period = chance.randint(1, 4), chance.uniform(0.25, 0.6)
        bench.act(mode=BLOWS, push=chance.uniform(1.0, 20.0), rise_s=chance.uniform(0.01, 0.04), hold_s=0.3 * period, period_s=period,
                  count=count, damping=3.0)
        bench.wait(count * period + 0.2)
        left -= count * period + 0.2


def judge(recorded):
    """Return the claims, each judged by the recording alone."""
    return [*piano_claims.judge(recorded), *piano_touch.judge(recorded), *piano_regulated.judge(recorded)]
