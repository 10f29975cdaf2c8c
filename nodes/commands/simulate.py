"""`haptic simulate`: run any mechanism of the library and plot, tabulate or record its motion."""

import time

from mbs_core.errors import MbsError
from mbs_haptics.chosen import add_mechanism_arguments, add_value_arguments, apply_values, chosen_mechanism, positive
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Simulate a mechanism; plot it, or write its motion to CSV or MCAP.'
METHODS = ('rk4', 'euler', 'implicit', 'adaptive')
RESIDUAL = '<1e-8'      # to which loops stay closed at every step, in m and rad


def add_arguments(parser):
    """Add what to simulate, how, and where to."""
    add_mechanism_arguments(parser)
    parser.add_argument('--seconds', type=float, default=5.0, help='length of the simulated time (default 5)')
    parser.add_argument('--step', type=float, default=1e-3, help='step in s (default 0.001); adaptive: of the output')
    parser.add_argument('--method', choices=METHODS, default='rk4', help='integrator (default rk4)')
    parser.add_argument('--substeps', type=int, default=1, help='integration steps in each step (default 1)')
    add_value_arguments(parser)
    parser.add_argument('--plot', metavar='FILE.png', help='draw coordinates, speeds, outputs and energy')
    parser.add_argument('--csv', metavar='FILE', help='write the motion as a table')
    parser.add_argument('--mcap', metavar='FILE', help='write sensor_msgs/JointState as MCAP (FILE.mcap, or a rosbag2 folder)')
    add_json_argument(parser)


def run(args):
    """Simulate and report; return the exit code."""
    from mbs_core.runtime import compile_model
    from mbs_haptics.plots import writable
    positive(args.seconds, '--seconds')
    positive(args.step, '--step')
    if args.step > args.seconds:
        raise MbsError(f'--step {args.step:g} s is longer than the run of {args.seconds:g} s')
    if args.substeps < 1:
        raise MbsError(f'--substeps must be at least 1, not {args.substeps}')
    mechanism = chosen_mechanism(args)
    for path, ending in ((args.plot, '.png'), (args.csv, None)):
        if path:
            writable(path, ending)                  # before the work, not after it
    model = compile_model(mechanism)
    state = model.state()
    apply_values(state, args)
    state.assemble()
    began = time.perf_counter()
    motion = follow(model, state, args, quiet=args.json)
    wall = time.perf_counter() - began
    written = write(mechanism, motion, args)
    code = report(mechanism, motion, wall, args).report(args.json, f'{mechanism.name}: {args.seconds:g} s, {args.method}')
    if not args.json:
        for path in written:
            print(path)
    return code


def follow(model, state, args, quiet=False):
    """Return the Trajectory of a run, with a progress bar unless quiet."""
    import numpy as np

    from mbs_core.runtime import adaptive, simulate
    if args.method == 'adaptive':
        return adaptive(model, args.seconds, times=np.linspace(0.0, args.seconds, round(args.seconds / args.step) + 1), state=state)
    from rich.progress import Progress
    with Progress(disable=quiet, transient=True) as bar:
        task = bar.add_task(f'simulating {model.name}', total=1.0)
        return simulate(model, args.seconds, h=args.step, method=args.method, substeps=args.substeps, state=state,
                        progress=lambda done: bar.update(task, completed=done))


def report(mechanism, motion, wall, args) -> Figures:
    """Return the figures of a run: where it ended, how well the loops stayed closed, energy and speed."""
    figures = Figures()
    for c in mechanism.coordinates[:20]:
        if c.q is not None:
            figures.add(f'final.{c.name}', float(motion.q[-1, c.position]), unit_of(c))
    if mechanism.loops:
        figures.add('residual', float(motion.residual.max()), 'SI', RESIDUAL, 'loops, largest of all steps')
    energy = motion.energy.sum(axis=1)
    figures.add('energy.start', float(energy[0]), 'J', note='kinetic and potential')
    figures.add('energy.end', float(energy[-1]), 'J')
    figures.add('real_time_factor', args.seconds / wall, '1', '>0', f'{wall * 1e3:.3g} ms, recording included')
    return figures


def unit_of(coordinate) -> str:
    """Return the unit of a coordinate: m for slides and abscissae, rad for hinges."""
    body = coordinate.body
    return 'rad' if body is not None and body.joint.kind == 'revolute' else 'm'


def panels(mechanism, motion) -> list:
    """Return the panels of the plot: coordinates by unit, speeds, outputs by unit, energy."""
    found = []
    for unit, word in (('rad', 'angle'), ('m', 'position')):
        same = [c for c in mechanism.coordinates if c.q is not None and unit_of(c) == unit]
        if same:
            found.append((f'{word} ({unit})', {c.name: motion.q[:, c.position] for c in same}, {}))
            found.append((f'speed ({unit}/s)', {c.name: motion.v[:, c.index] for c in same}, {}))
    by_unit = {}
    for name, (_, unit, _) in mechanism.outputs.items():
        by_unit.setdefault(unit, {})[name] = motion.out[name]
    found += [(f'output ({unit})', lines, {}) for unit, lines in by_unit.items()]
    kinetic, potential = motion.energy.T
    found.append(('energy (J)', {'kinetic': kinetic, 'potential': potential, 'sum': kinetic + potential}, {}))
    return found


def write(mechanism, motion, args) -> list:
    """Write the files that were asked for and return their paths."""
    written = []
    if args.plot:
        from mbs_haptics.plots import curves
        written.append(curves(args.plot, motion.t, panels(mechanism, motion), f'{mechanism.name}, {args.method}'))
    if args.csv:
        motion.save_csv(args.csv)
        written.append(args.csv)
    if args.mcap:
        from mbs_haptics.joint_bag import write_joint_bag
        shown = [c for c in mechanism.coordinates if c.q is not None]
        effort = None
        if mechanism.driven:
            effort = [[row[c.driven] if c.driven >= 0 else 0.0 for c in shown] for row in motion.eff]
        written.append(write_joint_bag(args.mcap, motion.t, [c.name for c in shown], motion.q[:, [c.position for c in shown]],
                                       motion.v[:, [c.index for c in shown]], effort))
    return written
