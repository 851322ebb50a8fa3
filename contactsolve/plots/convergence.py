"""Convergence plots: a measure over iterations or time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactsolve import measures
from contactsolve._table import time_name
from contactsolve.compare import Table
from contactsolve.plots._axes import new_axes, show_times
from contactsolve.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["convergence"]

# Options shown in default labels if results differ in them.
_DISTINGUISHING = ("scheme", "order", "local", "dtype", "contacts")

# Curves of two methods may coincide: a dashed curve lets the one below it show through.
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))


def convergence(
    results: Result | Table | Mapping[str, Result] | Iterable[Result],
    *,
    x: str = "iteration",
    y: str = "natural_map",
    ax: Axes | None = None,
    labels: Sequence[str] | str | None = None,
    legend: bool = True,
    **line: Any,
) -> Axes:
    """Plot a measure of the history, on a logarithmic axis, over iterations or time.

    A dot ends the curve of a solve that converged (in a table: that reached its target), a cross
    that of a solve that did not. Rows in which the measure was not evaluated are left out.

    Parameters
    ----------
    results : Result, Table, dict of label to Result, or list of Result
        The solves to draw, one curve for each.
    x : {"iteration", "time"}
        The horizontal axis. The time is that of the history, on the clock of `Result.time`: since
        the start of the solve, without recording, and without checks if they are not timed (in a
        table with a target, or with ``time_checks=False``). Its unit suits all curves of the axes.
    y : str, default "natural_map"
        A measure of ``contactsolve.measures.names()`` that was recorded.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    labels : list of str, optional
        One for each result; by default the labels of the table or the dict, else the method and
        the options in which the results differ.
    legend : bool, default True
        Add a legend if there are several curves, or labels are given. It is beside the axes if
        there are more than six curves.
    **line
        Passed to ``ax.plot``, such as ``linewidth=1``, for all curves.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `x` or `y` is not a column of a history, or the number of labels is not that of the results.
    TypeError
        `results` are not of these types.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> names = cs.methods.sweeping()
    >>> results = [cs.solve(cs.scenarios.box_stack(3), method=name) for name in names]
    >>> ax = cs.plots.convergence(results)  # doctest: +SKIP
    """
    if x not in ("iteration", "time"):
        raise ValueError(f"x is {x!r}: 'iteration' or 'time' is needed")
    curves = _curves(results, labels)
    points = [_points(curve, x, y) for curve in curves]
    if ax is None:
        ax = new_axes()

    # Further curves on the same axes continue the cycle of styles, as their colours do.
    lines: list[Line2D] = []
    numbers = count(len(ax.get_legend_handles_labels()[0]))
    for curve, (across, up), number in zip(curves, points, numbers, strict=False):
        # There are ten colours: in the next round each of them has another style.
        style = _STYLES[(number + number // 10) % len(_STYLES)]
        look = {"linestyle": style, "linewidth": 1.6, "label": curve.label, **line}
        (drawn,) = ax.plot(across, up, **look)
        lines += [drawn, _mark_end(ax, drawn, curve.succeeded)]

    # Axes, unit of time and legend.
    _dress(ax, x, y)
    if x == "time":
        show_times(ax, lines, time_name(results) if isinstance(results, Table) else "time of solve")
    if legend and (len(curves) > 1 or labels is not None):
        _add_legend(ax)
    return ax


# ---- what is drawn ------------------------------------------------------------------------------


class _Curve(NamedTuple):
    label: str
    result: Result
    succeeded: bool


def _curves(results: Any, labels: Sequence[str] | str | None) -> list[_Curve]:
    """Return the results with their labels, and whether each reached its target."""
    # A table knows what each method was to reach.
    reached = [row.reached for row in results] if isinstance(results, Table) else None
    if isinstance(results, Table):
        results = results.results
    if isinstance(results, Result):
        results = [results]

    # Everything becomes a list of results with labels.
    listed = list(results.values() if isinstance(results, Mapping) else results)
    for i, result in enumerate(listed):
        if not isinstance(result, Result):
            raise TypeError(f"results[{i}] is {result!r}: a Result is needed")
    if labels is None:
        found = list(results) if isinstance(results, Mapping) else _default_labels(listed)
    else:
        found = [labels] if isinstance(labels, str) else list(labels)
    if len(found) != len(listed):
        raise ValueError(f"labels is {labels!r}: one for each of {len(listed)} results is needed")
    succeeded = reached or [result.converged for result in listed]
    return list(map(_Curve, map(str, found), listed, succeeded))


def _default_labels(results: Sequence[Result]) -> list[str]:
    """Return the methods, with options in which the results differ, numbered if necessary."""
    differing = [
        name for name in _DISTINGUISHING if len({str(result.info[name]) for result in results}) > 1
    ]
    labels = [
        ", ".join([result.info["method"], *(f"{name}={result.info[name]}" for name in differing)])
        for result in results
    ]
    if len(set(labels)) == len(labels):
        return labels

    # Equal labels are numbered.
    seen: Counter[str] = Counter()
    for i, label in enumerate(labels):
        seen[label] += 1
        labels[i] = f"{label} ({seen[label]})"
    return labels


def _points(curve: _Curve, x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
    """Return abscissas and ordinates of the rows in which the measure was evaluated."""
    history = curve.result.history
    if y not in history or y in ("iteration", "time"):
        known = ", ".join(history.columns[2:])
        raise ValueError(
            f"y is {y!r}, which the history of {curve.label!r} does not have; recorded: {known}. "
            "Solve with record=(...) to record other measures"
        )
    across, up = history[x], history[y]
    known_rows = np.isfinite(up)
    return across[known_rows], up[known_rows]


# ---- how it looks -------------------------------------------------------------------------------


def _mark_end(ax: Axes, drawn: Line2D, succeeded: bool) -> Line2D:
    """Mark the end of a curve by whether the solve reached its target."""
    across, up = map(np.asarray, drawn.get_data())
    marker, size = ("o", 5.0) if succeeded else ("X", 7.0)
    (end,) = ax.plot(across[-1:], up[-1:], marker=marker, markersize=size, color=drawn.get_color())
    return end


# A legend with more entries would cover the curves.
_WITHIN = 6


def _add_legend(ax: Axes) -> None:
    """Add a legend within the axes, or beside them if there are many curves."""
    # Without a layout engine there is no room between several axes.
    crowded = len(ax.figure.axes) > 1 and ax.figure.get_layout_engine() is None
    if len(ax.get_legend_handles_labels()[0]) <= _WITHIN or crowded:
        ax.legend(framealpha=0.9, edgecolor="none", fontsize="small" if crowded else None)
        return
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small")


def _dress(ax: Axes, x: str, y: str) -> None:
    """Set scales, names, units and grid."""
    ax.set_yscale("log")
    ax.margins(x=0.02)
    if x == "iteration":
        ax.set_xlabel("iteration")
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", integer=True)
    unit = measures.units().get(y, "").replace("^2", "²")
    ax.set_ylabel(y.replace("_", " ") + (f" [{unit}]" if unit else ""))
    ax.grid(visible=True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
