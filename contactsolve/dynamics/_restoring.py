"""Worlds from frames of recordings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sets import _of_numbers as set_of_numbers
from ._layout import Numbers, PathLike
from ._placed import PlacedShape, add_to, alike
from .material import Material
from .recording import Recording, Tables
from .shapes import Shape, shape_of

if TYPE_CHECKING:
    from .world import World

__all__ = ["restore"]


def restore(
    kind: type[World],
    file: PathLike,
    frame: int,
    forces: Callable[[World], Any] | None,
    threads: int | None,
) -> World:
    """Return the world of a frame; see `World.load`."""
    if forces is not None and not callable(forces):
        raise TypeError(f"forces is {forces!r}: a function of the world is needed")
    with Recording(file) as recording:
        number = recording._number(frame)
        numbers, state = recording._state(number)
        tables = recording._tables(number, numbers)
        options = recording._options
        with recording._reader.making(f"frame {number}"):
            world = _without_bodies(kind, options, forces, threads)
            _add_laws(world, tables, numbers)
            _add_bodies(world, tables)
            _add_shapes(world, tables, state["removed"][:, 0] != 0)
            _add_joints(world, tables)
            world._core.restore(state)
    world._look()
    world._sums = world._sums._replace(steps=world.steps, missed=numbers.missed)
    world._unchecked = None if numbers.unchecked < 0 else numbers.unchecked
    if options["forces"] and forces is None:
        warnings.warn(
            f"{file}: the recorded world had a function for its forces, which a file cannot hold: "
            "without forces= there are none",
            RuntimeWarning,
            stacklevel=3,
        )
    return world


def _without_bodies(
    kind: type[World],
    options: dict[str, Any],
    forces: Callable[[World], Any] | None,
    threads: int | None,
) -> World:
    """Return a world of the recorded options."""
    solver = list(options["solver"])
    if threads is not None:
        if int(threads) != threads or threads < 1:
            raise ValueError(f"threads is {threads!r}: an integer of at least 1 is needed")
        solver[0] = {**solver[0], "threads": int(threads)}
    world = kind.__new__(kind)
    gravity = np.array(options["gravity"], dtype=np.float64)
    allow, friction = options["allow_overlap"], options.get("friction", "disc")
    world._begin(options["own"], gravity, tuple(solver), forces, allow, friction)
    return world


def _add_laws(world: World, tables: Tables, numbers: Numbers) -> None:
    """Add materials, and the laws of pairs, in their order."""
    ends = np.cumsum(tables["laws/parameters"])
    for i, (first, second) in enumerate(tables["laws/pair"].tolist()):
        name, rows = tables["laws/set"][i].decode(), int(tables["laws/rows"][i])
        values = tables["laws/values"][ends[i] - tables["laws/parameters"][i] : ends[i]]
        restitution = tuple(tables["laws/restitution"][i].tolist())
        law = name, rows, values.copy(), *restitution
        if first < 0:
            material = Material(
                restitution=restitution, sets=set_of_numbers(name, rows, values[None]), rows=rows
            )
            world._materials[id(material)] = world._core.add_material(*law)
            world._kept.append(material)
        else:
            world._core.set_pair(first, second, *law)
        world._laws.append(((first, second), law))
    if numbers.default >= 0:
        world._default = world._kept[numbers.default]


def _add_bodies(world: World, tables: Tables) -> None:
    """Add all bodies, whose places are part of the state."""
    count = len(tables["bodies/mass"])
    if not count:
        return
    world._core.add_bodies(
        tables["bodies/mass"],
        tables["bodies/inertia"],
        np.zeros((count, world.dimension)),
        None,
        None,
        tables["bodies/driven"] != 0,
    )


def _add_shapes(world: World, tables: Tables, removed: np.ndarray) -> None:
    """Add shapes with the numbers that they had.

    Shapes that touch nothing, and those of removed bodies, only have numbers in the C library.
    """
    shapes = _shapes(world, tables)
    bodies, material = tables["shapes/body"], tables["shapes/material"]
    position, orientation = tables["shapes/position"], tables["shapes/orientation"]
    absent = material < 0
    if len(removed):
        absent |= (bodies >= 0) & removed[bodies]
    for part in alike(shapes, absent):
        if absent[part.start]:
            world._core.skip_shapes(part.stop - part.start)
            continue
        places = position[part], orientation[part]
        add_to(world._core, shapes[part], bodies[part], *places, material[part])
    made_of = [None if number < 0 else world._kept[number] for number in material.tolist()]
    world._shapes = list(map(PlacedShape, shapes, bodies.tolist(), position, orientation, made_of))


def _add_joints(world: World, tables: Tables) -> None:
    """Add all joints; which of them were removed is part of the state."""
    for i, kind in enumerate(tables["joints/kind"].tolist()):
        given = (tables[f"joints/{name}"][i : i + 1] for name in ("body", "numbers", "flags"))
        world.joints._take(kind.decode(), *given)


def _shapes(world: World, tables: Tables) -> list[Shape]:
    """Return all shapes; those of the same numbers are one object."""
    known: dict[Any, Shape] = {}
    shapes, begin = [], 0
    for i, kind in enumerate(tables["shapes/kind"].tolist()):
        count, points = tables["shapes/size"][i].tolist()
        numbers = tuple(tables["shapes/numbers"][i, :count].tolist())
        vertices = tables["shapes/points"][begin : begin + points].copy() if points else None
        begin += points
        key = kind, numbers, None if vertices is None else vertices.tobytes()
        if key not in known:
            known[key] = shape_of(kind.decode(), world.dimension, numbers, vertices)
        shapes.append(known[key])
    return shapes
