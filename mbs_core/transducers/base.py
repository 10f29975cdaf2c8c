"""What all transducers share: plain dicts in and out, checked numbers, and least-squares calibration."""

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mbs_core.errors import MbsError, suggest

_KINDS = {}


def kinds() -> dict:
    """Return {kind: class} of every transducer that a YAML file may name."""
    return dict(_KINDS)


def from_dict(plain, where='transducer') -> 'Transducer':
    """Return the transducer of a plain dict with its `kind`; `where` names it in complaints."""
    if not isinstance(plain, dict):
        raise MbsError(f"{where} must be a block of 'key: value' lines with a 'kind', not {plain!r}")
    given = dict(plain)
    kind = given.pop('kind', None)
    if kind not in _KINDS:
        raise MbsError(f"{where} is of unknown kind '{kind}'{suggest(str(kind), _KINDS)}")
    return _KINDS[kind].from_dict(given, where)


@dataclass(frozen=True)
class Transducer:
    """A sensor or actuator as data; a subclass with a `kind` can be named in a YAML file."""

    kind: ClassVar[str] = ''

    def __init_subclass__(cls, **more):
        """Remember the class under its kind."""
        super().__init_subclass__(**more)
        if cls.__dict__.get('kind'):
            _KINDS[cls.kind] = cls

    @classmethod
    def from_dict(cls, plain, where=None):
        """Return the transducer of {field: number}; unknown, missing and non-numeric fields are refused by name."""
        where = where or cls.kind
        known = {field.name: field for field in dataclasses.fields(cls)}
        for name, value in plain.items():
            if name not in known:
                raise MbsError(f"{where} ({cls.kind}) has no '{name}'{suggest(str(name), known)}")
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise MbsError(f"{where} ({cls.kind}): '{name}' must be a number, not {value!r}")
        for name, field in known.items():
            if name not in plain and field.default is dataclasses.MISSING:
                raise MbsError(f"{where} ({cls.kind}) wants a '{name}': add it to the YAML file")
        try:
            return cls(**{name: int(value) if known[name].type in (int, 'int') else float(value) for name, value in plain.items()})
        except MbsError as error:
            raise MbsError(f'{where}: {error}') from None

    def to_dict(self) -> dict:
        """Return the plain dict from which from_dict makes the same transducer."""
        return {'kind': self.kind, **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)}}

    def replace(self, **changes):
        """Return a copy with other values."""
        return dataclasses.replace(self, **{name: getattr(value, 'item', lambda value=value: value)()
                                            for name, value in changes.items()})

    def __post_init__(self):
        """Refuse what is not finite; subclasses add what else can't be."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value):
                raise MbsError(f"'{field.name}' of a {self.kind} is {value}; it must be a finite number")

    def nonzero(self, *names):
        """Refuse fields that are zero."""
        for name in names:
            if getattr(self, name) == 0:
                raise MbsError(f"'{name}' of a {self.kind} must not be 0: calibrate the device")

    def positive(self, *names):
        """Refuse fields that are not above zero."""
        for name in names:
            if not getattr(self, name) > 0:
                raise MbsError(f"'{name}' of a {self.kind} is {getattr(self, name):g}; it must be positive")


@dataclass(frozen=True)
class Sensor(Transducer):
    """A transducer that measures one quantity: 'position', 'velocity', 'acceleration' or 'force'.

    `inputs` is the number of raw channels it takes. `si(*counts)` works on numbers and on arrays alike.
    """

    inputs: ClassVar[int] = 1
    quantity: ClassVar[str] = 'position'

    def si(self, *counts):
        """Return the quantity in SI of the raw counts of its channels."""
        raise NotImplementedError

    def fit(self, counts, reference) -> 'Fit':
        """Return the Fit of this sensor to reference values (SI); counts: one array per channel."""
        raise NotImplementedError

    def residuals(self, counts, reference) -> np.ndarray:
        """Return measured minus reference, in SI."""
        return np.asarray(self.si(*counts), float) - np.asarray(reference, float)


@dataclass(frozen=True)
class Linear(Sensor):
    """A sensor of one channel whose value is slope (counts - zero), with `zero` and usually `scale` among its fields."""

    @property
    def slope(self) -> float:
        """Return the value of one count, in SI."""
        return self.scale

    def with_slope(self, slope):
        """Return the sensor with another value of one count."""
        return self.replace(scale=slope)

    def si(self, counts):
        """Return the value in SI."""
        return (counts - self.zero) * self.slope

    def counts(self, value):
        """Return the counts (not rounded) of a value in SI."""
        return value / self.slope + self.zero

    def tare(self, counts):
        """Return the sensor with its zero at the mean of these readings, taken at rest or without load."""
        return self.replace(zero=float(np.mean(counts)))

    def fit(self, counts, reference) -> 'Fit':
        """Fit slope and zero to reference values."""
        (counts,), reference = arrays(self, counts, reference, 2)
        slope, offset = solve(self, [counts, np.ones_like(counts)], reference)
        return fitted(self.with_slope(slope).replace(zero=-offset / slope), (counts,), reference)


@dataclass(frozen=True)
class Fit:
    """A calibrated sensor and how well it fits: rms and largest residual, span of the reference (SI), readings."""

    sensor: Transducer
    rms: float
    largest: float
    span: float
    readings: int

    @property
    def relative(self) -> float:
        """Return the rms residual as a part of the span."""
        return self.rms / self.span


def arrays(sensor, counts, reference, unknowns):
    """Return counts and reference as finite float arrays of one length, or refuse them; unknowns: how many to fit."""
    counts = [np.asarray(c, float).ravel() for c in counts]
    reference = np.asarray(reference, float).ravel()
    if len(counts) != sensor.inputs or any(c.shape != reference.shape for c in counts):
        raise MbsError(f'the calibration of a {sensor.kind} wants {sensor.inputs} column(s) of counts as long as the reference')
    good = np.isfinite(reference)
    for column in counts:
        good &= np.isfinite(column)
    if good.sum() < unknowns + 1:
        raise MbsError(f'the calibration of a {sensor.kind} wants at least {unknowns + 1} readings, not {good.sum()}: record more')
    return [c[good] for c in counts], reference[good]


def solve(sensor, columns, reference) -> np.ndarray:
    """Return the least-squares coefficients of columns against reference; refuse readings that don't determine them."""
    matrix = np.column_stack(columns)
    norms = np.linalg.norm(matrix, axis=0)
    if not norms.all() or np.linalg.cond(matrix / norms) > 1e8:
        raise MbsError(f'the readings of a {sensor.kind} are all alike: move it through its whole range while calibrating')
    return np.linalg.lstsq(matrix / norms, reference, rcond=None)[0] / norms


def fitted(sensor, counts, reference) -> Fit:
    """Return the Fit of an already calibrated sensor with its residuals."""
    residuals = sensor.residuals(counts, reference)
    return Fit(sensor, float(np.sqrt(np.mean(residuals**2))), float(np.abs(residuals).max()),
               float(np.ptp(reference)) or float('nan'), len(reference))
