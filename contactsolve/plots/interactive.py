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
    frames = [(None, None)]
    if recording is not None:
        frames = [(frame.positions, frame.time) for frame in map(recording.__getitem__, range(len(recording)))]
    made = [surfaces_of(cloth, *frame, color, obstacle_color) for frame in frames]

    plot = k3d.plot(height=height, grid_visible=False)
    for k, first in enumerate(made[0]):
        shades = (255 * first.colors).round().astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        mesh = k3d.mesh(
            first.points.astype(np.float32),
            first.faces.astype(np.uint32),
            colors=shades.astype(np.uint32),
            side="double",
            flat_shading=False,
        )
        if recording is not None:
            mesh.vertices = {
                f"{time:.6g}": surfaces[k].points.astype(np.float32)
                for (_, time), surfaces in zip(frames, made, strict=True)
            }
        plot += mesh
    return plot
