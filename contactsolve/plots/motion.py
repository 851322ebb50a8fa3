"""Pictures of a recorded motion: an animation, or a few snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.dynamics import Record, World
from contactsolve.plots._axes import fit_figure, new_axes, new_row
from contactsolve.plots._stage import stage_of, window_of
from contactsolve.plots.scene import scene

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

__all__ = ["motion", "rows_of", "snapshots"]


def snapshots(
    world: World,
    record: Record,
    rows: int | Any = 4,
    *,
    axes: Any = None,
    **options: Any,
) -> list[Axes]:
    """Draw a world at a few times of a recorded run, side by side and to the same scale.

    Parameters
    ----------
    world : World
        The world that made the run.
    record : Record
        With the columns ``"time"``, ``"positions"`` and ``"orientations"``; for ``color="speed"``
        also ``"velocities"``.
    rows : int or list of int, default 4
        How many rows of the record, at equal distances from the first to the last; or which.
    axes : list of matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    **options
        Of `scene`, but poses and contacts.

    Returns
    -------
    list of matplotlib.axes.Axes

    Raises
    ------
    ValueError
        A column is missing; an unknown row; another number of axes.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.domino_row()
    >>> record = world.run(200, ("time", "positions", "orientations"), every=50)
    >>> axes = cs.plots.snapshots(world, record)  # doctest: +SKIP
    """
    drawn = _Frames(world, record, options)
    chosen = rows_of(rows, drawn.count)
    new = axes is None
    axes = new_row(len(chosen)) if axes is None else list(axes)
    if len(axes) != len(chosen):
        raise ValueError(f"axes has {len(axes)} entries: one for each of {len(chosen)} snapshots")
    for ax, row in zip(axes, chosen, strict=True):
        drawn.draw(ax, row)
    if new:
        fit_figure(axes, 3.2, above=0.35)
    return axes


def motion(
    world: World,
    record: Record,
    rows: int | Any | None = None,
    *,
    speed: float = 1.0,
    ax: Axes | None = None,
    **options: Any,
) -> FuncAnimation:
    """Return an animation of a recorded run; its ``save`` writes a file.

    Parameters
    ----------
    world, record
        As for `snapshots`.
    rows : int or list of int, optional
        The rows that are frames, as for `snapshots`. Default: all.
    speed : float, default 1.0
        Seconds of the world in a second of the animation.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    **options
        Of `scene`, but poses and contacts.

    Returns
    -------
    matplotlib.animation.FuncAnimation

    Raises
    ------
    ValueError
        A column is missing; a speed that is not positive.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.pile(20)
    >>> record = world.run(200, ("time", "positions", "orientations"), every=20)
    >>> cs.plots.motion(world, record).save("pile.gif")  # doctest: +SKIP
    """
    if not speed > 0:
        raise ValueError(f"speed is {speed}: a positive number is needed")
    drawn = _Frames(world, record, options)
    target = new_axes() if ax is None else ax
    chosen = rows_of(drawn.count if rows is None else rows, drawn.count)
    times = record["time"][chosen]
    step = (times[-1] - times[0]) / max(1, len(times) - 1)

    def draw(row: int) -> list[Any]:
        target.clear()
        drawn.draw(target, row)
        return []

    animation = optional("matplotlib.animation", "plots need")
    return animation.FuncAnimation(
        target.figure,
        draw,
        frames=chosen,
        interval=max(1.0, 1e3 * float(step) / speed),
        init_func=list,
        blit=False,
    )


class _Frames:
    """Pictures of the rows of a record, to one scale and with one scale of colours."""

    def __init__(self, world: World, record: Record, options: dict[str, Any]) -> None:
        for name in ("contacts", "positions", "orientations"):
            if options.get(name) is not None:
                raise TypeError(f"{name} is no option here: a record has poses, and no contacts")
        needed = ["time", "positions", "orientations"]
        self._options = {"colorbar": False, **options}
        self._by_speed = isinstance(options.get("color"), str) and options["color"] == "speed"
        needed += ["velocities"] if self._by_speed else []
        missing = [name for name in needed if name not in record]
        if missing:
            raise ValueError(f"record has no column {missing[0]!r}: pictures need {needed}")
        self._world, self._record, self.count = world, record, len(record["time"])
        self._options.setdefault("window", self._window())
        if self._by_speed:
            self._speeds = np.linalg.norm(record["velocities"][..., : world.dimension], axis=-1)
            self._options.setdefault("limits", (0.0, float(self._speeds.max())))

    def _window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the box that holds all bodies at all times."""
        columns = self._record
        poses = zip(columns["positions"], columns["orientations"], strict=True)
        boxes = [window_of(stage_of(self._world, *pose)) for pose in poses]
        low, high = map(np.array, zip(*boxes, strict=True))
        return low.min(axis=0), high.max(axis=0)

    def draw(self, ax: Axes, row: int) -> None:
        """Draw one row."""
        columns = self._record
        if self._by_speed:
            self._options["color"] = self._speeds[row]
        poses = {name: columns[name][row] for name in ("positions", "orientations")}
        scene(self._world, ax=ax, **poses, **self._options)
        ax.set_title(f"t = {columns['time'][row]:.3g} s", fontsize="medium")


def rows_of(rows: Any, count: int) -> list[int]:
    """Return the rows of a record that are to be drawn."""
    if np.ndim(rows) == 0:
        if int(rows) != rows or rows < 1:
            raise ValueError(f"rows is {rows!r}: a positive integer or a list of rows is needed")
        return np.unique(np.linspace(0, count - 1, int(rows)).round().astype(int)).tolist()
    chosen = [int(row) for row in rows]
    for i, row in enumerate(chosen):
        if not -count <= row < count:
            raise ValueError(f"rows[{i}] is {row}: the record has {count} rows")
    return chosen
