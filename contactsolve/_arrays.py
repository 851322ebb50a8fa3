"""Arrays from a caller, converted and checked, with errors that name the argument."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._device_arrays import is_on_device, to_host

_REAL_KINDS = "fiub"
_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_LARGEST = np.iinfo(np.int64).max


def real_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a C-contiguous float64 array; it may be the caller's own memory."""
    if _is_ready(value, _FLOAT64):
        return value.view()
    array = as_array(name, value)
    refuse_other_than_real(name, array.dtype)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def _is_ready(value: Any, dtype: np.dtype) -> bool:
    """Whether `value` is an array that needs no conversion, as most are."""
    return type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous


def refuse_other_than_real(name: str, dtype: np.dtype) -> None:
    """Raise for complex numbers, texts and objects."""
    if dtype.kind not in _REAL_KINDS:
        raise TypeError(f"{name} has dtype {dtype}: real numbers are needed")


def is_sparse(matrix: Any) -> bool:
    """Whether `matrix` is a SciPy sparse matrix or array."""
    return hasattr(matrix, "tocsr")


def index_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a C-contiguous int64 array."""
    if _is_ready(value, _INT64):
        return value.view()
    array = as_array(name, value)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}: integers are needed")
    if array.dtype == np.uint64 and array.max() > _LARGEST:
        large = array > _LARGEST
        raise ValueError(f"{name}[{first_entry(large)}] is {array[large][0]}: that is too large")
    return np.ascontiguousarray(array, dtype=np.int64).reshape(array.shape)


def index(name: str, value: Any) -> int:
    """Return an integer; fractions are refused."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: an integer is needed") from None


def finite_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as `real_array` does, without NaN and infinities."""
    array = real_array(name, value)
    finite = np.isfinite(array)
    if not finite.all():
        number = array[~finite][0]
        where = f"[{first_entry(~finite)}]" if array.ndim else ""
        raise ValueError(f"{name}{where} is {number:g}: every entry must be finite")
    return array


def shortest(value: Any) -> str:
    """Return a number in the fewest digits that identify it: ``"1"``, ``"1.0000001"``."""
    number = float(value)
    text = f"{number:g}"
    return text if float(text) == number or number != number else repr(number)


def first_entry(mask: np.ndarray) -> str:
    """Return the index of the first True entry as text: ``"3, 0"``."""
    return ", ".join(str(i) for i in np.argwhere(mask)[0])


def as_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as an array of any type: of another package, and of a device, a copy."""
    if value is None:
        raise TypeError(f"{name} is missing")
    if is_sparse(value):
        raise TypeError(f"{name} is a sparse matrix: an array is needed")
    if is_on_device(value):
        return to_host(name, value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{name} has a mask: an array without one is needed")
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{name} cannot be read through __dlpack__: {error}") from None
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is no array of one shape: {error}") from None


def spread(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` broadcast to `shape`, in memory of its own."""
    if value.shape == shape:
        return np.array(value, dtype=np.float64, order="C")
    if value.ndim == 0:
        array = np.empty(shape)
        array.fill(value)
        return array
    try:
        return np.array(np.broadcast_to(value, shape), dtype=np.float64, order="C")
    except ValueError:
        raise ValueError(
            f"{name} has shape {value.shape}: one number or shape {shape} is needed"
        ) from None


def read_only(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array
