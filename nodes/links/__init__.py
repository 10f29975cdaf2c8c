"""Ways to a device: serial port, UDP, the virtual device, a recording; and the session that speaks over any of them."""

from mbs_core.errors import MbsError, suggest
from mbs_haptics.links.base import Link, LinkEnded, LinkError, Statistics
from mbs_haptics.links.session import Session, State

__all__ = ['KINDS', 'Link', 'LinkEnded', 'LinkError', 'Session', 'State', 'Statistics', 'make_link']

KINDS = ('virtual', 'serial', 'udp', 'replay')


def make_link(device, port='', app='', **options) -> Link:
    """Return the link of a device (one of KINDS), not yet open.

    port: path of a serial port, host:port, or path of a recording; for virtual '' or 'udp' (UDP) or 'pty'. app: the firmware
    application that a virtual device runs. More options go to the link's class.
    """
    if device == 'virtual':
        if port not in ('', 'udp', 'pty'):
            raise MbsError(f"a virtual device has no port '{port}': leave it out, or say port:=pty for a pseudo terminal")
        from mbs_haptics.links.virtual import virtual_link
        return virtual_link(app, pty=port == 'pty', **options)
    if device not in KINDS:
        raise MbsError(f"there is no device '{device}' (device:=...){suggest(str(device), KINDS)}")
    if not port:
        wanted = {'serial': 'port:=/dev/ttyACM0', 'udp': 'port:=192.168.1.20:7000', 'replay': 'port:=recordings/run1'}[device]
        raise MbsError(f'device:={device} wants to know where: for example {wanted}')
    if device == 'serial':
        from mbs_haptics.links.serial_port import SerialLink
        return SerialLink(port, **options)
    if device == 'udp':
        from mbs_haptics.links.udp import UdpLink
        return UdpLink(port, **options)
    from mbs_haptics.links.replay import ReplayLink
    return ReplayLink(port, **options)
