"""S1's cannonball grid in motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import scene
from contactsolve.dynamics.scenes.ball_grid import lattice
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import Seed


@scene
def cannonballs(
    shape: int | Sequence[int] = 8,
    *,
    spacing: float | Sequence[float] = 0.0,
    velocity: float = 0.5,
    mass: float = 20.0,
    radius: float = 1.0,
    mu: float = 0.5,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """Spheres in the hollows of the layers below, with random velocities (S1 section 3.8.1).

    The face-centred cubic packing of `contactsolve.scenarios.ball_grid`, layout "cannonball".

    Parameters
    ----------
    shape : int or three ints, default 8
        Numbers of spheres along x, y and z; one number n stands for n^3.
    spacing : float or three floats, default 0.0
        Gaps between neighbours along x, y and between layers [m].
    velocity : float, default 0.5
        Each linear component of each velocity is uniform in [-velocity, velocity] [m/s].
    mass, radius : float, default 20.0 and 1.0
        Of one sphere [kg, m].
    mu, restitution : float, default 0.5 and 0.0
        Friction coefficient and restitution of all contacts.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of the velocities.
    **options
        Of `contactsolve.dynamics.World`; default ``time_step=0.01``, as in S1, and 50
        sweeps of Gauss-Seidel in each step unless a method is given.

    Returns
    -------
    World
    """
    material = Material(mu, restitution)
    return lattice("cannonball", shape, spacing, velocity, mass, radius, material, rng, options)
