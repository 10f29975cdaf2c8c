"""Framing and session in C: unit tests with coverage, torture under the sanitizers, a fuzzer, and agreement with Python."""

import ctypes
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from mbs_haptics.firmware.build import host_compiler
from mbs_haptics.wire import codec
from mbs_haptics.wire import definition as wire

CI = os.environ.get('CI', '').lower() in ('true', '1')
ROOT = Path(__file__).resolve().parents[1]
FIRMWARE = ROOT / 'firmware'
CORPUS = FIRMWARE / 'fuzz' / 'corpus'
FLAGS = ['-std=c99', '-g', '-Wall', '-Wextra', '-Wconversion', '-Werror', f'-I{FIRMWARE / "core"}', f'-I{FIRMWARE / "test"}']
SANITIZED = ['-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
FRAMING, SESSION = FIRMWARE / 'core' / 'framing.c', FIRMWARE / 'core' / 'session.c'


def compile_c(compiler, result, *arguments, cwd=None):
    """Compile and link; a failure shows what the compiler said."""
    done = subprocess.run([*compiler, *FLAGS, *map(str, arguments), '-o', str(result)], capture_output=True, text=True,
                          check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return result


def run(*command, **more):
    """Run a program to its end; a failure shows what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300, **more)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


def missing(sentence):
    """Skip, or fail under CI, with the sentence that says what to install."""
    pytest.fail(sentence, pytrace=False) if CI else pytest.skip(sentence)


@pytest.fixture(scope='module')
def need_cmocka(need_tool, tmp_path_factory):
    """Skip (fail under CI) where the cmocka library is not installed; return gcc."""
    gcc = need_tool('gcc', 'gcc')
    probe = tmp_path_factory.mktemp('cmocka') / 'probe.c'
    probe.write_text('#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n'
                     'int main(void) { return 0; }\n')
    if subprocess.run([gcc, probe, '-lcmocka', '-o', probe.with_suffix('')], capture_output=True, check=False).returncode:
        sentence = 'the cmocka library is missing: sudo apt install libcmocka-dev'
        missing(sentence)
    return gcc


@pytest.mark.parametrize('name', ['test_framing', 'test_session'])
def test_unit_tests_pass_under_the_sanitizers(need_cmocka, tmp_path, name):
    program = compile_c([need_cmocka], tmp_path / name, *SANITIZED, FIRMWARE / 'test' / f'{name}.c', FRAMING, SESSION, '-lcmocka')
    assert re.search(r'PASSED\s+\] \d+ test', run(program))


def test_unit_tests_reach_nearly_every_line(need_cmocka, need_tool, tmp_path):
    gcov = need_tool('gcov', 'gcc')
    for name in ('test_framing', 'test_session'):
        compile_c([need_cmocka], tmp_path / name, '--coverage', '-O0', FIRMWARE / 'test' / f'{name}.c', FRAMING, SESSION,
                  '-lcmocka', cwd=tmp_path)
        run(tmp_path / name, cwd=tmp_path)
    for core in ('framing', 'session'):
        shown = run(gcov, '-n', f'test_session-{core}', cwd=tmp_path)
        shown = re.search(rf"core/{core}\.c'\nLines executed:([\d.]+)% of (\d+)", shown)
        print(core, shown.group(1), '% of', shown.group(2), 'lines')
        # framing alone reaches the rest of framing.c
        assert float(shown.group(1)) > (97 if core == 'session' else 90)
    shown = run(gcov, '-n', 'test_framing-framing', cwd=tmp_path)
    assert float(re.search(r"core/framing\.c'\nLines executed:([\d.]+)%", shown).group(1)) > 97


def test_ten_million_random_bytes_and_a_hundred_thousand_harmed_frames(need_tool, tmp_path):
    program = compile_c([need_tool('gcc', 'gcc')], tmp_path / 'torture', *SANITIZED, FIRMWARE / 'test' / 'torture_wire.c',
                        FRAMING, SESSION)
    seen = {name: int(value) for name, value in (line.split() for line in run(program, 1, 10 ** 7, 10 ** 5).splitlines())}
    print(seen)
    assert seen['random_refused'] > 10 ** 5 and seen['random_accepted'] == seen['random_power'] == 0
    assert seen['bad_accepted'] == seen['bad_crc32'] == 0
    assert seen['late'] == 0, 'a good frame after a bad one was not found'
    # Nearly every harmed frame was refused, and nearly every good one after it taken.
    assert seen['unharmed'] < 3000 and 0 < seen['next_lost'] < 20000
    assert seen['accepted'] == 2 * 10 ** 5 - seen['next_lost'] + seen['unharmed']


def test_the_fuzzer_finds_nothing(need_tool, tmp_path):
    clang = need_tool('clang', 'clang libclang-rt-14-dev')
    probe = tmp_path / 'probe.c'
    probe.write_text('int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);\n'
                     'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { (void)d; (void)n; return 0; }\n')
    fuzzer = ['-fsanitize=fuzzer,address,undefined', '-fno-sanitize-recover=all', '-O1']
    if subprocess.run([clang, *fuzzer, probe, '-o', tmp_path / 'probe'], capture_output=True, check=False).returncode:
        sentence = "clang's libFuzzer is missing: sudo apt install libclang-rt-14-dev"
        missing(sentence)
    program = compile_c([clang], tmp_path / 'fuzz', *fuzzer, FIRMWARE / 'fuzz' / 'fuzz_wire.c', FRAMING, SESSION)
    new = tmp_path / 'new'
    new.mkdir()
    shown = run(program, '-seed=1', '-runs=40000', '-rss_limit_mb=0', '-max_len=300', new, CORPUS, cwd=tmp_path)
    covered = re.search(r'INITED cov: (\d+)', shown)
    assert covered and int(covered.group(1)) > 200, 'the corpus no longer reaches the session'


def test_core_is_clean_for_cppcheck(need_tool):
    cppcheck = need_tool('cppcheck', 'cppcheck')
    run(cppcheck, '--enable=warning,style,performance,portability', '--std=c99', '--error-exitcode=1', '--inline-suppr', '--quiet',
        FRAMING, SESSION)


# ---- C and Python decode alike


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    """Return the C framing as a library."""
    path = tmp_path_factory.mktemp('wire') / 'wire.so'
    built = compile_c(host_compiler(), path, '-O2', '-shared', '-fPIC', FIRMWARE / 'test' / 'wire_library.c', FRAMING)
    return ctypes.CDLL(str(built))


@pytest.fixture(scope='module')
def decode_in_c(library):
    """Return decode(bytes, to_device) -> (verdicts, frames) of the C framing."""
    stream = library.wire_stream
    stream.restype = ctypes.c_size_t
    stream.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_bool, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                       ctypes.POINTER(ctypes.c_size_t)]

    def decode(data, to_device):
        verdicts, frames = (ctypes.create_string_buffer(len(data) + 1) for _ in range(2))
        framed = ctypes.c_size_t()
        count = stream(data, len(data), to_device, verdicts, len(data) + 1, frames, framed)
        return verdicts.raw[:count], frames.raw[:framed.value]
    return decode


class Noting(codec.Stream):
    """The Python decoder, keeping verdicts and frames as bytes in order."""

    def __init__(self, way):
        """Begin between frames."""
        super().__init__(way)
        self.verdicts, self.frames = [], []

    def _take(self, chunk):
        before = dict(self.counts)
        frame = super()._take(chunk)
        self.verdicts += [verdict for verdict in self.counts if self.counts[verdict] != before[verdict]]
        if frame is not None:
            self.frames.append(codec.encode(frame.name, frame.values, frame.seq, frame.t_us, frame.flags))
        return frame


def agree(decode_in_c, data):
    """Check that both decoders say the same about a stream, in both directions; return the number of good frames."""
    good = 0
    for way in (wire.TO_DEVICE, wire.TO_HOST):
        noting = Noting(way)
        for start in range(0, len(data), 997):
            noting.feed(data[start:start + 997])
        verdicts, frames = decode_in_c(data, way == wire.TO_DEVICE)
        assert verdicts == bytes(noting.verdicts)
        assert frames == b''.join(noting.frames)
        good += noting.counts[codec.Verdict.GOOD]
    return good


def some_frame(chance):
    """Return a random good frame."""
    message = chance.choice(wire.MESSAGES)
    zeros = chance.random()
    body = bytes(0 if chance.random() < zeros else chance.randrange(256) for _ in range(message.body))
    # NaNs with other payloads do not survive a float in Python, and are no concern of the framing.
    body = b''.join(b'\1\2\3\4' if int.from_bytes(body[i:i + 4], 'little') & 0x7F800000 == 0x7F800000 else body[i:i + 4]
                    for i in range(0, len(body), 4))[:message.body]
    head = wire.HEADER_SIZE
    data = codec.encode(message.name, [0 if not code.endswith('s') else b'' for code in wire.codes(message.fields)],
                        chance.randrange(65536), chance.randrange(2 ** 32))[:head] + body
    crc = codec.zlib.crc32(data) if message.crc == 4 else codec.crc_hqx(data, 0xFFFF)
    return data + crc.to_bytes(message.crc, 'little')


def test_decoders_agree_on_good_frames(decode_in_c):
    chance = random.Random(1)
    data = b''.join(codec.wrap(some_frame(chance)) for _ in range(3000))
    assert agree(decode_in_c, data) == 3000


def test_decoders_agree_on_harmed_frames(decode_in_c):
    chance = random.Random(2)
    pieces = []
    for _ in range(6000):
        piece = bytearray(codec.wrap(some_frame(chance)))
        for _ in range(chance.choice([0, 1, 1, 2, 5])):
            at = chance.randrange(len(piece))
            chance.choice([lambda: piece.__setitem__(at, piece[at] ^ 1 << chance.randrange(8)),
                           lambda: piece.insert(at, chance.randrange(256)),
                           lambda: len(piece) > 1 and piece.pop(at),
                           lambda: piece.__delitem__(slice(at, max(at, len(piece) - 1))),
                           lambda: piece.extend(piece[:at])])()
        pieces.append(bytes(piece))
    assert 1000 < agree(decode_in_c, b''.join(pieces)) < 6000


@pytest.mark.parametrize('zeros', [1 / 256, 1 / 12, 1 / 3])
def test_decoders_agree_on_random_bytes(decode_in_c, zeros):
    chance = random.Random(3)
    data = chance.randbytes(400000)
    data = bytes(0 if chance.random() < zeros else byte for byte in data)
    assert agree(decode_in_c, data) == 0


def test_decoders_agree_on_the_corpus_of_the_fuzzer(decode_in_c):
    files = sorted(CORPUS.iterdir())
    assert 20 <= len(files) <= 80 and sum(file.stat().st_size for file in files) < 20000
    for file in files:
        agree(decode_in_c, file.read_bytes())
    agree(decode_in_c, b'\0'.join(file.read_bytes() for file in files) + b'\0')


@pytest.mark.parametrize('length', [0, 1, 253, 254, 255, 256, 338, 339, 340, 341, 342, 343, 508, 509, 1000])
def test_decoders_agree_at_the_edges_of_blocks_and_buffers(decode_in_c, length):
    for fill in (b'\xff', b'\1', b'\x81', bytes(range(1, 256))):
        chunk = (fill * length)[:length]
        assert agree(decode_in_c, chunk + b'\0' + codec.wrap(codec.encode('ESTOP'))) == 1
        assert agree(decode_in_c, codec.wrap(chunk) + codec.wrap(codec.encode('ESTOP'))) == 1


def test_c_and_python_encode_alike(library):
    chance = random.Random(4)
    encode = library.framing_encode
    encode.restype = ctypes.c_size_t
    encode.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    blocks = [bytes([7]) * size for size in (0, 1, 253, 254, 255, 507, 508, 509)]
    for data in [*blocks, *(block + b'\0' for block in blocks), *(some_frame(chance) for _ in range(500))]:
        room = ctypes.create_string_buffer(600)
        size = encode(room, 600, data, len(data))
        assert room.raw[:size] == codec.wrap(data)


def test_nothing_but_the_stated_headers_is_included():
    """The core brings what it needs: no libc in framing, session and protocol."""
    for name in ('framing.h', 'framing.c', 'session.h', 'session.c', 'protocol.h'):
        used = set(re.findall(r'#include <(.*)>', (FIRMWARE / 'core' / name).read_text()))
        assert used <= {'stdint.h', 'stddef.h', 'stdbool.h'}, name
