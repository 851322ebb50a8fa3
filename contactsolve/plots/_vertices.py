"""Vertices of a graph, drawn as large as their distances on paper allow.

These distances are known only when a figure is drawn, because layouts and legends change the size
of its axes. An artist that is drawn before all others sets the sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.text import Annotation

_SHARE = 0.62  # width of a mark over the least distance between two vertices
_WIDTHS = (1.5, 15.0)  # least and largest width of a mark [points]
_PAIRED = 300  # maximum number of vertices for which all pairs are compared
_LETTERS = 8.0  # largest font size of a number [points]
_LEGIBLE = 4.0  # numbers of smaller font sizes are not drawn [points]


class Look(NamedTuple):
    """The look of a group of vertices."""

    chosen: np.ndarray  # which vertices, of bool
    marker: str
    colour: str
    label: str


def draw_vertices(
    ax: Axes, places: np.ndarray, looks: list[Look], numbers: np.ndarray | None
) -> None:
    """Draw marks at positions ``(n, 2)``, with numbers in them if these are given."""
    thin = numbers is None
    marks = [
        ax.scatter(
            places[look.chosen, 0],
            places[look.chosen, 1],
            marker=look.marker,
            c=look.colour,
            edgecolors="0.15",
            linewidths=0.5 if thin else 1.0,
            label=look.label,
            zorder=3,
            rasterized=len(places) > 5000,
        )
        for look in looks
        if look.chosen.any()
    ]
    texts = [
        ax.annotate(str(number), place, ha="center", va="center", fontsize=_LETTERS, zorder=4)
        for number, place in zip([] if numbers is None else numbers, places, strict=False)
    ]
    ax.add_artist(_Sizes(marks, texts, least_distance(places)))


def least_distance(places: np.ndarray) -> float:
    """Return the least distance of two positions, at most 1; for many, the aim of the layout."""
    if len(places) < 2:
        return 1.0
    if len(places) > _PAIRED:
        return 0.4
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(min(apart.min(), 1.0))


class _Sizes(Artist):
    """An artist that sets the sizes of marks and numbers before these are drawn."""

    def __init__(
        self, marks: list[PathCollection], texts: list[Annotation], distance: float
    ) -> None:
        super().__init__()
        self._marks, self._texts, self._distance = marks, texts, distance
        self.set_zorder(-10.0)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        # Convert the distance in the graph to points on paper; the aspect is equal.
        ax = self.axes
        assert ax is not None
        origin, unit = ax.transData.transform([(0.0, 0.0), (1.0, 0.0)])
        apart = self._distance * (unit[0] - origin[0]) / renderer.points_to_pixels(1.0)

        # A mark takes a share of the distance.
        width = float(np.clip(_SHARE * apart, *_WIDTHS))
        for mark in self._marks:
            mark.set_sizes([width**2])

        # Numbers fit into their marks, or are not drawn.
        digits = max((len(text.get_text()) for text in self._texts), default=1)
        letters = min(_LETTERS, 0.75 * width, 1.4 * width / digits)
        for text in self._texts:
            text.set_fontsize(letters)
            text.set_visible(letters >= _LEGIBLE)
        self.stale = False
