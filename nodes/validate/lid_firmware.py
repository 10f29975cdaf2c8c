"""Claim H5 of 000: two current loops at 2000 Hz above a main loop at 400 Hz that runs the generated model, in the firmware."""

import numpy as np

from mbs_core.errors import MbsError
from mbs_haptics.validate.claims import Claim

TICK_HZ = 10000          # of the firmware's fast loop
SETTLED, WATCHED = 10000, 2000          # ticks


def h5() -> Claim:
    """Return the claim: rates counted in the simulated device, instructions on the emulated one."""
    from mbs_haptics.firmware import check
    from mbs_haptics.firmware.build import build
    claim = Claim('H5', 'Loops of the microcontroller', 'main control loop at 400 Hz and two current loops at 2000 Hz on one microcontroller')
    held = watch_closed()
    for rod in ('left', 'right'):
        claim.measure(f'current_loop_{rod}', rate_of_steps(held[f'duty_{rod}']), 'Hz', '1990..2010', "new voltages of the motor, in the simulated device's clock")
    claim.measure('main_loop', rate_of_steps(held['force_left']), 'Hz', '399..401', 'steps of the force with which the generated model answers the encoders')
    try:
        got = check.on_target('lid_hinge')
    except MbsError as error:
        claim.lacks('instructions', str(error))
    else:
        claim.measure('instructions', got['loop_instructions_max'], '1', f'<={check.LOOP_BUDGET}', 'of the main loop, both rods, on the emulated Cortex-M4')
    claim.saw = 'The generated C of the reduced model runs inside the firmware at the rates of the paper.'
    return claim


def watch_closed() -> dict:
    """Return duty and force, tick by tick, of a closed lid: the host asks for nothing, so only encoder noise moves the model's part."""
    from mbs_haptics.firmware.sim import BOOT_TICKS, MAIN_TICKS, Sim
    sim, rows = Sim('lid_hinge'), []
    sim.run(BOOT_TICKS)
    if sim.arm():
        raise MbsError('the simulated lid was not armed')
    for k in range(SETTLED + WATCHED):
        if k % MAIN_TICKS == 0:
            sim.setpoint(*[(0.0, 0.0, 0.0, 0.0)] * 2)
        sim.run(1)
        if k >= SETTLED:
            rows.append([sim.view(rod)[name] for name in ('duty', 'force') for rod in (0, 1)])
    return dict(zip(('duty_left', 'duty_right', 'force_left', 'force_right'), np.array(rows).T))


def rate_of_steps(x) -> float:
    """Return the rate, in Hz, of the comb on which a signal changes: the greatest common distance of its steps."""
    places = np.flatnonzero(np.abs(np.diff(x)) > 1e-9)
    if len(places) < 2:
        return 0.0
    return TICK_HZ / float(np.gcd.reduce(np.diff(places)))
