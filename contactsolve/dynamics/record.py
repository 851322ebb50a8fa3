"""What a run records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._report import step_bar

if TYPE_CHECKING:
    from ..problem import Problem
    from .world import World

__all__ = ["Record"]


class Record(Mapping[str, np.ndarray]):
    """Rows of a run: ``record["time"]`` is a column, ``(rows, ...)``.

    Attributes
    ----------
    names : tuple of str
        What can be recorded: ``"time"`` [s], ``"contacts"`` (their number), ``"iterations"``,
        ``"converged"``, ``"natural_map"`` [N s], ``"seconds"`` (of the step), ``"kinetic"`` and
        ``"potential"`` energy [J], ``"momentum"``, ``"penetration"`` (the deepest) [m],
        ``"positions"``, ``"orientations"`` and ``"velocities"`` of all bodies, which must not be
        added meanwhile.
    problems : list of Problem
        The contact problems that were kept.
    """

    _TOLD = ("time", "contacts", "iterations", "converged", "natural_map", "seconds")
    _READ: ClassVar[dict[str, Callable[[World], Any]]] = {
        "kinetic": lambda world: world.energy()[0],
        "potential": lambda world: world.energy()[1],
        "momentum": lambda world: world.momentum()[0],
        "penetration": lambda world: max(0.0, -world.contacts.gaps.min(initial=0.0)),
        "positions": lambda world: world.positions.copy(),
        "orientations": lambda world: world.orientations.copy(),
        "velocities": lambda world: world.velocities.copy(),
    }
    names = (*_TOLD, *_READ)

    def __init__(self, columns: dict[str, np.ndarray], problems: list[Problem]) -> None:
        self._columns, self.problems = columns, problems

    @classmethod
    def of_run(
        cls,
        world: World,
        steps: int,
        record: Iterable[str] | None,
        every: int,
        problems: int | None,
        progress: bool,
        callback: Callable[[World], object] | None,
    ) -> Record:
        """Run a world, and record it."""
        chosen = ("time", "contacts", "iterations") if record is None else tuple(record)
        for name in chosen:
            if name not in cls.names:
                raise ValueError(f"record: {name!r} is unknown: {', '.join(cls.names)}")
        for name, value in (("steps", steps), ("every", every), ("problems", problems)):
            least = 0 if name == "steps" else 1
            if value is not None and (int(value) != value or value < least):
                raise ValueError(f"{name} is {value!r}: an integer of at least {least} is needed")
        rows: dict[str, list[Any]] = {name: [] for name in chosen}
        kept: list[Problem] = []

        def note() -> None:
            told = world.info
            told["converged"] = told["status"] == "converged"
            for name in chosen:
                rows[name].append(told[name] if name in cls._TOLD else cls._READ[name](world))

        note()
        with step_bar(int(steps), progress) as advance:
            for number in range(1, int(steps) + 1):
                world.step()
                if number % every == 0:
                    note()
                if problems is not None and number % problems == 0:
                    problem = world.problem()
                    if problem is not None:
                        kept.append(problem)
                advance()
                if callback is not None:
                    try:
                        callback(world)
                    except StopIteration:
                        break
        return cls({name: np.array(values) for name, values in rows.items()}, kept)

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}; recorded: {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()))) if self._columns else 0
        return f"Record({rows} rows: {', '.join(self)})"
