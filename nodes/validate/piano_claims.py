"""Claims P1 to P5 of the piano key: speed of the model, double keystrokes, Hall sensors and the velocity coil."""

import time

import numpy as np

from mbs_haptics.plots import STYLE, plt
from mbs_haptics.strikes import strikes_of
from mbs_haptics.validate.claims import Claim
from mbs_haptics.validate.piano_time import FRONT, Action

INK, RED, BLUE, GREEN, GOLD = '#22252a', '#b3362b', '#2f6690', '#2c7a4b', '#c08a2d'
BACK = 0.5e-3           # m: a key within this of its rest is fully back


def judge(recorded):
    """Return P1 to P5."""
    return [speed(recorded), slow_double(recorded), fast_double(recorded), hall(recorded), coil(recorded)]


def panels(n, height=2.1, width=9.0, **more):
    """Return (figure, axes) of n panels below each other, in the reports' style."""
    with plt.rc_context({**STYLE, 'font.family': 'serif', 'axes.edgecolor': '#9a9a94', 'grid.color': '#d8d5cc'}):
        figure, axes = plt.subplots(n, 1, figsize=(width, 0.6 + height * n), layout='constrained', squeeze=False, **more)
    return figure, axes[:, 0]


def in_scene(recorded, topic, name):
    """Return (part of a topic, its times from the scene's beginning), or (None, None) without that scene or topic."""
    scene = recorded.scene(name)
    if scene is None or topic not in recorded:
        return None, None
    part = recorded.part(topic, scene)
    return (part, part.t - scene.begin) if len(part.t) > 10 else (None, None)


def strikes_in(recorded, name) -> list:
    """Return the strikes of a scene, in its time."""
    out, t = in_scene(recorded, 'model_outputs', name)
    return [] if out is None else strikes_of(t, out['hammer.gap'], out['hammer.speed'], out['string.force'])


# -- P1 -------------------------------------------------------------------------------------------------
def speed(recorded) -> Claim:
    """P1: the model runs in less than 1 ms."""
    claim = Claim('P1', 'The model keeps up with the finger', 'The controller computes the model in real time, in less than 1 ms.')
    costs = step_costs(recorded)
    claim.measure('model_median', 100 * np.median(costs) / 1e-3, '% of 1 ms', '<=5', f'{len(costs)} steps of the recorded motion, replayed on this machine')
    claim.measure('model_worst', 100 * costs.max() / 1e-3, '% of 1 ms', '<=20', 'each step as the quickest of five, so that only its own work counts')
    loop = recorded.loop()
    if loop:
        for name, key, aim in (('tick_median', 'execution.p50_us', '<250'), ('tick_p99', 'execution.p99_us', '<1000')):
            claim.measure(name, float(loop[key]), 'us', aim, 'whole tick: sample, model, limits, message; with what else ran on the machine')
        claim.measure('tick_largest', float(loop['execution.max_us']), 'us', '', f"of {loop['ticks']} ticks; a machine shared with others may take the processor away")
    else:
        claim.lacks('tick_median', 'the recording has no /diagnostics of rosbotran')
    claim.saw = f'A step of the action takes {1e6 * np.median(costs):.0f} microseconds, and never more than {1e6 * costs.max():.0f}.'
    figure, (ax,) = panels(1, 2.4)
    ax.hist(1e6 * costs, bins=np.linspace(0, 1.2e6 * costs.max(), 80), color=BLUE)
    ax.set_yscale('log')
    ax.set_xlabel('time of one step of the model (µs); 1000 are allowed')
    ax.set_ylabel('steps')
    claim.draw(figure, 'How long each step of the model took, of every millisecond that was played.')
    return claim


def step_costs(recorded, most=20000) -> np.ndarray:
    """Return the time of each model step (s) over the recorded motion: the quickest of five replays."""
    joint = recorded.topics['joint_states']
    playing = recorded.scene('playing')
    part = joint.between(playing.begin, playing.end) if playing else joint
    q, qd = part['key'][:most], part.column('key', 'velocity')[:most]
    runs = []
    for _ in range(5):
        action, costs = Action(), np.empty(len(q))
        for k in range(len(q)):
            began = time.perf_counter()
            action.state.step(1e-3, 'rk4', 20)
            costs[k] = time.perf_counter() - began
            action.state.drive('key', *(action.before or (q[k], qd[k], 0.0)), then=(q[k], qd[k], 0.0))
            action.before = (q[k], qd[k], 0.0)
        runs.append(costs)
    return np.min(runs, axis=0)[1:]


# -- P2, P3 ---------------------------------------------------------------------------------------------
def slow_double(recorded) -> Claim:
    """P2: the slow double keystroke of Fig. 14-15."""
    claim = Claim('P2', 'A slow double keystroke', 'The hammer strikes twice; the pilot force rises with oscillations to a quasi-steady value close to 3 N, '
                  'and peaks when the key is released, from the hammer\'s rebound (Fig. 14-15).')
    out, t = in_scene(recorded, 'model_outputs', 'double.slow')
    if out is None:
        claim.lacks('strikes', "the recording has no scene 'double.slow'")
        return claim
    front, pilot = out['key.front'], out['pilot.force']
    presses = pressed(front, t)
    struck = strikes_in(recorded, 'double.slow')
    first = [min((s for s in struck if a - 0.1 < s.t < b), key=lambda s: s.t, default=None) for a, b in presses]
    claim.measure('strikes', sum(s is not None for s in first), 'keystrokes that sound', '==2', f'{len(presses)} keystrokes')
    holds = [(a + 0.5 * (b - a), b - 0.03) for a, b in presses]
    steady = [float(np.median(pilot[(t > a) & (t < b)])) for a, b in holds]
    claim.measure('quasi_steady', float(np.mean(steady)), 'N', '2.4..3.6', 'pilot force while the key is held, published close to 3 N')
    a, b = presses[0]
    claim.measure('oscillations', turns(pilot[(t > a - 0.1) & (t < a + 0.5 * (b - a))]), 'turns', '>=3', 'of the pilot force, larger than 0.1 N, on the way to that value')
    peaks = [float(pilot[(t > b) & (t < b + 0.35)].max()) for _, b in presses]
    claim.measure('release_peak', min(peaks) - float(np.mean(steady)), 'N above the steady value', '>0.3', 'when the action falls back to rest')
    claim.saw = (f'{claim.rows[0].value} keystrokes sound; held down, the whippen presses on the pilot with {np.mean(steady):.2f} N, and the falling hammer '
                 f'brings up to {max(peaks):.1f} N.')
    claim.draw(stroke_picture(t, out, struck), 'Front of the key, hammer angle and pilot force. Dots: strikes on the string.')
    return claim


def fast_double(recorded) -> Claim:
    """P3: the fast double keystroke of Fig. 16-17."""
    claim = Claim('P3', 'A fast double keystroke', 'A faster double blow repeats the note; the second strike comes before the key is fully back (Fig. 16-17).')
    out, t = in_scene(recorded, 'model_outputs', 'double.fast')
    if out is None:
        claim.lacks('strikes', "the recording has no scene 'double.fast'")
        return claim
    struck = [s for s in strikes_in(recorded, 'double.fast') if s.speed > 0.4]
    presses = pressed(out['key.front'], t)
    sounding = [min((s for s in struck if a - 0.1 < s.t < b), key=lambda s: s.t, default=None) for a, b in presses]
    claim.measure('strikes', sum(s is not None for s in sounding), 'keystrokes that sound', '>=2', f'{len(presses)} keystrokes')
    if len(sounding) >= 2 and all(sounding[:2]):
        between = out['key.front'][(t > sounding[0].t) & (t < sounding[1].t)]
        claim.measure('least_depth', 1e3 * float(between.min()), 'mm', f'>{1e3 * BACK:g}', 'of the key between the two strikes: it was never fully back')
        claim.measure('interval', sounding[1].t - sounding[0].t, 's', '<0.4', 'from strike to strike')
        claim.saw = f'The second strike sounds {1e3 * (sounding[1].t - sounding[0].t):.0f} ms after the first, with the key still {1e3 * between.min():.1f} mm down at its highest.'
    claim.draw(stroke_picture(t, out, struck), 'Front of the key, hammer angle and pilot force. Dots: strikes on the string.')
    return claim


def pressed(front, t, deep=8e-3, up=6.5e-3) -> list:
    """Return [(begin, end)] of the times when the key is down: beyond `deep`, until it is above `up` again."""
    spans, begin = [], None
    for now, x in zip(t, front):
        if begin is None and x > deep:
            begin = now
        elif begin is not None and x < up:
            spans.append((float(begin), float(now)))
            begin = None
    return [*spans, (float(begin), float(t[-1]))] if begin is not None else spans


def turns(values, least=0.1) -> int:
    """Return how often a curve turns by more than `least`."""
    count, direction, extreme = 0, 0, values[0] if len(values) else 0.0
    for value in values:
        if direction >= 0 and value < extreme - least or direction <= 0 and value > extreme + least:
            count += direction != 0
            direction, extreme = (-1 if value < extreme else 1), value
        elif (value - extreme) * direction > 0:
            extreme = value
    return count


def stroke_picture(t, out, struck):
    """Draw front, hammer and pilot force of a scene."""
    figure, axes = panels(3, 1.6, sharex=True)
    for ax, values, label, colour in ((axes[0], 1e3 * out['key.front'], 'key front (mm)', INK),
                                      (axes[1], np.degrees(out['hammer.angle']), 'hammer (deg)', BLUE), (axes[2], out['pilot.force'], 'pilot force (N)', RED)):
        ax.plot(t, values, color=colour, linewidth=1.2)
        ax.set_ylabel(label)
    axes[0].invert_yaxis()
    for s in struck:
        axes[1].plot(s.t, np.interp(s.t, t, np.degrees(out['hammer.angle'])), 'o', color=GOLD, markersize=2.5 + 2 * s.speed)
    axes[-1].set_xlabel('time (s)')
    return figure


# -- P4, P5 ---------------------------------------------------------------------------------------------
def hall(recorded) -> Claim:
    """P4: the Hall pair of eq. 17, Fig. 19-20."""
    claim = Claim('P4', 'Two Hall sensors see the key', 'k (Uf² - Ur²) + O is linear in the height of the key; at 5 Hz the error stays within 10 %, with a small quadratic '
                  'deviation in the first and last millimetre (eq. 17, Fig. 19-20).')
    figure, axes = panels(2, 2.6)
    for ax, name, word in ((axes[0], 'hall.slow', 'slow'), (axes[1], 'hall.fast', 'fast')):
        sensed, t = in_scene(recorded, 'joint_states', name)
        truth, _ = in_scene(recorded, 'truth', name)
        if sensed is None or truth is None:
            claim.lacks(f'{word}_error', f"the recording has no scene '{name}' with a reference sensor on the topic 'truth'")
            continue
        true, seen = truth.at(sensed.t, 'height'), FRONT * np.sin(sensed['key'])
        error = seen - true
        claim.measure(f'{word}_error', 100 * float(np.abs(error).max()) / 0.010, '% of 10 mm', '<=10' if word == 'fast' else '<=5', 'largest difference of sensed and true height')
        middle, ends = (true > 1.2e-3) & (true < 8.8e-3), (true < 0.6e-3) | (true > 9.4e-3)
        fit = np.polyfit(true[middle], seen[middle], 1)
        claim.measure(f'{word}_slope', float(fit[0]), 'm/m', '0.98..1.02', 'of sensed over true height between 1 and 9 mm')
        if word == 'slow':
            bend = float(np.abs(error[ends]).max() - np.abs(error[middle]).max())
            claim.measure('end_deviation', 1e6 * bend, 'um', '>10', 'more error in the first and last millimetre than between: the quadratic deviation')
        ax.plot(1e3 * true, 1e3 * error, '.', markersize=1.2, color=BLUE)
        ax.set_ylabel(f'{word}: error (mm)')
    axes[-1].set_xlabel('true height of the front (mm)')
    if claim.rows and claim.rows[0].value is not None:
        claim.saw = 'The combined voltage is straight to a few hundredths of a millimetre, and bends where the magnets are nearest, in the first and last millimetre.'
        claim.draw(figure, 'Sensed minus true height over true height; above below 1 Hz, below at 5 Hz.')
    else:
        plt.close(figure)
    return claim


def coil(recorded) -> Claim:
    """P5: the velocity coil of eq. 18 and half keystrokes, Fig. 21-22."""
    claim = Claim('P5', 'A coil feels the speed, and half a stroke repeats the note', 'U = κ ż (eq. 18): the homemade coil captures the velocity quite well, apart from some spikes '
                  '(Fig. 21); halfway keystrokes repeat the note by the double escapement (Fig. 22).')
    for name, word in (('double.slow', 'full'), ('half', 'half')):
        sensed, t = in_scene(recorded, 'joint_states', name)
        truth, _ = in_scene(recorded, 'truth', name)
        if sensed is None or truth is None:
            claim.lacks(f'{word}_error', f"the recording has no scene '{name}' with a reference sensor on the topic 'truth'")
            continue
        true, seen = 2.0 * truth.at(sensed.t, 'velocity'), FRONT * sensed.column('key', 'velocity')
        claim.measure(f'{word}_error', 100 * float(np.sqrt(np.mean((seen - true)**2)) / np.ptp(true)), '% of range', '<=5', 'rms, sensed against true velocity')
        claim.measure(f'{word}_correlation', float(np.corrcoef(seen, true)[0, 1]), '1', '>0.98')
    out, t = in_scene(recorded, 'model_outputs', 'half')
    if out is not None:
        presses = pressed(out['key.front'], t)
        struck = [s for s in strikes_in(recorded, 'half') if s.speed > 0.4]
        again = sum(any(a - 0.1 < s.t < b for s in struck) for a, b in presses)
        claim.measure('half_strokes', again, 'strikes', f'=={len(presses)}', f'of {len(presses)} keystrokes; the key came back to 4.5 mm only')
        claim.measure('half_strokes_played', len(presses), 'keystrokes', '>=2')
        claim.saw = f'{again} of {len(presses)} keystrokes sound although the key comes up no further than half way between them.'
        figure, axes = panels(3, 1.6, sharex=True)
        sensed, ts = in_scene(recorded, 'joint_states', 'half')
        truth, tt = in_scene(recorded, 'truth', 'half')
        axes[0].plot(t, 1e3 * out['key.front'], color=INK)
        axes[0].invert_yaxis()
        axes[0].set_ylabel('key front (mm)')
        axes[1].plot(ts, FRONT * sensed.column('key', 'velocity'), color=RED, linewidth=1.0, label='sensed')
        if truth is not None:
            axes[1].plot(tt, 2.0 * truth['velocity'], color=INK, linewidth=0.9, linestyle='--', label='true')
        axes[1].set_ylabel('speed (m/s)')
        axes[1].legend(loc='upper right', fontsize=8)
        axes[2].plot(t, 1e3 * out['hammer.gap'], color=BLUE)
        axes[2].set_ylabel('hammer to string (mm)')
        axes[2].set_xlabel('time (s)')
        claim.draw(figure, 'Half keystrokes: the key, its sensed and true speed, and the hammer, which reaches the string (0 mm) each time.')
    return claim
