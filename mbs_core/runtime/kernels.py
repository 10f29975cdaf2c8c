"""Drivers around the generated equations: loop solution, partition switching and the fixed-step integrators.

Written in the kernel subset of Python and printed to LLVM, C and Python with the model's numbers put in as constants.
All of them work on the model's one block `x`; upper-case names are offsets, sizes and tables of that model.
"""


def solve_loops(x) -> int:
    """Solve h(q) = 0 for the dependent coordinates: at most MOST Newton steps, quadratic at the end.

    The loop ends when the residual before a step was below CLOSE: the step then leaves about CLOSE squared.
    """
    p = int(x[INFO + 2])
    it = 0
    while it < MOST:
        NEWTON[p](x)
        it += 1
        if x[INFO] < CLOSE:
            break
    x[INFO + 3] = float(it)
    return it


def forward(x) -> int:
    """The direct function of 001 eq. 16; returns 0, 1 (loops not closed) or 2 (not finite).

    Near a singular pose the last Newton step may leave more than FINE: then one more is taken.
    """
    p = int(x[INFO + 2])
    if LOOPED:
        solve_loops(x)
    FORWARD[p](x)
    if LOOPED:
        if x[INFO] > FINE:
            NEWTON[p](x)
            FORWARD[p](x)
            x[INFO + 3] += 1.0
    total = 0.0
    for i in range(NV):
        total += x[VD + i]
    status = 0
    if LOOPED:
        if not x[INFO] < CLOSED:
            status = 1
        x[INFO + 6] = min(x[INFO + 6], x[INFO + 1])
    if not isfinite(total):
        status = 2
    x[INFO + 5] = float(status)
    return status


def repartition(x) -> None:
    """Take another partition if the present one nears a singular pose; q and v stay as they are."""
    if x[INFO + 1] < LOW:
        qualities(x)
        best = int(x[INFO + 2])
        size = 2.0 * x[QUAL + best]
        for k in range(PARTITIONS):
            if x[QUAL + k] > size:
                size = x[QUAL + k]
                best = k
        if best != int(x[INFO + 2]):
            x[INFO + 2] = float(best)
            x[INFO + 1] = x[QUAL + best]
            x[INFO + 4] += 1.0


def drive(x, s: float, h: float) -> None:
    """Set the driven coordinates at fraction s of a step h: the quintic through position, rate and acceleration at both ends."""
    for k in range(ND):
        q0 = x[DRV + 6 * k]
        v0 = h * x[DRV + 6 * k + 1]
        a0 = 0.5 * h * h * x[DRV + 6 * k + 2]
        q1 = x[DRV + 6 * k + 3]
        v1 = h * x[DRV + 6 * k + 4]
        a1 = 0.5 * h * h * x[DRV + 6 * k + 5]
        d = q1 - q0 - v0 - a0
        e = v1 - v0 - 2.0 * a0
        f = a1 - a0
        c3 = 10.0 * d - 4.0 * e + f
        c4 = -15.0 * d + 7.0 * e - 2.0 * f
        c5 = 6.0 * d - 3.0 * e + f
        x[Q + DPOS[k]] = q0 + s * (v0 + s * (a0 + s * (c3 + s * (c4 + s * c5))))
        x[V + DVEL[k]] = (v0 + s * (2.0 * a0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / h
        x[VD + DVEL[k]] = (2.0 * a0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (h * h)


def normalise(x) -> None:
    """Bring the quaternions of ball joints back to length one."""
    for k in range(NBALL):
        o = Q + BALLS[k]
        s = 1.0 / sqrt(x[o] * x[o] + x[o + 1] * x[o + 1] + x[o + 2] * x[o + 2] + x[o + 3] * x[o + 3])
        for j in range(4):
            x[o + j] *= s


def copy(x, q: int, v: int, z: int, to_q: int, to_v: int, to_z: int) -> None:
    """Copy a state: positions, rates and law states from three offsets to three others."""
    for i in range(NQ):
        x[to_q + i] = x[q + i]
    for i in range(NV):
        x[to_v + i] = x[v + i]
    for i in range(NZ):
        x[to_z + i] = x[z + i]


def move(x, h: float) -> None:
    """Set the state to the saved one plus h times the rates at hand."""
    if NBALL > 0:
        rates(x)
        for i in range(NQ):
            x[Q + i] = x[Q0 + i] + h * x[QD + i]
    else:
        for i in range(NQ):
            x[Q + i] = x[Q0 + i] + h * x[V + i]
    for i in range(NV):
        x[V + i] = x[V0 + i] + h * x[VD + i]
    for i in range(NZ):
        x[Z + i] = x[Z0 + i] + h * x[ZD + i]
    if NBALL > 0:
        normalise(x)


def gather(x, w: float) -> None:
    """Add the rates at hand with weight w to the sums of a Runge-Kutta step."""
    if NBALL > 0:
        rates(x)
        for i in range(NQ):
            x[SQ + i] += w * x[QD + i]
    else:
        for i in range(NQ):
            x[SQ + i] += w * x[V + i]
    for i in range(NV):
        x[SV + i] += w * x[VD + i]
    for i in range(NZ):
        x[SZ + i] += w * x[ZD + i]


def rk4(x, h: float, s0: float, s1: float, whole: float) -> None:
    """One classical Runge-Kutta step of length h; rates at its start are at hand, rates at its end are left.

    s0 and s1 are the fractions of the driven motion's own step `whole` at both ends.
    """
    t = x[TIME]
    copy(x, Q, V, Z, Q0, V0, Z0)
    for i in range(NQ):
        x[SQ + i] = 0.0
    for i in range(NV):
        x[SV + i] = 0.0
    for i in range(NZ):
        x[SZ + i] = 0.0
    gather(x, 1.0)
    for stage in range(3):
        part = 0.5
        if stage == 2:
            part = 1.0
        move(x, part * h)
        x[TIME] = t + part * h
        if ND > 0:
            drive(x, s0 + part * (s1 - s0), whole)
        forward(x)
        gather(x, 1.0 if stage == 2 else 2.0)
    for i in range(NQ):
        x[Q + i] = x[Q0 + i] + h / 6.0 * x[SQ + i]
    for i in range(NV):
        x[V + i] = x[V0 + i] + h / 6.0 * x[SV + i]
    for i in range(NZ):
        x[Z + i] = x[Z0 + i] + h / 6.0 * x[SZ + i]
    x[TIME] = t + h
    if NBALL > 0:
        normalise(x)
    if ND > 0:
        drive(x, s1, whole)
    forward(x)


def euler(x, h: float, s0: float, s1: float, whole: float) -> None:
    """One semi-implicit Euler step: rates first, then positions with the new rates."""
    t = x[TIME]
    copy(x, Q, V, Z, Q0, V0, Z0)
    for i in range(NV):
        x[V + i] = x[V0 + i] + h * x[VD + i]
    for i in range(NZ):
        x[Z + i] = x[Z0 + i] + h * x[ZD + i]
    if NBALL > 0:
        rates(x)
        for i in range(NQ):
            x[Q + i] = x[Q0 + i] + h * x[QD + i]
        normalise(x)
    else:
        for i in range(NQ):
            x[Q + i] = x[Q0 + i] + h * x[V + i]
    x[TIME] = t + h
    if ND > 0:
        drive(x, s1, whole)
    forward(x)


def displace(x, p: int) -> None:
    """Set the state to the saved one plus the increments 'dy' of the free independent coordinates and law states."""
    for i in range(NQ):
        x[Q + i] = x[Q0 + i]
    for i in range(NV):
        x[V + i] = x[V0 + i]
    for k in range(NF):
        x[V + FREE[p * NF + k]] = x[V0 + FREE[p * NF + k]] + x[DY + NF + k]
    if NBALL > 0:
        for i in range(NV):
            x[SV + i] = x[V + i]
            x[V + i] = 0.0
        for k in range(NF):
            x[V + FREE[p * NF + k]] = x[DY + k]
        rates(x)
        for i in range(NQ):
            x[Q + i] = x[Q0 + i] + x[QD + i]
        normalise(x)
        for i in range(NV):
            x[V + i] = x[SV + i]
    else:
        for k in range(NF):
            x[Q + FREE[p * NF + k]] = x[Q0 + FREE[p * NF + k]] + x[DY + k]
    for i in range(NZ):
        x[Z + i] = x[Z0 + i] + x[DY + 2 * NF + i]


def slopes(x, p: int, o: int) -> None:
    """Store the rates of (free positions, free rates, law states) at x[o...]."""
    for k in range(NF):
        x[o + k] = x[V + FREE[p * NF + k]]
        x[o + NF + k] = x[VD + FREE[p * NF + k]]
    for i in range(NZ):
        x[o + 2 * NF + i] = x[ZD + i]


def factor(x) -> None:
    """LU with partial pivoting of the matrix 'jac' (NY x NY), pivots in 'piv'."""
    for c in range(NY):
        best = c
        size = abs(x[JAC + c * NY + c])
        for r in range(c + 1, NY):
            if abs(x[JAC + r * NY + c]) > size:
                size = abs(x[JAC + r * NY + c])
                best = r
        x[PIV + c] = float(best)
        if best != c:
            for j in range(NY):
                swap = x[JAC + c * NY + j]
                x[JAC + c * NY + j] = x[JAC + best * NY + j]
                x[JAC + best * NY + j] = swap
        inverse = 1.0 / x[JAC + c * NY + c]
        for r in range(c + 1, NY):
            f = x[JAC + r * NY + c] * inverse
            x[JAC + r * NY + c] = f
            for j in range(c + 1, NY):
                x[JAC + r * NY + j] -= f * x[JAC + c * NY + j]


def backsolve(x, o: int) -> None:
    """Solve with the factors of 'jac' in place at x[o...]."""
    for c in range(NY):
        best = int(x[PIV + c])
        swap = x[o + c]
        x[o + c] = x[o + best]
        x[o + best] = swap
    for r in range(NY):
        for j in range(r):
            x[o + r] -= x[JAC + r * NY + j] * x[o + j]
    for k in range(NY):
        i = NY - 1 - k
        for j in range(i + 1, NY):
            x[o + i] -= x[JAC + i * NY + j] * x[o + j]
        x[o + i] /= x[JAC + i * NY + i]


def implicit(x, h: float, s0: float, s1: float, whole: float) -> None:
    """One linearly implicit step (Rosenbrock, two stages, order 2, L-stable) for stiff contacts.

    The Jacobian of the rates is taken by differences, NY evaluations: constant work whatever happens. It holds a seated
    contact at any stiffness; one that closes within the step is met with the stiffness before it: use sub-steps there.
    """
    t = x[TIME]
    p = int(x[INFO + 2])
    copy(x, Q, V, Z, Q0, V0, Z0)
    slopes(x, p, F0)
    for j in range(NY):
        for i in range(NY):
            x[DY + i] = 0.0
        step = 1e-7
        if j >= NF and j < 2 * NF:
            step = 1e-6
        x[DY + j] = step
        displace(x, p)
        if ND > 0:
            drive(x, s0, whole)
        forward(x)
        slopes(x, p, F1)
        for i in range(NY):
            x[JAC + i * NY + j] = -GAMMA * h * (x[F1 + i] - x[F0 + i]) / step
        x[JAC + j * NY + j] += 1.0
    factor(x)
    for i in range(NY):
        x[K1 + i] = x[F0 + i]
    backsolve(x, K1)
    for i in range(NY):
        x[DY + i] = h * x[K1 + i]
    displace(x, p)
    x[TIME] = t + h
    if ND > 0:
        drive(x, s1, whole)
    forward(x)
    slopes(x, p, F1)
    for i in range(NY):
        x[F1 + i] -= 2.0 * x[K1 + i]
    backsolve(x, F1)
    for i in range(NY):
        x[DY + i] = h * (1.5 * x[K1 + i] + 0.5 * x[F1 + i])
    displace(x, p)
    if ND > 0:
        drive(x, s1, whole)
    forward(x)


def substep(x, h: float, s0: float, s1: float, whole: float, method: int) -> None:
    """One step by the given method; where its partition turns out poor on the way, the step is done again with another."""
    if PARTITIONS > 1:
        copy(x, Q, V, Z, Q1, V1, Z1)
    t = x[TIME]
    for attempt in range(PARTITIONS):
        if attempt > 0:
            x[INFO + 2] = float((int(x[INFO + 2]) + 1) % PARTITIONS)
            x[INFO + 4] += 1.0
            copy(x, Q1, V1, Z1, Q, V, Z)
            x[TIME] = t
            if ND > 0:
                drive(x, s0, whole)
            forward(x)
        x[INFO + 6] = 1.0
        if method == 0:
            rk4(x, h, s0, s1, whole)
        elif method == 1:
            euler(x, h, s0, s1, whole)
        else:
            implicit(x, h, s0, s1, whole)
        if x[INFO + 5] == 0.0 and x[INFO + 6] > POOR:
            break


def advance(x, h: float, substeps: int, steps: int, method: int) -> int:
    """Do `steps` steps of length h, each in `substeps` parts: method 0 rk4, 1 semi-implicit Euler, 2 linearly implicit.

    Driven coordinates follow 'drv' over each whole step. Returns the worst status met (0: all well).
    """
    worst = 0
    part = 1.0 / float(substeps)
    if ND > 0:
        drive(x, 0.0, h)
    forward(x)
    for n in range(steps):
        for i in range(substeps):
            if PARTITIONS > 1:
                repartition(x)
            substep(x, h * part, float(i) * part, float(i + 1) * part, h, method)
            if x[INFO + 5] > float(worst):
                worst = int(x[INFO + 5])
        if worst == 2:
            break
    return worst


def mass(x) -> None:
    """The mass matrix from joint motions S and composite wrenches F, pair by pair along the tree (rolled)."""
    mass_parts(x)
    for i in range(N):
        f0 = x[F + i]
        f1 = x[F + N + i]
        f2 = x[F + 2 * N + i]
        f3 = x[F + 3 * N + i]
        f4 = x[F + 4 * N + i]
        f5 = x[F + 5 * N + i]
        for r in range(FIRST[i], FIRST[i + 1]):
            for j in range(BEGIN[r], BEYOND[r]):
                x[M + i * N + j] = (f0 * x[S + j] + f1 * x[S + N + j] + f2 * x[S + 2 * N + j] + f3 * x[S + 3 * N + j]
                                    + f4 * x[S + 4 * N + j] + f5 * x[S + 5 * N + j])
    for i in range(N):
        for j in range(i):
            x[M + j * N + i] = x[M + i * N + j]
