"""Parts of a spread problem: given labels, ranges of bodies, bisection of positions, or METIS.

Labels depend on the problem and on the number of parts, never on the ranks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve._partition import STRATEGIES, metis_labels
from contactsolve.distributed._catalogue import Catalogue
from contactsolve.distributed._collective import Communicator, deliver, together

__all__ = ["LABELLINGS", "bisected", "set_labels"]

# What labels may be besides an array.
LABELLINGS = ("bisection", "natural", *(name for name in STRATEGIES if name.startswith("metis")))

_BUCKETS = 256  # of a histogram: the search takes one byte of the keys at a time


def set_labels(catalogue: Catalogue, strategy: str, parts: int) -> None:
    """Label the bodies of a catalogue by a strategy of `LABELLINGS`.

    Raises
    ------
    ValueError
        No rank gives positions for ``"bisection"``.
    ImportError
        pymetis is not installed for one of METIS.
    """
    comm, weights = catalogue.comm, catalogue.count_contacts()
    if strategy == "natural":
        labels = _of_ranges(catalogue, weights, parts)
    elif strategy == "bisection":
        labels = _of_bisection(catalogue, weights, parts)
    else:
        labels = _of_metis(comm, catalogue, weights, strategy, parts)
    catalogue.bodies = [
        rows._replace(label=np.where(rows.moves, label, 0))
        for rows, label in zip(catalogue.bodies, labels, strict=True)
    ]


def _numbers(catalogue: Catalogue) -> np.ndarray:
    """Return the numbers of this rank's bodies, all groups in turn."""
    return _joined([catalogue.body_numbers(g) for g in range(len(catalogue.bodies))])


def _joined(values: list[np.ndarray]) -> np.ndarray:
    """Return integers of all groups in turn."""
    return np.concatenate([np.zeros(0, np.int64), *values])


def _split(catalogue: Catalogue, values: np.ndarray) -> list[np.ndarray]:
    """Return values of this rank's bodies, all groups in turn, by group."""
    ends = np.cumsum([len(rows.ids) for rows in catalogue.bodies])
    return np.split(values, ends[:-1])


# ---- ranges -------------------------------------------------------------------------------------


def _of_ranges(catalogue: Catalogue, weights: list[np.ndarray], parts: int) -> list[np.ndarray]:
    """Return contiguous ranges of body numbers with nearly equal numbers of contacts."""
    # The weight of all bodies before those of this rank, in each group.
    every = catalogue.comm.allgather([int(weight.sum()) for weight in weights])
    totals = [sum(of_ranks) for of_ranks in zip(*every, strict=True)]
    rank, all_weight, labels = catalogue.comm.rank, float(sum(totals)), []
    for g, weight in enumerate(weights):
        start = sum(totals[:g]) + sum(other[g] for other in every[:rank])
        before = start + np.cumsum(weight) - weight

        # A body goes to the part that contains its middle.
        middle = (before + weight / 2) / all_weight if all_weight else np.zeros(len(weight))
        labels.append(np.minimum((middle * parts).astype(np.int64), parts - 1))
    return labels


# ---- bisection of positions ---------------------------------------------------------------------


def _of_bisection(catalogue: Catalogue, weights: list[np.ndarray], parts: int) -> list[np.ndarray]:
    rows = catalogue.bodies
    if any(one.position.shape[1] == 0 for one in rows):
        raise ValueError("labels='bisection' needs positions of the bodies, which no rank gives")
    axes = max((one.position.shape[1] for one in rows), default=3)
    position = np.concatenate(
        [np.zeros((0, axes))]
        + [np.pad(one.position, ((0, 0), (0, axes - one.position.shape[1]))) for one in rows]
    )
    number, weight = _numbers(catalogue), _joined(weights)
    return _split(catalogue, bisected(catalogue.comm, position, weight, number, parts))


def bisected(
    comm: Communicator, position: np.ndarray, weight: np.ndarray, number: np.ndarray, parts: int
) -> np.ndarray:
    """Return the parts of points by recursive bisection (Berger and Bokhari 1987).

    Each box of points is cut across its longest side, so that both sides weigh in proportion to
    their parts; of points with the same coordinate, those of lower numbers go to the lower side.

    Parameters
    ----------
    comm
        Communicator.
    position
        Of this rank's points, ``(n, axes)``.
    weight
        Their integer weights, ``(n,)``; points without weight do not count for the size of a box.
    number
        Their numbers, ``(n,)``, each of which is on one rank only.
    parts
        Number of parts.

    Returns
    -------
    np.ndarray
        ``(n,)``: 0 to parts − 1.
    """
    # A node of the tree is a box of points that will be some consecutive parts.
    node = np.zeros(len(weight), np.int64)
    first, count = np.zeros(1, np.int64), np.full(1, parts)
    while count.max() > 1:
        low = _goes_low(comm, position, weight, number, node, count)

        # Both sides of each box are the nodes of the next level; a box of one part stays whole.
        half = np.where(count > 1, count // 2, count)
        first = np.stack([first, first + half], axis=1).ravel()
        count = np.stack([half, count - half], axis=1).ravel()
        node = 2 * node + ~low
        kept = np.flatnonzero(count)
        renumbered = np.zeros(len(count), np.int64)
        renumbered[kept] = np.arange(len(kept))
        node, first, count = renumbered[node], first[kept], count[kept]
    return first[node]


def _goes_low(
    comm: Communicator,
    position: np.ndarray,
    weight: np.ndarray,
    number: np.ndarray,
    node: np.ndarray,
    count: np.ndarray,
) -> np.ndarray:
    """Return which points lie on the lower side of the cut of their box; all if it is one part."""
    # The longest side of each box, the first one of several.
    nodes, heavy = len(count), weight > 0
    least = np.full((nodes, position.shape[1]), np.inf)
    most = np.full((nodes, position.shape[1]), -np.inf)
    np.minimum.at(least, node[heavy], position[heavy])
    np.maximum.at(most, node[heavy], position[heavy])
    every = comm.allgather((least, most))
    least = np.min([one for one, _ in every], axis=0)
    most = np.max([one for _, one in every], axis=0)
    sides = np.where(most >= least, most - np.where(np.isfinite(least), least, 0), 0)
    axis = sides.argmax(axis=1)

    # Cut where the weight below exceeds the share of the lower parts.
    total = _summed(comm, node, weight, nodes)
    limit = total * np.where(count > 1, count // 2, count) // count
    key = _ordered(np.take_along_axis(position, axis[node][:, None], axis=1)[:, 0])
    cut, below = _first_above(comm, node, key, weight, limit, np.zeros(nodes, np.int64))

    # Among points at the cut, the numbers decide.
    tied = key == cut[node]
    tie, _ = _first_above(
        comm, node[tied], number[tied].astype(np.uint64), weight[tied], limit, below
    )
    low = key < cut[node]
    low[tied] = number[tied].astype(np.uint64) < tie[node[tied]]
    return low | (count[node] == 1) | (total[node] == 0)


def _ordered(value: np.ndarray) -> np.ndarray:
    """Return unsigned integers in the order of the numbers."""
    bits = (value + 0.0).view(np.int64)
    return np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)


def _summed(comm: Communicator, node: np.ndarray, weight: np.ndarray, nodes: int) -> np.ndarray:
    """Return the sum of the weights in each node, of all ranks."""
    own = np.zeros(nodes, np.int64)
    np.add.at(own, node, weight)
    every = np.stack(comm.allgather(own))
    return every.sum(axis=0, dtype=np.int64)


def _first_above(
    comm: Communicator,
    node: np.ndarray,
    key: np.ndarray,
    weight: np.ndarray,
    limit: np.ndarray,
    below: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each node the first key up to which the weight exceeds a limit.

    Parameters
    ----------
    comm
        Communicator.
    node, key, weight
        Of this rank's points, ``(n,)``; keys are unsigned.
    limit
        Of each node.
    below
        Weight before all keys of each node.

    Returns
    -------
    key
        The largest possible one where no weight exceeds the limit.
    below
        Weight before this key.
    """
    nodes = len(limit)
    found, rows = np.zeros(nodes, np.uint64), np.arange(nodes)
    for shift in range(56, -1, -8):
        # Points whose higher bytes are those found, by the next byte.
        fits = (key >> np.uint64(shift) >> np.uint64(8)) == (
            found[node] >> np.uint64(shift) >> np.uint64(8)
        )
        byte = (key >> np.uint64(shift) & np.uint64(_BUCKETS - 1)).astype(np.int64)
        bucket = _BUCKETS * node[fits] + byte[fits]
        sums = _summed(comm, bucket, weight[fits], _BUCKETS * nodes).reshape(nodes, _BUCKETS)
        until = below[:, None] + np.cumsum(sums, axis=1)
        above = until > limit[:, None]
        chosen = np.where(above.any(axis=1), above.argmax(axis=1), _BUCKETS - 1)
        below = until[rows, chosen] - sums[rows, chosen]
        found |= chosen.astype(np.uint64) << np.uint64(shift)
    return found, below


# ---- METIS --------------------------------------------------------------------------------------


def _of_metis(
    comm: Communicator, catalogue: Catalogue, weights: list[np.ndarray], strategy: str, parts: int
) -> list[np.ndarray]:
    """Return the labels that METIS finds on rank 0, of the graph alone."""
    # The graph goes to rank 0: one edge for each pair of movable bodies of a contact.
    edges = _edges(catalogue)
    (edges,), _ = deliver(comm, np.zeros(len(edges), np.int64), [edges])
    number, weight = _numbers(catalogue), _joined(weights)
    to_first = np.zeros(len(number), np.int64)
    (numbers, heavy), source = deliver(comm, to_first, [number, weight])

    # Its labels come back to where the weights came from.
    label = np.zeros(len(numbers), np.int64)

    def cut() -> None:
        if comm.rank == 0:
            all_weights = np.zeros(catalogue.all_bodies, np.int64)
            all_weights[numbers] = heavy
            label[:] = metis_labels(edges, all_weights, strategy, parts)[numbers]

    together(comm, cut)
    (label,), _ = deliver(comm, source, [label])
    return _split(catalogue, label)


def _edges(catalogue: Catalogue) -> np.ndarray:
    """Return the pairs of different movable bodies in this rank's contacts, ``(n, 2)``."""
    pairs: list[Any] = [np.zeros((0, 2), np.int64)]
    for rows in catalogue.contacts:
        low, high = np.triu_indices(rows.bodies.shape[1], 1)
        every = np.stack([rows.bodies[:, low], rows.bodies[:, high]], axis=2).reshape(-1, 2)
        _, moves = catalogue.of_bodies(every)
        pairs.append(every[moves.all(axis=1) & (every[:, 0] != every[:, 1])])
    return np.concatenate(pairs)
