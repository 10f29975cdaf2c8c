"""What the firmware must keep, measured: no frame lost on any link, size, and instructions of its loops on the target.

Each function adds its figures, with their aims; a tool that is missing raises MbsError with its Debian package.
"""

import functools
import re
import subprocess

from mbs_core.errors import MbsError
from mbs_haptics.firmware.build import build, tool
from mbs_haptics.firmware.device import RELAXED_MS, Emulated, Virtual, hurry, hurrying
from mbs_haptics.firmware.exchange import Exchange
from mbs_haptics.wire.codec import encode
from mbs_haptics.wire.definition import ENUMS

# Of 1 MiB of flash and 128 KiB of RAM of an STM32F405: room for a generated model, and for a smaller controller.
FLASH_BUDGET = 32 << 10
RAM_BUDGET = 16 << 10
STACK = 4 << 10         # kept free by the linker scripts
CLOCK_HZ, FAST_HZ = 168e6, 10e3
# An instruction takes 1 to 2 cycles on average on a Cortex-M4 with flash wait states, so half of the cycles are the budget.
FAST_BUDGET = int(CLOCK_HZ / FAST_HZ / 2)
MAIN_BUDGET = int(CLOCK_HZ / 1e3 / 2) - 10 * FAST_BUDGET // 2
# An application's own loop, with a generated model, may take a quarter of its period's instructions.
LOOP_HZ = 400.0
LOOP_BUDGET = int(CLOCK_HZ / LOOP_HZ / 2) // 4
TARGET_S = 60.0

# name: (class, link, rate in Hz, set-point time-out in ms). QEMU takes one byte of its UART at a time: 500 Hz there.
LINKS = {
    'posix_udp': (Virtual, 'udp', 1000.0, RELAXED_MS),
    'posix_pty': (Virtual, 'pty', 1000.0, RELAXED_MS),
    'qemu_ethernet': (Emulated, 'udp', 1000.0, RELAXED_MS),
    'qemu_outside': (functools.partial(Emulated, outside=True), 'udp', 1000.0, RELAXED_MS),    # the plant as a process
    'qemu_uart': (Emulated, 'uart', 500.0, 500),
}
ESTOP_COMMAND, SENSING_S = 2, 0.2
# One fast period. QEMU's come in bursts of ten, and one burst may come between a frame and its effect.
ESTOP_US = {True: 100, False: 1100}
ACTIVE = ENUMS['state']['ACTIVE'][0]


def exchange(name, app, seconds):
    """Return the figures of an exchange over one of LINKS as a dict (see Exchange.run), with the device's CPU share."""
    kind, link, rate_hz, watchdog_ms = LINKS[name]
    with kind(app, link, watchdog_ms=watchdog_ms) as device, Exchange(device.address, rate_hz) as host:
        before = device.cpu_seconds
        hurry(device.process.pid)       # a link is measured, not how long a busy machine lets programs wait
        with hurrying():                # this process is the host: its own delays are not the device's
            result = host.run(seconds)
        return {**result, 'cpu': (device.cpu_seconds - before) / result['seconds'], 'nominal_hz': rate_hz}


def add_link_figures(figures, name, app, seconds):
    """Run one of LINKS and add what was lost, stopped and reached."""
    got = exchange(name, app, seconds)
    where = f'firmware.{name}'
    lost = sum(got[key] for key in ('lost_to_device', 'lost_to_host', 'unsent', 'refused', 'bad_frames'))
    figures.add(f'{where}.lost', lost, 'frames', '==0',
                f'{app}: {got["accepted"]} set-points and {got["states"]} states in {got["seconds"]:.0f} s, {got["skipped"]} '
                'not sent for a full queue')
    figures.add(f'{where}.watchdog_trips', got['watchdog_trips'], '', '==0', f'faults: {got["faults"]}')
    figures.add(f'{where}.rate_to_device', got['rate_to_device_hz'], 'Hz', f'>={0.98 * got["nominal_hz"]:g}')
    figures.add(f'{where}.rate_to_host', got['rate_to_host_hz'], 'Hz', f'>={0.98 * got["nominal_hz"]:g}')
    figures.add(f'{where}.round_trip', got['round_trip_p50_ms'], 'ms', note=f'p99 {got["round_trip_p99_ms"]:.2f} ms')
    figures.add(f'{where}.cpu', 100.0 * got['cpu'], '%', note='of one core, the device with its plant')


def estop(name, app):
    """Stop a driving device by ESTOP over one of LINKS; return {stop_us, states, fresh}.

    stop_us: from where the device knew of it to where it drove no more, in its own clock. states: how many came in the
    SENSING_S after that, fresh: in how many of them every sensor was.
    """
    kind, link, rate_hz, watchdog_ms = LINKS[name]
    with kind(app, link, watchdog_ms=watchdog_ms) as device, Exchange(device.address, rate_hz) as host, hurrying():
        host.start()
        if not host.proceed(3.0, until=lambda: host.newest.flags == ACTIVE):
            raise MbsError(f'{app} does not become active over {name}')
        host.law = (0.5, 0.0, 0.0, 0.0)
        host.proceed(0.05)
        host.link.send(encode('ESTOP'))
        if not host.proceed(3.0, until=lambda: host.newest['fault'] == ESTOP_COMMAND):
            raise MbsError(f'{app} does not stop by ESTOP over {name}')
        seen, sensors = [], (1 << len(host.device.sensors)) - 1
        host.proceed(SENSING_S, until=lambda: seen.append(host.newest))
        states = {state.t_us: state['fresh'] == sensors for state in seen}
        return {'stop_us': device.stop_us(), 'states': len(states), 'fresh': sum(states.values())}


def add_estop_figures(figures, name, app):
    """Stop a device over one of LINKS and add how long it still drove."""
    got = estop(name, app)
    figures.add(f'firmware.{name}.estop', got['stop_us'], 'us', f'<={ESTOP_US[LINKS[name][0] is Virtual]}',
                f'from ESTOP received to no drive, by the clock of {app}; {got["states"]} states in the {SENSING_S:g} s after it, '
                f'{got["fresh"]} with all sensors')


def size(image):
    """Return (flash, RAM) of a linked image in bytes."""
    shown = subprocess.run([tool('arm-none-eabi-size', 'binutils-arm-none-eabi'), str(image)], capture_output=True,
                           text=True, check=True).stdout
    text, data, bss = map(int, shown.splitlines()[1].split()[:3])
    return text + data, data + bss


def add_size_figures(figures, app):
    """Build for the STM32F4 and add what it takes of flash and RAM."""
    flash, ram = size(build('stm32f4', app, strict=True))
    figures.add(f'firmware.stm32f4.{app}.flash', flash / 1024, 'KiB', f'<={FLASH_BUDGET / 1024:g}')
    figures.add(f'firmware.stm32f4.{app}.ram', (ram + STACK) / 1024, 'KiB', f'<={RAM_BUDGET / 1024:g}',
                f'with {STACK // 1024} KiB of stack')


def on_target(app):
    """Run the tests on the emulated Cortex-M4F in simulated time; return their figures, raise MbsError if one fails."""
    command = [tool('qemu-system-arm', 'qemu-system-arm'), '-M', 'mps2-an386', '-display', 'none', '-monitor', 'none',
               '-serial', 'null', '-nic', 'user', '-icount', 'shift=10,sleep=off', '-semihosting-config',
               'enable=on,target=native', '-kernel', str(build('qemu_test', app, strict=True))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TARGET_S,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise MbsError(f'the on-target test of {app} does not end within {TARGET_S:g} s') from None
    # Semihosting writes to standard error or output, depending on QEMU's version.
    said = done.stdout + done.stderr
    if done.returncode:
        raise MbsError(f'the on-target test of {app} ends with {done.returncode}: {said.strip()}')
    return {name: int(value) for name, value in re.findall(r'^(\w+) (\d+)$', said, re.MULTILINE)}


def add_target_figures(figures, app):
    """Run the tests on the target and add the instructions of the loops against their budgets."""
    got = on_target(app)
    where = f'firmware.target.{app}'
    figures.add(f'{where}.watchdog', got['watchdog_us'] / 1e3, 'ms', '==10')
    worst = got['fast_instructions_max']
    figures.add(f'{where}.fast_loop', worst, 'instructions', f'<={FAST_BUDGET}',
                f'worst of {got["fast_calls"]}, mean {got["fast_instructions_mean"]}; '
                f'{100 * worst / (CLOCK_HZ / FAST_HZ):.0f} % of the 10 kHz period at 168 MHz and a cycle each')
    figures.add(f'{where}.main_loop', got['main_instructions_max'], 'instructions', f'<={MAIN_BUDGET}',
                f'worst, with every request; mean {got["main_instructions_mean"]}')
    if 'loop_calls' in got:
        worst = got['loop_instructions_max']
        figures.add(f'{where}.model_loop', worst, 'instructions', f'<={LOOP_BUDGET}',
                    f'its own loop at {LOOP_HZ:g} Hz with the generated model of both rods, worst of {got["loop_calls"]}, mean '
                    f'{got["loop_instructions_mean"]}; {100 * worst / (CLOCK_HZ / LOOP_HZ):.0f} % of the period at a cycle each')
