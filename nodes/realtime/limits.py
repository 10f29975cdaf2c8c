"""The limit chain: finite, passivity, velocity, thermal, slew, clamp, always in this order.

Kernel functions: plain Python that is also compiled. `i` is the channel, `f` the force so far, on the device's joint;
upper-case names are places in the block. Each function returns the force that may pass and counts when it had to act.
"""


def finite(x, i: int, f: float) -> float:
    """Let finite forces pass; anything else becomes zero."""
    if not isfinite(f):
        x[CUT_FINITE] += 1.0
        return 0.0
    return f


def observe(x, i: int, q: float) -> None:
    """Count the energy taken from the hand: the force held since the last tick times the way it moved, exactly."""
    e = x[ENERGY + i] - x[FORCE + i] * (q - x[ENERGY_Q + i])
    x[ENERGY + i] = min(e, x[ENERGY_KEPT + i])      # old dissipation must not pay for a burst later
    x[ENERGY_Q + i] = q


def passivity(x, i: int, f: float, v: float) -> float:
    """Damp while more energy was given than allowed: just as much as brings it back within a tick, if that is legal."""
    lack = -(x[ENERGY + i] + x[ENERGY_ALLOWED + i])
    power = v * v * STEP
    if lack > 0.0 and power > 1e-15:
        b = min(lack / power, x[DAMPING_MOST + i])
        x[CUT_PASSIVITY] += 1.0
        return f - b * v
    return f


def velocity(x, i: int, f: float, v: float) -> float:
    """Reduce forces that accelerate above the soft speed, to nothing at the hard one; braking always passes."""
    size = abs(v)
    if f * v > 0.0 and size > x[SPEED_SOFT + i]:
        x[CUT_VELOCITY] += 1.0
        if size >= x[SPEED_HARD + i]:
            return 0.0
        return f * (x[SPEED_HARD + i] - size) / (x[SPEED_HARD + i] - x[SPEED_SOFT + i])
    return f


def heat(x, i: int) -> None:
    """Follow the winding's heat: the square of the force that was applied, through a first-order lag."""
    x[HEAT + i] += x[THERMAL_WEIGHT + i] * (x[FORCE + i] * x[FORCE + i] - x[HEAT + i])


def thermal(x, i: int, f: float) -> float:
    """Derate linearly from the largest force down to the continuous one while the heat nears its bound (I2t)."""
    bound = x[CONTINUOUS + i] * x[CONTINUOUS + i]
    start = x[THERMAL_START + i] * bound
    most = x[FORCE_MOST + i]
    if x[HEAT + i] > start and most > x[CONTINUOUS + i]:
        share = min(1.0, (x[HEAT + i] - start) / (bound - start))
        most += share * (x[CONTINUOUS + i] - most)
        if abs(f) > most:
            x[CUT_THERMAL] += 1.0
            return most if f > 0.0 else -most
    return f


def slew(x, i: int, f: float) -> float:
    """Let the force change by no more than its slew rate allows in a tick."""
    most = x[SLEW_MOST + i] * STEP
    change = f - x[FORCE + i]
    if abs(change) > most:
        x[CUT_SLEW] += 1.0
        return x[FORCE + i] + (most if change > 0.0 else -most)
    return f


def clamp(x, i: int, f: float, gain: float) -> float:
    """Keep the force within its bound times the gain: what ramps up or decays is bounded by the ramp itself."""
    most = x[FORCE_MOST + i] * gain
    if abs(f) > most:
        x[CUT_CLAMP] += 1.0
        return most if f > 0.0 else -most
    return f


def limit(x, i: int, f: float, q: float, v: float, gain: float) -> float:
    """The whole chain for one channel; keeps and returns the force that leaves."""
    observe(x, i, q)
    heat(x, i)
    f = finite(x, i, f)
    f = passivity(x, i, f, v)
    f = velocity(x, i, f, v)
    f = gain * thermal(x, i, f)
    f = slew(x, i, f)
    f = clamp(x, i, f, gain)
    x[FORCE + i] = f
    return f


CHAIN = (finite, observe, passivity, velocity, heat, thermal, slew, clamp, limit)
