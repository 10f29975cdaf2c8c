"""A port for a page on this machine."""

import socket

from mbs_core.errors import MbsError


def free_port(wanted, host='127.0.0.1') -> int:
    """Return a TCP port to serve on: the wanted one, or any free one for 0; one that is taken is refused."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, wanted))
        except (OSError, OverflowError) as error:
            reason = getattr(error, 'strerror', None) or 'it must be from 0 to 65535'
            raise MbsError(f'the page can not be served on port {wanted}: {reason}; choose another one, or 0 for a free one') from None
        return probe.getsockname()[1]
