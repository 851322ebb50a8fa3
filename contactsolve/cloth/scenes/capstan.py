"""A ribbon over a half-cylinder, with loads at its ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._options import count
from ..cloth import Cloth
from ..obstacle import Obstacle
from ..sheet import sheet as flat_sheet
from ._scene import cloth_of, collisions, scene
from ._surfaces import Mesh

__all__ = ["capstan"]

_RADIUS, _WIDTH, _TAIL = 0.1, 0.04, 0.06  # of the cylinder, of the ribbon; free ends [m]
_LEAST_ALONG = 17  # with fewer, chords of the ribbon go through the cylinder


@scene(seconds=0.3, h=1e-3)
def capstan(
    mu: float = 0.3,
    ratio: float = 2.0,
    *,
    load: float = 0.02,
    along: int = 81,
    density: float = 1.0,
    young: float = 1000.0,
    bending: float = 1e-6,
    thickness: float = 1e-3,
    **options: Any,
) -> Cloth:
    """A ribbon over a fixed half-cylinder with loads at its ends, which pull down on both sides.

    It slides towards the larger load if the ratio of both exceeds exp(μ π) (Euler 1769, Eytelwein
    1808): 2.57 for μ = 0.3. The ribbon itself has no weight.

    Parameters
    ----------
    mu : float, default 0.3
        Friction of the ribbon with the cylinder.
    ratio : float, default 2.0
        The load of the end at x > 0, over that of the other one.
    load : float, default 0.02
        That of the other end [N].
    along : int, default 81
        Vertices along the ribbon, at least 17; there are five across.
    density : float, default 1.0
        Mass per area [kg/m²].
    young : float, default 1000.0
        [N/m]
    bending : float, default 1e-6
        Bridson's k [N m].
    thickness : float, default 1e-3
        Of the cloth in contact [m].
    **options
        Of `contactsolve.cloth.Cloth`; defaults ``damping=0.01`` and ``gravity=(0, 0, 0)``.

    Returns
    -------
    Cloth
        For 0.3 seconds in steps of 1 ms. The first five vertices are those at the end x < 0.

    Notes
    -----
    Forces of contacts are those of the last step and what the response adds to them, which acts on
    the masses of vertices after the elasticity of the step. Larger loads that slide need shorter
    steps; so do all with ``response="problem"``, where cloth between a load F and the mass m that
    touches the cylinder is longer by about F h² / m.
    """
    for name, value in (("ratio", ratio), ("load", load)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}: a positive number is needed")
    rows, columns = count("along", along, least=_LEAST_ALONG), 5
    own = collisions(thickness, mu, options)
    bend = _RADIUS + 1.05 * own.thickness  # chords of the polygons cut off a part of the rest
    flat, faces = flat_sheet(rows, columns, (_WIDTH, np.pi * bend + 2 * _TAIL))

    # The pull of each end is shared by its vertices, half a share for those at the edges.
    share = np.array([0.5, 1.0, 1.0, 1.0, 0.5]) / 4
    pull = np.zeros_like(flat)
    pull[:columns, 2] = -load * share
    pull[-columns:, 2] = -ratio * load * share
    return cloth_of(
        (_bent(flat, bend), faces),
        options,
        rest=flat,
        density=density,
        young=young,
        bending=bending,
        damping=1e-2,
        gravity=(0.0, 0.0, 0.0),
        forces=pull,
        collisions=own,
        obstacles=[Obstacle(*_half_cylinder())],
    )


def _bent(flat: np.ndarray, bend: float) -> np.ndarray:
    """Return a flat ribbon laid over the cylinder, a little farther out by what chords cut off."""
    turned = np.clip((flat[:, 1] - _TAIL) / bend, 0, np.pi)
    tail = flat[:, 1] - _TAIL - bend * turned
    x, z = -bend * np.cos(turned), bend * np.sin(turned)
    return np.stack([x, flat[:, 0] - _WIDTH / 2, z - np.abs(tail)], -1)


def _half_cylinder() -> Mesh:
    """Return the upper half of a cylinder, about the y axis."""
    flat, faces = flat_sheet(181, 9, (2 * _WIDTH, np.pi))
    x, z = -_RADIUS * np.cos(flat[:, 1]), _RADIUS * np.sin(flat[:, 1])
    return np.stack([x, flat[:, 0] - _WIDTH, z], -1), faces[:, ::-1].copy()
