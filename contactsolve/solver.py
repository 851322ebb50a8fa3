"""Solving: `solve` for one problem, `Solver` for many solves of one structure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _core, methods, schemes
from ._options import KINDS, dtype_name, explain, names_of, permutation_of, seed_of, tolerance
from .orders import chosen
from .problem import Problem
from .result import History, Result
from .sets import Set

__all__ = ["Method", "Options", "Solver", "State", "solve"]


class Options(TypedDict, total=False):
    """The options of a `Method`; see `Solver`."""

    scheme: Any
    order: Any
    local: str
    relaxation: float
    averaging: str | float | None
    r_factor: str | float
    rollback: int
    rollback_growth: float
    bound: str
    rtol: float | None
    atol: float | None
    stop: str
    check_every: int
    max_iterations: int
    dtype: Any
    threads: int | None
    parts: int
    record: Iterable[str]
    record_every: int
    quality_r: float
    rng: Any
    instructions: str
    compressed: bool


class Method:
    """A method with its options, as `contactsolve.compare` takes it.

    Parameters
    ----------
    method
        A name of ``contactsolve.methods.names()``, or an object of `contactsolve.methods`.
    label
        Shown in tables and plots; made from the method and its options by default.
    **options
        Options of `Solver`.
    """

    def __init__(
        self, method: str | methods.Pivoting, *, label: str = "", **options: Unpack[Options]
    ) -> None:
        self.method = method
        self.options = options
        words = [f"{name}={_short(value)}" for name, value in options.items()]
        self.label = label or ", ".join([str(method), *words])

    def __repr__(self) -> str:
        return f"Method({self.label!r})"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else repr(value) if np.ndim(value) == 0 else "<array>"


@dataclass(slots=True)
class State:
    """What a callback sees between two sweeps.

    Attributes
    ----------
    iteration
        Sweeps made so far.
    impulses
        λ at this iteration, ``(K, m)``, read-only [N s].
    measures
        The newest row of the history by name: iteration, time and what is recorded.
    """

    iteration: int
    impulses: np.ndarray
    measures: dict[str, float]


class Solver:
    """A problem packed for one method: solve it as often as wanted.

    Parameters
    ----------
    problem
        A `Problem`.
    method
        ``"jacobi"``, ``"gauss_seidel"``, ``"symmetric_gauss_seidel"`` (forwards and backwards in
        turn, each sweep an iteration; SSOR with `relaxation`) or ``"auto"``: for now, Gauss-Seidel
        with rollback. Direct methods for joints, boxes and box friction: ``"bpp"``, ``"murty"``,
        ``"lemke"``, ``"keller"``, ``"dantzig"``, or with options as `methods.bpp`; their iterations
        are solves between which friction bounds are renewed, and options about sweeps are refused.
    scheme
        How Aλ + b is had: ``"matrix"`` (A built or given), ``"factorized"`` (A never formed; with
        options as `schemes.factorized`), or ``"auto"``, the one of these two whose sweeps should
        take less time, from the number of blocks of A (S1 Table 3.1).
        ``"iteration_matrix"`` takes ``z = T λ + c`` from T = 1 - R A and c = -R b in place of
        ``λ - R (A λ + b)`` (S1 section 3.4.1). ``"half_sweep"`` (there, too) saves a quarter of
        the products: in every second sweep those with contacts further on are the sweep's before,
        stale by then, so that convergence is another. ``"symmetric_half"`` is exactly
        ``"symmetric_gauss_seidel"``, its only method, for half the products.
    order
        The contacts' order in a sweep: ``"natural"``, ``"reverse"``, ``"random"`` (see `rng`),
        ``"colored"``, ``"ranges"``, ``"partition"``, ``"cache"``, ``"contact_sets"``, an object of
        `contactsolve.orders`, or a permutation ``(K,)``.
        Jacobi's result does not depend on it.
    local
        ``"auto"`` solves blocks of free rows exactly and projects others, ``"projected"`` projects
        all, ``"exact"`` insists on free blocks only. ``"block"`` solves each block's own problem
        outright, the other impulses as they are (S4): in closed form for free blocks, frictionless
        contacts and planar friction, by inner projected steps to rounding for other sets. It has no
        R: `r_factor` plays no part, and a rollback halves the averaging weight instead.
    relaxation
        α, scales R (JOR and SOR of S2).
    averaging
        ω in ``λ ← λ_old + ω (λ_new − λ_old)``, at most 1; None for none. ``"adjacent"``: for each
        contact 1 over the number of contacts that share a moving body with it, 1 where there are
        none (S4). With a given A they are the other blocks in its row.
    r_factor
        R: ``"local"``, 1/max diag(A_ss) on each coupled set s, over max(1, λ_max(R A_kk));
        ``"block"``, 1/λ_max(A_kk); ``"global"``, 2/(α_min + α_max) with the extreme eigenvalues of
        A, or 1.9/α_max where A is singular (from (A + Aᵀ)/2 where an unsymmetric A was given;
        ``info`` tells the values); or one number for every row. ``"balanced"`` starts from the
        local ones and lets the factor of each coupled set follow its residuals e (S1 eq. 3.29):
        after each sweep it is multiplied by 1/√(1 − ρ), ρ = e'·e/e·e of the last two, and stays
        within 1/32 and 1.5 times the local one. It spares Jacobi most halvings of R and needs no
        choice of `relaxation`.
    rollback
        How often R may be halved and the best iterate restored when the residual grows (S1 section
        3.5); 0 for never.
    rollback_growth
        What counts as growth: the residual over its smallest value since the last halving. S1 takes
        1, which costs Gauss-Seidel on frictional problems its step for passing rises, and helps
        Jacobi out of cycles.
    bound
        The friction bound comes from the ``"current"`` normal impulse, just computed, or from the
        ``"previous"`` one (S1 chapter 3).
    rtol, atol
        With ``stop="natural_map"``: converged when every coupled set s has
        ``Δ_s <= atol + rtol (|λ_s| + ρ_s max|b|)``. Both None: exactly `max_iterations` sweeps.
    stop
        The measure that decides. ``"delta_element"`` and ``"delta_norm"`` take rtol, atol for S2's
        T_rel and T_abs; other measures than these and ``"natural_map"`` are compared with `atol`.
    check_every
        Measures that cost about a sweep are evaluated every so many iterations; methods that pivot
        are measured after every solve.
    max_iterations
        Sweeps at most.
    dtype
        ``"float64"`` or ``"float32"`` sweeps. Measures are always taken in float64.
    threads
        Threads for stages that allow it (Jacobi, colours, ranges, parts), at most four to a
        processor; None for as many as pay. Results do not depend on it.
    parts
        Into how many parts the orders ``"ranges"``, ``"partition"``, ``"cache"`` and
        `orders.relaxed` cut, and a parallel colouring; results depend on it. `orders.subtasks`
        multiplies it.
    record, record_every
        Names of the measures in the history, and how often a row is kept.
    quality_r
        R_const of the measure ``"quality"`` (S1 eq. 3.32).
    rng
        Seed or `numpy.random.Generator` of ``order="random"``.
    instructions
        Scheme ``"factorized"`` visits contacts that share no moving body several at a time, in the
        lanes of the machine's vectors, where shapes and order allow it; ``info["kernel"]`` tells.
        ``"auto"``: the widest vectors that are well filled, or what the environment variable
        ``CONTACTSOLVE_INSTRUCTIONS`` names; ``"avx512"``, ``"avx2"``, ``"baseline"`` (16 bytes): as
        named, however well filled; ``"scalar"``: one after another, the reference. Results differ
        by rounding.
    compressed
        Where J is, to rounding, that of contact frames and lever arms between rigid bodies (and
        M⁻¹ a multiple of the identity for the linear velocities), keep these in place of J:
        half the memory, and half the time once it counts. Needs vectors; ``info["kernel"]`` tells.
        False: take any J as it is.

    Raises
    ------
    ValueError
        For unknown names (listing the known ones), numbers out of range, and contacts whose A_kk,
        or one over it, is no number in `dtype`.

    Examples
    --------
    >>> import contactsolve as cs
    >>> solver = cs.Solver(cs.scenarios.box_stack(3), method="gauss_seidel")
    >>> first = solver.solve()
    >>> solver.solve(mu=0.1, initial=first).converged
    True
    """

    def __init__(
        self,
        problem: Problem,
        *,
        method: str | methods.Pivoting = "auto",
        scheme: Any = "auto",
        order: Any = "auto",
        local: str = "auto",
        relaxation: float = 1.0,
        averaging: str | float | None = None,
        r_factor: str | float = "local",
        rollback: int = 5,
        rollback_growth: float = 3.0,
        bound: str = "current",
        rtol: float | None = 1e-6,
        atol: float | None = 0.0,
        stop: str = "natural_map",
        check_every: int = 10,
        max_iterations: int = 1000,
        dtype: Any = "float64",
        threads: int | None = None,
        parts: int = 8,
        record: Iterable[str] = ("residual", "natural_map"),
        record_every: int = 1,
        quality_r: float = 100.0,
        rng: Any = None,
        instructions: str = "auto",
        compressed: bool = True,
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
        self.problem = problem
        visits, way = chosen(order), schemes.chosen(scheme)
        pivoting = methods.chosen(method)
        method = pivoting.name
        permutation = None
        if visits.permutation is not None:
            permutation = permutation_of(visits.permutation, problem.contacts)
        word, number = (r_factor, 0.0) if isinstance(r_factor, str) else (None, r_factor)
        adjacent = isinstance(averaging, str)
        if adjacent and averaging != "adjacent":
            raise ValueError(
                f"averaging: {averaging!r} is unknown; known: adjacent, or a number from 0 to 1"
            )
        weight = 1.0 if averaging is None or isinstance(averaging, str) else averaging
        precision, recorded = dtype_name(dtype), names_of("record", record)
        seed = seed_of(rng) if visits.name == "random" else 0
        try:
            self._core = _core.Solver(
                problem._core,
                method,
                way.name,
                visits.name,
                permutation,
                local,
                word,
                number,
                bound,
                relaxation,
                weight,
                adjacent,
                rollback,
                rollback_growth,
                precision,
                stop,
                tolerance("rtol", rtol),
                tolerance("atol", atol),
                check_every,
                max_iterations,
                recorded,
                record_every,
                quality_r,
                0 if threads is None else threads,
                visits.options(problem, seed, parts),
                way.velocities,
                instructions,
                not compressed,
                pivoting.options(),
            )
        except (TypeError, ValueError, OverflowError) as error:
            given = {name: value for name, value in locals().items() if name in KINDS}
            raise explain(given, error) from None
        described = self._core.describe()
        self._asked = f"rtol={rtol}, atol={atol}"
        if described.pop("stop_is_ratio"):
            self._asked = f"{stop} with {self._asked}"
        elif stop != "natural_map":
            self._asked = f"{stop} <= {atol}"
        self._columns: tuple[str, ...] = described.pop("columns")
        self._told = (tuple(described), method, way.name)
        self._info = _info(described, problem, method, way.name)
        self._updates = problem.updates

    @property
    def info(self) -> dict[str, Any]:
        """What was chosen and why, bytes, set-up seconds, warnings."""
        return dict(self._info)

    def solve(
        self,
        b: Any = None,
        mu: Any = None,
        initial: Any = None,
        *,
        callback: Callable[[State], object] | None = None,
        progress: bool = False,
    ) -> Result:
        """Solve, with the problem's b and mu or with others for this call.

        Parameters
        ----------
        b
            ``(K, m)`` or flat, in place of the problem's [m/s].
        mu
            A number or ``(K,)``, in place of the problem's.
        initial
            Impulses to start from, ``(K, m)`` or flat, or a `Result`; zero by default.
        callback
            Called with a `State` after every sweep. Raising `StopIteration` ends the solve with the
            iterate at hand; other exceptions pass through.
        progress
            Show a progress bar (needs tqdm).

        Raises
        ------
        RuntimeError
            If the solver is running already.
        KeyboardInterrupt
            At Ctrl-C; the solver can be used again.
        """
        problem = self.problem
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}: a function of a State is needed")
        if b is not None:
            b = problem.join("b", b)
        parameters = None if mu is None else problem.parameters(mu)
        if isinstance(initial, Result):
            initial = initial.impulses
        if initial is not None:
            initial = problem.join("initial", initial)
        bar = _ProgressBar(self._columns) if progress else None
        notify = None if callback is None else self._notifier(callback)
        try:
            answer = self._core.solve(initial, b, parameters, notify, bar)
        finally:
            if bar is not None:
                bar.close()
        if self._updates != problem.updates:
            self._describe_again()
        return self._result(answer, b, parameters)

    def _describe_again(self) -> None:
        """Tell of the problem's new values: which contacts are immovable, how long set-up took."""
        described, (names, method, scheme) = self._core.describe(), self._told
        self._info = _info({n: described[n] for n in names}, self.problem, method, scheme)
        self._updates = self.problem.updates

    def _notifier(self, callback: Callable[[State], object]) -> Callable[..., None]:
        split = self.problem.split

        def notify(iteration: int, row: np.ndarray, impulses: np.ndarray) -> None:
            measures = dict(zip(self._columns, row.tolist(), strict=True))
            callback(State(iteration, split(impulses), measures))

        return notify

    def _result(self, answer: tuple, b: np.ndarray | None, parameters: np.ndarray | None) -> Result:
        impulses, xi, velocity, table, status, iterations, best, rollbacks, *figures = answer
        seconds, natural_map, scaled, worst, unfinished, products, *pivots = figures
        problem = self.problem
        info = self._info.copy()
        info["rollbacks"] = rollbacks
        info["block_products"] = products
        info["best_iteration"] = best
        info["solve_seconds"] = seconds
        if pivots[-1] is not None:
            names = ("pivots", "single_pivots", "factorizations", "pivoting")
            info.update(zip(names, pivots, strict=True))
        if unfinished:
            line = (
                f"{unfinished} blocks were not solved to rounding in the last sweep: the bound on "
                f"the inner steps of local='block' was met first"
            )
            info["warnings"] = [*info["warnings"], line]
        message = _message(status, iterations, natural_map, scaled, worst, info, self._asked)
        return Result(
            impulses=problem.split(impulses),
            residual_velocities=problem.split(xi),
            body_velocity_change=problem.velocity_change(velocity, impulses),
            history=History(self._columns, table),
            converged=status == "converged",
            status=status,
            message=message,
            iterations=iterations,
            time=seconds,
            natural_map=natural_map,
            natural_map_scaled=scaled,
            worst_contact=worst,
            info=info,
            problem=problem,
            _b=None if b is None else b.copy(),
            _parameters=parameters,
            _updates=problem.updates,
        )

    def __repr__(self) -> str:
        info = self._info
        return f"Solver({self.problem!r}, {info['method']}, {info['scheme']}, {info['dtype']})"


def solve(
    problem: Any,
    Minv: Any = None,
    b: Any = None,
    mu: Any = None,
    *,
    bodies: Any = None,
    mass: Any = None,
    rows: int | None = None,
    sets: Set | None = None,
    lo: Any = None,
    hi: Any = None,
    compliance: Any = None,
    strict: bool = False,
    initial: Any = None,
    callback: Callable[[State], object] | None = None,
    progress: bool = False,
    method: str | methods.Pivoting = "auto",
    **options: Unpack[Options],
) -> Result:
    """Solve a contact problem.

    ``solve(problem, **options)`` or, straight from arrays, ``solve(J, Minv, b, mu, bodies=...,
    **options)``.

    Parameters
    ----------
    problem
        A `Problem`, or the contact Jacobian J ``(K, 2, m, d)``.
    Minv, b, mu, bodies, mass, rows, sets, lo, hi, compliance
        As for `Problem`, when J is given.
    strict
        Make contacts between immovable bodies an error.
    initial, callback, progress
        As for `Solver.solve`.
    method, **options
        As for `Solver`.

    Returns
    -------
    Result
        Not reaching a tolerance never raises: ``result.converged`` and ``result.message`` tell.

    Examples
    --------
    >>> import contactsolve as cs
    >>> result = cs.solve(cs.scenarios.box_stack(2), rtol=1e-8)
    >>> result.status
    'converged'
    """
    arrays = {"bodies": bodies, "mass": mass, "rows": rows, "sets": sets, "lo": lo, "hi": hi}
    arrays["compliance"] = compliance
    if not isinstance(problem, Problem):
        problem = Problem(problem, Minv, b, mu, strict=strict, **arrays)
    else:
        for name, value in {"Minv": Minv, "b": b, "mu": mu, **arrays}.items():
            if value is not None:
                raise TypeError(f"{name} is given, but the Problem has its own")
        if strict:
            problem.refuse_immovable()
    solver = Solver(problem, method=method, **options)
    return solver.solve(initial=initial, callback=callback, progress=progress)


# ---- what is told -------------------------------------------------------------------------------


def _info(described: dict[str, Any], problem: Problem, method: str, scheme: str) -> dict[str, Any]:
    info = described
    info["contacts"] = problem.contacts
    if info["engine"] is None:
        del info["engine"], info["islands"]
    why = []
    if method == "auto":
        why.append("method='auto' is Gauss-Seidel with rollback")
    if scheme == "auto":
        why.append(_why_scheme(info["scheme"], problem))
    info["why"] = why
    r_value, eigenvalues = info.pop("r_value"), info.pop("eigenvalues")
    if not math.isnan(r_value):
        info["r_factor"] = r_value
    if not math.isnan(eigenvalues[0]):
        info["eigenvalues"] = eigenvalues
    warnings = []
    if info["immovable_blocks"]:
        count, first = info["immovable_blocks"], problem._core.first_immovable()
        warnings.append(
            f"{count} contact{'s' if count > 1 else ''} between immovable bodies (the first is "
            f"contact {first}): no impulse changes anything there, it is left at its start"
        )
    if info["singular_blocks"]:
        warnings.append(
            f"{info['singular_blocks']} free blocks have redundant rows and no inverse: they are "
            f"relaxed like other blocks instead of solved exactly"
        )
    asymmetry = problem._core.asymmetry
    if asymmetry > 1e-12:
        used = "(A + Aᵀ)/2 is factored, and" if "engine" in info else "used as it is"
        if "engine" in info:
            used += " the answer is judged with A as it was given"
        warnings.append(f"A is unsymmetric, by {asymmetry:.1e} of its largest entry: {used}")
    info["warnings"] = warnings
    return info


def _why_scheme(scheme: str, problem: Problem) -> str:
    if problem._matrix is not None:
        return "scheme='auto' is the given matrix"
    return f"scheme='auto' chose '{scheme}': its sweeps should take less time"


def _message(
    status: str,
    iterations: int,
    natural_map: float,
    scaled: float,
    worst: int,
    info: dict[str, Any],
    asked: str,
) -> str:
    reached = f"natural map {natural_map:.2e} N s (scaled {scaled:.1e})"
    if status == "converged":
        return f"converged after {iterations} iterations: {reached}, {asked}"
    where = f", worst at contact {worst}" if worst >= 0 else ""
    if status == "stopped":
        return f"stopped by the callback after {iterations} iterations: {reached}{where}"
    if status == "diverging":
        return (
            f"diverging: the residual kept growing after {info['rollbacks']} halvings of R; the "
            f"iterate of sweep {info['best_iteration']} is returned, {reached}{where}. Try "
            f"{_advice(info)}"
        )
    if asked == "rtol=None, atol=None":
        return f"{iterations} iterations made, as asked: {reached}{where}"
    if "pivots" in info:
        return _message_of_pivots(iterations, f"{reached}{where}; asked was {asked}", info)
    return (
        f"not converged after {iterations} iterations: {reached}{where}; asked was {asked}. Try "
        f"{_advice(info)}"
    )


def _message_of_pivots(iterations: int, reached: str, info: dict[str, Any]) -> str:
    if info["pivoting"] != "converged":
        return (
            f"not converged after {iterations} solves, the last of which ended as "
            f"{info['pivoting']!r}: {reached}. Try a compliance, or a larger max_pivots"
        )
    return (
        f"not converged after {iterations} solves with renewed friction bounds: {reached}. Try "
        f"averaging=0.5, more iterations, or a start from an earlier result (initial=)"
    )


def _advice(info: dict[str, Any]) -> str:
    tries = []
    if info["method"] == "jacobi":
        tries += ["method='gauss_seidel'", "r_factor='balanced'", "rollback_growth=1"]
    if info["rollbacks"]:
        tries.append("rollback=0 with a smaller relaxation")
    if info["dtype"] == "float32":
        tries.append("dtype='float64' (float32 stops near a scaled map of 1e-6)")
    tries.append("more iterations")
    tries.append("a start from an earlier result (initial=)")
    return ", ".join(tries)


class _ProgressBar:
    """A tqdm bar that the C library may call with an iteration and a row of the history."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError(
                "progress=True needs tqdm: pip install 'contactsolve[notebook]'"
            ) from None
        self._columns = columns
        self._bar = tqdm(unit="sweep", desc="contactsolve", leave=False)

    def __call__(self, iteration: int, row: np.ndarray) -> None:
        shown = {
            name: f"{value:.2e}"
            for name, value in zip(self._columns[2:], row[2:], strict=True)
            if not math.isnan(value)
        }
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(iteration - self._bar.n)

    def close(self) -> None:
        self._bar.close()
