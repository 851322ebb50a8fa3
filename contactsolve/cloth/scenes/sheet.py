"""A sheet falls on a sphere, or hangs over one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._options import count
from ..cloth import Cloth
from ..obstacle import Obstacle
from ..sheet import sheet as flat_sheet
from ._scene import cloth_of, collisions, scene
from ._surfaces import moved, sphere

__all__ = ["sheet"]

_HEIGHT, _RADIUS = 0.6, 0.2  # of the sphere's centre; of the sphere [m]
_GAP = 0.02  # between sheet and sphere [m]


@scene(seconds=1.0, h=5e-3)
def sheet(
    across: int = 31,
    *,
    hung: bool = False,
    density: float = 0.2,
    young: float = 200.0,
    bending: float = 2e-5,
    mu: float = 0.3,
    thickness: float = 4e-3,
    **options: Any,
) -> Cloth:
    """A square sheet of one metre falls on a sphere of 20 cm radius.

    Parameters
    ----------
    across : int, default 31
        Vertices along a side.
    hung : bool, default False
        Whether two corners are attached: the sheet swings down and leans on the sphere.
    density : float, default 0.2
        Mass per area [kg/m²].
    young : float, default 200.0
        [N/m]
    bending : float, default 2e-5
        Bridson's k [N m].
    mu : float, default 0.3
        Friction of cloth with the sphere and with itself.
    thickness : float, default 4e-3
        Of the cloth in contact [m].
    **options
        Of `contactsolve.cloth.Cloth`; default ``damping=0.01``.

    Returns
    -------
    Cloth
        For one second in steps of 5 ms.
    """
    n = count("across", across, least=2)
    vertices, faces = flat_sheet(n, n, 1.0)
    away = 0.35 if hung else 0.0
    vertices = vertices - [0.5, 0.5 + away, 0.0] + [0.0, 0.0, _HEIGHT + _RADIUS + _GAP]
    ball = moved(sphere(_RADIUS, 23, 48), (0.0, 0.0, _HEIGHT))
    if hung:
        options = {"attach": np.array([n * n - n, n * n - 1]), **options}
    return cloth_of(
        (vertices, faces),
        options,
        density=density,
        young=young,
        bending=bending,
        damping=1e-2,
        collisions=collisions(thickness, mu, options),
        obstacles=[Obstacle(*ball)],
    )
