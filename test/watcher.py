"""A page that is watched without a browser: a client of viser's socket that takes everything and draws nothing."""

import threading

import msgspec

CAMERA = {'type': 'ViewerCameraMessage', 'wxyz': (1.0, 0.0, 0.0, 0.0), 'position': (0.0, 0.0, 1.0), 'fov': 0.4, 'near': 0.01, 'far': 10.0,
          'image_height': 500, 'image_width': 800, 'look_at': (0.0, 0.0, 0.0), 'up_direction': (0.0, 1.0, 0.0)}


class Watcher:
    """Counts the bytes that a page sends; a context manager. What it costs the loop is our part of a page, the browser's drawing is not."""

    def __init__(self, url):
        import viser
        from websockets.sync.client import connect
        self.bytes, self.messages, self.alive = 0, 0, True
        self._socket = connect(url.replace('http://', 'ws://'), subprotocols=[f'viser-v{viser.__version__}'], max_size=None, compression=None)
        self._socket.send(msgspec.msgpack.encode(CAMERA))         # before it, viser counts nobody as there
        self._thread = threading.Thread(target=self._drain, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def _drain(self):
        from websockets.exceptions import ConnectionClosed
        try:
            while True:
                self.bytes += len(self._socket.recv())
                self.messages += 1
        except ConnectionClosed:
            self.alive = False

    def __exit__(self, *_):
        self._socket.close()
        self._thread.join(5.0)
