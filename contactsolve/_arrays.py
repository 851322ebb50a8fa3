"""Arrays as they arrive from a caller, with errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np

_REAL_KINDS = "fiub"


def real_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a C-contiguous float64 array; it may be the caller's own memory."""
    array = _as_array(name, value)
    if array.dtype.kind not in _REAL_KINDS:
        raise TypeError(f"{name} has dtype {array.dtype}: real numbers are needed")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def index_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a C-contiguous int64 array."""
    array = _as_array(name, value)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}: integers are needed")
    return np.ascontiguousarray(array, dtype=np.int64)


def _as_array(name: str, value: Any) -> np.ndarray:
    if value is None:
        raise TypeError(f"{name} is missing")
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is no array of one shape: {error}") from None


def spread(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` broadcast to `shape`, in memory of its own."""
    try:
        return np.ascontiguousarray(np.broadcast_to(value, shape), dtype=np.float64)
    except ValueError:
        raise ValueError(
            f"{name} has shape {value.shape}: one number or shape {shape} is needed"
        ) from None


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array with writing switched off."""
    array.flags.writeable = False
    return array
