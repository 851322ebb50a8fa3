"""Shared code of the scenes: their list, their worlds, places of bodies that do not touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.shapes import HalfSpace, Shape
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_choice, require_not_negative, require_positive

Scene = TypeVar("Scene", bound=Callable[..., World])

REGISTRY: dict[str, Callable[..., World]] = {}


def scene(function: Scene) -> Scene:
    """Add a scene to the list, under its own name."""
    REGISTRY[function.__name__] = function
    return function


def world_of(dimension: int, options: dict[str, Any], **defaults: Any) -> World:
    """Return an empty world with a scene's defaults, in whose place given options take effect."""
    require_choice("dimension", dimension, (2, 3))
    return World(dimension, **{**defaults, **options})


def plane_world(options: dict[str, Any], **defaults: Any) -> World:
    """Return an empty world in the plane."""
    if options.get("dimension", 2) != 2:
        raise ValueError(f"dimension is {options['dimension']!r}: this scene is one of the plane")
    return world_of(2, {k: v for k, v in options.items() if k != "dimension"}, **defaults)


def space_world(options: dict[str, Any], **defaults: Any) -> World:
    """Return an empty world in space."""
    if options.get("dimension", 3) != 3:
        raise ValueError(f"dimension is {options['dimension']!r}: this scene is one of space")
    return world_of(3, {k: v for k, v in options.items() if k != "dimension"}, **defaults)


def with_sweeps(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a world of grains: a fixed number of sweeps, unless a method is given.

    The motion of many grains is chaotic, and its means do not depend on how exactly a step is
    solved, as long as impulses reach across the contacts.
    """
    sweeps = {"method": "gauss_seidel", "max_iterations": 50, "rtol": None, "atol": None}
    return options if "method" in options else {**sweeps, **options}


def up(dimension: int) -> NDArray[np.float64]:
    """Return the unit vector of the last axis."""
    return np.eye(dimension)[-1]


def add_ground(world: World, material: Material) -> None:
    """Add the half-space below height 0."""
    world.add_fixed(HalfSpace(up(world.dimension)), material=material)


def add_walls(world: World, width: float, material: Material) -> None:
    """Add walls without an upper end at both sides of a square of that width about the origin."""
    for axis in range(world.dimension - 1):
        for side in (-1.0, 1.0):
            normal = -side * np.eye(world.dimension)[axis]
            world.add_fixed(HalfSpace(normal, -width / 2), material=material)


def random_radii(
    count: int, radius: float, spread: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return radii that are uniform in radius (1 ± spread)."""
    require_positive(radius=radius)
    require_not_negative(spread=spread)
    if spread >= 1.0:
        raise ValueError(f"spread is {spread}: expected a number below 1")
    return radius * rng.uniform(1.0 - spread, 1.0 + spread, count)


def scattered(
    count: int,
    radius: float,
    width: float,
    dimension: int,
    rng: np.random.Generator,
    spacing: float = 0.2,
) -> NDArray[np.float64]:
    """Return random places of balls that do not overlap, above a square of that width.

    Each ball has a cell of its own, in layers from the ground up, and is anywhere in it.

    Parameters
    ----------
    radius
        Of the largest ball [m].
    spacing
        Height of a layer above the diameter, in diameters.

    Returns
    -------
    ndarray, shape (count, dimension)
    """
    if 2 * radius > width:
        raise ValueError(f"width is {width}: the largest body needs {2 * radius:g}")
    across = int(width / (2 * radius))
    cell = np.full(dimension, width / across)
    cell[-1] = 2 * radius * (1 + spacing)

    # The cells of the last layer are chosen by chance.
    in_layer = across ** (dimension - 1)
    layer, place = np.divmod(np.arange(count), in_layer)
    rest = count % in_layer
    if rest:
        place[-rest:] = rng.permutation(in_layer)[:rest]
    index = np.column_stack([*np.unravel_index(place, (across,) * (dimension - 1)), layer])
    slack = (cell - 2 * radius) * rng.random((count, dimension))
    corner = index * cell
    corner[:, :-1] -= width / 2
    return corner + radius + slack


# ---- grains that are poured ----------------------------------------------------------------------

# Grains are at rest if they have less kinetic energy than after a fall by this many radii.
_REST = 1e-3


def settle(world: World, radius: float) -> None:
    """Run a world until its grains are at rest, for at most 20,000 steps."""
    pull = float(np.linalg.norm(world.gravity))
    rest = _REST * radius * pull * float(world.masses.sum())
    for _ in range(200):
        world.run(100)
        if world.energy()[0] <= rest:
            return


def add_settled(
    world: World, deposit: World, shapes: list[Shape], density: float, material: Material
) -> None:
    """Add the grains of another world, where they are, at rest.

    They may be in each other by what a step moved them: the world has to allow overlap.
    """
    world.add_bodies(
        shapes,
        deposit.positions,
        orientations=deposit.orientations,
        density=density,
        material=material,
    )
