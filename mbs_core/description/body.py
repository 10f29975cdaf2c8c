"""Bodies, points on them, coordinates and parameters: the nouns of a mechanism."""

from dataclasses import dataclass, field

from mbs_core.errors import MbsError
from mbs_core.symbolic import Expr


@dataclass(frozen=True)
class Parameter:
    """A named number that can be changed while the model runs; value and range are in `unit`."""

    name: str
    default: float
    unit: str
    low: float
    high: float
    doc: str
    factor: float            # unit to SI
    index: int
    structural: bool = False  # refused while a model is active


@dataclass(frozen=True)
class Input:
    """A named quantity given from outside at every step (a motor torque, a pedal), held constant over it."""

    name: str
    unit: str
    default: float
    doc: str
    index: int


@dataclass(eq=False)
class Coordinate:
    """One generalized coordinate: q, its velocity and acceleration, and how it is used."""

    name: str
    index: int               # in v and vd
    position: int            # in q
    q: Expr                  # position symbol (for a ball joint: None)
    v: Expr
    vd: Expr
    initial: float = 0.0
    initial_rate: float = 0.0
    driven: int = -1         # rank among the driven coordinates, -1 if free
    massless: bool = False   # an abscissa or user coordinate: carries no body
    body: object = None
    given: bool = False      # its start value was given: keep it when the loops are closed
    wished: bool = False     # wished independent


@dataclass(frozen=True)
class Point:
    """A point fixed to a body, with an orientation for what is mounted there."""

    body: object
    offset: tuple            # in the body's frame
    rotation: tuple


@dataclass(eq=False)
class Body:
    """A rigid body and the joint that carries it."""

    name: str
    mechanism: object
    parent: object           # Body, or None for the ground
    mount: Point | None
    joint: object
    mass: object = 0.0
    com: tuple = (0.0, 0.0, 0.0)
    inertia: tuple = (0.0,) * 6      # about the centre of mass: xx, yy, zz, xy, xz, yz
    coordinates: list = field(default_factory=list)
    quaternion: tuple = ()           # symbols x, y, z, w of a ball joint
    order: int = 0

    def at(self, x=0.0, y=0.0, z=0.0, rotation=None) -> Point:
        """Return the point (x, y, z) of this body's frame; `rotation` turns what is mounted there."""
        from mbs_core.description.joints import as_rotation
        where = f"point on '{self.name}'"
        own = self.mechanism.number
        turn = tuple(tuple(own(c, where) for c in row) for row in as_rotation(rotation, where))
        return Point(self, (own(x, where), own(y, where), own(z, where)), turn)

    @property
    def coordinate(self) -> Coordinate:
        """The single coordinate of a one-dof joint."""
        if len(self.coordinates) != 1:
            raise MbsError(f"the joint of '{self.name}' has {len(self.coordinates)} coordinates, not one: "
                           f'name the one you mean: {", ".join(c.name for c in self.coordinates) or "it is fixed"}')
        return self.coordinates[0]

    @property
    def q(self) -> Expr:
        """The joint coordinate as an expression."""
        return self.coordinate.q

    @property
    def qd(self) -> Expr:
        """The joint velocity as an expression."""
        return self.coordinate.v

    @property
    def qdd(self) -> Expr:
        """The joint acceleration as an expression (for outputs only)."""
        return self.coordinate.vd

    def __repr__(self):
        return f"<body '{self.name}'>"
