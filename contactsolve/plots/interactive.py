"""A cloth in a widget of a notebook, to be turned with the mouse (k3d, the extra ``widget``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.cloth import Cloth, Recording
from contactsolve.plots._cloth import OBSTACLE, require_same, surfaces_of
from contactsolve.plots._k3d import by_time, new_plot, single, surface

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
    optional("k3d", "widgets need")
    require_same(cloth, recording)
    frames = [] if recording is None else [recording[k] for k in range(len(recording))]
    made = [
        surfaces_of(cloth, frame.positions, frame.time, color, obstacle_color) for frame in frames
    ] or [surfaces_of(cloth, None, None, color, obstacle_color)]
    times = np.array([frame.time for frame in frames]) if frames else None

    plot = new_plot(height)
    for k, shown in enumerate(made[0]):
        mesh = surface(shown.points, shown.faces, shown.colors, flat_shading=False)
        mesh.vertices = by_time(times, [single(surfaces[k].points) for surfaces in made])
        plot += mesh
    return plot
