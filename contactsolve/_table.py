"""The table of a comparison of methods, as rows, text, CSV and HTML."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._csv import Target, with_units, write_csv
from ._optional import optional
from .result import Result

__all__ = ["Row", "Table"]


@dataclass(frozen=True, slots=True)
class Row:
    """One method of a `Table`.

    Attributes
    ----------
    method
        The method's label.
    iterations
        Number of timed sweeps.
    time, time_sigma
        Mean and standard deviation of `Result.time` over the repeated runs (S1 eq. 3.33) [s].
    setup_time
        Mean time to pack the problem for the method, not part of `time` [s].
    checks
        Whether `time` includes the evaluation of the stopping rule. It does not with `until`, and
        with ``time_checks=False``.
    quality
        S1 eq. 3.32 at the returned impulses.
    natural_map, natural_map_scaled
        At the returned impulses [N s], [1].
    residual
        Largest change of an impulse in the last sweep [N s]; NaN without a sweep.
    stop, tested
        The measure that ended the run, and its final value, in the form compared with the
        tolerance: ``"natural_map_scaled"`` where `rtol` is above 0.
    reached
        Whether the method reached the target (without one: whether it converged).
    status
        ``"reference"``, ``"reached"``, or ``"not reached"`` within `max_iterations`; otherwise, and
        without a target, the status of the `Result`.
    """

    method: str
    iterations: int
    time: float
    time_sigma: float
    setup_time: float
    checks: bool
    quality: float
    natural_map: float
    natural_map_scaled: float
    residual: float
    stop: str
    tested: float
    reached: bool
    status: str


@dataclass(frozen=True, eq=False)
class Table:
    """The result of `compare`: a `Row` for each method, by number or by label.

    Attributes
    ----------
    rows
        The rows in the order of the methods.
    results
        The `Result` of each method by its label. Its history has every sweep.
    title, notes
        The comparison in words, and remarks, such as the methods that did not reach the target.
    target
        The target quality or natural map; None without a target.

    Examples
    --------
    >>> import contactsolve as cs
    >>> table = cs.compare(cs.scenarios.ball_grid(4), ["jacobi", "gauss_seidel"], rtol=1e-4)
    >>> table["gauss_seidel"].iterations < table["jacobi"].iterations
    True
    """

    rows: tuple[Row, ...]
    results: dict[str, Result]
    title: str
    notes: tuple[str, ...] = field(default=())
    target: float | None = None

    def __getitem__(self, key: int | str) -> Row:
        if isinstance(key, str):
            for row in self.rows:
                if row.method == key:
                    return row
            known = ", ".join(row.method for row in self.rows)
            raise KeyError(f"no method {key!r} in the table; it has: {known}")
        return self.rows[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name."""
        names = [entry.name for entry in dataclasses.fields(Row)]
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`, one row per method; needs pandas."""
        pandas = optional("pandas", "to_pandas() needs")
        return pandas.DataFrame(self.to_dict()).set_index("method")

    def to_csv(self, target: Target) -> None:
        """Write the table as CSV: one line per method; names of columns have their units.

        Parameters
        ----------
        target
            A path, whose file is replaced, or an open text file. Numbers have all their digits; NaN
            is an empty cell.
        """
        columns = self.to_dict()
        write_csv(target, with_units(columns), zip(*columns.values(), strict=True))

    def __repr__(self) -> str:
        cells = _cells(self.rows)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(_aligned(line, widths)).rstrip() for line in cells]
        rule = "-" * max(map(len, lines))
        return "\n".join([self.title, rule, *lines[:2], rule, *lines[2:], rule, *self.notes])

    def _repr_html_(self) -> str:
        names, units, *body = _cells(self.rows)
        head = [f"{name} {unit}".strip() for name, unit in zip(names, units, strict=True)]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead>{_html_row('th', head)}</thead>"
            f"<tbody>{''.join(_html_row('td', line) for line in body)}</tbody></table>{notes}"
        )


# ---- text ---------------------------------------------------------------------------------------


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return names, units and rows as text."""
    # Times have one unit for each column.
    time = _Scale(row.time for row in rows)
    setup = _Scale(row.setup_time for row in rows)
    names = [
        "method",
        "sweeps",
        time_name(rows),
        "σ",
        "set-up",
        "quality",
        "natural map",
        "scaled",
        "residual",
    ]
    units = ["", "", time.unit, time.unit, setup.unit, "[N² s²]", "[N s]", "[1]", "[N s]"]

    # Other measures of stopping rules have columns of their own.
    shown = {"natural_map", "natural_map_scaled", "quality", "residual"}
    others = list(dict.fromkeys(row.stop for row in rows if row.stop not in shown))
    return [
        [*names, *others, "status"],
        [*units, *[""] * len(others), ""],
        *(
            [
                row.method,
                str(row.iterations),
                time.text(row.time),
                time.text(row.time_sigma),
                setup.text(row.setup_time),
                f"{row.quality:.3e}",
                f"{row.natural_map:.2e}",
                f"{row.natural_map_scaled:.1e}",
                f"{row.residual:.2e}",
                *(f"{row.tested:.2e}" if row.stop == other else "" for other in others),
                row.status.replace("_", " "),
            ]
            for row in rows
        ),
    ]


def time_name(rows: Iterable[Row]) -> str:
    """Return in words which time the rows of a table have."""
    checks = {row.checks for row in rows}
    if len(checks) > 1:
        return "time"
    return "time of solve" if checks == {True} else "time without checks"


class _Scale:
    """One unit and one number of decimals for a column of seconds."""

    def __init__(self, seconds: Iterable[float]) -> None:
        largest = max(seconds)
        units = (("[s]", 1.0), ("[ms]", 1e-3), ("[µs]", 1e-6))
        fitting = [entry for entry in units if largest >= entry[1]]
        self.unit, self.size = fitting[0] if fitting else units[-1]
        before_point = len(str(int(largest / self.size)))
        self.decimals = max(0, 4 - before_point)

    def text(self, seconds: float) -> str:
        return f"{seconds / self.size:.{self.decimals}f}"


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    """Return the cells padded: texts to the left, numbers to the right."""
    padded = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
    padded[0], padded[-1] = line[0].ljust(widths[0]), line[-1]
    return padded


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
