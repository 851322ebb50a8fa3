"""A tower of bricks that leans over the edge of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import plane_world, scene
from contactsolve.dynamics.shapes import Polygon
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import integer, require_count, require_positive


@scene
def overhanging_tower(
    bricks: int = 8,
    *,
    factor: float = 0.99,
    length: float = 1.0,
    height: float = 0.25,
    density: float = 1000.0,
    mu: float = 0.5,
    **options: Any,
) -> World:
    """Bricks that overhang each other as far as they can: the harmonic series.

    A plane world; bricks are numbered from the top. The k-th one overhangs what is below it, the
    last one a table, by factor · length / (2 k).

    Parameters
    ----------
    bricks : int, default 8
        Number of bricks.
    factor : float, default 0.99
        The tower stands below 1, and falls above.
    length, height : float, default 1.0 and 0.25
        Of a brick [m].
    density : float, default 1000.0
        [kg/m^2]
    mu : float, default 0.5
        Friction coefficient of all contacts.
    **options
        Of `contactsolve.dynamics.World`; defaults ``rtol=1e-8`` and ``max_iterations=2000``.

    Returns
    -------
    World
    """
    require_count(bricks=bricks)
    require_positive(factor=factor, length=length, height=height)
    if factor >= 2.0:
        raise ValueError(f"factor is {factor}: expected a number below 2")
    world = plane_world(options, rtol=1e-8, max_iterations=2000)
    material = Material(mu)
    ends = factor * length / 2 * np.cumsum(1.0 / np.arange(integer("bricks", bricks), 0, -1))

    # The table ends at the origin; it is as long as the tower and its pieces may fall.
    table = 4.0 * (length + ends[-1])
    world.add_fixed(_block(table, height), [-table / 2, -height / 2], material=material)
    centres = np.column_stack([ends[::-1] - length / 2, height * (np.arange(bricks, 0, -1) - 0.5)])
    world.add_bodies(_block(length, height), centres, density=density, material=material)
    return world


def _block(length: float, height: float) -> Polygon:
    x, y = length / 2, height / 2
    return Polygon([[-x, -y], [x, -y], [x, y], [-x, y]])
