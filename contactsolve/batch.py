"""Many small problems at once: `solve_batch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from . import _core
from ._arrays import index as integer
from ._arrays import index_array, real_array
from ._batch_layout import BatchLayout, layout_of_problems, layout_of_stacks
from ._device_arrays import DeviceArray
from ._options import dtype_name, explain, flag, for_library, relative_tolerance
from ._report import BatchBar, bar_of
from .problem import Problem
from .result import History
from .sets import Set

__all__ = ["BatchResult", "BatchSolution", "solve_batch"]

_OUTCOMES = np.array(_core.outcomes())
_PER = ("auto", "thread", "half_warp", "warp")
_COLUMNS = ("iteration", "residual", "merit", "natural_map", "natural_map_scaled")


@dataclass(frozen=True, slots=True)
class BatchSolution:
    """The solution of one problem of a batch.

    Attributes
    ----------
    impulses, residual_velocities
        λ [N s] and ξ = A λ + b, ``(K, m)``; lists of such arrays for grouped problems.
    iterations, status, converged, rollbacks
        As in `BatchResult`.
    residual, natural_map, natural_map_scaled
        As in `BatchResult`.
    history
        A `History` of the problems named by ``record``, otherwise None.
    """

    impulses: Any
    residual_velocities: Any
    iterations: int
    status: str
    converged: bool
    rollbacks: int
    residual: float
    natural_map: float
    natural_map_scaled: float
    history: History | None


class BatchResult(Sequence[BatchSolution]):
    """The results of `solve_batch`: arrays over all problems, or one problem by its index.

    Attributes
    ----------
    flat_impulses, flat_residual_velocities
        λ [N s] and ξ = A λ + b of all problems in turn. Those of problem i are in
        ``offsets[i]:offsets[i + 1]``.
    offsets
        ``(p + 1,)`` integers.
    device_impulses
        After ``solve_batch(..., on_device=True)`` λ in the memory of the device, a
        `contactsolve.cuda.DeviceArray`: ``(p, K, m)`` if all problems have one shape, otherwise as
        `flat_impulses`. Otherwise None, and in copies of a result.
    iterations
        Sweeps of each problem, ``(p,)``.
    statuses
        ``"converged"``, ``"max_iterations"`` or ``"diverging"`` of each problem, ``(p,)``.
    converged
        Whether each problem meets the tolerance, ``(p,)``.
    rollbacks
        How often R of each problem was halved, ``(p,)``.
    residuals
        Largest change of an impulse in the last sweep [N s], ``(p,)``; NaN before the first.
    natural_maps, natural_maps_scaled
        Natural map of the returned impulses, in double precision, of each problem: [N s], and over
        ρ V as the stopping rule has it, ``(p,)``.
    histories
        A `History` for each index in ``record``.
    info
        ``"per"``: what solved a problem; ``"setup_seconds"``, ``"seconds"`` of the solve, and
        ``"sweep_seconds"`` of its sweeps alone, without copies to and from a device.
    """

    def __init__(
        self,
        layout: BatchLayout,
        answer: dict[str, Any],
        recorded: np.ndarray,
        there: DeviceArray | None,
    ) -> None:
        self._form, self.device_impulses = layout.form, there
        self.offsets = layout.form.offsets
        self.flat_impulses = answer["impulses"][layout.row]
        self.flat_residual_velocities = answer["residual_velocities"][layout.row]
        self._velocity_change = answer["velocity_change"]

        # Problems without contacts have no part: they are solved, without an iteration.
        count = len(layout)

        def spread(name: str, nothing: Any) -> np.ndarray:
            values = np.full(count, nothing, answer[name].dtype)
            values[layout.nonempty] = answer[name]
            return values

        self.iterations = spread("iterations", 0)
        self.statuses = _OUTCOMES[spread("outcome", 0)]
        self.converged = self.statuses == "converged"
        self.rollbacks = spread("rollbacks", 0)
        self.residuals = spread("residual", np.nan)
        self.natural_maps = spread("natural_map", 0.0)
        self.natural_maps_scaled = spread("natural_map_scaled", 0.0)
        self.histories = {
            int(i): self._history(int(i), rows)
            for i, rows in zip(recorded, answer["history"], strict=True)
        }
        self.info = {"per": answer["used"], "setup_seconds": answer["setup_seconds"]}
        self.info["seconds"] = answer["seconds"]
        self.info["sweep_seconds"] = answer["sweep_seconds"]

    def _history(self, i: int, rows: np.ndarray) -> History:
        made = int(self.iterations[i]) + 1
        numbers = np.arange(made, dtype=float)[:, None]
        return History(_COLUMNS, np.hstack([numbers, rows[:made]]))

    @property
    def impulses(self) -> Any:
        """λ [N s]: ``(p, K, m)`` if all problems have one shape, otherwise a list."""
        return self._form.split(self.flat_impulses)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "device_impulses": None}

    @property
    def residual_velocities(self) -> Any:
        """ξ = A λ + b in the form of `impulses`."""
        return self._form.split(self.flat_residual_velocities)

    @property
    def body_velocity_changes(self) -> Any:
        """M⁻¹Jᵀλ: ``(p, n, d)`` if all problems have n bodies, otherwise a list of ``(n, d)``.

        None if bodies of a batch have different degrees of freedom or forms of inverse masses.
        """
        return self._form.split_velocities(self._velocity_change)

    def __len__(self) -> int:
        return len(self._form)

    @overload
    def __getitem__(self, index: int) -> BatchSolution: ...
    @overload
    def __getitem__(self, index: slice) -> list[BatchSolution]: ...
    def __getitem__(self, index: Any) -> Any:
        """Return the solution of one problem."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i, count = integer("index", index), len(self)
        if not -count <= i < count:
            raise IndexError(f"index is {i}: the number of problems is {count}")
        i %= count
        return BatchSolution(
            self._form.of_problem(i, self.flat_impulses),
            self._form.of_problem(i, self.flat_residual_velocities),
            int(self.iterations[i]),
            str(self.statuses[i]),
            bool(self.converged[i]),
            int(self.rollbacks[i]),
            float(self.residuals[i]),
            float(self.natural_maps[i]),
            float(self.natural_maps_scaled[i]),
            self.histories.get(i),
        )

    def __iter__(self) -> Iterator[BatchSolution]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"BatchResult({len(self)} problems, {int(self.converged.sum())} converged, "
            f"{int(self.iterations.sum())} iterations)"
        )


def solve_batch(
    problems: Any,
    Minv: Any = None,
    b: Any = None,
    mu: Any = None,
    *,
    bodies: Any = None,
    contacts: Any = None,
    sets: Set | None = None,
    initial: Any = None,
    method: str = "gauss_seidel",
    device: str = "cpu",
    per: str = "auto",
    rtol: float | str | None = "auto",
    atol: float | None = 0.0,
    max_iterations: int = 1000,
    check_every: int = 10,
    relaxation: float = 1.0,
    r_factor: str | float = "local",
    rollback: int = 5,
    rollback_growth: float | None = None,
    bound: str = "current",
    local: str = "auto",
    compressed: bool = False,
    dtype: Any = "float64",
    threads: int | None = None,
    record: Iterable[int] = (),
    on_device: bool = False,
    progress: bool | float = False,
) -> BatchResult:
    """Solve many small problems, each by Gauss-Seidel sweeps of its own.

    ``solve_batch(problems)`` or, without an object for each problem, ``solve_batch(J, Minv, b, mu,
    bodies=...)`` from stacked arrays. All are packed by one loop; then each thread takes a problem,
    iterates it until it meets its tolerance, and goes on to the next one. A problem has the bits of
    ``solve(problem, method="gauss_seidel", order="natural", scheme="factorized",
    instructions="scalar")`` after as many sweeps, whatever the number of threads.

    Parameters
    ----------
    problems
        A sequence of `Problem`, of any sizes and sets, all with bodies; or J of p problems with K
        contacts of m rows each, ``(problems, K, partners, m, d)``.
    Minv
        With J: inverse masses, ``(p, n, d, d)`` or diagonals ``(p, n, d)``.
    b
        With J: ``(p, K, m)`` [m/s].
    mu
        With J: a number, ``(p,)`` or ``(p, K)``. Contacts are frictionless without it.
    bodies
        With J: ``(p, K, partners)``, or ``(K, partners)`` for all; −1 for the fixed world.
    contacts
        With J, for problems of different sizes in padded arrays: how many contacts each problem
        has, ``(p,)``. What follows them is not read. None: K.
    sets
        With J: the feasible set, from `contactsolve.sets`, whose parameters hold for all contacts,
        or have a first axis of all contacts of all problems in turn.
    initial
        Impulses to start from: a `BatchResult`, its `flat_impulses`, ``(p, K, m)``, or a list with
        an entry for each problem; zero by default.
    method
        ``"gauss_seidel"``, the only one.
    device
        ``"cpu"``, ``"cuda"`` or ``"cuda-emulated"``, as for `Solver`.
    per
        How many threads of a device solve a problem. ``"thread"``: one, with the numbers of the
        problem in shared memory, for problems of contacts of one shape; ``"half_warp"``, 16, or
        ``"warp"``, 32, which share the sums of each visit. ``"auto"``: a thread for 4,096 problems
        or more that fit, otherwise a half warp. All have the same bits.
    rtol, atol, check_every, relaxation, r_factor, rollback, rollback_growth, bound, local
        As for `Solver`, for each problem. `local` is ``"auto"``, ``"projected"`` or ``"exact"``;
        `r_factor` a number, ``"local"`` or ``"block"``.
    max_iterations
        Maximum sweeps of each problem. With `rtol` and `atol` None: exactly so many.
    compressed
        Store contact frames and lever arms in place of J, as `Solver` does, where all contacts of a
        set are between rigid bodies. A thread of a device then needs half the shared memory.
        Impulses differ from those without it by rounding, and have the same bits on every device.
        Whether contacts are stored so is decided for all of a shape and set in the batch: the bits
        of a problem may depend on the others.
    dtype
        ``"float64"`` or ``"float32"``. Solutions are judged in double precision.
    threads
        Maximum number of threads of the processor. No result depends on it.
    record
        Indices of problems whose histories are kept.
    on_device
        Leave the impulses on `device` as well, as ``result.device_impulses``. The processor packs
        and judges a batch: b and `initial`, which may be arrays of the device, pass through its
        memory, and it has the impulses, too.
    progress
        Show a progress bar (needs tqdm). A number: show it only after this many seconds.

    Returns
    -------
    BatchResult
        A problem that misses its tolerance raises no error: see ``result.converged``. Proofs that a
        problem has no solution, and rounding floors, are for `solve`.

    Raises
    ------
    ValueError, TypeError
        As for `Problem` and `Solver`; the message names the problem.
    RuntimeError
        The device cannot be used here, or has failed.
    MemoryError
        Memory is missing, on a device with the bytes needed and free, before any is taken.
    KeyboardInterrupt
        After Ctrl-C; on a device after the sweeps that have been launched.

    Examples
    --------
    >>> import contactsolve as cs
    >>> results = cs.solve_batch([cs.scenarios.box_stack(n) for n in (1, 2, 3)])
    >>> results.converged.all(), results[2].impulses.shape
    (np.True_, (12, 3))
    """
    if method != "gauss_seidel":
        raise ValueError(f"method is {method!r}: a batch is solved by 'gauss_seidel'")
    if per not in _PER:
        raise ValueError(f"per is {per!r}: one of {', '.join(_PER)} is needed")
    if r_factor in ("global", "balanced"):
        raise ValueError(f"r_factor is {r_factor!r}: 'local', 'block' or a number is needed")
    arrays = {"Minv": Minv, "b": b, "mu": mu, "bodies": bodies, "contacts": contacts, "sets": sets}
    layout = _layout(problems, arrays)

    # The options of one solver of all problems, which visits each of them in turn.
    precision = dtype_name(dtype)
    given: dict[str, Any] = {
        "method": method,
        "scheme": "factorized",
        "order": "given",
        "local": local,
        "relaxation": relaxation,
        "averaging": None,
        "r_factor": r_factor,
        "rollback": rollback,
        "rollback_growth": rollback_growth,
        "bound": bound,
        "rtol": relative_tolerance(rtol, precision),
        "atol": atol,
        "stop": "natural_map",
        "check_every": check_every,
        "max_iterations": max_iterations,
        "max_seconds": None,
        "time_checks": True,
        "dtype": precision,
        "threads": threads,
        "exact_threads": False,
        "parts": "auto",
        "record_every": 1,
        "patience": None,
        "measure_every": None,
        "quality_r": 100.0,
        "instructions": "scalar",
        "device": device,
        "device_sweeps": "auto" if device == "cpu" else "launches",
        "device_prox": "double",
        "compressed": flag("compressed", compressed),
        "islands": False,
    }
    try:
        options = for_library(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise explain(given, error) from None
    recorded = _recorded(record, len(layout))
    start = None if initial is None else layout.joined(_flat_of(initial, layout))
    there = _room(layout, device) if flag("on_device", on_device) else None

    try:
        with bar_of(BatchBar, len(layout), progress) as bar:
            answer = _solved(layout, options, start, recorded, _PER.index(per), bar, there)
    except ValueError as error:
        raise _of_problem(layout, options, explain(given, error)) from None
    except (TypeError, OverflowError) as error:
        raise explain(given, error) from None
    result = BatchResult(layout, answer, recorded, there)
    if there is not None and not answer["found"]:
        there.write(result.flat_impulses.reshape(there.shape))
    return result


def _room(layout: BatchLayout, device: str) -> DeviceArray:
    """Return memory of the device for the impulses of all problems."""
    if device == "cpu":
        raise ValueError("on_device=True: the batch has no device; give device='cuda'")
    return DeviceArray(device, layout.form.shape or (int(layout.form.offsets[-1]),))


def _layout(problems: Any, arrays: dict[str, Any]) -> BatchLayout:
    """Return all problems side by side, from objects or from stacked arrays."""
    if isinstance(problems, Problem):
        raise TypeError("problems is one Problem: a sequence of them is needed, [problem]")
    if arrays["Minv"] is not None:
        return layout_of_stacks(problems, **arrays)
    for name, value in arrays.items():
        if value is not None:
            raise TypeError(f"{name} is given without Minv: with it, problems is J of all problems")
    if isinstance(problems, np.ndarray):
        raise TypeError(
            "problems is an array, the J of all problems: Minv, b and bodies are needed"
        )
    return layout_of_problems(problems)


def _recorded(record: Any, count: int) -> np.ndarray:
    """Return the indices of problems whose histories are kept, ascending and unique."""
    if isinstance(record, str) or not np.iterable(record):
        raise TypeError(f"record is {record!r}: indices of problems are needed")
    indices = index_array("record", list(record))
    if indices.ndim != 1:
        raise ValueError(f"record has shape {indices.shape}: a list of indices is needed")
    for i, value in enumerate(indices):
        if not 0 <= value < count:
            raise ValueError(f"record[{i}] is {value}: problems run from 0 to {count - 1}")
    return np.unique(indices)


def _flat_of(initial: Any, layout: BatchLayout) -> np.ndarray:
    """Return initial impulses of all problems in turn."""
    if isinstance(initial, BatchResult):
        initial = initial.flat_impulses
    if isinstance(initial, (list, tuple)) and len(initial) == len(layout):
        parts = [layout.join_one(i, item) for i, item in enumerate(initial)]
        return np.concatenate([np.zeros(0), *parts])
    flat = real_array("initial", initial)
    if flat.shape not in layout.shapes():
        wanted = " or ".join(map(str, layout.shapes()))
        raise ValueError(f"initial has shape {flat.shape}: the batch needs {wanted}")
    flat, offsets = flat.ravel(), layout.form.offsets
    bad = np.flatnonzero(~np.isfinite(flat))
    if len(bad):
        i = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise ValueError(
            f"problem {i}: initial[{bad[0] - offsets[i]}] is {flat[bad[0]]}: every entry must be "
            "finite"
        )
    return flat


def _solved(
    layout: BatchLayout,
    options: dict[str, Any],
    start: np.ndarray | None,
    recorded: np.ndarray,
    per: int,
    bar: Callable[[int], None] | None = None,
    there: DeviceArray | None = None,
) -> dict[str, Any]:
    """Solve in C, part by part; ``"found"``: whether impulses have been copied to `there`."""
    parts = layout.nonempty
    # They are copied within the device where the batch has them in the order of the problems.
    in_order = there is not None and (layout.row == np.arange(len(layout.row))).all()
    address = there.pointer if there is not None and in_order else 0
    places = np.full(len(layout), -1, np.int32)
    places[recorded] = np.arange(len(recorded))
    order: dict[str, Any] = {
        "permutation": layout.visits,
        "begins": layout.begins,
        "labels": None,
        "seed": 0,
    }
    order |= {"parts": 0, "subtasks": 0, "weighted_subtasks": False, "settings": {}}
    return _core.solve_batch(
        layout.core,
        options,
        order,
        start,
        places[parts],
        len(parts),
        len(recorded),
        per,
        address,
        bar,
    )


def _of_problem(layout: BatchLayout, options: dict[str, Any], error: Exception) -> Exception:
    """Return an error about a contact of the batch as one about a contact of its problem."""
    if not re.search(r"contact \d", str(error)):
        return error
    quick = {**options, "device": "cpu", "max_iterations": 1}
    for i in range(len(layout)):
        try:
            _solved(layout_of_problems([layout.problem(i)]), quick, None, np.zeros(0, int), 0)
        except ValueError as own:
            return type(error)(f"problem {i}: {own}")
    return error
