"""A real browser without a window for the tests: Chromium, spoken to over its DevTools protocol."""

import base64
import io
import json
import os
import subprocess
import time
import urllib.request

FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-extensions', '--mute-audio', '--use-gl=angle', '--use-angle=swiftshader',
         '--enable-unsafe-swiftshader', '--remote-debugging-port=0', '--remote-allow-origins=*', '--disable-dev-shm-usage')
START = 60.0


class Browser:
    """One page of a headless Chromium; a context manager. Errors of the page's scripts are kept in `errors`.

    `idle`: it has one processor, and there only the time that nobody else wants, because it draws with it, without a graphics card.
    """

    def __init__(self, program, folder, size=(1280, 800), idle=False):
        self.program, self.folder, self.size, self.errors, self._count = program, folder, size, [], 0
        self.manner = ['taskset', '-c', str(max(os.sched_getaffinity(0))), 'chrt', '--idle', '0'] if idle else ['nice', '-n', '10']

    def __enter__(self):
        from websockets.sync.client import connect
        flags = [*FLAGS, f'--user-data-dir={self.folder}', f'--window-size={self.size[0]},{self.size[1]}', 'about:blank']
        self.log = open(os.path.join(self.folder, 'chromium.log'), 'w', encoding='utf-8')
        self.process = subprocess.Popen([*self.manner, self.program, *flags], stdout=self.log, stderr=self.log)
        port = self.until(self._port, 'the DevTools port')
        pages = self.until(lambda: [p for p in json.load(urllib.request.urlopen(f'http://127.0.0.1:{port}/json'))
                                    if p['type'] == 'page'], 'a page')
        self.socket = connect(pages[0]['webSocketDebuggerUrl'], max_size=None)
        for domain in ('Page', 'Runtime', 'Log'):
            self.call(f'{domain}.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)
        return self

    def _port(self):
        try:
            return int(open(os.path.join(self.folder, 'DevToolsActivePort'), encoding='utf-8').readline())
        except (OSError, ValueError):
            return None

    def until(self, found, what, seconds=START):
        """Return what found() returns as soon as it is something."""
        end = time.monotonic() + seconds
        while True:
            try:
                result = found()
            except OSError:
                result = None
            if result:
                return result
            assert time.monotonic() < end, f'not in time: {what}'
            time.sleep(0.05)

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def call(self, method, **parameters):
        """Send a command and return its result; events that come meanwhile are looked at for errors."""
        self._count += 1
        self.socket.send(json.dumps({'id': self._count, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get('method') == 'Runtime.exceptionThrown':
                details = message['params']['exceptionDetails']
                self.errors.append(details.get('exception', {}).get('description', details.get('text', '')))
            if message.get('id') == self._count:
                assert 'error' not in message, message['error']
                return message['result']

    def open(self, url):
        """Go to a page."""
        self.call('Page.navigate', url=url)

    def run(self, script):
        """Return the value of an expression in the page."""
        answer = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in answer, answer['exceptionDetails']
        return answer['result'].get('value')

    def wait(self, script, what, seconds=30.0):
        """Wait until an expression in the page is true, and return its value."""
        return self.until(lambda: self.run(script), what, seconds)

    def says(self, words, seconds=30.0):
        """Wait until the page says these words."""
        self.wait(f"(document.body?.innerText ?? '').includes({json.dumps(words)})", f'the page says {words!r}', seconds)

    def text(self):
        """Return all words of the page."""
        return self.run("document.body?.innerText ?? ''")

    def picture(self, path=None, clip=None):
        """Return a screenshot as an array (rows, columns, 3), and keep it as PNG if a path is given."""
        import numpy as np
        from PIL import Image
        more = {'clip': {**clip, 'scale': 1}} if clip else {}
        data = base64.b64decode(self.call('Page.captureScreenshot', format='png', **more)['data'])
        if path:
            with open(path, 'wb') as file:
                file.write(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'))

    def mouse(self, kind, x, y, buttons=0):
        """Send a mouse event: mousePressed, mouseReleased, mouseMoved."""
        button = 'left' if kind != 'mouseMoved' or buttons else 'none'
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=0 if kind == 'mouseMoved' else 1)

    def click(self, x, y):
        """Press and release the mouse."""
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, 1)
        self.mouse('mouseReleased', x, y)

    def slider(self, label, rank=0):
        """Return (left, right, y, x of the thumb) and its value, of the slider with this label (the rank-th); it is scrolled into view."""
        return self.run(f"""(() => {{
            const label = [...document.querySelectorAll('label')].filter(e => e.textContent.trim() === {json.dumps(label)})[{rank}];
            let row = label;
            while (row && !row.querySelector('[role=slider]')) row = row.parentElement;
            const thumb = row.querySelector('[role=slider]');
            thumb.scrollIntoView({{block: 'center'}});
            const track = thumb.parentElement.getBoundingClientRect(), t = thumb.getBoundingClientRect();
            return [track.left, track.right, t.top + t.height / 2, t.left + t.width / 2, Number(thumb.getAttribute('aria-valuenow'))];
        }})()""")

    def value(self, label, rank=0):
        """Return the value that a slider shows."""
        return self.slider(label, rank)[4]

    def drag(self, label, fraction, rank=0):
        """Drag the thumb of a slider to a fraction of its way."""
        left, right, y, x, _ = self.slider(label, rank)
        time.sleep(0.2)
        left, right, y, x, _ = self.slider(label, rank)
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, 1)
        for k in range(1, 6):
            self.mouse('mouseMoved', x + (left + fraction * (right - left) - x) * k / 5, y, 1)
        self.mouse('mouseReleased', left + fraction * (right - left), y)

    def press(self, words):
        """Press the button with these words."""
        self.run(f"[...document.querySelectorAll('button, label')].find(e => e.innerText.trim() === {json.dumps(words)}).click()")

    def key(self, kind, key, code, number):
        """Send a key event: keyDown or keyUp."""
        self.call('Input.dispatchKeyEvent', type=kind, key=key, code=code, windowsVirtualKeyCode=number)
