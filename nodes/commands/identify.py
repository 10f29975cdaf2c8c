"""`haptic identify`: find masses, centre and friction of a device from a recording, with confidence intervals, as YAML."""

import os
from pathlib import Path

from mbs_core.errors import MbsError, suggest
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Identify the physical parameters of a device from a recording: identify lid_hinge BAG; writes a YAML file.'
DEVICES = ('lid_hinge',)
RODS = ('left', 'right')
WORST = 10.0            # % of the force (rms) that may stay unexplained
MODEL = {'m_o': 'm_o', 'm_1': 'm_1', 'coulomb': 'control.coulomb', 'viscous': 'control.viscous'}      # where rosbotran's model has it


def add_arguments(parser):
    """Add the device, the recording and the file."""
    parser.add_argument('device', metavar='DEVICE', help=f'what was recorded: {", ".join(DEVICES)}')
    parser.add_argument('bag', metavar='BAG', help='rosbag2 folder or .mcap file in which the device opens and closes')
    parser.add_argument('-o', '--output', metavar='FILE', help='where to write (default DEVICE_identified.yaml here)')
    add_json_argument(parser)


def run(args):
    """Identify, write the file, report, and return 0 if the motion is well explained."""
    from mbs_core.control.lid_identify import UNITS, identify
    if args.device not in DEVICES:
        raise MbsError(f"'{args.device}' can't be identified{suggest(args.device, DEVICES)}: there is a model for {', '.join(DEVICES)}")
    output = Path(args.output or f'{args.device}_identified.yaml')
    if output.suffix not in ('.yaml', '.yml'):
        raise MbsError(f"the file '{output}' must end in .yaml")
    if output.is_dir() or not os.access(output if output.exists() else output.resolve().parent, os.W_OK):
        raise MbsError(f"the file '{output}' can't be written: choose another place with -o")
    found = identify(*motion_of(args.bag))
    output.write_text(to_yaml(args.device, args.bag, found), encoding='utf-8')
    figures = Figures()
    for name, value in found.values.items():
        low, high = found.intervals[name]
        figures.add(f'identify.{args.device}.{name}', value, UNITS[name], note=f'{low:.4g} to {high:.4g} at 95 %')
    figures.add(f'identify.{args.device}.residual', 100 * found.residual / found.force, '%', f'<{WORST:g}',
                f'rms {found.residual:.3g} N of {found.force:.3g} N in {found.seconds:.1f} s of motion; condition {found.condition:.0f}')
    code = figures.report(args.json, f'Identification of {args.device}')
    if not args.json:
        print(f'written: {output}' + ('' if code == 0 else '; the motion is badly explained: was something in the way of the lid?'))
    return code


def motion_of(bag):
    """Return (t, mean stroke of both rods, sum of their measured forces) of a recording."""
    from mbs_haptics.validate.recording import Recorded
    series = Recorded(bag, ['joint_states']).topics['joint_states']
    keep = [0, *(k for k in range(1, len(series.t)) if series.t[k] > series.t[k - 1])]
    r1 = sum(series[rod] for rod in RODS) / len(RODS)
    force = sum(series.column(rod, 'effort') for rod in RODS)
    return series.t[keep], r1[keep], force[keep]


def to_yaml(device, bag, found) -> str:
    """Return the file: each value with its unit and interval, the residual, and the parameters for rosbotran's model."""
    import yaml

    from mbs_core.control.lid_identify import UNITS

    def short(x):
        return float(f'{x:.6g}')
    tree = {'device': device, 'recording': str(bag),
            'identified': {name: {'value': short(value), 'unit': UNITS[name], 'low': short(found.intervals[name][0]),
                                  'high': short(found.intervals[name][1])} for name, value in found.values.items()},
            'residual': {'rms_N': short(found.residual), 'force_rms_N': short(found.force), 'seconds': short(found.seconds),
                         'condition': short(found.condition)},
            'parameters': {f'model.{place}': short(found.values[name]) for name, place in MODEL.items()}}
    return ('# Written by `haptic identify`; low and high are the ends of 95 % intervals. first: m_o l_c; inertia: about the centre that\n'
            '# the lid turns about; coulomb and viscous: both rods together. `parameters` fit rosbotran (`haptic param set`).\n'
            + yaml.safe_dump(tree, sort_keys=False))
