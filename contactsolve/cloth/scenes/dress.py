"""S5's scene 1: a dress drapes on a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._options import one_of
from ..cloth import Cloth
from ..obstacle import Obstacle
from ._body import BODIES, Profile, body, offset, over_shoulder, torso, up_to
from ._scene import cloth_of, collisions, scene
from ._surfaces import Mesh, tube_faces

__all__ = ["dress", "dress_mesh"]

Floats = NDArray[np.float64]

# Rows of the tube, of front and back between the arms, and over a shoulder; columns around, and of
# a strap.
_ROWS, _UPPER, _OVER = 49, 6, 19
_COLUMNS, _STRAP = 80, 8
_NECK, _TOP, _WAIST, _HEM = 1.34, 1.255, 1.00, 0.50  # heights [m]; the waist sits on the hips
_FLARE = 0.5  # growth of the radius below the waist
_CLEARANCE, _SLACK, _LIFT = 3e-3, 5e-3, 3e-2  # at the waist; more above; of the straps [m]


@scene(seconds=1.0, h=5e-3)
def dress(
    version: str = "1a",
    *,
    turn: float = 10.0,
    density: float = 0.2,
    young: float = 500.0,
    bending: float = 2e-5,
    mu: float = 0.3,
    thickness: float = 2e-3,
    **options: Any,
) -> Cloth:
    """A dress of 4,536 vertices, held away from a body, drapes on it under gravity (S5, scene 1).

    It hangs on hips and shoulders by contact and friction alone. The body has a torso, a head, legs
    and arms, closed surfaces that overlap. It turns to and fro once a second. S5's avatar and its
    dress are not public, and S5 gives neither material nor steps: body, dress and these numbers are
    ours, with S5's counts of vertices.

    Parameters
    ----------
    version : {"1a", "1b"}
        The mesh of the body: 27,010 or 1,808 vertices.
    turn : float, default 10.0
        The angle by which the body turns [degrees]; 0: it stands still.
    density : float, default 0.2
        Mass per area [kg/m²].
    young : float, default 500.0
        [N/m]
    bending : float, default 2e-5
        Bridson's k [N m].
    mu : float, default 0.3
        Friction of cloth with the body and with itself.
    thickness : float, default 2e-3
        Of the cloth in contact [m].
    **options
        Of `contactsolve.cloth.Cloth`; default ``damping=0.005``.

    Returns
    -------
    Cloth
        For one second in steps of 5 ms.
    """
    one_of("version", version, tuple(BODIES))
    vertices, faces = body(version)
    motion = turning(vertices, np.radians(turn)) if turn else None
    return cloth_of(
        dress_mesh(),
        options,
        density=density,
        young=young,
        bending=bending,
        damping=5e-3,
        collisions=collisions(thickness, mu, options),
        obstacles=[Obstacle(vertices, faces, motion)],
    )


def turning(vertices: Floats, angle: float) -> Callable[[float], Floats]:
    """Return positions by time of a body that turns about the z axis and back within a second."""

    def at(time: float) -> Floats:
        turned = angle * (1 - np.cos(2 * np.pi * time)) / 2
        c, s = np.cos(turned), np.sin(turned)
        return vertices @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    return at


# ---- the dress -----------------------------------------------------------------------------------


class _Sewn:
    """A mesh to which grids of new vertices are added."""

    def __init__(self, vertices: Floats, faces: NDArray[np.int64]) -> None:
        self._vertices, self._faces, self._count = [vertices], [faces], len(vertices)

    def add(self, points: Floats) -> NDArray[np.int64]:
        """Add points ``(rows, columns, 3)``; return their numbers."""
        numbers = self._count + np.arange(points.shape[0] * points.shape[1])
        self._vertices.append(points.reshape(-1, 3))
        self._count += len(numbers)
        return numbers.reshape(points.shape[:2])

    def cover(self, grid: NDArray[np.int64]) -> None:
        """Add the faces between vertices of these numbers, ``(rows, columns)``."""
        self._faces.append(_faces_of_grid(grid))

    def mesh(self) -> Mesh:
        return np.concatenate(self._vertices), np.concatenate(self._faces)


def dress_mesh() -> Mesh:
    """Return a tube from the hem to the arms, front and back above it, and two straps."""
    # The columns are symmetric to both planes; the front is where y < 0.
    angle = 2 * np.pi * (np.arange(_COLUMNS) + 0.5) / _COLUMNS
    around = offset(torso(400), _CLEARANCE + _SLACK)
    tube = _tube(around).rings(angle)
    sewn = _Sewn(tube.reshape(-1, 3), tube_faces(_ROWS, _COLUMNS))

    # Front and back between the arms, both from left to right.
    right = 3 * _COLUMNS // 4 + 5 + np.arange(_STRAP)
    front = np.arange(_mirrored(right[-1]), right[-1] + 1)
    back = _COLUMNS - 1 - front
    heights = np.linspace(_TOP, _NECK, _UPPER + 1)[1:]
    upper = []
    for columns, is_front in ((front, True), (back, False)):
        lines = [up_to(around, x, heights, is_front=is_front) for x in tube[-1, columns, 0]]
        own = sewn.add(np.stack(lines, axis=1))
        grid = np.concatenate([[(_ROWS - 1) * _COLUMNS + columns], own])
        sewn.cover(grid if is_front else grid[:, ::-1])
        upper.append(own[-1])

    # Over both shoulders, where straps are long enough that the hips carry the skirt.
    x = tube[-1, front, 0]
    lift = np.zeros((_OVER, 3))
    lift[:, 2] = _LIFT * np.sin(np.pi * np.arange(1, _OVER + 1) / (_OVER + 1)) ** 2
    for chosen in (slice(0, _STRAP), slice(len(x) - _STRAP, len(x))):
        lines = [over_shoulder(around, one, _NECK, _OVER + 2)[1:-1] + lift for one in x[chosen]]
        own = sewn.add(np.stack(lines, axis=1))
        sewn.cover(np.concatenate([[upper[0][chosen]], own, [upper[1][chosen]]]))
    return sewn.mesh()


def _mirrored(column: int) -> int:
    """Return the column at the other side of the plane x = 0."""
    return (_COLUMNS // 2 - 1 - column) % _COLUMNS


def _tube(around: Profile) -> Profile:
    """Return rings from the hem to the arms: close to the body down to the waist, then a cone."""
    height = np.linspace(_HEM, _TOP, _ROWS)
    width, depth, forward = (np.interp(height, around.height, sizes) for sizes in around[:3])
    closer = _SLACK * (1 - np.clip((height - 1.1) / 0.1, 0, 1))
    sizes = [width - closer, depth - closer]
    below = np.maximum(_WAIST - height, 0.0)
    at_waist = [float(np.interp(_WAIST, height, size)) for size in sizes]
    cone = [size + _FLARE * below for size in at_waist]
    width, depth = np.maximum(sizes, cone)
    return Profile(width, depth, forward, height)


def _faces_of_grid(grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return both triangles of each cell, diagonals alternating."""
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    rising = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], -2)
    falling = np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], -2)
    i, j = np.indices(a.shape)
    return np.where(((i + j) % 2 == 1)[..., None, None], falling, rising).reshape(-1, 3)
