"""`haptic firmware`: build the device's firmware, flash it, check it, and run it on an emulated Cortex-M."""

import subprocess
import sys
import time

from mbs_core.errors import MbsError
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Build, flash and test the firmware of the devices, or run it on an emulated Cortex-M.'
SHORT_S, LONG_S = 3.0, 60.0


def add_arguments(parser):
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest='action', metavar='ACTION', required=True)
    build = actions.add_parser('build', help='build for a board and say where the result is')
    build.add_argument('app', nargs='?', metavar='APP', help='application, for example piano_key (default: every one)')
    build.add_argument('--board', default='posix', help='posix (default), sim, qemu_mps2, qemu_test or stm32f4')
    build.add_argument('--into', metavar='DIR', help='copy the result there under a readable name')
    build.add_argument('--strict', action='store_true', help='take warnings for errors')
    flash = actions.add_parser('flash', help='build for the STM32F4 and write it into the board on the ST-Link')
    flash.add_argument('app', metavar='APP')
    flash.add_argument('--dry-run', action='store_true', help='build, and only show the command')
    test = actions.add_parser('test', help='check links, size, and loops on the target; figures')
    test.add_argument('--app', default='piano_key', metavar='APP', help='application for the links (default piano_key)')
    test.add_argument('--long', action='store_true', help=f'{LONG_S:g} s on each link instead of {SHORT_S:g}')
    test.add_argument('--seconds', type=float, metavar='S', help='so long on each link')
    test.add_argument('--link', action='append', metavar='NAME', help='only these links, and nothing else (may be repeated)')
    add_json_argument(test)
    model = actions.add_parser('model', help='write the generated C of the models that run in the firmware')
    model.add_argument('--check', action='store_true', help='only say which file is behind (exit code 1 if one is)')
    zwidth = actions.add_parser('zwidth', help='map the stiffest walls, by force at 1 kHz and by the local law; figures')
    zwidth.add_argument('app', nargs='?', metavar='APP', help='piano_key or steering_wheel (default: both)')
    zwidth.add_argument('--quick', action='store_true', help='a coarse map')
    zwidth.add_argument('--plot', metavar='FILE.png', help='draw the map; with both applications, a picture each')
    add_json_argument(zwidth)
    qemu = actions.add_parser('qemu', help='run the firmware on an emulated Cortex-M4F until Ctrl-C')
    qemu.add_argument('app', metavar='APP')
    qemu.add_argument('--link', choices=('udp', 'uart'), default='udp', help='Ethernet (default) or UART')
    qemu.add_argument('--plant', choices=('inside', 'outside'), default='inside',
                      help='simulated device on the emulated processor (default), or as a process beside QEMU')
    qemu.add_argument('--seconds', type=float, default=0.0, help='end after this time')
    qemu.add_argument('--watchdog-ms', type=float, default=200.0, help='set-point time-out, 10 to 500 (default 200)')


def run(args):
    """Carry out the action and return the exit code."""
    return {'build': run_build, 'flash': run_flash, 'test': run_test, 'model': run_model, 'zwidth': run_zwidth,
            'qemu': run_qemu}[args.action](args)


def run_build(args):
    """Build one application or all, and print the results."""
    from mbs_haptics.firmware.build import BOARDS, apps, build
    for app in [args.app] if args.app else apps():
        path = build(args.board, app, strict=args.strict, into=args.into)
        words = ''
        if args.board in BOARDS and BOARDS[args.board].is_arm:
            from mbs_haptics.firmware.check import size
            words = '  flash {:.1f} KiB, RAM {:.1f} KiB'.format(*(number / 1024 for number in size(path)))
        print(f'{path}{words}')
    return 0


def run_flash(args):
    """Write the STM32F4's image with st-flash or openocd, whichever is there."""
    import shutil

    from mbs_haptics.firmware.build import build
    image = build('stm32f4', args.app)
    if shutil.which('openocd') or not shutil.which('st-flash'):
        command = ['openocd', '-f', 'interface/stlink.cfg', '-f', 'target/stm32f4x.cfg', '-c',
                   f'program {image} verify reset exit']
    else:
        plain = image.with_suffix('.bin')
        subprocess.run(['arm-none-eabi-objcopy', '-O', 'binary', str(image), str(plain)], check=True)
        command = ['st-flash', '--reset', 'write', str(plain), '0x08000000']
    if args.dry_run:
        print(' '.join(f"'{word}'" if ' ' in word else word for word in command))
        return 0
    if shutil.which(command[0]) is None:
        raise MbsError('nothing to flash with: `sudo apt install openocd` (or stlink-tools) brings it')
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MbsError(f'{command[0]} could not write the board (is it connected by its ST-Link, and powered?): '
                       f'{" ".join((done.stderr + done.stdout).split())[-200:]}')
    print(f'{args.app} is on the board; it starts uncalibrated and will not arm until `haptic calibrate` was run')
    return 0


def run_test(args):
    """Measure links, size and loops; what a missing tool prevents is said on standard error and left out."""
    from mbs_core.errors import suggest
    from mbs_haptics.firmware import check
    from mbs_haptics.firmware.build import apps
    figures, seconds = Figures(), args.seconds or (LONG_S if args.long else SHORT_S)
    if not 0.0 < seconds <= 3600.0:
        raise MbsError(f'--seconds must be above 0 and at most 3600, not {seconds:g}')
    for name in args.link or ():
        if name not in check.LINKS:
            raise MbsError(f"there is no link '{name}'{suggest(name, check.LINKS)}")
    if args.app not in apps():
        raise MbsError(f"there is no application '{args.app}'{suggest(args.app, apps())}")
    jobs = []
    for name in args.link or check.LINKS:
        jobs += [(check.add_link_figures, name, args.app, seconds), (check.add_estop_figures, name, args.app)]
    if not args.link:
        jobs += [(job, app) for job in (check.add_size_figures, check.add_target_figures) for app in apps()]
    left_out = set()
    for job, *arguments in jobs:
        try:
            job(figures, *arguments)
        except MbsError as error:
            if ' is missing: ' not in str(error):
                raise
            left_out.add(str(error))
    for sentence in sorted(left_out):
        print(f'haptic: left out: {sentence}', file=sys.stderr)
    return figures.report(args.json, 'Firmware')


def run_model(args):
    """Write the generated models, or only compare them with what the generator writes now."""
    from mbs_haptics.firmware import model
    if args.check:
        late = model.behind()
        for path in late:
            print(f'{path} is behind its mechanism: run `haptic firmware model`')
        return 1 if late else 0
    for path in model.write():
        print(f'wrote {path}')
    return 0


def run_zwidth(args):
    """Map the Z-width in virtual time, draw it if asked, and return 0 only if every gain meets its aim."""
    from pathlib import Path

    from mbs_core.errors import suggest
    from mbs_haptics.firmware import zwidth
    if args.app and args.app not in zwidth.TRIALS:
        raise MbsError(f"there is no wall for an application '{args.app}'{suggest(args.app, zwidth.TRIALS)}")
    apps = [args.app] if args.app else list(zwidth.TRIALS)
    pictures = {}
    if args.plot:
        from mbs_haptics.plots import writable
        plain = Path(args.plot).expanduser()
        pictures = {app: writable(plain if args.app else plain.with_stem(f'{plain.stem}-{app}'), '.png') for app in apps}
    figures = Figures()
    for app in apps:
        found = zwidth.measure(app, zwidth.QUICK_STEPS if args.quick else zwidth.STEPS)
        zwidth.add_figures(figures, found)
        if args.plot:
            print(f'haptic: wrote {zwidth.draw(found, pictures[app])}', file=sys.stderr)
    return figures.report(args.json, 'Z-width')


def run_qemu(args):
    """Run the firmware in QEMU, say where it listens, and show its state until the end."""
    from mbs_haptics.firmware.device import Emulated
    if not 10.0 <= args.watchdog_ms <= 500.0:
        raise MbsError(f'--watchdog-ms must be between 10 and 500, not {args.watchdog_ms:g}')
    with Emulated(args.app, args.link, watchdog_ms=args.watchdog_ms, outside=args.plant == 'outside') as device:
        kind, where = device.address
        print(f'{args.app} on an emulated Cortex-M4F: {kind} {where if kind == "serial" else "{}:{}".format(*where)}',
              flush=True)
        began = time.monotonic()
        try:
            while device.process.poll() is None and not 0.0 < args.seconds <= time.monotonic() - began:
                time.sleep(0.1)
        except KeyboardInterrupt:
            pass
        seen = device.read()
        print(f'ran {seen["fast_ticks"]} fast periods, left out {seen["dropped_ticks"]}, fault {seen["fault"]}'
              + (f', {seen["answer"]} samples from the plant outside' if args.plant == 'outside' else ''))
        return 0 if device.process.poll() is None else 1
