"""The cone diagram: the position of each contact's impulse in its friction cone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve import _core
from contactsolve.friction import friction_used
from contactsolve.plots._axes import new_axes
from contactsolve.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["impulses"]

# The marks also differ in a black and white print.
_LOOKS: dict[str, dict[str, Any]] = {
    "open": {"marker": "x", "color": "0.45", "s": 26, "linewidths": 1.2},
    "stick": {"marker": "o", "color": "#1f6fb4", "s": 18, "alpha": 0.75, "linewidths": 0},
    "slide": {"marker": "^", "color": "#d9660f", "s": 24, "alpha": 0.85, "linewidths": 0},
}


def impulses(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the cone diagram: friction over its bound, against the normal impulse.

    A contact at height 0 lies on the axis of its cone, one at height 1 on the cone. Contacts that
    stick are at 1 or below, contacts that slide at 1. Open contacts have no impulse; one mark in
    the lower left corner stands for all of them, and the legend has their number. The states are
    those of ``result.active``.

    Parameters
    ----------
    result : Result
        A result of a problem with friction. Blocks without friction (joints, boxes, frictionless
        contacts) are left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        No contact has friction.
    TypeError
        `result` is not a `Result`.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> ax = cs.plots.impulses(cs.solve(cs.scenarios.box_stack(3)))  # doctest: +SKIP
    """
    if not isinstance(result, Result):
        raise TypeError(f"result is {result!r}: a Result is needed")
    normal, ratio, states = _cone(result)
    ax = new_axes() if ax is None else ax

    # Impulses of very different sizes need a logarithmic axis.
    closed = states != "open"
    ax.axhline(1.0, color="0.55", linewidth=1.0, zorder=1)
    ax.set_ylim(-0.05, 1.15)
    if closed.any() and normal[closed].max() > 30.0 * normal[closed].min() > 0.0:
        ax.set_xscale("log")

    # A mark for each closed contact, and one for all open ones.
    for state in ("stick", "slide"):
        chosen = states == state
        if chosen.any():
            label = f"{state}, {chosen.sum():,}"
            many = chosen.sum() > 5000
            ax.scatter(
                normal[chosen],
                ratio[chosen],
                label=label,
                zorder=2,
                rasterized=many,
                **_LOOKS[state],
            )
    if ax.get_xscale() == "linear":
        ax.set_xlim(left=0.0)
    if not closed.all():
        ax.scatter(
            [0.0],
            [0.0],
            label=f"open, {np.sum(~closed):,}",
            transform=ax.get_yaxis_transform(),
            clip_on=False,
            zorder=3,
            **_LOOKS["open"],
        )
    _dress(ax)
    return ax


def _cone(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return normal impulse, friction over its bound, and state of each contact with friction."""
    # One entry for each group, also for ungrouped problems.
    problem = result.problem
    impulses, states, sets = result.impulses, result.active, problem.sets
    if not problem.grouped:
        impulses, states, sets = [impulses], [states], [sets]

    # Only groups with friction are drawn.
    tables = _parameters(result, sets, [part.shape for part in impulses])
    described = [_core.describe_set(group.set.name, group.rows) for group in problem._groups]
    kept = [g for g, one in enumerate(described) if one["frictional"]]
    if not kept:
        raise ValueError("no contact of this problem has friction: there is no cone to draw")
    normal = np.concatenate([impulses[g][:, 0] for g in kept])
    ratio = np.concatenate(
        [friction_used(sets[g], impulses[g], parameters=tables[g]) for g in kept]
    )
    return (
        normal,
        np.where(np.isfinite(ratio), ratio, 0.0),
        np.concatenate([states[g] for g in kept]),
    )


def _parameters(result: Result, sets: list, shapes: list) -> list[np.ndarray]:
    """Return the parameters of the sets in the solve, ``(K, p)`` for each group."""
    given = result._parameters
    found, start = [], 0
    for feasible, (contacts, rows) in zip(sets, shapes, strict=True):
        table = feasible.parameters(contacts, rows)
        if given is not None:
            table = given[start : start + table.size].reshape(table.shape)
        start += table.size
        found.append(table)
    return found


def _dress(ax: Axes) -> None:
    ax.set_xlabel("normal impulse [N s]")
    ax.set_ylabel("friction / its bound [1]")
    ax.grid(visible=True, color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    if ax.get_legend_handles_labels()[0]:
        # The legend is above the axes, because every corner of a cone diagram may have marks.
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
