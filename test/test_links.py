"""Links and sessions: every frame accounted for at 1 kHz, noise, loss, unplugging, clocks, and clear refusals."""

import errno
import math
import os
import random
import time

import numpy as np
import pytest
from fake_device import FakeDevice
from hypothesis import given, settings
from hypothesis import strategies as st

from mbs_core.errors import MbsError
from mbs_haptics.joint_bag import write_joint_bag
from mbs_haptics.links import LinkEnded, Session, make_link
from mbs_haptics.links.clock import ClockSync, unwrap32
from mbs_haptics.links.serial_port import SerialLink
from mbs_haptics.links.udp import UdpLink, parse_address

KINDS = ['udp', 'pty']


def link_to(fake):
    """Return the link to a fake device."""
    return UdpLink(fake.address) if fake.kind == 'udp' else SerialLink(fake.address)


def run(session, seconds, answer=True):
    """Poll for some seconds, answer every state with a set-point, and return the states."""
    states, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        for state in session.poll(0.05):
            states.append(state)
            if answer:
                session.setpoint([(1.5, 0.001, 10.0, 0.1)], state.t_us)
    return states


def until(condition, session, seconds=5.0, seen=None):
    """Poll until a condition holds; tell whether it did in time. States go into the list `seen`."""
    end = time.monotonic() + seconds
    seen = [] if seen is None else seen
    while not condition() and time.monotonic() < end:
        seen += session.poll(0.02)
    return condition()


@pytest.mark.alone
@pytest.mark.parametrize('kind', KINDS)
def test_every_frame_of_two_seconds_at_1_khz_is_accounted_for(kind):
    with FakeDevice(kind) as fake:
        session = Session(link_to(fake))
        session.connect()
        states = run(session, 2.0)
        sequence = [state.sequence for state in states]
        assert sequence == list(range(sequence[0], sequence[0] + len(states)))
        assert len(states) > 1900 and session.lost == session.repeated == session.link.statistics.refused_total == 0
        assert np.all(np.diff([state.t_us for state in states]) > 0)        # the device's counter wrapped meanwhile
        assert states[0].t_us < 2**32 < states[-1].t_us
        assert session.link.statistics.frames_in >= len(states)
        session.close()
        time.sleep(0.05)
        assert fake.emulated.accepted + session.skipped + session.link.statistics.unsent >= len(states)
        assert fake.emulated.setpoint == [(0.0, 0.0, 0.0, 0.0)]             # closing leaves zero behind


@pytest.mark.alone
@pytest.mark.parametrize('kind', KINDS)
def test_lost_and_corrupted_frames_are_counted_and_never_believed(kind):
    with FakeDevice(kind) as fake:
        session = Session(link_to(fake))
        session.connect()
        seen = run(session, 0.1)

        def quiet():
            """Let what is on its way arrive."""
            fake.mute = True
            seen.extend(run(session, 0.2))
            fake.mute = False
        quiet()
        sent, states = fake.sent, session.states
        fake.lose, fake.corrupt = 0.05, 0.05
        seen.extend(run(session, 1.0))
        fake.lose = fake.corrupt = 0.0
        seen.extend(run(session, 0.1))          # good ones at the end tell what was lost before
        quiet()
        gone = fake.lost + fake.corrupted
        assert gone > 50
        assert (fake.sent - sent) - (session.states - states) == session.lost == sum(state.lost for state in seen) == gone
        assert session.link.statistics.refused_total == pytest.approx(fake.corrupted, abs=fake.corrupted * 0.1 + 1)
        for state in seen:
            assert state.frame['counts.0'] == 30000 and state.frame['counts.2'] == 32760


def test_rubbish_between_frames_of_a_stream_costs_at_most_the_next_frame():
    master, slave = os.openpty()
    link = SerialLink(os.ttyname(slave))
    link.open()
    os.write(master, bytes(random.Random(1).randrange(256) for _ in range(2000)) + b'\0')
    fake = FakeDevice('udp').emulated
    from mbs_haptics.wire import codec
    os.write(master, codec.wrap(fake.state_frame([1, 2, 3], 1000)))
    frames = []
    for _ in range(20):
        frames += link.read(0.05)
    assert [frame['counts.1'] for frame in frames] == [2]
    assert link.statistics.refused_total > 0
    link.close()
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize('kind', KINDS)
def test_a_device_that_is_unplugged_comes_back_by_itself(kind, tmp_path):
    path = tmp_path / 'port'

    def plug(port=0):
        fake = FakeDevice(kind, port=port).__enter__()
        if kind == 'pty':
            path.unlink(missing_ok=True)
            path.symlink_to(fake.address)
        return fake
    fake = plug()
    session = Session(SerialLink(str(path)) if kind == 'pty' else link_to(fake))
    session.connect()
    run(session, 0.2)
    assert session.request('ARM').name == 'ARM' and until(lambda: session.is_armed, session)
    port = int(fake.address.rpartition(':')[2]) if kind == 'udp' else 0
    fake.unplug()
    assert until(lambda: not session.is_ready, session)
    assert not session.setpoint([(1.0, 0, 0, 0)], 0)
    assert session.problem and not session.is_armed
    assert 'not connected' in session.request('ARM').wait()
    time.sleep(0.3)
    fake = plug(port)
    first = []
    assert until(lambda: session.is_ready, session, seen=first)
    first += run(session, 0.2)
    assert first[0].is_first and not first[1].is_first and first[0].lost == 0
    assert session.connections == 2 and session.state_name == 'idle'         # it stays off until it is armed again
    assert fake.emulated.setpoint == [(0.0, 0.0, 0.0, 0.0)]
    session.close()
    fake.unplug()


def test_attempts_to_reconnect_get_rarer():
    times, now = [], [0]

    class Gone(UdpLink):
        """A link that never opens."""

        def open(self):
            times.append(now[0] * 1e-9)
            from mbs_haptics.links import LinkError
            raise LinkError('gone')

    def sleep(seconds):
        now[0] += round(seconds * 1e9)
    session = Session(Gone('1'), clock=lambda: now[0], sleep=sleep)
    while now[0] < 20e9:
        session.poll(0.05)
        now[0] += 1_000_000
    gaps = np.diff(times)
    assert gaps[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8], abs=0.06)
    assert gaps.max() == pytest.approx(2.0, abs=0.06) and session.problem == 'gone'


def test_requests_are_answered_and_power_needs_them():
    with FakeDevice('udp') as fake:
        session = Session(link_to(fake))
        session.connect()
        run(session, 0.1)
        assert fake.emulated.setpoint == [(0.0, 0.0, 0.0, 0.0)]         # not armed: only zero goes out

        def ask(name):
            pending = session.request(name)
            assert until(lambda: pending.is_done, session)
            run(session, 0.03)
            return pending.wait()
        assert ask('ARM') == ''
        assert session.is_armed and session.state_name == 'active'
        run(session, 0.1)
        assert fake.emulated.setpoint[0] == pytest.approx((1.5, 0.001, 10.0, 0.1), rel=1e-6)
        assert ask('ESTOP') == '' and session.state_name == 'fault' and session.fault == 2
        assert ask('ARM').startswith('the device refuses ARM (2)')
        assert ask('RESET') == '' and session.state_name == 'idle'
        assert 'not possible in the present state' in ask('RESET')
        assert ask('ARM') == '' and ask('DISARM') == '' and session.state_name == 'idle'
        assert 'no request' in session.request('SELFDESTRUCT').wait()
        session.close()


def test_a_request_without_an_answer_says_so():
    with FakeDevice('udp') as fake:
        session = Session(link_to(fake))
        session.ANSWER_S = 0.1
        session.connect()
        pending = session.request('ARM')
        fake.mute = True
        end = time.monotonic() + 2
        while not pending.is_done and time.monotonic() < end:
            session.poll(0.02)
        assert 'did not answer ARM' in pending.wait()
        assert until(lambda: 'fallen silent' in session.problem, session)


@pytest.mark.parametrize('drift', [0.0, 80e-6, -80e-6])
def test_clock_synchronisation_over_a_jittery_link(drift):
    source, sync, errors, single = random.Random(4), ClockSync(), [], []
    for k in range(300):
        t1 = 1e9 + k * 1e5
        there, back = (20 + source.expovariate(1 / 200) for _ in range(2))
        device = lambda t: 5e6 + (t - 1e9) * (1 + drift)       # noqa: E731 (the true clock)
        t2 = device(t1 + there)
        t4 = t1 + there + 10 + back
        sync.add(t1, t2, device(t1 + there + 10), t4)
        if k > 60:
            errors.append(sync.to_device(t4) - device(t4))
            single.append((there - back) / 2)
            assert sync.to_host(sync.to_device(t4)) == pytest.approx(t4, abs=1e-3)
    rms = [np.sqrt(np.mean(np.square(e))) for e in (errors, single)]
    assert rms[0] < rms[1] / 5 and np.abs(errors).max() < np.abs(single).max() / 5
    assert sync.drift == pytest.approx(drift, abs=20e-6)
    sync.add(10.0, 0.0, 0.0, 5.0)
    assert sync.exchanges == 300            # one that goes back in time is left out


@pytest.mark.alone
def test_the_clock_of_a_device_that_runs_fast_is_followed():
    with FakeDevice('udp', drift=100e-6) as fake:
        session = Session(link_to(fake), sync_hz=50)
        session.connect()
        run(session, 1.5)
        here = time.monotonic_ns() // 1000
        assert session.clock_sync.to_device(here) == pytest.approx(fake.now_us(), abs=300)
        assert session.clock_sync.round_trip_us < 2000
        session.close()


@given(st.integers(0, 2**48), st.integers(-2**31 + 1, 2**31 - 1))
def test_a_wrapping_counter_is_continued(start, move):
    assert unwrap32((start + move) % 2**32, start) == start + move


# Refusals: one sentence with the remedy each

@pytest.mark.parametrize('kind', KINDS)
def test_another_protocol_version_is_refused(kind):
    with FakeDevice(kind, version=99) as fake:
        with pytest.raises(MbsError, match='speaks version 99 .*haptic firmware') as caught:
            Session(link_to(fake)).connect()
        assert '\n' not in str(caught.value)


def test_another_application_is_refused():
    with FakeDevice('udp') as fake, pytest.raises(MbsError, match='is a piano_key, not a steering_wheel'):
        Session(link_to(fake), app='steering_wheel').connect()


def test_a_silent_port_is_refused():
    master, slave = os.openpty()
    session = Session(SerialLink(os.ttyname(slave)))
    session.GREETING_S = 0.3
    with pytest.raises(MbsError, match='no device answers at .* right port'):
        session.connect()
    os.close(master)
    os.close(slave)


def test_a_link_that_takes_long_to_open_leaves_the_device_its_whole_time_to_answer():
    """As when a virtual device has to be built first: 30 s pass while the link opens."""
    late = [0]

    class Slow(UdpLink):
        def open(self):
            late[0] += 30_000_000_000
            super().open()

    with FakeDevice('udp') as fake:
        session = Session(Slow(fake.address), clock=lambda: time.monotonic_ns() + late[0])
        session.connect()
        assert session.is_ready and session.connections == 1


def test_nobody_at_the_address_is_refused():
    with FakeDevice('udp') as fake:
        pass
    with pytest.raises(MbsError, match='nobody listens at .*start the device'):
        Session(UdpLink(fake.address)).connect()


def test_a_missing_port_is_refused():
    with pytest.raises(MbsError, match="there is no port '/dev/ttyNONE': plug the device in"):
        Session(SerialLink('/dev/ttyNONE')).connect()


def test_a_port_that_is_a_file_is_refused(tmp_path):
    (tmp_path / 'x').write_text('')
    with pytest.raises(MbsError, match='is not a serial port'):
        Session(SerialLink(str(tmp_path / 'x'))).connect()


def test_permission_denied_says_which_group(monkeypatch):
    master, slave = os.openpty()
    monkeypatch.setattr(os, 'access', lambda *_: False)       # the tests may run as root, whom nothing is denied
    with pytest.raises(MbsError, match=r'you may not use the port .*sudo usermod -aG \w+ \$USER'):
        Session(SerialLink(os.ttyname(slave))).connect()
    monkeypatch.undo()
    sentence = SerialLink(os.ttyname(slave))._why(PermissionError(errno.EACCES, 'Permission denied'))
    assert 'usermod' in sentence
    os.close(master)
    os.close(slave)


def test_a_port_in_use_is_refused():
    master, slave = os.openpty()
    first = SerialLink(os.ttyname(slave))
    first.open()
    with pytest.raises(MbsError, match='is in use: end the other program'):
        SerialLink(os.ttyname(slave)).open()
    first.close()
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize('text', ['', 'here', '1.2.3.4:', '1.2.3.4:0', '1.2.3.4:70000', 'a:b'])
def test_a_malformed_udp_address_is_refused(text):
    with pytest.raises(MbsError, match='host:port'):
        parse_address(text)


def test_udp_addresses():
    assert parse_address('7000') == parse_address(':7000') == ('127.0.0.1', 7000)
    assert parse_address('[::1]:80'.replace('[', '').replace(']', '')) == ('::1', 80)
    with pytest.raises(MbsError, match="can't be reached"):
        UdpLink('no.such.host.invalid:7000').open()


@pytest.mark.parametrize('device, port, words', [
    ('virtal', '', "did you mean 'virtual'"), ('serial', '', 'port:=/dev/ttyACM0'), ('udp', '', 'port:=192'),
    ('replay', '', 'port:=recordings'), ('virtual', '/dev/ttyACM0', 'has no port'),
])
def test_a_wrong_choice_of_device_is_refused(device, port, words):
    with pytest.raises(MbsError, match=words):
        make_link(device, port, 'piano_key')


# Replay

def recording(path, n=300):
    """Write a bag of two joints and return its t, q, qd, effort."""
    t = np.arange(n) * 1e-3
    q = np.column_stack([0.01 * np.sin(20 * t), 5 + 3 * np.cos(5 * t)])
    qd = np.column_stack([0.2 * np.cos(20 * t), -15 * np.sin(5 * t)])
    effort = np.column_stack([t, -t])
    write_joint_bag(path, t + 1.7e9, ['key', 'wheel'], q, qd, effort)
    return t, q, qd, effort


def test_a_recording_comes_again_with_nine_digits(tmp_path):
    t, q, qd, effort = recording(tmp_path / 'run')
    session = Session(make_link('replay', str(tmp_path / 'run')))
    device = session.connect()
    assert device.app == 'replay' and [s.name for s in device.sensors] == ['q0', 'v0', 'a0', 'q1', 'v1', 'a1']
    states = []
    with pytest.raises(LinkEnded, match='has ended after 0.3 s'):
        while True:
            states += session.poll(0.05)
    scale = [sensor.scale for sensor in device.sensors]
    counts = np.array([state.frame.values[7:13] for state in states])
    first = states[0].sequence - 1
    assert len(states) > 250
    rows = np.array([state.sequence for state in states]) - 1 - first + (300 - len(states))
    assert np.allclose(counts[:, 0] * scale[0], q[rows, 0], atol=2e-11)
    assert np.allclose(counts[:, 4] * scale[4], qd[rows, 1], atol=2e-8)
    assert [state.frame['measured.1.force'] for state in states] == pytest.approx(effort[rows, 1], abs=1e-6)
    assert math.isclose(states[-1].t_us, 299000, abs_tol=2)


@settings(max_examples=1, deadline=None)
@given(st.just(0))
def test_a_recording_repeats_and_answers_requests(tmp_path_factory, _):
    path = tmp_path_factory.mktemp('bag') / 'run.mcap'
    recording(path, 100)
    session = Session(make_link('replay', str(path), joints=['wheel'], repeat=True))
    session.connect()
    pending = session.request('ARM')
    states = run(session, 0.35)
    assert pending.wait(0) == '' and len(states) > 250 and session.lost == 0
    assert np.all(np.diff([state.sequence for state in states]) == 1)
    session.close()


@pytest.mark.parametrize('make, words', [
    (lambda path: None, 'there is no recording'),
    (lambda path: path.mkdir(), "can't be read"),
    (lambda path: path.write_bytes(b'rubbish'), "can't be read"),
])
def test_what_is_no_recording_is_refused(tmp_path, make, words):
    make(tmp_path / 'x')
    with pytest.raises(MbsError, match=words):
        Session(make_link('replay', str(tmp_path / 'x'))).connect()


def test_a_recording_of_other_joints_is_refused(tmp_path):
    recording(tmp_path / 'run', 10)
    with pytest.raises(MbsError, match="no joint 'lid', only key, wheel"):
        Session(make_link('replay', str(tmp_path / 'run'), joints=['lid'])).connect()
