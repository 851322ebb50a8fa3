"""A cloth in a widget of a notebook, to be turned with the mouse (k3d, the extra ``widget``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.cloth import Cloth, Recording
from contactsolve.plots._cloth import OBSTACLE, require_same, surfaces_of

if TYPE_CHECKING:
    import k3d

__all__ = ["cloth_widget"]


def cloth_widget(
    cloth: Cloth,
    recording: Recording | None = None,
    *,
    color: Any = "part",
    obstacle_color: str | None = OBSTACLE,
    height: int = 512,
) -> k3d.Plot:
    """Return a widget of a notebook with a cloth and its obstacles, or with a recorded run.

    Parameters
    ----------
    cloth : Cloth
        What is shown.
    recording : Recording, optional
        What ``cloth.run(..., record=path)`` has written; the widget then plays its frames. They
        are all in its memory.
    color, obstacle_color
        As of `cloth`.
    height : int, default 512
        Of the widget [pixels].

    Returns
    -------
    k3d.Plot

    Raises
    ------
    ValueError
        A recording of another cloth; an unknown colour.
    ImportError
        k3d is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cloth = cs.cloth.scenes.sheet(15)
    >>> widget = cs.plots.cloth_widget(cloth)  # doctest: +SKIP
    """
    k3d = optional("k3d", "widgets need")
    require_same(cloth, recording)
    frames = [] if recording is None else [recording[k] for k in range(len(recording))]
    made = [
        surfaces_of(cloth, frame.positions, frame.time, color, obstacle_color) for frame in frames
    ]
    shown = made[0] if made else surfaces_of(cloth, None, None, color, obstacle_color)

    plot = k3d.plot(height=height, grid_visible=False)
    for k, surface in enumerate(shown):
        mesh = k3d.mesh(
            surface.points.astype(np.float32),
            surface.faces.astype(np.uint32),
            colors=_as_integers(surface.colors),
            side="double",
            flat_shading=False,
        )
        if made:
            mesh.vertices = {
                f"{frame.time:.6g}": surfaces[k].points.astype(np.float32)
                for frame, surfaces in zip(frames, made, strict=True)
            }
        plot += mesh
    return plot


def _as_integers(colors: np.ndarray) -> np.ndarray:
    """Return colours as k3d has them, 0xRRGGBB."""
    red, green, blue = (255 * colors).round().astype(np.uint32).T
    return red << 16 | green << 8 | blue
