"""Picture of a comparison: times as bars, or times over sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactsolve._table import time_name
from contactsolve.compare import Row, Table
from contactsolve.plots._axes import new_axes, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["compare"]

_MARKERS = "osD^vPX*<>"


def compare(table: Table, *, ax: Axes | None = None, kind: str = "bars") -> Axes:
    """Draw the times of the methods of a comparison, which are those of `Row.time`.

    The label of the axis says whether they include the evaluation of the stopping rule.

    Parameters
    ----------
    table : Table
        From `contactsolve.compare`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    kind : {"bars", "sweeps"}
        ``"bars"``: one bar for each method, with the length of its time, with σ, and with time and
        sweeps as text. ``"sweeps"``: one mark for each method, time over sweeps, on logarithmic
        axes; along each thin line a sweep takes the same time. Bars and marks of methods that did
        not reach the target are not filled.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        An unknown `kind`.
    TypeError
        `table` is not a `Table`.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> table = cs.compare(cs.scenarios.box_stack(3), ["jacobi", "gauss_seidel"])
    >>> ax = cs.plots.compare(table)  # doctest: +SKIP
    """
    if not isinstance(table, Table):
        raise TypeError(
            f"table is {type(table).__name__}: a Table of contactsolve.compare is needed"
        )
    if kind not in ("bars", "sweeps"):
        raise ValueError(f"kind is {kind!r}: 'bars' or 'sweeps' is needed")
    ax = new_axes() if ax is None else ax
    if kind == "bars":
        _bars(ax, table)
    else:
        _sweeps(ax, table)
    return ax


def _bars(ax: Axes, table: Table) -> None:
    """Draw one bar for each method, with its time and sweeps as text."""
    places = np.arange(len(table))
    unit, size = _unit(table)
    for place, row in enumerate(table):
        time, sigma = row.time / size, row.time_sigma / size
        colour = f"C{place % 10}"
        ax.barh(
            place,
            time,
            height=0.62,
            color=colour if row.reached else "white",
            edgecolor=colour,
            hatch=None if row.reached else "////",
            linewidth=1.2,
            xerr=sigma,
            error_kw={"ecolor": "0.15", "capsize": 3.0, "elinewidth": 1.2},
        )
        ax.annotate(
            _time_and_sweeps(row),
            (time + sigma, place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )

    # The first method is at the top.
    ax.set_yticks(places, [row.method for row in table])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    # Leave room for the longest text beside the longest bar.
    ax.set_xlim(0.0, 1.55 * max(row.time + row.time_sigma for row in table) / size or 1.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel(f"{time_name(table)} [{unit}]")
    _finish(ax, ax.xaxis)


def _unit(table: Table) -> tuple[str, float]:
    """Return the unit of time of the longest row, in which all data are drawn."""
    return time_unit(max(row.time for row in table))


def _time_and_sweeps(row: Row) -> str:
    unit, size = time_unit(row.time)
    sweeps = f"{row.iterations:,} sweep{'' if row.iterations == 1 else 's'}"
    text = f"{row.time / size:.3g} {unit}, {sweeps}"
    return text if row.reached else f"{text},\n{row.status.replace('_', ' ')}"


def _sweeps(ax: Axes, table: Table) -> None:
    """Draw one mark for each method, time over sweeps, on logarithmic axes."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    unit, size = _unit(table)
    for i, row in enumerate(table):
        colour = f"C{i % 10}"
        ax.errorbar(
            [max(row.iterations, 1)],
            [row.time / size],
            yerr=[row.time_sigma / size],
            fmt=_MARKERS[i % len(_MARKERS)],
            color=colour,
            markerfacecolor=colour if row.reached else "white",
            markersize=8,
            markeredgewidth=1.4,
            capsize=3.0,
            linestyle="none",
            label=row.method if row.reached else f"{row.method} ({row.status.replace('_', ' ')})",
        )

    # Lines of equal cost behind the marks, and names of the axes.
    ax.margins(0.15)
    _lines_of_equal_cost(ax, [row.time / size / max(row.iterations, 1) for row in table])
    ax.set_xlabel("sweeps")
    ax.xaxis.set_major_formatter(lambda sweeps, _: f"{sweeps:,g}")
    _label_steps(ax)
    # The legend is below the axes, because marks may lie anywhere inside.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, fontsize="small")
    ax.yaxis.set_major_formatter(lambda time, _: f"{time:g}")
    ax.set_ylabel(f"{time_name(table)} [{unit}]")
    _finish(ax, ax.yaxis)


def _label_steps(ax: Axes) -> None:
    """Label 1, 2 and 5 of each decade: the axes often span less than one."""
    from matplotlib.ticker import LogLocator, NullLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())


def _lines_of_equal_cost(ax: Axes, costs: list[float]) -> None:
    """Draw lines on which a sweep takes the same time; the middle one has the mean of the table."""
    low, high = ax.get_xlim()
    bounds = ax.get_ylim()
    middle = np.exp(np.mean(np.log(costs)))
    for factor in 2.0 ** np.arange(-6, 7):
        ax.plot(
            [low, high],
            [middle * factor * low, middle * factor * high],
            color="0.88",
            lw=0.8,
            zorder=0,
        )
    ax.set_xlim(low, high)
    ax.set_ylim(bounds)


def _finish(ax: Axes, axis: Axis) -> None:
    axis.grid(visible=True, color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
