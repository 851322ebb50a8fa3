"""Symmetric matrices of 3 × 3 blocks, divided into parts: those of meshes in space (S5, 4)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .. import _core
from .._arrays import finite_array, index_array, is_sparse, read_only, real_array, shortest
from .._matrices import csr_of
from .._optional import optional
from .._options import count
from ._operator import BlockOperator, precision

__all__ = ["SymmetricBlocks"]

_PARTITIONS = ("slices", "metis")
_BLOCK = 3
_PARTS = 1024  # that may be asked for, however few vertices there are
# Of the diagonal blocks of row and column: more is no rounding.
_ASYMMETRY = 1e-10


class SymmetricBlocks(BlockOperator):
    """A symmetric matrix of 3 × 3 blocks, one for each pair of coupled vertices.

    The vertices are divided into parts. Within a part those without neighbours in others come
    first, then its boundary, each in the reverse order of Cuthill and McKee. A part stores the
    upper triangle of the rows and columns of its own vertices (S5 Algorithm 1), and its coupling
    with vertices of other parts as a rectangular matrix (S5 section 4.2). Threads share the parts,
    and products have the same bits on any number of threads.

    SciPy takes it as a linear operator:

    >>> import numpy as np, contactsolve as cs
    >>> A = cs.sparse.SymmetricBlocks(np.diag([2.0, 2, 2, 4, 4, 4]))
    >>> A @ np.ones(6)
    array([2., 2., 2., 4., 4., 4.])

    Parameters
    ----------
    A
        ``(3 n, 3 n)``, symmetric: dense, SciPy sparse, or ``(data, indices, indptr)`` by rows;
        3 × 3 blocks in SciPy's format ``bsr`` are taken as they are.
    parts
        Number of parts, from 1 to the larger of 1,024 and 3 n; some may be empty.
    partition
        ``"slices"``: of equal numbers of vertices, in the reverse order of Cuthill and McKee;
        ``"metis"``: by METIS, from the pattern; or the part of each vertex, ``(n,)``, from 0 to
        ``parts - 1``.
    dtype
        ``"float64"`` or ``"float32"``, of values and products.

    Attributes
    ----------
    shape
        ``(3 n, 3 n)``.
    dtype
        NumPy's.
    indices, indptr
        The pattern by rows of blocks, columns ascending: ``(blocks,)`` and ``(n + 1,)``, read-only.
    info
        ``first`` ``(parts + 1,)``, where each part begins among the renumbered vertices;
        ``boundary`` ``(parts,)``, where its boundary does; ``order`` ``(n,)``, the old number of
        each; ``external`` ``(parts,)``, the vertices of other parts that it is coupled with;
        ``local_blocks`` and ``external_blocks``; ``bytes`` that a product reads; the ``kernel``.

    Raises
    ------
    ValueError
        A is not symmetric, has NaN, or its size is no multiple of 3; a label is out of range. The
        message has index and value.
    ImportError
        ``partition="metis"`` without pymetis.
    """

    def __init__(
        self, A: Any, parts: int = 8, partition: Any = "slices", dtype: Any = "float64"
    ) -> None:
        values, indices, indptr = _completed(*_blocks_of(A))
        parts = count("parts", parts, least=1, most=max(_PARTS, _BLOCK * (len(indptr) - 1)))
        labels = _labels(partition, parts, indices, indptr)
        self._make(values, indices, indptr, parts, labels, precision(dtype))

    def _make(
        self,
        values: np.ndarray,
        indices: np.ndarray,
        indptr: np.ndarray,
        parts: int,
        labels: np.ndarray | None,
        dtype: np.dtype,
    ) -> None:
        """Take blocks whose pattern is symmetric, and the part of each vertex."""
        self.indices, self.indptr = read_only(indices), read_only(indptr)
        self._mirror = _mirror(indices, indptr)
        self._dtype = dtype
        size = _BLOCK * (len(indptr) - 1)
        self.shape = (size, size)
        self._core = _core.BlockSystem(indices, indptr, parts, labels, dtype == np.float32)
        self._labels = (parts, labels)
        self._refuse_inexact(values, dtype)
        self._refuse_unsymmetric(values)
        self._core.put(values)
        self._values = values
        self._version = 0
        # Held while values are replaced, here or in a copy of another precision.
        self._replacing = threading.Lock()
        self._companions: dict[tuple[bool, bool], tuple[_core.BlockSystem, int]] = {}
        told = self._core.describe()
        told["external"] = np.diff(told.pop("external_first"))
        for value in told.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        self.info: dict[str, Any] = told

    def __repr__(self) -> str:
        vertices, blocks = self.shape[0] // _BLOCK, len(self.indices)
        return f"<SymmetricBlocks of {vertices} vertices, {blocks} blocks, {self.dtype}>"

    def __reduce__(self) -> tuple:
        kept = (self._values, self.indices, self.indptr, *self._labels, self.dtype.name)
        return _remade, kept

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of values and products."""
        return self._dtype

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, ``(3 n,)``, in `dtype`."""
        vertices = len(self.indptr) - 1
        own = np.flatnonzero(self._mirror == np.arange(len(self._mirror)))
        found = np.zeros((vertices, _BLOCK), self.dtype)
        found[self.indices[own]] = np.diagonal(self._values[own], axis1=1, axis2=2)
        return found.ravel()

    def update(self, values: Any) -> None:
        """Take other values of the same pattern.

        Parameters
        ----------
        values
            ``(blocks, 3, 3)``, in the order of `indices`; or a matrix in any form that A may have,
            whose blocks are among those of the pattern.
        """
        if isinstance(values, np.ndarray) and values.ndim == 3:
            new = finite_array("values", values)
            if new.shape != (len(self.indices), _BLOCK, _BLOCK):
                wanted = (len(self.indices), _BLOCK, _BLOCK)
                raise ValueError(f"values has shape {new.shape}: {wanted} is needed")
        else:
            new = self._spread(*_blocks_of(values))
        self._refuse_unsymmetric(new)
        self._refuse_inexact(new, self.dtype)
        with self._replacing:
            self._core.put(new)
            self._values = np.array(new)
            self._version += 1

    def to_scipy(self) -> Any:
        """Return the matrix as a SciPy array in the format ``bsr``, in `dtype`."""
        sparse = optional("scipy.sparse", "to_scipy needs")
        data = self._values.astype(self.dtype)
        return sparse.bsr_array((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)

    def _product(self, x: np.ndarray, threads: int) -> np.ndarray:
        return self._core.multiply(x, threads)

    def _system(self, single: bool, whole: bool = False) -> _core.BlockSystem:
        """Return the C library's matrix in this precision, up to date.

        Its parts are those of this one, or one part if `whole`.
        """
        if not whole and single == (self.dtype == np.float32):
            return self._core
        with self._replacing:
            system, version = self._companions.get((single, whole), (None, -1))
            if system is None:
                parts, labels = (1, None) if whole else self._labels
                system = _core.BlockSystem(self.indices, self.indptr, parts, labels, single)
            if version != self._version:
                if single:
                    self._refuse_inexact(self._values, np.dtype(np.float32))
                system.put(self._values.astype(self.dtype))
                self._companions[single, whole] = (system, self._version)
            return system

    def _refuse_unsymmetric(self, values: np.ndarray) -> None:
        apart, place = self._core.asymmetry(values, self._mirror, self.indices)
        if apart <= _ASYMMETRY:
            return
        block, row, column = np.unravel_index(place, values.shape)
        i, j = self._entry(block, row, column)
        here, there = values[block, row, column], values[self._mirror[block], column, row]
        raise ValueError(
            f"A is not symmetric: A[{i}, {j}] is {shortest(here)}, A[{j}, {i}] is {shortest(there)}"
        )

    def _entry(self, block: Any, row: Any, column: Any) -> tuple[int, int]:
        """Return row and column in A of an entry of a block."""
        vertex = self.indices[self._mirror[block]]
        return int(_BLOCK * vertex + row), int(_BLOCK * self.indices[block] + column)

    def _refuse_inexact(self, values: np.ndarray, dtype: np.dtype) -> None:
        """Refuse what is infinite in this precision, and a diagonal that is nearly zero in it."""
        if dtype == np.float64:
            return
        size, limits = np.abs(values), np.finfo(np.float32)
        lost = size > limits.max
        own = self._mirror == np.arange(len(self._mirror))
        diagonal = own[:, None, None] & np.eye(_BLOCK, dtype=bool)
        lost |= diagonal & (size > 0) & (size < limits.tiny)
        if lost.any():
            (i, j), number = self._entry(*np.argwhere(lost)[0]), shortest(values[lost][0])
            raise ValueError(f"A[{i}, {j}] is {number}: {dtype} cannot hold it")

    def _spread(self, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Return blocks in the order of the pattern, with zeros where none is given."""
        if len(indptr) != len(self.indptr):
            raise ValueError(
                f"A has {3 * (len(indptr) - 1)} rows: {self.shape[0]} are needed, as before"
            )
        known, given = _keys(self.indices, self.indptr), _keys(indices, indptr)
        place = np.searchsorted(known, given)
        missing = np.flatnonzero(known[np.minimum(place, len(known) - 1)] != given)
        if len(missing):
            row, column = divmod(int(given[missing[0]]), len(indptr) - 1)
            raise ValueError(f"A has a block in row {row}, column {column}: it had none before")
        new = np.zeros((len(known), _BLOCK, _BLOCK))
        new[place] = values
        return new


# ---- reading ------------------------------------------------------------------------------------


def _keys(indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return row · n + column of each block: ascending."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return rows * (len(indptr) - 1) + indices


def _blocks_of(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values (blocks, 3, 3), indices, ascending in rows, and indptr of any form."""
    if is_sparse(A) and getattr(A, "format", "") == "bsr" and A.blocksize == (_BLOCK, _BLOCK):
        shape, vertices = A.shape, A.shape[0] // _BLOCK
        data, column = real_array("A.data", A.data), index_array("A.indices", A.indices)
        starts = index_array("A.indptr", A.indptr)
        _refuse_structure(shape, column, starts)
        row = np.repeat(np.arange(vertices), np.diff(starts))
    else:
        data, column, starts = csr_of(A)
        vertices, rest = divmod(len(starts) - 1, _BLOCK)
        if rest:
            raise ValueError(f"A has {len(starts) - 1} rows: a multiple of 3 is needed")
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _refuse_infinite(data, row, column)
    return _sorted_blocks(data, row, column, vertices)


def _refuse_infinite(data: np.ndarray, row: np.ndarray, column: np.ndarray) -> None:
    """Of single entries, or of blocks."""
    wrong = ~np.isfinite(data)
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    i, j = row[place[0]], column[place[0]]
    if data.ndim == 3:
        i, j = _BLOCK * i + place[1], _BLOCK * j + place[2]
    raise ValueError(f"A[{i}, {j}] is {data[wrong][0]:g}: every entry must be finite")


def _refuse_structure(shape: tuple[int, int], column: np.ndarray, starts: np.ndarray) -> None:
    """SciPy checks little of what a matrix is made of."""
    if shape[0] != shape[1]:
        raise ValueError(f"A has shape {shape}: a square matrix is needed")
    vertices = shape[0] // _BLOCK
    falls = np.flatnonzero(np.diff(starts) < 0)
    if len(starts) != vertices + 1 or starts[0] != 0 or len(falls) or starts[-1] != len(column):
        where = f", it falls after entry {falls[0]}" if len(falls) else ""
        raise ValueError(
            f"A.indptr does not fit A: {vertices + 1} ascending entries are needed{where}"
        )
    wrong = np.flatnonzero((column < 0) | (column >= vertices))
    if len(wrong):
        raise ValueError(
            f"A.indices[{wrong[0]}] is {column[wrong[0]]}: 0 to {vertices - 1} is needed"
        )


def _sorted_blocks(
    data: np.ndarray, row: np.ndarray, column: np.ndarray, vertices: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return blocks by row and column from blocks or from single entries; equal ones are added."""
    single = data.ndim == 1
    key = (row // _BLOCK * vertices + column // _BLOCK) if single else row * vertices + column
    if not single and (np.diff(key) > 0).all():
        known, values = key, np.array(data, np.float64)
    else:
        known, values = _added(data, key, row, column)
    indptr = np.searchsorted(known, vertices * np.arange(vertices + 1)).astype(np.int64)
    indices = (known % vertices if vertices else known).astype(np.int64)
    return values, indices, indptr


def _added(
    data: np.ndarray, key: np.ndarray, row: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys, ascending, and the sums of what each has."""
    known, place = np.unique(key, return_inverse=True)
    values = np.zeros((len(known), _BLOCK, _BLOCK))
    if data.ndim == 1:
        np.add.at(values, (place, row % _BLOCK, column % _BLOCK), data)
    elif len(known) == len(key):
        values[place] = data
    else:
        np.add.at(values, place, data)
    return known, values


def _mirror(indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the place of each block's mirror image; -1: it is not stored."""
    vertices = len(indptr) - 1
    known = _keys(indices, indptr)
    mirrored = indices * vertices + known // max(vertices, 1)
    place = np.searchsorted(known, mirrored)
    place = np.minimum(place, len(known) - 1)
    return np.where(known[place] == mirrored, place, -1) if len(known) else place


def _completed(
    values: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the blocks with zeros where only the mirror image of a block of zeros is stored."""
    missing = np.flatnonzero(_mirror(indices, indptr) < 0)
    if not len(missing):
        return values, indices, indptr
    vertices = len(indptr) - 1
    row, column = np.repeat(np.arange(vertices), np.diff(indptr)), indices
    needed = missing[values[missing].any(axis=(1, 2))]
    if len(needed):
        i, j = row[needed[0]], column[needed[0]]
        raise ValueError(f"A is not symmetric: block ({i}, {j}) is stored, block ({j}, {i}) is not")
    return _sorted_blocks(
        np.concatenate([values, np.zeros_like(values[missing])]),
        np.concatenate([row, column[missing]]),
        np.concatenate([column, row[missing]]),
        vertices,
    )


def _labels(
    partition: Any, parts: int, indices: np.ndarray, indptr: np.ndarray
) -> np.ndarray | None:
    """Return the part of each vertex; None: the C library makes slices."""
    vertices = len(indptr) - 1
    if not isinstance(partition, str):
        labels = index_array("partition", partition)
        if labels.shape != (vertices,):
            raise ValueError(f"partition has shape {labels.shape}: ({vertices},) is needed")
        return labels
    if partition not in _PARTITIONS:
        known = ", ".join(_PARTITIONS)
        raise ValueError(f"partition: {partition!r} is unknown; known: {known}, or labels")
    if partition == "slices":
        return None
    pymetis = optional("pymetis", "partition='metis' needs")
    wanted = min(parts, vertices)
    if wanted < 2:
        return np.zeros(vertices, np.int64)
    rows = np.repeat(np.arange(vertices), np.diff(indptr))
    other = rows != indices
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[other], minlength=vertices))])
    cut = pymetis.part_graph(wanted, pymetis.CSRAdjacency(starts, indices[other]), recursive=False)
    return np.asarray(cut.vertex_part, np.int64)


def _remade(
    values: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    parts: int,
    labels: np.ndarray | None,
    dtype: str,
) -> SymmetricBlocks:
    """Return a copy of a matrix."""
    A = SymmetricBlocks.__new__(SymmetricBlocks)
    A._make(values, indices, indptr, parts, labels, np.dtype(dtype))
    return A
