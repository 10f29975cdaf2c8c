"""The driver's seat: a page of its own with the view through the wind-screen, which holds keys, mouse and gamepad.

viser tells no held keys, and its picture needs a graphics card to be smooth; this page draws with the browser's plain canvas. It is
served on this machine only, and only that page may talk back: another origin is refused.
"""

import contextlib
import json
import logging
import threading
from http import HTTPStatus
from pathlib import Path

from mbs_haptics.view.page_port import free_port

HTML = Path(__file__).with_name('cockpit.html')
LONGEST = 4096          # bytes of a message from the page
WAIT = 0.02             # s between two looks after news


class Cockpit:
    """Serves the page from threads of its own; `show` what is to be seen, take `inbox` when convenient."""

    def __init__(self, port=0):
        from websockets.sync.server import serve
        quiet = logging.getLogger('mbs_haptics.cockpit')
        quiet.setLevel(logging.CRITICAL)            # a page that is closed is no news
        port = free_port(port)
        self.url = f'http://127.0.0.1:{port}'
        own = [self.url, f'http://localhost:{port}']
        self._server = serve(self._talk, '127.0.0.1', port, process_request=self._answer, origins=own, max_size=LONGEST,
                             compression=None, logger=quiet)
        self._hosts = [u.removeprefix('http://') for u in own]
        self._html, self._state, self._count, self._guests, self._lock = HTML.read_bytes(), '', 0, 0, threading.Lock()
        self._inbox = None
        threading.Thread(target=self._server.serve_forever, name='cockpit', daemon=True).start()

    @property
    def guests(self) -> int:
        """How many pages are open."""
        return self._guests

    def show(self, state):
        """Show a state: a dict of plain numbers; only the newest one counts."""
        text = json.dumps(state, allow_nan=False)
        with self._lock:
            self._state, self._count = text, self._count + 1

    def inbox(self):
        """Return the newest message of a page, None if there is none since the last time."""
        with self._lock:
            message, self._inbox = self._inbox, None
        return message

    def close(self):
        """Stop serving."""
        self._server.shutdown()

    # -- the server's threads --------------------------------------------------------------------
    def _answer(self, connection, request):
        if request.headers.get('Host') not in self._hosts:          # a name that somebody made point to this machine
            return connection.respond(HTTPStatus.FORBIDDEN, 'not for you\n')
        if request.path == '/seat':
            return None                     # go on as a WebSocket
        if request.path != '/':
            return connection.respond(HTTPStatus.NOT_FOUND, 'there is only one page\n')
        response = connection.respond(HTTPStatus.OK, '')
        del response.headers['Content-Type'], response.headers['Content-Length']
        response.headers['Content-Type'], response.headers['Content-Length'] = 'text/html; charset=utf-8', str(len(self._html))
        response.body = self._html
        return response

    def _talk(self, socket):
        """Exchange states and inputs with one page until it closes; a slow page gets fewer states, never old ones."""
        from websockets.exceptions import ConnectionClosed
        with self._lock:
            self._guests += 1
        sent = 0
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    self._take(socket.recv(timeout=WAIT))
                with self._lock:
                    text, count = self._state, self._count
                if count != sent:
                    sent = count
                    socket.send(text)
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self._guests -= 1

    def _take(self, text):
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict):
            with self._lock:
                wishes = {name for name in ('obstacle',) if (self._inbox or {}).get(name)}       # not to be overtaken by the next message
                self._inbox = {**message, **dict.fromkeys(wishes, True)}
