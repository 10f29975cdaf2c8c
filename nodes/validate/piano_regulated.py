"""What a technician checks on the device: static down and up weight, and screws that are turned while the key is played."""

import numpy as np

from mbs_haptics.validate.claims import Claim
from mbs_haptics.validate.piano_claims import BLUE, INK, RED, panels
from mbs_haptics.validate.piano_time import FRONT

GRAM = 9.81e-3          # N
TRAVEL = (1.0e-3, 6.3e-3)       # m: after the first rise, before the escapement
PAUSE = 1.5e-3          # s: samples further apart are not neighbours


def judge(recorded):
    """Return the claims on weights and on turning screws live."""
    return [weights(recorded), live(recorded)]


def weights(recorded) -> Claim:
    """Static down and up weight without the damper, as weighed with the pedal down, from the dips at 10 mm/s."""
    claim = Claim('weights', 'Down weight and up weight', 'A regulated key goes down under 45 to 55 g and lifts 20 g or more, the damper off its string.')
    strokes = [halves for scene in recorded.scenes if scene.name == 'dip.no_damper' and (halves := both_ways(recorded, scene))]
    if not strokes:
        claim.lacks('down', "the recording has no scene 'dip.no_damper' with the finger's force on the topic 'truth'")
        return claim
    down, up = (float(np.median([level(*halves[k]) for halves in strokes])) / GRAM for k in (0, 1))
    claim.measure('down', down, 'g', '45..55', 'mean force from 1 to 6.3 mm, going down at 10 mm/s')
    claim.measure('up', up, 'g', '>=20', 'the same, coming up')
    claim.measure('friction', (down - up) / 2, 'g', '', 'half their difference: felts and pivots of the action, and the pin of the device')
    claim.saw = f'The key goes down under {down:.0f} g and brings {up:.0f} g back up.'
    figure, (ax,) = panels(1, 3.0)
    for (x, f), colour, label in zip(strokes[-1], (INK, BLUE), ('down', 'up')):
        ax.plot(1e3 * x, f / GRAM, color=colour, linewidth=0.9, label=label)
    ax.axhspan(45, 55, color='#efe8d6', zorder=0)
    ax.axhline(20, color=RED, linestyle='--', linewidth=1)
    ax.set_xlim(0, 7.5)
    ax.set_ylim(0, 90)
    ax.set_xlabel('key front (mm)')
    ax.set_ylabel('force at the finger (g)')
    ax.legend(loc='upper right')
    claim.draw(figure, 'Force of the finger down and up at 10 mm/s without the damper. Shaded: where the down weight belongs; dashed: the least up weight.')
    return claim


def both_ways(recorded, scene):
    """Return ((front, force) going down, (front, force) coming up) of a dip, or None without a force gauge."""
    truth = recorded.part('truth', scene) if 'truth' in recorded else None
    if truth is None or len(truth.t) < 100 or not {'height', 'hand.force'} <= set(truth.names):
        return None
    x, f = truth['height'], truth['hand.force']
    held = np.flatnonzero(x > x.max() - 5e-5)
    return (x[:held[0]], f[:held[0]]), (x[held[-1]:], f[held[-1]:])


def level(x, f) -> float:
    """Return the mean force of the travel, each place counted alike."""
    inside = (x > TRAVEL[0]) & (x < TRAVEL[1])
    places = np.digitize(x[inside], np.arange(*TRAVEL, 1e-4))
    return float(np.mean([f[inside][places == k].mean() for k in np.unique(places)]))


def live(recorded) -> Claim:
    """Let-off and hammer mass changed in the middle of a slow dip: no step of the force, no pause of the loop."""
    claim = Claim('live', 'Turning a screw while the key goes down', 'Our aim: a regulation changed in the middle of a keystroke neither steps the force nor stops the loop.')
    runs = {name: part for name in ('dip', 'turn.let_off', 'turn.mass') if (part := followed(recorded, name)) is not None}
    if 'dip' not in runs or len(runs) < 2:
        claim.lacks('step', "the recording lacks the scenes 'dip', 'turn.let_off' or 'turn.mass'")
        return claim
    figure, (ax,) = panels(1, 2.6)
    for (name, run), colour in zip(runs.items(), (INK, BLUE, RED)):
        ax.plot(run['t'], run['force'], color=colour, linewidth=0.9, label={'dip': 'untouched'}.get(name, f'{name[5:]} turned'))
        if name == 'dip':
            continue
        word = name.partition('.')[2]
        claim.measure(f'{word}.step', run['step'] - runs['dip']['step'], 'N from one ms to the next', '<0.12',
                      f'beyond the {runs["dip"]["step"]:.2f} N of a dip that nobody disturbs; the slew limit would allow 6.9 N')
        claim.measure(f'{word}.samples', 100 * run['rate'] / runs['dip']['rate'], '% of an untouched dip', '>=50', 'answers of the model in each second; a shared machine takes some away')
    claim.saw = 'Let-off and hammer are changed 7.5 mm down, just before the escapement; the curve bends and does not jump.'
    ax.set_xlabel('time (s)')
    ax.set_ylabel('force of the action (N)')
    ax.legend(loc='upper left')
    claim.draw(figure, 'Force that the model asks for in a slow dip, at the front, untouched and with a regulation changed on the way.')
    return claim


def followed(recorded, name):
    """Return {'t', 'force', 'step', 'rate'} of what the model asks for in a scene, or None."""
    scene = recorded.scene(name)
    if scene is None or 'model_outputs' not in recorded:
        return None
    out = recorded.part('model_outputs', scene)
    if len(out.t) < 100:
        return None
    force, gap = out['above.effort'] / FRONT, np.diff(out.t)
    return {'t': out.t - scene.begin, 'force': force, 'step': float(np.abs(np.diff(force))[gap < PAUSE].max()), 'rate': len(out.t) / (out.t[-1] - out.t[0])}
