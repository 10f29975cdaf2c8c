"""`haptic run`: run a device, real or virtual, with a live view; or a demonstration against its reference."""

import math
import time
from pathlib import Path

from mbs_core.errors import MbsError, suggest
from mbs_haptics import environment
from mbs_haptics.chosen import positive
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Run a device (virtual unless device:=... says otherwise) or a demonstration (two_link).'
PASS_THROUGH = True         # argparse takes no further NAME:=VALUE after an option
STEP = 1e-3
# Closed link, PD 3/0.8 on joints 1 and 3, from (pi/2, -pi/6, pi/2, pi/6): where it comes to rest, from an independent
# integration of 003's equations with multipliers (constraint stabilisation 0, 10 and 100 agree in these digits).
REST = {'link1': 1.02573653, 'link2': -0.67640648, 'link3': 0.33040965, 'link4': 1.74999809}
SETPOINT = {'link1': math.pi / 3, 'link3': math.pi / 6}
SETTLED = 5.0           # s, after which the motion is below 1e-7 rad


def add_arguments(parser):
    """Add the device and how to run it."""
    parser.add_argument('device', metavar='DEVICE', help=f'what to run: {", ".join(known())}')
    parser.add_argument('arguments', nargs='*', metavar='NAME:=VALUE', help='arguments of a device, for example record:=true')
    parser.add_argument('--seconds', type=float, help='length of the run (default: a device until Ctrl-C, two_link 10)')
    parser.add_argument('--headless', action='store_true', help='no live view, no progress bar and no window')
    parser.add_argument('--out', default='results', metavar='DIR', help='folder for the pictures (default results)')
    add_json_argument(parser)


def run(args):
    """Run the named device and return the exit code."""
    for word in args.rest:
        if ':=' not in word:
            raise MbsError(f"'{word}' is neither an option of run nor of the form name:=value; see haptic run --help")
    args.arguments += args.rest
    if args.device not in known():
        raise MbsError(f"there is nothing to run called '{args.device}'{suggest(args.device, known())}")
    if args.seconds is not None:
        positive(args.seconds, '--seconds')
    if args.device in DEMONSTRATIONS:
        if args.arguments:
            raise MbsError(f"the demonstration '{args.device}' takes no arguments like '{args.arguments[0]}'")
        args.seconds = args.seconds or 10.0
        return DEMONSTRATIONS[args.device](args)
    return run_device(args)


def known() -> list:
    """Return the names that can be run: demonstrations, and the launch files of devices."""
    share = environment.package_share(environment.PACKAGE)
    files = sorted((share / 'launch').glob('*.launch.xml')) if share else []
    return [*DEMONSTRATIONS, *(path.name.removesuffix('.launch.xml') for path in files)]


def run_device(args):
    """Run the launch file of a device."""
    from mbs_haptics import running
    from mbs_haptics.commands.launch import find, log_file, pairs
    environment.need_ros()
    return running.run_device(find(args.device), pairs(args.arguments), args.seconds, args.headless, args.json, log_file())


def run_two_link(args):
    """Simulate the closed 2-dof link of 003 under PD control, with a table and a plot."""
    from rich.progress import Progress

    from mbs_core.mechanisms import build
    from mbs_core.runtime import compile_model, simulate
    from mbs_haptics.plots import curves, writable
    picture = writable(Path(args.out) / 'two_link.png', '.png')
    mechanism = build('two_link', closed=True, control='pd')
    model = compile_model(mechanism)
    state = model.state()
    state.assemble()
    with Progress(disable=args.json or args.headless, transient=True) as bar:
        task = bar.add_task('closed two-link, PD', total=1.0)
        motion = simulate(model, args.seconds, h=STEP, state=state, progress=lambda done: bar.update(task, completed=done))
    figures = two_link_figures(mechanism, motion, state.residuals(), native_seconds(model, len(motion.t) - 1))
    angles = {c.name: motion.q[:, c.position] for c in mechanism.coordinates}
    curves(picture, motion.t, [
        ('joint angle (rad)', angles, REST),
        ('torque (N m)', {name: motion.out[name] for name in ('tau1', 'tau3')}, {}),
        ('constraint force (N)', {name: motion.out[name] for name in ('lambda.x', 'lambda.y')}, {}),
        ('energy (J)', {'kinetic': motion.energy[:, 0], 'potential': motion.energy[:, 1]}, {}),
    ], 'Closed 2-dof link mechanism under PD control (003); dashed: reference at rest')
    if args.json:
        return figures.report(as_json=True)
    print_two_link(figures)
    print(f'picture: {picture}')
    return 0 if figures.ok else 1


def native_seconds(model, steps):
    """Return how long the bare steps take, without recording, in s."""
    state = model.state()
    state.assemble()
    began = time.perf_counter()
    state.run(steps, STEP)
    return time.perf_counter() - began


def two_link_figures(mechanism, motion, residuals, wall) -> Figures:
    """Return the figures of claim R1 for the closed link; `residuals` are those of the last state."""
    figures = Figures()
    seconds = float(motion.t[-1] - motion.t[0])
    for c in mechanism.coordinates:
        rest, end = REST[c.name], float(motion.q[-1, c.position])
        aim = f'{rest - 1e-6:.8f}..{rest + 1e-6:.8f}' if seconds >= SETTLED else ''
        figures.add(f'R1.closed_pd.{c.name}', end, 'rad', aim, f'reference at rest {rest:.8f}')
    figures.add('R1.closed_pd.residual', float(motion.residual.max()), 'm', '<1e-10', 'loop R, largest of all steps')
    figures.add('R1.closed_pd.residual_rates', max(residuals[1:]), 'SI', '<1e-10', 'first and second rate, at the end')
    start, end = motion.energy[0].sum(), motion.energy[-1].sum()
    figures.add('R1.closed_pd.energy', float(end - start), 'J', note=f'change, from {start:.4f} J at the start')
    figures.add('R1.closed_pd.real_time_factor', seconds / wall, '1', '>1', f'{wall * 1e3:.3g} ms for {seconds:g} s')
    return figures


def print_two_link(figures):
    """Print the summary for people: angles against their reference, then the other figures."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    console, rows = Console(), {row['id'].rsplit('.', 1)[1]: row for row in figures.rows}
    angles = Table(title='Closed 2-dof link of 003, PD control of joints 1 and 3', box=SIMPLE_HEAD)
    for heading in ('joint', 'final (rad)', 'reference at rest (rad)', 'difference', 'set-point'):
        angles.add_column(heading, justify='left' if heading == 'joint' else 'right')
    for name, rest in REST.items():
        end, wish = rows[name]['value'], SETPOINT.get(name)
        angles.add_row(name, f'{end:.8f}', f'{rest:.8f}', f'{end - rest:+.1e}', f'{wish:.4f}' if wish else 'passive',
                       style=None if rows[name]['ok'] else 'bold red')
    console.print(angles)
    for name, word in (('residual', 'loop residual'), ('residual_rates', 'loop residual, rates'), ('energy', 'energy'),
                       ('real_time_factor', 'real-time factor')):
        row = rows[name]
        console.print(f'  {word:21}{row["value"]:>10.3g} {row["unit"]:3} {row["note"]}', style=None if row['ok'] else 'bold red',
                      highlight=False)
    console.print('  PD control leaves a static error: gravity keeps it off the set-point.\n', highlight=False)


DEMONSTRATIONS = {'two_link': run_two_link}
