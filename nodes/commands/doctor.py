"""`haptic doctor`: try the way to a device step by step, and say for each step how it went and what would help."""

import ctypes
import os
import resource
import time

from mbs_core.errors import MbsError
from mbs_haptics.figures import Figures, add_json_argument

HELP = 'Check the way to a device: port, protocol, rate, latency, errors, sensors, scheduling rights.'
EDGES_US = (50, 100, 200, 500, 1000, 2000, 5000, 10000)
BAR = 40


def add_arguments(parser):
    """Add the device and how long to look."""
    from mbs_haptics.bridge.choice import add_device_arguments
    add_device_arguments(parser)
    parser.add_argument('--seconds', type=float, default=3.0, help='how long to listen (default 3)')
    add_json_argument(parser)


def run(args):
    """Print the findings and return 0 only if none is bad."""
    from mbs_haptics.bridge.choice import chosen_config, chosen_session
    from mbs_haptics.chosen import positive
    positive(args.seconds, '--seconds')
    figures, trips = Figures(), []
    config = chosen_config(args)
    session = chosen_session(args, config, sync_hz=100.0)
    try:
        trips = examine(figures, session, config, args.seconds)
    finally:
        session.close()
    rights(figures)
    if args.json:
        return figures.report(as_json=True)
    for row in figures.rows:
        print_finding(row)
    print_histogram(trips)
    return 0 if figures.ok else 1


def print_finding(row):
    """Print one line: verdict, what, value, and what would help."""
    value = f'{row["value"]:.4g}' if isinstance(row['value'], float) else row['value']
    aim = f' (want {row["aim"]})' if row['aim'] and not row['ok'] else ''
    print(f'{"ok" if row["ok"] else "BAD":4}{row["id"].partition(".")[2]:22}{value} {row["unit"]}{aim}'.rstrip()
          + (f'   {row["note"]}' if row['note'] else ''))


def print_histogram(trips):
    """Print the round trips as bars."""
    if not trips:
        return
    print('\nround trips to the device')
    edges = (0, *EDGES_US, float('inf'))
    counts = [sum(low <= trip < high for trip in trips) for low, high in zip(edges, edges[1:])]
    for low, high, count in zip(edges, edges[1:], counts):
        name = f'{low:>6} us and more' if high == float('inf') else f'{low:>6} to {high:<6} us'
        print(f'  {name:20}{count:>7}  {"#" * round(BAR * count / max(counts))}')


def examine(figures, session, config, seconds) -> list:
    """Connect, listen and send zero set-points; add the findings and return the round trips (us)."""
    link = session.link
    try:
        device = session.connect()
    except MbsError as error:
        known = link.foreign is not None or 'protocol' in str(error)
        figures.add('doctor.port' if not known else 'doctor.protocol', link.name, ok=False, note=str(error))
        return []
    from mbs_haptics.wire import definition as wire
    figures.add('doctor.port', link.name, ok=True)
    figures.add('doctor.protocol', wire.VERSION, ok=True, note=f'layout 0x{wire.LAYOUT_CRC:08X}, schema 0x{device.schema_crc:08X}')
    figures.add('doctor.device', device.app, ok=True, note=f'firmware {device.firmware}, uid {device.uid.hex()}')
    pipeline = _pipeline(figures, config, device)
    states, seen = listen(session, pipeline, seconds)
    trips = list(session.round_trips_us)
    _rate(figures, session, device, states)
    _errors(figures, session)
    _latency(figures, session, trips)
    if pipeline is not None:
        _sensors(figures, pipeline, seen, states)
    return trips


def _pipeline(figures, config, device):
    from mbs_haptics.bridge.pipeline import Pipeline
    try:
        pipeline = Pipeline(config, device)
    except MbsError as error:
        figures.add('doctor.configuration', config.path, ok=False, note=str(error))
        return None
    figures.add('doctor.configuration', config.path, ok=True)
    return pipeline


def listen(session, pipeline, seconds):
    """Return (states, how many samples were believable) of some seconds; zero set-points go back."""
    session.poll(0.0)
    states, seen = [], 0
    session.largest_gap_us, session.lost, session.repeated = 0, 0, 0
    zero = [(0.0, 0.0, 0.0, 0.0)] * len(session.device.actuators)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for state in session.poll(0.05):
            states.append(state)
            session.setpoint(zero, state.t_us)
            if pipeline is not None and pipeline.take(state) is not None:
                seen += 1
    return states, seen


def _rate(figures, session, device, states):
    span = (states[-1].t_us - states[0].t_us) * 1e-6 if len(states) > 1 else 0.0
    rate = (states[-1].sequence - states[0].sequence) / span if span else 0.0
    wanted = float(device.main_rate_hz)
    figures.add('doctor.rate', rate, 'Hz', f'{0.99 * wanted:.6g}..{1.01 * wanted:.6g}',
                '' if abs(rate - wanted) < 0.01 * wanted else "the device's clock or main loop is wrong: flash its firmware again")
    figures.add('doctor.lost_frames', session.lost, '', '==0',
                '' if not session.lost else 'shorten the cable, avoid hubs, raise the baud rate, end other programs')
    gap = session.largest_gap_us * 1e-3
    figures.add('doctor.largest_gap', gap, 'ms', '<10',
                '' if gap < 10 else 'this machine stalls: end other programs, get scheduling rights (below)')


def _errors(figures, session):
    refused = session.link.statistics.refused_total
    words = ', '.join(f'{count} {verdict.name}' for verdict, count in session.link.statistics.refused.items())
    figures.add('doctor.crc_errors', refused, '', '==0', f'bad frames from the device ({words}): check cable, baud rate and ground'
                if refused else '')
    counters = session.counters
    bad = sum(counters.get(name, 0) for name in ('bad_cobs', 'bad_length', 'bad_type', 'bad_crc'))
    figures.add('doctor.crc_errors_device', bad, '', '==0', 'bad frames at the device: check cable, baud rate and ground' if bad else '')
    figures.add('doctor.fault', session.fault, '', '==0',
                f'see section {session.fault} of docs/faults.md, then `haptic reset`' if session.fault else '')


def _latency(figures, session, trips):
    if not trips:
        figures.add('doctor.round_trip', 'none', ok=False, note='the device does not answer clock requests: flash its firmware again')
        return
    ordered = sorted(trips)
    for name, part, aim in (('p50', 0.5, '<1000'), ('p99', 0.99, '<3000'), ('max', 1.0, '')):
        value = float(ordered[min(round(part * len(ordered)), len(ordered) - 1)])
        late = aim and value >= float(aim[1:])
        figures.add(f'doctor.round_trip_{name}', value, 'us', aim, 'use UDP or a faster port, end other programs' if late else '')
    sync = session.clock_sync
    drift = sync.drift * 1e6 if sync.is_known else float('nan')
    figures.add('doctor.clock_drift', drift, 'ppm', '-300..300', "the device's clock is no quartz" if abs(drift) >= 300 else '')


def _sensors(figures, pipeline, seen, states):
    complaint = '; '.join(filter(None, (joint.complaint() for joint in pipeline.joints)))
    share = 100.0 * seen / max(len(states), 1)
    figures.add('doctor.believable', share, '%', '>99', complaint or ('' if share > 99 else 'run `haptic calibrate`'))


def rights(figures):
    """Add what this process may do about its scheduling; a lack of it is told, but nothing fails without it."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        os.sched_setscheduler(0, *before)
        fifo = ''
    except OSError:
        fifo = "put '@realtime - rtprio 90' into /etc/security/limits.d/realtime.conf and join that group, or run as root"
    figures.add('doctor.realtime_priority', 'no' if fifo else 'yes', ok=True, note=fifo)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    memory = '' if os.geteuid() == 0 or locked == resource.RLIM_INFINITY else \
        "put '@realtime - memlock unlimited' into /etc/security/limits.d/realtime.conf and join that group"
    figures.add('doctor.locked_memory', 'no' if memory else 'yes', ok=True, note=memory)
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    figures.add('doctor.load_per_core', load / cores, '', ok=True, note='end other programs' if load > cores else '')
    governor = _governor()
    figures.add('doctor.governor', governor, ok=True,
                note='`sudo cpupower frequency-set -g performance` makes wake-ups steadier' if governor == 'powersave' else '')
    figures.add('doctor.timer_slack', ctypes.CDLL(None).prctl(30, 0, 0, 0, 0) * 1e-3, 'us', ok=True)


def _governor():
    try:
        with open('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor', encoding='utf-8') as file:
            return file.read().strip()
    except OSError:
        return 'unknown'
