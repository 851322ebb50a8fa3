"""Mass, centre of mass and inertia of bodies of one or several shapes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arrays import real_array
from .mesh import Mesh
from .shapes import Shape

__all__ = [
    *("Part", "Solid", "factor", "refuse_impossible", "rotation", "shift", "solid_of"),
    "turned",
]


# Part of the moments by which rounding may break an inequality; thin plates meet it with equality.
_ROUNDING = 1e-9


class Part(NamedTuple):
    """A shape in the frame of a body; None: not moved, not turned."""

    shape: Shape | Mesh
    position: Any = None
    orientation: Any = None


class Solid(NamedTuple):
    """A body of density 1: its volume, its centre of mass, and the inertia about it."""

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def turned(orientation: Any, dimension: int) -> np.ndarray:
    """Return an orientation as the C library takes it: w, x, y, z, or an angle, ``(1,)``."""
    if orientation is None:
        return np.array([1.0, 0.0, 0.0, 0.0]) if dimension == 3 else np.zeros(1)
    given = real_array("orientation", orientation).ravel()
    if len(given) != (4 if dimension == 3 else 1):
        wanted = "w, x, y, z are" if dimension == 3 else "an angle is"
        raise ValueError(f"orientation has {len(given)} numbers: {wanted} needed")
    return given


def rotation(orientation: Any, dimension: int) -> np.ndarray:
    """Return the matrix of an orientation, ``(D, D)``."""
    q = turned(orientation, dimension)
    if dimension == 2:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[c, -s], [s, c]])
    length = float(np.linalg.norm(q))
    if not length > 0:
        raise ValueError("orientation is zero: w, x, y, z that are not all zero are needed")
    w, x, y, z = q / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def shift(position: Any, dimension: int) -> np.ndarray:
    """Return a position ``(D,)``, the origin for None."""
    if position is None:
        return np.zeros(dimension)
    given = real_array("position", position).ravel()
    if len(given) != dimension:
        raise ValueError(f"position has {len(given)} numbers: {dimension} are needed")
    return given


def solid_of(parts: list[Part], dimension: int) -> Solid:
    """Return volume, centre and inertia of shapes in one frame, by Steiner's theorem."""
    found = []
    for part in parts:
        own = part.shape.mass_properties(1.0)
        turn = rotation(part.orientation, dimension)
        inertia = np.asarray(own.inertia, dtype=np.float64)
        if dimension == 3 and part.orientation is not None:
            inertia = turn @ inertia @ turn.T
        found.append(Solid(own.mass, turn @ own.center + shift(part.position, dimension), inertia))
    volume = sum(one.volume for one in found)
    center = np.sum([one.volume * one.center for one in found], axis=0) / volume
    inertia = np.zeros_like(found[0].inertia)
    for one in found:
        arm = one.center - center
        square = arm @ arm
        about = square * np.eye(3) - np.outer(arm, arm) if dimension == 3 else np.asarray(square)
        inertia = inertia + one.inertia + one.volume * about
    return Solid(volume, center, inertia)


def refuse_impossible(inertia: np.ndarray) -> None:
    """Refuse a tensor whose largest principal moment exceeds the sum of the others.

    Other mistakes are left to the C library, which names the body.
    """
    tensor = np.diag(inertia) if inertia.shape == (3,) else inertia
    if tensor.shape != (3, 3) or not np.isfinite(tensor).all():
        return
    if np.abs(tensor - tensor.T).max() > _ROUNDING * np.abs(tensor).max():
        return
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] > 0 and moments[2] > (moments[0] + moments[1]) * (1 + _ROUNDING):
        shown = ", ".join(f"{one:g}" for one in moments)
        raise ValueError(
            f"inertia has the principal moments {shown}: none can exceed the sum of the others"
        )


def factor(volume: np.ndarray, mass: Any, density: float | None, *, driven: bool) -> np.ndarray:
    """Return what masses of density 1 are multiplied with, ``(n,)``."""
    if mass is not None and density is not None:
        raise TypeError("give either mass or density")
    if mass is None and density is None and not driven:
        raise TypeError("mass or density is needed")
    if mass is not None:
        return np.asarray(mass, dtype=np.float64) / volume
    return np.full(len(volume), 1.0 if density is None else float(density))
