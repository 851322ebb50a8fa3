"""Collisions in recordings: what a file holds of them, and a frame.

A frame has the places of all obstacles that move, and the forces of contacts in the last step,
from which the next step begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io._growing import Table
from ._layout import CONTACTS, DIGEST, contacts_digest
from .collisions import Collisions
from .obstacle import Obstacle, obstacles_of

if TYPE_CHECKING:
    from .cloth import Cloth
    from .recording import Recording

__all__ = ["arrays_of", "options_of", "restore", "rows_of", "tables_of"]

OBSTACLES, KEYS = f"{CONTACTS}/obstacles", f"{CONTACTS}/keys"
FORCES, COUNTS, HASH = f"{CONTACTS}/forces", f"{CONTACTS}/counts", f"{CONTACTS}/hash"


# ---- writing -------------------------------------------------------------------------------------


def options_of(cloth: Cloth) -> dict[str, Any]:
    """Return the arguments about collisions that are numbers and texts."""
    colliding = cloth._colliding
    if colliding is None:
        return {}
    obstacles = colliding.obstacles
    return {
        "collisions": colliding.collisions._arguments(),
        "self_collisions": colliding.has_self,
        "obstacles": [[len(o.vertices), len(o.faces), o.motion is not None] for o in obstacles],
    }


def arrays_of(cloth: Cloth) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the meshes of all obstacles, one after another."""
    if cloth._colliding is not None and cloth._colliding.obstacles:
        obstacles = cloth._colliding.obstacles
        yield "obstacle_vertices", np.concatenate([o.vertices for o in obstacles])
        yield "obstacle_faces", np.concatenate([o.faces for o in obstacles])


def tables_of(cloth: Cloth) -> list[Table]:
    """Return the tables of frames."""
    if cloth._colliding is None:
        return []
    return [
        Table(OBSTACLES, np.empty((0, 3)), max(1, len(_places(cloth)))),
        Table(KEYS, np.empty(0, np.uint64), len(cloth.masses)),
        Table(FORCES, np.empty((0, 3)), len(cloth.masses)),
        Table(COUNTS, np.empty((0, 2), np.int64)),
        Table(HASH, np.empty((0, DIGEST), np.uint8)),
    ]


def rows_of(cloth: Cloth) -> list[tuple[str, np.ndarray]]:
    """Return the rows of a frame."""
    if cloth._colliding is None:
        return []
    places, (keys, forces, counts) = _places(cloth), cloth._core.former_contacts()
    digest = contacts_digest(places, keys, forces, counts)
    return [
        (OBSTACLES, places),
        (KEYS, keys),
        (FORCES, forces),
        (COUNTS, counts[None]),
        (HASH, np.frombuffer(digest, np.uint8)[None]),
    ]


def _places(cloth: Cloth) -> np.ndarray:
    """Return the positions of all obstacles that move."""
    colliding = cloth._colliding
    assert colliding is not None
    moving = [n for n, o in enumerate(colliding.obstacles) if o.motion is not None]
    return np.concatenate([np.empty((0, 3)), *(cloth._core.obstacle(n) for n in moving)])


# ---- reading -------------------------------------------------------------------------------------


def _meshes(recording: Recording, made: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the meshes of the recorded obstacles."""
    arrays, meshes, v, f = made["arrays"], [], 0, 0
    for vertices, faces, _ in made["options"]["obstacles"]:
        x = arrays["obstacle_vertices"][v : v + vertices]
        meshes.append((x, arrays["obstacle_faces"][f : f + faces]))
        v, f = v + vertices, f + faces
    if v != len(arrays.get("obstacle_vertices", ())):
        raise recording._reader.error("the vertices of obstacles are not as many as their options")
    return meshes


def _obstacles(recording: Recording, made: dict[str, Any], given: Any) -> list[Obstacle]:
    """Return the obstacles: those that are given have the recorded meshes, and move if they did."""
    meshes = _meshes(recording, made)
    if given is None:
        return [Obstacle(x, faces) for x, faces in meshes]
    given = list(obstacles_of(given))
    if len(given) != len(meshes):
        raise ValueError(f"obstacles has {len(given)}: the recorded cloth had {len(meshes)}")
    for n, (one, (x, faces)) in enumerate(zip(given, meshes, strict=True)):
        if one.vertices.shape != x.shape or not np.array_equal(one.faces, faces):
            raise ValueError(f"obstacles[{n}] has another mesh than the recorded one")
        if not made["options"]["obstacles"][n][2]:
            _check_place(n, one.vertices, x)
        elif one.motion is None:
            raise ValueError(
                f"obstacles[{n}] has no motion: the recorded one moved, and was elsewhere than its "
                "vertices"
            )
    return given


def _check_place(n: int, given: np.ndarray, recorded: np.ndarray) -> None:
    """Refuse vertices elsewhere than those of a recorded obstacle that did not move."""
    wrong = np.argwhere(given != recorded)
    if len(wrong):
        i, k = wrong[0]
        raise ValueError(
            f"obstacles[{n}].vertices[{i}, {k}] is {given[i, k]}: the recorded obstacle, which did "
            f"not move, has {recorded[i, k]}"
        )


def restore(cloth: Cloth, recording: Recording, number: int, given: Any) -> None:
    """Give a cloth that was made without collisions those of a frame."""
    made = recording._made
    options = made["options"]
    obstacles = _obstacles(recording, made, given)
    collisions = Collisions(**options["collisions"])
    cloth._begin_collisions(collisions, obstacles, options["self_collisions"])

    # Where the obstacles are, and the forces of contacts.
    moves = [moving for _, _, moving in options["obstacles"]]
    count = sum(len(obstacles[n].vertices) for n in np.flatnonzero(moves))
    places, keys, forces, counts = _frame(recording, number, count)
    colliding = cloth._colliding
    assert colliding is not None
    colliding.place(list(_placed(_meshes(recording, made), moves, places)))
    # Older files have a fourth column: the normal part of the step before.
    cloth._core.set_former_contacts(keys, forces[:, :3], counts)


def _placed(
    meshes: list[tuple[np.ndarray, np.ndarray]], moves: list[bool], places: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield where each obstacle was: its vertices, or if it moved, the next of the places."""
    for (x, _), moving in zip(meshes, moves, strict=True):
        yield places[: len(x)] if moving else x
        places = places[len(x) if moving else 0 :]


def _frame(recording: Recording, number: int, vertices: int) -> tuple[np.ndarray, ...]:
    """Return the rows of a frame, whose hash is right."""
    reader = recording._reader
    counts = reader.part_of(COUNTS, "i", 0, number + 1)
    first, end = int(counts[:number].sum()), int(counts.sum())
    rows = (
        recording._rows(number, OBSTACLES, number * vertices, vertices),
        reader.part_of(KEYS, "u", first, end),
        recording._rows(number, FORCES, first, end - first),
        counts[number],
    )
    wanted = reader.part_of(HASH, "u", number, number + 1).tobytes()
    if contacts_digest(*rows) != wanted:
        raise recording._damaged(number, "the hash of its contacts is another one")
    return rows
