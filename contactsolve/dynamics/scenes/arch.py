"""A semicircular arch of voussoirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, plane_world, scene
from contactsolve.dynamics.shapes import Polygon
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import integer, require_count, require_positive


@scene
def arch(
    voussoirs: int = 16,
    *,
    thickness: float = 0.112,
    radius: float = 1.0,
    density: float = 1000.0,
    mu: float = 0.8,
    **options: Any,
) -> World:
    """A semicircular arch of equal voussoirs under its own weight, which stands if it is thick.

    A plane world; voussoirs are numbered from the right end to the left one.

    Parameters
    ----------
    voussoirs : int, default 16
        Number of voussoirs.
    thickness : float, default 0.112
        t/R: of the ring, in mean radii.
    radius : float, default 1.0
        R: mean radius of the ring [m].
    density : float, default 1000.0
        [kg/m^2]
    mu : float, default 0.8
        Friction coefficient of all contacts.
    **options
        Of `contactsolve.dynamics.World`; defaults ``rtol=1e-8`` and ``max_iterations=2000``.

    Returns
    -------
    World

    Notes
    -----
    Without sliding, the thinnest arch that stands has t/R = 0.1075 (Milankovitch 1907) as a ring
    that can open anywhere, and 0.1072 with the joints of 16 voussoirs. A thinner one falls by four
    hinges.
    """
    require_count(voussoirs=voussoirs)
    require_positive(thickness=thickness, radius=radius)
    if thickness >= 2.0:
        raise ValueError(f"thickness is {thickness}: expected a number below 2")
    world = plane_world(options, rtol=1e-8, max_iterations=2000)
    material = Material(mu)
    add_ground(world, material)
    joints = np.linspace(0.0, np.pi, integer("voussoirs", voussoirs) + 1)
    ends = np.column_stack([np.cos(joints), np.sin(joints)])
    ends[[0, -1], 1] = 0.0  # exactly on the ground
    inner, outer = (radius * (1.0 + side * thickness / 2) * ends for side in (-1.0, 1.0))
    for corners in zip(inner, outer, outer[1:], inner[1:], strict=False):
        stone = Polygon(corners)
        center = stone.mass_properties(1.0).center
        world.add_body(Polygon(corners - center), center, density=density, material=material)
    return world
