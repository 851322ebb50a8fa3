"""Numbers of a cloth and of its runs, checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["graph_of", "numbers_of", "positive_h", "steps_of"]

_MOST_STEPS = 2**53  # of a run: counts beyond have no exact time


def numbers_of(**given: Any) -> np.ndarray:
    """Return single numbers as an array; C checks their ranges."""
    for name, value in given.items():
        if np.shape(value) != () or isinstance(value, (str, bytes, complex, type(None))):
            raise TypeError(f"{name} is {value!r}: a number is needed")
    return np.array([_float(name, value) for name, value in given.items()])


def _float(name: str, value: Any) -> float:
    """Return a number, unless it is an integer beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large: a finite number is needed") from None


def positive_h(h: Any) -> float:
    """Return the length of a step [s]."""
    length = float(numbers_of(h=h)[0])
    if not 0 < length < np.inf:
        raise ValueError(f"h is {length}: a positive number of seconds is needed")
    return length


def steps_of(seconds: Any, h: Any) -> Iterable[float]:
    """Return lengths of steps that add up to `seconds`."""
    seconds, h = map(float, numbers_of(seconds=seconds, h=h))
    if not 0 <= seconds < np.inf:
        raise ValueError(f"seconds is {seconds}: a number of at least 0 is needed")
    h = positive_h(h)
    whole = seconds / h
    if whole > _MOST_STEPS:
        raise ValueError(f"h is {h}: {seconds} s have more than 2^53 such steps")
    full = int(whole + 1e-9)
    rest = [seconds - full * h] if whole - full > 1e-9 else []
    return itertools.chain(itertools.repeat(h, full), rest)


def graph_of(faces: np.ndarray, vertices: int, partition: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and indptr of the pattern of the edges; only METIS reads the indices."""
    if not (isinstance(partition, str) and partition == "metis"):
        return np.empty(0, np.int64), np.zeros(vertices + 1, np.int64)
    inside = faces[((faces >= 0) & (faces < vertices)).all(axis=1)]
    ends = np.concatenate([inside[:, [a, b]] for a in range(3) for b in range(3) if a != b])
    keys = np.unique(ends[:, 0] * vertices + ends[:, 1])
    indptr = np.searchsorted(keys, vertices * np.arange(vertices + 1)).astype(np.int64)
    return keys % max(vertices, 1), indptr
