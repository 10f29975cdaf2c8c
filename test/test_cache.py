"""The cache on disk survives damage, two writers at once and folders that can't be written."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from mbs_core.runtime import cache as module
from mbs_core.runtime.cache import Cache, host_digest, source_digest

BLOBS = {'object': bytes(range(256)) * 40, 'signatures': b'{}', 'empty': b''}


def test_what_is_put_is_found_again(tmp_path):
    cache = Cache(tmp_path / 'deep' / 'folder')
    assert cache.get('key') is None
    cache.put('key', BLOBS)
    assert cache.get('key') == BLOBS
    assert cache.get('other') is None
    cache.put('key', {'object': b'new'})
    assert Cache(tmp_path / 'deep' / 'folder').get('key') == {'object': b'new'}


@pytest.mark.parametrize('damage', [lambda d: d[:len(d) // 2], lambda d: b'', lambda d: d[:-1], lambda d: d + b'x',
                                    lambda d: d[:100] + bytes([d[100] ^ 1]) + d[101:], lambda d: b'y' + d[1:]])
def test_damaged_entries_count_as_missing(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put('key', BLOBS)
    path = cache.path('key')
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get('key') is None
    cache.put('key', BLOBS)
    assert cache.get('key') == BLOBS


def test_an_entry_under_the_name_of_another_counts_as_missing(tmp_path):
    cache = Cache(tmp_path)
    cache.put('a', BLOBS)
    cache.path('b').parent.mkdir(parents=True, exist_ok=True)
    cache.path('b').write_bytes(cache.path('a').read_bytes())
    assert cache.get('b') is None


HAMMER = """
import sys
from mbs_core.runtime.cache import Cache
cache, mark, bad = Cache(sys.argv[1]), bytes([int(sys.argv[2])]), 0
for k in range(150):
    cache.put('key', {'object': mark * (1000 + 100 * k)})
    found = cache.get('key')
    bad += found is None or len(set(found['object'])) != 1
sys.exit(bad)
"""


def test_two_processes_never_see_half_an_entry(tmp_path):
    root = os.fspath(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, os.environ.get('PYTHONPATH', '')])
    writers = [subprocess.Popen([sys.executable, '-c', HAMMER, tmp_path, str(k)], env={**os.environ, 'PYTHONPATH': path})
               for k in (1, 2)]
    assert [w.wait(60) for w in writers] == [0, 0]
    assert [p.name for p in tmp_path.rglob('.new-*')] == []


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(module, '_warned', False)
    blocked = tmp_path / 'file'
    blocked.write_text('in the way')                  # also stops root, whom no permission stops
    with pytest.warns(RuntimeWarning, match='MBS_HAPTICS_CACHE'):
        Cache(blocked / 'cache').put('key', BLOBS)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        Cache(blocked / 'cache').put('key', BLOBS)
    assert Cache(blocked / 'cache').get('key') is None


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv('MBS_HAPTICS_CACHE', str(tmp_path))
    assert Cache().dir == tmp_path
    monkeypatch.delenv('MBS_HAPTICS_CACHE')
    monkeypatch.setenv('HOME', '/somewhere')
    assert os.fspath(Cache().dir) == '/somewhere/.cache/mbs_haptics'


def test_digests_are_steady():
    assert len(source_digest()) == len(host_digest()) == 64
    assert source_digest() == source_digest.__wrapped__()
    assert host_digest() == host_digest.__wrapped__()
