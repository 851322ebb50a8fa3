"""Cloths from frames of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._recorded_contacts import restore as restore_contacts
from .recording import Recording

if TYPE_CHECKING:
    from ._layout import PathLike
    from .cloth import Cloth

__all__ = ["restore"]

_WHAT = {
    "attach": "the motion of its attached vertices",
    "forces": "its forces",
    "obstacles": "the motion of its obstacles",
}
_COLLISIONS = ("collisions", "self_collisions", "obstacles", "obstacle_vertices", "obstacle_faces")


def restore(
    kind: type[Cloth], path: PathLike, frame: int, threads: int | None, **given: Any
) -> Cloth:
    """Return the cloth of a frame; see `Cloth.load`. `given`: attach, forces and obstacles."""
    with Recording(path) as recording:
        # The state, and what the cloth was made of.
        number = recording._number(frame)
        state, numbers = recording._frame(number), recording._numbers_of(number)
        solver = recording._solver(number)
        made, reader = recording._made, recording._reader
        for name in made["functions"]:
            if given[name] is None:
                raise reader.error(
                    f"the recorded cloth had a function for {_WHAT[name]}, which a file cannot "
                    f"hold: pass it again, as {name}="
                )

        # The cloth; its solver is what the recorded one kept from the step that made it.
        obstacles = given.pop("obstacles")
        options = {**made["options"], **made["arrays"], "newton": numbers.newton}
        options |= {name: value for name, value in given.items() if value is not None}
        options = {name: value for name, value in options.items() if name not in _COLLISIONS}
        if threads is not None:
            options["threads"] = threads
        with reader.making(f"the cloth of frame {number}"):
            cloth = kind(faces=recording.faces, **options)
            cloth._core.set_state(state.positions, state.velocities, state.time)
            if solver is not None:
                cloth._core.remake_solver(*solver, cloth._threads)
            if "collisions" in made["options"]:
                restore_contacts(cloth, recording, number, obstacles)
    cloth._core.set_counts(numbers.step, numbers.missed)
    cloth._warned = numbers.missed > 0
    return cloth
