"""Methods side by side: how many sweeps and how much time each takes to the same quality.

The protocol is that of S1 section 3.8. Gauss-Seidel makes 50 sweeps and its quality is noted; every
other method runs until it is as good, with nothing but its iterations inside the clock. One run of
a method gives its result, its history and all figures. The same run is then timed several times,
the methods in turn, so that a slow phase of the machine affects all of them.
"""

from __future__ import annotations

import copy
import dataclasses
import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from ._csv import Target, with_units, write_csv
from ._optional import optional
from ._report import RunBar
from .orders import chosen
from .problem import Problem
from .result import Result
from .solver import Method, Options, Solver

__all__ = ["QualityOf", "Row", "Table", "compare", "quality_of"]

_RECORD = ("residual", "natural_map", "quality")

# Rounding alone must not cost a sweep: one method over two schemes, or in single precision, has
# qualities that differ by less, and a sweep changes them by more.
_ROUNDING = 1e-5

# Without a stop rule a solver makes exactly `max_iterations` sweeps.
_NO_STOP: dict[str, Any] = {"rtol": None, "atol": None, "stop": "natural_map"}


@dataclass(frozen=True)
class QualityOf:
    """A target: the quality of a reference method after some sweeps; made by `quality_of`."""

    method: Method
    iterations: int
    quality_r: float


def quality_of(method: str | Method, iterations: int = 50, quality_r: float = 100.0) -> QualityOf:
    """The quality that a method has after some sweeps, as a target for `compare`.

    Parameters
    ----------
    method : str or Method
        The reference method.
    iterations : int, default 50
        Sweeps of the reference method.
    quality_r : float, default 100.0
        R_const of the measure ``"quality"`` (S1 eq. 3.32).

    Returns
    -------
    QualityOf

    Raises
    ------
    ValueError
        `iterations` below 1.
    TypeError
        `method` that is neither a name nor a `Method`.
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}: at least 1 is needed")
    return QualityOf(_as_method("method", method), iterations, quality_r)


@dataclass(frozen=True, slots=True)
class Row:
    """One method of a `Table`.

    Attributes
    ----------
    method
        The method's label.
    iterations
        Sweeps made, and timed.
    time, time_sigma
        Mean and standard deviation over the repeated runs (S1 eq. 3.33) [s]: with `until` of the
        iterations alone, without it also of looking at the stop rule, as `Result.time`.
    setup_time
        Mean time to pack the problem for the method, not part of `time` [s].
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
        Whether the method got to the target (without one: whether it converged).
    status
        ``"reference"``, ``"reached"``, ``"not reached"`` within `max_iterations`, or what else
        ended the run: the status of the `Result`, which it always is without a target.
    """

    method: str
    iterations: int
    time: float
    time_sigma: float
    setup_time: float
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
    """What `compare` returns: a `Row` for each method, by number or by label.

    Attributes
    ----------
    rows
        In the order of the methods.
    results
        The `Result` of that run for each label. Its history has every sweep.
    title, notes
        What was compared, and which methods did not reach the target.
    target
        The quality or natural map that the methods were to reach; None without a target.

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
        """Write the table as CSV, one line per method, the units beside the names of the columns.

        Parameters
        ----------
        target
            A path, whose file is replaced, or an open text file. Numbers read back to the same
            bits; NaN is an empty cell.
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


def compare(
    problem: Problem,
    methods: str | Method | Iterable[str | Method],
    *,
    until: QualityOf | float | None = None,
    repeats: int = 5,
    labels: Sequence[str] | None = None,
    initial: Any = None,
    progress: bool | float = False,
    **options: Unpack[Options],
) -> Table:
    """Run several methods on a problem until they are equally good, and time them (S1 section 3.8).

    Parameters
    ----------
    problem : Problem
    methods : list of str and Method
        Names of methods, or `contactsolve.Method` for methods with options of their own.
    until : QualityOf or float, optional
        The target of the methods: `quality_of` for S1's protocol; a number for the largest natural
        map [N s]. None: each stops by its own options. The methods make at most their
        `max_iterations`, and the table marks those that did not reach the target.
    repeats : int, default 5
        Timed runs of each method.
    labels : list of str, optional
        Names of the methods in the table and in plots; made from the options by default.
    initial
        Impulses to start from, as in `Solver.solve`.
    progress : bool or float, default False
        Show a progress bar over the runs, with the label of the running method (needs tqdm). A
        number: show it only after this many seconds. It is drawn between the runs and is not timed.
    **options
        Options of `Solver` for all methods, which a `Method` overrides. `measure_every` is 1 by
        default here, and so is `check_every` with `until`, whose checks are not timed.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        Options out of range, equal labels, a tolerance in the options beside `until`, or a
        reference method whose quality is not finite.
    TypeError
        Arguments of a wrong type.
    RuntimeError
        A repeated run that gives other impulses.

    Notes
    -----
    Each method is run once for its result and history, recorded outside its clock, and `repeats`
    times to be timed. All these runs must be equal to the last bit; only runs that the clock ends
    (`max_seconds`) may differ, and a note says so. A quality counts as reached
    from one part in 100,000 above it, so that rounding alone costs no sweep.

    Examples
    --------
    >>> import contactsolve as cs
    >>> problem = cs.scenarios.ball_grid(4)
    >>> table = cs.compare(problem, ["jacobi", "gauss_seidel"], until=cs.quality_of("gauss_seidel"))
    >>> [row.status for row in table]
    ['reached', 'reference']
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}: at least 1 is needed")
    common = _seeded({**options}, seed=int(np.random.default_rng().integers(2**63)))
    runs = [_Run(problem, method, common, initial) for method in _as_methods(methods)]
    _name(runs, labels)
    shown = len(runs) + isinstance(until, QualityOf)  # runs that are not timed
    with RunBar(shown + repeats * len(runs), progress) as bar:
        target, wording = _run_all(problem, runs, until, common, initial, bar)
        for _ in range(repeats):
            for run in runs:
                with bar.run(run.label):
                    run.measure()
    title = _title(problem, wording, repeats)
    notes = _notes(runs, wording)
    results = {run.label: run.result for run in runs}
    return Table(tuple(run.row() for run in runs), results, title, notes, target)


class _Run:
    """One method on the problem: the run that is shown, and the same again, timed."""

    result: Result
    status: str
    reached: bool

    def __init__(
        self, problem: Problem, method: Method, common: dict[str, Any], initial: Any
    ) -> None:
        self.problem = problem
        self.method = method
        self.label = method.label
        order = chosen({**common, **method.options}.get("order", "auto"))
        own = {**order.with_effect(common), **method.options, "method": method.method}
        self.options = _seeded(own, seed=common["rng"]) if order.draws else own
        self.initial = initial
        self.asked: dict[str, Any] = {}  # the target, as options
        self.again: dict[str, Any] = {}  # what makes the run that is shown once more
        self.times: list[float] = []
        self.setup_times: list[float] = []

    def solve(self, **changes: Any) -> Result:
        options = _unrecorded({**self.options, **changes})
        return Solver(self.problem, **options).solve(initial=self.initial)

    def search(self, **stop: Any) -> None:
        """Run until the stop rule holds, and record all of it."""
        self.asked = self.again = stop
        self.result = self.record(**stop)
        self.status, self.reached = self.result.status, self.result.converged

    def search_target(self, **stop: Any) -> None:
        """Run to a target that is looked at after every iteration, which the clock leaves out.

        Sweeps of a number that is known need no checks; a method that looks at its own progress
        does, to be the same.
        """
        self.search(**stop, check_every=1, time_checks=False)
        if not self.reached:
            self.status = _STATUS.get(self.status, self.status)
            return
        self.status = "reached"
        fixed = {**_NO_STOP, "max_iterations": self.result.iterations}
        if _same(self.solve(**fixed, record=()), self.result):
            self.again = fixed

    def record(self, **changes: Any) -> Result:
        """Solve and keep the history."""
        record = dict.fromkeys((*_RECORD, *self.options.get("record", ()), self.stop))
        dense = {"measure_every": self.options.get("check_every", 1), "record_every": 1}
        own = {name: self.options[name] for name in dense if name in self.options}
        return self.solve(**{**changes, **dense, **own}, record=tuple(record))

    @property
    def stop(self) -> str:
        """The measure that decides."""
        return self.asked.get("stop", self.options.get("stop", "natural_map"))

    @property
    def tested(self) -> str:
        """The same, in the form that is compared with the tolerance."""
        rtol = {**self.options, **self.asked}.get("rtol", "auto")
        return "natural_map_scaled" if self.stop == "natural_map" and rtol else self.stop

    def be_reference(self, result: Result, iterations: int) -> None:
        self.asked = {"stop": "quality"}
        self.again = {**_NO_STOP, "max_iterations": iterations}
        self.result, self.status, self.reached = result, "reference", True

    def measure(self) -> None:
        """Time the run once more, set-up apart."""
        result = self.solve(**self.again, record=())
        if not (_same(result, self.result) or self.by_clock):
            raise RuntimeError(
                f"{self.label} gave other impulses when it was run again: its time is that of "
                "another run"
            )
        self.times.append(result.time)
        self.setup_times.append(result.info["setup_seconds"])

    @property
    def by_clock(self) -> bool:
        """Whether the clock ended the run, so that another one ends elsewhere."""
        return self.result.status == "max_seconds"

    def row(self) -> Row:
        history = self.result.history
        return Row(
            method=self.label,
            iterations=self.result.iterations,
            time=float(np.mean(self.times)),
            time_sigma=float(np.std(self.times)),  # over N, not N - 1: S1 eq. 3.33
            setup_time=float(np.mean(self.setup_times)),
            quality=float(history["quality"][-1]),
            natural_map=self.result.natural_map,
            natural_map_scaled=self.result.natural_map_scaled,
            residual=float(history["residual"][-1]),
            stop=self.tested,
            tested=self.tested_value(),
            reached=self.reached,
            status=self.status,
        )

    def tested_value(self) -> float:
        if self.tested == "natural_map_scaled":
            return self.result.natural_map_scaled
        return self.result.history.last(self.stop)

    def note(self, wording: str) -> str:
        """Say that and where the method failed; empty if it did not."""
        sweeps = f"{self.result.iterations} sweeps"
        if self.by_clock:
            return (
                f"{self.label} was ended by the clock (max_seconds) after {sweeps}: timed runs may "
                "have ended elsewhere."
            )
        if self.result.status == "diverging":
            return f"{self.label} diverged within {sweeps}; its figures are those of its best ones."
        if self.reached or not _has_tolerance(self.options, wording):
            return ""
        return f"{self.label} did not reach {wording or 'its tolerance'} within {sweeps}."


def _run_all(
    problem: Problem,
    runs: list[_Run],
    until: QualityOf | float | None,
    common: dict[str, Any],
    initial: Any,
    bar: RunBar,
) -> tuple[float | None, str]:
    """Run every method to the target; return the target and its wording."""
    if until is None:
        for run in runs:
            with bar.run(run.label):
                run.search()
        return None, ""
    if isinstance(until, QualityOf):
        return _run_to_quality(problem, runs, until, common, initial, bar)
    target = _tolerance(until)
    _refuse(runs, "rtol", "atol", "stop")
    for run in runs:
        with bar.run(run.label):
            run.search_target(stop="natural_map", atol=target, rtol=None)
    return target, f"natural map <= {target:.4g} N s"


_STATUS = {"max_iterations": "not reached"}


def _run_to_quality(
    problem: Problem,
    runs: list[_Run],
    until: QualityOf,
    common: dict[str, Any],
    initial: Any,
    bar: RunBar,
) -> tuple[float, str]:
    reference = _Run(problem, until.method, common, initial)
    _refuse([*runs, reference], "rtol", "atol", "stop", "quality_r")
    for run in (*runs, reference):
        run.options["quality_r"] = until.quality_r
    with bar.run(reference.label):
        noted = reference.record(**_NO_STOP, max_iterations=until.iterations)
    target = float(noted.history["quality"][-1])
    if not math.isfinite(target):
        raise ValueError(
            f"{reference.label} has the quality {target} after {noted.iterations} sweeps: "
            "it cannot be a target"
        )
    # A solver takes no tolerance of exactly zero for this measure.
    tolerance = max(target * (1 + _ROUNDING), np.finfo(np.float64).tiny)
    for run in runs:
        with bar.run(run.label):
            if _equal_options(run.options, reference.options):
                run.be_reference(noted, until.iterations)
            else:
                run.search_target(stop="quality", atol=tolerance, rtol=None)
    wording = f"quality <= {target:.4g} ({reference.label} after {noted.iterations} sweeps)"
    return target, wording


# ---- arguments ----------------------------------------------------------------------------------


def _as_methods(methods: str | Method | Iterable[str | Method]) -> list[Method]:
    listed = [methods] if isinstance(methods, (str, Method)) else list(methods)
    if not listed:
        raise ValueError("methods is empty: at least one is needed")
    return [_as_method(f"methods[{i}]", method) for i, method in enumerate(listed)]


def _as_method(name: str, method: Any) -> Method:
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        return Method(method)
    raise TypeError(f"{name} is {method!r}: a name or a contactsolve.Method is needed")


def _name(runs: list[_Run], labels: Sequence[str] | None) -> None:
    """Give the runs the user's labels; refuse equal ones, because labels identify results."""
    if labels is not None:
        if isinstance(labels, str) or len(labels) != len(runs):
            raise ValueError(f"labels is {labels!r}: one for each of {len(runs)} methods is needed")
        for run, label in zip(runs, labels, strict=True):
            run.label = str(label)
    seen: set[str] = set()
    for run in runs:
        if run.label in seen:
            raise ValueError(f"two methods are labelled {run.label!r}: give them labels=")
        seen.add(run.label)


def _has_tolerance(options: Mapping[str, Any], wording: str) -> bool:
    """Whether a method was to reach anything, and not only to make its sweeps."""
    return bool(wording) or not (options.get("rtol", 0) is options.get("atol", 0) is None)


def _tolerance(until: Any) -> float:
    if isinstance(until, bool) or not isinstance(until, (int, float, np.number)):
        raise TypeError(f"until is {until!r}: a number, quality_of(...) or None is needed")
    if not (math.isfinite(until) and until > 0):
        raise ValueError(f"until is {until}: a finite number above 0 is needed")
    return float(until)


def _refuse(runs: list[_Run], *names: str) -> None:
    """Refuse options that `until` decides."""
    for run in runs:
        for name in names:
            if name in run.options:
                where = "quality_of has its own" if name == "quality_r" else "until= decides"
                raise ValueError(f"{name} is given for {run.label}, but {where}: leave it out")


def _unrecorded(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without those about measures that a run without records would refuse."""
    if options.get("record", _RECORD):
        return options
    idle = {"measure_every"}
    if options.get("stop") != "quality":
        idle |= {"quality_r"}
    if (options.get("rtol", ""), options.get("atol", "")) == (None, None):
        idle |= {"check_every"}
    return {name: value for name, value in options.items() if name not in idle}


def _seeded(options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Replace what would give another random order in every run."""
    rng = options.get("rng")
    if isinstance(rng, np.random.Generator):
        # A copy, so that a method that is named twice has the same order twice.
        options["rng"] = int(copy.deepcopy(rng).integers(2**63))
    elif rng is None:
        options["rng"] = seed
    return options


def _same(one: Result, other: Result) -> bool:
    """Whether two runs gave the same impulses, to the last bit, after as many iterations."""
    pairs = zip(_parts(one.impulses), _parts(other.impulses), strict=True)
    return one.iterations == other.iterations and all(
        np.array_equal(a, b, equal_nan=True) for a, b in pairs
    )


def _parts(impulses: Any) -> list[np.ndarray]:
    return impulses if isinstance(impulses, list) else [impulses]


def _equal_options(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        np.array_equal(value, second[name]) for name, value in first.items()
    )


# ---- text ---------------------------------------------------------------------------------------


def _title(problem: Problem, wording: str, repeats: int) -> str:
    name = problem.name or "problem"
    goal = f"until {wording}" if wording else "each by its own options"
    runs = f"mean and σ of {repeats} run{'s' if repeats > 1 else ''}"
    return f"{name}, {problem.contacts} contacts, {goal}; {runs}"


def _notes(runs: Iterable[_Run], wording: str) -> tuple[str, ...]:
    notes = [note for run in runs if (note := run.note(wording))]
    if notes:
        notes.append(
            "Its time is that of these sweeps."
            if len(notes) == 1
            else "Their times are those of these sweeps."
        )
    return tuple(notes)


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    """Names, units and rows as text."""
    time = _Scale(row.time for row in rows)
    setup = _Scale(row.setup_time for row in rows)
    names = [
        "method",
        "sweeps",
        "time",
        "σ",
        "set-up",
        "quality",
        "natural map",
        "scaled",
        "residual",
    ]
    units = ["", "", time.unit, time.unit, setup.unit, "[N² s²]", "[N s]", "[1]", "[N s]"]
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
    """Text to the left, numbers to the right."""
    padded = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
    padded[0], padded[-1] = line[0].ljust(widths[0]), line[-1]
    return padded


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
