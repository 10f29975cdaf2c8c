"""`haptic calibrate`: fit the sensors of a device to known values, say how well they fit, and write the numbers as YAML."""

import os
import sys
import time
from pathlib import Path

from mbs_core.errors import MbsError
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Calibrate the sensors of a device: guided, or --auto on a virtual one; writes a YAML file.'
POINTS = 9
STILL_S, MOVE_S = 0.3, 6.0
WORST = 0.05            # largest rms residual that is believed, as a part of the span: 001 had 10 % at 5 Hz
UNITS = {'position': 'm or rad', 'force': 'N or N m'}


def add_arguments(parser):
    """Add the device, the way and the file."""
    from mbs_haptics.bridge.choice import add_device_arguments
    add_device_arguments(parser)
    parser.add_argument('--auto', action='store_true', help='let the simulated hand of a virtual device move the joints')
    parser.add_argument('-o', '--output', metavar='FILE', help='where to write (default CONFIG_calibration.yaml here)')
    add_json_argument(parser)


def run(args):
    """Calibrate, write the file, report the residuals and return 0 if they are small enough."""
    from mbs_haptics.bridge import calibration
    from mbs_haptics.bridge.choice import chosen_config, chosen_session, plant_of
    config = chosen_config(args)
    output = Path(args.output or f'{Path(args.config).stem}_calibration.yaml')
    if output.suffix not in ('.yaml', '.yml'):
        raise MbsError(f"the calibration '{output}' must end in .yaml")
    if output.is_dir() or not os.access(output if output.exists() else output.resolve().parent, os.W_OK):
        raise MbsError(f"the calibration '{output}' can't be written: choose another place with -o")
    session = chosen_session(args, config)
    say = (lambda text: print(text, file=sys.stderr)) if args.json else print
    try:
        device = session.connect()
        recorder = calibration.Recorder(session)
        way = Auto(config, recorder, plant_of(session), say) if args.auto else Guided(recorder, say)
        results = calibration.calibrate(config, recorder, way.reference, way.motion, say,
                                        (lambda joint: joint.name in config.truth) if args.auto else (lambda joint: True))
    finally:
        session.close()
    heading = (f'Calibration of {device.app}, uid {device.uid.hex()}, {time.strftime("%Y-%m-%d %H:%M:%S")}, by `haptic calibrate`'
               f'{" --auto" if args.auto else ""}.\nUse it with calibration:={output.resolve()}')
    output.write_text(calibration.to_yaml(results, heading), encoding='utf-8')
    return report(results, output, args.json)


def report(results, output, as_json) -> int:
    """Print how well each sensor fits and return the exit code."""
    figures = Figures()
    for r in results:
        figures.add(f'calibrate.{r.name}.residual', 100 * r.fit.relative, '%', f'<{100 * WORST:g}',
                    f'rms {r.fit.rms:.3g}, largest {r.fit.largest:.3g} of a span of {r.fit.span:.3g}; {r.fit.readings} readings')
        figures.add(f'calibrate.{r.name}.noise', r.noise, 'SI', note='at rest')
    code = figures.report(as_json, 'Calibration')
    if not as_json:
        print(f'written: {output}' + ('' if code == 0 else '; the residuals are large: move through the whole range, and more slowly'))
    return code


class Guided:
    """A person moves the joints and types what a ruler, gauge or weight says."""

    def __init__(self, recorder, say):
        self.recorder, self.say = recorder, say

    def reference(self, joint, quantity):
        """Yield (recorded, value) as long as values are typed."""
        self.say(f"\nJoint '{joint.name}': bring it to a known {quantity}, hold it still and type the value ({UNITS[quantity]}); at "
                 'least 3 values over the whole range, then an empty line.')
        count = 0
        while True:
            value = self._ask(f'{quantity} {count + 1}: ')
            if value is None:
                if count >= 3:
                    return
                self.say(f'{3 - count} more, please.')
                continue
            yield self.recorder.record(STILL_S)[1], value
            count += 1

    def _ask(self, prompt):
        while True:
            self.recorder.record(0.05)          # keeps the link alive
            try:
                text = input(prompt).strip().replace(',', '.')
            except EOFError:
                raise MbsError('no more input: type the values, or use --auto with a virtual device') from None
            if not text:
                return None
            try:
                return float(text)
            except ValueError:
                self.say(f"'{text}' is not a number, for example 0.0085")

    def motion(self, joint):
        """Ask for a motion and record it."""
        self.say(f"\nJoint '{joint.name}': move it up and down through its whole range for {MOVE_S:g} s, smoothly, from now on.")
        return self.recorder.record(MOVE_S)


class Auto:
    """The simulated hand moves the joints, and the plant says where they truly are."""

    def __init__(self, config, recorder, plant, say):
        self.config, self.recorder, self.plant, self.say = config, recorder, plant, say

    def _truth(self, joint):
        truth = self.config.truth.get(joint.name)
        if truth is None:
            raise MbsError(f"'{self.config.path}' has no 'truth' for the joint '{joint.name}', which --auto needs: calibrate without it")
        return truth

    def reference(self, joint, quantity):
        """Yield (recorded, value) at several places of the travel."""
        if quantity != 'position':
            raise MbsError(f"--auto knows no {quantity} to compare with at '{joint.name}': calibrate without it")
        truth = self._truth(joint)
        for command in ('hand.stiffness 20000', 'hand.damping 60', 'hand.mode 1'):
            self.plant.tell(f'set {command}')
        for k in range(POINTS):
            self.plant.tell(f'set hand.target {truth.low + (truth.high - truth.low) * k / (POINTS - 1):.6g}')
            self.recorder.record(STILL_S)                    # until it rests
            recorded = self.recorder.record(STILL_S)[1]
            yield recorded, truth.gain * self.plant.ask(truth.signal) + truth.offset

    def motion(self, joint):
        """Move between the ends with a soft hand and record it."""
        truth = self._truth(joint)
        for command in ('hand.stiffness 400', 'hand.damping 12', 'hand.mode 1', f'hand.target {truth.low}'):
            self.plant.tell(f'set {command}')
        self.recorder.record(STILL_S)
        parts = []
        for k in range(8):
            self.plant.tell(f'set hand.target {truth.high if k % 2 == 0 else truth.low}')
            parts.append(self.recorder.record(0.25))
        import numpy as np
        t = np.concatenate([part[0] for part in parts])
        return t, {name: np.concatenate([part[1][name] for part in parts]) for name in parts[0][1]}
