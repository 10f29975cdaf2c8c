"""Beyond the published figures: blows from pianissimo to fortissimo, how true the rendered force is, how strong the actuator."""

import numpy as np

from mbs_haptics.validate import piano_time
from mbs_haptics.validate.claims import Claim
from mbs_haptics.validate.piano_claims import BLUE, GOLD, INK, RED, in_scene, panels, strikes_in
from mbs_haptics.validate.piano_time import FRONT

TOUCHES = ('pp', 'p', 'mf', 'f', 'ff')
BOTTOM = 9.35e-3        # m, where the felt under the key of the virtual device begins
STALL, AFTER = 3e-3, 0.03       # s: a longer pause of the loop is the machine's; what follows it is not judged
SETTINGS = ('damper.on', 'regulation.button', 'hammer.mass')


def judge(recorded):
    """Return the claims on blows, rendering and actuator."""
    return [blows(recorded), rendering(recorded), actuator()]


def blows(recorded) -> Claim:
    """Blows of a pianist's finger: speed ratio, and which comes first, the string or the bottom."""
    claim = Claim('blows', 'From pianissimo to fortissimo', 'The hammer moves about five times as fast as the key; in a soft blow it meets the string before the key meets its '
                  'bed, in a loud one after (Askenfelt and Jansson).')
    found = {touch: seen for touch in TOUCHES if (seen := one_blow(recorded, f'blow.{touch}'))}
    if not found:
        claim.lacks('speed_ratio', "the recording has no scenes 'blow.pp' to 'blow.ff'")
        return claim
    for touch, (hammer, key, early, *_) in found.items():
        claim.measure(f'{touch}.hammer_speed', hammer, 'm/s', '>0.2', f'key {key:.2f} m/s, string {1e3 * abs(early):.1f} ms {"before" if early < 0 else "after"} the bottom')
    ratios, coupled, struck = zip(*((seen[4], seen[5], seen[0] / seen[1]) for seen in found.values()))
    claim.measure('speed_ratio', float(np.median(coupled)), '1', '4.5..5.5', 'hammer to key, each at its fastest until let-off parts them, median: ' + listed(coupled))
    claim.measure('impact_ratio', float(np.median(struck)), '1', '', 'the same with the hammer at impact, slower by its free flight: ' + listed(struck))
    claim.measure('way_ratio', float(np.median(ratios)), '1', '', 'hammer to key, ways from 1.5 mm of key travel to the string: ' + listed(ratios))
    forces = {touch: recorded.scene(f'blow.{touch}').notes.get('newton') for touch in found}
    if all(forces.values()):
        free = [piano_time.free_blow(newton) for newton in forces.values()]
        claim.measure('speed_ratio_free', float(np.median([f['ratio'] for f in free])), '1', '', 'the free action with a key as heavy as the device\'s, same finger: '
                      + listed(f['ratio'] for f in free))
        apart = [100 * (seen[0] / f['hammer'] - 1) for seen, f in zip(found.values(), free)]
        claim.measure('hammer_against_free', float(np.median(np.abs(apart))), '%', '', 'median difference of hammer speed from that of the free action: ' + listed(apart, '+.0f'))
    speeds = [seen[0] for seen in found.values()]
    claim.measure('louder_is_faster', bool(np.all(np.diff(speeds) > 0)), '', 'true', ok=np.all(np.diff(speeds) > 0))
    softest, loudest = list(found.values())[0][2], list(found.values())[-1][2]
    claim.measure('soft_impact', 1e3 * softest, 'ms after bottom', '<0', 'the softest blow strikes before the bottom')
    claim.measure('loud_impact', 1e3 * loudest, 'ms after bottom', '>0', 'the loudest after it')
    claim.saw = f'Hammer speeds from {speeds[0]:.1f} to {speeds[-1]:.1f} m/s; the string is met {-1e3 * softest:.0f} ms before the bottom in the softest and {1e3 * loudest:.0f} ms after it in the loudest blow.'
    figure, axes = panels(2, 2.2, sharex=True)
    for (touch, seen), colour in zip(found.items(), ('#c9b27a', GOLD, '#c46a3a', RED, INK)):
        t, front, gap = seen[3]
        axes[0].plot(1e3 * t, 1e3 * front, color=colour, label=touch)
        axes[1].plot(1e3 * t, 1e3 * gap, color=colour)
    axes[0].invert_yaxis()
    axes[0].set_ylabel('key front (mm)')
    axes[0].legend(loc='lower right', ncols=5, fontsize=9)
    axes[1].set_ylabel('hammer to string (mm)')
    axes[1].set_xlabel('time from the first motion of the key (ms)')
    axes[1].set_xlim(-10, 200)
    claim.draw(figure, 'Five blows: the key goes down, the hammer flies up to the string (0 mm) and is caught.')
    return claim


def listed(values, form='.1f') -> str:
    """Return numbers as a list to read."""
    return ', '.join(format(value, form) for value in values)


def one_blow(recorded, name):
    """Return (hammer speed, key speed, time of impact after bottom, (t, front, gap), ratio of ways, of speeds) of a blow, or None."""
    out, t = in_scene(recorded, 'model_outputs', name)
    struck = strikes_in(recorded, name)
    if out is None or not struck:
        return None
    # One sample of the model is a millisecond of its time, also where the machine has paused.
    ms = np.arange(len(t)) * 1e-3
    front, gap = out['key.front'], out['hammer.gap']
    start = int(np.argmax(front > 2e-4))
    first = struck[0]
    at = int(np.searchsorted(t, first.t))
    hit = at + int(np.argmax(gap[at:at + 10] <= 1e-4)) if (gap[at:at + 10] <= 1e-4).any() else at
    bottom = int(np.argmax(front > BOTTOM))
    if bottom == 0:
        return None
    # Key and hammer are coupled until let-off, where the hammer is fastest; then the key, freed of it, runs on to its bed.
    off = start + int(np.argmax(out['hammer.speed'][start:hit + 1]))
    moving = int(np.argmax(front > 1.5e-3))
    ratio = float((gap[moving] - gap[hit]) / (front[hit] - front[moving]))
    joint, _ = in_scene(recorded, 'joint_states', name)
    key = FRONT * float(joint.between(t[start] + recorded.scene(name).begin, t[off] + recorded.scene(name).begin + 5e-4).column('key', 'velocity').max())
    return first.speed, key, crossing(ms, -gap, hit, -1e-4) - crossing(ms, front, bottom, BOTTOM), (ms - ms[start], front, gap), ratio, float(out['hammer.speed'][off]) / key


def crossing(t, values, k, level):
    """Return when values, below the level at k-1, reach it at k; straight between samples."""
    if k < 1 or values[k] == values[k - 1]:
        return float(t[k])
    return float(t[k - 1] + (t[k] - t[k - 1]) * np.clip((level - values[k - 1]) / (values[k] - values[k - 1]), 0.0, 1.0))


def rendering(recorded) -> Claim:
    """The force that the actuator adds, against the action's own force for the same true motion of the key."""
    claim = Claim('rendering', 'How true the touch is', 'Not published as a figure; our aim: the device\'s force differs from the action\'s for the same motion of the key by less than '
                  '5 % of its range, rms.')
    scenes = [s for s in recorded.scenes if s.name.startswith(('dip', 'blow.', 'double', 'half')) and 'truth' in recorded]
    runs = {scene.name: compared(recorded, scene) for scene in scenes}
    runs = {name: run for name, run in runs.items() if run is not None}
    if not runs:
        claim.lacks('error', "the recording has no scenes with the device's true force on the topic 'truth'")
        return claim
    kept = np.concatenate([run['kept'] for run in runs.values()])
    error = np.concatenate([run['felt'] - run['ideal'] for run in runs.values()])[kept]
    span = float(np.ptp(np.concatenate([run['ideal'] for run in runs.values()])[kept]))
    claim.measure('error', 100 * float(np.sqrt(np.mean(error**2))) / span, '% of range', '<5', f'rms {np.sqrt(np.mean(error**2)):.3f} N of a range of {span:.1f} N, over {len(runs)} scenes')
    claim.measure('not_judged', 100 * float(1 - kept.mean()), '% of the time', '<60', f'the machine paused the loop for more than {1e3 * STALL:g} ms there')
    latency = loop_latency(recorded)
    claim.measure('latency', 1e3 * latency, 'ms', '<5', 'from a sample to when the device has its answer, median')
    for newton, word in ((2.0, 'p'), (5.0, 'mf')):
        parts = piano_time.shares(newton, min(latency, 0.9e-3))
        for source, what in piano_time.SOURCES.items():
            claim.measure(f'{word}.{source}', 100 * parts[source] / parts['range'], '% of range', '', f'{what}; {newton:g} N blow, in virtual time')
    claim.saw = f'Through sensors, link, both nodes and current loop the force is true to {claim.rows[0].value:.1f} % of its range.'
    shown = [name for name in ('blow.mf', 'blow.f', 'dip') if name in runs][:2]
    figure, axes = panels(max(len(shown), 1), 2.4)
    for ax, name in zip(axes, shown):
        run = runs[name]
        ax.plot(run['t'], run['ideal'], color=INK, linewidth=1.4, label='the action, same motion')
        ax.plot(run['t'], run['felt'], color=RED, linewidth=0.8, label='the device')
        ax.set_ylabel(f'{name} (N)')
    axes[0].legend(loc='upper right', fontsize=9)
    axes[-1].set_xlabel('time (s)')
    claim.draw(figure, 'Force at the front of the key that replaces the action, and what the action itself would have answered to the same true motion.')
    return claim


def compared(recorded, scene):
    """Return {'t', 'felt', 'ideal', 'kept'} of a scene: forces at the front (N), and where the loop was not held up."""
    truth, out = recorded.part('truth', scene), recorded.part('model_outputs', scene)
    if not len(truth.t) or not len(out.t) or not {'height', 'velocity', 'force'} <= set(truth.names):
        return None
    at = np.arange(truth.t[0], truth.t[-1], 1e-3)
    turned = {name: scene.notes[name] for name in SETTINGS if name in scene.notes}
    ideal = piano_time.ideal(truth.at(at, 'height'), 2.0 * truth.at(at, 'velocity'), turned)
    kept = np.ones(len(at), bool)
    pauses = np.flatnonzero(np.diff(out.t) > STALL)
    for k in pauses:
        kept[(at > out.t[k]) & (at < out.t[k + 1] + AFTER)] = False
    kept[at < out.t[0] + 0.05] = False
    return {'t': at - scene.begin, 'felt': -truth.at(at, 'force') * piano_time.COIL / FRONT, 'ideal': ideal, 'kept': kept}


def loop_latency(recorded) -> float:
    """Return the median time (s) from a sample to its answer in the device that roscom reported; 1 ms if it did not."""
    seen = [float(values['loop_latency_us']) for _, name, values in recorded.diagnostics if name.endswith('roscom: link') and 'loop_latency_us' in values]
    return 1e-6 * float(np.median(seen)) if seen else 1e-3


def actuator() -> Claim:
    """The voice coil: 50 N within 20 ms, in virtual time through the firmware."""
    from mbs_haptics.firmware.sim import Sim, SimHost
    claim = Claim('actuator', 'Fifty newtons in twenty milliseconds', 'The actuator has to give 50 N within 20 ms (Timmermans 2020).')
    sim = Sim('piano_key', 1)
    host = SimHost(sim)
    sim.set(hand__mode=1, hand__target=0.005, hand__stiffness=2e5, hand__damping=400.0)        # the key held in the middle
    host.arm()
    log = host.run(60, [(50.0, 0.0, 0.0, 0.0)], every=1)
    name = next(column for column in log if column.startswith('force'))
    force, t = np.asarray(log[name]), 1e-4 * np.arange(len(log[name]))
    reached = np.flatnonzero(force >= 49.0)
    rise = 1e3 * float(t[reached[0]]) if reached.size else float('nan')
    claim.measure('rise', rise, 'ms', '<=20', 'from the set-point to 98 % of 50 N at the coil, key held, all limits on')
    claim.measure('largest', float(force.max()), 'N', '49..52', 'never more')
    claim.saw = f'The voice coil reaches 49 N after {rise:.1f} ms.'
    figure, (ax,) = panels(1, 2.2)
    ax.plot(1e3 * t, force, color=BLUE)
    ax.axhline(50.0, color=INK, linestyle='--', linewidth=1)
    ax.set_xlabel('time (ms)')
    ax.set_ylabel('force at the coil (N)')
    claim.draw(figure, 'Step of the set-point through the firmware: link, limits, current loop and winding.')
    return claim
