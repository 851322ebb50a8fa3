"""A picture of a world: shaded bodies, back to front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.dynamics import Frame, World
from contactsolve.plots import _contacts
from contactsolve.plots._axes import fit_figure, new_axes
from contactsolve.plots._camera import camera_of
from contactsolve.plots._contacts import (
    FORCES,
    POINTS,
    arrow_length,
    impulse_colors,
    links_of,
    name_of,
    require_kind,
)
from contactsolve.plots._joints import COLOR, marks_of
from contactsolve.plots._plane import draw_in_plane
from contactsolve.plots._space import draw_in_space
from contactsolve.plots._stage import (
    Moment,
    Scale,
    Stage,
    moment_of,
    shape_colors,
    stage_of,
    window_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["box_of", "draw_scene", "fit_scene", "positive", "scene"]

_WIDEST = 5.0  # line of the largest impulse [points]
# Arrows in the units of the axes, with a width in inches.
_ARROWS: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1.0,
    "units": "inches",
    "width": 0.018,
    "headwidth": 4.5,
    "headlength": 5.5,
    "headaxislength": 5.0,
}
_PALE = 0.45  # what is left of the colour of bodies below impulses

_Project = Callable[[np.ndarray], np.ndarray]


def scene(
    world: World,
    *,
    color: Any = "body",
    contacts: str | None = None,
    joints: bool = True,
    view: str | tuple[float, float] = "corner",
    perspective: bool | None = None,
    frame: Frame | None = None,
    positions: Any = None,
    orientations: Any = None,
    window: Any = None,
    limits: tuple[float, float] | None = None,
    largest_impulse: float | None = None,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the bodies of a world as it is, or at recorded poses.

    In space, solids are shaded and drawn back to front; half-spaces that face the camera are planes
    with a grid. Height is along z. In the plane, a line from the centre of a disc shows how it is
    turned.

    Parameters
    ----------
    world : World
        What is drawn. It is not changed.
    color : str or array_like, default "body"
        ``"body"`` or ``"material"``: a colour for each; ``"speed"`` or ``"impulse"`` (the sum of
        the normal impulses of a body in the last step): a scale; the name of a colour; or a number
        for each body, ``(n,)``. What is fixed is grey.
    contacts : {None, "points", "forces", "arrows"}
        Draw the contacts of the step, over paler bodies. ``"points"``: where they are.
        ``"forces"``: force chains, lines between the centres of the bodies (to the contact, if one
        of them is fixed), whose width and colour show the normal impulse. ``"arrows"``: from the
        contact, the impulse with friction on the second of its bodies, or on the one that is not
        fixed; length and colour show its size.
    joints : bool, default True
        Draw the joints of a mechanism over the bodies: a dot where they hold the bodies together,
        a line along the axis of a hinge and a slider, and between the points of distances and
        rams.
    view : str or (elevation, azimuth), default "corner"
        Where the camera is: ``"corner"``, ``"front"`` (before the x axis), ``"side"``, ``"top"``,
        or its elevation above the horizon and its azimuth from the x axis to the y axis [degrees].
        Of no use in the plane.
    perspective : bool, optional
        Draw what is farther away smaller. Default: not from the front, the side and the top.
    frame : contactsolve.dynamics.Frame, optional
        A frame of a recording of this world, ``recording[k]``, in place of the world as it is.
    positions, orientations : array_like, optional
        Poses of all bodies in place of the world's, as the world has them, such as
        ``record["positions"][k]``.
    window : (low, high), optional
        Corners of the box that is shown, ``(D,)`` each [m]. Default: where the bodies are.
    limits : (float, float), optional
        Of the scale of colours. Default: from 0 to the largest number, or to one that 98 % of
        the bodies do not exceed, if the largest is more than twice that.
    largest_impulse : float, optional
        The impulse with the widest line, the longest arrow and the last colour of the contacts'
        scale [N s]. Larger ones look the same; arrows are at most twice as long. Default: the
        largest one.
    colorbar : bool, default True
        Show the scales of colours, if there are any: that of bodies beside the axes, that of
        contacts below them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure. They get equal scales and no frame.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        The world has no shapes; an unknown name; arrays of another shape; a frame of another
        world.
    TypeError
        `world` is not a `World`; contacts or ``color="impulse"`` with other poses that are not a
        frame's.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.pile(20)
    >>> record = world.run(100)
    >>> ax = cs.plots.scene(world, color="speed")  # doctest: +SKIP
    """
    if not isinstance(world, World):
        raise TypeError(f"world is {world!r}: a World is needed")
    require_kind(contacts)
    posed = positions is not None or orientations is not None
    if posed and (frame is not None or contacts is not None):
        what = "frame" if frame is not None else "contacts"
        raise TypeError(f"{what}: the world knows its own contacts only, not those of other poses")
    moment = moment_of(world, frame, positions, orientations)
    new = ax is None
    ax = new_axes() if ax is None else ax
    below = draw_scene(
        world,
        moment,
        ax,
        color=color,
        contacts=contacts,
        joints=joints,
        view=view,
        perspective=perspective,
        window=window,
        limits=limits,
        largest_impulse=largest_impulse,
        colorbar=colorbar,
    )
    if new:
        fit_scene(ax, 6.0, below)
    return ax


def fit_scene(ax: Axes, width: float, bars: tuple[bool, bool]) -> None:
    """Give the figure of a scene its height; `bars`: beside and below the axes."""
    fit_figure([ax], width, 1.2 if bars[0] else 0.0, 0.7 if bars[1] else 0.0)


def draw_scene(
    world: World,
    moment: Moment,
    ax: Axes,
    *,
    color: Any = "body",
    contacts: str | None = None,
    joints: bool = True,
    view: str | tuple[float, float] = "corner",
    perspective: bool | None = None,
    window: Any = None,
    limits: tuple[float, float] | None = None,
    largest_impulse: float | None = None,
    colorbar: bool = True,
) -> tuple[bool, bool]:
    """Draw a moment; the parameters are those of `scene`.

    Returns whether there is a scale of colours beside the axes, and one below them.
    """
    stage = stage_of(world, moment)
    colors, scale = shape_colors(world, stage, color, limits, moment)
    if contacts not in (None, POINTS):
        colors = 1.0 - _PALE * (1.0 - colors)
    box = window_of(stage) if window is None else box_of(window, world.dimension)
    if world.dimension == 3:
        camera = camera_of(view, perspective, *box)
        project = draw_in_space(ax, stage, colors, camera, box, window is not None)
    else:
        project = draw_in_plane(ax, stage, colors, box)

    # What is drawn over the bodies.
    links = None
    if joints and len(world.joints):
        _draw_joints(ax, world, moment, stage, project)
    if contacts == POINTS:
        assert moment.contacts is not None
        at = project(moment.contacts.points)
        ax.plot(at[:, 0], at[:, 1], ".", color="k", markersize=3.5, zorder=4)
    elif contacts is not None:
        links = _draw_links(
            ax, contacts, moment, largest_impulse, arrow_length(world, box), project
        )
    ax.set_aspect("equal")
    ax.set_axis_off()

    # The scales of colours.
    beside, below = colorbar and scale is not None, colorbar and links is not None
    if beside:
        _add_bar(ax, scale, shrink=0.65, pad=0.02)
    if below:
        _add_bar(ax, links, location="bottom", shrink=0.6, pad=0.02, aspect=30)
    return beside, below


def _add_bar(ax: Axes, scale: Scale | None, **look: Any) -> None:
    """Show a scale of colours."""
    assert scale is not None
    bar = ax.figure.colorbar(scale.colors, ax=ax, label=scale.name, **look)
    bar.outline.set_visible(False)


def box_of(window: Any, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box that is shown."""
    corners = np.asarray(window, dtype=float)
    if corners.shape != (2, dimension) or not (corners[0] < corners[1]).all():
        raise ValueError(
            f"window is {window!r}: two corners of {dimension} numbers, the lower one first, "
            "are needed"
        )
    return corners[0], corners[1]


def _draw_links(
    ax: Axes, kind: str, moment: Moment, largest: float | None, length: float, project: _Project
) -> Scale | None:
    """Draw force chains or arrows; return the scale of their colours, None without any."""
    most = _contacts.largest_impulse(kind, [moment])
    full = most if largest is None else positive("largest_impulse", largest)
    links = links_of(kind, moment, full, length)
    scale = Scale(impulse_colors(full, largest is not None or most > full), name_of(kind))
    start, end = project(links.start), project(links.end)
    colors = scale.colors.to_rgba(links.impulses)
    if kind == FORCES:
        lines = optional("matplotlib.collections", "plots need").LineCollection
        widths = _WIDEST * np.minimum(links.impulses / max(full, 1e-300), 1.0)
        paths = np.stack([start, end], axis=1)
        look = {"linewidths": widths, "colors": colors, "capstyle": "round", "zorder": 4}
        ax.add_collection(lines(paths, **look), autolim=False)
    elif len(start):
        (x, y), (u, v) = start.T, (end - start).T
        ax.quiver(x, y, u, v, color=colors, zorder=4, **_ARROWS)
    return scale if len(start) or largest is not None else None


def _draw_joints(ax: Axes, world: World, moment: Moment, stage: Stage, project: _Project) -> None:
    """Draw the points and the axes of joints over the bodies."""
    lines = optional("matplotlib.collections", "plots need").LineCollection
    marks = marks_of(world, moment, stage)
    rods = project(marks.lines)
    look = {"linewidths": 1.4, "colors": COLOR, "capstyle": "round", "zorder": 3}
    ax.add_collection(lines(rods[np.isfinite(rods).all(axis=(1, 2))], **look), autolim=False)
    at = project(marks.points)
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.6}
    ax.plot(at[:, 0], at[:, 1], "o", color=COLOR, markersize=4.0, zorder=3.5, **edge)


def positive(name: str, value: Any) -> float:
    """Return a number above 0."""
    if not 0 < float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}: a positive number is needed")
    return float(value)
