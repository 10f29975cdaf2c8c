"""What the user chose of a device on the command line: its configuration and the way to it."""

from mbs_core.errors import MbsError
from mbs_haptics.bridge import config as configuration
from mbs_haptics.chosen import positive
from mbs_haptics.links import KINDS, Session, make_link


def add_device_arguments(parser):
    """Add the configuration and the link."""
    parser.add_argument('config', metavar='CONFIG', help='configuration of the device: name (lever, four_bar) or YAML file')
    parser.add_argument('--device', default='virtual', choices=[kind for kind in KINDS if kind != 'replay'],
                        help='where the device is (default virtual)')
    parser.add_argument('--port', default='', help='serial port or host:port; for virtual: udp or pty')
    parser.add_argument('--baud', type=int, default=1_000_000, help='bits per second of a serial port')
    parser.add_argument('--calibration', default='', metavar='FILE', help='calibration to start from')


def chosen_config(args):
    """Return the DeviceConfig that the arguments name."""
    positive(args.baud, '--baud')
    return configuration.load(args.config, args.calibration)


def chosen_session(args, config, **options) -> Session:
    """Return a Session, not yet connected, with the device that the arguments name."""
    more = {'baud': args.baud} if args.device == 'serial' else {}
    return Session(make_link(args.device, args.port, config.app, **more), app=config.app, **options)


def plant_of(session):
    """Return the simulated device behind a session, to be told and asked; MbsError if it is a real one."""
    device = getattr(session.link, 'device', None)
    if device is None:
        raise MbsError('--auto moves the simulated plant of a virtual device; a real one has to be moved by hand: leave it out')
    return device
