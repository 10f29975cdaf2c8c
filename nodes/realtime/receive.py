"""From a message to a measurement: take the newest, and refuse what can't be true. Kernel functions.

A refused sample is as good as none: the last accepted one ages, the force decays, and a fault is latched. So a sensor
that sends NaN, jumps, freezes or repeats itself ends exactly as one that has gone silent.
"""


def digits(x, slot: int, at: int) -> int:
    """Read DIGITS decimal digits of a message; -1 if one of them is something else."""
    n = 0
    for k in range(DIGITS):
        c = get_byte(x, slot, at + k) - 48
        if c < 0 or c > 9:
            return -1
        n = 10 * n + c
    return n


def delay(x, t: int, stamp: int) -> int:
    """Return how much later than the quickest a sample came, by its stamp; follows clocks that drift or are set.

    The two clocks need not agree: the least difference seen is their offset. It may rise by 200 ppm, for drift.
    """
    offset = t - stamp
    base = offset
    if x[HAVE_OFFSET] != 0.0:
        base = get_word(x, OFFSET_WORD)
        base += int(2e-4 * (float(t) - x[OFFSET_TIME]))
        if abs(offset - base) > CLOCK_STEP:
            x[CLOCK_STEPS] += 1.0
            base = offset
        base = min(base, offset)
    set_word(x, OFFSET_WORD, base)
    x[OFFSET_TIME] = float(t)
    x[HAVE_OFFSET] = 1.0
    return offset - base


def plausible(x, steps: int) -> int:
    """Check the numbers of a sample that came `steps` sequence numbers after the last accepted one; 1 if they may be true."""
    for j in range(NC):
        q = get_float(x, 0, SAMPLE_Q[j])
        v = get_float(x, 0, SAMPLE_V[j])
        f = get_float(x, 0, SAMPLE_F[j])
        if not isfinite(q) or not isfinite(v) or not isfinite(f):
            x[REFUSED_NAN] += 1.0
            return 0
        if abs(v) > x[PLAUSIBLE + j]:
            x[REFUSED_JUMP] += 1.0
            return 0
        if x[HAVE] != 0.0:
            if abs(q - x[Q + j]) > x[PLAUSIBLE + j] * STEP * float(steps):
                x[REFUSED_JUMP] += 1.0
                return 0
            if q == x[Q + j] and abs(v) > x[FROZEN_SPEED + j]:
                x[SAME + j] += 1.0
                if x[SAME + j] >= FROZEN_SAMPLES:
                    x[REFUSED_FROZEN] += 1.0
                    return 0
            else:
                x[SAME + j] = 0.0
    return 1


def measure_inputs(x, born: int) -> None:
    """Keep the measured inputs of a new message, each by itself: what is not finite is left out and ages."""
    for k in range(MEASURED):
        u = INPUT_GAIN[k] * get_float(x, 0, INPUT_SAMPLE[k]) + INPUT_OFFSET[k]
        if isfinite(u):
            x[INPUT_TARGET + k] = max(x[INPUT_LOW + k], min(u, x[INPUT_HIGH + k]))
            x[INPUT_BORN + k] = float(born)
        else:
            x[REFUSED_INPUT] += 1.0


def pace(x, stamp: int, sequence: int) -> None:
    """Follow how far apart samples are by their stamps; 0 until two have followed each other."""
    step = sequence - int(x[STAMP_OF])
    apart = float(stamp) - x[STAMP]
    if x[STAMP] != 0.0 and step > 0 and apart > 0.0:
        apart = min(apart / float(step), 1e9)
        x[SPACING] += (apart - x[SPACING]) * (0.02 if x[SPACING] > 0.0 else 1.0)
    x[STAMP] = float(stamp)
    x[STAMP_OF] = float(sequence)


def accept(x, t: int) -> None:
    """Count the message in the sample slot, and keep its numbers if they are new and plausible.

    Its age counts from when the middleware received it, or earlier where its stamp says that it was held up before.
    """
    sequence = digits(x, 0, SAMPLE_DIGITS)
    if sequence < 0:
        x[REFUSED_LAYOUT] += 1.0
        return
    x[RECEIVED] += 1.0
    if x[HAVE_SEQUENCE] != 0.0:
        step = sequence - int(x[SEQUENCE])
        if step <= 0:
            x[REPEATED] += 1.0
            return
        x[LOST] += float(step - 1)
    x[SEQUENCE] = float(sequence)
    x[HAVE_SEQUENCE] = 1.0
    seconds = get_int(x, 0, SAMPLE_STAMP)
    rest_ns = get_int(x, 0, SAMPLE_STAMP + 4)
    came = t - waited(x)
    stamp = seconds * 1000000000 + rest_ns
    late = delay(x, came, stamp)
    pace(x, stamp, sequence)
    if MEASURED:
        measure_inputs(x, came - late)
    steps = 1
    if x[HAVE] != 0.0:
        steps = min(sequence - int(x[ACCEPTED]), FROZEN_SAMPLES)
    if plausible(x, steps) == 0:
        return
    for j in range(NC):
        v = get_float(x, 0, SAMPLE_V[j])
        if x[HAVE] != 0.0:
            x[A + j] += ACCELERATION * ((v - x[V + j]) / (STEP * float(steps)) - x[A + j])
        x[Q + j] = get_float(x, 0, SAMPLE_Q[j])
        x[V + j] = v
        x[F + j] = get_float(x, 0, SAMPLE_F[j])
    x[ACCEPTED] = float(sequence)
    x[HAVE] = 1.0
    x[BORN] = float(came - late)
    x[CAME] = float(came)
    x[FRESH] = 1.0


def receive(x, t: int) -> int:
    """Drain the subscription: the newest good sample stays. Returns how many messages there were."""
    count = 0
    x[FRESH] = 0.0
    while count < 64:
        kind = take(x)
        if kind == 0:
            break
        count += 1
        if kind == 1:
            accept(x, t)
        elif kind == 2:
            x[REFUSED_LAYOUT] += 1.0
        else:
            x[TAKE_ERRORS] += 1.0
    if count > 1:
        x[OVERTAKEN] += float(count - 1)
    return count


RECEIVE = (digits, delay, plausible, measure_inputs, pace, accept, receive)
