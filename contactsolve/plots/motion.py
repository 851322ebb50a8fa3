"""Pictures of a recorded motion: an animation, or a few snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contactsolve.dynamics import Record, Recording, World
from contactsolve.plots._animation import animation_of
from contactsolve.plots._axes import fit_figure, new_row
from contactsolve.plots._frames import WorldFrames

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

__all__ = ["motion", "snapshots"]


def snapshots(
    world: World,
    record: Record | Recording,
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
    record : Record or Recording
        A record with the columns ``"time"``, ``"positions"`` and ``"orientations"``, for
        ``color="speed"`` also ``"velocities"``; or what ``world.run(..., file=path)`` has written,
        which has the contacts, too.
    rows : int or list of int, default 4
        How many rows of the record, at equal distances from the first to the last; or which.
    axes : list of matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    **options
        Of `scene`, but poses. Colours, arrows and lines are to one scale at all times:
        `largest_impulse` is by default the median of the frames' largest impulses, because impacts
        are many times larger than the impulses of bodies at rest.

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
    frames = WorldFrames(world, record, rows, options)
    new, count = axes is None, len(frames.times)
    axes = new_row(count) if axes is None else list(axes)
    if len(axes) != count:
        raise ValueError(f"axes has {len(axes)} entries: one for each of {count} snapshots")
    for number, ax in enumerate(axes):
        frames.draw(ax, number)
    if new:
        fit_figure(axes, 3.2, above=0.35)
    return axes


def motion(
    world: World,
    record: Record | Recording,
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
        Of `scene`, but poses. Colours, arrows and lines are to one scale at all times:
        `largest_impulse` is by default the median of the frames' largest impulses, because impacts
        are many times larger than the impulses of bodies at rest.

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
    return animation_of(lambda: WorldFrames(world, record, rows, options), speed, ax)
