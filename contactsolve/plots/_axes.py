"""Shared code of the plots: new axes, and durations in a suitable unit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from contactsolve._optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def new_axes() -> Axes:
    """Return axes of a new figure; without matplotlib the error names the extra."""
    (ax,) = new_row(1)
    return ax


def new_row(count: int, size: tuple[float, float] | None = None) -> list[Axes]:
    """Return axes side by side in a new figure, each of this width and height [inches]."""
    pyplot = optional("matplotlib.pyplot", "plots need")
    whole = None if size is None else (count * size[0], size[1])
    _, axes = pyplot.subplots(1, count, squeeze=False, figsize=whole, layout="constrained")
    return axes[0].tolist()


def fit_figure(axes: list[Axes], width: float, beside: float = 0.0, above: float = 0.0) -> None:
    """Give a figure of pictures with equal scales side by side the height that they take.

    Parameters
    ----------
    width, beside, above
        Of a picture, of what is beside them all, and above each of them [inches].
    """
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    shapes = [np.diff(ax.get_ylim())[0] / np.diff(ax.get_xlim())[0] for ax in axes]
    height = min(max(width * max(shapes), 0.25 * width), 1.25 * width)
    figure.set_size_inches(len(axes) * width + beside, height + above)


def time_unit(longest: float) -> tuple[str, float]:
    """Return the name and the length of a suitable unit for a duration [s]."""
    return next((unit for unit in _TIME_UNITS if longest >= unit[1]), _TIME_UNITS[-1])


# For each axes: the name of its times, the length of their unit [s], and its curves.
_CURVES: WeakKeyDictionary[Axes, tuple[str, float, list[Line2D]]] = WeakKeyDictionary()


def show_times(ax: Axes, lines: list[Line2D], name: str) -> None:
    """Convert the times of curves [s] to a unit for all curves of the axes, and label the axis.

    The data are converted instead of the ticks, so that any scale of the axis shows them correctly.
    """
    # The longest of the new and of the earlier curves determines the unit.
    name_before, size_before, before = _CURVES.get(ax, (name, 1.0, []))
    lengths = [size_before * _longest(line) for line in before] + list(map(_longest, lines))
    unit, size = time_unit(max(lengths, default=0.0))

    # Earlier curves are in the previous unit, new ones in seconds.
    for old, group in ((size_before, before), (1.0, lines)):
        for line in group:
            line.set_xdata(np.asarray(line.get_xdata()) * (old / size))
    name = name if name == name_before else "time"
    _CURVES[ax] = name, size, [*before, *lines]
    ax.relim()
    ax.autoscale_view()
    ax.set_xlabel(f"{name} [{unit}]")


def _longest(line: Line2D) -> float:
    return float(np.max(np.asarray(line.get_xdata()), initial=0.0))
