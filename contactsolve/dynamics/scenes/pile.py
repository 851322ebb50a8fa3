"""A pile of mixed shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import (
    add_ground,
    random_radii,
    scattered,
    scene,
    world_of,
)
from contactsolve.dynamics.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Hull,
    Polygon,
    Segment,
    Shape,
    Sphere,
)
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    Seed,
    integer,
    require_choice,
    require_count,
    require_not_negative,
    require_positive,
)

# A shape of about a given bounding radius, by a generator of random numbers.
_Maker = Callable[[float, "np.random.Generator"], Shape]


def _round(kind: Callable[[float], Shape]) -> _Maker:
    return lambda size, _: kind(0.8 * size)


def _box(size: float, rng: np.random.Generator) -> Shape:
    sides = rng.uniform(0.4, 1.0, 3)
    return Box(size * sides / np.linalg.norm(sides))


def _rod(kind: Callable[[float, float], Shape], bound: Callable[[float, float], float]) -> _Maker:
    def make(size: float, rng: np.random.Generator) -> Shape:
        radius, half = rng.uniform(0.3, 0.6), rng.uniform(0.4, 1.0)
        scale = size / bound(radius, half)
        return kind(scale * radius, scale * half)

    return make


def _on_sphere(dimension: int, corners: int, kind: Callable[[Any], Shape]) -> _Maker:
    def make(size: float, rng: np.random.Generator) -> Shape:
        points = rng.normal(size=(corners, dimension))
        points *= size / np.linalg.norm(points, axis=1, keepdims=True)
        return kind(points)

    return make


_SHAPES: dict[int, dict[str, _Maker]] = {
    3: {
        "sphere": _round(Sphere),
        "box": _box,
        "capsule": _rod(Capsule, lambda radius, half: radius + half),
        "cylinder": _rod(Cylinder, math.hypot),
        "hull": _on_sphere(3, 12, Hull),
    },
    2: {
        "disc": _round(Disc),
        "polygon": _on_sphere(2, 7, Polygon),
        "segment": _rod(
            lambda radius, half: Segment(half, radius), lambda radius, half: radius + half
        ),
    },
}


@scene
def pile(
    count: int = 100,
    *,
    dimension: int = 3,
    shapes: str | Sequence[str] | None = None,
    size: float = 0.1,
    spread: float = 0.3,
    width: float | None = None,
    spacing: float = 0.1,
    density: float = 1000.0,
    mu: float = 0.5,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """Bodies of mixed shapes that drop on the ground and make a pile.

    Parameters
    ----------
    count : int, default 100
        Number of bodies.
    dimension : {3, 2}
        2: a pile in the plane.
    shapes : str, sequence of str or None, default None
        Names, joined by commas if in one text, of "sphere", "box", "capsule", "cylinder" and
        "hull", in the plane "disc", "polygon" and "segment"; they take turns. None: all.
    size : float, default 0.1
        Mean radius of a ball that holds a body [m].
    spread : float, default 0.3
        Sizes are uniform in size (1 - spread) to size (1 + spread).
    width : float or None, default None
        Of the square from above which they drop [m]. None: about half of the drop's height.
    spacing : float, default 0.1
        Height between layers at the beginning, in diameters.
    density : float, default 1000.0
        [kg/m^3], in the plane [kg/m^2]
    mu, restitution : float, default 0.5 and 0.0
        Friction coefficient and restitution of all contacts.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of places, sizes and orientations.
    **options
        Of `contactsolve.dynamics.World`; default ``max_iterations=1000``.

    Returns
    -------
    World
    """
    require_count(count=count)
    require_not_negative(spacing=spacing)
    world = world_of(dimension, options, max_iterations=1000)
    generator = np.random.default_rng(rng)
    makers = _makers(shapes, dimension)
    sizes = random_radii(integer("count", count), size, spread, generator)
    if width is None:
        width = 2 * (1 + spread) * size * max(1, round((count / 2) ** (1 / dimension)))
    require_positive(width=width)

    material = Material(mu, restitution)
    add_ground(world, material)
    world.add_bodies(
        [makers[k % len(makers)](one, generator) for k, one in enumerate(sizes)],
        scattered(count, float(sizes.max()), width, dimension, generator, spacing),
        orientations=(
            generator.uniform(-np.pi, np.pi, count)
            if dimension == 2
            else generator.normal(size=(count, 4))
        ),
        density=density,
        material=material,
    )
    return world


def _makers(shapes: str | Sequence[str] | None, dimension: int) -> list[_Maker]:
    known = _SHAPES[dimension]
    if shapes is None:
        return list(known.values())
    names = shapes.split(",") if isinstance(shapes, str) else list(shapes)
    if not names:
        raise ValueError("shapes is empty: at least one name is needed")
    for i, name in enumerate(names):
        require_choice(f"shapes[{i}]", name, tuple(known))
    return [known[name] for name in names]
