"""Meshes of simple things: outlines given a thickness, rounded links, rods and balls. Arrays in, arrays out; no ROS, no page."""

import math

import numpy as np

ROUND = 20              # corners of a full circle


def circle(centre, radius, count=ROUND):
    """Return an outline (n, 2): a circle, anticlockwise."""
    angles = np.linspace(0, 2 * math.pi, count, endpoint=False)
    return np.column_stack([centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)])


def link_outline(points, radius):
    """Return the outline of a link that joins some points of a plane: their convex hull with rounded corners."""
    from scipy.spatial import ConvexHull
    cloud = np.vstack([circle(p[:2], radius) for p in points])
    return cloud[ConvexHull(cloud).vertices]


def area(outline):
    """Return the signed area of an outline: positive if it runs anticlockwise."""
    x, y = np.asarray(outline, float).T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def triangulate(outline) -> np.ndarray:
    """Return the triangles (n, 3) of a simple outline by cutting ears; corners in a line are allowed."""
    points = np.asarray(outline, float)
    order = list(range(len(points)))
    if area(points) < 0:
        order.reverse()
    triangles = []
    while len(order) > 3:
        for k in range(len(order)):
            a, b, c = order[k - 1], order[k], order[(k + 1) % len(order)]
            if _is_ear(points, order, a, b, c):
                break
        else:           # rounding left no clean ear: cut any corner, the picture does not suffer
            k = 0
            a, b, c = order[-1], order[0], order[1]
        triangles.append((a, b, c))
        order.pop(k)
    triangles.append(tuple(order))
    return np.array(triangles)


def _is_ear(points, order, a, b, c):
    if _side(points[a], points[b], points[c]) <= 0:
        return False
    inside = (p for p in order if p not in (a, b, c))
    return not any(_side(points[a], points[b], points[p]) >= 0 and _side(points[b], points[c], points[p]) >= 0
                   and _side(points[c], points[a], points[p]) >= 0 for p in inside)


def _side(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def extrude(outline, low, high) -> tuple:
    """Return (vertices, faces) of an outline in the plane xy given a thickness from z = low to z = high."""
    points = np.asarray(outline, float)
    if area(points) < 0:
        points = points[::-1]
    n = len(points)
    cap = triangulate(points)
    here = np.arange(n)
    there = np.roll(here, -1)
    # The walls have vertices of their own, so that the light sees a sharp edge.
    vertices = np.vstack([np.column_stack([points, np.full(n, z)]) for z in (low, high, low, high)])
    walls = np.vstack([np.column_stack([here, there, there + n]), np.column_stack([here, there + n, here + n])]) + 2 * n
    faces = np.vstack([cap[:, ::-1], cap + n, walls])
    return vertices.astype(np.float32), faces.astype(np.uint32)


def rod(a, b, radius, count=12) -> tuple:
    """Return (vertices, faces) of a round rod from a to b."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    along = b - a
    length = float(np.linalg.norm(along))
    along = along / length if length > 0 else np.array([0.0, 0.0, 1.0])
    across = np.cross(along, [1.0, 0.0, 0.0] if abs(along[0]) < 0.9 else [0.0, 1.0, 0.0])
    across /= np.linalg.norm(across)
    vertices, faces = extrude(circle((0, 0), radius, count), 0.0, max(length, 1e-6))
    turn = np.column_stack([across, np.cross(along, across), along])
    return (vertices @ turn.T + a).astype(np.float32), faces


def joined(parts) -> tuple:
    """Return several meshes as one (vertices, faces)."""
    vertices, faces, count = [], [], 0
    for v, f in parts:
        vertices.append(v)
        faces.append(f + count)
        count += len(v)
    return np.vstack(vertices).astype(np.float32), np.vstack(faces).astype(np.uint32)
