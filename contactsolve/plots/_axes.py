"""What the plots share: new axes, and durations in a unit that suits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def new_axes() -> Axes:
    """Axes of a new figure, or an error that names the extra."""
    (ax,) = new_row(1)
    return ax


def new_row(count: int, size: tuple[float, float] | None = None) -> list[Axes]:
    """Axes side by side in a new figure, each of this width and height [inches]."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which the extra 'plot' brings: pip install 'contactsolve[plot]'"
        ) from error
    whole = None if size is None else (count * size[0], size[1])
    _, axes = pyplot.subplots(1, count, squeeze=False, figsize=whole, layout="constrained")
    return axes[0].tolist()


def time_unit(longest: float) -> tuple[str, float]:
    """The name and the seconds of the unit that suits a duration [s]."""
    return next((unit for unit in _TIME_UNITS if longest >= unit[1]), _TIME_UNITS[-1])


def show_time(axis: Axis) -> None:
    """Show seconds in the unit that suits all that is drawn so far, and name it."""
    unit, size = time_unit(axis.get_view_interval()[1])
    axis.set_major_formatter(lambda seconds, _: f"{seconds / size:g}")
    axis.set_label_text(f"time [{unit}]")
