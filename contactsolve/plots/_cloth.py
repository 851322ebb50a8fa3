"""What is drawn of a cloth: surfaces in colours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from contactsolve._arrays import finite_array
from contactsolve._optional import optional
from contactsolve.cloth import Cloth, Recording
from contactsolve.plots._stage import PALETTE

__all__ = ["OBSTACLE", "Surface", "require_same", "surfaces_of"]

OBSTACLE = "#cfc8bd"


class Surface(NamedTuple):
    """A mesh in colours."""

    points: np.ndarray  # (n, 3)
    faces: np.ndarray  # (m, 3)
    colors: np.ndarray  # (n, 3)


def require_same(cloth: Cloth, recording: Recording | None) -> None:
    """Refuse a recording of another cloth."""
    if recording is not None and not np.array_equal(recording.faces, cloth.faces):
        raise ValueError("recording has other faces than the cloth: it is of another one")


def surfaces_of(
    cloth: Any, positions: Any, time: float | None, color: Any, obstacle_color: str | None
) -> list[Surface]:
    """Return the cloth, and obstacles at that time."""
    if not isinstance(cloth, Cloth):
        raise TypeError(f"cloth is {cloth!r}: a Cloth is needed")
    x = cloth.positions if positions is None else finite_array("positions", positions)
    if x.shape != (len(cloth.masses), 3):
        raise ValueError(f"positions has shape {x.shape}: {(len(cloth.masses), 3)} is needed")
    found = [Surface(x, cloth.faces, _vertex_colors(cloth, color))]
    if obstacle_color is None:
        return found
    shade = np.array(optional("matplotlib.colors", "plots need").to_rgb(obstacle_color))
    when = cloth.time if time is None else time
    for obstacle in cloth.obstacles:
        at = obstacle.at(when)
        found.append(Surface(at, obstacle.faces, np.tile(shade, (len(at), 1))))
    return found


def _vertex_colors(cloth: Cloth, color: Any) -> np.ndarray:
    """Return a colour for each vertex, ``(n, 3)``."""
    vertices, to_rgb = len(cloth.masses), optional("matplotlib.colors", "plots need").to_rgb
    if isinstance(color, str) and color == "part":
        palette = np.array([to_rgb(name) for name in PALETTE])
        return palette[cloth._labels() % len(palette)]
    if isinstance(color, str):
        return np.tile(to_rgb(color), (vertices, 1))
    colors = finite_array("color", color)
    if colors.shape != (vertices, 3) or not ((colors >= 0) & (colors <= 1)).all():
        raise ValueError(
            f"color has shape {colors.shape}: 'part', the name of a colour, or {(vertices, 3)} "
            "numbers from 0 to 1 are needed"
        )
    return colors
