"""GPUs: whether there is one that solvers can use, with ``device="cuda"``; and S2's own kernels.

>>> import contactsolve as cs
>>> isinstance(cs.cuda.available(), bool)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _devices
from ._arrays import (
    as_array,
    finite_array,
    first_entry,
    index,
    refuse_other_than_real,
    shortest,
)
from ._device_arrays import DeviceArray
from ._options import flag, number

__all__ = ["DenseIterations", "DeviceArray", "available", "devices", "iterate_dense", "why_not"]

_ALIGNMENT = 128  # bytes from which a GPU reads at once: what cudaMallocPitch aligns to, at least
_LAYOUTS = ("contacts", "directions", "padded_directions")
_CRITERIA = (None, "each", "norm")
_LEFT_OUT = (None, "barriers", "propagation", "normal", "friction", "writes", "step_a")
_PANELS = {"full_sor_96": 96, "full_sor_192": 192}
_ALL_IN_ONE = ("all_in_one_128", "all_in_one_192")


def available() -> bool:
    """Return whether ``device="cuda"`` can be used."""
    return _devices.why_not("cuda") is None


def why_not() -> str | None:
    """Return why ``device="cuda"`` cannot be used, or None if it can."""
    return _devices.why_not("cuda")


def devices() -> list[tuple[str, int, int, int]]:
    """Return name, bytes of memory and the two numbers of the compute capability of each GPU."""
    module = _devices.module_of("cuda")
    return [] if module is None else module.devices()


@dataclass(frozen=True, eq=False, slots=True)
class DenseIterations:
    """What `iterate_dense` returns.

    Attributes
    ----------
    impulses
        The last iterate, ``(n,)``, in the precision of T.
    iterations
        Iterations made.
    converged
        Whether the criterion held; False without a criterion.
    seconds
        Time of each part of S2's eq. 6.1: ``"allocation"``, ``"to_device"``, ``"iteration"`` (all
        iterations together), ``"from_device"`` and ``"release"``.
    """

    impulses: np.ndarray
    iterations: int
    converged: bool
    seconds: dict[str, float]


def iterate_dense(
    T: Any,
    d: Any,
    mu: Any,
    *,
    kernel: str = "own_gemv+prox",
    impulses: Any = None,
    iterations: int = 10,
    panel_rows: int = 48,
    layout: Literal["contacts", "directions", "padded_directions"] = "contacts",
    aligned: bool = True,
    criterion: Literal["each", "norm"] | None = None,
    rtol: float = 1e-7,
    atol: float = 1e-7,
    check_every: int = 10,
    leave_out: Literal["barriers", "propagation", "normal", "friction", "writes", "step_a"]
    | None = None,
    device: str = "cuda",
) -> DenseIterations:
    """Iterate P ← prox(T P + d) by one of S2's own kernels: the peer of solvers in measurements.

    Contacts have three rows, the normal first, and a disc of friction.

    ====================  ========================================================================
    ``kernel``            launches of an iteration (S2 table 6.1)
    ====================  ========================================================================
    ``"gemv+add+prox"``   JOR: cuBLAS, T P + d, prox; threads of a block 192 and 128
    ``"gemv+prox"``       JOR: cuBLAS, prox of T P + d; 256
    ``"all_in_one_128"``  JOR: one, with 126 rows for the 128 threads of a block
    ``"all_in_one_192"``  JOR: one, 192 rows and threads
    ``"own_gemv+prox"``   JOR: T P + d, prox; 128 and 128
    ``"full_sor_96"``     SOR: for each panel of 96 rows kernel A, then B with one number a thread
    ``"full_sor_192"``    SOR: for each panel of 192 rows kernel A, then B with two
    ``"relaxed_sor"``     SOR whose panels of `panel_rows` rows are updated at once
    ====================  ========================================================================

    cuBLAS is loaded when it is first used; under emulation a kernel stands in its place.

    With `leave_out`, ``"full_sor_96"`` lacks parts of kernel A, to measure how long they take.
    **Impulses are wrong then, by intention.** From the second on, each lacks those before it as
    well, except for the barriers:

    =================  ===========================================================================
    ``leave_out``      what kernel A lacks (S2 figure 6.4, lines of listing A.2)
    =================  ===========================================================================
    ``"barriers"``     its three barriers for each contact (57, 63, 95), nothing else
    ``"propagation"``  products of columns of T with new impulses (58 to 60, 98 to 103)
    ``"normal"``       projections of normal impulses (44 to 48); -R b is written in their place
    ``"friction"``     projections of tangential impulses (70 to 85); likewise
    ``"writes"``       impulses and zeros of sums at the diagonal (50, 51, 88 to 91); P is -R b
    ``"step_a"``       everything: it is not launched, and P is the first iterate
    =================  ===========================================================================

    Parameters
    ----------
    T
        1 - R A, ``(n, n)``, in float32 or float64, which the iteration then computes in. Stored by
        columns on the device; an array in Fortran order is not copied before, if its columns are
        aligned.
    d
        -R b, ``(n,)``.
    mu
        Coefficients of friction, a number or ``(n / 3,)``.
    kernel
        As in the table.
    impulses
        The first iterate, ``(n,)``; zero if None.
    iterations
        The most iterations.
    panel_rows
        Rows of a panel of ``"relaxed_sor"``, a multiple of 3; S2 has 6, 12, 48 and 384.
    layout
        Order of the rows on the device: contact by contact (S2 eq. 5.7); all normals, then all
        first and second tangents (eq. 5.8); the same with each direction padded to 128 bytes
        (eq. 5.9). T and the vectors are given by contacts in any case. ``"all_in_one"`` and SOR
        take contacts only.
    aligned
        Whether each column of T begins at a multiple of 128 bytes.
    criterion
        None; ``"each"``: every impulse changes by at most ``rtol |P| + atol`` (S2 eq. 4.49);
        ``"norm"``: the same of Euclidean norms (eq. 4.50).
    rtol, atol
        Tolerances of `criterion`.
    check_every
        Iterations between two checks of `criterion`.
    leave_out
        None, or a part as in the second table, of ``"full_sor_96"`` only.
    device
        ``"cuda"`` or ``"cuda-emulated"``.

    Returns
    -------
    DenseIterations

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong; the message names it, the index and the value.
    MemoryError
        If the device has not enough memory, with the bytes that are needed and free.
    RuntimeError
        If the device cannot be used or fails, or cuBLAS is missing.

    Notes
    -----
    Source: S2 chapter 5, listings 5.1, 5.2, A.1 and A.2; variants of table 6.1. R is S2's
    eqs. 4.41 to 4.43, with the relaxation in it. In full SOR a contact's friction sees its new
    normal impulse, as in S2's kernel A; solvers update a contact's rows together.

    Examples
    --------
    >>> import contactsolve as cs
    >>> if cs.cuda.available():
    ...     done = cs.cuda.iterate_dense(np.zeros((3, 3)), [1.0, 2.0, 0.0], 0.5)
    ...     assert done.impulses.tolist() == [1.0, 0.5, 0.0]
    """
    module = _module_of(device)
    names = module.s2_kernels()
    if kernel not in names:
        raise ValueError(f"kernel is {kernel!r}: {', '.join(map(repr, names))} are known")
    matrix = _matrix(T)
    contacts = matrix.shape[0] // 3
    start = np.zeros(len(matrix)) if impulses is None else impulses
    place = _place(layout, kernel, contacts, matrix.itemsize)
    pitch = _rounded(place.rows, matrix.itemsize) if flag("aligned", aligned) else place.rows

    # The arrays as the device has them: rows in the order of the layout, T by columns.
    on_device = _columns(matrix, place, pitch)
    constant = _placed(_vector("d", d, matrix), place)
    here = _placed(_vector("impulses", start, matrix), place)
    if criterion not in _CRITERIA:
        raise ValueError(f"criterion is {criterion!r}: None, 'each' and 'norm' are known")
    if leave_out not in _LEFT_OUT:
        raise ValueError(f"leave_out is {leave_out!r}: {', '.join(map(repr, _LEFT_OUT))} are known")
    if leave_out is not None and kernel != "full_sor_96":
        raise ValueError(
            f"leave_out is {leave_out!r}: kernel='full_sor_96' is needed, not {kernel!r}"
        )
    done = module.s2_iterate(
        (
            names.index(kernel),
            _LEFT_OUT.index(leave_out),
            matrix.dtype == np.float32,
            _panel(kernel, panel_rows),
            contacts,
            place.rows,
            pitch,
            place.contact_step,
            place.direction_step,
        ),
        (_count("iterations", iterations, 0), _count("check_every", check_every, 1)),
        (_CRITERIA.index(criterion), _tolerance("rtol", rtol), _tolerance("atol", atol)),
        on_device,
        constant,
        _coefficients(mu, contacts, matrix.dtype),
        here,
    )
    parts = ("allocation", "to_device", "iteration", "from_device", "release")
    seconds = dict(zip(parts, done[2:], strict=True))
    return DenseIterations(here[place.row], done[0], bool(done[1]), seconds)


class _Place(NamedTuple):
    """Where the rows are on the device: row i of contact c, and the row of each given row."""

    rows: int
    contact_step: int
    direction_step: int
    row: np.ndarray


def _module_of(device: str) -> ModuleType:
    if device not in ("cuda", "cuda-emulated"):
        raise ValueError(f"device is {device!r}: 'cuda' and 'cuda-emulated' are known")
    _devices.load(device)
    module = _devices.module_of(device)
    assert module is not None
    return module


def _matrix(value: Any) -> np.ndarray:
    """Return T in its precision, checked."""
    matrix = as_array("T", value)
    refuse_other_than_real("T", matrix.dtype)
    if matrix.dtype != np.float32:
        matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"T has shape {matrix.shape}: a square matrix is needed")
    if not len(matrix) or len(matrix) % 3:
        raise ValueError(f"T has {len(matrix)} rows: three for each contact are needed")
    finite = np.isfinite(matrix)
    if not finite.all():
        entry = matrix[~finite][0]
        raise ValueError(f"T[{first_entry(~finite)}] is {entry:g}: every entry must be finite")
    return matrix


def _in_precision(name: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return numbers in the precision of T, in memory of their own."""
    with np.errstate(over="ignore"):
        rounded = array.astype(dtype, order="C")
    large = np.isinf(rounded)
    if large.any():
        entry = shortest(array[large][0])
        raise ValueError(f"{name}[{first_entry(large)}] is {entry}: that is too large for {dtype}")
    return rounded


def _vector(name: str, value: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a vector in the precision of T."""
    vector = finite_array(name, value)
    if vector.shape != (len(matrix),):
        raise ValueError(f"{name} has shape {vector.shape}: shape {(len(matrix),)} is needed")
    return _in_precision(name, vector, matrix.dtype)


def _coefficients(value: Any, contacts: int, dtype: np.dtype) -> np.ndarray:
    mu = finite_array("mu", value)
    if mu.shape not in ((), (contacts,)):
        raise ValueError(f"mu has shape {mu.shape}: one number or shape {(contacts,)} is needed")
    mu = np.broadcast_to(mu, contacts)
    if (mu < 0).any():
        c = int(np.argmax(mu < 0))
        raise ValueError(f"mu[{c}] is {shortest(mu[c])}: coefficients of friction are not negative")
    return _in_precision("mu", mu, dtype)


def _place(layout: str, kernel: str, contacts: int, size: int) -> _Place:
    """Return where a layout has its rows.  S2 eqs. 5.7 to 5.9."""
    if layout not in _LAYOUTS:
        raise ValueError(f"layout is {layout!r}: {', '.join(map(repr, _LAYOUTS))} are known")
    if layout == "contacts":
        return _Place(3 * contacts, 3, 1, np.arange(3 * contacts))
    if kernel in _ALL_IN_ONE or "sor" in kernel:
        raise ValueError(f"layout is {layout!r}: kernel={kernel!r} needs 'contacts'")
    step = contacts if layout == "directions" else _rounded(contacts, size)
    row = (np.arange(contacts)[:, None] + step * np.arange(3)).ravel()
    return _Place(3 * step, 1, step, row)


def _rounded(count: int, size: int) -> int:
    """Return the least count of numbers of this size, not below, that fills whole 128 bytes."""
    each = _ALIGNMENT // size
    return -(-count // each) * each


def _columns(matrix: np.ndarray, place: _Place, pitch: int) -> np.ndarray:
    """Return T by columns in the order of the layout, with zeros where it is padded."""
    if place.contact_step == 3 and pitch == len(matrix):
        return np.ascontiguousarray(matrix.T)
    columns = np.zeros((place.rows, pitch), matrix.dtype)
    if place.contact_step == 3:
        columns[:, : len(matrix)] = matrix.T
        return columns

    # A direction of the rows at a time: indices of all rows and columns take several times as long.
    contacts, step = len(matrix) // 3, place.direction_step
    given = matrix.T.reshape(contacts, 3, contacts, 3)
    for direction in range(3):
        rows = slice(direction * step, direction * step + contacts)
        columns.reshape(3, step, pitch)[:, :contacts, rows] = given[..., direction].swapaxes(0, 1)
    return columns


def _placed(vector: np.ndarray, place: _Place) -> np.ndarray:
    placed = np.zeros(place.rows, vector.dtype)
    placed[place.row] = vector
    return placed


def _panel(kernel: str, panel_rows: Any) -> int:
    rows = _count("panel_rows", panel_rows, 3)
    if rows % 3:
        raise ValueError(f"panel_rows is {rows}: a multiple of 3 is needed")
    return _PANELS.get(kernel, rows)


def _count(name: str, value: Any, least: int) -> int:
    count = index(name, value)
    if not least <= count < 2**31:
        raise ValueError(f"{name} is {count}: at least {least} and below 2^31 is needed")
    return count


def _tolerance(name: str, value: Any) -> float:
    tolerance = number(name, value)
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"{name} is {tolerance:g}: a number that is not negative is needed")
    return tolerance
