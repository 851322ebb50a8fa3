"""A world in a widget of a notebook, with a slider over a run (k3d, the extra ``widget``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve._options import count
from contactsolve.dynamics import Recording, World
from contactsolve.plots import _contacts
from contactsolve.plots._camera import camera_of
from contactsolve.plots._contacts import (
    FORCES,
    POINTS,
    Links,
    arrow_length,
    impulse_colors,
    links_of,
    name_of,
    require_kind,
)
from contactsolve.plots._frames import WorldFrames, run_of
from contactsolve.plots._joints import COLOR, marks_of
from contactsolve.plots._k3d import (
    as_integers,
    by_time,
    look_from,
    mapped,
    new_plot,
    single,
    surface,
    whole,
)
from contactsolve.plots._plane import grounds_of
from contactsolve.plots._solids import arrows, groups_of, outlines_of, tube_faces, tubes
from contactsolve.plots._space import GROUND, grid_of, planes_of
from contactsolve.plots._stage import (
    Moment,
    Scale,
    Stage,
    color_scale,
    color_values,
    moment_of,
    shape_colors,
    stage_of,
    window_of,
)
from contactsolve.plots.scene import box_of, positive

if TYPE_CHECKING:
    import k3d

__all__ = ["scene_widget"]

_PALE = 0.3  # opacity of bodies around impulses
_CLEAR = 0.55  # and around joints
_TUBE = 0.09  # radius of the strongest force chain, over the length of the longest arrow


def scene_widget(
    world: World | Recording,
    record: Any = None,
    rows: int | Any | None = None,
    *,
    color: Any = "body",
    contacts: str | None = None,
    joints: bool = True,
    view: str | tuple[float, float] = "corner",
    window: Any = None,
    limits: tuple[float, float] | None = None,
    largest_impulse: float | None = None,
    opacity: float | None = None,
    height: int = 512,
) -> k3d.Plot:
    """Return a widget of a notebook with a world, or with a run and a slider over its time.

    The same as `scene` and `motion` draw, to be turned with the mouse. Worlds of the plane are seen
    from the front. ``widget.get_snapshot()`` is an HTML page of it, which needs no notebook.

    Parameters
    ----------
    world : World or Recording
        A world, as it is; or a run that ``world.run(..., file=path)`` has written.
    record : Record or Recording, optional
        A run of the world: the widget then has its times. A record needs the columns that
        `snapshots` needs; it has no contacts.
    rows : int or list of int, optional
        How many rows of the record, at equal distances from the first to the last; or which.
        Default: all. The places of all corners at all these times are in the widget's memory.
    color, contacts, joints, view, window, limits, largest_impulse
        As of `scene`, and over a run as of `motion`. Force chains are tubes whose thickness and
        colour show the normal impulse; without interpolation between the times of a run.
    opacity : float, optional
        Of the bodies, from 0 to 1. Default: 1; less if there are contacts or joints to be seen
        within them.
    height : int, default 512
        Of the widget [pixels].

    Returns
    -------
    k3d.Plot

    Raises
    ------
    ValueError
        An unknown name; an unknown row; a column is missing.
    TypeError
        Contacts of a record that has none.
    ImportError
        k3d is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.arch()
    >>> world.step()
    >>> widget = cs.plots.scene_widget(world, contacts="forces")  # doctest: +SKIP
    """
    k3d = optional("k3d", "widgets need")
    height = count("height", height, least=50, most=10_000)
    if opacity is not None and not 0 < float(opacity) <= 1:
        raise ValueError(f"opacity is {opacity!r}: a number above 0, at most 1 is needed")
    require_kind(contacts)
    options = {"color": color, "contacts": contacts, "window": window, "limits": limits}
    options["largest_impulse"] = largest_impulse

    # The times; None: the world as it is.
    times: np.ndarray | None = None
    if record is None and isinstance(world, World):
        world_shown, moments = world, [moment_of(world)]
        stage = stage_of(world, moments[0])
        box = window_of(stage) if window is None else box_of(window, world.dimension)
        full = largest_impulse
    else:
        world_shown, run = run_of(world, record)
        frames = WorldFrames(world_shown, run, rows, options)
        moments, times = frames.moments, frames.times
        box, limits = frames.options["window"], frames.options["limits"]
        full = frames.options["largest_impulse"]
    shown = _Shown(world_shown, moments, times, box)

    # Bodies and what is around them; then contacts and joints, which are within the bodies.
    marked = joints and len(world_shown.joints) > 0
    if opacity is None:
        opacity = _PALE if contacts not in (None, POINTS) else _CLEAR if marked else 1.0
    plot = new_plot(height)
    labels = shown.add_bodies(plot, color, limits, float(opacity))
    shown.add_ground(plot)
    if contacts == POINTS:
        shown.add_points(plot)
    elif contacts is not None:
        labels = shown.add_links(plot, contacts, full)
    if marked:
        shown.add_joints(plot)
    if hasattr(plot, "time_interpolation"):
        plot.time_interpolation = contacts is None
    for text in labels:
        plot += k3d.text2d(text, position=(0.02, 0.02), color=0, label_box=False, is_html=True)
    shown.place_camera(plot, view)
    return plot


class _Shown:
    """What a widget shows: objects of k3d with their values at all times."""

    def __init__(
        self, world: World, moments: list[Moment], times: np.ndarray | None, box: Any
    ) -> None:
        self._k3d = optional("k3d", "widgets need")
        self._world, self._moments, self._times = world, moments, times
        self._low, self._high = (np.asarray(corner, dtype=float) for corner in box)
        self._stages = [stage_of(world, moment) for moment in moments]
        self._shapes = [one.shape for one in world.shapes]
        self._bodies = np.array([one.body for one in world.shapes], dtype=int)
        self._which = [_places(self._bodies, moment) for moment in moments]
        # Where what is absent at a time is drawn, without a size.
        self._nowhere = (self._low + self._high) / 2

    # ---- bodies ----------------------------------------------------------------------------------

    def add_bodies(self, plot: k3d.Plot, color: Any, limits: Any, opacity: float) -> list[str]:
        """Add all shapes but half-spaces; return the names of the scales of colours."""
        values = [color_values(self._world, color, moment) for moment in self._moments]
        fixed, free = np.flatnonzero(self._bodies < 0), np.flatnonzero(self._bodies >= 0)
        numbers = None if values[0][1] is None else [one[1] for one in values]
        everything = self._stages[0]._replace(shapes=list(self._world.shapes), bodies=self._bodies)
        colors, _ = shape_colors(self._world, everything, "body" if numbers else color)
        self._add_shapes(plot, fixed, colors, None, None, opacity)
        if numbers is None:
            self._add_shapes(plot, free, colors, None, None, opacity)
            return []
        joined = np.concatenate([one for one in numbers if one is not None])
        scale = Scale(color_scale(joined, limits), values[0][0])
        of_shapes = [np.asarray(one)[self._bodies] for one in numbers]
        self._add_shapes(plot, free, None, of_shapes, scale, opacity)
        return [scale.name] if scale.name else []

    def _add_shapes(
        self,
        plot: k3d.Plot,
        chosen: np.ndarray,
        colors: np.ndarray | None,
        values: list[np.ndarray] | None,
        scale: Scale | None,
        opacity: float,
    ) -> None:
        """Add the chosen shapes, in colours of all shapes, or with a value of each at all times."""
        moving = len(chosen) > 0 and bool(self._bodies[chosen[0]] >= 0)
        times = self._times if moving else None
        spheres = np.array([k for k in chosen if self._shapes[k].kind == "sphere"], dtype=int)
        look = {} if scale is None else mapped(scale)
        if len(spheres):
            self._add_spheres(plot, spheres, times, colors, values, {**look, "opacity": opacity})
        for group in groups_of(self._shapes, chosen):
            corners = [single(one) for one in self._each(group.at, times)]
            of_corners = None if colors is None else colors[group.owners]
            mesh = surface(
                corners[0],
                group.faces,
                of_corners,
                flat_shading=not group.is_round,
                opacity=opacity,
                **look,
            )
            mesh.vertices = by_time(times, corners)
            if values is not None:
                mesh.attribute = by_time(times, [_single(one[group.owners]) for one in values])
            plot += mesh
        if self._world.dimension == 2:
            self._add_outlines(plot, chosen, times)

    def _each(self, place: Any, times: np.ndarray | None) -> list[np.ndarray]:
        """Return where corners are at all times; once, if they do not move."""
        stages = self._stages if times is not None else self._stages[:1]
        return [
            place(stage, which, self._nowhere)
            for stage, which in zip(stages, self._which, strict=False)
        ]

    def _add_spheres(
        self,
        plot: k3d.Plot,
        spheres: np.ndarray,
        times: np.ndarray | None,
        colors: np.ndarray | None,
        values: list[np.ndarray] | None,
        look: dict[str, Any],
    ) -> None:
        sizes = 2.0 * np.array([self._shapes[k].numbers[0] for k in spheres])

        def centers(stage: Stage, which: np.ndarray, nowhere: np.ndarray) -> np.ndarray:
            place = which[spheres]
            return np.where((place < 0)[:, None], nowhere, stage.centers[place])

        places = [single(one) for one in self._each(centers, times)]
        present = [_single(sizes * (which[spheres] >= 0)) for which in self._which]
        if colors is not None:
            look["colors"] = as_integers(colors[spheres])
        points = self._k3d.points(places[0], point_sizes=present[0], shader="mesh", **look)
        points.positions = by_time(times, places)
        if times is not None and any((one != present[0]).any() for one in present):
            points.point_sizes = by_time(times, present)
        if values is not None:
            points.attribute = by_time(times, [_single(one[spheres]) for one in values])
        plot += points

    def _add_outlines(self, plot: k3d.Plot, chosen: np.ndarray, times: np.ndarray | None) -> None:
        """Add the outlines of shapes of the plane, which tell equal colours apart."""
        group = outlines_of(self._shapes, chosen)
        if len(group.corners):
            self._add_lines(plot, self._each(group.at, times), group.faces, times, 0x40404A)

    def _add_lines(
        self,
        plot: k3d.Plot,
        corners: list[np.ndarray],
        pairs: np.ndarray,
        times: np.ndarray | None,
        color: int,
    ) -> None:
        places = [single(one) for one in corners]
        lines = self._k3d.lines(
            places[0], whole(pairs), indices_type="segment", color=color, shader="simple"
        )
        lines.vertices = by_time(times, places)
        plot += lines

    # ---- what is around them ---------------------------------------------------------------------

    def add_ground(self, plot: k3d.Plot) -> None:
        """Add the surfaces of half-spaces around the box, which are seen from outside alone."""
        stage, low, high = self._stages[0], self._low, self._high
        if self._world.dimension == 2:
            areas = [area for area, _ in grounds_of(stage, low, high)]
            lines = [surface for _, surface in grounds_of(stage, low, high) if len(surface) == 2]
        else:
            planes = planes_of(stage, low, high)
            areas = [plane.corners for plane in planes]
            lines = [line for plane in planes for line in grid_of(plane, high - low)]
        for area in areas:
            colors = np.tile(GROUND, (len(area), 1))
            faces = np.array([[0, k, k + 1] for k in range(1, len(area) - 1)])
            mesh = surface(area, faces, colors, flat_shading=True)
            mesh.side = "double" if self._world.dimension == 2 else "front"
            plot += mesh
        if lines:
            ends = np.concatenate(lines)
            self._add_lines(plot, [ends], np.arange(len(ends)).reshape(-1, 2), None, 0x8D8A84)

    def place_camera(self, plot: k3d.Plot, view: str | tuple[float, float]) -> None:
        """Look at the box."""
        low, high = self._low, self._high
        if self._world.dimension == 2:
            view, low, high = "top", np.append(low, 0.0), np.append(high, 0.0)
        look_from(plot, camera_of(view, None, low, high), low, high)

    # ---- what is within them ---------------------------------------------------------------------

    def add_links(self, plot: k3d.Plot, kind: str, largest: float | None) -> list[str]:
        """Add force chains or arrows; return the name of their scale of colours."""
        most = _contacts.largest_impulse(kind, self._moments)
        full = most if largest is None else positive("largest_impulse", largest)
        length = arrow_length(self._world, (self._low, self._high))
        links = [links_of(kind, moment, full, length) for moment in self._moments]
        number = max(len(one.impulses) for one in links)
        if number == 0:
            return []

        # All times have as many lines: those that a time has not are without a size.
        nowhere = single(self._nowhere)
        points = [single(_solid(kind, one, full, length, number, nowhere)) for one in links]
        rings = 2 if kind == FORCES else 4
        each = len(points[0]) // number
        values = [
            _single(np.repeat(np.append(one.impulses, np.zeros(number - len(one.impulses))), each))
            for one in links
        ]
        scale = Scale(impulse_colors(full, most > full), name_of(kind))
        mesh = surface(
            points[0], tube_faces(rings, number), None, flat_shading=False, **mapped(scale)
        )
        mesh.vertices, mesh.attribute = by_time(self._times, points), by_time(self._times, values)
        plot += mesh
        plot.colorbar_object_id = mesh.id
        return [scale.name]

    def add_points(self, plot: k3d.Plot) -> None:
        """Add the points of contacts."""
        found = [moment.contacts.points for moment in self._moments if moment.contacts is not None]
        number = max(map(len, found))
        if number == 0:
            return
        size = 0.1 * arrow_length(self._world, (self._low, self._high))
        missing = [number - len(one) for one in found]
        places = [
            single(np.vstack([one, np.tile(self._nowhere, (rest, 1))]))
            for one, rest in zip(found, missing, strict=True)
        ]
        sizes = [_single(size * (np.arange(number) < len(one))) for one in found]
        self._add_dots(plot, places, sizes, 0)

    def add_joints(self, plot: k3d.Plot) -> None:
        """Add the points and the axes of joints."""
        pairs = zip(self._moments, self._stages, strict=True)
        marks = [marks_of(self._world, moment, stage) for moment, stage in pairs]
        size = 0.12 * arrow_length(self._world, (self._low, self._high))
        color = int(COLOR[1:], 16)
        dots = [np.where(np.isfinite(one.points), one.points, self._nowhere) for one in marks]
        sizes = [_single(size * np.isfinite(one.points).all(axis=1)) for one in marks]
        if len(dots[0]):
            self._add_dots(plot, list(map(single, dots)), sizes, color)
        ends = [one.lines.reshape(-1, 3) for one in marks]
        ends = [np.where(np.isfinite(one), one, self._nowhere) for one in ends]
        if len(ends[0]):
            segments = np.arange(len(ends[0])).reshape(-1, 2)
            self._add_lines(plot, ends, segments, self._times, color)

    def _add_dots(
        self, plot: k3d.Plot, places: list[np.ndarray], sizes: list[np.ndarray], color: int
    ) -> None:
        dots = self._k3d.points(places[0], point_sizes=sizes[0], color=color, shader="mesh")
        dots.positions, dots.point_sizes = by_time(self._times, places), by_time(self._times, sizes)
        plot += dots


def _single(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float32)


def _places(bodies: np.ndarray, moment: Moment) -> np.ndarray:
    """Return the place of each shape of the world among those of a stage; −1: absent."""
    present = ~np.append(moment.absent, False)[bodies]
    return np.where(present, np.cumsum(present) - 1, -1)


def _solid(
    kind: str, links: Links, full: float, length: float, number: int, nowhere: np.ndarray
) -> np.ndarray:
    """Return the points of tubes or arrows."""
    start, end = single(links.start).astype(float), single(links.end).astype(float)
    if kind == FORCES:
        radii = _TUBE * length * np.minimum(links.impulses / full, 1.0)
        return tubes(start, end, radii, number, nowhere)
    return arrows(start, end, number, nowhere)
