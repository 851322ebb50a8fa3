"""What a run records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from ..problem import Problem
    from .world import World

__all__ = ["Record", "padded"]


class Record(Mapping[str, np.ndarray]):
    """Rows of a run: ``record["time"]`` is a column, ``(rows, ...)``.

    Attributes
    ----------
    names : tuple of str
        What can be recorded: ``"time"`` [s], ``"contacts"`` (their number), ``"iterations"``,
        ``"pivots"`` (0 of methods that make none), ``"converged"``, ``"natural_map"`` [N s],
        ``"seconds"`` (of the step), ``"kinetic"`` and ``"potential"`` energy [J], ``"momentum"``,
        ``"penetration"`` (the deepest) [m], ``"positions"``, ``"orientations"`` and
        ``"velocities"`` of all bodies: NaN in rows from before a body was added.
    problems : list of Problem
        The contact problems that were kept.
    """

    _REPORTED = ("time", "contacts", "iterations", "pivots", "converged", "natural_map", "seconds")
    _READ: ClassVar[dict[str, Callable[[World], Any]]] = {
        "kinetic": lambda world: world.energy()[0],
        "potential": lambda world: world.energy()[1],
        "momentum": lambda world: world.momentum()[0],
        "penetration": lambda world: max(0.0, -world.contacts.gaps.min(initial=0.0)),
        "positions": lambda world: world.positions.copy(),
        "orientations": lambda world: world.orientations.copy(),
        "velocities": lambda world: world.velocities.copy(),
    }
    names = (*_REPORTED, *_READ)
    # Those with a row for each body.
    of_bodies = ("positions", "orientations", "velocities")

    def __init__(self, chosen: tuple[str, ...]) -> None:
        for name in chosen:
            if name not in self.names:
                raise ValueError(f"record: {name!r} is unknown: {', '.join(self.names)}")
        self._chosen = tuple(dict.fromkeys(chosen))
        self._rows: list[tuple[int, dict[str, Any]]] = []  # with the steps of the world
        self._columns: dict[str, np.ndarray] = {}
        self.problems: list[Problem] = []

    def note(self, world: World) -> dict[str, Any]:
        """Add a row of the world as it is, and return it."""
        report = world.info
        report["converged"] = report["status"] == "converged"
        row = {
            name: report[name] if name in self._REPORTED else self._READ[name](world)
            for name in self._chosen
        }
        self._columns = {}
        self._rows.append((world.steps, row))  # Ctrl-C comes before or after
        return row

    def has(self, step: int) -> bool:
        """Whether the last row is that of a step."""
        return bool(self._rows) and self._rows[-1][0] == step

    @property
    def last(self) -> dict[str, Any]:
        """The last row."""
        return self._rows[-1][1]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._chosen:
            raise KeyError(f"no column {name!r}; recorded: {', '.join(self)}")
        if name not in self._columns:
            values = [row[name] for _, row in self._rows]
            self._columns[name] = padded(values) if name in self.of_bodies else np.array(values)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._chosen)

    def __len__(self) -> int:
        return len(self._chosen)

    def __repr__(self) -> str:
        return f"Record({len(self._rows)} rows: {', '.join(self)})"


def padded(rows: list[np.ndarray]) -> np.ndarray:
    """Return arrays of bodies as one; NaN for bodies that an array does not have yet."""
    bodies = max((len(one) for one in rows), default=0)
    if all(len(one) == bodies for one in rows):
        return np.array(rows)
    joined = np.full((len(rows), bodies, *rows[0].shape[1:]), np.nan)
    for place, one in zip(joined, rows, strict=True):
        place[: len(one)] = one
    return joined
