"""S5's scene 2: a ribbon falls on two inclined planes and slides onto the floor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cloth import Cloth
from ..obstacle import Obstacle
from ..sheet import sheet
from ._scene import cloth_of, collisions, scene
from ._surfaces import Mesh, joined, rectangle

__all__ = ["planes", "ribbon", "ribbon_mesh"]

_LENGTH, _WIDTH = 20.0, 0.5  # [m]
_LOW = 3.3  # height of the lower end [m]

# Vertices along the ribbon and across.
_STRIPS, _SQUARES = (101, 41), (376, 11)

# Ends (x, z) of the planes, and their width [m]; vertices along and across.
_UPPER, _LOWER = ((-0.5, 3.1), (1.2, 2.42)), ((0.2, 0.85), (1.8, 1.6))
_PLANE_WIDTH, _PLANE_SIZE = 1.6, (60, 40)
_FLOOR, _FLOOR_WIDTH, _FLOOR_SIZE = ((-2.0, 0.0), (4.5, 0.0)), 4.0, (110, 80)


@scene(seconds=5.5, h=4e-3)
def ribbon(
    *,
    isotropic: bool = False,
    density: float = 0.25,
    young: float = 1000.0,
    bending: float = 1e-4,
    mu: float = 0.3,
    thickness: float = 3e-3,
    **options: Any,
) -> Cloth:
    """A vertical ribbon, 0.5 m × 20 m, falls on two planes and slides onto the floor (S5, scene 2).

    The planes are inclined by 22° and 25° in opposite directions. S5 gives neither the material nor
    steps, planes and mesh: those are ours, with S5's counts of vertices. Planes and floor have
    13,600; the floor ends at x = -2 and 3 m, y = ±2 m, and some of the ribbon may hang over its
    edge.

    Parameters
    ----------
    isotropic : bool, default False
        Whether the mesh has square cells, with 4,136 vertices. Otherwise it has S5's 4,141, as 101
        lines along 20 m and 41 across, whose cells are 16 times as long as wide.
    density : float, default 0.25
        Mass per area [kg/m²].
    young : float, default 1000.0
        [N/m]
    bending : float, default 1e-4
        Bridson's k [N m].
    mu : float, default 0.3
        Friction of cloth with the planes and with itself.
    thickness : float, default 3e-3
        Of the cloth in contact [m].
    **options
        Of `contactsolve.cloth.Cloth`; default ``damping=0.005``.

    Returns
    -------
    Cloth
        For 5.5 seconds in steps of 4 ms.
    """
    vertices, faces, flat = ribbon_mesh(isotropic=isotropic)
    return cloth_of(
        (vertices, faces),
        options,
        rest=flat,
        density=density,
        young=young,
        bending=bending,
        damping=5e-3,
        collisions=collisions(thickness, mu, options),
        obstacles=[Obstacle(*planes())],
    )


def ribbon_mesh(*, isotropic: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vertices, faces and the flat shape; waves of 2 mm decide where the ribbon buckles."""
    flat, faces = sheet(*(_SQUARES if isotropic else _STRIPS), (_WIDTH, _LENGTH))
    across, along = flat[:, 0] - _WIDTH / 2, flat[:, 1]
    wave = 2e-3 * np.sin(2 * np.pi * along / 0.8) * np.cos(2 * across)
    return np.stack([wave, across, _LOW + along], -1), faces, flat


def planes() -> Mesh:
    """Return two inclined planes and the floor."""
    inclined = [rectangle(_PLANE_SIZE, *ends, _PLANE_WIDTH) for ends in (_UPPER, _LOWER)]
    return joined([*inclined, rectangle(_FLOOR_SIZE, *_FLOOR, _FLOOR_WIDTH)])
