"""Results of compilation on disk, found again by a digest of everything that went into them.

An entry is one file: a checksum, then the named blobs. It is written to a temporary file and renamed, so readers
and writers in several processes never see half an entry; a damaged one counts as missing. Where nothing can be
written the cache does nothing, after one warning.
"""

import functools
import hashlib
import os
import struct
import tempfile
import warnings
from pathlib import Path

import llvmlite

_MAGIC = b'MBSCACHE1\n'
_warned = False


class Cache:
    """A folder of entries: key (any text) -> {name: bytes}."""

    def __init__(self, dir=None):
        self.dir = Path(dir or os.environ.get('MBS_HAPTICS_CACHE') or os.path.expanduser('~/.cache/mbs_haptics'))

    def path(self, key: str) -> Path:
        """Return the file that holds the entry."""
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.dir / name[:2] / name[2:]

    def get(self, key: str) -> dict | None:
        """Return the blobs stored under `key`, or None if there are none or they are damaged."""
        try:
            data = self.path(key).read_bytes()
        except OSError:
            return None
        return _unpack(data, key)

    def put(self, key: str, blobs: dict):
        """Store the blobs under `key`, replacing what was there."""
        path = self.path(key)
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix='.new-')
            with os.fdopen(handle, 'wb') as file:
                file.write(_pack(key, blobs))
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                _remove(temporary)
            _warn(f'compiled models are not kept, because {self.dir} can\'t be written ({error.strerror}): '
                  'set MBS_HAPTICS_CACHE to a writable folder')


def _pack(key, blobs):
    parts = []
    for name, blob in [('', key.encode()), *sorted(blobs.items())]:     # the key, against mixed-up files
        name = name.encode()
        parts += [struct.pack('<QQ', len(name), len(blob)), name, bytes(blob)]
    body = b''.join(parts)
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(data, key):
    start = len(_MAGIC) + 32
    body = memoryview(data)[start:]
    if data[:len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC):start]:
        return None
    blobs, at = {}, 0
    while at < len(body):
        n, m = struct.unpack_from('<QQ', body, at)
        at += 16
        blobs[str(body[at:at + n], 'utf-8')] = bytes(body[at + n:at + n + m])
        at += n + m
    return blobs if blobs.pop('', None) == key.encode() else None


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _warn(sentence):
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(sentence, RuntimeWarning, stacklevel=3)


@functools.cache
def source_digest() -> str:
    """Return the digest of the engine's own source: a changed engine must not load what an older one compiled."""
    root = Path(__file__).resolve().parents[1]
    total = hashlib.sha256()
    for path in sorted(root.rglob('*.py')):
        total.update(f'{path.relative_to(root).as_posix()}\0'.encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


@functools.cache
def host_digest() -> str:
    """Return the digest of what native code depends on besides the model: the processor and LLVM."""
    from mbs_core.runtime.library import host
    return hashlib.sha256('\0'.join((llvmlite.__version__, *host())).encode()).hexdigest()
