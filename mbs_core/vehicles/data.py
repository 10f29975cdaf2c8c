"""Numbers of one car: BMW 320i of CommonRoad, on the wishbones of Chrono's sedan (PARAMETERS.md 2.1, 2.2).

Frame of the chassis: x forward, y left, z up, origin on the ground below the centre of gravity of the whole car at rest.
"""

from dataclasses import dataclass

GRAVITY = 9.81


@dataclass(frozen=True)
class Axle:
    """One axle: where it is, what it weighs, what carries the body on it. Rates are those at the wheels."""

    name: str
    x: float                     # m, from the centre of gravity of the car
    track: float                 # m
    unsprung: float              # kg, both sides
    load: float                  # N, one wheel at rest
    spring: float                # N/m, one wheel
    damping: float               # N s/m
    anti_roll: float             # N m per rad of roll
    brake: float                 # share of the braking
    drive: float                 # share of the engine
    steered: bool


@dataclass(frozen=True)
class Car:
    """The whole car."""

    mass: float = 1093.2952
    sprung: float = 965.71081
    a: float = 1.1561957
    b: float = 1.4227171
    height: float = 0.61373004               # of the sprung mass
    roll_inertia: float = 207.26525
    pitch_inertia: float = 1565.8179
    yaw_inertia: float = 1791.5995           # of the whole car
    track_front: float = 1.38684
    track_rear: float = 1.36398
    radius: float = 0.344
    spin_inertia: float = 1.7
    tyre_rate: float = 158294.14             # N/m
    tyre_damping: float = 300.0              # N s/m (estimated; CommonRoad has none)
    wheel: float = 18.0                      # kg
    arm: float = 3.0                         # kg, lower wishbone
    upper_arm: float = 1.5
    drag: float = 0.39                       # N s2/m2: half density times drag area
    rolling: float = 0.012                   # rolling resistance per load

    @property
    def unsprung(self) -> float:
        """Unsprung mass of one axle, kg."""
        return 0.5 * (self.mass - self.sprung)

    @property
    def wheelbase(self) -> float:
        """Distance of the axles, m."""
        return self.a + self.b

    def axles(self) -> tuple:
        """Return the front and the rear axle."""
        weight = 0.5 * self.mass * GRAVITY / self.wheelbase
        return (Axle('front', self.a, self.track_front, self.unsprung, weight * self.b, 24453.138, 1786.2441, 6914.8817,
                     0.66, 0.0, True),
                Axle('rear', -self.b, self.track_rear, self.unsprung, weight * self.a, 19635.505, 1649.0833, 2643.601,
                     0.34, 1.0, False))

    def sprung_x(self) -> float:
        """Return x of the sprung mass such that the whole car's centre is at zero."""
        return self.unsprung * (self.b - self.a) / self.sprung

    def sprung_yaw_inertia(self) -> float:
        """Return the yaw inertia of the sprung mass alone: the axles' share taken off."""
        share = self.unsprung * (self.a ** 2 + self.b ** 2 + 0.25 * (self.track_front ** 2 + self.track_rear ** 2))
        return self.yaw_inertia - share - self.sprung * self.sprung_x() ** 2


@dataclass(frozen=True)
class Hardpoints:
    """Points of a double wishbone relative to the wheel centre, left side (Chrono's sedan; inner pivots chosen).

    The inner pivots put the instant centre far inside, low over the ground: roll centre near it, little bump steer.
    """

    lower: tuple = (-0.0279, -0.2001)        # y, z of the lower ball joint
    upper: tuple = (-0.1029, 0.2249)
    tie: tuple = (-0.0279, -0.0001)          # y, z of the tie rod on the upright
    tie_inner: tuple = (-0.3780, -0.0128)
    tie_run: float = -0.05                   # x of the inner end behind the outer one
    steering_arm: float = 0.1312             # m behind the kingpin
    lower_inner: tuple = (-0.3879, -0.2001)
    upper_inner: tuple = (-0.3629, 0.2049)
    strut: float = 0.60                      # share of the lower arm where spring and damper stand
    strut_top: tuple = (0.08, 0.42)          # y inwards, z upwards, from there
