"""Joints: how a body may move on the one that carries it."""

from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.symbolic import Expr, cos, sin

AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0),
        '-x': (-1.0, 0.0, 0.0), '-y': (0.0, -1.0, 0.0), '-z': (0.0, 0.0, -1.0)}
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Joint:
    """A joint: its kind, and for revolute and prismatic ones the axis in the carrying body's frame."""

    kind: str                  # 'revolute' | 'prismatic' | 'spherical' | 'free' | 'fixed'
    axis: tuple = (0.0, 0.0, 1.0)


def as_axis(axis, where):
    """Return the unit vector of 'x', 'y', 'z' (or negative) or of three numbers; `where` names the culprit."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise MbsError(f"{where}: the axis '{axis}' is unknown; use x, y, z, -x, -y, -z or three numbers")
        return AXES[axis]
    try:
        a = np.array([float(c) for c in axis])
    except (TypeError, ValueError, MbsError):
        raise MbsError(f'{where}: the axis {axis!r} is not three numbers; rotate the mount with '
                       'at(..., rotation=...) if it has to depend on a parameter') from None
    if a.shape != (3,) or not np.all(np.isfinite(a)) or np.linalg.norm(a) < 1e-9:
        raise MbsError(f'{where}: the axis {axis!r} must be three finite numbers, not all zero')
    a = a / np.linalg.norm(a)
    return tuple(float(round(c)) if abs(c - round(c)) < 1e-15 else float(c) for c in a)


def revolute(axis='z') -> Joint:
    """Return a hinge about `axis` ('x', 'y', 'z', or any three numbers) of the carrying body."""
    return Joint('revolute', as_axis(axis, 'revolute joint'))


def prismatic(axis='x') -> Joint:
    """Return a slide along `axis` of the carrying body."""
    return Joint('prismatic', as_axis(axis, 'prismatic joint'))


def spherical() -> Joint:
    """Return a ball joint: a unit quaternion (x, y, z, w), moved by the angular velocity in the body's frame."""
    return Joint('spherical')


def free() -> Joint:
    """Return a 6-dof joint: three translations along the carrier's axes, then a ball joint."""
    return Joint('free')


def fixed() -> Joint:
    """Return a rigid connection."""
    return Joint('fixed')


def axis_rotation(axis, angle):
    """Return the 3x3 rotation about a coordinate axis 'x', 'y' or 'z' by a number or an expression."""
    c, s = cos(angle), sin(angle)
    if axis == 'x':
        return ((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c))
    if axis == 'y':
        return ((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c))
    if axis == 'z':
        return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    raise MbsError(f"a rotation must be about 'x', 'y' or 'z', not {axis!r}")


def as_rotation(rotation, where):
    """Return the 3x3 matrix of None, ('z', angle), a list of such pairs applied in order, or a matrix."""
    if rotation is None:
        return IDENTITY
    try:
        if isinstance(rotation[0], str):
            m = axis_rotation(*rotation)
        elif isinstance(rotation[0][0], str):
            from mbs_core.formalism.vectors import matmul
            m = IDENTITY
            for pair in rotation:
                m = matmul(m, axis_rotation(*pair))
        else:
            m = tuple(tuple(c if isinstance(c, Expr) else float(c) for c in row) for row in rotation)
            if [len(row) for row in m] != [3, 3, 3]:
                raise ValueError
    except (TypeError, ValueError, IndexError):
        raise MbsError(f"{where}: the rotation {rotation!r} is none; give ('z', angle), a list of such pairs, or a 3x3 matrix") from None
    if all(not isinstance(c, Expr) for row in m for c in row):
        a = np.array(m)
        if not np.all(np.isfinite(a)) or np.abs(a @ a.T - np.eye(3)).max() > 1e-9 or np.linalg.det(a) < 0:
            raise MbsError(f'{where}: the rotation given is not a rotation matrix (finite, orthonormal, determinant 1)')
    return m


def align_z(axis):
    """Return a constant rotation whose z column is the unit vector `axis` (identity for z itself)."""
    a = np.array(axis)
    helper = np.eye(3)[int(np.argmin(np.abs(a)))]
    x = np.cross(helper, a)
    x /= np.linalg.norm(x)
    return tuple(map(tuple, np.column_stack([x, np.cross(a, x), a])))
