"""Conjugate gradients for symmetric block systems, stopped by the true residual (S5, 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._arrays import finite_array
from .._options import count, most_threads, one_of
from .preconditioner import Preconditioner, preconditioners
from .symmetric_blocks import SymmetricBlocks

__all__ = ["CGResult", "cg"]

_BLOCK = 3
_DTYPES = ("float64", "float32", "mixed")
_MOST_ITERATIONS = 100_000  # unless the caller asks for more,
_LIMIT = 10_000_000  # but no more than these: the history has a row for each
_COLUMNS = ("iteration", "claimed_residual", "preconditioned_norm", "residual")
# SciPy's `info`: 0 converged, > 0 the iterations made, < 0 a breakdown.
_BREAKDOWN = -1


@dataclass(frozen=True, eq=False)
class CGResult:
    """What `cg` returns: it unpacks as SciPy's ``x, info``.

    Attributes
    ----------
    x
        ``(3 n,)``, or the shape of b: the solution.
    info
        0: converged; the number of iterations if they, or what rounding allows, ended before;
        −1: A is not positive definite.
    status
        ``"converged"``, ``"max_iterations"``, ``"floor"`` (rounding errors keep the true residual
        where it is), ``"indefinite"``.
    message
        The same in words, with figures.
    iterations
        Their number.
    residual
        ‖b − A x‖, computed from x in double precision: the least that was found.
    claimed_residual
        What the recurrence of the iteration claims it to be, just before.
    history
        ``iteration``; ``claimed_residual``, ‖r‖ of the recurrence; ``preconditioned_norm``,
        √(r·M r); ``residual``, ‖b − A x‖, where it was computed; NaN elsewhere. Eisenstat's
        product, of ``ssor`` and ``block_ssor``, yields no claims but at these places.
    bytes
        What matrices and preconditioner were read, in all.
    seconds
        Of the iteration, and of ``set_up``: the preconditioner and its choice.
    preconditioner
        The `Preconditioner`, for the next solve with the same A.
    """

    x: np.ndarray
    info: int
    status: str
    message: str
    iterations: int
    residual: float
    claimed_residual: float
    history: dict[str, np.ndarray]
    bytes: float
    seconds: float
    set_up: float
    preconditioner: Preconditioner | None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.info))


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = "auto",
    dtype: str = "mixed",
    positions: Any = None,
    callback: Callable[[np.ndarray], object] | None = None,
    threads: int | None = None,
) -> CGResult:
    """Solve A x = b by preconditioned conjugate gradients (S5 section 4).

    The iteration ends when the true residual is small, ‖b − A x‖ ≤ max(rtol ‖b‖, atol): it is
    computed from x when the recurrence claims that it is, and takes the place of the recurrence's.
    Results have the same bits on any number of threads.

    Parameters
    ----------
    A
        A `SymmetricBlocks`, or what makes one, in eight parts.
    b
        ``(3 n,)``, ``(3 n, 1)`` or ``(n, 3)``.
    x0
        The start, as b; None: zero.
    rtol, atol
        The tolerances.
    maxiter
        The most iterations; None: ten for each row, but no more than 100,000.
    M
        A name of `preconditioners`; ``"auto"``, chosen by counted work; a `Preconditioner` of A,
        which is kept from solve to solve; None, as SciPy has it: ``"none"``.
    dtype
        ``"float64"``; ``"float32"``: all of the iteration but x and the true residual;
        ``"mixed"``: only what is read most, the preconditioner, is in single precision.
    positions
        ``(n, 3)``, the vertices, for ``M="multigrid"`` and ``"auto"``: as of `Preconditioner`.
    callback
        Called as ``callback(x)`` after each iteration, which then has one thread.
    threads
        The most threads; None: all that are available, and one for few vertices.

    Returns
    -------
    CGResult

    Raises
    ------
    ValueError
        A is not symmetric, an argument has NaN, a shape does not fit, an option is out of range.

    Examples
    --------
    >>> import numpy as np, contactsolve as cs
    >>> x, info = cs.sparse.cg(np.diag([2.0, 2, 2, 4, 4, 4]), np.ones(6), rtol=1e-9)
    >>> x.round(6), info
    (array([0.5 , 0.5 , 0.5 , 0.25, 0.25, 0.25]), 0)
    """
    # Arguments.
    dtype = one_of("dtype", _precision(dtype), _DTYPES)
    if not isinstance(A, SymmetricBlocks):
        A = M.A if isinstance(M, Preconditioner) else SymmetricBlocks(A)
    shape, right = _vector("b", b, A)
    x = np.zeros(A.shape[0]) if x0 is None else _vector("x0", x0, A)[1].copy()
    rtol, atol = _tolerance("rtol", rtol), _tolerance("atol", atol)
    most = min(10 * A.shape[0], _MOST_ITERATIONS)
    if maxiter is not None:
        most = count("maxiter", maxiter, least=0, most=_LIMIT)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {type(callback).__name__}: a function is needed")
    workers = most_threads(threads)

    # The preconditioner, and the iteration.
    begin = time.perf_counter()
    try:
        factor = _factor(A, right, x, rtol, atol) if M == "auto" else 1.0
        preconditioner = _preconditioner(A, M, dtype, positions, factor)
    except np.linalg.LinAlgError as failure:
        return _failed(A, shape, right, x, str(failure), time.perf_counter() - begin)
    whole = preconditioner._whole
    given = A._system(A.dtype == np.float32, whole)
    iterated = A._system(_reads_single(A, dtype, preconditioner), whole)
    set_up = time.perf_counter()
    told = _core.block_cg(
        given,
        iterated,
        preconditioner._core,
        right,
        x,
        rtol,
        atol,
        most,
        dtype == "float32",
        workers,
        callback,
    )
    return _result(
        told, x.reshape(shape), preconditioner, set_up - begin, time.perf_counter() - set_up
    )


def _precision(dtype: Any) -> Any:
    """Return the name of one of NumPy's, too."""
    return dtype if isinstance(dtype, str) else np.dtype(dtype).name


def _tolerance(name: str, given: Any) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {given!r}: a number is needed") from None
    if not 0 <= value < np.inf:
        raise ValueError(f"{name} is {value:g}: a number from 0 on is needed")
    return value


def _vector(name: str, given: Any, A: SymmetricBlocks) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the shape of a vector, and its numbers one after another."""
    vector = finite_array(name, given)
    rows = A.shape[0]
    if vector.shape not in ((rows,), (rows, 1), (rows // _BLOCK, _BLOCK)):
        raise ValueError(f"{name} has shape {vector.shape}: ({rows},) is needed")
    return vector.shape, np.ascontiguousarray(vector, np.float64).reshape(-1)


def _norm(x: np.ndarray) -> float:
    """Return the norm without BLAS, whose threads would spin beside those of the solve."""
    return float(np.sqrt(np.square(x).sum()))


def _factor(A: SymmetricBlocks, b: np.ndarray, x: np.ndarray, rtol: float, atol: float) -> float:
    """Return by how much the first residual is to be reduced."""
    rest = b - A.matvec(x).astype(np.float64) if x.any() else b
    unit = max(float(np.abs(b).max(initial=0)), float(np.abs(rest).max(initial=0)))
    if not 0 < unit < np.inf:
        return 1.0
    size, first = _norm(b / unit), _norm(rest / unit)
    return min(max(rtol * size, atol / unit) / first, 1.0) if first > 0 else 1.0


def _preconditioner(
    A: SymmetricBlocks, M: Any, dtype: str, positions: Any, factor: float
) -> Preconditioner:
    """Return a preconditioner with the present values of A, for a residual smaller by `factor`."""
    if isinstance(M, Preconditioner):
        if M.A is not A:
            raise ValueError("M is a preconditioner of another matrix than A")
        M.refresh()
        return M
    known = ", ".join(["auto", *sorted(preconditioners())])
    if M is None:
        M = "none"
    if not isinstance(M, str):
        wanted = f"a Preconditioner or a name is needed: {known}"
        raise TypeError(f"M is {type(M).__name__}: {wanted}")
    if M != "auto" and M not in preconditioners():
        raise ValueError(f"M: {M!r} is unknown; known: {known}")
    given = A._system(A.dtype == np.float32)
    kind = _core.choose_preconditioner(given, factor) if M == "auto" else M
    single = "float64" if dtype == "float64" else "float32"
    return Preconditioner(A, kind, dtype=single, positions=positions)


def _reads_single(A: SymmetricBlocks, dtype: str, M: Preconditioner) -> bool:
    """Whether the iteration's products read float: Eisenstat's are those of M."""
    if dtype == "float32" or A.dtype == np.float32:
        return True
    return dtype == "mixed" and M.kind in ("ssor", "block_ssor") and M.dtype == np.float32


def _message(told: dict[str, Any]) -> str:
    """Return the status in words."""
    made = f"after {told['iterations']} iterations"
    reached = f"|b - A x| is {told['residual']:.3g}, |b| {told['right']:.3g}"
    return {
        "converged": f"converged {made}: {reached}",
        "max_iterations": f"not converged {made}, the most that were allowed: {reached}",
        "floor": f"rounding errors keep the residual above its tolerance, found {made}: {reached}",
        "indefinite": f"A is not positive definite, found {made}: {reached}",
    }[told["status"]]


def _result(
    told: dict[str, Any], x: np.ndarray, M: Preconditioner, set_up: float, seconds: float
) -> CGResult:
    status = told["status"]
    info = {"converged": 0, "indefinite": _BREAKDOWN}.get(status, max(told["iterations"], 1))
    columns = told["history"].T
    history = {name: np.ascontiguousarray(columns[n]) for n, name in enumerate(_COLUMNS)}
    history["iteration"] = history["iteration"].astype(np.int64)
    return CGResult(
        x=x,
        info=info,
        status=status,
        message=_message(told),
        iterations=told["iterations"],
        residual=told["residual"],
        claimed_residual=told["claim"],
        history=history,
        bytes=told["bytes"],
        seconds=seconds,
        set_up=set_up,
        preconditioner=M,
    )


def _failed(
    A: SymmetricBlocks,
    shape: tuple[int, ...],
    b: np.ndarray,
    x: np.ndarray,
    message: str,
    set_up: float,
) -> CGResult:
    """Return the result of a solve whose preconditioner found A indefinite: x is the start."""
    residual = float(np.linalg.norm(b - A.matvec(x).astype(np.float64)))
    history = {name: np.array([np.nan]) for name in _COLUMNS}
    history["iteration"] = np.array([0])
    history["residual"] = np.array([residual])
    return CGResult(
        x=x.reshape(shape),
        info=_BREAKDOWN,
        status="indefinite",
        message=message,
        iterations=0,
        residual=residual,
        claimed_residual=residual,
        history=history,
        bytes=0.0,
        seconds=0.0,
        set_up=set_up,
        preconditioner=None,
    )
