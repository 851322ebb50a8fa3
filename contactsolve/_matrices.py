"""Matrices in all accepted forms: a given A, and A = J M⁻¹ Jᵀ for a J of any pattern."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import (
    finite_array,
    first_entry,
    is_sparse,
    read_only,
    real_array,
    shortest,
    spread,
)
from ._optional import optional
from ._sparse import Csr, checked_sparse, checked_triple
from .groups import inverted

_COLUMNS_AT_ONCE = 256  # right-hand sides of a sparse solve
_INDEFINITE = 1e-9  # least size of a negative eigenvalue, for rows scaled to a diagonal of ones


def csr_of(A: Any) -> Csr:
    """Return copies of ``(data, indices, indptr)`` of any form of a square matrix.

    A tuple of three arrays is such a triple; three rows of three in a tuple are ambiguous.
    """
    if isinstance(A, tuple) and len(A) == 3:
        if all(isinstance(part, (list, tuple)) and len(part) == 3 for part in A):
            raise TypeError(
                "A is a tuple of three rows of three: give a matrix as an array, or these three "
                "as arrays"
            )
        return checked_triple("A", *A)
    if is_sparse(A):
        if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"A has shape {A.shape}: a square matrix is needed")
        return checked_sparse("A", A)[0]
    dense = real_array("A", A)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise ValueError(f"A has shape {dense.shape}: a square matrix is needed")
    # By a mask: of a full A it takes a sixteenth of the memory of rows and columns of all entries.
    kept = dense != 0
    indptr = np.zeros(dense.shape[0] + 1, np.int64)
    np.cumsum(np.count_nonzero(kept, axis=1), out=indptr[1:])
    column = np.broadcast_to(np.arange(dense.shape[0], dtype=np.int64), dense.shape)
    return dense[kept], column[kept], indptr


class Unsymmetric:
    """A mass matrix that is used unchanged: some published ones are not symmetric."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix


class Operator:
    """A Jacobian of any pattern with its mass matrix, ``(rows, dof)`` and ``(dof, dof)``.

    Parameters
    ----------
    J
        Dense or SciPy sparse, ``(rows, dof)``.
    Minv, mass
        One of them: flat ``(dof,)`` diagonal, ``(n, d, d)`` blocks with n d = dof, or a dense or
        sparse ``(dof, dof)`` matrix. A diagonal mass is inverted and may be infinite; any other is
        factored (sparse: by SciPy), never inverted.
    """

    def __init__(self, J: Any, Minv: Any, mass: Any) -> None:
        if (Minv is None) == (mass is None):
            raise TypeError("give either Minv or mass")
        self.J = _checked_matrix("J", J)
        self.rows, self.dof = self.J.shape

        # An inverse is used as it is; a mass is inverted if it is diagonal, and factored otherwise.
        self._factor: Any = None
        if mass is None:
            self._matrix = _square_form("Minv", Minv, self.dof)
            _refuse_indefinite(self._matrix)
        elif isinstance(mass, Unsymmetric):
            self._matrix = _square_form("mass", mass.matrix, self.dof, symmetric=False)
            self._factor = _sparse_lu(self._matrix)
        else:
            self._matrix = _square_form("mass", mass, self.dof)
            if is_sparse(self._matrix):
                self._factor = _sparse_factor(self._matrix)
            elif self._matrix.ndim == 2:
                self._factor = _dense_factor(self._matrix)
            else:
                self._matrix = read_only(inverted(self._matrix))
        self._is_mass = self._factor is not None
        self._symmetric = not isinstance(mass, Unsymmetric)

    @property
    def Minv(self) -> Any:
        """A copy of M⁻¹; None if the mass was given."""
        return None if self._is_mass else self._matrix.copy()

    def apply_inverse_mass(self, x: np.ndarray) -> np.ndarray:
        """Return M⁻¹ x for one vector or several columns."""
        if self._is_mass:
            return self._factor(x)
        if not is_sparse(self._matrix) and self._matrix.ndim == 1:
            return x * (self._matrix if x.ndim == 1 else self._matrix[:, None])
        return self._matrix @ x

    def kinetic_energy(self, u: np.ndarray) -> float:
        """Return ½ uᵀ M u [J]; M⁻¹ must be invertible."""
        if self._is_mass:
            return 0.5 * float(u @ (self._matrix @ u))
        if not is_sparse(self._matrix) and self._matrix.ndim == 1:
            moving = self._matrix > 0
            return 0.5 * float(np.sum(u[moving] ** 2 / self._matrix[moving]))
        dense = self._matrix.toarray() if is_sparse(self._matrix) else self._matrix
        return 0.5 * float(u @ np.linalg.lstsq(dense, u, rcond=None)[0])

    def velocity_change(self, impulses: np.ndarray) -> np.ndarray:
        """Return M⁻¹ Jᵀ λ, ``(dof,)``."""
        return self.apply_inverse_mass(np.asarray(self.J.T @ impulses))

    def delassus(self, compliance: np.ndarray | None) -> Csr:
        """Return A = J M⁻¹ Jᵀ + Σ in compressed sparse rows."""
        # Dense, if J or the mass is.
        J = self.J
        if not is_sparse(J) or (not is_sparse(self._matrix) and self._matrix.ndim == 2):
            dense = J.toarray() if is_sparse(J) else J
            A = dense @ self.apply_inverse_mass(dense.T)
            A = (A + A.T) / 2 if self._symmetric else A
            if compliance is not None:
                A[np.diag_indices_from(A)] += compliance
            return csr_of(A)
        import scipy.sparse as sparse

        # A sparse factor solves for some columns at a time.
        if self._is_mass and is_sparse(self._matrix):
            columns = [
                sparse.csr_array(J @ self._factor(J[at : at + _COLUMNS_AT_ONCE].toarray().T))
                for at in range(0, self.rows, _COLUMNS_AT_ONCE)
            ]
            A = sparse.hstack(columns) if columns else sparse.csr_array((0, 0))
        elif is_sparse(self._matrix):
            A = J @ self._matrix @ J.T
        else:
            A = J @ sparse.diags_array(self._matrix) @ J.T
        A = (A + A.T) / 2 if self._symmetric else A
        if compliance is not None:
            A = A + sparse.diags_array(compliance)
        return csr_of(A)

    def inverse_or_mass(self) -> tuple[Any, Any]:
        """Return the arguments Minv and mass that made this operator."""
        if not self._is_mass:
            return self._matrix, None
        return None, self._matrix if self._symmetric else Unsymmetric(self._matrix)

    def updated(self, J: Any, Minv: Any) -> Operator:
        """Return the operator with another J or M⁻¹ of the same size; None keeps one."""
        inverse = self.inverse_or_mass()
        new = Operator(self.J if J is None else J, *(inverse if Minv is None else (Minv, None)))
        if new.J.shape != self.J.shape:
            raise ValueError(f"J has shape {new.J.shape}: {self.J.shape} is kept")
        return new

    def __reduce__(self) -> tuple:
        return Operator, (self.J, *self.inverse_or_mass())


def _checked_matrix(name: str, matrix: Any) -> Any:
    """Return a two-dimensional matrix with finite entries: CSR array or dense, in own memory."""
    if is_sparse(matrix):
        from scipy.sparse import csr_array

        parts, shape = checked_sparse(name, matrix)
        sparse = csr_array(parts, shape=shape)
        bad = np.flatnonzero(~np.isfinite(sparse.data))
        if len(bad):
            row = int(np.searchsorted(sparse.indptr, bad[0], side="right") - 1)
            column, value = sparse.indices[bad[0]], sparse.data[bad[0]]
            raise ValueError(f"{name}[{row}, {column}] is {value:g}: every entry must be finite")
        return sparse
    dense = finite_array(name, matrix).copy()
    if dense.ndim != 2 and name == "J":
        raise ValueError(f"J has shape {dense.shape}: a matrix (rows, dof) is needed")
    return read_only(dense)


def _square_form(name: str, matrix: Any, dof: int, *, symmetric: bool = True) -> Any:
    """Return a flat diagonal, a dense or a sparse symmetric ``(dof, dof)`` matrix."""
    if not is_sparse(matrix):
        matrix = real_array(name, matrix)
        if name == "mass" and matrix.shape == (dof,):
            return matrix  # infinite entries are immovable
    matrix = _checked_matrix(name, matrix)
    if matrix.shape == (dof,):
        return matrix
    if not is_sparse(matrix) and matrix.ndim == 3 and matrix.shape[1] == matrix.shape[2]:
        matrix = _block_diagonal(name, matrix)
    if matrix.shape != (dof, dof):
        raise ValueError(
            f"{name} has shape {matrix.shape}: J has {dof} columns, so ({dof},), ({dof}, {dof}) or "
            f"blocks (n, d, d) with n d = {dof} are needed"
        )
    if not symmetric:
        return matrix
    difference = abs(matrix - matrix.T)
    largest = abs(matrix).max() if dof else 0.0
    if dof and difference.max() > 1e-6 * largest:
        row, column = np.unravel_index(int(difference.argmax()), (dof, dof))
        raise ValueError(
            f"{name}[{row}, {column}] is {shortest(matrix[row, column])} but "
            f"{name}[{column}, {row}] is {shortest(matrix[column, row])}: it must be symmetric"
        )
    return matrix


def _refuse_indefinite(inverse: Any) -> None:
    """Raise for an inverse mass with a negative eigenvalue, relative to its own rows."""
    diagonal = inverse if inverse.ndim == 1 else inverse.diagonal()
    if (diagonal < 0).any():
        i = int(np.argmax(diagonal < 0))
        where = f"{i}" if inverse.ndim == 1 else f"{i}, {i}"
        raise ValueError(
            f"Minv[{where}] is {shortest(diagonal[i])}: an inverse mass is 0 (immovable) or more"
        )
    if inverse.ndim == 1:
        return
    # With its rows scaled to a diagonal of ones, and a little more, it must have a factor.
    unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max(initial=1.0)))
    scaled = inverse * unit[:, None] * unit
    size = len(diagonal)
    try:
        if is_sparse(inverse):
            from scipy.sparse import eye_array

            definite = _pivots(scaled + _INDEFINITE * eye_array(size))[1].min(initial=1.0) > 0
        else:
            np.linalg.cholesky(scaled + _INDEFINITE * np.eye(size))
            definite = True
    except (np.linalg.LinAlgError, RuntimeError):
        definite = False
    if not definite:
        raise ValueError("Minv is indefinite: an inverse mass has no negative eigenvalue")


def _block_diagonal(name: str, blocks: np.ndarray) -> Any:
    """Return the sparse matrix with these blocks on its diagonal (dense for a single one)."""
    if name == "mass":
        inverted(blocks)  # for its messages, which name the block
    if len(blocks) == 1:
        return blocks[0]
    sparse = optional("scipy.sparse", f"{name} of several bodies, with a J of any pattern, needs")
    count, size, _ = blocks.shape
    shape = (count * size, count * size)
    matrix = sparse.bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=shape)
    return matrix.tocsr()


def _dense_factor(M: np.ndarray) -> Any:
    """Return the solve of a Cholesky factor; M must be positive definite."""
    try:
        lower = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(M)[0]
        raise ValueError(
            f"mass has the eigenvalue {smallest:g}: a mass is positive definite"
        ) from None
    return lambda x: np.linalg.solve(lower.T, np.linalg.solve(lower, x))


def _sparse_factor(M: Any) -> Any:
    """Return the solve of a sparse Cholesky-like factor; M must be positive definite."""
    try:
        solve, pivots = _pivots(M)
    except RuntimeError:
        raise ValueError("mass is singular: a mass is positive definite") from None
    if len(pivots) and pivots.min() <= 0:
        raise ValueError(
            f"mass has the pivot {pivots.min():g} when factored: a mass is positive definite"
        )
    return solve


def _sparse_lu(M: Any) -> Any:
    """Return the solve of a sparse M of any kind."""
    from scipy.sparse.linalg import splu

    try:
        return splu(M.tocsc()).solve
    except RuntimeError:
        raise ValueError("mass is singular") from None


def _pivots(M: Any) -> tuple[Any, np.ndarray]:
    """Return the solve of M = L D Lᵀ and the diagonal D; RuntimeError if M is singular."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    factor = splu(M.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return factor.solve, factor.U.diagonal()


def flat_compliance(value: Any, total: int, rows: int) -> np.ndarray:
    """Return the diagonal of Σ for `total` rows, in blocks of `rows`, checked."""
    given = real_array("compliance", value)
    bad = ~((given >= 0) & np.isfinite(given))
    if bad.any():
        where = f"[{first_entry(bad)}]" if given.ndim else ""
        raise ValueError(
            f"compliance{where} is {shortest(given[bad][0])}: a finite number, 0 or more, is needed"
        )
    return spread("compliance", given, (total // rows, rows)).ravel()


def scalar_rows(
    values: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    first_row: np.ndarray,
) -> Csr:
    """Return scalar rows from rows of blocks, whose sizes may vary."""
    block_row = np.repeat(np.arange(len(rows)), np.diff(starts))
    height, width = rows[block_row], rows[columns]
    # Entries of all blocks in the order of `values`: block by block, row by row.
    sizes = height * width
    block = np.repeat(np.arange(len(columns)), sizes)
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    row = first_row[block_row[block]] + inside // width[block]
    column = first_row[columns[block]] + inside % width[block]
    order = np.lexsort((column, row))
    indptr = np.zeros(first_row[-1] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=first_row[-1]), out=indptr[1:])
    return values[order], column[order].astype(np.int64), indptr
