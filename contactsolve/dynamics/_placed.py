"""Where the shapes of a world are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .. import _core
from .material import Material
from .shapes import Shape

__all__ = ["PlacedShape", "add_to", "alike"]


class PlacedShape(NamedTuple):
    """A shape of a world, where it is in its body.

    Attributes
    ----------
    shape
        A shape of `contactsolve.dynamics`.
    body
        Its body; −1 is the fixed world.
    position, orientation
        In the frame of the body, whose origin is the centre of mass; of the fixed world: in the
        world frame. ``(D,)`` [m]; ``(4,)`` w, x, y, z, in the plane ``(1,)``, an angle.
    material
        A `Material`; None: the shape is seen, and touches nothing.
    """

    shape: Shape
    body: int
    position: np.ndarray
    orientation: np.ndarray
    material: Material | None


def alike(shapes: Sequence[Shape], marks: np.ndarray | None = None) -> Iterator[slice]:
    """Yield the longest parts of shapes that `add_to` can add by one call.

    They are of one kind; if they have vertices, all are one shape. A part also ends where `marks`,
    ``(len(shapes),)``, changes.
    """
    start = 0
    for end in range(1, len(shapes) + 1):
        if end < len(shapes) and (marks is None or marks[end] == marks[start]):
            first, next_one = shapes[start], shapes[end]
            same_vertices = next_one._vertices is None or next_one is first
            if next_one.kind == first.kind and same_vertices:
                continue
        yield slice(start, end)
        start = end


def add_to(
    core: _core.World,
    shapes: Sequence[Shape],
    bodies: np.ndarray,
    positions: np.ndarray,
    orientations: np.ndarray,
    materials: np.ndarray,
) -> int:
    """Add shapes that are `alike` to the C library's world; returns the number of the first."""
    return core.add_shapes(
        shapes[0].kind,
        np.array([one.numbers for one in shapes], dtype=float).reshape(len(shapes), -1),
        shapes[0]._vertices,
        bodies,
        positions,
        orientations,
        materials.astype(np.intc),
    )
