"""Bodies of a world in the plane."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from contactsolve._optional import optional
from contactsolve.plots._meshes import outline
from contactsolve.plots._stage import Stage
from contactsolve.plots._surfaces import clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GROUND", "draw_in_plane", "grounds_of"]

GROUND, _SURFACE = "#e9e6e0", "#8d8a84"


def draw_in_plane(
    ax: Axes, stage: Stage, colors: np.ndarray, box: tuple[np.ndarray, np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Draw shapes; return the map from points of the world to those of the picture."""
    collections = optional("matplotlib.collections", "plots need")
    sides = 48 if len(stage.shapes) < 1000 else 24
    solid = [k for k, one in enumerate(stage.shapes) if one.shape.kind != "half_space"]
    corners = [
        outline(stage.shapes[k].shape, sides) @ stage.turns[k].T + stage.centers[k] for k in solid
    ]
    low, high = _widened(*box)
    for area, surface in grounds_of(stage, *box):
        ax.fill(area[:, 0], area[:, 1], facecolor=GROUND, edgecolor="none", zorder=0)
        ax.plot(surface[:, 0], surface[:, 1], color=_SURFACE, linewidth=1.0, zorder=0.5)

    # All bodies, and the lines that show how discs are turned.
    ax.add_collection(
        collections.PolyCollection(
            corners, facecolors=colors[solid], edgecolors=0.6 * colors[solid], linewidths=0.6
        ),
        autolim=False,
    )
    discs = [k for k in solid if stage.shapes[k].shape.kind == "disc"]
    if discs:
        radii = np.array([stage.shapes[k].shape.numbers[0] for k in discs])
        tips = stage.centers[discs] + radii[:, None] * stage.turns[discs][:, :, 0]
        spokes = np.stack([stage.centers[discs], tips], axis=1)
        ax.add_collection(
            collections.LineCollection(spokes, colors=0.6 * colors[discs], linewidths=0.6),
            autolim=False,
        )
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    return lambda points: points


def _widened(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of what is seen around a box."""
    margin = 0.05 * max((high - low).max(), 1e-12)
    return low - margin, high + margin


def grounds_of(
    stage: Stage, low: np.ndarray, high: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the parts of half-planes that are seen around a box, and ends of their surfaces."""
    low, high = _widened(low, high)
    window = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    found = []
    for k, one in enumerate(stage.shapes):
        if one.shape.kind != "half_space":
            continue
        numbers = one.shape.numbers
        length = math.hypot(*numbers[:2])
        normal = stage.turns[k] @ np.array(numbers[:2]) / length
        offset = numbers[3] / length + normal @ stage.centers[k]
        area = clipped(window, normal[None], np.array([offset]))
        if len(area):
            surface = area[abs(area @ normal - offset) <= 1e-9 * np.ptp(window)]
            found.append((area, surface))
    return found
