"""The whole stack with the virtual device: every launch file runs, the device feels the spring, and everything ends."""

import importlib.util
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))       # pytest's importlib mode does not find neighbours
from stack import free_domain, left_behind, start

pytestmark = pytest.mark.alone           # whole stacks: what runs beside them would show in their timing
ROOT = Path(__file__).resolve().parents[1]
DEVICES = [path.name.removesuffix('.launch.xml') for path in sorted((ROOT / 'launch').glob('*.launch.xml'))]
HAPTIC = [sys.executable, '-m', 'mbs_haptics.main']
PATIENT = 'timing: {stale_after: 0.05, decay: 0.05, fault_after: 0.3, most_missed: 300}'       # shared machines stall


def finish(process, domain, timeout=40):
    """Return (exit code, standard output, standard error) of a process; it has to leave nothing behind."""
    try:
        out, err = process.communicate(timeout=timeout)
    except Exception:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
        raise
    for _ in range(50):
        if not left_behind(domain):
            break
        time.sleep(0.1)
    assert left_behind(domain) == []
    return process.returncode, out, err


def haptic(*words, timeout=60):
    """Run the command to its end; return (exit code, standard output, standard error)."""
    domain = free_domain()
    return finish(start([*HAPTIC, *map(str, words)], domain, stderr=-1), domain, timeout)


def patient_config(folder, device='lever', extra=''):
    """Return a copy of a device's configuration with time-outs for a shared machine."""
    text = (ROOT / 'config' / f'{device}.yaml').read_text()
    head = '  ros__parameters:\n'
    assert head in text
    path = folder / f'{device}.yaml'
    path.write_text(text.replace(head, f'{head}    {PATIENT}\n{extra}', 1))
    return path


if importlib.util.find_spec('rclpy') and importlib.util.find_spec('cobs'):
    @pytest.mark.parametrize('device', DEVICES)
    def test_every_launch_file_runs_with_the_virtual_device(device):
        code, out, err = haptic('run', device, '--seconds', 2, '--json')
        assert code == 0, err
        figures = {row['id'].removeprefix(f'run.{device}.'): row for row in json.loads(out)['figures']}
        assert all(row['ok'] for row in figures.values())
        assert figures['rate']['value'] > 900 and figures['faults']['value'] == 0 and figures['publish_errors']['value'] == 0

    def test_fallback_in_python_runs_the_same_stack():
        code, out, err = haptic('run', 'lever', '--seconds', 2, '--json', 'loop:=rclpy')
        figures = {row['id'].removeprefix('run.lever.'): row for row in json.loads(out)['figures']}
        assert figures['faults']['value'] == 0 and figures['publish_errors']['value'] == 0, err
        assert figures['rate']['value'] > 300           # a shared machine leaves Python that much, at least

    def test_ctrl_c_ends_every_process_with_exit_code_0():
        domain = free_domain()
        process = start([*HAPTIC, 'run', 'lever', '--headless'], domain, stderr=-1)
        time.sleep(6.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process, domain)
        assert code == 0, err
        assert 'disarm done' in out + err and 'Traceback' not in out + err

    def test_ctrl_c_at_once_is_clean_too():
        domain = free_domain()
        process = start([*HAPTIC, 'run', 'lever', '--headless'], domain, stderr=-1)
        time.sleep(1.2)
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process, domain)
        assert code in (0, 130) and 'Traceback' not in out + err

    @pytest.mark.parametrize('words, wanted', [
        (('lever', 'device:=usb'), "'device' must be one of virtual, serial, udp, replay"), (('lever', 'divice:=udp'), "did you mean 'device'?"),
        (('levr',), "did you mean 'lever'?"), (('lever', '--fast'), 'neither an option of run'),
        (('lever', 'config:=/no/such.yaml'), '/no/such.yaml'), (('lever', '--seconds', '-1'), '--seconds must be a positive number'),
        (('two_link', 'device:=udp'), 'takes no arguments')])
    def test_bad_input_is_one_sentence(words, wanted):
        code, out, err = haptic('run', *words)
        assert code == 2 and wanted in err and err.count('\n') == 1 and not out

    def test_missing_port_is_one_sentence():
        code, _, err = haptic('run', 'lever', 'device:=serial', 'port:=/dev/ttyNONE', '--headless')
        assert code != 0 and '/dev/ttyNONE' in err and 'Traceback' not in err

    def test_device_feels_the_spring_and_every_set_point_answers_a_sample_by_the_law(tmp_path):
        """The simulated hand holds the lever; the coil's true force balances the law at the true angle."""
        from mbs_haptics.firmware.device import Virtual
        domain = free_domain()
        with Virtual('piano_key') as device:
            host, port = device.address[1]
            process = start([*HAPTIC, 'run', 'lever', '--seconds', '6', '--json', 'device:=udp', f'port:={host}:{port}',
                             f'config:={patient_config(tmp_path)}', 'record:=true', f'bag:={tmp_path / "bag"}'], domain, stderr=-1)
            hold(device)
            wait_for(lambda: truth(device, 'force') < -0.8, 'the spring to be felt', 60.0)        # however long the nodes take to start
            time.sleep(2.0)
            angle = float(device.command('get height', True).split()[1]) / 0.218
            force = float(device.command('get force', True).split()[1])
            code, out, err = finish(process, domain)
        assert code == 0, err
        assert angle == pytest.approx(0.004 / 0.218, rel=0.1)
        assert force * 0.109 == pytest.approx(-(4.0 * angle + 0.06), rel=0.05)
        samples, answers = read_bag(tmp_path / 'bag')
        checked = 0
        for sequence, stamp, message in answers:
            if message.effort[1] == 4.0 and sequence in samples:             # the gain has risen: K is whole
                q, v = samples[sequence].position[0], samples[sequence].velocity[0]
                assert message.position[0] == q
                if message.effort[0] != 0.0 and first_answer(answers, sequence) == stamp:
                    assert message.effort[0] == pytest.approx(-(4.0 * q + 0.06 + 0.004 * v), abs=1e-6)
                    checked += 1
        assert checked > 1000

    def read_bag(folder):
        """Return ({sequence: sample}, [(answered sequence, stamp, set-point)]) of a recording."""
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore

        from mbs_haptics.realtime.messages import sequences
        samples, answers = {}, []
        with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            for connection, _, raw in reader.messages():
                if connection.topic in ('/joint_states', '/setpoint'):
                    message = reader.deserialize(raw, connection.msgtype)
                    sequence, answered = sequences(message.header.frame_id)
                    if connection.topic == '/joint_states':
                        samples[sequence] = message
                    else:
                        answers.append((answered, sequence, message))
        return samples, answers

    def first_answer(answers, sequence, cache={}):
        """Return the number of the set-point that answered a sample first: it is the one that had it fresh."""
        if cache.get('of') is not answers:
            cache.clear()
            cache.update(of=answers, first={})
            for answered, number, _ in answers:
                cache['first'].setdefault(answered, number)
        return cache['first'][sequence]

    def test_killed_device_ends_in_zero_force_and_a_fault(tmp_path):
        from mbs_haptics.firmware.device import Virtual
        domain = free_domain()
        with Virtual('piano_key') as device:
            host, port = device.address[1]
            process = start([*HAPTIC, 'run', 'lever', '--seconds', '8', '--json', 'device:=udp', f'port:={host}:{port}',
                             f'config:={patient_config(tmp_path)}', 'record:=true', f'bag:={tmp_path / "bag"}'], domain, stderr=-1)
            hold(device)
            wait_for(lambda: truth(device, 'force') < -0.8, 'the spring to be felt', 60.0)
            time.sleep(1.0)
            device.process.kill()
            code, out, err = finish(process, domain)
        assert code == 1
        figures = {row['id']: row for row in json.loads(out)['figures']}
        assert figures['run.lever.faults']['value'] >= 1 and "fault 'sensor'" in figures['run.lever.faults']['note']
        _, answers = read_bag(tmp_path / 'bag')
        assert any(message.effort[0] != 0.0 for _, _, message in answers)
        assert all(message.effort[0] == 0.0 for _, _, message in answers[-100:])
        assert not any(math.isnan(message.effort[0]) for _, _, message in answers)

    @pytest.mark.parametrize('node, number', [('rosbotran', signal.SIGSTOP), ('rosbotran', signal.SIGKILL), ('roscom', signal.SIGKILL),
                                              ('roscom', signal.SIGSTOP)])
    def test_device_is_without_force_soon_after_a_node_is_gone(tmp_path, node, number):
        """The firmware keeps its promise whatever happens on this side of the link."""
        from mbs_haptics.firmware.device import Virtual
        domain = free_domain()
        with Virtual('piano_key') as device:
            host, port = device.address[1]
            process = start([*HAPTIC, 'run', 'lever', '--headless', 'device:=udp', f'port:={host}:{port}',
                             f'config:={patient_config(tmp_path)}'], domain, stderr=-1)
            try:
                hold(device)
                wait_for(lambda: truth(device, 'force') < -0.8, 'the spring to be felt')
                victim = node_of(process.pid, f'mbs_haptics.{node}')
                os.kill(victim, number)
                wait_for(lambda: abs(truth(device, 'force')) < 1e-3, 'zero force', 2.0)
                time.sleep(0.3)
                assert abs(truth(device, 'force')) < 1e-3, 'the fault is latched'
            finally:
                if number == signal.SIGSTOP:
                    os.kill(victim, signal.SIGCONT)
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                finish(process, domain)

    def hold(device):
        """Let the simulated hand hold the lever 4 mm down."""
        for command in ('hand.stiffness 20000', 'hand.damping 60', 'hand.target 0.004', 'hand.mode 1'):
            device.command(f'set {command}')

    def truth(device, name):
        """Return a signal of the simulated world."""
        return float(device.command(f'get {name}', True).split()[1])

    def wait_for(done, what, timeout=25.0):
        """Wait until a condition holds."""
        end = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < end, f'not in time: {what}'
            time.sleep(0.02)

    def node_of(parent, name):
        """Return the number of the process of ours that runs a module."""
        found = [int(folder.name) for folder in Path('/proc').glob('[0-9]*') if is_node(folder, parent, name)]
        assert len(found) == 1
        return found[0]

    def test_killed_node_ends_the_run_with_a_sentence():
        domain = free_domain()
        process = start([*HAPTIC, 'run', 'lever', '--headless'], domain, stderr=-1)
        time.sleep(5.0)
        os.kill(node_of(process.pid, 'mbs_haptics.rosbotran'), signal.SIGKILL)
        code, out, err = finish(process, domain)
        assert code != 0 and 'rosbotran' in err and 'SIGKILL' in err and 'Traceback' not in err

    def is_node(folder, parent, name):
        """Tell whether a process is a child of ours that runs this module."""
        try:
            words = (folder / 'cmdline').read_text()       # a module, or the script of that name in lib/mbs_haptics
            return f'PPid:\t{parent}\n' in (folder / 'status').read_text() and (name in words or name.replace('.', '/') in words)
        except OSError:
            return False
