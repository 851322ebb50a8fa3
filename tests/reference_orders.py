"""The plans of the orders in plain Python: lists of stages, each a kind and the blocks it visits.

They are written from the definitions (S1 sections 4.2, 4.3, 7.4, 8.3), with conflicts as a dense
table, and share no code with the package. Stages that are independent or disjoint give the same as
sequential ones, which is what the tests compare: their kind here is "sequential".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from reference_numpy import ReferenceProblem, sweep

HUB = 128  # contacts from which on a body keeps its part of a checkerboard's border

Stages = list[tuple[str, list[int]]]


def batched(values: Sequence[int], size: int) -> list[Sequence[int]]:
    """Pieces of `size`, as itertools.batched of Python 3.12."""
    return [values[i : i + size] for i in range(0, len(values), size)]


def joined(lists: Sequence[Sequence[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(lists))


def moving_bodies(bodies: np.ndarray, minv: np.ndarray) -> list[set[int]]:
    """The moving bodies of each contact."""
    return [{int(b) for b in pair if b >= 0 and minv[b].any()} for pair in bodies]


def conflicts_of(touching: Sequence[set[int]]) -> np.ndarray:
    """Which contacts share a moving body."""
    return np.array([[bool(a & b) for b in touching] for a in touching], bool).reshape(
        len(touching), len(touching)
    )


def conflicts_of_matrix(reference: ReferenceProblem) -> np.ndarray:
    """Which blocks a given A couples, in either direction."""
    pattern = np.eye(len(reference.blocks), dtype=bool)
    for k, row in enumerate(reference.blocks):
        for other, column in enumerate(reference.blocks):
            pattern[k, other] |= reference.A[row, column].any()
    return pattern | pattern.T


def greedy(blocks: Sequence[int], conflicts: np.ndarray) -> list[list[int]]:
    """S1 section 4.3: each block gets the lowest colour that no conflict of it has."""
    colors: list[list[int]] = []
    for k in blocks:
        free = (c for c in colors if not any(conflicts[k, other] for other in c))
        color = next(free, None)
        if color is None:
            colors.append(color := [])
        color.append(k)
    return colors


def interiors(
    labels: np.ndarray, conflicts: np.ndarray, touching: Sequence[set[int]] | None
) -> list[int]:
    """The part that a contact belongs to, -1 on the border; where nothing moves, k modulo parts."""
    parts = []
    count = 1 + max((int(x) for x in labels), default=0)
    for k in range(len(conflicts)):
        if touching is None:
            lower = conflicts[k] & (labels < labels[k])
            parts.append(-1 if lower.any() else int(labels[k]))
        else:
            met = {int(labels[body]) for body in touching[k]}
            parts.append(k % count if not met else met.pop() if len(met) == 1 else -1)
    return parts


def partition(
    labels: np.ndarray,
    border: str,
    conflicts: np.ndarray,
    touching: Sequence[set[int]] | None = None,
    sequence: Sequence[int] | None = None,
    chunk: int = 0,
) -> Stages:
    """S1 section 4.2: interiors, then the border; `touching` is None for a given A."""
    sequence = range(len(conflicts)) if sequence is None else sequence
    part = interiors(labels, conflicts, touching)
    first: list[int] = []
    for p in range(1 + max(part, default=-1)):
        first += in_chunks([k for k in sequence if part[k] == p], conflicts, chunk)
    rest = [k for k in sequence if part[k] < 0]
    if border == "colored" or (chunk and 2 * len(rest) > len(conflicts)):
        rest = joined(greedy(rest, conflicts))
    elif border == "checkerboard":
        rest = checkerboard(rest, labels, conflicts, touching, chunk)
    return [("sequential", first + rest)]


def regions(
    labels: np.ndarray, conflicts: np.ndarray, touching: Sequence[set[int]] | None = None
) -> Stages:
    """Contacts inside regions colour by colour, those of a colour by region; then the others."""
    part = interiors(labels, conflicts, touching)
    inside = sorted((k for k in range(len(part)) if part[k] >= 0), key=lambda k: part[k])
    between = [k for k in range(len(part)) if part[k] < 0]
    colors = [*greedy(inside, conflicts), *greedy(between, conflicts)]
    return [("sequential", list(color)) for color in colors]


def checkerboard(
    border: list[int],
    labels: np.ndarray,
    conflicts: np.ndarray,
    touching: Sequence[set[int]] | None,
    chunk: int = 0,
) -> list[int]:
    """Parts of one colour share no moving body among their contacts on the border."""
    if touching is None:
        owner = {k: int(labels[k]) for k in border}
    else:
        degree = np.bincount([body for met in touching for body in met], minlength=len(labels))
        owner = {}
        for k in border:
            hubs = [body for body in touching[k] if degree[body] > HUB]
            chosen = hubs if len(hubs) == 1 else touching[k]
            owner[k] = min(int(labels[body]) for body in chosen)
    owners = sorted(set(owner.values()))
    own = {p: [k for k in border if owner[k] == p] for p in owners}
    meet = np.zeros((1 + max(owners, default=0),) * 2, bool)
    for p, q in itertools.product(owners, repeat=2):
        meet[p, q] = conflicts[np.ix_(own[p], own[q])].any()
    parts = [own[p] for color in greedy(owners, meet) for p in color]
    return joined([in_chunks(part, conflicts, chunk) for part in parts])


def in_chunks(blocks: list[int], conflicts: np.ndarray, chunk: int) -> list[int]:
    """Blocks coloured `chunk` at a time; 0: as they are."""
    if not chunk:
        return blocks
    return joined([joined(greedy(piece, conflicts)) for piece in batched(blocks, chunk)])


def cut_evenly(weights: np.ndarray, parts: int) -> np.ndarray:
    """The part in whose share of the total the middle of each weight falls."""
    middle = np.cumsum(weights) - weights / 2
    share = middle / max(weights.sum(), 1)
    return np.minimum((share * parts).astype(int), parts - 1)


def cache(
    touching: Sequence[set[int]],
    chunk: int,
    parts: int | None,
    degree: np.ndarray,
) -> Stages:
    """Contacts by the later of their bodies; in `parts` domains, or None for chunk after chunk."""
    conflicts = conflicts_of(touching)
    later = [max(met, default=-1) for met in touching]
    sequence = sorted(range(len(touching)), key=lambda k: later[k])
    if parts is None:
        return [("sequential", joined(greedy(c, conflicts))) for c in batched(sequence, chunk)]
    labels = cut_evenly(degree, min(parts, max(len(touching), 1)))
    return partition(labels, "checkerboard", conflicts, touching, sequence, chunk)


def pairs_together(bodies: np.ndarray) -> list[list[int]]:
    """S1 section 8.3: the contacts of each pair of bodies, pairs by their first contact."""
    sets: dict[tuple[int, int], list[int]] = {}
    for k, (a, b) in enumerate(bodies.tolist()):
        sets.setdefault((min(a, b), max(a, b)), []).append(k)
    return list(sets.values())


def contact_sets(
    sets: list[list[int]], conflicts: np.ndarray, inside: str, colored: bool
) -> Stages:
    firsts = [one[0] for one in sets]
    if colored:
        of_first = dict(zip(firsts, sets, strict=True))
        colors = greedy(firsts, conflicts)
        return [(inside, [k for first in color for k in of_first[first]]) for color in colors]
    if inside == "sequential":
        return [(inside, joined(sets))]
    stages: Stages = []
    for one in sets:
        if not stages or conflicts[one[0], stages[-1][1]].any():
            stages.append((inside, []))
        stages[-1][1].extend(one)
    return stages


def run_stages(
    reference: ReferenceProblem, stages: Stages, start: np.ndarray, sweeps: int = 1, **options
) -> np.ndarray:
    """Sweeps stage by stage: simultaneous ones read the values from before the stage."""
    lam = np.array(start, dtype=float).ravel()
    for _ in range(sweeps):
        for kind, blocks in stages:
            solver = "jacobi" if kind == "simultaneous" else "gauss_seidel"
            lam = sweep(reference, lam, solver=solver, order=blocks, **options)
    return lam
