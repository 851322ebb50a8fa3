"""Sheets that lie on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._options import count
from ..cloth import Cloth
from ..obstacle import Obstacle
from ..sheet import sheet as flat_sheet
from ._scene import cloth_of, collisions, scene
from ._surfaces import joined, moved, rectangle

__all__ = ["stack"]

_SIDE = 0.3  # of a sheet [m]


@scene(seconds=1.0, h=5e-3)
def stack(
    n: int = 20,
    *,
    across: int = 11,
    gap: float = 1e-3,
    density: float = 0.3,
    young: float = 200.0,
    bending: float = 2e-5,
    mu: float = 0.3,
    thickness: float = 2e-3,
    **options: Any,
) -> Cloth:
    """Square sheets of 30 cm fall on each other and on a floor: one mesh of parts that are apart.

    Each is turned a little against the one below, so that edges do not lie on edges.

    Parameters
    ----------
    n : int, default 20
        Number of sheets.
    across : int, default 11
        Vertices along a side.
    gap : float, default 1e-3
        Between the surfaces of neighbours at first [m], more than −`thickness`.
    density : float, default 0.3
        Mass per area [kg/m²].
    young : float, default 200.0
        [N/m]
    bending : float, default 2e-5
        Bridson's k [N m].
    mu : float, default 0.3
        Friction of sheets with each other and with the floor.
    thickness : float, default 2e-3
        Of the cloth in contact [m].
    **options
        Of `contactsolve.cloth.Cloth`; default ``damping=0.01``.

    Returns
    -------
    Cloth
        For one second in steps of 5 ms. Vertices of a sheet are in turn, the lowest sheet first.
    """
    sheets, side = count("n", n, least=1), count("across", across, least=2)
    flat, faces = flat_sheet(side, side, _SIDE)
    flat = flat - [_SIDE / 2, _SIDE / 2, 0.0]
    own = collisions(thickness, mu, options)
    rise = own.thickness + gap
    if not 0 < rise < np.inf:
        raise ValueError(
            f"gap is {gap}: with the thickness {own.thickness:g} m it must be a positive distance"
        )
    layers = [
        moved((_turned(flat, 0.1 * k), faces), (0.0, 0.0, (k + 1) * rise)) for k in range(sheets)
    ]
    floor = rectangle((16, 16), (-0.4, 0.0), (0.4, 0.0), 0.8)
    return cloth_of(
        joined(layers),
        options,
        density=density,
        young=young,
        bending=bending,
        damping=1e-2,
        collisions=own,
        obstacles=[Obstacle(*floor)],
    )


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Return points turned about the z axis."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
