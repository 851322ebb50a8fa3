"""Mixed linear complementarity problems, solved directly by pivoting (S3)."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import Any, Never

import numpy as np

from . import _core
from ._arrays import is_sparse, real_array, spread
from ._matrices import csr_of
from ._options import apart
from ._sparse import Csr
from ._specific_options import options_of, taken
from ._suggestions import nearest, with_suggestion
from .result import History, format_seconds

__all__ = [
    "MlcpResult",
    "MlcpSolver",
    "elimination_tree",
    "engines",
    "fill_order",
    "rules",
    "solve_mlcp",
]

# The C library's table of the options.
_OPTIONS = options_of(_core.mlcp_options())
_COLUMNS = ("step", "island", "infeasible", "tight", "changed")


@dataclass(eq=False, slots=True)
class MlcpResult:
    """The answer of `solve_mlcp`.

    Attributes
    ----------
    x
        ``(n,)``, within its bounds.
    w
        A x + b with the matrix as it was given, ``(n,)``.
    index_set
        ``(n,)``, int8: where each row is, -1 at `lo`, 0 free, 1 at `hi`. Accepted by `initial`.
    residual
        The largest ``|x_i - clip(x_i - rho_i w_i, lo_i, hi_i)|``, rho_i = 1 / A_ii: zero at the
        solution. Evaluated from x and the given data alone.
    residual_scaled
        The largest of them over ``rho_i V``; `tolerance` bounds it. V is the largest of them over
        rho_i at ``x = clip(0, lo, hi)`` among the rows connected with row i.
    complementarity
        The largest ``|w_i|`` times the distance of x_i from its active bound.
    worst_row
        The row of `residual_scaled`; -1 without rows.
    converged
        ``residual_scaled <= tolerance``.
    status
        ``"converged"``, ``"max_pivots"``, ``"cycling"`` (index sets repeated, for every threshold
        of rounding), ``"inaccurate"`` (pivoting ended, but A is so badly conditioned, or so
        unsymmetric, that the residual is above `tolerance`) or ``"ray"`` (Lemke's method found an
        unbounded ray).
    message
        What the solve reached and, if it did not converge, what to try.
    pivots, single_pivots
        Changes of the index set, and the number of them that changed a single row because block
        steps made no progress.
    factorizations, refinements
        Factors made (or changed), and steps of iterative refinement.
    interior_steps
        Interior-point steps (option `interior`); each also counts as a factorization.
    condition
        An estimate of the condition number of A_FF in the 1-norm, the largest of all islands; None
        unless requested, and with Lemke's method, which factors nothing.
    time
        Seconds.
    history
        One row per pivot: step, island, infeasible rows and tight rows before it, rows changed.
    info
        Method, engine, kernel, islands, threads, asymmetry of A, bytes, set-up seconds, warnings;
        with ``engine="cached"`` also ``"cache"``: hits (tight rows whose removal was found), misses
        (removals made), evictions, entries, bytes and most_bytes, of this solve; with `reuse` also
        ``"reuse"``: solves with a factor from before an update, their steps, and how many failed.
    """

    x: np.ndarray
    w: np.ndarray
    index_set: np.ndarray
    residual: float
    residual_scaled: float
    complementarity: float
    worst_row: int
    converged: bool
    status: str
    message: str
    pivots: int
    single_pivots: int
    factorizations: int
    refinements: int
    interior_steps: int
    condition: float | None
    time: float
    history: History
    info: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"MlcpResult({self.status} after {self.pivots} pivots, {format_seconds(self.time)}, "
            f"scaled residual {self.residual_scaled:.1e})"
        )


class MlcpSolver:
    """A solver of any number of mixed linear complementarity problems with one matrix.

    Find x and w with

    ``A x + b = w``, ``w = w+ - w-``, ``0 <= w+ ⟂ x - lo >= 0``, ``0 <= w- ⟂ hi - x >= 0``

    for a symmetric positive definite A (S3 eq. 1.20, with b negated). The connected parts
    of A, its islands, are solved separately.

    Parameters
    ----------
    A
        ``(n, n)``: dense, SciPy sparse, or the CSR triple ``(data, indices, indptr)``. If A
        is slightly unsymmetric, (A + Aᵀ)/2 is factored, ``result.info`` reports it, and answers are
        judged with the given A.
    method
        ``"bpp"``, block principal pivoting: all infeasible rows change at once (Júdice and Pires
        1994; S3 Algorithm 2.1). ``"murty"``: one of them at a time. ``"keller"`` keeps x within its
        bounds, ``"dantzig"`` keeps feasible rows feasible, and both solve one row after another.
        ``"lemke"`` works on a full dictionary, which needs n² numbers and n² operations per pivot,
        where n counts rows with two bounds twice; A may be semidefinite, and `engine` and `initial`
        have no effect. See `rules`.
    engine
        How A_FF is factored from one index set to the next; see `engines`. ``"auto"``: the one with
        the fewest operations, for each island.
    tolerance
        An answer has converged if ``residual_scaled`` is at most this.
    block_steps
        bpp: maximum block steps, which change many rows at once, before single pivots.
    stall_steps
        bpp: block steps without a new minimum of infeasible rows before switching to single pivots,
        which continue until there is one (p of Júdice and Pires).
    max_pivots
        Maximum pivots per island. None: 100 + 20 × rows.
    refinements
        Maximum steps of iterative refinement per linear system; made only if its residual exceeds
        rounding.
    condition
        Whether to estimate the condition number of A_FF at the solution, which takes a few solves.
    cache_bytes
        Engine ``"cached"``: memory limit of its cache for all islands together. The cache is kept
        between solves; the least recently used entries are evicted first.
    interior
        bpp: where block steps would take longer, predict the index set by interior-point steps
        (Mehrotra 1992); block steps then find the exact solution. Engines that factor from scratch
        allow it (``"envelope"``, ``"refactor"``, ``"sparse"``). False: block and single pivots.
    reuse
        After an `update`: maximum steps of conjugate gradients, preconditioned by the previous
        factor, for a linear system with the same free rows; a new factor is made if its residual
        then still exceeds rounding. This saves time if a factor takes much longer than a few solves
        and A changes little. 0: factors are not reused.
    islands
        ``"auto"``: solve the connected parts of A separately. False: as one system.
    threads
        Maximum number of threads that solve islands, the largest first; None: as many as there are.
        One thread solves problems of less than 1,024 rows. Results do not depend on it.
    exact_threads
        Whether as many threads as `threads` says solve islands, even of few rows: for benchmarks
        and tests.

    Raises
    ------
    ValueError
        For unknown names and for data out of range, naming argument, index and value.
    TypeError
        For arguments of a wrong type, naming the argument.

    Examples
    --------
    >>> import contactsolve as cs
    >>> solver = cs.MlcpSolver([[2.0, 1.0], [1.0, 2.0]])
    >>> first = solver.solve([-1.0, 1.0], lo=0.0)
    >>> first.x
    array([0.5, 0. ])
    >>> solver.solve([-1.1, 1.0], lo=0.0, initial=first).pivots
    0
    """

    def __init__(
        self,
        A: Any,
        *,
        method: str = "bpp",
        engine: str = "auto",
        tolerance: float = 1e-9,
        block_steps: int = 35,
        stall_steps: int = 10,
        max_pivots: int | None = None,
        refinements: int = 2,
        condition: bool = False,
        cache_bytes: int = 64 << 20,
        interior: bool = True,
        reuse: int = 0,
        islands: str | bool = "auto",
        threads: int | None = None,
        exact_threads: bool = False,
        **unknown: Never,
    ) -> None:
        _refuse_unknown("MlcpSolver", unknown)
        data, indices, indptr = _csr(A)
        given = {
            "method": method,
            "engine": engine,
            "tolerance": tolerance,
            "block_steps": block_steps,
            "stall_steps": stall_steps,
            "max_pivots": max_pivots,
            "refinements": refinements,
            "condition": condition,
            "cache_bytes": cache_bytes,
            "interior": interior,
            "reuse": reuse,
            "islands": islands,
            "threads": threads,
            "exact_threads": exact_threads,
        }
        try:
            self._core = _core.Mlcp(data, indices, indptr, _besides_defaults(given))
        except ValueError as error:
            raise with_suggestion(error) from None
        self.rows = len(indptr) - 1
        self._tolerance, self._reuse = tolerance, reuse
        self._describe()

    def _describe(self) -> None:
        self._info = self._core.describe()
        asymmetry = self._info["asymmetry"]
        self._info["warnings"] = []
        if asymmetry > 1e-12:
            self._info["warnings"].append(
                f"A is unsymmetric, by {asymmetry:.1e} of its largest entry: (A + Aᵀ)/2 is "
                f"factored, and the answer is judged with the given A"
            )

    def update(self, A: Any) -> None:
        """Replace the matrix by another one with the same number of rows.

        Orders and patterns are kept, which saves most of the set-up, unless an entry that was zero
        becomes nonzero. Factors are made again when they are needed, or reused (see `reuse`).

        Parameters
        ----------
        A
            As for `MlcpSolver`.

        Raises
        ------
        ValueError
            For data out of range, and for another number of rows; the solver is then unchanged.
        RuntimeError
            If the solver is running.

        Examples
        --------
        >>> import contactsolve as cs
        >>> solver = cs.MlcpSolver([[2.0, 1.0], [1.0, 2.0]], reuse=8)
        >>> first = solver.solve([-1.0, -1.0])
        >>> solver.update([[2.01, 1.0], [1.0, 2.0]])
        >>> solver.solve([-1.0, -1.0], initial=first).factorizations
        0
        """
        self._core.update(*_csr(A))
        self._describe()

    @property
    def info(self) -> dict[str, Any]:
        """Choices that were made: method, engine, kernel, islands, bytes, set-up time, warnings."""
        return {**self._info, "warnings": list(self._info["warnings"])}

    def solve(self, b: Any, lo: Any = 0.0, hi: Any = np.inf, *, initial: Any = None) -> MlcpResult:
        """Solve for one right side and its bounds.

        Parameters
        ----------
        b
            ``(n,)``.
        lo, hi
            Bounds of x: numbers or ``(n,)``, infinite where there are none. A row without bounds is
            free: w = 0 there.
        initial
            The initial index set, ``(n,)`` of -1, 0 and 1, or an `MlcpResult`; by default all rows
            are free (S3). It changes the number of pivots, not the answer.

        Raises
        ------
        ValueError
            For data out of range, and if A is not positive definite: the message names the row, and
            the compliance (to add to every diagonal entry) that makes it so.
        RuntimeError
            If the solver is already running.
        """
        shape = (self.rows,)
        answer = self._core.solve(
            real_array("b", b),
            spread("lo", real_array("lo", lo), shape),
            spread("hi", real_array("hi", hi), shape),
            _index_set(initial),
        )
        return self._result(answer)

    def _result(self, answer: dict[str, Any]) -> MlcpResult:
        info, status = self.info, answer["status"]
        cache, reuse = answer.pop("cache"), answer.pop("reuse")
        if info["engine"] == "cached":
            info["cache"] = cache
        if self._reuse:
            info["reuse"] = reuse
        answer["history"] = History(_COLUMNS, answer["history"])
        if math.isnan(answer["condition"]):
            answer["condition"] = None
        pivots, scaled, worst = (answer[n] for n in ("pivots", "residual_scaled", "worst_row"))
        return MlcpResult(
            **answer,
            converged=status == "converged",
            message=_message(status, pivots, scaled, worst, self._tolerance, info["asymmetry"]),
            info=info,
        )

    def __repr__(self) -> str:
        info = self._info
        return f"MlcpSolver({self.rows} rows, {info['method']}, {info['engine']})"


# The very objects of the signature, which need no conversion.
_DEFAULTS = {
    name: parameter.default for name, parameter in inspect.signature(MlcpSolver).parameters.items()
}


def _besides_defaults(given: dict[str, Any]) -> dict[str, float | str]:
    """Return the options for the C library, without those that were left alone."""
    changed = {name: value for name, value in given.items() if value is not _DEFAULTS[name]}
    if "islands" in changed:
        changed["islands"] = apart(changed["islands"])
    return taken(_OPTIONS, changed)


def _refuse_unknown(caller: str, given: dict[str, Any]) -> None:
    """Raise for unknown options, with a suggestion."""
    for name in given:
        if name not in _OPTIONS:
            near = nearest(name, _OPTIONS)
            hint = f": did you mean {near!r}?" if near else f"; known: {', '.join(_OPTIONS)}"
            raise TypeError(f"{caller} has no option {name!r}{hint}")


def solve_mlcp(
    A: Any, b: Any, lo: Any = 0.0, hi: Any = np.inf, *, initial: Any = None, **options: Any
) -> MlcpResult:
    """Solve a mixed linear complementarity problem directly, by pivoting.

    ``A x + b = w+ - w-``, ``0 <= w+ ⟂ x - lo >= 0``, ``0 <= w- ⟂ hi - x >= 0`` (S3 eq. 1.20)

    Parameters
    ----------
    A, **options
        As for `MlcpSolver`: ``method="bpp"``, ``engine="auto"``, ``tolerance=1e-9``, ...
    b, lo, hi, initial
        As for `MlcpSolver.solve`.

    Returns
    -------
    MlcpResult
        A missed tolerance never raises: see ``result.converged`` and ``result.message``.

    Raises
    ------
    ValueError
        As `MlcpSolver` and its ``solve``.

    Examples
    --------
    >>> import contactsolve as cs
    >>> result = cs.solve_mlcp([[2.0, 1.0], [1.0, 2.0]], [-1.0, 1.0])
    >>> result.x, result.index_set
    (array([0.5, 0. ]), array([ 0, -1], dtype=int8))
    """
    _refuse_unknown("solve_mlcp", options)
    return MlcpSolver(A, **options).solve(b, lo, hi, initial=initial)


def rules() -> dict[str, str]:
    """Return one line on each pivoting method, by name."""
    return dict(_core.rules())


def engines() -> dict[str, str]:
    """Return one line on each factorization engine, by name."""
    return dict(_core.engines())


def fill_order(A: Any, name: str = "reverse_cuthill_mckee") -> np.ndarray:
    """Return an order in which a symmetric matrix fills little when it is factored.

    Parameters
    ----------
    A
        As for `MlcpSolver`; only its pattern counts, and that of Aᵀ.
    name
        ``"reverse_cuthill_mckee"``, for a narrow envelope (S3 section 2.2.3), ``"minimum_degree"``
        for few entries, or ``"natural"``.

    Returns
    -------
    ndarray
        ``order[new] = old``, ``(n,)``.

    Examples
    --------
    >>> import contactsolve as cs
    >>> A = [[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    >>> cs.mlcp.fill_order(A, "minimum_degree")
    array([0, 1, 2])
    """
    known = ("natural", "reverse_cuthill_mckee", "minimum_degree")
    if name not in known:
        raise ValueError(f"name: {name!r} is unknown; known: {', '.join(known)}")
    indices, indptr = _pattern(A)
    if name == "natural":
        return np.arange(len(indptr) - 1)
    return _core.fill_order(name, indices, indptr)


def elimination_tree(A: Any, order: Any = None) -> np.ndarray:
    """Return the elimination tree of a symmetric matrix (S3 section 4.1; Liu 1990).

    Parameters
    ----------
    A
        As for `fill_order`.
    order
        ``order[new] = old``; the rows' own by default.

    Returns
    -------
    ndarray
        Each row's parent in the new order, -1 for a root: the first row below it that its column of
        the factor reaches.
    """
    indices, indptr = _pattern(A)
    n = len(indptr) - 1
    new = np.arange(n) if order is None else np.asarray(order)
    if not np.array_equal(np.sort(new), np.arange(n)):
        raise ValueError(f"order is no permutation of 0 to {n - 1}")
    place = np.empty(n, np.int64)
    place[new] = np.arange(n)
    row = place[np.repeat(np.arange(n), np.diff(indptr))]
    return _core.elimination_tree(*_compressed(n, row, place[indices]))


# ---- arguments ----------------------------------------------------------------------------------


def _csr(A: Any) -> Csr:
    """Return a square matrix in compressed rows; a dense one with its zeros, which C drops."""
    if is_sparse(A) or (isinstance(A, tuple) and len(A) == 3):
        return csr_of(A)
    dense = real_array("A", A)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise ValueError(f"A has shape {dense.shape}: a square matrix is needed")
    n = dense.shape[0]
    return dense.ravel(), np.tile(np.arange(n), n), np.arange(n + 1) * n


def _compressed(n: int, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices and indptr of a pattern, each entry once."""
    entries = np.unique(row * n + column) if n else np.zeros(0, np.int64)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(entries // max(n, 1), minlength=n), out=indptr[1:])
    return entries % max(n, 1), indptr


def _pattern(A: Any) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of A and Aᵀ together, checked."""
    data, indices, indptr = csr_of(A)
    n = len(indptr) - 1
    # The C library checks the matrix when it makes a solver.
    _core.Mlcp(data, indices, indptr, {"method": "lemke", "threads": 1})
    row, kept = np.repeat(np.arange(n), np.diff(indptr)), data != 0
    row, column = row[kept], indices[kept]
    return _compressed(n, np.concatenate([row, column]), np.concatenate([column, row]))


def _index_set(initial: Any) -> np.ndarray | None:
    if initial is None:
        return None
    if isinstance(initial, MlcpResult):
        return initial.index_set
    given = real_array("initial", initial)
    wrong = ~np.isin(given, (-1, 0, 1))
    if wrong.any():
        at = np.argwhere(wrong)[0]
        where = ", ".join(map(str, at))
        raise ValueError(
            f"initial[{where}] is {given[tuple(at)]:g}: -1 (low), 0 (free) or 1 (high) is needed"
        )
    return given.astype(np.int8)


def _message(
    status: str, pivots: int, scaled: float, worst: int, tolerance: float, asymmetry: float
) -> str:
    reached = f"scaled residual {scaled:.1e}"
    if status == "converged":
        return f"converged after {pivots} pivots: {reached}"
    asked = f"{reached}, at row {worst}; asked was {tolerance:g}"
    if status == "cycling":
        return (
            f"index sets came again after {pivots} pivots: {asked}. A is close to singular: try a "
            f"compliance on its diagonal"
        )
    if status == "inaccurate" and asymmetry > tolerance:
        return (
            f"(A + Aᵀ)/2 was solved with after {pivots} pivots, but with A as it was given "
            f"{asked}. A is unsymmetric, by {asymmetry:.1e} of its largest entry: too much for "
            f"pivoting"
        )
    if status == "inaccurate":
        return (
            f"rounding ended the work after {pivots} pivots: {asked}. A is badly conditioned: try "
            f"a compliance on its diagonal, or a larger tolerance"
        )
    if status == "ray":
        return (
            f"Lemke's method met a ray after {pivots} pivots: {asked}. There may be no solution; "
            f"try a compliance on the diagonal of A"
        )
    if status == "stopped":
        return f"stopped after {pivots} pivots: {asked}"
    return f"not solved after {pivots} pivots: {asked}. Try a larger max_pivots, or method='bpp'"


def __dir__() -> list[str]:
    return sorted(__all__)
