"""Make a failing case small: fewer groups, contacts and options, simpler values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .runner import attempt_apart
from .spec import Case, Group, Problem
from .worker import Worker

Fails = Callable[[Case], bool]


def kinds_of(outcome) -> set[str]:
    """The kinds of what was found; crashes by any signal are one kind."""
    return {finding.kind.split(" (")[0] for finding in outcome.findings}


def shrink(case: Case, kind: str, *, seconds: float = 60.0, fails: Fails | None = None) -> Case:
    """A case that still shows a finding of that kind, as small as was found in so many seconds.

    Candidates are attempted in a process of their own, or judged by `fails`.
    """
    until = time.monotonic() + seconds
    with Worker() as worker:

        def still(candidate: Case) -> bool:
            try:
                return kind.split(" (")[0] in kinds_of(attempt_apart(candidate, worker))
            except Exception:
                return False

        check = fails or still
        progress = True
        while progress and time.monotonic() < until:
            progress = False
            for candidate in candidates(case):
                if time.monotonic() > until:
                    break
                if check(candidate):
                    case, progress = candidate, True
                    break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are simpler in one respect, the large steps first."""
    yield from _without_parts(case)
    yield from _without_options(case)
    yield from _with_simpler_problem(case)


# ---- fewer contacts ------------------------------------------------------------------------------


def _without_parts(case: Case) -> Iterator[Case]:
    problem = case.problem
    if len(problem.groups) > 1:
        for g in range(len(problem.groups)):
            kept = [np.arange(one.contacts) for one in problem.groups]
            kept[g] = np.zeros(0, int)
            yield _keeping(case, kept)
    for g, group in enumerate(problem.groups):
        size = group.contacts // 2
        while size >= 1:
            for start in range(0, group.contacts, size):
                kept = [np.arange(one.contacts) for one in problem.groups]
                kept[g] = np.delete(kept[g], slice(start, start + size))
                if sum(map(len, kept)):
                    yield _keeping(case, kept)
            size //= 2


def _keeping(case: Case, kept: list[np.ndarray]) -> Case:
    """The case with some contacts of each group; groups without any are left out."""
    problem = case.problem
    pairs = zip(problem.groups, kept, strict=True)
    groups = [one.of_contacts(at) for one, at in pairs if len(at)]
    rows = _rows_of(problem, kept)
    smaller = replace(problem, groups=groups)
    if problem.A is not None:
        smaller.A = problem.A[np.ix_(rows, rows)].copy()
    if problem.known is not None:
        smaller.known = problem.known[rows]
    changed = replace(case, problem=smaller)
    if case.initial is not None and case.initial[0] == "impulses":
        flat = np.concatenate([part.ravel() for part in case.initial[1]])[rows]
        changed.initial = ("impulses", smaller.split(flat))
    if case.before is not None:
        changed.before = case.before[rows]
    order = case.options.get("order")
    if isinstance(order, np.ndarray):
        contacts = np.concatenate(
            [at + start for at, start in zip(kept, _starts(problem), strict=True)]
        )
        rank = {int(k): i for i, k in enumerate(contacts)}
        left = np.array([rank[int(k)] for k in order if int(k) in rank], dtype=np.int64)
        changed.options = {**case.options, "order": left}
    return changed


def _starts(problem: Problem) -> np.ndarray:
    return np.cumsum([0, *(one.contacts for one in problem.groups)])[:-1]


def _rows_of(problem: Problem, kept: list[np.ndarray]) -> np.ndarray:
    found, start = [], 0
    for one, at in zip(problem.groups, kept, strict=True):
        found.append(start + (at[:, None] * one.rows + np.arange(one.rows)).ravel())
        start += one.b.size
    return np.concatenate(found).astype(int)


# ---- fewer options -------------------------------------------------------------------------------


def _without_options(case: Case) -> Iterator[Case]:
    for name in ("callback", "before", "initial"):
        if getattr(case, name) is not None:
            yield replace(case, **{name: None})
    for field in ("settings", "options"):
        given = getattr(case, field)
        for name in given:
            if name not in ("max_seconds", "rtol"):
                left = {key: value for key, value in given.items() if key != name}
                yield replace(case, **{field: left})


# ---- simpler values ------------------------------------------------------------------------------


def _with_simpler_problem(case: Case) -> Iterator[Case]:
    problem = case.problem
    if problem.form == "groups" and len(problem.groups) == 1 and len(problem.inverse_masses) == 1:
        yield replace(case, problem=replace(problem, form="bodies"))
    if problem.storage != "dense":
        yield replace(case, problem=replace(problem, storage="dense"))
    if problem.as_mass:
        yield replace(case, problem=replace(problem, as_mass=False))
    fewer = _without_idle_bodies(problem)
    if fewer is not None:
        yield replace(case, problem=fewer)
    for g, group in enumerate(problem.groups):
        for simpler in _simpler_groups(group):
            groups = [*problem.groups]
            groups[g] = simpler
            yield replace(case, problem=replace(problem, groups=groups, known=None))
    for i, one in enumerate(problem.inverse_masses):
        for value in _simpler(one):
            masses = [*problem.inverse_masses]
            masses[i] = value
            yield replace(case, problem=replace(problem, inverse_masses=masses, known=None))
    if problem.A is not None:
        for value in _simpler(problem.A):
            yield replace(case, problem=replace(problem, A=value, known=None))


def _without_idle_bodies(problem: Problem) -> Problem | None:
    if not problem.inverse_masses:
        return None
    used = {int(x) for group in problem.groups for x in group.bodies.ravel() if x >= 0}
    total = sum(map(len, problem.inverse_masses))
    kept = sorted(used)
    if len(kept) == total or not kept:
        return None
    starts = np.cumsum([0, *map(len, problem.inverse_masses)])
    masses = []
    for start, one in zip(starts, problem.inverse_masses, strict=False):
        mine = [k - start for k in kept if start <= k < start + len(one)]
        masses.append(one[mine])
    if problem.form == "groups":
        masses = [one for one in masses if len(one)]
    number = np.full(total, -1)
    number[kept] = np.arange(len(kept))
    groups = [
        replace(g, bodies=np.where(g.bodies < 0, -1, number[np.maximum(g.bodies, 0)]))
        for g in problem.groups
    ]
    return replace(problem, groups=groups, inverse_masses=masses)


def _simpler_groups(group: Group) -> Iterator[Group]:
    if group.compliance is not None:
        yield replace(group, compliance=None)
    for value in _simpler(group.b):
        yield replace(group, b=value)
    for name, old in group.parameters.items():
        for value in _simpler(old):
            yield replace(group, parameters={**group.parameters, name: value})
    for side in range(2):
        if group.J is not None:
            for value in _simpler(group.J[side]):
                halves = [*group.J]
                halves[side] = value
                yield replace(group, J=tuple(halves))


def _simpler(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array of signs, of fewer digits, with single entries zero."""
    finite = np.isfinite(array)
    for digits in (1, 2, 4):
        with np.errstate(all="ignore"):
            size = 10.0 ** np.floor(np.log10(np.where(array == 0.0, 1.0, np.abs(array))))
            rounded = np.where(finite, np.round(array / size, digits - 1) * size, array)
        text = np.array([float(f"{x:.{digits}g}") for x in rounded.ravel()]).reshape(array.shape)
        if not np.array_equal(text, array):
            yield text
            break
    if array.size <= 64:
        for at in zip(*np.nonzero((array != 0.0) & finite), strict=True):
            changed = array.copy()
            changed[at] = 0.0
            yield changed
