"""The tyre formula PAC2002 as expressions: forces and aligning moment under combined slip, relaxation lengths.

Axes of the contact (ISO-W): x forward, y left, z up. The slip angle is positive when the contact moves to the left, so the
side force is then negative and the aligning moment positive. Shifts that make a tyre pull to one side (PH*, PV*1-2, QH*,
RH*, RVY*) are left out: left and right tyres are mirror images. Camber keeps its own, odd, terms.
"""

from dataclasses import dataclass

from mbs_core.symbolic import absolute, atan, cos, exp, maximum, sin, sqrt

LEAST_FRICTION = 0.05        # keeps the peak above zero far beyond the loads of the fit
LEAST_RELAXATION = 0.1       # m; a tyre that is hardly loaded would else answer within no distance at all


@dataclass(frozen=True)
class Pac2002:
    """Coefficients of one tyre; the defaults are the 245/40 R18 of CommonRoad and Chrono (PARAMETERS.md 2.1).

    With `load_sensitive` False friction and stiffness are proportional to the load, as CommonRoad simplifies them.
    """

    fnomin: float = 4850.0
    lfzo: float = 0.81
    r0: float = 0.344
    pcx1: float = 1.6411
    pdx1: float = 1.1739
    pdx2: float = -0.16395
    pex1: float = 0.46403
    pex2: float = 0.25022
    pex3: float = 0.067842
    pkx1: float = 22.303
    pkx2: float = 0.48896
    pkx3: float = 0.21253
    ptx1: float = 2.3657
    ptx2: float = 1.4112
    ptx3: float = 0.56626
    pcy1: float = 1.3507
    pdy1: float = 1.0489
    pdy2: float = -0.18033
    pdy3: float = -2.8821
    pey1: float = -0.0074722
    pey2: float = -0.0063208
    pky1: float = -21.92
    pky2: float = 2.0012
    pky3: float = -0.024778
    phy3: float = 0.031415
    pvy3: float = -0.32931
    pty1: float = 2.1439
    pty2: float = 1.9829
    qbz1: float = 10.904
    qbz2: float = -1.8412
    qbz3: float = -0.52041
    qcz1: float = 1.2136
    qdz1: float = 0.093509
    qdz2: float = -0.0092183
    qez1: float = -1.5697
    qez2: float = 0.33394
    rbx1: float = 13.276
    rbx2: float = -13.778
    rcx1: float = 1.2568
    rex1: float = 0.6522
    rby1: float = 7.1433
    rby2: float = 9.1916
    rcy1: float = 1.0719
    rey1: float = -0.2757
    load_sensitive: bool = True

    @property
    def load(self) -> float:
        """The load Fz0' the coefficients refer to, N."""
        return self.fnomin * self.lfzo

    def _excess(self, fz):
        return fz / self.load - 1.0 if self.load_sensitive else 0.0

    def stiffness(self, fz, camber=0.0):
        """Return (longitudinal, lateral) slip stiffness divided by the load; the lateral one is negative (ISO-W)."""
        d = self._excess(fz)
        if not self.load_sensitive:
            return self.pkx1, self.pky1 * (1.0 - self.pky3 * absolute(camber))
        u = fz / (self.pky2 * self.load)
        # sin(2 atan u) = 2 u / (1 + u^2), and the load is divided out
        lateral = self.pky1 * 2.0 / (self.pky2 * (1.0 + u * u)) * (1.0 - self.pky3 * absolute(camber))
        return (self.pkx1 + self.pkx2 * d) * exp(self.pkx3 * d), lateral

    def friction(self, fz, camber=0.0):
        """Return the peak friction (longitudinal, lateral) on the reference road."""
        d = self._excess(fz)
        along = self.pdx1 + self.pdx2 * d
        across = (self.pdy1 + self.pdy2 * d) * (1.0 - self.pdy3 * camber * camber)
        return maximum(along, LEAST_FRICTION), maximum(across, LEAST_FRICTION)

    def relaxation(self, fz):
        """Return the relaxation lengths (longitudinal, lateral) in m."""
        d = fz / self.load - 1.0
        along = fz / self.load * (self.ptx1 + self.ptx2 * d) * exp(-self.ptx3 * d) * self.r0
        u = fz / (self.pty2 * self.load)
        across = self.pty1 * 2.0 * u / (1.0 + u * u) * self.r0
        return maximum(along, LEAST_RELAXATION), maximum(across, LEAST_RELAXATION)

    def forces(self, kappa, slope, fz, camber=0.0, road=1.0):
        """Return (Fx, Fy, Mz) for the slip kappa and slope = tan(slip angle); `road` scales the friction."""
        kx, ky = self.stiffness(fz, camber)
        mu_x, mu_y = (road * mu for mu in self.friction(fz, camber))
        d = self._excess(fz)
        alpha = atan(slope)
        fx = mu_x * fz * _sine(kx / (self.pcx1 * mu_x) * kappa, self.pcx1, self.pex1 + self.pex2 * d + self.pex3 * d * d)
        fx = fx * _cosine(self.rbx1 * _cos_atan(self.rbx2 * kappa) * alpha, self.rcx1, self.rex1)
        weight = _cosine(self.rby1 * _cos_atan(self.rby2 * alpha) * kappa, self.rcy1, self.rey1)
        by, ey = ky / (self.pcy1 * mu_y), self.pey1 + self.pey2 * d
        plain = mu_y * fz * _sine(by * alpha, self.pcy1, ey) * weight        # without camber: it makes the aligning moment
        fy = plain
        if not _zero(camber):
            fy = (mu_y * fz * _sine(by * (alpha + self.phy3 * camber), self.pcy1, ey) + self.pvy3 * road * fz * camber) * weight
        return fx, fy, -self._trail(alpha, kappa * (kx / ky), fz, d, road) * plain

    def _trail(self, alpha, drive, fz, d, road):
        """Return the pneumatic trail in m; `drive` is the longitudinal slip as a slip angle of equal weight."""
        slip = alpha if _zero(drive) else sqrt(alpha * alpha + drive * drive)      # the trail is even in it
        b = (self.qbz1 + self.qbz2 * d + self.qbz3 * d * d) / road
        size = fz * (self.qdz1 + self.qdz2 * d) * self.r0 / self.load
        return size * _cosine(b * slip, self.qcz1, self.qez1 + self.qez2 * d) * cos(alpha)


def _zero(x):
    return isinstance(x, (int, float)) and x == 0


def _cos_atan(x):
    return 1.0 / sqrt(1.0 + x * x)


def _sine(x, c, e):
    return sin(c * atan(x - e * (x - atan(x))))


def _cosine(x, c, e):
    return cos(c * atan(x - e * (x - atan(x))))
