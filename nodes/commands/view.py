"""`haptic view`: a page in the browser of the running stack, or of a mechanism simulated here."""

import signal

from mbs_core.errors import MbsError
from mbs_haptics.chosen import add_value_arguments, apply_values, chosen_mechanism
from mbs_haptics.clients import add_namespace_argument

HELP = 'Open a page in the browser: the running stack, or a mechanism without one.'


def add_arguments(parser):
    """Add what to show and where."""
    parser.add_argument('mechanism', nargs='?', metavar='MECHANISM', help='simulate this one here; left out: show the running stack')
    parser.add_argument('--variant', action='append', default=[], metavar='KEY=VALUE', help='option of the mechanism (may be repeated)')
    add_value_arguments(parser)
    parser.add_argument('--method', choices=('rk4', 'euler', 'implicit'), help='integrator (default: as suits the mechanism)')
    parser.add_argument('--substeps', type=int, help='integration steps in a millisecond (default: as suits the mechanism)')
    parser.add_argument('--port', type=int, default=8080, help='TCP port on 127.0.0.1; 0: a free one (default 8080)')
    parser.add_argument('--frames', type=float, default=30.0, metavar='HZ', help='frames a second (default 30)')
    parser.add_argument('--no-browser', action='store_true', help='only print the address')
    add_namespace_argument(parser)


def run(args):
    """Serve the page until Ctrl-C and return the exit code."""
    from mbs_haptics import viewer
    stops = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stops.append(True))
    if args.mechanism is None:
        from mbs_haptics import environment
        for option in ('variant', 'parameters', 'inputs'):
            if getattr(args, option):
                raise MbsError('a running stack has its own mechanism: name one to simulate it here, or leave out its values')
        environment.need_ros()
        words = ['-p', f'page_port:={args.port}', '-p', f'frames_hz:={float(args.frames)}', '-p', f'browser:={str(not args.no_browser).lower()}']
        space = ['-r', f"__ns:=/{args.namespace.strip('/')}"] if args.namespace.strip('/') else []
        return viewer.serve(['viewer', '--ros-args', *words, *space], stops)
    viewer.run_page(simulated(args), args.port, args.frames, not args.no_browser, lambda: stops)
    return 0


def simulated(args):
    """Return the source that runs the mechanism of the arguments."""
    from mbs_core.runtime import compile_model
    from mbs_haptics.view.offline import Simulated
    from mbs_haptics.view.scenes import scene_class
    if args.substeps is not None and args.substeps < 1:
        raise MbsError(f'--substeps must be at least 1, not {args.substeps}')
    model = compile_model(chosen_mechanism(args))
    state = model.state()
    apply_values(state, args)
    state.assemble()
    scene = scene_class(model.mechanism.name)
    return Simulated(model, state, args.method or scene.solver[0], args.substeps or scene.solver[1], scene.way)
