"""Where the shapes of a world are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .material import Material
from .shapes import Shape

__all__ = ["PlacedShape"]


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
        A `Material`.
    """

    shape: Shape
    body: int
    position: np.ndarray
    orientation: np.ndarray
    material: Material
