"""The result of a solve: impulses, and the history of the iteration."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import inspection
from ._csv import Target, with_units, write_csv
from ._device_arrays import DeviceArray
from ._optional import optional

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["History", "Result"]


class History(Mapping[str, np.ndarray]):
    """A table of one row per recorded iteration.

    ``history["natural_map"]`` is a column, ``history.columns`` names them, ``len(history)`` counts
    the rows. The first row is the initial iterate (iteration 0). Measures that were not evaluated
    at an iteration are NaN there.
    """

    __slots__ = ("_values", "columns")

    def __init__(self, columns: tuple[str, ...], values: np.ndarray) -> None:
        self.columns = columns
        self._values = values

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._values[:, self.columns.index(name)]
        except ValueError:
            known = ", ".join(self.columns)
            raise KeyError(f"no column {name!r}; recorded: {known}") from None

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def last(self, name: str) -> float:
        """Return the last value of a column that was evaluated, or NaN."""
        column = self[name]
        known = column[~np.isnan(column)]
        return float(known[-1]) if len(known) else float("nan")

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`; needs pandas."""
        pandas = optional("pandas", "to_pandas() needs")
        return pandas.DataFrame({name: self[name] for name in self.columns})

    def to_csv(self, target: Target) -> None:
        """Write the history as CSV: one line per row; names of columns have their units.

        Parameters
        ----------
        target
            A path, whose file is replaced, or an open text file. Numbers have all their digits; a
            measure that was not evaluated is an empty cell.
        """
        whole = self.columns.index("iteration") if "iteration" in self.columns else -1
        rows = self._values.tolist()
        for row in rows:
            if whole >= 0:
                row[whole] = int(row[whole])
        write_csv(target, with_units(self.columns), rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return self.columns == other.columns and np.array_equal(
            self._values, other._values, equal_nan=True
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({len(self)} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        return _html_table(self.columns, [list(row) for row in _ends(self._values)])


def _ends(rows: np.ndarray, shown: int = 8) -> Iterator[list[str]]:
    """Return the first and last rows as text, with an ellipsis between."""
    for i, row in enumerate(rows):
        if len(rows) <= shown or i < shown // 2 or i >= len(rows) - shown // 2:
            yield [f"{value:.6g}" for value in row]
        elif i == shown // 2:
            yield ["…"] * len(row)


def _html_table(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Lazy:
    """Attributes that the methods of `_found` compute when they are first read."""

    __slots__ = ("_found",)
    _found: Any

    if not TYPE_CHECKING:  # for type checkers the fields of `Result` are all there is

        def __getattr__(self, name: str) -> Any:
            own = getattr(type(self), name, None)
            if isinstance(own, property) and own.fget:  # raise its own error again
                return own.fget(self)
            try:
                values = object.__getattribute__(self, "_found")
                find = None if name.startswith("_") else getattr(values, name, None)
            except AttributeError:
                find = None
            if find is None:
                kind = type(self).__name__
                raise AttributeError(
                    f"{kind!r} object has no attribute {name!r}", obj=self, name=name
                )
            value = find()
            object.__setattr__(self, name, value)
            return value


_NOT_PLAIN = ("problem", "_b", "_parameters", "_updates")


@dataclass(eq=False, slots=True)
class Result(Lazy):
    """The answer of a solve.

    Attributes
    ----------
    impulses
        λ, ``(K, m)`` [N s]; for grouped problems a list, one array per group, here and below.
    residual_velocities
        ξ = Aλ + b, ``(K, m)`` [m/s].
    body_velocity_change
        M⁻¹Jᵀλ, ``(n, d)`` [m/s, rad/s]; None where A was given.
    history
        One row per recorded iteration.
    converged
        Whether the stopping rule is met, and rounding errors are below its tolerance.
    status
        ``"converged"``, ``"max_iterations"``, ``"max_seconds"``, ``"stalled"`` or ``"wandering"``
        (the natural map stagnates, or oscillates without being halved; ``info["band"]``),
        ``"diverging"`` (the best iterate is returned), ``"inaccurate"`` (rounding errors may exceed
        the tolerance, ``info["floor"]``), ``"infeasible"`` (``info["certificate"]`` proves that
        there is no solution), ``"unbounded"`` (impulses grow along the certificate, which with
        friction is no proof) or ``"stopped"`` (by the callback).
    message
        What the solve reached and, if it did not converge, what to try.
    iterations
        Sweeps made.
    time
        Time of the solve [s]: the sweeps, checks of the stopping rule, the evaluation at the end,
        and what lies between them; without set-up, recording and callbacks. With
        ``time_checks=False`` also without what only the stopping rule needs. The column ``"time"``
        of the history is on the same clock.
    sweep_time
        The part of `time` in which the method iterates [s]: sweeps, or the steps of methods without
        sweeps. Where islands are solved separately, their share of the time, as their clocks
        divide it.
    wall_time
        Time of the whole call [s], with recording, callbacks and the conversion of arrays; that of
        `contactsolve.solve` includes making the problem and the solver. Attributes of a result are
        computed when they are first read, after that time; without a tolerance and without
        measures of iterates this includes the velocities and the natural map, at the latest before
        the problem is updated. The solver of the solve computes them: while it solves again, a
        reader in another thread waits, and a signal handler of that thread gets an error.
    natural_map, natural_map_scaled
        At the returned impulses, in float64 on the data as given [N s], [1].
    worst_contact
        The contact with the largest scaled natural map; -1 without contacts.
    worst
        This contact in words: its number, the part with the largest error, and the error [m/s].
    info
        Automatic choices and their reasons, bytes, ``"setup_seconds"`` (making the solver),
        ``"solve_seconds"`` (the same as `time`), rollbacks, products of blocks of A with impulses,
        warnings.
    problem
        The problem that was solved.
    """

    impulses: Any
    residual_velocities: Any
    body_velocity_change: Any
    history: History
    converged: bool
    status: str
    message: str
    iterations: int
    time: float
    sweep_time: float
    wall_time: float
    natural_map: float
    natural_map_scaled: float
    worst_contact: int
    worst: str
    info: dict[str, Any]
    problem: Problem = field(repr=False)
    # b and parameters that the solve used in place of the problem's own, or None.
    _b: np.ndarray | DeviceArray | None = field(default=None, repr=False)
    # Updates of the problem made before the solve.
    _updates: int = field(default=0, repr=False)
    _parameters: np.ndarray | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        if isinstance(self._b, DeviceArray):
            values["_b"] = self._b.numpy().ravel()
        return values

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    @classmethod
    def of(cls, values: Any, problem: Problem, b: Any, parameters: Any) -> Self:
        """Return the result of a solve; `values` computes its attributes when they are read."""
        result = cls.__new__(cls)
        result._found = values
        result.problem = problem
        result._b, result._parameters, result._updates = b, parameters, problem.updates
        return result

    @property
    def device_impulses(self) -> DeviceArray:
        """λ in the memory of the device, after ``Solver.solve(on_device=True)`` [N s].

        A `contactsolve.cuda.DeviceArray`, ``(K, m)``, or flat for grouped problems. `impulses`, and
        what follows from them, are computed from it when they are first read.

        Raises
        ------
        AttributeError
            The impulses are in the memory of the processor, as those of every other result.
        """
        found = getattr(getattr(self, "_found", None), "device_impulses", None)
        if found is None:
            raise AttributeError(
                "device_impulses needs a result of solve(on_device=True), neither saved nor copied"
            )
        return found

    @property
    def active(self) -> Any:
        """The state of each contact: ``"open"``, ``"stick"`` or ``"slide"``, ``(K,)``.

        For boxes and free blocks the state of each row: ``"free"``, ``"low"`` or ``"high"``,
        ``(K, m)``. The point λ − ρξ decides: at or below zero along the normal (open), beyond the
        friction bound (slide), at a bound (low, high). Differences below ten times the natural map
        of the result, each in the scale of its set, count as zero: a contact between sticking and
        sliding sticks. A frictionless contact slides if it moves along its tangents; a contact that
        rolls without sliding sticks. Methods that pivot may start from these states,
        ``initial=result.active``; ``initial=result`` also gives them the friction bounds.
        """
        self._refuse_updated("active")
        return inspection.activity(self)

    def check(self, count: int = 5) -> inspection.Check:
        """Return the worst contacts: their gap velocity, cone violation and natural map.

        Parameters
        ----------
        count
            Maximum number of contacts to list.

        Raises
        ------
        RuntimeError
            The problem was updated after the solve.

        Examples
        --------
        >>> import contactsolve as cs
        >>> result = cs.solve(cs.scenarios.box_stack(2), max_iterations=3)
        >>> len(result.check(2))
        2
        """
        self._refuse_updated("check")
        return inspection.check(self, count)

    def energy(self) -> inspection.Energy:
        """Return the work of the contact impulses and, from a state, kinetic energies [J]."""
        self._refuse_updated("energy")
        return inspection.energy(self)

    def _refuse_updated(self, name: str) -> None:
        """Raise if the problem was updated after the solve."""
        if self._updates != self.problem.updates:
            raise RuntimeError(updated_since(name))

    @property
    def velocities(self) -> np.ndarray:
        """v⁺ = J u⁺ + χ after the step, ``(K, m)`` [m/s], for problems built from a state."""
        problem, state = self.problem, self.problem.state
        if state is None:
            raise AttributeError(
                "velocities needs a problem built by Problem.from_state and not updated since: "
                "other problems have no velocities u; residual_velocities is A λ + b"
            )
        return problem.contact_velocity(state.free_velocity + self.body_velocity_change) + (
            state.drive
        )

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the result and its problem to an HDF5 file; `contactsolve.load_result` reads it.

        Every number is kept bit for bit, `info` and the history included.

        Parameters
        ----------
        path
            Path of the new file, which appears once it is complete.
        overwrite
            Replace an existing file.

        Raises
        ------
        FileExistsError
            The file exists and `overwrite` is False.
        FileNotFoundError
            The folder of the file does not exist.
        TypeError
            A set of the problem is defined by a function, or `info` contains a value that is
            neither plain nor an array of numbers.
        ValueError
            The name of the problem contains a null character.
        ImportError
            h5py is not installed.
        """
        from .io.saved import save_result

        save_result(path, self, overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the problem as plain Python and NumPy values."""
        names = [name for name in self.__slots__ if name != "history" and name not in _NOT_PLAIN]
        values = {name: getattr(self, name) for name in names}
        values["history"] = dict(self.history)
        return values

    def __repr__(self) -> str:
        return (
            f"Result({self.status} after {self.iterations} iterations, "
            f"{format_seconds(self.time)}, natural map {self.natural_map:.2e} N s, worst "
            f"{self.worst})"
        )

    def _repr_html_(self) -> str:
        more = (("of its sweeps", self.sweep_time), ("of the whole call", self.wall_time))
        rows = [
            ["status", self.status],
            ["message", self.message],
            ["iterations", str(self.iterations)],
            ["time of the solve", format_seconds(self.time)],
            *([name, format_seconds(value)] for name, value in more if not isnan(value)),
            ["natural map", f"{self.natural_map:.3e} N s, scaled {self.natural_map_scaled:.1e}"],
            ["worst", self.worst],
            ["contacts", str(self.problem.contacts)],
            ["method", f"{self.info['method']}, {self.info['scheme']}, {self.info['dtype']}"],
        ]
        return _html_table(("result", ""), rows)


def updated_since(name: str) -> str:
    """Return the message of an attribute that cannot be computed after an update."""
    return (
        f"{name} needs the problem as it was solved, but it has been updated since then: "
        f"read {name} before the update"
    )


def format_seconds(seconds: float) -> str:
    """Return a duration as text, in a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
