"""The times of a recorded run as pictures need them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve.dynamics import Record, Recording, World
from contactsolve.plots._contacts import largest_impulse, require_kind
from contactsolve.plots._stage import Moment, color_values, moment_of, stage_of, window_of
from contactsolve.plots.scene import box_of, draw_scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WorldFrames", "rows_of", "run_of"]

_POSES = ("time", "positions", "orientations")


def run_of(source: Any, record: Any = None) -> tuple[World, Record | Recording]:
    """Return a world and a run of it.

    Parameters
    ----------
    source
        A `World`, or a `Recording`, whose world is that of its last frame.
    record
        The run of a world; None: its last one.
    """
    if isinstance(source, Recording):
        if record is not None:
            raise TypeError("record is given, but the first argument is a Recording by itself")
        with warnings.catch_warnings():
            # Forces are of no use to pictures.
            warnings.filterwarnings("ignore", "the recorded world had a function", RuntimeWarning)
            return World.load(source._reader.path), source
    if not isinstance(source, World):
        raise TypeError(f"world is {source!r}: a World, or a dynamics.Recording of one, is needed")
    run = source.record if record is None else record
    if run is None:
        raise ValueError(f"world has made no run: call world.run(steps, {_POSES}) before")
    if not isinstance(run, (Record, Recording)):
        raise TypeError(f"record is {run!r}: a Record or a Recording is needed")
    return source, run


class WorldFrames:
    """Pictures of the times of a run, to one scale and with one scale of colours.

    Attributes
    ----------
    times : (frames,) ndarray
        [s]
    moments : list of Moment
        Those of the rows that were chosen.
    options : dict
        Of `scene`.
    """

    def __init__(
        self, world: World, run: Record | Recording, rows: Any, options: dict[str, Any]
    ) -> None:
        for name in ("frame", "positions", "orientations"):
            if options.get(name) is not None:
                raise TypeError(f"{name} is no option here: the run has poses")
        kind = options.get("contacts")
        require_kind(kind)
        self.world, self.options = world, dict(options)
        self.rows, self.moments = _moments(world, run, rows, self._needs_velocities(options))
        if kind is not None and self.moments[0].contacts is None:
            raise TypeError(
                f"contacts={kind!r}: a record has poses, and no contacts; a Recording of "
                "world.run(..., file=) has them"
            )
        self.times = np.array([moment.time for moment in self.moments])

        # One window, and the same limits of colours at all times.
        given = options.get("window")
        self.options["window"] = self._window() if given is None else box_of(given, world.dimension)
        color = options.get("color", "body")
        if isinstance(color, str) and options.get("limits") is None:
            values = [color_values(world, color, moment)[1] for moment in self.moments]
            if values[0] is not None:
                self.options["limits"] = (0.0, _largest(values))
        if kind is not None and options.get("largest_impulse") is None:
            # None: no contact of the run has an impulse.
            self.options["largest_impulse"] = largest_impulse(kind, self.moments) or None

    @staticmethod
    def _needs_velocities(options: dict[str, Any]) -> bool:
        color = options.get("color")
        return isinstance(color, str) and color == "speed"

    def _window(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the box that holds all bodies at all times."""
        boxes = [window_of(stage_of(self.world, moment)) for moment in self.moments]
        low, high = map(np.array, zip(*boxes, strict=True))
        return low.min(axis=0), high.max(axis=0)

    def draw(self, ax: Axes, number: int, *, bars: bool = False) -> None:
        """Draw one of the moments; `bars`: with the scales of colours."""
        shown = {"colorbar": bars, **self.options}
        draw_scene(self.world, self.moments[number], ax, **shown)
        ax.set_title(f"t = {self.times[number]:.3g} s", fontsize="medium")


def _largest(values: list[Any]) -> float:
    """Return the largest of the numbers that are finite."""
    joined = np.concatenate(values)
    return float(joined[np.isfinite(joined)].max(initial=0.0))


def _moments(
    world: World, run: Record | Recording, rows: Any, needs_velocities: bool
) -> tuple[list[int], list[Moment]]:
    """Return rows of a run, and the moments that they are of."""
    if isinstance(run, Recording):
        chosen = rows_of(len(run) if rows is None else rows, len(run))
        return chosen, [moment_of(world, run[row]) for row in chosen]
    needed = [*_POSES, *(["velocities"] if needs_velocities else [])]
    missing = [name for name in needed if name not in run]
    if missing:
        raise ValueError(f"record has no column {missing[0]!r}: pictures need {needed}")
    velocities = run.get("velocities")
    count = len(run["time"])
    chosen = rows_of(count if rows is None else rows, count)
    moments = []
    for row in chosen:
        poses = moment_of(
            world, positions=run["positions"][row], orientations=run["orientations"][row]
        )
        moments.append(
            poses._replace(
                time=float(run["time"][row]),
                velocities=None if velocities is None else velocities[row],
            )
        )
    return chosen, moments


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
