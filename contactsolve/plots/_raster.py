"""A depth buffer in NumPy: what a camera sees of many triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Raster", "rasterize"]

_CHUNK = 1_500_000  # pixels of bounding boxes that are looked at together


class Raster(NamedTuple):
    """What is seen in each pixel, ``(height, width)`` in rows from above.

    Attributes
    ----------
    face : int ndarray, (height, width)
        The nearest triangle; −1: none.
    weights : (height, width, 3) ndarray
        Of its corners.
    """

    face: np.ndarray
    weights: np.ndarray


def rasterize(corners: np.ndarray, depth: np.ndarray, size: tuple[int, int]) -> Raster:
    """Return which triangle is the nearest in each pixel.

    Parameters
    ----------
    corners : (m, 3, 2) ndarray
        In pixels from the lower left corner of the picture.
    depth : (m, 3) ndarray
        What is larger is nearer; linear within the picture of a triangle.
    size
        Width and height of the picture [pixels].
    """
    width, height = size
    nearest = np.full(width * height, -np.inf)
    owner = np.full(width * height, -1)
    weights = np.zeros((width * height, 3))
    low = np.clip(np.ceil(corners.min(axis=1) - 0.5), 0, size).astype(np.int64)
    high = np.clip(np.floor(corners.max(axis=1) - 0.5) + 1, 0, size).astype(np.int64)
    spans = np.maximum(high - low, 0)
    counts = spans.prod(axis=1)
    for faces in _chunks(counts):
        face = np.repeat(faces, counts[faces])
        within = np.arange(len(face)) - np.repeat(
            np.cumsum(counts[faces]) - counts[faces], counts[faces]
        )
        y, x = np.divmod(within, spans[face, 0])
        x, y = x + low[face, 0], y + low[face, 1]

        # Pixels whose centres are inside, and their depths.
        w, inside = _barycentric(corners, face, x + 0.5, y + 0.5)
        face, w, pixel = face[inside], w[inside], (y * width + x)[inside]
        z = np.einsum("ij,ij->i", w, depth[face])

        # Those that are nearer than all before; of several ones in a pixel, the nearest.
        np.maximum.at(nearest, pixel, z)
        seen = z == nearest[pixel]
        owner[pixel[seen]], weights[pixel[seen]] = face[seen], w[seen]
    shape = (height, width)
    return Raster(owner.reshape(shape)[::-1], weights.reshape(*shape, 3)[::-1])


def _chunks(counts: np.ndarray) -> list[np.ndarray]:
    """Return the triangles with pixels, in groups of a limited number of pixels."""
    faces = np.flatnonzero(counts)
    groups = np.cumsum(counts[faces]) // _CHUNK
    return np.split(faces, np.flatnonzero(np.diff(groups)) + 1) if len(faces) else []


def _barycentric(
    corners: np.ndarray, face: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of corners at points, and whether these are inside."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    area = _cross(b - a, c - a)
    scale = 1 / np.where(area == 0, np.inf, area)
    point = np.stack([x, y], -1) - a[face]
    second = _cross(point, (c - a)[face]) * scale[face]
    third = _cross((b - a)[face], point) * scale[face]
    w = np.stack([1 - second - third, second, third], -1)
    return w, (w >= -1e-9).all(axis=1) & (area[face] != 0)


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
