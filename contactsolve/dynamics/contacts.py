"""The contacts of a world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Contacts"]


class Contacts(NamedTuple):
    """The closed contacts of the last step, K of them, sorted by `ids`.

    Attributes
    ----------
    ids
        Shape, shape and feature, ``(K, 3)``: the same as long as the same parts touch.
    bodies
        ``(K, 2)``; −1 is the fixed world. The normal points from the first to the second.
    points, normals
        ``(K, D)``, at the configuration of the step where contacts are found [m].
    gaps
        ``(K,)`` [m]; below 0 the shapes penetrate.
    impulses
        ``(K, m)`` [N s]: normal, tangents, then spin or rolling [N m s]; zero beyond the rows of a
        material.
    """

    ids: np.ndarray
    bodies: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray
    impulses: np.ndarray
