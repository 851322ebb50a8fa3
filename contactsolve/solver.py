"""Solving: `solve` for one problem, `Solver` for many solves of one structure."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple, Never, TypedDict, Unpack

import numpy as np

from . import _core, methods, schemes
from ._activity import index_set_of, is_activity
from ._description import Description
from ._device_arrays import (
    DeviceArray,
    Source,
    Target,
    checked_target,
    source_on,
    wait_for_owner,
)
from ._options import (
    COMMON,
    apart,
    dtype_name,
    explain,
    flag,
    for_library,
    most_seconds,
    names_of,
    relative_tolerance,
)
from ._report import ProgressBar, bar_of
from ._result_values import DeviceResultValues, ResultValues
from ._suggestions import refuse_unknown
from .orders import chosen
from .problem import Problem
from .result import Result, format_seconds
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
    rollback_growth: float | None
    bound: str
    rtol: float | str | None
    atol: float | None
    stop: str
    check_every: int
    max_iterations: int | None
    max_seconds: float | str | None
    max_setup_seconds: float | None
    time_checks: bool
    dtype: Any
    threads: int | None
    exact_threads: bool
    parts: int | str
    record: Iterable[str]
    record_every: int
    patience: int | None
    measure_every: int | None
    quality_r: float
    rng: Any
    instructions: str
    device: str
    device_sweeps: str
    device_prox: str
    compressed: bool
    islands: str | bool


# The options of the C library, and those that only Python has.
_OPTIONS = (
    *(name for name in COMMON if name != "method"),
    *("max_setup_seconds", "record", "rng"),
)

# Limits of method="auto" where the caller gives none: it may run several methods in turn.
_UNLIMITED_ITERATIONS, _SECONDS_OF_AUTO = 2 * 10**9, 10.0


def limits(
    method: str, has_tolerance: bool, max_iterations: int | None, max_seconds: float | str | None
) -> tuple[int, float | str | None]:
    """Return the limits of a solve with their defaults filled in."""
    endless = max_iterations is None and method == "auto" and has_tolerance
    if max_iterations is None:
        max_iterations = _UNLIMITED_ITERATIONS if endless else 1000
    if isinstance(max_seconds, str) and max_seconds == "auto":
        max_seconds = _SECONDS_OF_AUTO if endless else None
    return max_iterations, max_seconds


class Method:
    """A method with its options, as `contactsolve.compare` takes it.

    Parameters
    ----------
    method
        A name of ``contactsolve.methods.names()``, or an object of `contactsolve.methods`.
    label
        Label in tables and plots; made from the method and its options by default.
    **options
        Options of `Solver`.
    """

    def __init__(
        self, method: str | methods.Choice, *, label: str = "", **options: Unpack[Options]
    ) -> None:
        refuse_unknown("Method", options, _OPTIONS)
        self.method = method
        self.options = options
        words = [f"{name}={_short(value)}" for name, value in options.items()]
        self.label = label or ", ".join([str(method), *words])

    def __repr__(self) -> str:
        return f"Method({self.label!r})"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else repr(value) if np.ndim(value) == 0 else "<array>"


@dataclass(slots=True, repr=False)
class State:
    """The state that a callback receives between two sweeps.

    Attributes
    ----------
    iteration
        Number of sweeps so far.
    impulses
        λ at this iteration, ``(K, m)``, read-only [N s].
    measures
        The newest row of the history by name: iteration, time and the recorded measures, without
        those that were not evaluated. With ``record_every=`` the row may be of an earlier
        iteration, ``measures["iteration"]``.
    """

    iteration: int
    impulses: np.ndarray
    measures: dict[str, float]

    def __repr__(self) -> str:
        row = dict(self.measures)
        recorded, time = int(row.pop("iteration")), row.pop("time")
        earlier = "" if recorded == self.iteration else f"at iteration {recorded}: "
        words = [format_seconds(time), *(f"{name} {value:.2e}" for name, value in row.items())]
        return f"State(iteration {self.iteration}, {earlier}{', '.join(words)})"


class Start(NamedTuple):
    """The values of one solve, and its start: impulses or an index set."""

    b: np.ndarray | None
    parameters: np.ndarray | None
    impulses: np.ndarray | None
    index_set: np.ndarray | None


class Placed(NamedTuple):
    """Arrays of a solve in the memory of its device."""

    b: DeviceArray | None  # a copy, because the result needs it later
    initial: Source | None
    impulses: DeviceArray

    def addresses(self) -> tuple[int, int, int]:
        """Return the addresses as the C library takes them."""
        initial = 0 if self.initial is None else self.initial.pointer
        return initial, 0 if self.b is None else self.b.pointer, self.impulses.pointer


class Solver:
    """A problem packed for one method, which can be solved any number of times.

    Parameters
    ----------
    problem
        A `Problem`.
    method
        ``"jacobi"``, ``"gauss_seidel"``, ``"symmetric_gauss_seidel"`` (alternating forward and
        backward sweeps, each an iteration; SSOR with `relaxation`).
        ``"auto"`` is a chain of methods, each of which yields to the next when it stagnates: a
        direct solve where A is certainly positive definite, Nesterov's momentum, Newton's method
        where its factor is affordable, conjugate gradients. Each starts from the best iterate of
        all, which is returned. ``result.info["links"]`` reports which methods ran, how long each
        took and why it ended. Without a tolerance ``"auto"`` is Gauss-Seidel.
        Accelerated sweeps: ``"nesterov"``, ``"nncg"``, ``"nesterov_nncg"`` (both in turn),
        ``"momentum"``, ``"anderson"``, ``"chebyshev"``, or with options as
        ``methods.nncg(over="jacobi")``; with a
        tolerance they return the best iterate that was judged. Direct methods for
        joints, boxes and box friction: ``"bpp"``, ``"murty"``, ``"lemke"``, ``"keller"``,
        ``"dantzig"``, or with options as `methods.bpp`; each iteration is one solve,
        after which the friction bounds are updated, and options about sweeps are refused. With
        polygons of friction, or `methods.lemke` with directions, one solve is the answer.
        Outer fixed points, ``"de_saxce"`` and ``"tresca"``: each iteration solves a convex problem,
        and the options about sweeps apply to the inner method (`methods.de_saxce`).
        Partly direct: ``"subspace"`` and ``"splitting"``, for stiff joints and large mass ratios.
    scheme
        How Aλ + b is computed: ``"matrix"`` (A built or given), ``"factorized"`` (A never formed;
        with options as `schemes.factorized`), or ``"auto"``, the one of these two whose sweeps
        should take less time, estimated from the number of blocks of A (S1 Table 3.1).
        ``"iteration_matrix"`` takes ``z = T λ + c`` from T = 1 - R A and c = -R b in place of
        ``λ - R (A λ + b)`` (S1 section 3.4.1). ``"half_sweep"`` (same section) saves a
        quarter of the products: every second sweep uses the products with later contacts from the
        previous sweep, which are outdated, so that convergence differs. ``"symmetric_half"`` gives
        exactly ``"symmetric_gauss_seidel"``, its only method, with half the products. ``"dense"``
        stores T with its zeros (S2 section 5.2): for few contacts, most of which are coupled.
    order
        The order in which a sweep visits the contacts. ``"auto"`` is ``"cache"``, the order for
        speed, which fills vector lanes and lets threads work independently. It is ``"natural"``
        where no vector kernel takes the contacts' shapes and they are too few for threads, and
        where they are too few, or too many share a body, to fill vector lanes. The choice depends
        on the problem alone; ``info["why"]`` gives the reason. By name: ``"natural"``,
        ``"reverse"``, ``"random"`` (see `rng`), ``"colored"``, ``"ranges"``, ``"partition"``,
        ``"regions"``, ``"cache"``, ``"contact_sets"``, ``"panels"``, an object of
        `contactsolve.orders`, or a permutation ``(K,)``.
        Jacobi's result does not depend on it.
    local
        ``"auto"`` solves blocks of free rows exactly and projects others, ``"projected"`` projects
        all, ``"exact"`` insists on free blocks only. ``"block"`` solves each block's own problem
        exactly while the other impulses are fixed (S4), by the best algorithm for its set: free
        blocks, frictionless contacts and friction in the plane in closed form, by trying every
        mode; discs and ellipses by the root of one equation; boxes, box friction, rolling,
        Contensou and the cone by Newton's method, and by trying the modes if that fails; polygons
        and support functions by inner projected steps. ``"newton"`` uses Newton's method for all
        sets (Alart and Curnier 1991), and ``"quartic"`` (experimental) all roots of the Coulomb
        quartic (Bonnefon and Daviet 2011) for discs and ellipses; both refuse sets that they
        cannot solve. These three have no R: `r_factor` has no effect, and a rollback halves the
        averaging weight.
    relaxation
        α, scales R (JOR and SOR of S2).
    averaging
        ω in ``λ ← λ_old + ω (λ_new − λ_old)``, at most 1. None: no averaging, or in methods that
        pivot a weight that adapts to the progress of the friction bounds. ``"adjacent"``: for each
        contact 1 over the number of contacts that share a moving body with it, or 1 without such
        contacts (S4). If A was given, these are the other blocks in its row.
    r_factor
        R: ``"local"``, 1/max diag(A_ss) on each coupled set s, over max(1, λ_max(R A_kk));
        ``"diagonal"``, without that division (S2 eqs. 4.41 to 4.43), with which a block alone may
        diverge; ``"block"``, 1/λ_max(A_kk); ``"global"``, 2/(α_min + α_max) with the extreme
        eigenvalues of A, or 1.9/α_max where A is singular (from (A + Aᵀ)/2 where an unsymmetric A
        was given; ``info`` reports the values); or one number for every row. ``"balanced"`` starts
        from the local ones and lets the factor of each coupled set follow its residuals e (S1
        eq. 3.29): after each sweep it is multiplied by 1/√(1 − ρ), ρ = e'·e/e·e of the last two,
        and stays within 1/32 and 1.5 times the local one. Jacobi then needs few halvings of R and
        no choice of `relaxation`.
    rollback
        Maximum number of rollbacks, which halve R and restore the best iterate when the residual
        grows (S1 section 3.5); 0: none.
    rollback_growth
        Growth of the residual, relative to its smallest value since the last halving, that triggers
        a rollback. None: 3 for Jacobi and other methods that update all contacts at once, 100 for
        the rest. S1 takes 1. With that value Gauss-Seidel loses its step length on frictional
        problems to temporary rises, which reach tens of times; a diverging iteration soon exceeds
        them. Jacobi also cycles, which halvings end.
    bound
        The friction bound comes from the ``"current"`` normal impulse, just computed, or from the
        ``"previous"`` one (S1 chapter 3).
    rtol, atol
        With ``stop="natural_map"``: converged when every coupled set s has
        ``Δ_s <= atol + rtol ρ_s V``, where 1/ρ_s is the largest diagonal entry of A in the set and
        V [m/s] the largest speed at which its island breaks a constraint without any impulse:
        contacts that separate, or slide without load, do not count, and a fast body does not loosen
        the tolerance of other islands. Impulses may be off by ``rtol V / λ_min(A)``: errors add up
        along chains. Both None: exactly `max_iterations` sweeps. ``rtol="auto"``: 1e-6, in single
        precision 1e-4.
    stop
        The measure that the stopping rule tests. ``"delta_element"`` and ``"delta_norm"`` take rtol
        and atol as S2's T_rel and T_abs; measures other than these and ``"natural_map"`` are
        compared with `atol`. Measures of a sweep, as these two, ``"residual"`` and ``"merit"``, are
        tested after each sweep.
    check_every
        Iterations between two evaluations of measures that cost about a sweep. Methods that pivot,
        outer fixed points and interior points are measured after every iteration.
    max_iterations
        Maximum iterations. None: 1,000, or for ``method="auto"`` with a tolerance no limit but
        `max_seconds`.
    max_seconds
        Maximum wall-clock time of one solve [s], recording and callbacks included; None: no limit.
        ``"auto"``: 10 if nothing else limits the iterations (``method="auto"``), otherwise no
        limit. The clock is checked between iterations and within long ones (factors, pivots, inner
        sweeps). A solve that it ends has the status ``"max_seconds"``.
    max_setup_seconds
        Maximum time of making the solver (orders, factors, packing) [s]; None: no limit.
    time_checks
        Whether `Result.time`, and with it the column ``"time"`` of the history, includes what only
        the stopping rule needs: the scales V, its evaluation at iterates, and the evaluation of
        the impulses that are returned. False: without these, as in `compare` with a target. Times
        of solves never include recording and callbacks; `Result.sweep_time` is that of the sweeps
        alone.
    dtype
        ``"float64"`` or ``"float32"`` sweeps, or ``"mixed"``: impulses, velocities and b in
        float64; factors of A, its rows and R in float32. The rounding error is corrected every
        32 sweeps, so that solutions are as accurate as with float64. The schemes ``"factorized"``
        and ``"matrix"`` (which then visits rows without vectors) and the methods of sweeps without
        acceleration support it. Measures are always evaluated in float64.
    threads
        Maximum number of threads for stages that allow them (Jacobi, colours, ranges, parts). None:
        as many as there are. One thread runs problems of less than 4,096 contacts (2,048 in
        islands), the first two sweeps, and for a while the sweeps after one that several threads
        made more slowly, because other processes use the machine. Results do not depend on it.
    exact_threads
        Whether as many threads as `threads` says share every problem and every sweep, at most four
        for each processor, even where fewer take less time: for benchmarks and tests.
    parts
        Number of parts into which the orders ``"ranges"``, ``"partition"``, ``"cache"`` and
        `orders.relaxed`, and a parallel colouring, divide the problem; results depend on it.
        ``"auto"``: 8; for ``"partition"`` and ``"cache"`` 32 from 131,072 contacts on.
        ``info["parts"]`` reports it. `orders.subtasks` multiplies it, with ``"auto"`` 8.
    record, record_every
        Names of the measures in the history, and how often a row is kept.
    patience
        Iterations without halving the scaled natural map after which a solve ends as ``"stalled"``
        or ``"wandering"``; None: never, or as the method's own option of that name says, which this
        one sets.
    measure_every
        Iterations between two evaluations, for these rows, of measures that cost about a sweep.
        None: as `check_every`. Iterates and times do not depend on it.
    quality_r
        R_const of the measure ``"quality"`` (S1 eq. 3.32).
    rng
        Seed or `numpy.random.Generator` of ``order="random"``. Other orders refuse it.
    instructions
        Instruction set of the sweeps. The scheme ``"factorized"`` visits several contacts that
        share no moving body at a time, in the lanes of vectors, where shapes and order allow it;
        schemes over rows of A use vectors within each block, in any order, if all blocks have one
        size. ``info["kernel"]`` reports the kernel.
        ``"auto"``: the widest vectors whose lanes are well filled, or the instruction set that the
        environment variable ``CONTACTSOLVE_INSTRUCTIONS`` names; ``"avx512"``, ``"avx2"``,
        ``"baseline"`` (16 bytes): this one, however well its lanes are filled; ``"scalar"``: one
        contact after another, the reference. Results differ by rounding.
    device
        What runs the sweeps: ``"cpu"``; ``"cuda"``, a GPU (`contactsolve.cuda`);
        ``"cuda-emulated"``, the same kernels on the processor, slowly, for tests. Methods that
        sweep use it with the schemes ``"factorized"``, ``"matrix"``, ``"iteration_matrix"`` and
        ``"dense"``; what is computed between sweeps, and other methods, stay with the processor.
        The packed problem stays on the device from solve to solve; see `device_impulses`.
    device_sweeps
        How a device makes sweeps. ``"dataflow"``: several in one launch, where a contact waits for
        the visits before it that change its bodies; possible for coloured Gauss-Seidel sweeps of
        the scheme ``"factorized"`` over contacts of one shape. ``"counter"``: the same for
        contacts, or rows of A, that are visited one after another (S2 section 5.4.2), as in the
        orders ``"natural"`` and ``"partition"``. ``"on_chip"``: several in one launch for Jacobi
        sweeps of the scheme ``"dense"``, whose rows stay in registers and shared memory as far as
        they fit. ``"regions"``: several in one launch for coloured Gauss-Seidel sweeps in the order
        ``"regions"``, of which a block of threads sweeps each region and keeps the velocities of
        its bodies in shared memory. ``"graph"``: a launch for each stage of the order, captured
        once and replayed. ``"launches"``: the same without a graph. ``"auto"``: dataflow where it
        is possible, on the chip where all of T fits and is larger than 1 MB, else a graph. All have
        the same results.
    device_prox
        Precision in which a device computes the prox of sets with ``dtype="float32"``.
        ``"double"``; or ``"single"``, which has a larger rounding error (docs/cuda.md has bounds),
        and takes less time on a GPU with few units for double precision. With ``"single"``, numbers
        whose squares float32 cannot hold still go through double precision, and so do the searches
        for nearest points of the sets `ellipse`, `polygon`, `contensou_coupled` and `support`.
        ``"single"`` is refused without a device and with another `dtype`.
    compressed
        Where J is, to rounding, that of contact frames and lever arms between rigid bodies (and
        M⁻¹ a multiple of the identity for the linear velocities), store these in place of
        J: half the memory, and half the time once memory limits it. Compression needs vectors;
        ``info["kernel"]`` reports it. False: store J.
    islands
        Islands, the connected parts of a problem, share no moving body. ``"auto"``: if 512 contacts
        or more form several islands, each island iterates and stops separately (small islands of
        one size, up to 32 contacts or 1,024 with vector lanes, together), on an automatically
        chosen number of threads. Their data stay in the cache, and converged islands add no cost.
        A row of the history is for the whole problem after that iteration: a finished island counts
        with its final values, and the time is that of all islands so far, as a share of the total.
        Iterates are those of the whole problem, to rounding (with ``order="auto"``, in the order
        that suits the island); but each island stops and rolls back by its own residuals.
        Measures that are neither a maximum nor a sum over contacts (``"delta_norm"``,
        ``"fclib_error"``), orders that divide all contacts into parts, ``r_factor="global"``,
        friction given by functions, ``method="lemke"`` and callbacks need the whole problem: with
        them, and with False, it is swept as a whole. See ``info["islands"]`` and
        ``info["clusters"]``.

    Raises
    ------
    ValueError
        For unknown names (listing the known ones), numbers out of range, options that others leave
        without effect, and contacts whose A_kk, or its reciprocal, is not finite in `dtype`.
    TimeoutError
        If set-up takes longer than `max_setup_seconds`.
    RuntimeError
        The device cannot be used here, with the reason.
    MemoryError
        Memory is missing, on a device with the bytes needed and free, before any is taken.

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
        *arrays: Any,
        method: str | methods.Choice = "auto",
        scheme: Any = "auto",
        order: Any = "auto",
        local: str = "auto",
        relaxation: float = 1.0,
        averaging: str | float | None = None,
        r_factor: str | float = "local",
        rollback: int = 5,
        rollback_growth: float | None = None,
        bound: str = "current",
        rtol: float | str | None = "auto",
        atol: float | None = 0.0,
        stop: str = "natural_map",
        check_every: int = 10,
        max_iterations: int | None = None,
        max_seconds: float | str | None = "auto",
        max_setup_seconds: float | None = None,
        time_checks: bool = True,
        dtype: Any = "float64",
        threads: int | None = None,
        exact_threads: bool = False,
        parts: int | str = "auto",
        record: Iterable[str] = ("residual", "natural_map"),
        record_every: int = 1,
        patience: int | None = None,
        measure_every: int | None = None,
        quality_r: float = 100.0,
        rng: Any = None,
        instructions: str = "auto",
        device: str = "cpu",
        device_sweeps: str = "auto",
        device_prox: str = "double",
        compressed: bool = True,
        islands: str | bool = "auto",
        **unknown: Never,
    ) -> None:
        if unknown:
            refuse_unknown("Solver", unknown, ("method", *_OPTIONS))
        if arrays or not isinstance(problem, Problem):
            raise TypeError(
                f"problem is {type(problem).__name__}: Solver takes one Problem, which "
                "contactsolve.Problem(J, Minv, b, mu, bodies=...) makes of arrays, and "
                "contactsolve.load_problem(path) or contactsolve.io.read_fclib(path) of a file; "
                "contactsolve.solve also takes arrays"
            )
        self.problem = problem

        # Order, scheme and method are names or objects.
        visits, way = chosen(order), schemes.chosen(scheme)
        own = methods.chosen(method)
        method = own.name

        # Defaults that depend on the method and the precision.
        precision, recorded = dtype_name(dtype), names_of("record", record)
        has_tolerance = (rtol, atol) != (None, None)
        max_iterations, max_seconds = limits(method, has_tolerance, max_iterations, max_seconds)
        rtol = relative_tolerance(rtol, precision)
        seed = visits.seed(rng)

        # The C library checks the options and packs the problem.
        given: dict[str, Any] = {
            "method": method,
            "scheme": way.name,
            "order": visits.name,
            "local": local,
            "relaxation": relaxation,
            "averaging": averaging,
            "r_factor": r_factor,
            "rollback": rollback,
            "rollback_growth": rollback_growth,
            "bound": bound,
            "rtol": rtol,
            "atol": atol,
            "stop": stop,
            "check_every": check_every,
            "max_iterations": max_iterations,
            "max_seconds": max_seconds,
            "time_checks": time_checks,
            "dtype": precision,
            "threads": threads,
            "exact_threads": exact_threads,
            "parts": parts,
            "record_every": record_every,
            "patience": patience,
            "measure_every": measure_every,
            "quality_r": quality_r,
            "instructions": instructions,
            "device": device,
            "device_sweeps": device_sweeps,
            "device_prox": device_prox,
            "compressed": flag("compressed", compressed),
            "islands": apart(islands),
        }
        try:
            self._core = _core.Solver(
                problem._core,
                options=for_library(given),
                settings=own.options(),
                order=visits.options(problem, seed, parts),
                scheme=way.options(),
                record=recorded,
                max_setup_seconds=most_seconds("max_setup_seconds", max_setup_seconds),
                **self._of_ranks(),
            )
        except (TypeError, ValueError, OverflowError) as error:
            given["max_setup_seconds"] = max_setup_seconds
            raise explain(given, error) from None

        # What messages and results need later.
        self._options = given
        self._described = Description(self._core, problem, given)
        self._updates = problem.updates
        # The answer of the last solve, and its impulses on the device.
        self._last: tuple[_core.Answer, DeviceArray | None] | None = None

    def _of_ranks(self) -> dict[str, Any]:
        """Return further arguments of the C library, for a problem that several ranks share."""
        return {}

    def _for_solve(self, b: np.ndarray | None, parameters: np.ndarray | None) -> tuple[Any, ...]:  # noqa: ARG002
        """Return further arguments of a solve in the C library, with these values of its own."""
        return ()

    @property
    def info(self) -> dict[str, Any]:
        """Automatic choices and their reasons, bytes, set-up seconds, warnings."""
        return dict(self._described.info)

    def solve(
        self,
        b: Any = None,
        mu: Any = None,
        initial: Any = None,
        *,
        callback: Callable[[State], object] | None = None,
        progress: bool | float = False,
        on_device: bool = False,
    ) -> Result:
        """Solve the problem, with its own b and mu or with others for this call.

        Parameters
        ----------
        b
            Velocities in place of those of the problem [m/s], ``(K, m)`` or flat.
        mu
            Friction coefficients in place of those of the problem, a number or ``(K,)``.
        initial
            Impulses to start from, ``(K, m)`` or flat, or a `Result`; zero by default. The methods
            ``"bpp"``, ``"murty"``, ``"keller"`` and ``"dantzig"`` also start from the states of
            contacts and rows, as in ``result.active``: an open contact's normal is at its bound,
            tangents are free until the normal impulses are known, rows of other blocks are free,
            low or high. This saves few pivots on problems with friction, because it lacks the
            friction bounds; a result, or its impulses, has both and saves most on slow motions
            (`docs/methods.md`, warm starts).
        callback
            Called with a `State` after every sweep. Raising `StopIteration` ends the solve with the
            current iterate; other exceptions propagate.
        progress
            Show a progress bar (needs tqdm). A number: show it only after this many seconds.
        on_device
            Leave the impulses on the solver's device, as ``result.device_impulses``, in memory of
            their own. They are copied to the processor when ``result.impulses`` is read, or what
            follows from them. Velocities can be read until the problem is updated, but not in a
            callback of this solver; until then the result keeps the solver. `b` and `initial` are
            read where they are, if they are contiguous float64 arrays of the device (`initial` also
            as a result of such a solve); then the processor has no copy of them. See docs/cuda.md
            for the solves in which the processor has part, and copies them.

        Returns
        -------
        Result

        Raises
        ------
        ValueError, TypeError
            `b`, `mu` or `initial` of a wrong shape or type, or out of range; `on_device` without a
            device.
        RuntimeError
            If the solver is already running, or the device has failed: the next solve begins anew.
        MemoryError
            The device has too little memory for the impulses of an `on_device` solve.
        KeyboardInterrupt
            After Ctrl-C; the solver can be used again.
        """
        called = perf_counter()
        values: ResultValues
        if flag("on_device", on_device):
            values, own_b, parameters = self._solve_there(b, mu, initial, callback, progress)
        else:
            start = self._start(b, mu, initial, callback)
            with bar_of(ProgressBar, self._described.columns, progress) as bar:
                answer = self._run(start, callback, bar, None)
            self._last = answer, None
            values = self._values_of(answer, initial is not None)
            own_b, parameters = start.b, start.parameters

        # The result computes its values when they are read.
        result = Result.of(values, self.problem, own_b, parameters)
        result.wall_time = perf_counter() - called
        return result

    def _run(
        self,
        start: Start,
        callback: Callable[[State], object] | None,
        bar: ProgressBar | None,
        there: tuple[int, int, int] | None,
    ) -> Any:
        """Return the answer of the C library.

        If it does not take the arrays `there`, return whether it would leave impulses there.
        """
        notify = None if callback is None else self._notifier(callback)
        b, parameters, impulses, index_set = start
        further = self._for_solve(b, parameters)
        answer = self._core.solve(impulses, index_set, b, parameters, notify, bar, there, *further)
        if self._updates != self.problem.updates:
            self._describe_again()
        return answer

    def _solve_there(
        self,
        b: Any,
        mu: Any,
        initial: Any,
        callback: Callable[[State], object] | None,
        progress: bool | float,
    ) -> tuple[ResultValues, Any, np.ndarray | None]:
        """Solve, and leave the impulses on the device; return values of the result, b and mu."""
        placed = self._placed(b, initial)
        rest = None if placed.b is not None else b, None if placed.initial is not None else initial
        start = self._start(rest[0], mu, rest[1], callback)
        own_b: DeviceArray | np.ndarray | None = start.b if placed.b is None else placed.b
        there: tuple[int, int, int] | None = placed.addresses()
        with bar_of(ProgressBar, self._described.columns, progress) as bar:
            answer = self._run(start, callback, bar, there)

            # Where the processor has part in the solve, arrays pass through its memory: b and the
            # initial impulses, or the impulses as well.
            if isinstance(answer, bool):
                start = self._start(b, mu, initial, callback)
                own_b = start.b
            while isinstance(answer, bool):
                there = (0, 0, placed.impulses.pointer) if answer else None
                answer = self._run(start, callback, bar, there)
        if answer.impulses is not None:
            placed.impulses.write(answer.impulses.reshape(placed.impulses.shape))
        self._last = answer, placed.impulses
        values = DeviceResultValues(
            answer,
            self.problem,
            self._described,
            initial is not None,
            placed.impulses,
            self._core if there is not None else None,
            own_b,
            start.parameters,
        )
        return values, own_b, start.parameters

    def _placed(self, b: Any, initial: Any) -> Placed:
        """Return those arrays of a solve that are on the device, and room for its impulses."""
        device = self._options["device"]
        if device == "cpu":
            raise ValueError("on_device=True: the solver has no device; make it with device='cuda'")
        shape = self._shape()
        if isinstance(initial, Result):
            found = getattr(initial, "_found", None)
            initial = getattr(found, "device_impulses", None)
        impulses = DeviceArray(device, shape)
        own_b = source_on("b", b, device, shape)
        first = source_on("initial", initial, device, shape)
        if first is not None:
            wait_for_owner("initial", first)
        copy = None if own_b is None else DeviceArray.copy_of("b", device, own_b)
        return Placed(copy, first, impulses)

    def _values_of(self, answer: _core.Answer, started: bool) -> ResultValues:
        """Return what computes the attributes of a result."""
        ray = self._core.ray() if answer.pivoting == "ray" else None
        return ResultValues(answer, self.problem, self._described, ray, started)

    def device_impulses(self, out: Any = None) -> Any:
        """Return the impulses of the last solve in the memory of the solver's device.

        They are copied within the device from where its sweeps have left them. Those of islands
        that are solved apart, and of methods that do not sweep there, are uploaded.

        Parameters
        ----------
        out
            An array to be written to: contiguous float64 on this device, ``(K, m)`` or ``(K m,)``,
            with ``__cuda_array_interface__``. By default a new array.

        Returns
        -------
        cs.cuda.DeviceArray
            λ, ``(K, m)``, or flat for grouped problems [N s]; with ``__dlpack__`` and
            ``__cuda_array_interface__``. Or `out`. The solver and the result of its last solve
            share their impulses: what the caller has written to those of the result is in it.

        Raises
        ------
        RuntimeError
            The solver has no device, has not solved yet, or is solving.
        MemoryError
            The device has too little memory.
        TypeError, ValueError
            `out` is of another device, shape or dtype, not contiguous, or read-only.

        Notes
        -----
        The copy is complete when the function returns, and waits for the stream of `out`.

        Examples
        --------
        >>> import contactsolve as cs
        >>> if cs.cuda.available():
        ...     solver = cs.scenarios.box_stack(3).to("cuda")
        ...     result = solver.solve()
        ...     assert solver.device_impulses().shape == result.impulses.shape
        """
        device = self._options["device"]
        if device == "cpu":
            raise RuntimeError("the solver has no device: make it with device='cuda'")
        if self._last is None:
            raise RuntimeError("the solver has not solved yet")
        answer, there = self._last
        shape = self._shape()
        target: DeviceArray | Target
        if out is None:
            target = out = DeviceArray(device, shape)
        else:
            target = checked_target("out", out, device, shape)
        if there is not None:
            there.copy_to(target.pointer)
            return out
        impulses = answer.impulses
        if not self._core.impulses_there(impulses, target.pointer):
            target.write(impulses.reshape(shape))
        return out

    def _shape(self) -> tuple[int, ...]:
        """Return the shape of impulses and b: flat for grouped problems."""
        groups = self.problem._groups
        if self.problem.grouped:
            return (sum(math.prod(group.shape) for group in groups),)
        return groups[0].shape

    def _start(self, b: Any, mu: Any, initial: Any, callback: Any) -> Start:
        """Check the arguments of a solve, and return its values and its start."""
        problem = self.problem
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}: a function of a State is needed")
        if b is not None:
            b = problem.join("b", b).copy()  # the result needs it later
        parameters = None if mu is None else problem.parameters(mu)
        impulses, index_set = (None, None) if initial is None else self._start_of(initial)
        return Start(b, parameters, impulses, index_set)

    def _start_of(self, initial: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the impulses, or the index set, that the argument `initial` stands for."""
        if isinstance(initial, Result):
            initial = initial.impulses
        if is_activity(initial):
            return None, index_set_of(self.problem, initial)
        return self.problem.join("initial", initial), None

    def _describe_again(self) -> None:
        """Describe the solver of a problem with new values, such as its immovable contacts."""
        self._described = Description(self._core, self.problem, self._options)
        self._updates = self.problem.updates

    def _notifier(self, callback: Callable[[State], object]) -> Callable[..., None]:
        split, columns = self.problem.split, self._described.columns

        def notify(iteration: int, row: np.ndarray, impulses: np.ndarray) -> None:
            values = zip(columns, row.tolist(), strict=True)
            measures = {name: value for name, value in values if not math.isnan(value)}
            callback(State(iteration, split(impulses), measures))

        return notify

    def __repr__(self) -> str:
        info = self._described.info
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
    progress: bool | float = False,
    method: str | methods.Choice = "auto",
    **options: Unpack[Options],
) -> Result:
    """Solve a contact problem.

    ``solve(problem, **options)`` or, directly from arrays, ``solve(J, Minv, b, mu, bodies=...,
    **options)``.

    Parameters
    ----------
    problem
        A `Problem`, or the contact Jacobian J ``(K, p, m, d)``.
    Minv, b, mu, bodies, mass, rows, sets, lo, hi, compliance
        As for `Problem`, when J is given.
    strict
        Raise an error for contacts between immovable bodies.
    initial, callback, progress
        As for `Solver.solve`.
    method, **options
        As for `Solver`. `max_seconds` also limits the set-up: if that takes longer, the initial
        impulses are returned with the status ``"max_seconds"``.

    Returns
    -------
    Result
        A missed tolerance raises no error: see ``result.converged`` and ``result.message``.

    Raises
    ------
    ValueError, TypeError
        As for `Problem`, `Solver` and `Solver.solve`.
    TimeoutError
        The set-up takes longer than a given `max_setup_seconds`.

    Examples
    --------
    >>> import contactsolve as cs
    >>> result = cs.solve(cs.scenarios.box_stack(2), rtol=1e-8)
    >>> result.status
    'converged'
    """
    called = perf_counter()
    if "on_device" in options:
        raise TypeError(
            "on_device is an argument of a solver's solve: Solver(problem, ...).solve("
            f"on_device={options['on_device']!r})"  # type: ignore[typeddict-item]
        )
    if options:
        refuse_unknown("solve", options, (*_OPTIONS, *_OF_SOLVE))
    arrays = {"bodies": bodies, "mass": mass, "rows": rows, "sets": sets, "lo": lo, "hi": hi}
    arrays["compliance"] = compliance
    if isinstance(problem, (str, bytes, PathLike)):
        raise TypeError(
            f"problem is {problem!r}: a Problem or J is needed; contactsolve.load_problem(path) "
            "reads a file of Problem.save or Result.save, contactsolve.io.read_fclib(path) an "
            "FCLIB file"
        )

    # Arrays become a problem; a problem has its own arrays.
    if not isinstance(problem, Problem):
        problem = Problem(problem, Minv, b, mu, strict=strict, **arrays)
    else:
        for name, value in {"Minv": Minv, "b": b, "mu": mu, **arrays}.items():
            if value is not None:
                raise TypeError(f"{name} is given, but the Problem has its own")
        if strict:
            problem.refuse_immovable()

    # Without a limit of its own, the set-up has that of the solve.
    own_limit = "max_setup_seconds" in options
    if not own_limit:
        given = options.get("max_seconds")
        options["max_setup_seconds"] = None if isinstance(given, str) else given
    try:
        solver = Solver(problem, method=method, **options)
    except TimeoutError:
        if own_limit:
            raise
        result = _not_begun(problem, method, initial, {**options})
    else:
        result = solver.solve(initial=initial, callback=callback, progress=progress)
        del solver  # the result is evaluated before the solver goes
    result.wall_time = perf_counter() - called
    return result


# Parameters of `solve` other than the options of `Solver`.
_OF_SOLVE = tuple(
    parameter.name
    for parameter in inspect.signature(solve).parameters.values()
    if parameter.kind is not parameter.VAR_KEYWORD
)
_OF_MEASURES = ("rtol", "atol", "stop", "dtype", "record", "record_every", "quality_r")


def _not_begun(
    problem: Problem, method: str | methods.Choice, initial: Any, options: dict[str, Any]
) -> Result:
    """Return the initial impulses, judged by a solver that makes no sweep."""
    judged = {name: options[name] for name in _OF_MEASURES if name in options}
    judge = Solver(problem, method="jacobi", islands=False, max_iterations=0, **judged)
    result = judge.solve(initial=None if is_activity(initial) else initial)
    if result.converged:
        return result
    name = method if isinstance(method, str) else method.name
    result.status, result.info["method"] = "max_seconds", name
    result.message = (
        f"not started: the set-up of method={name!r} alone took max_seconds; natural map "
        f"{result.natural_map:.2e} N s (scaled {result.natural_map_scaled:.1e}). Try more seconds, "
        f"or a method without factors, such as 'gauss_seidel' or 'nesterov'"
    )
    return result
