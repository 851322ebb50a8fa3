"""Partitions of bodies: labels from METIS or from the C library, and their quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import index_array
from ._optional import optional
from ._options import number_of_parts
from .problem import Problem

_METIS_OPTIONS: dict[str, dict[str, int]] = {
    "metis": {},
    "metis_volume": {"objtype": 1},  # METIS_OBJTYPE_VOL
    "metis_neighbours": {"minconn": 1},
}
_DECLARED = next(one["options"] for one in _core.orders() if one["name"] == "partition")
# The strategies of the C library, then those that need pymetis.
STRATEGIES = (
    *next(option["words"] for option in _DECLARED if option["name"] == "strategy"),
    *_METIS_OPTIONS,
)


@dataclass(frozen=True)
class PartitionQuality:
    """The quality of a partition (S1 section 4.2).

    Attributes
    ----------
    interiors
        Contacts inside each part, ``(parts,)``, without those between immovable bodies.
    border
        Contacts between parts.
    neighbours
        Number of parts that each part touches, ``(parts,)``.
    edge_cut
        Weighted number of cut edges of the graph (S1 Definition 4.3): contacts between bodies of
        different parts; for a given A, coupled pairs of contacts of different parts.
    """

    interiors: np.ndarray
    border: int
    neighbours: np.ndarray
    edge_cut: int


def labels(problem: Problem, strategy: str = "auto", parts: int | str = "auto") -> np.ndarray:
    """Divide the bodies of a problem into parts, as `partition` does.

    Parameters
    ----------
    problem
        A `Problem`. If A was given, its contacts are divided instead of bodies.
    strategy
        A strategy of `contactsolve.orders.partition`.
    parts
        Maximum number of parts. ``"auto"``: 8, or 32 from 131,072 contacts on.

    Returns
    -------
    np.ndarray
        The part of each body, ``(bodies,)``, 0 for immovable ones; ``(K,)`` if A was given.

    Raises
    ------
    TypeError, ValueError
        `problem` is not a `Problem`, the strategy or `parts` is unknown, or `parts` is
        below 1.
    ImportError
        pymetis is not installed.
    """
    _require_problem(problem)
    wanted = number_of_parts(parts)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: {strategy!r} is unknown; known: {', '.join(STRATEGIES)}")
    if strategy in _METIS_OPTIONS:
        return _metis_labels(problem, strategy, wanted or problem._core.parts)
    found = _core.partition_labels(problem._core, strategy, wanted)
    # With more parts than bodies some parts are empty: renumber the others.
    return np.unique(found, return_inverse=True)[1].astype(np.int64, copy=False)


def partition_quality(problem: Problem, labels: Any) -> PartitionQuality:
    """Measure a partition: sizes of interiors and border, neighbours of each part, edge cut.

    Parameters
    ----------
    problem
        A `Problem`.
    labels
        The part of each body, ``(bodies,)``; or of each contact, ``(K,)``, if A was given. Labels
        of immovable bodies and of bodies without contacts do not count.

    Returns
    -------
    PartitionQuality

    Raises
    ------
    TypeError, ValueError
        `problem` is not a `Problem`, or the number or range of the labels is wrong.
    """
    _require_problem(problem)
    if problem._matrix is None:
        # The parts of the bodies of each contact; its first movable body counts for immovable ones.
        moves = _movable(problem)
        partners = problem._partners()
        partners = partners[moves[partners].any(axis=1)]
        free = moves[partners]
        used = np.zeros(problem.bodies_count, bool)
        used[partners[free]] = True
        label = _checked(labels, used)
        first = np.take_along_axis(partners, free.argmax(axis=1)[:, None], axis=1)
        parts = label[np.where(free, partners, first)]
        on_border = (parts != parts[:, :1]).any(axis=1)
        inside = parts[~on_border, 0]

        # The edges of the graph between different parts.
        pairs = _edges(problem, moves)
        edges = label[pairs]
        edges = edges[edges[:, 0] != edges[:, 1]]
    else:
        # Of two coupled contacts in different parts, the one in the higher part lies on the border.
        label = _checked(labels, np.ones(problem.contacts, bool))
        coupled = _coupled(problem)
        coupled = coupled[label[coupled[:, 0]] != label[coupled[:, 1]]]
        edges = label[coupled]
        on_border = np.zeros(problem.contacts, bool)
        on_border[np.where(edges[:, 0] > edges[:, 1], coupled[:, 0], coupled[:, 1])] = True
        inside = label[~on_border]

    # Figures of each part.
    count = int(label.max(initial=-1)) + 1
    touching = np.unique(np.sort(edges, axis=1), axis=0)
    return PartitionQuality(
        interiors=np.bincount(inside, minlength=count),
        border=int(on_border.sum()),
        neighbours=np.bincount(touching.ravel(), minlength=count),
        edge_cut=len(edges),
    )


def _require_problem(problem: Any) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")


def _checked(labels: Any, used: np.ndarray) -> np.ndarray:
    """Return labels, checked, with 0 for unused ones; there is one for each entry of `used`."""
    label, count = index_array("labels", labels), len(used)
    if label.shape != (count,):
        raise ValueError(f"labels has shape {label.shape}: ({count},) is needed")
    wrong = np.flatnonzero(used & ((label < 0) | (label >= count)))
    if len(wrong):
        raise ValueError(
            f"labels[{wrong[0]}] is {label[wrong[0]]}: parts are numbered from 0 to {count - 1} "
            f"at most"
        )
    return np.where(used, label, 0)


# ---- the graph ----------------------------------------------------------------------------------


def _movable(problem: Problem) -> np.ndarray:
    """Return whether each body can move, ``(bodies + 1,)``; the last is the fixed world."""
    moving = [
        inverse.any(axis=tuple(range(1, inverse.ndim))) for inverse in problem._inverse_masses()
    ]
    return np.concatenate([np.zeros(0, bool), *moving, [False]])


def _edges(problem: Problem, moves: np.ndarray) -> np.ndarray:
    """Return the pairs of different movable bodies that contacts join, one for each contact."""
    pairs, _ = problem._body_pairs()
    return pairs[moves[pairs].all(axis=1) & (pairs[:, 0] != pairs[:, 1])]


def _coupled(problem: Problem) -> np.ndarray:
    """Return the pairs of different contacts with a block of A in common, each pair once."""
    _, columns, starts = problem._core.assemble()
    rows = np.repeat(np.arange(problem.contacts), np.diff(starts))
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    pairs = np.unique(low[low != high] * problem.contacts + high[low != high])
    return np.column_stack(np.divmod(pairs, max(problem.contacts, 1)))


# ---- METIS --------------------------------------------------------------------------------------


def _metis_labels(problem: Problem, strategy: str, parts: int) -> np.ndarray:
    """Return labels from METIS, of bodies or of the contacts of a given A."""
    # A vertex weighs as much as it has contacts; contacts of a given A weigh one.
    if problem._matrix is None:
        moves = _movable(problem)
        weight, pairs = _contacts_of(problem, moves), _edges(problem, moves)
    else:
        pairs = _coupled(problem)
        weight = np.ones(problem.contacts, np.int64)
    return metis_labels(pairs, weight, strategy, parts)


def metis_labels(pairs: np.ndarray, weight: np.ndarray, strategy: str, parts: int) -> np.ndarray:
    """Return the labels of the vertices of a graph from METIS.

    Parameters
    ----------
    pairs
        Vertices that an edge joins, ``(n, 2)``; pairs that occur several times weigh more.
    weight
        Of each vertex, ``(vertices,)``; one of weight 0 gets the label 0.
    strategy
        ``"metis"``, ``"metis_volume"`` or ``"metis_neighbours"``.
    parts
        Maximum number of parts.

    Raises
    ------
    ImportError
        pymetis is not installed.
    """
    pymetis = optional("pymetis", f"strategy={strategy!r} needs")

    # Only vertices with contacts are divided.
    label = np.zeros(len(weight), np.int64)
    used = np.flatnonzero(weight)
    parts = min(parts, len(used))
    if parts < 2:
        return label
    starts, others, edges = _weighted_graph(np.searchsorted(used, pairs), len(used))
    cut = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(starts, others),
        vweights=weight[used],
        eweights=edges,
        recursive=False,
        options=pymetis.Options(**_METIS_OPTIONS[strategy]),
    )
    label[used] = np.asarray(cut.vertex_part)
    return label


def _contacts_of(problem: Problem, moves: np.ndarray) -> np.ndarray:
    """Return the number of contacts of each body; 0 for immovable bodies."""
    partners = problem._partners()
    return np.bincount(partners[moves[partners]], minlength=problem.bodies_count)


def _weighted_graph(pairs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return neighbours in compressed rows, and weights: how often each edge occurs in `pairs`."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    edges, weights = np.unique(both[:, 0] * count + both[:, 1], return_counts=True)
    rows, columns = np.divmod(edges, count)
    return np.searchsorted(rows, np.arange(count + 1)), columns, weights
