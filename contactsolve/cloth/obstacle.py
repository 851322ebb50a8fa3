"""Obstacles: triangle meshes that cloth cannot pass, and that move as they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._arrays import finite_array, read_only
from ._mesh import read_mesh

__all__ = ["Obstacle", "obstacles_of"]


class Obstacle:
    """A triangle mesh of infinite mass that stays, or moves as a function says.

    Parameters
    ----------
    vertices
        ``(n, 3)`` or ``(n, 2)`` [m]. Without `faces`: an object with ``.vertices`` and ``.faces``,
        or the path of a file that meshio reads.
    faces
        ``(m, 3)``: numbers of vertices, each of which is of a face. The surface may be open, and a
        cloth may touch both of its sides.
    motion
        A function of time [s] that returns the positions of all vertices, ``(n, 3)`` [m]. Within a
        step vertices move along straight lines. None: `vertices`, at all times.

    Attributes
    ----------
    vertices, faces
        As given; read-only.
    motion
        The function, or None.

    Raises
    ------
    ValueError
        An array of another shape, or a number that is not finite.

    Examples
    --------
    >>> import contactsolve as cs
    >>> plane = cs.cloth.Obstacle([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> plane.vertices.shape
    (3, 3)
    """

    def __init__(
        self, vertices: Any, faces: Any = None, motion: Callable[[float], Any] | None = None
    ) -> None:
        x, triangles = read_mesh(vertices, faces)
        if motion is not None and not callable(motion):
            raise TypeError(f"motion is {motion!r}: a function of time, or None, is needed")
        self.vertices, self.faces = read_only(x.copy()), read_only(triangles.copy())
        self.motion = motion

    def __repr__(self) -> str:
        moves = "fixed" if self.motion is None else "moving"
        return f"<Obstacle of {len(self.vertices)} vertices, {len(self.faces)} faces, {moves}>"

    def at(self, time: float) -> np.ndarray:
        """Return the positions of the vertices at a time.

        Parameters
        ----------
        time
            [s]

        Returns
        -------
        np.ndarray
            ``(n, 3)`` [m].
        """
        if self.motion is None:
            return self.vertices
        x = finite_array("an obstacle's positions", self.motion(time))
        if x.shape != self.vertices.shape:
            raise ValueError(
                f"an obstacle's motion returns shape {x.shape}: {self.vertices.shape} is needed"
            )
        return x


def obstacles_of(given: Any) -> tuple[Obstacle, ...]:
    """Return the obstacles of a list; None: there are none."""
    if given is None:
        return ()
    if isinstance(given, Obstacle):
        raise TypeError(f"obstacles is {given!r}: a list of Obstacle is needed, as [obstacle]")
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"obstacles is {given!r}: a list of Obstacle is needed")
    obstacles = tuple(given)
    for n, obstacle in enumerate(obstacles):
        if not isinstance(obstacle, Obstacle):
            raise TypeError(f"obstacles[{n}] is {type(obstacle).__name__}: an Obstacle is needed")
    return obstacles
