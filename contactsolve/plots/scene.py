"""A picture of a world: shaded bodies, back to front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.dynamics import World
from contactsolve.plots._axes import fit_figure, new_axes
from contactsolve.plots._camera import camera_of
from contactsolve.plots._plane import draw_in_plane
from contactsolve.plots._space import draw_in_space
from contactsolve.plots._stage import Stage, shape_colors, stage_of, window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scene"]

_CONTACTS = (None, "points", "forces")
_CHAIN = "#a3123a"
_WIDEST = 5.0  # line of the largest impulse [points]


def scene(
    world: World,
    *,
    color: Any = "body",
    contacts: str | None = None,
    view: str | tuple[float, float] = "corner",
    perspective: bool | None = None,
    positions: Any = None,
    orientations: Any = None,
    window: Any = None,
    limits: tuple[float, float] | None = None,
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
    contacts : {None, "points", "forces"}
        Draw the contacts of the last step: as points, or as lines between the centres of the bodies
        (to the contact, if one of them is fixed) whose width is in proportion to the normal
        impulse, over lighter bodies. These lines show how forces are passed on.
    view : str or (elevation, azimuth), default "corner"
        Where the camera is: ``"corner"``, ``"front"`` (before the x axis), ``"side"``, ``"top"``,
        or its elevation above the horizon and its azimuth from the x axis to the y axis [degrees].
        Of no use in the plane.
    perspective : bool, optional
        Draw what is farther away smaller. Default: not from the front, the side and the top.
    positions, orientations : array_like, optional
        Poses of all bodies in place of the world's, as the world has them, such as
        ``record["positions"][k]``.
    window : (low, high), optional
        Corners of the box that is shown, ``(D,)`` each [m]. Default: where the bodies are.
    limits : (float, float), optional
        Of the scale of colours. Default: from 0 to the largest number, or to one that 98 % of
        the bodies do not exceed, if the largest is more than twice that.
    colorbar : bool, default True
        Show the scale of colours beside the axes, if there is one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure. They get equal scales and no frame.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        The world has no shapes; an unknown name; arrays of another shape.
    TypeError
        `world` is not a `World`; contacts or ``color="impulse"`` with other poses.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.pile(20)
    >>> record = world.run(100)
    >>> ax = cs.plots.scene(world, color="speed")  # doctest: +SKIP
    """
    stage = _checked(world, color, contacts, positions, orientations)
    colors, scale = shape_colors(world, stage, color, limits)
    if contacts == "forces":
        colors = 1.0 - 0.45 * (1.0 - colors)
    new = ax is None
    ax = new_axes() if ax is None else ax
    box = window_of(stage) if window is None else _box(window, world.dimension)
    if world.dimension == 3:
        camera = camera_of(view, perspective, *box)
        project = draw_in_space(ax, stage, colors, camera, box, window is not None)
    else:
        project = draw_in_plane(ax, stage, colors, box)

    # What is drawn over the bodies.
    if contacts == "points":
        at = project(world.contacts.points)
        ax.plot(at[:, 0], at[:, 1], ".", color="k", markersize=3.5, zorder=4)
    elif contacts == "forces":
        _draw_forces(ax, world, project)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if scale is not None and colorbar:
        bar = ax.figure.colorbar(scale.colors, ax=ax, shrink=0.65, pad=0.02, label=scale.name)
        bar.outline.set_visible(False)
    if new:
        bar_width = 1.2 if scale is not None and colorbar else 0.0
        fit_figure([ax], 6.0, bar_width, 0.4 if contacts == "forces" else 0.0)
    return ax


def _checked(world: Any, color: Any, contacts: Any, positions: Any, orientations: Any) -> Stage:
    """Refuse wrong arguments; return where the shapes are."""
    if not isinstance(world, World):
        raise TypeError(f"world is {world!r}: a World is needed")
    if contacts not in _CONTACTS:
        raise ValueError(f"contacts is {contacts!r}: None, 'points' or 'forces' is needed")
    other = positions is not None or orientations is not None
    if other and (contacts is not None or (isinstance(color, str) and color == "impulse")):
        what = "contacts" if contacts is not None else "color='impulse'"
        raise TypeError(f"{what}: the world knows its own contacts only, not those of other poses")
    return stage_of(world, positions, orientations)


def _box(window: Any, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box that is shown."""
    corners = np.asarray(window, dtype=float)
    if corners.shape != (2, dimension) or not (corners[0] < corners[1]).all():
        raise ValueError(
            f"window is {window!r}: two corners of {dimension} numbers, the lower one first, "
            "are needed"
        )
    return corners[0], corners[1]


def _draw_forces(ax: Axes, world: World, project: Any) -> None:
    """Draw the lines along which normal impulses act; the legend has the largest."""
    lines = optional("matplotlib.collections", "plots need").LineCollection
    contacts = world.contacts
    impulses = contacts.impulses[:, 0]
    largest = impulses.max(initial=0.0)
    chosen = impulses > 1e-3 * largest
    if not chosen.any():
        return
    ends = [
        np.where((body < 0)[:, None], contacts.points[chosen], world.positions[body])
        for body in contacts.bodies[chosen].T
    ]
    # Weak contacts first: strong ones are what the eye is to follow.
    order = np.argsort(impulses[chosen])
    paths = np.stack([project(end) for end in ends], axis=1)[order]
    widths = _WIDEST * impulses[chosen][order] / largest
    ax.add_collection(
        lines(paths, linewidths=widths, colors=_CHAIN, capstyle="round", zorder=4), autolim=False
    )
    line = optional("matplotlib.lines", "plots need").Line2D
    widest = line([], [], color=_CHAIN, linewidth=_WIDEST, solid_capstyle="round")
    label = f"normal impulse of {largest:.3g} N s"
    ax.legend([widest], [label], loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False)
