"""Kinematic trees as bodies, and the blocks of a Jacobian between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contactsolve.groups import Bodies

__all__ = ["Entries", "Layout", "Partners"]


_MARKED = 1_000_000  # pairs of a block and a tree that are marked in an array, not sorted


class Entries(NamedTuple):
    """Entries of a sparse matrix, in any order; none occurs twice."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> Entries:
        """Return the entries of a dense matrix that are not zero."""
        flat = np.ravel(matrix)
        at = np.flatnonzero(flat != 0)  # of booleans: ten times as fast as of numbers
        row = at // max(matrix.shape[1], 1)
        return cls(row, at - matrix.shape[1] * row, flat[at])


class Layout:
    """Degrees of freedom as bodies, in groups by their number d of degrees of freedom.

    Attributes
    ----------
    body, place
        ``(nv,)``: the body of each degree of freedom, and its place in it.
    size
        d of each body.
    dofs
        ``(n, d)`` for each group: the degrees of freedom of its bodies.
    """

    def __init__(self, tree: np.ndarray) -> None:
        # Bodies are numbered by d, so that a group has consecutive numbers.
        sizes = np.bincount(tree) if len(tree) else np.zeros(0, np.int64)
        order = np.argsort(sizes, kind="stable")
        number = np.empty(len(sizes), np.int64)
        number[order] = np.arange(len(sizes))
        self.size = sizes[order]
        self.body = number[tree]

        # Within a body, degrees of freedom keep their order.
        by_body = np.argsort(self.body, kind="stable")
        start = np.cumsum(self.size) - self.size
        self.place = np.empty(len(tree), np.int64)
        self.place[by_body] = np.arange(len(tree)) - np.repeat(start, self.size)
        self.dofs, self.first = [], []
        for d in np.unique(self.size):
            members = np.flatnonzero(self.size == d)
            at = start[members[0]]
            self.dofs.append(by_body[at : at + d * len(members)].reshape(-1, d))
            self.first.append(int(members[0]))

    def bodies(self, mass: Entries) -> list[Bodies]:
        """Return the bodies with the inverses of their blocks of the mass matrix."""
        body, i, j = self.body[mass.row], self.place[mass.row], self.place[mass.column]
        groups = []
        for first, dofs in zip(self.first, self.dofs, strict=True):
            count, d = dofs.shape
            mine = (body >= first) & (body < first + count)
            M = np.zeros((count, d, d))
            at, row, column = body[mine] - first, i[mine], j[mine]
            M[at, row, column] = M[at, column, row] = mass.value[mine]
            inverse = np.linalg.inv(M)
            groups.append(Bodies((inverse + inverse.transpose(0, 2, 1)) / 2))
        return groups


class Partners:
    """The two bodies of each block, and the blocks of its Jacobian.

    Parameters
    ----------
    blocks
        Rows of the Jacobian ``(K, e)``, of each kind; a row is in one block at most.
    jacobian
        All entries.
    tree
        ``(nv,)``: the kinematic tree of each degree of freedom, from 0.

    Attributes
    ----------
    layout
        The bodies.
    bodies
        The pair of each block, of all kinds in turn; −1 is the fixed world.
    """

    def __init__(self, blocks: Sequence[np.ndarray], jacobian: Entries, tree: np.ndarray) -> None:
        # The block of each row; rows of no block are left out.
        self.counts = [one.shape for one in blocks]
        self.start = np.cumsum([0, *(count for count, _ in self.counts)])
        rows = 1 + max((int(one.max(initial=-1)) for one in blocks), default=-1)
        rows = max(rows, 1 + int(jacobian.row.max(initial=-1)))
        block, self.row = np.full(rows, -1), np.zeros(rows, np.int64)
        for begin, one in zip(self.start, blocks, strict=False):
            count, each = one.shape
            block[one] = begin + np.arange(count)[:, None]
            self.row[one] = np.arange(each)
        used = block[jacobian.row] >= 0
        self.entries = Entries(*(part[used] for part in jacobian))
        self.block = block[self.entries.row]

        # Trees that one block couples, if they are more than two, are one body.
        tree = _joined(tree, self._pairs(tree))
        self.layout = Layout(tree)
        owner, body = np.divmod(self._pairs(self.layout.body), max(len(self.layout.size), 1))
        self.bodies = np.full((self.start[-1], 2), -1)
        self.bodies[owner, 1] = body  # the larger number is written last
        lower = owner[:-1][owner[1:] == owner[:-1]]
        self.bodies[lower, 0] = body[:-1][owner[1:] == owner[:-1]]

    def _pairs(self, tree: np.ndarray) -> np.ndarray:
        """Return block × trees + tree for each tree of each block, in ascending order."""
        trees = 1 + int(tree.max(initial=0))
        pairs = self.block * trees + tree[self.entries.column]
        size = int(self.start[-1]) * trees
        if size > _MARKED:
            return np.unique(pairs)
        seen = np.zeros(size, bool)
        seen[pairs] = True
        return np.flatnonzero(seen)

    def parts(self, number: int) -> list[tuple[np.ndarray, Any, np.ndarray]]:
        """Split constraints of one kind by the degrees of freedom of their bodies."""
        begin, end = self.start[number], self.start[number + 1]
        pairs = self.bodies[begin:end]
        if begin == end:
            return []
        size = np.append(self.layout.size, 0)  # of the fixed world, -1, at the end
        dofs = size[pairs]
        dofs = np.where(pairs < 0, dofs[:, ::-1], dofs)  # the world's block is zero
        dofs[dofs == 0] = 1
        mine = (self.block >= begin) & (self.block < end)
        mine_at = np.flatnonzero(mine)
        found = []
        kinds = dofs @ [1 + int(dofs.max()), 1]
        for kind in np.unique(kinds):
            which = kinds == kind
            first, second = dofs[np.argmax(which)].tolist()
            J = self._jacobians(which, begin, mine_at, self.counts[number][1], (first, second))
            found.append((which, J, pairs[which]))
        return found

    def _jacobians(
        self, which: np.ndarray, begin: int, at: np.ndarray, rows: int, dofs: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobians of both partners of some blocks, ``(K, e, d)``."""
        index = np.cumsum(which) - 1
        at = at[which[self.block[at] - begin]]
        block, column, value = self.block[at], self.entries.column[at], self.entries.value[at]
        row, body = self.row[self.entries.row[at]], self.layout.body[column]
        k, place = index[block - begin], self.layout.place[column]
        halves = []
        for side, d in enumerate(dofs):
            half = np.zeros((int(which.sum()), rows, d))
            of_side = self.bodies[block, side] == body
            half[k[of_side], row[of_side], place[of_side]] = value[of_side]
            halves.append(half)
        return halves[0], halves[1]


def _joined(tree: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return new numbers of trees, with those joined that one block couples, if more than two."""
    trees = 1 + int(tree.max(initial=0))
    owner, of = np.divmod(pairs, trees)
    many = np.flatnonzero(np.bincount(owner) > 2) if len(owner) else ()
    if not len(many):
        return tree
    name = np.arange(trees)
    for block in many:
        together = np.unique(name[of[owner == block]])
        name[np.isin(name, together)] = together[0]
    return np.unique(name[tree], return_inverse=True)[1]
