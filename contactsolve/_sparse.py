"""Sparse matrices from a caller, checked before their indices are used.

SciPy's conversions and products follow the indices of a matrix without checks, and its constructors
check little that can change afterwards. Therefore the arrays of a matrix are copied, the copies are
checked, and only these are converted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from ._arrays import index, index_array, real_array

Csr = tuple[np.ndarray, np.ndarray, np.ndarray]
Shape = tuple[int, int]


def checked_sparse(name: str, matrix: Any) -> tuple[Csr, Shape]:
    """Return copies of ``(data, indices, indptr)`` of a sparse matrix by rows, and its shape.

    Raises
    ------
    ValueError, TypeError
        For a structure that does not fit the shape: the message names the array, index and value.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise ValueError(f"{name} has shape {shape}: a matrix of two dimensions is needed")
    scipy_sparse = sys.modules.get("scipy.sparse")
    known = scipy_sparse is not None and scipy_sparse.issparse(matrix)
    read = _READ.get(matrix.format) if known else None
    if read is None:
        matrix, read = matrix.tocsr(), _read_csr
    return read(name, matrix, shape), shape


def checked_triple(name: str, data: Any, indices: Any, indptr: Any) -> Csr:
    """Return copies of ``(data, indices, indptr)`` of a square matrix."""
    values = _vector(f"{name}.data", real_array(f"{name}.data", data))
    rows = index_array(f"{name}.indptr", indptr).size - 1
    if rows < 0:
        raise ValueError(f"{name}.indptr is empty: it has one entry more than {name} has rows")
    shape, lines = (rows, rows), ("rows", "columns")
    return values, *_structure(name, indices, indptr, len(values), shape, lines)


# ---- the forms of SciPy -------------------------------------------------------------------------


def _read_csr(name: str, matrix: Any, shape: Shape) -> Csr:
    values = _vector(f"{name}.data", real_array(f"{name}.data", matrix.data))
    lines = ("rows", "columns")
    return values, *_structure(name, matrix.indices, matrix.indptr, len(values), shape, lines)


def _read_csc(name: str, matrix: Any, shape: Shape) -> Csr:
    from scipy.sparse import csc_array

    values = _vector(f"{name}.data", real_array(f"{name}.data", matrix.data))
    lines = ("columns", "rows")
    pattern = _structure(name, matrix.indices, matrix.indptr, len(values), shape[::-1], lines)
    return _by_rows(csc_array((values, *pattern), shape=shape))


def _read_bsr(name: str, matrix: Any, shape: Shape) -> Csr:
    from scipy.sparse import bsr_array

    blocks = real_array(f"{name}.data", matrix.data).copy()
    sizes = blocks.shape[1:]
    if blocks.ndim != 3 or 0 in sizes or shape[0] % sizes[0] or shape[1] % sizes[1]:
        raise ValueError(
            f"{name}.data has shape {blocks.shape}: (blocks, rows, columns) is needed, with blocks "
            f"that divide {name} of shape {shape}"
        )
    lines = ("rows of blocks", "columns of blocks")
    count = shape[0] // sizes[0], shape[1] // sizes[1]
    pattern = _structure(name, matrix.indices, matrix.indptr, len(blocks), count, lines)
    return _by_rows(bsr_array((blocks, *pattern), shape=shape))


def _read_coo(name: str, matrix: Any, shape: Shape) -> Csr:
    values = real_array(f"{name}.data", matrix.data)
    return _from_triplets(name, values, matrix.row, matrix.col, shape)


def _read_dok(name: str, matrix: Any, shape: Shape) -> Csr:
    keys, values = list(matrix.keys()), real_array(f"{name}.values()", list(matrix.values()))
    for key in keys:
        if not isinstance(key, tuple) or len(key) != 2:
            raise ValueError(f"{name} has the key {key!r}: (row, column) is needed")
        for place, size, what in zip(key, shape, ("rows", "columns"), strict=True):
            if not 0 <= index(f"{name}: a part of the key {key!r}", place) < size:
                raise ValueError(f"{name} has the key {key!r}: {what} run from 0 to {size - 1}")
    rows, columns = ([key[side] for key in keys] for side in (0, 1))
    return _from_triplets(name, values, rows, columns, shape)


def _read_lil(name: str, matrix: Any, shape: Shape) -> Csr:
    for part, lists in (("rows", matrix.rows), ("data", matrix.data)):
        if np.shape(lists) != (shape[0],):
            raise ValueError(f"{name}.{part} has shape {np.shape(lists)}: ({shape[0]},) is needed")
    for i, (row, entries) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        columns = _vector(f"{name}.rows[{i}]", index_array(f"{name}.rows[{i}]", row))
        values = _vector(f"{name}.data[{i}]", real_array(f"{name}.data[{i}]", entries))
        if len(columns) != len(values):
            raise ValueError(
                f"{name}.rows[{i}] has {len(columns)} entries, but {name}.data[{i}] {len(values)}"
            )
        _within(f"{name}.rows[{i}]", columns, shape[1], "columns")
    values = real_array(f"{name}.data", list(chain.from_iterable(matrix.data)))
    indices = index_array(f"{name}.rows", list(chain.from_iterable(matrix.rows)))
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns in matrix.rows])])
    return values, indices, indptr.astype(np.int64)


def _read_dia(name: str, matrix: Any, shape: Shape) -> Csr:
    from scipy.sparse import dia_array

    values = real_array(f"{name}.data", matrix.data).copy()
    offsets = _vector(f"{name}.offsets", index_array(f"{name}.offsets", matrix.offsets))
    if values.ndim != 2 or len(values) != len(offsets):
        raise ValueError(
            f"{name}.data has shape {values.shape}: {len(offsets)} rows are needed, one for each "
            f"of {name}.offsets"
        )
    first: dict[int, int] = {}
    for at, offset in enumerate(offsets.tolist()):
        if not -shape[0] <= offset <= shape[1]:
            raise ValueError(
                f"{name}.offsets[{at}] is {offset}: diagonals run from {-shape[0]} to {shape[1]}"
            )
        if first.setdefault(offset, at) != at:
            raise ValueError(
                f"{name}.offsets[{at}] is {offset}, as is {name}.offsets[{first[offset]}]"
            )
    return _by_rows(dia_array((values, offsets), shape=shape))


_READ: dict[str, Callable[[str, Any, Shape], Csr]] = {
    "csr": _read_csr,
    "csc": _read_csc,
    "bsr": _read_bsr,
    "coo": _read_coo,
    "dok": _read_dok,
    "lil": _read_lil,
    "dia": _read_dia,
}


# ---- their parts --------------------------------------------------------------------------------


def _structure(
    name: str, indices: Any, indptr: Any, entries: int, shape: Shape, lines: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of indices and indptr of compressed lines; `lines` names both directions."""
    indices = _vector(f"{name}.indices", index_array(f"{name}.indices", indices))
    indptr = _vector(f"{name}.indptr", index_array(f"{name}.indptr", indptr))
    if len(indptr) != shape[0] + 1:
        raise ValueError(
            f"{name}.indptr has {len(indptr)} entries: {shape[0] + 1} are needed, one more than "
            f"{lines[0]}"
        )

    # The starts of the lines ascend from 0 to the number of entries.
    if indptr[0] != 0:
        raise ValueError(f"{name}.indptr[0] is {indptr[0]}: it must be 0")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        at = int(falls[0]) + 1
        raise ValueError(
            f"{name}.indptr[{at}] is {indptr[at]}, below {name}.indptr[{at - 1}] = {indptr[at - 1]}"
        )
    if not indptr[-1] == len(indices) == entries:
        raise ValueError(
            f"{name}.indptr ends at {indptr[-1]}, but {name}.indices has {len(indices)} entries "
            f"and {name}.data {entries}"
        )
    _within(f"{name}.indices", indices, shape[1], lines[1])
    return indices, indptr


def _from_triplets(name: str, values: np.ndarray, rows: Any, columns: Any, shape: Shape) -> Csr:
    from scipy.sparse import coo_array

    values, places = _vector(f"{name}.data", values), []
    for part, given, size, what in (
        ("row", rows, shape[0], "rows"),
        ("col", columns, shape[1], "columns"),
    ):
        place = _vector(f"{name}.{part}", index_array(f"{name}.{part}", given))
        if len(place) != len(values):
            raise ValueError(
                f"{name}.{part} has {len(place)} entries, but {name}.data {len(values)}"
            )
        _within(f"{name}.{part}", place, size, what)
        places.append(place)
    return _by_rows(coo_array((values, tuple(places)), shape=shape))


def _vector(name: str, array: np.ndarray) -> np.ndarray:
    """Return a copy of an array of one dimension."""
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: one dimension is needed")
    return array.copy()


def _within(name: str, indices: np.ndarray, size: int, what: str) -> None:
    wrong = np.flatnonzero((indices < 0) | (indices >= size))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"{name}[{at}] is {indices[at]}: {what} run from 0 to {size - 1}")


def _by_rows(matrix: Any) -> Csr:
    """Return the rows of a matrix of SciPy whose structure has been checked."""
    csr = matrix.tocsr()
    return csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
