"""A case as a script that runs by itself and fails as the case does."""

from __future__ import annotations

import inspect
import re

import numpy as np

import judge_numpy as judge
import reference_numpy
import reference_sets

from .attempt import PATIENCE, Finding, tolerances_of
from .spec import Case, judge_sets, judged, literal, problem_code, solve_code, solver_code

# What a set's prox is made of, beside its class.
_HELPERS = {
    "Ellipse": [reference_sets.bound_of, reference_sets.nearest_in_ellipse],
    "Polygon": [reference_sets.bound_of, reference_sets.nearest_in_polygon],
    "RoundedPolygon": [reference_sets.bound_of, reference_sets.nearest_in_polygon],
    "Ellipsoid": [reference_sets.bound_of, reference_sets.nearest_in_ellipse],
    "Contensou": [reference_sets.bound_of],
    "ContensouCoupled": [
        reference_sets.bound_of,
        reference_sets.nearest_in_ellipse,
        reference_sets.Contensou,
    ],
    "Cone": [reference_numpy.cone_projection],
    "Rolling": [reference_numpy.Disc],
}
_FLAT = [
    "parts = result.impulses if isinstance(result.impulses, list) else [result.impulses]",
    "lam = np.concatenate([np.ravel(part) for part in parts])",
]


def snippet(case: Case, finding: Finding) -> str:
    """The script: it fails where the package does what the finding says, and only there."""
    definitions, check = _check(case, finding)
    body = [*problem_code(case.problem), solver_code(case), *solve_code(case), "print(result)"]
    imports = ["from dataclasses import dataclass", ""] if definitions else []
    imports.append("import numpy as np")
    if any("scipy." in line for line in body):
        imports.append("import scipy.sparse")
    imports.append("import contactsolve as cs")
    head = [f"# {finding.kind}: {line}" for line in finding.text.splitlines()[:1]]
    return "\n".join([*head, *imports, *definitions, "", *body, *check]) + "\n"


def _check(case: Case, finding: Finding) -> tuple[list[str], list[str]]:
    """Definitions, and statements that fail; a crash, a hang and an exception need none."""
    kind, verdict = finding.kind, finding.verdict
    if verdict is None:
        limit = case.options.get("max_seconds", np.inf) + PATIENCE
        return [], [f"assert result.time < {limit!r}, result.time"] if kind == "slow" else []
    if kind.startswith("wrong claim"):
        return _check_of_part(case, verdict, _assertion_of_claim(verdict))
    if kind == "wrong natural_map":
        assertion = f"assert abs(result.natural_map - delta) <= {verdict.limit!r}"
        return _check_of_part(case, verdict, assertion)
    reference = judged(case.problem)
    if kind == "wrong residual_velocities":
        return [], _check_of_row(reference, verdict)
    if kind.startswith("not P_C(0)"):
        rows, rest = reference.parts[verdict.part].rows, judge.unloaded(reference)
        wanted = f"np.array({rest[rows].tolist()})"
        claim = f"assert result.status != 'converged' or (lam[{rows.tolist()}] == {wanted}).all()"
        return [], [*_FLAT, claim]
    return [], _check_of_certificate(case, reference)


def _check_of_certificate(case: Case, reference: judge.Judged) -> list[str]:
    """The sign of each row of the certificate where its set has one, and its inequality."""
    floor, top = np.full(len(reference.b), -np.inf), np.full(len(reference.b), np.inf)
    for one, span in zip(reference.sets, reference.blocks, strict=True):
        for i, row in enumerate(range(span.start, span.stop)):
            unit = np.zeros(span.stop - span.start)
            for sign, bound in ((-1.0, floor), (1.0, top)):
                unit[i] = sign
                if judge.recession_error(one, unit, False) > 0.0 and not isinstance(
                    one, judge.Cone
                ):
                    bound[row] = 0.0
    rtol, atol = tolerances_of(case)
    tau = np.zeros_like(reference.b)
    limits = np.where(reference.steady, judge.tolerances(reference, rtol, atol), np.inf)
    for part, value in zip(reference.parts, limits, strict=True):
        tau[part.rows] = value
    return [
        "if result.status == 'infeasible':",
        "    d = result.info['certificate']",
        "    d = np.concatenate([np.ravel(x) for x in (d if isinstance(d, list) else [d])])",
        f"    A, b = {literal(reference.A)}, {literal(reference.b)}",
        f"    assert (d >= {literal(floor)}).all() and (d <= {literal(top)}).all(), d",
        f"    seen, tau = np.abs(A.T @ d), {literal(tau)}",
        "    seen[seen <= 8 * 2.0**-52 * (np.abs(A.T) @ np.abs(d))] = 0.0",
        "    left = np.sum(np.where(seen > 0, seen * tau, 0.0)) / (4 * 2.0**-52)",
        "    assert left < -b @ d, (left, -b @ d)",
    ]


def _assertion_of_claim(verdict: judge.Verdict) -> str:
    """What a claim of a solution promises of one set."""
    return f"assert result.status not in ('converged', 'inaccurate') or delta <= {verdict.limit!r}"


def _check_of_row(reference: judge.Judged, verdict: judge.Verdict) -> list[str]:
    row = verdict.row
    return [
        *_FLAT,
        f"A_row, b_row = np.array({reference.A[row].tolist()}), {float(reference.b[row])!r}",
        "xi = result.residual_velocities",
        "xi = np.concatenate([np.ravel(x) for x in (xi if isinstance(xi, list) else [xi])])",
        f"assert abs(xi[{row}] - (A_row @ lam + b_row)) <= {verdict.limit!r}",
    ]


def _source(thing: object) -> list[str]:
    """The text of a function or a class, the latter without what only other tests ask of it."""
    text = inspect.getsource(thing)
    if inspect.isclass(thing):
        text = re.sub(r"\n    def reaches.*?(?=\n    def |\n    @|\Z)", "", text, flags=re.DOTALL)
    return text.rstrip().splitlines()


def _check_of_part(
    case: Case, verdict: judge.Verdict, assertion: str
) -> tuple[list[str], list[str]]:
    """Definitions, and statements that hold one coupled set to the stop rule."""
    reference, one = judged(case.problem), None
    part = reference.parts[verdict.part]
    one = judge_sets(case.problem)[part.block]
    kind = type(one).__name__
    definitions = [line for x in (*_HELPERS.get(kind, []), type(one)) for line in _spaced(x)]
    span = reference.blocks[part.block]
    block = np.arange(span.start, span.stop)
    rho = np.zeros(len(block))
    for s, other in enumerate(reference.parts):
        if other.block == part.block:
            rho[other.inside] = reference.rho[s]
    rtol, atol = tolerances_of(case)
    told = ", ".join(f"{k}={literal(getattr(one, k))}" for k in one.__dataclass_fields__)
    check = [
        f"# Rows {span.start} to {span.stop - 1} of A lambda + b, for rtol={rtol}, atol={atol}.",
        f"A = np.array({reference.A[block].tolist()})",
        f"b = np.array({reference.b[block].tolist()})",
        *_FLAT,
        f"own, rho = lam[{span.start}:{span.stop}], np.array({rho.tolist()})",
        f"off = np.abs(own - {kind}({told}).prox(own - rho * (A @ lam + b)))",
        f"delta = off[{part.inside.tolist()}].max()",
        f"print(result.status, 'Delta', delta, 'limit', {verdict.limit!r})",
        assertion,
    ]
    return definitions, check


def _spaced(thing: object) -> list[str]:
    return ["", "", *_source(thing)]
