"""Who may push: states, faults, the gain that ramps up and decays, and changes of parameters. Kernel functions.

States: inactive (zero set-points, the model rests), active, stopping (decays, then inactive), fault (zero, latched until
reset). Requests are numbers put into the block by Python and taken at the start of a tick.
"""

INACTIVE, ACTIVE, STOPPING, FAULT = range(4)
STATES = ('inactive', 'active', 'stopping', 'fault')
NO_REQUEST, ENABLE, DISABLE, RESET = range(4)
FAULTS = ('none', 'sensor', 'overrun', 'model', 'estop', 'force', 'publish')
SENSOR, OVERRUN, MODEL, ESTOP, NOT_FINITE, PUBLISH = range(1, 7)
MOST_FAILED = 20           # set-points in a row that could not be published, or steps with open loops: latched fault


def latch(x, code: int) -> None:
    """Enter the fault state; the first fault is the one that is told."""
    if int(x[STATE]) != FAULT_STATE:
        x[FAULT_CODE] = float(code)
        x[FAULT_TICK] = x[TICKS]
        x[FAULTS_SEEN] += 1.0
    x[STATE] = float(FAULT_STATE)
    x[GAIN] = 0.0


def forget(x) -> None:
    """Start afresh: the next sample is the first. The heat of the windings stays."""
    x[HAVE] = 0.0
    x[HAVE_SEQUENCE] = 0.0
    x[HAVE_OFFSET] = 0.0
    x[HAVE_TICKED] = 0.0
    x[STAMP] = 0.0
    x[SPACING] = 0.0
    x[IN_A_ROW] = 0.0
    x[FAILED] = 0.0
    x[OPEN] = 0.0
    for i in range(NC):
        x[FORCE + i] = 0.0
        x[A + i] = 0.0
        x[SAME + i] = 0.0
        x[ENERGY + i] = 0.0


def obey(x) -> None:
    """Take the request, if there is one and the state lets it."""
    request = int(x[REQUEST])
    state = int(x[STATE])
    if request == 1 and state == INACTIVE_STATE and x[HAVE] != 0.0 and x[AGE] <= STALE_AFTER:
        x[STATE] = float(ACTIVE_STATE)
        x[GAIN] = 0.0
        x[PRIMED] = 0.0
        for i in range(NC):
            x[ENERGY + i] = 0.0
            x[ENERGY_Q + i] = x[Q + i]
    elif request == 2 and state == ACTIVE_STATE:
        x[STATE] = float(STOPPING_STATE)
    elif request == 3 and state == FAULT_STATE and x[ESTOPPED] == 0.0:
        x[STATE] = float(INACTIVE_STATE)
        x[FAULT_CODE] = 0.0
        forget(x)
    x[REQUEST] = 0.0


def supervise(x, t: int) -> None:
    """Work out state and gain for this tick from the age of the sample, the requests and the faults."""
    age = float(t) - x[BORN]
    if x[HAVE] == 0.0:
        age = 2.0 * FAULT_AFTER
    x[AGE] = age
    if x[ESTOPPED] != 0.0:
        latch(x, ESTOP_FAULT)
    if x[REQUEST] != 0.0:
        obey(x)
    state = int(x[STATE])
    if state == ACTIVE_STATE or state == STOPPING_STATE:
        if age > FAULT_AFTER:
            latch(x, SENSOR_FAULT)
            return
        gain = x[GAIN] + RISE
        if state == STOPPING_STATE:
            gain = x[GAIN] - FALL
        if age > STALE_AFTER:
            x[STALE] += 1.0
            gain = min(gain, x[GAIN], 1.0 - (age - STALE_AFTER) / DECAY)
        x[GAIN] = max(0.0, min(1.0, gain))
        if state == STOPPING_STATE and x[GAIN] == 0.0:
            x[STATE] = float(INACTIVE_STATE)
    else:
        x[GAIN] = 0.0
        if state == INACTIVE_STATE and x[HAVE] != 0.0 and age > FAULT_AFTER:
            forget(x)                          # a device that comes back counts from its own start


def change(x) -> None:
    """Take posted model parameters and commanded inputs between two ticks and move towards them: the force never steps."""
    if x[POSTED] != x[TAKEN]:
        slot = NEW + (int(x[POSTED]) % 2) * (NPAR + COMMANDED)
        for k in range(NPAR):
            x[PAR_FROM + k] = x[PAR + k]
            x[PAR_TO + k] = x[slot + k]
        for k in range(COMMANDED):
            x[PAR_FROM + NPAR + k] = x[COMMAND_AT[k]]
            x[PAR_TO + NPAR + k] = x[slot + NPAR + k]
        x[WAY] = 0.0
        x[CHANGE_TICK] = x[TICKS]
        x[TOOK] = x[TICKS] - x[POSTED_TICK]
        x[TOOK_MOST] = max(x[TOOK_MOST], x[TOOK])
        x[TAKEN] = x[POSTED]
    if x[WAY] < 1.0:
        x[WAY] = min(1.0, x[WAY] + WAY_STEP)
        s = x[WAY] * x[WAY] * (3.0 - 2.0 * x[WAY])
        for k in range(NPAR):
            x[PAR + k] = x[PAR_FROM + k] + s * (x[PAR_TO + k] - x[PAR_FROM + k])
        if x[WAY] >= 1.0:
            for k in range(NPAR):
                x[PAR + k] = x[PAR_TO + k]
        for k in range(COMMANDED):
            at = PAR_FROM + NPAR + k
            to = x[PAR_TO + NPAR + k]
            x[COMMAND_AT[k]] = to if x[WAY] >= 1.0 else x[at] + s * (to - x[at])
        if NPAR:
            model_pre(x)


def feed(x, t: int) -> None:
    """Give the model its measured inputs, each no faster than its slew; one without a fresh sample goes to its safe value."""
    for k in range(MEASURED):
        to = x[INPUT_TARGET + k]
        if float(t) - x[INPUT_BORN + k] > STALE_AFTER:
            to = x[INPUT_SAFE + k]
            x[STALE_INPUT] += 1.0
        u = x[INPUT_VALUE + k]
        u += max(-x[INPUT_STEP + k], min(to - u, x[INPUT_STEP + k]))
        x[INPUT_VALUE + k] = u
        x[INPUT_AT[k]] = u


def account(x, missed: int) -> None:
    """Count deadlines, or samples, that got no tick, and stop safely when too many follow each other."""
    if missed > 0:
        x[SKIPPED] += float(missed)
        x[IN_A_ROW] += float(missed)
        if x[IN_A_ROW] >= MOST_MISSED and int(x[STATE]) == ACTIVE_STATE:
            latch(x, OVERRUN_FAULT)
    else:
        x[IN_A_ROW] = 0.0


SUPERVISE = (latch, forget, obey, supervise, change, feed, account)
