"""Comparison of methods: the sweeps and the time that each takes to the same quality.

The protocol is that of S1 section 3.8. Gauss-Seidel makes 50 sweeps, which determines the target
quality; every other method runs until it reaches that quality, and is timed without the checks
whether it has.
One run of a method gives its result, its history and all figures. The same run is then timed
several times, the methods in turn, so that a slow phase of the machine affects all of them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from ._report import RunBar
from ._table import Row, Table
from .problem import Problem
from .result import Result
from .solver import Method, Options, Solver

__all__ = ["QualityOf", "Row", "Table", "compare", "quality_of"]

_RECORD = ("residual", "natural_map", "quality")

# Tolerance of a target quality, so that rounding costs no sweep: qualities of one method over two
# schemes, or in single precision, differ by less, and a sweep changes them by more.
_ROUNDING = 1e-5

# Without a stop rule a solver makes exactly `max_iterations` sweeps.
_NO_STOP: dict[str, Any] = {"rtol": None, "atol": None, "stop": "natural_map"}

# The time to a target is that of a solve that does not evaluate its impulses.
_NO_CHECKS: dict[str, Any] = {"time_checks": False}


@dataclass(frozen=True)
class QualityOf:
    """A target: the quality of a reference method after some sweeps; made by `quality_of`."""

    method: Method
    iterations: int
    quality_r: float


def quality_of(method: str | Method, iterations: int = 50, quality_r: float = 100.0) -> QualityOf:
    """Return the quality of a method after some sweeps, as a target for `compare`.

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
        The problem that all methods solve.
    methods : list of str and Method
        Names of methods, or `contactsolve.Method` for methods with options of their own.
    until : QualityOf or float, optional
        The target: `quality_of` for S1's protocol, or a number for the largest natural map [N s].
        None: each method stops by its own options. The methods make at most their
        `max_iterations`, and the table marks those that did not reach the target.
    repeats : int, default 5
        Timed runs of each method.
    labels : list of str, optional
        Labels of the methods in the table and in plots; made from their options by default.
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
        A repeated run gives other impulses.

    Notes
    -----
    Times are `Result.time`: without set-up and recording, and with `until` without checks, as with
    ``time_checks=False``. The table names them accordingly, and `Row.checks` says which they are.

    Each method runs once for its result and history, and `repeats` times for its times. All these
    runs must be equal to the last bit; only runs that `max_seconds` ends may differ, and a note
    says so. A quality counts as reached from one part in 100,000 above it, so that rounding costs
    no sweep.

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

    # One run of each method for its result; then the timed runs, the methods in turn.
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

    # The table.
    title = _title(problem, wording, repeats)
    notes = _notes(runs, wording)
    results = {run.label: run.result for run in runs}
    return Table(tuple(run.row() for run in runs), results, title, notes, target)


class _Run:
    """One method on the problem: the run with its history, and its timed repetitions."""

    result: Result
    status: str
    reached: bool

    def __init__(
        self, problem: Problem, method: Method, common: dict[str, Any], initial: Any
    ) -> None:
        self.problem = problem
        self.method = method
        self.label = method.label
        own = {**common, **method.options, "method": method.method}
        self.options = _seeded(own, seed=common["rng"])
        self.initial = initial
        self.target: dict[str, Any] = {}  # options of the target
        self.repetition: dict[str, Any] = {}  # options that repeat the run
        self.times: list[float] = []
        self.setup_times: list[float] = []

    def solve(self, **changes: Any) -> Result:
        return Solver(self.problem, **{**self.options, **changes}).solve(initial=self.initial)

    def search(self, **stop: Any) -> None:
        """Run until the stopping rule is met, and record the history."""
        self.target = self.repetition = stop
        self.result = self.record(**stop)
        self.status, self.reached = self.result.status, self.result.converged

    def search_target(self, **stop: Any) -> None:
        """Run to a target that is tested after every iteration, outside the measured time.

        If the same number of iterations without tests gives the same impulses, the repetitions make
        no tests. A method that adapts to its own measures needs them.
        """
        self.search(**stop, **_NO_CHECKS, check_every=1)
        if not self.reached:
            self.status = _STATUS.get(self.status, self.status)
            return
        self.status = "reached"
        fixed = {**_NO_STOP, **_NO_CHECKS, "max_iterations": self.result.iterations}
        if _same(self.solve(**fixed, record=()), self.result):
            self.repetition = fixed

    def record(self, **changes: Any) -> Result:
        """Solve and keep the history."""
        record = dict.fromkeys((*_RECORD, *self.options.get("record", ()), self.stop))
        dense = {"measure_every": self.options.get("check_every", 1), "record_every": 1}
        own = {name: self.options[name] for name in dense if name in self.options}
        return self.solve(**{**changes, **dense, **own}, record=tuple(record))

    @property
    def stop(self) -> str:
        """The measure of the stopping rule."""
        return self.target.get("stop", self.options.get("stop", "natural_map"))

    @property
    def tested(self) -> str:
        """The measure of the stopping rule, in the form compared with the tolerance."""
        rtol = {**self.options, **self.target}.get("rtol", "auto")
        return "natural_map_scaled" if self.stop == "natural_map" and rtol else self.stop

    def be_reference(self, result: Result, iterations: int) -> None:
        """Take over the run of the reference method."""
        self.target = {"stop": "quality"}
        self.repetition = {**_NO_STOP, **_NO_CHECKS, "max_iterations": iterations}
        self.result, self.status, self.reached = result, "reference", True

    def measure(self) -> None:
        """Repeat and time the run; the set-up is timed separately."""
        result = self.solve(**self.repetition, record=())
        if not (_same(result, self.result) or self.by_clock):
            raise RuntimeError(
                f"{self.label} gave other impulses when it was run again: this time is not that of "
                "the run in the table"
            )
        self.times.append(result.time)
        self.setup_times.append(result.info["setup_seconds"])

    @property
    def by_clock(self) -> bool:
        """Whether the clock ended the run: repetitions may then end at another iteration."""
        return self.result.status == "max_seconds"

    def row(self) -> Row:
        history = self.result.history
        return Row(
            method=self.label,
            iterations=self.result.iterations,
            time=float(np.mean(self.times)),
            time_sigma=float(np.std(self.times)),  # over N, not N - 1: S1 eq. 3.33
            setup_time=float(np.mean(self.setup_times)),
            checks=bool({**self.options, **self.repetition}.get("time_checks", True)),
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
        """Return a remark if the method did not reach its target; empty if it did."""
        sweeps = f"{self.result.iterations} sweeps"
        if self.by_clock:
            return (
                f"{self.label} was ended by the clock (max_seconds) after {sweeps}: timed runs may "
                "have made more or fewer."
            )
        if self.result.status == "diverging":
            return (
                f"{self.label} diverged within {sweeps}; its figures are those of the best iterate."
            )
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
    """Run every method to the target; return the target and its description."""
    # Without a target each method stops by its own options.
    if until is None:
        for run in runs:
            with bar.run(run.label):
                run.search()
        return None, ""
    if isinstance(until, QualityOf):
        return _run_to_quality(problem, runs, until, common, initial, bar)

    # A number is a natural map.
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
    """Run every method to the quality of the reference method; return it and its description."""
    reference = _Run(problem, until.method, common, initial)
    _refuse([*runs, reference], "rtol", "atol", "stop", "quality_r")
    for run in (*runs, reference):
        run.options["quality_r"] = until.quality_r

    # The reference determines the target.
    with bar.run(reference.label):
        noted = reference.record(**_NO_STOP, **_NO_CHECKS, max_iterations=until.iterations)
    target = float(noted.history["quality"][-1])
    if not math.isfinite(target):
        raise ValueError(
            f"{reference.label} has the quality {target} after {noted.iterations} sweeps: "
            "it cannot be a target"
        )

    # A solver accepts no tolerance of exactly zero for this measure.
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
    """Whether a method had a target or a tolerance, not only a number of sweeps."""
    return bool(wording) or not (options.get("rtol", 0) is options.get("atol", 0) is None)


def _tolerance(until: Any) -> float:
    if isinstance(until, bool) or not isinstance(until, (int, float, np.number)):
        raise TypeError(f"until is {until!r}: a number, quality_of(...) or None is needed")
    if not (math.isfinite(until) and until > 0):
        raise ValueError(f"until is {until}: a finite number above 0 is needed")
    return float(until)


def _refuse(runs: list[_Run], *names: str) -> None:
    """Raise for options that `until` determines."""
    for run in runs:
        for name in names:
            if name in run.options:
                where = "quality_of has its own" if name == "quality_r" else "until= determines it"
                raise ValueError(f"{name} is given for {run.label}, but {where}: leave it out")


def _seeded(options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the options with a seed, so that a random order is the same in every run."""
    rng = options.get("rng")
    if isinstance(rng, np.random.Generator):
        # A copy of the generator gives a method that occurs twice the same order twice.
        options["rng"] = int(copy.deepcopy(rng).integers(2**63))
    elif rng is None:
        options["rng"] = seed
    return options


def _same(one: Result, other: Result) -> bool:
    """Whether two runs made equally many iterations and gave the same impulses to the last bit."""
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
            "The time in the table is that of these sweeps."
            if len(notes) == 1
            else "The times in the table are those of these sweeps."
        )
    return tuple(notes)
