"""Claims P6 to P8 of the piano key: what a finger feels in a slow dip, with the let-off button turned and the hammer changed."""

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.validate import piano_render
from mbs_haptics.validate.claims import Claim
from mbs_haptics.validate.phases import find_phases, smooth_curve
from mbs_haptics.validate.piano_claims import BLUE, GOLD, GREEN, INK, RED, in_scene, panels
from mbs_haptics.validate.piano_time import FRONT

SMOOTH = 5e-4           # m over which curves are averaged before they are compared: the hammer swings once a millimetre
ALIKE = 0.03            # N that curves may differ by where they should not: the noise of two strokes
WORDS = {'dip': 'normal', 'dip.no_damper': 'without damper', 'button.high': 'button 0.5 mm higher', 'button.low': 'button 0.5 mm lower',
         'mass.high': 'hammer +3 g', 'mass.very_high': 'hammer +6 g', 'mass.low': 'hammer -3 g'}


def judge(recorded):
    """Return P6 to P8, then blows, rendering error and actuator."""
    curves = {name: curve for name in WORDS if (curve := stroke(recorded, name)) is not None}
    if not curves and not recorded.scenes:
        raise MbsError(f"the recording '{recorded.path}' has no scenes: mark them while recording (docs/validate.md)")
    return [phases(curves), let_off(curves), hammer_mass(curves), *piano_render.judge(recorded)]


def stroke(recorded, name):
    """Return (front, force) of a slow dip downward, m and N at the front; of several scenes of this name the median; or None."""
    found = [one for scene in recorded.scenes if scene.name == name and (one := one_stroke(recorded, scene)) is not None]
    if len(found) < 2:
        return found[0] if found else None
    grid = np.arange(max(x[0] for x, _ in found), min(x.max() for x, _ in found), 5e-6)
    return grid, np.median([np.interp(grid, *smooth_curve(x, f, 4e-5)) for x, f in found], axis=0)


def one_stroke(recorded, scene):
    """Return (front, force) of the downward half of one dip: what a hand feels, or without a gauge what the actuator adds."""
    truth = recorded.part('truth', scene) if 'truth' in recorded else None
    if truth is not None and len(truth.t) and 'hand.force' in truth.names:
        x, f = truth['height'], truth['hand.force']
    else:
        setpoint, joint = recorded.part('setpoint', scene), recorded.part('joint_states', scene)
        if len(setpoint.t) < 100 or len(joint.t) < 100:
            return None
        x, f = FRONT * np.sin(joint.at(setpoint.t, 'key')), -setpoint.column('key', 'effort') / FRONT
    down = int(np.argmax(x > x.max() - 2e-5))
    still = np.flatnonzero(x[:down] < x[:50].mean() + 2e-5)
    begin = int(still[-1]) if still.size else 0
    return (x[begin:down + 1], f[begin:down + 1]) if down - begin > 100 else None


def phases(curves) -> Claim:
    """P6: phases A-B-C-D of Fig. 24."""
    claim = Claim('P6', 'The touch of a slow dip', 'At 10 mm/s over 9.5 mm the force shows phases A-B-C-D: the rise, the travel with the damper picked up, the escapement around '
                  '8-9 mm, and the key bottom; also without the damper (Fig. 24).')
    if 'dip' not in curves:
        claim.lacks('phases', "the recording has no scene 'dip'")
        return claim
    found = {name: find_phases(*curves[name]) for name in ('dip', 'dip.no_damper') if name in curves}
    normal = found['dip']
    claim.measure('phases', normal.found, '', 'ABCD', 'found by rules in the curve', ok=normal.found == 'ABCD')
    if normal.peak:
        x, f = smooth_curve(*curves['dip'], SMOOTH)
        near = (x > normal.c[0]) & (x < normal.c[1] - SMOOTH / 2)       # not into the bottom
        top = x[near][np.argmax(f[near])]
        claim.measure('peak_position', 1e3 * float(top), 'mm', '8..9', f'of the escapement; it begins at {1e3 * normal.c[0]:.1f} mm')
        claim.measure('escapement', normal.peak[1] - normal.level, 'N', '0.15..1.6', 'how far it stands out of the travel')
    claim.measure('level', normal.level, 'N', '0.4..1.2', 'force of the travel, median')
    claim.measure('bottom', 1e3 * normal.d[0] if normal.d else float('nan'), 'mm', '9..9.6', 'where the felt under the key is met')
    if normal.pick_up:
        claim.measure('damper_at', 1e3 * normal.pick_up, 'mm', '2.5..5.5', 'where the key picks the damper up')
    if 'dip.no_damper' in found:
        bare = found['dip.no_damper']
        claim.measure('phases_without_damper', bare.found, '', 'ABCD', ok=bare.found == 'ABCD')
        at = np.linspace(5e-3, 7.5e-3, 30)
        lighter = np.interp(at, normal.x, normal.f) - np.interp(at, bare.x, bare.f)
        claim.measure('damper', float(np.median(lighter)), 'N', '0.1..0.5', 'what the damper adds after it is picked up')
        claim.measure('no_step_without_damper', bare.pick_up is None, '', 'true', ok=bare.pick_up is None)
    claim.saw = f'A rise, {normal.level:.2f} N of travel, an escapement of {normal.peak[1] if normal.peak else 0:.2f} N, and the bottom: all four phases are there.'
    figure, (ax,) = panels(1, 4.0)
    for name, colour in (('dip', INK), ('dip.no_damper', BLUE)):
        if name in curves:
            ax.plot(1e3 * curves[name][0], curves[name][1], color=colour, linewidth=0.5, alpha=0.35)
            ax.plot(1e3 * found[name].x, found[name].f, color=colour, label=WORDS[name])
    top = 1.5 * max(normal.peak[1] if normal.peak else 1.0, normal.level)
    for letter, shade in zip('abcd', ('#e9e2d0', '#f6f3ea', '#efd9cf', '#d9dfe6')):
        span = getattr(normal, letter)
        if span:
            ax.axvspan(1e3 * span[0], 1e3 * span[1], color=shade, zorder=0)
            ax.annotate(letter.upper(), (500 * (span[0] + span[1]), 0.94 * top), ha='center', fontsize=14, style='italic')
    decorate(ax, top)
    claim.draw(figure, 'Force of the finger over key travel. Shaded: the phases, as the rules find them.')
    return claim


def let_off(curves) -> Claim:
    """P7: the let-off button, Fig. 25."""
    claim = Claim('P7', 'Turning the let-off button', 'A button about 0.5 mm higher (lower) gives a higher (lower) force in the escapement, around 8-9 mm (Fig. 25).')
    level = levels(claim, curves, ('button.low', 'dip', 'button.high'), lambda: np.arange(8e-3, 9.001e-3, 5e-5))
    if not level:
        return claim
    in_order(claim, level, '8-9 mm', f'never more than {ALIKE:g} N the other way round', ('most', np.max, '>0.1', 'largest difference'))
    peaks = [float(values.max()) for values in level.values()]
    claim.measure('peaks_ordered', bool(np.all(np.diff(peaks) > 0.03)), '', 'true', ', '.join(f'{WORDS[n]}: {p:.2f} N' for n, p in zip(level, peaks)),
                  ok=np.all(np.diff(peaks) > 0.03))
    claim.saw = 'The higher the button, the later the jack trips and the harder the last millimetre: ' + ', '.join(f'{p:.2f} N' for p in peaks) + '. Turned live, by a ROS parameter.'
    claim.draw(family(curves, level, (GREEN, INK, RED), (6.5, 9.5)), 'Force over the last millimetres of the key, for three heights of the let-off button.')
    return claim


def hammer_mass(curves) -> Claim:
    """P8: the mass of the hammer, Fig. 26."""
    claim = Claim('P8', 'A heavier hammer', 'With 3 g and 6 g added to the hammer the force rises, with a lighter one it falls, until the key-bottom contact (Fig. 26).')
    wanted = ('mass.low', 'dip', 'mass.high', 'mass.very_high')

    def places():
        bottoms = [found.d[0] for name in wanted if name in curves and (found := find_phases(*curves[name])).d]
        return np.arange(0.4e-3, min(bottoms, default=9.3e-3) - 1e-4 - SMOOTH / 2, 5e-5)
    level = levels(claim, curves, wanted, places)
    if not level:
        return claim
    in_order(claim, level, 'the way', f'from 0.4 mm to the bottom at {1e3 * places()[-1]:.1f} mm', ('mean', np.mean, '>0.05', 'on the average'))
    step = np.mean(np.diff(list(level.values()), axis=0))
    claim.saw = f'Each 3 g at the hammer is felt as about {step:.2f} N at the finger, all the way down.'
    claim.draw(family(curves, level, (GREEN, INK, GOLD, RED), (0, 9.5)), 'Force over key travel for hammers of different mass, changed live by a ROS parameter.')
    return claim


def levels(claim, curves, wanted, places) -> dict:
    """Return {scene: averaged force at the places} of the scenes that are there, in their order; {} (and a word) if too few are."""
    names = [name for name in wanted if name in curves]
    if len(names) < 2 or 'dip' not in names:
        claim.lacks('ordered', f"the recording lacks scenes of {', '.join(map(repr, wanted))}")
        return {}
    return {name: resampled(curves[name], places()) for name in names}


def in_order(claim, level, where, note, figure):
    """Measure that each curve lies above the one before it at every place, and one figure (name, of, aim, note) of the gap."""
    word, of, aim, meaning = figure
    names = [name.replace('dip', 'normal') for name in level]
    for low, high, gap in zip(names, names[1:], np.diff(list(level.values()), axis=0)):
        claim.measure(f'{low}_below_{high}.everywhere', 100 * float(np.mean(gap > -ALIKE)), f'% of {where}', '==100', note)
        claim.measure(f'{low}_below_{high}.{word}', float(of(gap)), 'N', aim, meaning)


def resampled(curve, at):
    """Return the averaged force of a curve at positions (m)."""
    x, f = smooth_curve(*curve, SMOOTH)
    return np.interp(at, x, f)


def family(curves, names, colours, span):
    """Draw curves of one family."""
    figure, (ax,) = panels(1, 3.8)
    top = 0.0
    for name, colour in zip(names, colours):
        x, f = smooth_curve(*curves[name])
        ax.plot(1e3 * curves[name][0], curves[name][1], color=colour, linewidth=0.4, alpha=0.25)
        ax.plot(1e3 * x, f, color=colour, label=WORDS[name])
        top = max(top, f[x < 9.2e-3].max())
    ax.set_xlim(*span)
    decorate(ax, 1.3 * top)
    return figure


def decorate(ax, top):
    """Name the axes of a force-travel picture."""
    ax.set_ylim(0, top)
    ax.set_xlabel('key front (mm)')
    ax.set_ylabel('force at the finger (N)')
    ax.legend(loc='upper left', bbox_to_anchor=(0.06, 0.86))
