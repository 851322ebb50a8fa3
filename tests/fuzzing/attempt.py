"""Solve one case and judge what comes back."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import contactsolve as cs
import judge_numpy as judge
from reference_sets import Polygon

from .spec import (
    Case,
    Problem,
    arrays_by_name,
    judged,
    method_code,
    problem_code,
    solve_code,
    solver_code,
)

STATUSES = {
    "converged", "inaccurate", "infeasible", "unbounded", "max_iterations", "max_seconds",
    "stalled", "wandering", "diverging", "stopped",
}  # fmt: skip
# Seconds that one sweep may take whose blocks are solved outright, by GJK in support functions.
LONG_SWEEP = 2.0
# Seconds that a solve may take beyond max_seconds.
PATIENCE = 0.5
_REFUSALS = (ValueError, TypeError, NotImplementedError)


@dataclass
class Finding:
    """Something wrong: a kind to group by, and what was seen."""

    kind: str
    text: str
    verdict: judge.Verdict | None = None


@dataclass
class Outcome:
    """What a case came to: a status, or "refused" with the reason, and what is wrong with it."""

    number: int
    method: str
    kind: str
    status: str
    seconds: float = 0.0
    reason: str = ""
    findings: list[Finding] = field(default_factory=list)


def masked(text: str) -> str:
    """A message without its numbers, to count alike ones together."""
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text)[:200]


class Ready:
    """A problem made for both sides: the package's object, and the judge's."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.namespace: dict[str, Any] = {"cs": cs, "np": np}
        self.error: Exception | None = None
        with arrays_by_name() as arrays:
            lines = problem_code(problem)
        self.namespace["a"] = self.arrays = arrays
        self.bytes = [array.tobytes() for array in arrays]
        if any("scipy" in line for line in lines):
            import scipy.sparse

            self.namespace["scipy"] = scipy
        with np.errstate(all="ignore"):
            self.judged = judged(problem)
        try:
            exec("\n".join(lines), self.namespace)
        except Exception as error:
            self.error = error

    def changed(self) -> int | None:
        """The number of an array that was written to, or None."""
        for i, (array, before) in enumerate(zip(self.arrays, self.bytes, strict=True)):
            if array.tobytes() != before:
                return i
        return None

    def singular(self) -> bool:
        """Whether a set has a zero diagonal but rows or columns that are not zero."""
        diagonal = np.diag(self.judged.A)
        return any(
            steady and not diagonal[part.rows].any()
            for part, steady in zip(self.judged.parts, self.judged.steady, strict=True)
        )


def attempt(case: Case, ready: Ready | None = None) -> Outcome:
    """Solve the case and judge it."""
    ready = Ready(case.problem) if ready is None else ready
    outcome = Outcome(case.number, case.method, case.problem.kind, "refused")
    if ready.error is not None:
        return _refusal(outcome, ready.error, "the problem: ")
    before, wall, cpu = ready.namespace["problem"], time.perf_counter(), time.process_time()
    with arrays_by_name() as arrays, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        method, making, solving = method_code(case), solver_code(case), solve_code(case)
        unlimited = "dictionary_bytes=0" in method
        space = {**ready.namespace, "problem": before, "a": arrays}
        given = [array.tobytes() for array in arrays]
        try:
            eval(method, space)
        except Exception as error:
            text = f"{method} is legal by its declaration: {error}"
            outcome.findings.append(Finding("legal setting refused", text))
            return outcome
        try:
            exec(making, space)
            wall, cpu = time.perf_counter(), time.process_time()
            exec("\n".join(solving), space)
        except LookupError as error:
            if case.callback is None or case.callback[0] != "raise" or error.args:
                return _refusal(outcome, error, unlimited=unlimited)
            outcome.status = "callback raised"
        except Exception as error:
            return _refusal(outcome, error, unlimited=unlimited)
    # Either clock alone is misled: by other processes, or by several threads.
    outcome.seconds = min(time.perf_counter() - wall, time.process_time() - cpu)
    solves = 1 + (case.before is not None) + (case.initial is not None and len(case.initial) != 2)
    limit = case.options.get("max_seconds", np.inf) + PATIENCE
    if case.options.get("local") == "block":
        limit += LONG_SWEEP
    if outcome.seconds > solves * limit and case.initial is None:
        text = f"{outcome.seconds:.2f} s with max_seconds={case.options['max_seconds']}"
        outcome.findings.append(Finding("slow", text))
    if ready.changed() is not None or given != [array.tobytes() for array in arrays]:
        outcome.findings.append(Finding("input changed", f"array {ready.changed()}"))
        ready.bytes = [array.tobytes() for array in ready.arrays]
    for one in told:
        text = f"{one.category.__name__}: {one.message}"
        outcome.findings.append(Finding("warning", text))
    if outcome.status != "callback raised":
        _judge_result(case, ready, space["result"], outcome)
    return outcome


def _refusal(
    outcome: Outcome, error: Exception, what: str = "", unlimited: bool = False
) -> Outcome:
    """An error in place of a result. `unlimited`: the case asked for a dictionary of any size."""
    text = f"{what}{type(error).__name__}: {error}"
    too_large = unlimited and isinstance(error, MemoryError) and "dictionary of" in str(error)
    if (isinstance(error, _REFUSALS) or too_large) and str(error):
        outcome.reason = masked(text)
    else:
        outcome.findings.append(Finding("exception", text))
    return outcome


def _flat(value: Any) -> np.ndarray:
    parts = value if isinstance(value, list) else [value]
    return np.concatenate([np.asarray(part, dtype=float).ravel() for part in parts])


def tolerances_of(case: Case) -> tuple[float, float]:
    """rtol and atol as the stop rule takes them."""
    usual = 1e-4 if case.options.get("dtype") == "float32" else 1e-6
    rtol, atol = case.options.get("rtol", usual), case.options.get("atol", 0.0)
    return (0.0 if rtol is None else rtol), (0.0 if atol is None else atol)


def _judge_result(case: Case, ready: Ready, result: Any, outcome: Outcome) -> None:
    outcome.status = result.status
    lam, reference = _flat(result.impulses), ready.judged
    if result.status not in STATUSES:
        outcome.findings.append(Finding("unknown status", result.status))
    if lam.shape != reference.b.shape:
        outcome.findings.append(Finding("wrong shape", f"{lam.shape}"))
        return
    if not np.all(np.isfinite(lam)):
        outcome.findings.append(Finding(f"nan, {result.status}", f"{result.message}"))
        return
    for verdict in _verdicts(case, reference, result, lam):
        if verdict is not None:
            text = f"{verdict.text}; {result.message}"
            outcome.findings.append(Finding(verdict.kind, text, verdict))


def _verdicts(case: Case, reference: judge.Judged, result: Any, lam: np.ndarray) -> list:
    rtol, atol = tolerances_of(case)
    found = [reported(reference, result, lam)]
    if result.status in ("converged", "inaccurate") and case.options.get("stop") is None:
        single = result.status == "inaccurate" and case.options.get("dtype") == "float32"
        eps = 2.0**-23 if single else judge.EPS
        found.append(judge.judge_solution(reference, lam, rtol, atol, eps))
        if found[-1] is None and result.status == "converged":
            found.append(judge.judge_rest(reference, lam))
    if result.status in ("infeasible", "unbounded"):
        found.append(judge_no_solution(case, reference, result, rtol, atol))
    return found


def judge_no_solution(
    case: Case, reference: judge.Judged, result: Any, rtol: float, atol: float
) -> judge.Verdict | None:
    """A claim that there is no solution, by its certificate and by a solution that is known."""
    if "certificate" not in result.info:
        return judge.Verdict("wrong certificate", "info has none")
    d = _flat(result.info["certificate"])
    friction = result.status == "unbounded"
    verdict = judge.judge_certificate(reference, d, rtol, atol, friction=friction)
    known = case.problem.known
    if verdict is None and known is not None and not friction:
        solves = judge.judge_solution(reference, known, rtol, atol) is None
        contradicts = solves and judge.is_beyond_construction(reference, known, d)
        if contradicts and judge.within_reach(reference, known, rtol, atol):
            return judge.Verdict("wrong infeasible claim", "a solution is known by construction")
    return verdict


def reported(reference: judge.Judged, result: Any, lam: np.ndarray) -> judge.Verdict | None:
    """Whether xi and the natural map that are reported are those of the impulses."""
    with np.errstate(all="ignore"):
        rounding = reference.size @ np.abs(lam) + np.abs(reference.b)
        off = np.abs(_flat(result.residual_velocities) - (reference.A @ lam + reference.b))
    limit = 16.0 * judge.ROUNDINGS * judge.EPS * rounding + 1e-300
    if np.any(~(off <= limit) & np.isfinite(rounding)):
        row = int(np.argmax(off - limit))
        text = f"row {row} of A lambda + b is off by {off[row]:.3e}, rounding {limit[row]:.1e}"
        return judge.Verdict("wrong residual_velocities", text, -1, float(limit[row]), row)
    if not reference.steady.all():
        return None
    measured = judge.defects(reference, lam)
    largest = float(np.max(measured.delta, initial=0.0))
    # Squares vanish below the root of the smallest number, and with them the norms of tangents.
    slack = judge.ROUNDINGS * float(np.max(measured.phi, initial=0.0)) + 1e-9 * largest + 1e-150
    if any(isinstance(one, Polygon) for one in reference.sets):
        slack += 1e-9 * float(np.max(np.abs(lam), initial=0.0))  # its reference divides by edges
    if not abs(result.natural_map - largest) <= slack and np.isfinite(largest):
        text = f"natural_map is {result.natural_map:.6e}, but {largest:.6e} (phi {slack:.1e})"
        worst = int(np.argmax(measured.delta))
        return judge.Verdict("wrong natural_map", text, worst, slack)
    return None


def repeat(case: Case, **changes: Any) -> Outcome:
    """Attempt the case with other fields."""
    return attempt(replace(case, **changes))
