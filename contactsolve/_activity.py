"""Index sets for methods that pivot, from the states of contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["index_set_of", "is_activity"]

_CONTACT = {"open": -1, "stick": 0, "slide": 0}  # of the normal row; tangents are free
_ROW = {"free": 0, "low": -1, "high": 1}


def is_activity(initial: Any) -> bool:
    """Whether this has the form of `Result.active`: words, or one array of words per group."""
    if isinstance(initial, (list, tuple)):
        return any(is_activity(part) for part in initial)
    return isinstance(initial, str) or (
        isinstance(initial, np.ndarray) and initial.dtype.kind in "UO" and _has_words(initial)
    )


def _has_words(array: np.ndarray) -> bool:
    return array.dtype.kind == "U" or any(isinstance(item, str) for item in array.flat)


def index_set_of(problem: Problem, active: Any) -> np.ndarray:
    """Return -1 (low), 0 (free) or 1 (high) for each row, ``(rows,)`` int8.

    Raises
    ------
    ValueError
        For words, or shapes, that do not fit the problem's groups.
    """
    layouts = problem._groups
    parts = list(active) if problem.grouped else [active]
    if len(parts) != len(layouts):
        raise ValueError(f"initial has {len(parts)} groups: the problem has {len(layouts)}")
    rows = [np.zeros(0, np.int8)]
    for g, (part, layout) in enumerate(zip(parts, layouts, strict=True)):
        name = f"initial[{g}]" if problem.grouped else "initial"
        words = np.asarray(part)
        contact = _core.describe_set(layout.set.name, layout.rows)["contact"]
        shape = (layout.contacts,) if contact else layout.shape
        if words.shape != shape:
            raise ValueError(f"{name} has shape {words.shape}: {shape} is needed")
        codes = _codes(name, words, _CONTACT if contact else _ROW)
        if contact:
            codes = np.hstack([codes[:, None], np.zeros((len(codes), layout.rows - 1), np.int8)])
        rows.append(codes.ravel())
    return np.concatenate(rows)


def _codes(name: str, words: np.ndarray, known: dict[str, int]) -> np.ndarray:
    codes = np.zeros(words.shape, np.int8)
    taken = np.zeros(words.shape, bool)
    for word, code in known.items():
        here = words == word
        codes[here], taken[here] = code, True
    if not taken.all():
        at = tuple(np.argwhere(~taken)[0])
        where = ", ".join(map(str, at))
        raise ValueError(f"{name}[{where}] is {words[at]!s}: known are {', '.join(known)}")
    return codes
