"""One tick, and the two ways of calling it: whenever a sample has come, or at absolute deadlines. Kernel functions.

take -> supervise -> parameters -> model -> limits -> publish -> count, in one go and always by the nominal step. Missed
deadlines are skipped, never made up for. Times are nanoseconds since the loop's start on CLOCK_MONOTONIC.

Woken by the sample (`on_sample`) the loop shares the device's clock and answers every sample; `watch` ticks at absolute
deadlines where none comes. At deadlines of its own (`run`) it beats against the device's clock, whatever their phase: some
samples then meet no tick and some ticks no sample.
"""


def drive(x, i: int) -> None:
    """Give the model the motion of impedance channel i over this step: from where it was to the newest sample."""
    d = DRIVE[i]
    r = RATIO[i]
    for k in range(3):
        x[d + k] = x[d + 3 + k]
    if x[FRESH] != 0.0 or x[PRIMED] == 0.0:
        x[d + 3] = r * x[Q + i]
        x[d + 4] = r * x[V + i]
        x[d + 5] = r * x[A + i]
    elif x[AGE] > STALE_AFTER:
        x[d + 4] = 0.0                         # stale: stay where it was last seen
        x[d + 5] = 0.0
    else:
        x[d + 3] = x[d] + STEP * x[d + 1]      # between samples: go on as before
        x[d + 5] = 0.0
    if x[PRIMED] == 0.0:
        for k in range(3):
            x[d + k] = x[d + 3 + k]


def step(x) -> None:
    """Step the model by the nominal step and read the force of every channel, before limits."""
    for i in range(NC):
        if DRIVE[i] >= 0:
            drive(x, i)
        if FORCE_INPUT[i] >= 0:
            x[FORCE_INPUT[i]] = x[F + i] / RATIO[i]     # the same power on both sides of the ratio
    x[PRIMED] = 1.0
    status = model_advance(x, STEP, SUBSTEPS, METHOD)
    x[STATUS] = float(status)
    if status == 2:
        latch(x, MODEL_FAULT)
        return
    if status == 1:
        x[OPEN] += 1.0
        if x[OPEN] >= MOST_FAILED:
            latch(x, MODEL_FAULT)
        return                                 # the forces of the tick before stay
    x[OPEN] = 0.0
    if OUTPUTS:
        model_outputs(x)
    for i in range(NC):
        if DRIVE[i] >= 0:
            x[RAW + i] = -RATIO[i] * x[EFFORT[i]]
        elif MODEL_Q[i] >= 0:
            x[RAW + i] = (COUPLING_K[i] * (x[MODEL_Q[i]] / RATIO[i] - x[Q + i])
                          + COUPLING_B[i] * (x[MODEL_V[i]] / RATIO[i] - x[V + i]))


def local(x, i: int) -> None:
    """Fill in the local law of channel i: the force at the measured motion, and how it changes near it."""
    gain = x[GAIN]
    k = COUPLING_K[i]
    b = COUPLING_B[i]
    if SLOPE_K[i] >= 0:
        k = x[SLOPE_K[i]]
    if SLOPE_B[i] >= 0:
        b = x[SLOPE_B[i]]
    if not isfinite(k):
        k = 0.0
    if not isfinite(b):
        b = 0.0
    x[SET_Q + i] = x[Q + i]
    x[SET_V + i] = x[V + i]
    x[SET_F + i] = x[FORCE + i]
    x[SET_K + i] = gain * max(0.0, min(k, x[STIFFNESS_MOST + i]))
    x[SET_B + i] = gain * max(0.0, min(b, x[DAMPING_SENT + i]))


def write_digits(x, slot: int, at: int, n: int) -> None:
    """Write a number as DIGITS decimal digits."""
    for k in range(DIGITS):
        put_byte(x, slot, at + DIGITS - 1 - k, 48 + n % 10)
        n = n // 10


def write_message(x, o: int, stamp: int) -> int:
    """Patch message o with stamp, sequence, the answered sample and its numbers, and publish it; 0 if that went well."""
    slot = o + 1
    put_int(x, slot, OUT_STAMP[o], stamp // 1000000000)
    put_int(x, slot, OUT_STAMP[o] + 4, stamp % 1000000000)
    write_digits(x, slot, OUT_DIGITS[o], int(x[SENT + o]))
    if OUT_ANSWERED[o] >= 0:
        write_digits(x, slot, OUT_ANSWERED[o], int(x[ACCEPTED]))
    for k in range(OUT_FIRST[o], OUT_FIRST[o + 1]):
        put_float(x, slot, OUT_AT[k], x[OUT_FROM[k]])
    x[SENT + o] += 1.0
    return publish(x, slot)


def send(x) -> None:
    """Publish the set-point, then what else is due in this tick."""
    stamp = wall(x)
    for o in range(OUTLETS):
        if int(x[TICKS]) % OUT_EVERY[o] == 0:
            failed = write_message(x, o, stamp)
            if o == 0:
                x[FAILED] = x[FAILED] + 1.0 if failed != 0 else 0.0
            if failed != 0:
                x[PUBLISH_ERRORS] += 1.0
    if x[FAILED] >= MOST_FAILED and int(x[STATE]) == ACTIVE_STATE:
        latch(x, PUBLISH_FAULT)


def work(x, t: int) -> None:
    """Everything between a measurement and the set-point that answers it."""
    supervise(x, t)
    if NPAR + COMMANDED > 0:
        change(x)
    if MEASURED:
        feed(x, t)
    state = int(x[STATE])
    if state == ACTIVE_STATE or state == STOPPING_STATE:
        if MODELLED:
            step(x)
        total = 0.0
        for i in range(NC):
            total += x[RAW + i]
        if not isfinite(total):
            latch(x, FORCE_FAULT)
    state = int(x[STATE])
    for i in range(NC):
        if state == ACTIVE_STATE or state == STOPPING_STATE:
            limit(x, i, x[RAW + i], x[Q + i], x[V + i], x[GAIN])
        else:
            x[RAW + i] = 0.0
            x[FORCE + i] = 0.0
            heat(x, i)
        local(x, i)


def tick(x, due: int, t: int, wanted: int) -> int:
    """Do one tick that was due at `due` and starts at t; without a good new sample it is left out unless `wanted`.

    One that is not wanted by the clock is due when the middleware had its sample: lateness is the wake-up then as well.
    """
    x[BEGUN] += 1.0
    receive(x, t)
    if wanted == 0:
        if x[FRESH] == 0.0:
            x[ENDED] = x[BEGUN]
            return 0
        due = int(x[CAME])
    work(x, t)
    send(x)
    if x[TICKS] > 0.0:
        record(x, 1, t - int(x[START]))
    x[BEFORE] = x[START]
    x[START] = float(t)
    if x[HAVE] != 0.0:
        record(x, 3, int(x[AGE]))
    record(x, 0, t - due)
    if TRACE_ROWS:
        row = TRACE + 8 * (int(x[TICKS]) % TRACE_ROWS)
        x[row] = float(t)
        x[row + 1] = float(t - due)
        x[row + 3] = x[ACCEPTED]
        x[row + 4] = x[STATE]
        x[row + 5] = x[GAIN]
        x[row + 6] = x[FORCE]
        x[row + 7] = x[AGE]
        x[row + 2] = float(now(x) - t)
    x[TICKS] += 1.0
    spent = now(x) - t
    record(x, 2, spent)
    x[ENDED] = x[BEGUN]
    return 1


def rest(x) -> None:
    """Leave with zero set-points: three, because one may be lost."""
    x[STATE] = float(INACTIVE_STATE) if int(x[STATE]) != FAULT_STATE else float(FAULT_STATE)
    x[GAIN] = 0.0
    for i in range(NC):
        x[FORCE + i] = 0.0
        local(x, i)
    for k in range(3):
        send(x)
        t = now(x)
        sleep_until(x, t + PERIOD)


def run(x) -> int:
    """Tick at absolute deadlines until told to stop; returns the number of ticks."""
    due = now(x) + PERIOD
    x[FIRST_DUE] = float(due)
    x[START] = float(due - PERIOD)
    while x[STOP] == 0.0:
        sleep_until(x, due - SPIN)
        t = now(x)
        while t < due:
            t = now(x)
        tick(x, due, t, 1)
        x[LAST_DUE] = float(due)
        x[DEADLINES] += 1.0
        due += PERIOD
        t = now(x)
        missed = 0
        if t >= due:
            missed = (t - due) // PERIOD + 1
            due += missed * PERIOD
            x[DEADLINES] += float(missed)
        account(x, missed)
    rest(x)
    return int(x[TICKS])


def enter(x) -> None:
    """Account for a tick that a sample woke: every sequence number since the last one is a tick, stood in for, or skipped."""
    passed = 1
    if x[HAVE_TICKED] != 0.0:
        passed = max(1, int(x[ACCEPTED]) - int(x[TICKED]) - int(x[STOOD_IN]))
    x[DEADLINES] += float(passed)
    x[TICKED] = x[ACCEPTED]
    x[HAVE_TICKED] = 1.0
    x[STOOD_IN] = 0.0
    account(x, passed - 1)


def on_sample(x) -> None:
    """Tick because a sample came; called by the thread that received it. If a tick is under way, that one goes on.

    A sample that was held up may follow on the heels of another, one more is left to the next: there is never a burst.
    """
    if x[RAISED] == 0.0:
        x[RAISED] = 1.0
        raise_priority(x)
    x[PENDING] = 1.0
    while x[PENDING] != 0.0 and try_lock(x) == 1:
        x[PENDING] = 0.0
        t = now(x)
        if x[ALONE] != 0.0 or x[TICKS] < 2.0 or t - int(x[BEFORE]) >= SOONEST:
            if tick(x, t, t, 0) == 1:
                enter(x)
                x[LAST_DUE] = float(t)
                x[ALONE] = 0.0
        unlock(x)


def stand_by(x) -> int:
    """Tick at an absolute deadline if no sample has come for a few periods, and then every period; return the next deadline."""
    patience = PERIOD
    if x[ALONE] == 0.0:
        patience = PATIENCE
    due = int(x[LAST_DUE]) + patience
    t = now(x)
    if t < due:
        return due
    if try_lock(x) == 0:
        return t + PERIOD // 4
    due = int(x[LAST_DUE]) + patience          # a sample may have come in between
    if t >= due:
        passed = (t - int(x[LAST_DUE])) // PERIOD
        tick(x, due, t, 1)
        x[ALONE] = 1.0
        x[WATCH_TICKS] += 1.0
        x[LAST_DUE] += float(passed * PERIOD)
        x[DEADLINES] += float(passed)
        x[STOOD_IN] += float(passed)
        account(x, passed - 1)
        due = int(x[LAST_DUE]) + PERIOD
    unlock(x)
    if x[PENDING] != 0.0:
        on_sample(x)
    return due


def watch(x) -> int:
    """Stand by while samples drive the loop, so that ticks never cease; returns the number of ticks.

    Nothing has to happen before a sample is stale, so this thread sleeps about as long: waking costs more than a tick.
    """
    t = now(x)
    x[START] = float(t)
    x[LAST_DUE] = float(t)
    while x[STOP] == 0.0:
        due = stand_by(x)
        sleep_until(x, due)
    while try_lock(x) == 0:
        t = now(x)
        sleep_until(x, t + PERIOD // 4)
    rest(x)
    return int(x[TICKS])


TICK = (drive, step, local, write_digits, write_message, send, work, tick, rest, run, enter, on_sample, stand_by, watch)
