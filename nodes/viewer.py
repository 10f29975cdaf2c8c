"""The viewer node: a page in the browser of a running stack. It listens beside the loop and never stands in its way.

The page is served on this machine only (127.0.0.1). Parameters, read at the start: page_port (0: a free one), frames_hz,
browser (open one where there is a display).
"""

import os
import signal
import sys
import time

from mbs_core.errors import MbsError
from mbs_haptics import environment
from mbs_haptics.view.pace import Pace, give_way

FASTEST = 120.0


def run_page(source, port, frames_hz, browser, stopped, say=print):
    """Serve a page of a source until stopped() is true; return it, closed, for what it has counted."""
    from mbs_haptics.view.page import Page
    if not 1 <= frames_hz <= FASTEST:
        raise MbsError(f'a page has from 1 to {FASTEST:g} frames a second, not {frames_hz:g}')
    page = Page(source, port, say=say)
    say(f'the page is at {page.url}', flush=True)
    if browser and (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')):
        import webbrowser
        webbrowser.open(page.url)
    pace = Pace(frames_hz)
    try:
        while not stopped():
            source.poll()
            page.update()
            time.sleep(pace.next(page.watched, source.missed))
    finally:
        page.close()
        source.close()
    return page


def declared(node):
    """Declare and return the parameters: page_port, frames_hz, browser."""
    from rcl_interfaces.msg import ParameterDescriptor

    def declare(name, value, text):
        return node.declare_parameter(name, value, ParameterDescriptor(description=text, read_only=True)).value
    return (declare('page_port', 8080, 'TCP port of the page on 127.0.0.1; 0: a free one'),
            declare('frames_hz', 30.0, 'Frames a second'),
            declare('browser', True, 'Open the page in a browser where there is a display'))


def serve(argv, stops):
    """Run the node until `stops` holds something."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from mbs_haptics.view.live import Live
    give_way()                  # before the middleware starts its threads
    rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('viewer')
    try:
        port, frames_hz, browser = declared(node)
        run_page(Live(node), port, frames_hz, browser, lambda: stops)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


def main(argv=None):
    """Run the viewer node until SIGINT or SIGTERM and return the exit code."""
    stops = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stops.append(True))
    try:
        environment.need_ros()
        return serve(sys.argv if argv is None else argv, stops)
    except MbsError as error:
        print(f'viewer: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
