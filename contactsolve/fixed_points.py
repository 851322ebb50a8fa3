"""Outer fixed points around any solver of convex problems, such as Clarabel or SCS.

`methods.de_saxce` and `methods.tresca` are the same iterations with inner methods of this library,
and much faster. Here the inner solver is a Python function: one of another package (`clarabel`,
`scs`; the extra ``contactsolve[peers]`` installs both), of this one (`library`), or your own. The
natural map of Coulomb's law judges the impulses that it returns:

>>> import contactsolve as cs
>>> problem = cs.scenarios.random(5, bodies=8, rng=0)
>>> result = cs.fixed_points.solve(problem, cs.fixed_points.library("apgd"), rtol=1e-8)
>>> result.converged
True
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _core, sets
from .problem import Problem
from .result import History, Result
from .solver import Solver
from .solver import solve as solve_problem

__all__ = ["Convex", "Inner", "clarabel", "library", "scs", "solve"]


@dataclass(frozen=True, eq=False)
class Convex:
    """A convex problem, min ½ xᵀAx + bᵀx over impulses x of K contacts with m rows.

    Attributes
    ----------
    A
        The symmetric part of the Delassus matrix, sparse or dense, ``(Km, Km)`` [1/kg].
    b
        ``(K, m)`` [m/s], with De Saxcé's shift.
    mu
        Friction coefficients of the cones ``|x_t| <= mu x_n``, ``(K,)``; None if `radius` is given.
    radius
        Bounds of ``|x_t| <= radius`` with ``x_n >= 0``, ``(K,)`` [N s]; None if `mu` is given.
    """

    A: Any
    b: np.ndarray
    mu: np.ndarray | None = None
    radius: np.ndarray | None = None


Inner = Callable[[Convex, np.ndarray, float], np.ndarray]
"""An inner solver: from a problem, initial impulses ``(K, m)`` and a relative tolerance it returns
impulses."""


def solve(
    problem: Problem,
    inner: Inner,
    *,
    law: str = "de_saxce",
    rtol: float = 1e-6,
    atol: float = 0.0,
    max_iterations: int = 100,
    weight: float = 1.0,
    tolerance: float = 0.03,
    floor: float = 1e-10,
    initial: Any = None,
) -> Result:
    """Solve a Coulomb problem by convex problems whose shift or friction bounds are updated.

    Parameters
    ----------
    problem
        One group of contacts with discs, of 2 or 3 rows.
    inner
        The solver of the convex problems; see `Inner`.
    law
        ``"de_saxce"``: second-order cones, and ``mu |ξ_t|`` on the normal rows of b (De Saxcé and
        Feng 1998). ``"tresca"``: discs of the radii ``mu λ_n`` (Haslinger 1983).
    rtol, atol
        As for `Solver`.
    max_iterations
        Maximum number of convex problems.
    weight
        Weight of the new shift, or bound, against the one before: above 0, below 2.
    tolerance, floor
        The relative tolerance of an inner solve is `tolerance` times the current scaled natural
        map, and at least `floor`.
    initial
        Impulses to start from, or a `Result`.

    Returns
    -------
    Result
        The best iterate; the history has a row for each convex problem.

    Raises
    ------
    TypeError
        `inner` is not a function.
    ValueError
        The `law` is unknown, a number is out of range, the sets are not discs, or the inner solver
        returns another shape or values that are not finite.
    """
    if not callable(inner):
        raise TypeError(f"inner is {inner!r}: a function is needed, such as library({inner!r})")
    if law not in ("de_saxce", "tresca"):
        raise ValueError(f"law: {law!r} is unknown; known: de_saxce, tresca")
    if not 0.0 < weight < 2.0:
        raise ValueError(f"weight is {weight}: it must be above 0 and below 2")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance is {tolerance}: it must be above 0 and below 1")
    for name, value in (("floor", floor), ("max_iterations", max_iterations)):
        if not value >= 0:
            raise ValueError(f"{name} is {value}: it must be at least 0")
    if problem.grouped or not _has_discs(problem):
        raise ValueError("problem: one group of contacts with discs is needed (mu=)")

    # A solver without sweeps judges iterates by Coulomb's law.
    judge = Solver(problem, method="gauss_seidel", rtol=rtol, atol=atol, max_iterations=0)
    A, mu = problem.delassus(), np.broadcast_to(problem.mu, problem.contacts)
    convex = Convex((A + A.T) / 2, problem.b)

    # Solve a convex problem, judge its impulses, and update what is constant in the next one.
    best = last = judge.solve(initial=initial)
    rows, number, frozen = [_row(0, 0.0, last)], 0, _freeze(law, mu, last)
    begun = time.perf_counter()
    while not last.converged and number < max_iterations:
        number += 1
        wanted = max(tolerance * last.natural_map_scaled, floor)
        x = inner(_with(convex, law, mu, frozen), last.impulses, wanted)
        last = judge.solve(initial=_checked(x, problem, mu))
        frozen = np.maximum(frozen + weight * (_freeze(law, mu, last) - frozen), 0.0)
        rows.append(_row(number, time.perf_counter() - begun, last))
        if last.natural_map_scaled < best.natural_map_scaled:
            best = last
    return _law_result(last if last.converged else best, law, number, np.array(rows))


_COLUMNS = ("iteration", "time", "natural_map", "natural_map_scaled")


def _row(number: int, seconds: float, judged: Result) -> tuple[float, float, float, float]:
    return float(number), seconds, judged.natural_map, judged.natural_map_scaled


def _law_result(best: Result, law: str, number: int, rows: np.ndarray) -> Result:
    """Return the best result, with the figures of the outer iteration."""
    at = int(np.argmin(np.abs(rows[:, 3] - best.natural_map_scaled)))
    reached = f"natural map {best.natural_map:.2e} N s (scaled {best.natural_map_scaled:.1e})"
    how = "converged" if best.converged else "not converged"
    return replace(
        best,
        history=History(_COLUMNS, rows),
        status="converged" if best.converged else "max_iterations",
        iterations=number,
        time=float(rows[-1, 1]),
        message=f"{how} after {number} convex problems ({law}): {reached}",
        info={**best.info, "method": f"fixed_points {law}", "best_iteration": at},
    )


def _has_discs(problem: Problem) -> bool:
    """Whether one disc bounds all tangents of each contact."""
    described = _core.describe_set(problem.sets.name, problem.rows)
    coulomb = described["circular"] and described["frictional"]
    return bool(coulomb and described["coupling"][-1] == 1)


def _freeze(law: str, mu: np.ndarray, judged: Result) -> np.ndarray:
    """Return the constants of the next convex problem: normal impulses, or the shift."""
    if law == "tresca":
        return np.maximum(judged.impulses[:, 0], 0.0)
    return mu * np.linalg.norm(judged.residual_velocities[:, 1:], axis=1)


def _with(convex: Convex, law: str, mu: np.ndarray, frozen: np.ndarray) -> Convex:
    if law == "tresca":
        return replace(convex, radius=mu * frozen)
    shifted = convex.b.copy()
    shifted[:, 0] += frozen
    return replace(convex, b=shifted, mu=mu)


def _checked(x: Any, problem: Problem, mu: np.ndarray) -> np.ndarray:
    """Return the impulses of an inner solver, projected: interior points may leave the cone."""
    x = np.asarray(x, dtype=np.float64)
    if x.shape != problem.b.shape or not np.isfinite(x).all():
        raise ValueError(
            f"inner returned an array of shape {x.shape}"
            f"{'' if np.isfinite(x).all() else ' that is not finite'}: finite impulses "
            f"{problem.b.shape} are needed"
        )
    return sets.disc(mu).project(x)


# ---- inner solvers ------------------------------------------------------------------------------


def library(method: Any = "nesterov", **options: Any) -> Inner:
    """Return an inner solver of this library, with options of `Solver`."""
    options = {"max_iterations": 10000, **options}

    def inner(convex: Convex, start: np.ndarray, tolerance: float) -> np.ndarray:
        if convex.radius is None:
            within = sets.second_order_cone(convex.mu)
        else:
            within = sets.tresca(convex.radius)
        problem = Problem.from_delassus(convex.A, convex.b, rows=convex.b.shape[1], sets=within)
        result = solve_problem(problem, method=method, rtol=tolerance, initial=start, **options)
        return result.impulses

    return inner


@dataclass(frozen=True, eq=False)
class _Conic:
    """min ½ xᵀPx + qᵀx, h - Gx in a product of cones: zero, nonnegative, second-order.

    The unknowns are the impulses over `unit`, so that P and q are of order one.
    """

    P: Any
    q: np.ndarray
    G: Any
    h: np.ndarray
    zero: int
    nonnegative: int
    cones: int
    unit: float


def _conic(convex: Convex) -> _Conic:
    from scipy import sparse

    # Scale A and b to order one.
    contacts, m = convex.b.shape
    A = sparse.csc_matrix(convex.A)
    scale = float(A.diagonal().max(initial=0.0)) or 1.0
    unit = (float(np.abs(convex.b).max(initial=0.0)) or 1.0) / scale

    # The rows of G: equalities, inequalities, then cones.
    bounds = convex.mu if convex.radius is None else convex.radius
    assert bounds is not None
    frictional = np.flatnonzero(bounds > 0)
    normal = np.arange(contacts) * m
    tangents = normal[:, None] + np.arange(1, m)
    # With mu > 0 the cone implies lambda_n >= 0; without friction lambda_t = 0.
    inequalities = normal[bounds <= 0] if convex.radius is None else normal
    equalities = tangents[bounds <= 0].ravel()
    mu = convex.mu if convex.radius is None else None
    first = 0 * frictional if mu is None else mu[frictional]
    in_cones = np.column_stack([normal[frictional], tangents[frictional]]).ravel()
    columns = [equalities, inequalities, in_cones]
    factors = np.column_stack([first, np.ones((len(frictional), m - 1))]).ravel()
    values = -np.concatenate([np.ones(len(equalities) + len(inequalities)), factors])
    column = np.concatenate(columns)
    G = sparse.csc_matrix((values, (np.arange(len(column)), column)), (len(column), contacts * m))
    h = np.zeros(len(column))
    if convex.radius is not None:
        h[len(equalities) + len(inequalities) :: m] = convex.radius[frictional] / unit
    return _Conic(
        sparse.triu(A / scale, format="csc"), convex.b.ravel() / (scale * unit), G, h,
        len(equalities), len(inequalities), len(frictional), unit,
    )  # fmt: skip


LEAST_GAP = 1e-14  # smallest tolerance of other solvers


def _needs(name: str, error: ImportError) -> ImportError:
    return ImportError(f"{name} and SciPy are needed: pip install 'contactsolve[peers]' ({error})")


def clarabel(**settings: Any) -> Inner:
    """Return Clarabel's interior-point method as an inner solver.

    Parameters
    ----------
    **settings
        Attributes of ``clarabel.DefaultSettings``.

    Raises
    ------
    ImportError
        The package clarabel or SciPy is not installed.
    """
    try:
        import clarabel as peer
    except ImportError as error:
        raise _needs("clarabel", error) from None

    def inner(convex: Convex, start: np.ndarray, tolerance: float) -> np.ndarray:
        if not start.size:
            return start
        conic, own = _conic(convex), peer.DefaultSettings()
        # The energy is flat at its minimum: the error of the impulses is the root of the gap.
        gap = max(tolerance**2, LEAST_GAP)
        tolerances = {"tol_gap_abs": gap, "tol_gap_rel": gap, "tol_feas": max(tolerance, LEAST_GAP)}
        for name, value in {"verbose": False, **tolerances, **settings}.items():
            setattr(own, name, value)
        parts = [(peer.ZeroConeT, conic.zero), (peer.NonnegativeConeT, conic.nonnegative)]
        cones = [cone(count) for cone, count in parts if count]
        cones += [peer.SecondOrderConeT(start.shape[1])] * conic.cones
        solver = peer.DefaultSolver(conic.P, conic.q, conic.G, conic.h, cones, own)
        return np.reshape(solver.solve().x, start.shape) * conic.unit

    return inner


def scs(**settings: Any) -> Inner:
    """Return the splitting method SCS as an inner solver, which starts from the current impulses.

    Parameters
    ----------
    **settings
        Settings of ``scs.SCS``.

    Raises
    ------
    ImportError
        The package scs or SciPy is not installed.
    """
    try:
        import scs as peer
    except ImportError as error:
        raise _needs("scs", error) from None

    def inner(convex: Convex, start: np.ndarray, tolerance: float) -> np.ndarray:
        if not start.size:
            return start
        conic = _conic(convex)
        data = {"P": conic.P, "A": conic.G, "b": conic.h, "c": conic.q}
        cones = {"z": conic.zero, "l": conic.nonnegative, "q": [start.shape[1]] * conic.cones}
        told = {"verbose": False, "eps_abs": tolerance, "eps_rel": tolerance}
        solver = peer.SCS(data, cones, **{**told, **settings})
        x = start.ravel() / conic.unit
        answer = solver.solve(True, x=x, y=np.zeros(len(conic.h)), s=conic.h - conic.G @ x)
        return np.reshape(answer["x"], start.shape) * conic.unit

    return inner
