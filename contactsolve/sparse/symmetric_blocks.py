"""Symmetric matrices of 3 × 3 blocks, divided into parts: those of meshes in space (S5, 4)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .. import _core
from .._arrays import (
    as_array,
    finite_array,
    first_entry,
    index_array,
    is_sparse,
    refuse_other_than_real,
    shortest,
)
from .._matrices import csr_of
from .._optional import optional
from .._options import count

__all__ = ["SymmetricBlocks"]

_PARTITIONS = ("slices", "metis")
_BLOCK = 3
_PARTS = 1024  # that may be asked for, however few vertices there are
# Of the largest entry: more is no rounding.
_ASYMMETRY = 1e-10


class SymmetricBlocks:
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
        values, self.indices, self.indptr = _blocks_of(A)
        self._mirror = _mirror(self.indices, self.indptr)
        _refuse_pattern(self.indices, self.indptr, self._mirror)
        self.dtype = _precision(dtype)
        size = _BLOCK * (len(self.indptr) - 1)
        self.shape = (size, size)
        parts = count("parts", parts, least=1, most=max(_PARTS, size))
        labels = _labels(partition, parts, self.indices, self.indptr)
        single = self.dtype == np.float32
        _refuse_overflow(values, self.dtype)
        self._core = _core.BlockSystem(self.indices, self.indptr, parts, labels, single)
        self._labels = (parts, labels)
        self._refuse_unsymmetric(values)
        self._core.put(values)
        self._values = values
        self._version = 0
        # Held while values are replaced, here or in a copy of another precision.
        self._replacing = threading.Lock()
        self._companions: dict[tuple[bool, bool], tuple[_core.BlockSystem, int]] = {}
        told = self._core.describe()
        told["external"] = np.diff(told.pop("external_first"))
        self.info: dict[str, Any] = told

    def __repr__(self) -> str:
        vertices, blocks = self.shape[0] // _BLOCK, len(self.indices)
        return f"<SymmetricBlocks of {vertices} vertices, {blocks} blocks, {self.dtype}>"

    def matvec(self, x: Any, threads: int | None = None) -> np.ndarray:
        """Return A x.

        Parameters
        ----------
        x
            ``(3 n,)``, ``(3 n, 1)`` or ``(n, 3)``; converted to `dtype`.
        threads
            The most threads; None: all that are available, and one for few vertices.

        Returns
        -------
        np.ndarray
            The shape of `x`.
        """
        x = as_array("x", x)
        refuse_other_than_real("x", x.dtype)
        if x.shape not in ((self.shape[0],), (self.shape[0], 1), (self.shape[0] // _BLOCK, _BLOCK)):
            raise ValueError(f"x has shape {x.shape}: ({self.shape[0]},) is needed")
        most = 0 if threads is None else count("threads", threads, least=1, most=2**31 - 1)
        return self._core.multiply(np.ascontiguousarray(x, self.dtype), most).reshape(x.shape)

    rmatvec = matvec

    def __matmul__(self, other: Any) -> np.ndarray:
        """Return A times a vector, ``(3 n,)`` or ``(n, 3)``, or times the columns of a matrix."""
        other = as_array("x", other)
        if other.ndim == 2 and other.shape[0] == self.shape[0]:
            columns = [self.matvec(column) for column in other.T]
            return np.stack(columns, axis=1) if columns else np.zeros(other.shape, self.dtype)
        return self.matvec(other)

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
        _refuse_overflow(new, self.dtype)
        with self._replacing:
            self._core.put(new)
            self._values = np.array(new)
            self._version += 1

    def to_scipy(self) -> Any:
        """Return the matrix as a SciPy array in the format ``bsr``, in `dtype`."""
        sparse = optional("scipy.sparse", "to_scipy needs")
        data = self._values.astype(self.dtype)
        return sparse.bsr_array((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)

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
                    _refuse_overflow(self._values, np.dtype(np.float32))
                system.put(self._values.astype(self.dtype))
                self._companions[single, whole] = (system, self._version)
            return system

    def _refuse_unsymmetric(self, values: np.ndarray) -> None:
        largest, apart, place = self._core.asymmetry(values, self._mirror)
        if apart <= _ASYMMETRY * largest:
            return
        block, row, column = np.unravel_index(place, values.shape)
        vertex = np.searchsorted(self.indptr, block, "right") - 1
        i, j = _BLOCK * vertex + row, _BLOCK * self.indices[block] + column
        here, there = values[block, row, column], values[self._mirror[block], column, row]
        raise ValueError(
            f"A is not symmetric: A[{i}, {j}] is {shortest(here)}, A[{j}, {i}] is {shortest(there)}"
        )

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


def _precision(dtype: Any) -> np.dtype:
    found = np.dtype(dtype)
    if found not in (np.float64, np.float32):
        raise ValueError(f"dtype is {dtype!r}: float64 or float32 is needed")
    return found


def _refuse_overflow(values: np.ndarray, dtype: np.dtype) -> None:
    if dtype == np.float64:
        return
    large = np.abs(values) > np.finfo(dtype).max
    if large.any():
        where, number = first_entry(large), shortest(values[large][0])
        raise ValueError(f"block entry [{where}] is {number}: {dtype} cannot hold it")


def _keys(indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return row · n + column of each block: ascending."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return rows * (len(indptr) - 1) + indices


def _blocks_of(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values (blocks, 3, 3), indices, ascending in rows, and indptr of any form."""
    if is_sparse(A) and getattr(A, "format", "") == "bsr" and A.blocksize == (_BLOCK, _BLOCK):
        shape, vertices = A.shape, A.shape[0] // _BLOCK
        data, column = finite_array("A.data", A.data), index_array("A.indices", A.indices)
        starts = index_array("A.indptr", A.indptr)
        _refuse_structure(shape, column, starts)
        row = np.repeat(np.arange(vertices), np.diff(starts))
    else:
        data, column, starts = csr_of(A)
        vertices, rest = divmod(len(starts) - 1, _BLOCK)
        if rest:
            raise ValueError(f"A has {len(starts) - 1} rows: a multiple of 3 is needed")
        data = finite_array("A.data", data)
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return _sorted_blocks(data, row, column, vertices)


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
    for array in (indices, indptr):
        array.flags.writeable = False
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


def _refuse_pattern(indices: np.ndarray, indptr: np.ndarray, mirror: np.ndarray) -> None:
    """A missing block is one of zeros, but the pattern has to be symmetric for its parts."""
    missing = np.flatnonzero(mirror < 0)
    if len(missing):
        i = np.searchsorted(indptr, missing[0], "right") - 1
        j = indices[missing[0]]
        raise ValueError(f"A is not symmetric: block ({i}, {j}) is stored, block ({j}, {i}) is not")


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
