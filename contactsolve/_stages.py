"""Stages that the caller gives, for the order ``given``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._arrays import index_array

_IN_PARTS = ("concurrent", "disjoint")
_PART_BEGINS, _STAGE_BEGINS = 1, 2  # as in contactsolve.h


def listed_stages(stages: Any, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the contacts of all stages in turn, and whether a part or stage begins at each.

    The latter is 0 for neither, 1 for a part, 2 plus the number of its kind for a stage, as in
    ``cs_order_options``.
    """
    known = _core.stage_kinds()
    if not isinstance(stages, (list, tuple, np.ndarray)):
        raise TypeError(f"stages is {type(stages).__name__}: a list of lists of contacts is needed")
    contacts: list[np.ndarray] = []
    begins: list[np.ndarray] = []
    places: list[str] = []
    for s, (stage, name) in enumerate(zip(stages, _kinds(kind, len(stages), known), strict=True)):
        first = _STAGE_BEGINS + known.index(name)
        before = len(places)
        for place, part in _parts(f"stages[{s}]", stage, name):
            begins.append(np.zeros(len(part), np.int64))
            begins[-1][:1] = first
            first = _PART_BEGINS if len(part) else first
            contacts.append(part)
            places += [f"{place}[{i}]" for i in range(len(part))]
        if len(places) == before:
            raise ValueError(f"stages[{s}] is empty: a stage has one contact or more")
    listed = np.concatenate([np.zeros(0, np.int64), *contacts])
    _refuse_repeated(listed, places)
    return listed, np.concatenate([np.zeros(0, np.int64), *begins])


def _kinds(kind: Any, count: int, known: list[str]) -> list[str]:
    """Return one kind for each stage."""
    if not isinstance(kind, (str, list, tuple)):
        raise TypeError(f"kind is {kind!r}: a kind, or a list with one for each stage, is needed")
    kinds = [kind] * count if isinstance(kind, str) else list(kind)
    if len(kinds) != count:
        raise ValueError(f"kind has {len(kinds)} entries; there are {count} stages")
    for s, name in enumerate(kinds):
        if name not in known:
            place = "kind" if isinstance(kind, str) else f"kind[{s}]"
            raise ValueError(f"{place}: {name!r} is unknown; known: {', '.join(known)}")
    return kinds


def _parts(place: str, stage: Any, kind: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the contacts of each part of a stage, and their place in the argument."""
    if kind not in _IN_PARTS:
        yield place, _contacts(place, stage, "")
        return
    if not isinstance(stage, (list, tuple, np.ndarray)):
        raise TypeError(f"{place} is {stage!r}: a list of lists, one for each part, is needed")
    for p, part in enumerate(stage):
        yield (
            f"{place}[{p}]",
            _contacts(f"{place}[{p}]", part, f"; the parts of {kind} stages are lists"),
        )


def _contacts(place: str, values: Any, because: str) -> np.ndarray:
    listed = index_array(place, values) if np.size(values) else np.zeros(0, np.int64)
    if listed.ndim != 1:
        raise ValueError(f"{place} has shape {listed.shape}: a list of contacts is needed{because}")
    return listed


def _refuse_repeated(listed: np.ndarray, places: list[str]) -> None:
    """Raise unless every contact occurs exactly once."""
    wrong = np.flatnonzero((listed < 0) | (listed >= len(listed)))
    if len(wrong):
        raise ValueError(
            f"{places[wrong[0]]} is {listed[wrong[0]]}: the stages list {len(listed)} contacts, "
            f"which run from 0 to {len(listed) - 1}"
        )
    order = np.argsort(listed, kind="stable")
    again = np.flatnonzero(np.diff(listed[order]) == 0)
    if len(again):
        first, second = order[again[0]], order[again[0] + 1]
        raise ValueError(
            f"{places[second]} is {listed[second]}, as {places[first]} is: every contact is "
            f"visited once"
        )
