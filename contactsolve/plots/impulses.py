"""The cone diagram: where the impulse of each contact lies in its friction cone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve.plots._axes import new_axes
from contactsolve.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["impulses"]

# Below this share of the largest normal impulse a contact counts as open, within this distance of
# the cone as sliding; both no sharper than the solution is.
_EXACT, _ROUGH = 1e-9, 1e-2

# Told apart in grey as well.
_LOOKS: dict[str, dict[str, Any]] = {
    "open": {"marker": "x", "color": "0.45", "s": 26, "linewidths": 1.2},
    "stick": {"marker": "o", "color": "#1f6fb4", "s": 18, "alpha": 0.75, "linewidths": 0},
    "slide": {"marker": "^", "color": "#d9660f", "s": 24, "alpha": 0.85, "linewidths": 0},
}


def impulses(result: Result, *, ax: Axes | None = None, mu: Any = None) -> Axes:
    """Draw the cone diagram: friction over its bound, against the normal impulse.

    A contact lies at height 0 on the axis of its cone and at height 1 on the cone. Contacts that
    stick are below 1, contacts that slide on it; contacts that are open have no impulse and are
    counted, with one mark in the lower left corner.

    Parameters
    ----------
    result : Result
        Of a problem with friction. Blocks without a friction coefficient (joints, boxes,
        frictionless contacts) are left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    mu : float or array_like, shape (K,), optional
        The coefficients of a solve that was given other ones than the problem's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        No contact has friction.
    TypeError
        `result` that is no `Result`.
    ImportError
        matplotlib is not installed.

    Notes
    -----
    What a contact does is what ``result.active`` says, where the result has it. Otherwise it is
    judged from the impulse: open where the normal one is zero, sliding on the cone; zero and on
    mean to the accuracy of the solution.

    Examples
    --------
    >>> import contactsolve as cs
    >>> ax = cs.plots.impulses(cs.solve(cs.scenarios.box_stack(3)))  # doctest: +SKIP
    """
    if not isinstance(result, Result):
        raise TypeError(f"result is {result!r}: a Result is needed")
    normal, ratio, states = _cone(result, mu)
    ax = new_axes() if ax is None else ax
    closed = states != "open"
    ax.axhline(1.0, color="0.55", linewidth=1.0, zorder=1)
    ax.set_ylim(-0.05, 1.15)
    if closed.any() and normal[closed].max() > 30.0 * normal[closed].min() > 0.0:
        ax.set_xscale("log")
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


def _cone(result: Result, mu: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal impulse, friction over its bound, and state of each contact with friction."""
    problem = result.problem
    grouped = problem.grouped
    listed = result.impulses if grouped else [result.impulses]
    found = problem.mu if grouped else [problem.mu]
    sets = problem.sets if grouped else [problem.sets]
    if mu is not None:
        found = [None if known is None else mu for known in found]
    kept = [g for g, known in enumerate(found) if known is not None]
    if not kept:
        raise ValueError("no contact of this problem has friction: there is no cone to draw")
    normal = np.concatenate([listed[g][:, 0] for g in kept])
    friction = np.concatenate([_length(listed[g], sets[g].name) for g in kept])
    bound = np.concatenate([found[g] * listed[g][:, 0] for g in kept])
    ratio = np.divide(friction, bound, out=np.zeros_like(friction), where=bound > 0)
    states = None if grouped else getattr(result, "active", None)
    if states is None:
        states = _states(result, normal, ratio)
    return normal, ratio, np.asarray(states)


def _length(impulse: np.ndarray, name: str) -> np.ndarray:
    """The tangential impulse in the norm of the set; rows behind the tangents are no friction."""
    tangential = np.abs(impulse[:, 1:3])
    if tangential.shape[1] == 0:
        return np.zeros(len(impulse))
    return tangential.max(axis=1) if name == "box_friction" else np.linalg.norm(tangential, axis=1)


def _states(result: Result, normal: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    reached = 2.0 * result.natural_map_scaled
    tolerance = min(max(reached, _EXACT), _ROUGH) if np.isfinite(reached) else _ROUGH
    states = np.where(ratio >= 1.0 - tolerance, "slide", "stick")
    states[normal <= tolerance * normal.max(initial=0.0)] = "open"
    return states


def _dress(ax: Axes) -> None:
    ax.set_xlabel("normal impulse [N s]")
    ax.set_ylabel("friction / (µ × normal impulse) [1]")
    ax.grid(visible=True, color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    if ax.get_legend_handles_labels()[0]:
        # Above the axes: there is no corner of a cone diagram that is empty for sure.
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
