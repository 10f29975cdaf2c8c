"""Claims about the haptic steering wheel (001 section 5.2, Fig. 28-30), driven by a virtual driver through the whole stack."""

import numpy as np

from mbs_core.control.driver import Driver, Evasion
from mbs_haptics.validate.bench import Bench
from mbs_haptics.validate.claims import Claim
from mbs_haptics.validate.virtual_driver import VirtualDriver

TITLE = 'Haptic steering wheel'
INTRODUCTION = ('A driver at 75 km/h avoids an obstacle that appears suddenly, with three caster distances that nobody told him; '
                'suspension and road change while he drives; pedals change the speed; and the wheel is released.')
TOPICS = ('joint_states', 'setpoint', 'model_outputs')
SIGNALS = ('position', 'velocity', 'force', 'hand.force', 'throttle', 'brake')
WHEEL = 'steering_wheel'
CASTERS = (0.0, 30.0, 60.0)                                 # mm
HALF_WIDTH = 0.85                                           # m, of the car
# setting: (value, output that shows it)
SETTINGS = {'caster.distance': (60.0, f'{WHEEL}.effort'), 'caster.angle': (10.0, f'{WHEEL}.effort'), 'front.toe': (0.5, 'front.left.fy'),
            'front.camber': (-3.0, 'front.left.fy'), 'front.anti_roll': (40000.0, 'vehicle.roll'), 'road.friction': (0.5, f'{WHEEL}.effort'),
            'rear.spring': (60000.0, 'vehicle.roll'), 'front.damping': (6000.0, '')}
CHIRP = (0.5, 100.0)                                        # Hz
PROBE = 0.8                                                 # N m
# km/h: (where the arms pull the wheel to before they let go / rad, least angle they get there, share left from 2 s on / %)
RELEASES = {75: (0.8, 0.2, 30.0), 130: (0.2, 0.05, 30.0), 20: (1.5, 0.5, 60.0)}


# -- the run ----------------------------------------------------------------------------------------

def stage(folder, quick, domain, progress):
    """Play every scene; return the recording."""
    with Bench('steering_wheel', folder, signals=SIGNALS, domain=domain) as bench:
        wheel = VirtualDriver(bench, Driver())
        for caster in CASTERS[::2] if quick else CASTERS:
            progress(f'evasion with a caster distance of {caster:g} mm')
            avoid(bench, wheel, caster)
        progress('settings changed in a corner')
        change_settings(bench, wheel, list(SETTINGS)[:3] if quick else SETTINGS)
        progress('pedals')
        use_pedals(bench, wheel)
        progress('hands off')
        for speed in list(RELEASES)[:1] if quick else RELEASES:
            let_go(bench, wheel, speed)
        progress('torque bandwidth')
        probe(bench, 8.0 if quick else 20.0)
        bench.scene('end')
    return bench.bag


def avoid(bench, wheel, caster):
    """Drive straight, see the obstacle, avoid it and come back."""
    bench.set(**{'caster.distance': caster})
    straight = wheel.driver
    wheel.drive(lambda x: 0.0, 1.5)
    begin = wheel.car['x'] + 14.0
    way = Evasion(begin)
    x0, x1, y0, y1 = way.obstacle
    bench.scene(f'avoid_{caster:g}', caster=caster, start=begin, obstacle=[x0, x1, y0, y1], preview=straight.preview)
    wheel.drive(way.y, 12.0, until=lambda car: car['x'] > begin + 110.0)
    bench.scene('straight')
    wheel.drive(lambda x: 0.0, 1.0)


def change_settings(bench, wheel, names):
    """Hold a corner with still arms and change one setting after the other, there and back."""
    bench.set(**{'caster.distance': DEFAULTS['caster.distance']})
    wheel.pull(0.45)
    bench.scene('corner', seconds=2.0)
    for name in names:
        before = bench.notes.get(name)
        default = before if before is not None else DEFAULTS[name]
        bench.scene(f'before_{name}', seconds=0.4)
        bench.scene(f'set_{name}', setting=name, value=SETTINGS[name][0])
        bench.set(**{name: SETTINGS[name][0]})
        bench.wait(1.0)
        bench.scene(f'back_{name}', setting=name, value=default)
        bench.set(**{name: default})
        bench.wait(0.8)
    bench.scene('straighten')
    wheel.pull(0.0)
    bench.wait(1.0)


DEFAULTS = {'caster.angle': 5.38, 'front.toe': 0.0, 'front.camber': 0.0, 'front.anti_roll': 6914.8817, 'road.friction': 1.0,
            'rear.spring': 19635.505, 'front.damping': 1786.2441, 'caster.distance': 13.5}


def use_pedals(bench, wheel):
    """Press the accelerator, then the brake, then neither; the hold brings the speed back."""
    bench.scene('cruise', seconds=1.0)
    bench.plant(throttle=0.7)
    bench.scene('accelerator', seconds=2.0)
    bench.plant(throttle=0.0, brake=0.35)
    bench.scene('brake', seconds=2.0)
    bench.plant(brake=0.0)
    bench.scene('released_pedals', seconds=3.0)


def let_go(bench, wheel, speed):
    """Come to a speed, hold the wheel turned, then take the hands off."""
    wheel.pull(0.0)
    bench.set(**{'hold.speed': speed})
    if wheel.car['speed'] > speed / 3.6 + 1.0:
        bench.plant(brake=0.5)
        wheel.watch(lambda car: car['speed'] < speed / 3.6 + 0.3, 12.0)
        bench.plant(brake=0.0)
    wheel.watch(lambda car: abs(car['speed'] - speed / 3.6) < 0.6, 15.0)
    wheel.pull(RELEASES[speed][0])
    bench.scene(f'turned_{speed}', seconds=0.8)
    wheel.release()
    bench.scene(f'hands_off_{speed}', seconds=5.0, speed=speed)
    bench.scene('hands_on')
    wheel.grip()
    bench.wait(0.5)


def probe(bench, seconds):
    """Hold the wheel fast and let the model add a chirp of torque."""
    bench.plant(hand__dip=0.0, hand__target=0.0)
    bench.act(mode=2, speed=1.0)
    bench.set(**{'probe.torque': PROBE, 'probe.frequency': CHIRP[0], 'probe.sweep': 0.0})
    bench.wait(0.6)
    bench.scene('chirp', low=CHIRP[0], high=CHIRP[1])
    bench.set(**{'probe.sweep': float(np.log(1.1 * CHIRP[1] / CHIRP[0]) / seconds)})
    bench.wait(seconds + 0.3)
    bench.scene('chirp_end')
    bench.set(**{'probe.torque': 0.0, 'probe.sweep': 0.0})
    bench.wait(0.4)


# -- the judgement ----------------------------------------------------------------------------------

def judge(recorded):
    """Return the claims S1 to S5 and the device's own promises."""
    runs = [run for run in (evasion(recorded, scene) for scene in recorded.scenes if scene.name.startswith('avoid_')) if run]
    return [path_claim(recorded, runs), torque_claim(runs), live_claim(recorded), pedal_claim(recorded), view_claim(recorded),
            release_claim(recorded), bandwidth_claim(recorded)]


def evasion(recorded, scene):
    """Return one avoidance as plain arrays."""
    out, joint = recorded.part('model_outputs', scene), recorded.part('joint_states', scene)
    if len(out.t) < 100 or len(joint.t) < 100:
        return None
    return {'caster': scene.notes['caster'], 'obstacle': scene.notes['obstacle'], 't': out.t - scene.begin, 'x': out['vehicle.x'] - scene.notes['start'],
            'y': out['vehicle.y'], 'speed': out['vehicle.speed'], 'ay': out['vehicle.ay'], 'torque': -out[f'{WHEEL}.effort'],
            'angle': joint.at(out.t, WHEEL), 'start': scene.notes['start']}


def path_claim(recorded, runs):
    """S1: Fig. 28."""
    claim = Claim('S1', 'A car at 75 km/h avoids an obstacle that appears suddenly', 'Fig. 28: lateral against longitudinal '
                  'displacement with three casters; the behaviour differs with the caster.')
    for run in runs:
        name = f'caster_{run["caster"]:g}'
        x0, x1, _, y1 = run['obstacle']
        beside = (run['x'] + run['start'] > x0) & (run['x'] + run['start'] < x1)
        claim.measure(f'{name}.speed', 3.6 * float(np.mean(run['speed'])), 'km/h', '73..77')
        claim.measure(f'{name}.clearance', float(np.min(run['y'][beside]) - HALF_WIDTH - y1), 'm', '>0', 'between car and obstacle')
        claim.measure(f'{name}.returned', float(abs(run['y'][-1])), 'm', '<0.5', 'from the middle of the lane, at the end')
    if len(runs) > 1:
        x = np.linspace(10.0, 95.0, 200)
        ways = np.array([np.interp(x, run['x'], run['y']) for run in runs])
        claim.measure('paths_differ', float(np.ptp(ways, axis=0).max()), 'm', '>0.03', 'most distance between the paths')
    loop = recorded.loop()
    if 'execution.p50_us' in loop:
        claim.measure('tick_share', float(loop['execution.p50_us']) / 10.0, '%', '<=10', 'of the tick used by model, limits and messages, median')
    claim.saw = 'The driver avoids the obstacle and comes back with every caster; the paths differ by what the torque does to the arms.'
    claim.draw(plot_runs(runs, 'x', 'y', 'along the road / m', 'to the left / m', obstacle=True), 'Fig. 28: paths, and the obstacle.')
    return claim


def torque_claim(runs):
    """S2: Fig. 29 and 30."""
    claim = Claim('S2', 'The torque is higher with a higher caster', 'Fig. 29-30: for the first negative peak and a very close angle '
                  'the feedback torque is higher for a higher caster.')
    angles, torques = [], []
    for run in runs:
        first = run['t'] < run['t'][np.argmax(run['y'] > 1.5)] if np.any(run['y'] > 1.5) else run['t'] < 2.0
        angles.append(float(np.max(run['angle'][first])))
        torques.append(float(np.min(run['torque'][first])))
        claim.measure(f'angle_{run["caster"]:g}', angles[-1], 'rad', '0.1..1', 'first peak of the wheel')
        claim.measure(f'torque_{run["caster"]:g}', torques[-1], 'N m', '<0', 'first negative peak')
    if len(runs) > 1:
        claim.measure('angles_close', 100 * (max(angles) / min(angles) - 1), '%', '<30', 'spread of the first peaks of the angle')
        claim.measure('torque_ordered', bool(np.all(np.diff(torques) < -0.5)), aim='higher with each caster', ok=np.all(np.diff(torques) < -0.5))
        per = [-t / a for t, a in zip(torques, angles)]
        claim.measure('torque_per_angle', per[-1] / per[0], '1', '>1.2', 'at the first peaks, largest against smallest caster')
        claim.saw = 'First peaks: ' + ', '.join(f'{a:.2f} rad and {t:.2f} N m at {run["caster"]:g} mm'
                                                for a, t, run in zip(angles, torques, runs)) + '.'
    claim.draw(plot_runs(runs, 't', ('angle', 'torque'), 'time / s', ('wheel angle / rad', 'torque / N m')),
               'Fig. 29 and 30: angle of the steering wheel, and torque fed back.')
    return claim


def live_claim(recorded):
    """S3: settings change while driving."""
    from matplotlib import pyplot as plt
    claim = Claim('S3', 'Suspension and road change while driving', 'The model can be tuned in real time: suspension settings and tyre-ground '
                  'characteristics.', saw='Every setting acts while the wheel is held in a corner, and the torque never jumps.')
    figure, axes = plt.subplots(figsize=(8, 4))
    for scene in (s for s in recorded.scenes if s.name.startswith('set_')):
        name, before = scene.notes['setting'], recorded.scene(f'before_{scene.name[4:]}')
        torque = recorded.part('model_outputs', scene)      # what is asked for: a stalled machine lets the set-point decay
        t, force = torque.t - scene.begin, -torque[f'{WHEEL}.effort']
        step = np.interp(t + 0.005, t, force) - force
        claim.measure(f'{name}.jump', float(np.abs(step[t < t[-1] - 0.005]).max()), 'N m', '<0.6', 'largest change of torque within 5 ms')
        shows = SETTINGS[name][1]
        if shows:
            then, now = recorded.part('model_outputs', before)[shows], recorded.part('model_outputs', scene)[shows]
            old, new, noise = np.mean(then), np.mean(now[-200:]), max(np.std(then), 1e-9)
            claim.measure(f'{name}.effect', float(abs(new - old) / abs(old) * 100), '%', '>1.5', f'of {shows}, when settled (noise {100 * noise / abs(old):.2g} %)')
        axes.plot(t, force, label=f'{name} = {scene.notes["value"]:g}')
    axes.set(xlabel='time since the change / s', ylabel='torque / N m', xlim=(0, 1.0))
    axes.legend(fontsize=7)
    claim.draw(figure, 'Torque at the wheel held in a corner while one setting after the other is changed.')
    if not claim.rows:
        claim.lacks('settings', 'no scene set_...')
    return claim


def pedal_claim(recorded):
    """S4: pedals."""
    from matplotlib import pyplot as plt
    claim = Claim('S4', 'Pedals change the speed', 'Announced: accelerator and brake measured by potentiometers change the speed.',
                  saw='Both pedals reach the car through their potentiometers; released, the speed hold brings 75 km/h back.')
    speeds = {}
    for name in ('cruise', 'accelerator', 'brake', 'released_pedals'):
        scene = recorded.scene(name)
        if scene is None:
            claim.lacks(name, f"no scene '{name}'")
            return claim
        speeds[name] = recorded.part('model_outputs', scene)
    last = {name: 3.6 * float(series['vehicle.speed'][-20:].mean()) for name, series in speeds.items()}
    claim.measure('accelerator', last['accelerator'] - last['cruise'], 'km/h', '>8', 'gained in 2 s')
    claim.measure('brake', last['brake'] - last['accelerator'], 'km/h', '<-15', 'lost in 2 s')
    claim.measure('hold', last['released_pedals'] - last['brake'], 'km/h', '>3', 'won back in 3 s by the speed hold')
    measured = recorded.part('joint_states', recorded.scene('accelerator'))
    if 'accelerator' in measured.names:
        claim.measure('measured', float(np.nanmedian(measured['accelerator'][-200:])), '1', '0.68..0.72', 'accelerator as its potentiometer says, pressed to 0.7')
    figure, axes = plt.subplots(figsize=(8, 3))
    begin = speeds['cruise'].t[0]
    for name, series in speeds.items():
        axes.plot(series.t - begin, 3.6 * series['vehicle.speed'], label=name.replace('_', ' '))
    axes.set(xlabel='time / s', ylabel='speed / km/h')
    axes.legend()
    claim.draw(figure, 'Speed while the pedals are pressed.')
    return claim


def view_claim(recorded):
    """S5: what a view is made of comes often enough."""
    claim = Claim('S5', 'The moving environment is visible while driving', 'The driver has a real-time visualisation on a front screen.',
                  saw='The place of the car and its tyre forces, from which the page draws, come at the rate of the loop.')
    out = recorded.topics['model_outputs']
    scenes = [s for s in recorded.scenes if s.name.startswith('avoid_')]
    if not scenes:
        claim.lacks('rate', 'no scene avoid_...')
        return claim
    gaps = np.concatenate([np.diff(out.between(s.begin, s.end).t) for s in scenes])
    claim.measure('rate', 1.0 / float(np.mean(gaps)), '1/s', '>=30', 'views of the car that a page may draw')
    claim.measure('smooth', 100 * float(np.mean(gaps < 1 / 30)), '%', '>=99', 'of them within a frame at 30 a second')
    return claim


def release_claim(recorded):
    """Hands off, from a walk to the motorway."""
    from matplotlib import pyplot as plt
    claim = Claim('S6', 'A released wheel comes back', 'Our own promise: no growing oscillation when the hands are taken off.')
    scenes = [s for s in recorded.scenes if s.name.startswith('hands_off_')]
    if not scenes:
        claim.lacks('hands_off', 'no scene hands_off_...')
        return claim
    figure, axes = plt.subplots(figsize=(8, 3))
    for scene in scenes:
        speed = scene.notes['speed']
        _, least, share = RELEASES[speed]
        part = recorded.part('joint_states', scene)
        t, angle = part.t - scene.begin, part[WHEEL]
        claim.measure(f'{speed}.start', float(abs(angle[0])), 'rad', f'>{least:g}', f'at {speed} km/h')
        claim.measure(f'{speed}.after_2s', float(np.abs(angle[t > 2.0]).max() / abs(angle[0]) * 100), '%', f'<{share:g}', 'of the start, from 2 s on')
        claim.measure(f'{speed}.growth', float(np.abs(angle[t > 3.5]).max() - np.abs(angle[(t > 2.0) & (t < 3.5)]).max()), 'rad', '<0.005',
                      'later swing against earlier')
        claim.measure(f'{speed}.speed', float(np.abs(part.column(WHEEL, 'velocity')).max()), 'rad/s', '<20', 'of the wheel')
        axes.plot(t, angle / angle[0], label=f'{speed} km/h, from {abs(angle[0]):.2f} rad')
    claim.saw = 'The self-aligning torque brings the wheel back, and dry friction ends the motion.'
    axes.set(xlabel='time since the release / s', ylabel='wheel angle / its start')
    axes.legend()
    claim.draw(figure, 'The wheel after the hands are taken off.')
    return claim


def bandwidth_claim(recorded):
    """What the motor makes of the model's torque."""
    from matplotlib import pyplot as plt
    claim = Claim('S7', 'Torque bandwidth of the rendered wheel', 'Our own promise: -3 dB beyond 30 Hz.')
    scene = recorded.scene('chirp')
    if scene is None or 'truth' not in recorded:
        claim.lacks('bandwidth', "no scene 'chirp' or no topic 'truth'")
        return claim
    frequency, ratio, coherence = response(recorded, scene)
    gain, phase = np.abs(ratio), np.unwrap(np.angle(ratio))
    decibel = 20 * np.log10(gain)
    level = decibel - decibel[frequency <= 5.0].mean()
    beyond = np.flatnonzero(level < -3.0)
    cut = float(frequency[-1]) if not len(beyond) else float(np.interp(-3.0, level[[beyond[0], beyond[0] - 1]], frequency[[beyond[0], beyond[0] - 1]]))
    claim.measure('bandwidth', cut, 'Hz', '>30', '-3 dB' if len(beyond) else '-3 dB not reached up to the highest frequency')
    claim.measure('gain_low', float(gain[frequency <= 5.0].mean()), '1', '0.9..1.1', 'motor torque per torque of the model, up to 5 Hz')
    claim.measure('delay', -float(np.interp(30.0, frequency, phase)) / (2 * np.pi * 30.0) * 1e3, 'ms', '<8', 'from the phase at 30 Hz, from model to motor')
    claim.measure('coherence', float(np.median(coherence)), '1', '>0.9', 'median over the bands: how much of the motor torque the model explains')
    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(8, 5))
    upper.semilogx(frequency, decibel, 'o-')
    upper.axhline(-3.0, color='grey', ls=':')
    upper.set(ylabel='magnitude / dB', ylim=(min(-6.0, decibel.min() - 1.0), max(3.0, decibel.max() + 1.0)))
    lower.semilogx(frequency, np.degrees(phase), 'o-')
    lower.set(xlabel='frequency / Hz', ylabel='phase / degrees')
    claim.draw(figure, 'From the torque of the model to the torque of the motor on a wheel that is held fast, by a chirp.')
    claim.saw = f'-3 dB {"at" if len(beyond) else "not before"} {cut:.0f} Hz.'
    return claim


def response(recorded, scene):
    """Return (frequencies, complex ratio, coherence) from the model's torque to the motor's, in bands of a chirp's range."""
    model, truth = recorded.part('model_outputs', scene), recorded.part('truth', scene)
    t = np.arange(max(model.t[0], truth.t[0]), min(model.t[-1], truth.t[-1]), 2e-4)
    asked = np.fft.rfft(_level(-np.interp(t, model.t, model[f'{WHEEL}.effort'])))
    made = np.fft.rfft(_level(np.interp(t, truth.t, truth['force'])))
    grid = np.fft.rfftfreq(len(t), 2e-4)
    frequency = np.geomspace(1.1 * scene.notes['low'], scene.notes['high'], 25)
    ratio, coherence = [], []
    for f in frequency:
        band = (grid > f / 1.1) & (grid < f * 1.1)
        cross, own, other = np.sum(made[band] * asked[band].conj()), np.sum(np.abs(asked[band]) ** 2), np.sum(np.abs(made[band]) ** 2)
        ratio.append(cross / own)
        coherence.append(abs(cross) ** 2 / (own * other))
    return frequency, np.array(ratio), np.array(coherence)


def _level(x):
    """Return a signal without its mean."""
    return x - x.mean()


def plot_runs(runs, across, up, label, labels, obstacle=False):
    """Return a figure of one or two quantities of all runs."""
    from matplotlib import pyplot as plt
    names, labels = ((up,), (labels,)) if isinstance(up, str) else (up, labels)
    figure, axes = plt.subplots(len(names), 1, sharex=True, figsize=(8, 3 * len(names)), squeeze=False)
    for name, text, row in zip(names, labels, axes[:, 0]):
        for run in runs:
            row.plot(run[across], run[name], label=f'caster {run["caster"]:g} mm')
        row.set(ylabel=text)
        row.legend()
    axes[-1, 0].set(xlabel=label)
    if obstacle and runs:
        x0, x1, y0, y1 = runs[0]['obstacle']
        axes[0, 0].add_patch(plt.Rectangle((x0 - runs[0]['start'], y0), x1 - x0, y1 - y0, color='tab:red', alpha=0.5))
    return figure
