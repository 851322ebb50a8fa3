"""Contact problems: Jacobian, inverse mass, b and friction; or the Delassus matrix itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from . import sets as _sets
from ._arrays import index_array, read_only, real_array
from .sets import Set

__all__ = ["Problem"]

_Csr = tuple[np.ndarray, np.ndarray, np.ndarray]


class Problem:
    r"""A contact problem in arrays.

    Find impulses λ with

    .. math:: ξ(λ) = A λ + b, \quad A = J M^{-1} J^T, \quad
              λ_k = \mathrm{prox}_{C_k}(λ_k - R_k ξ_k(λ))

    for K blocks of m rows (S1 eqs. 2.69, 2.74).

    Parameters
    ----------
    J
        Contact Jacobian, ``(K, 2, m, d)``: for each contact the ``(m, d)`` block of its first and
        of its second body. The relative velocity is that of the second body minus that of the
        first; rows are normal, tangents.
    Minv
        Inverse masses, blocks ``(n, d, d)`` (symmetric, positive semi-definite) or diagonals
        ``(n, d)``. Zero makes a body immovable.
    b
        Relative velocities without contact impulses [m/s], ``(K, m)`` or flat.
    mu
        Friction coefficient, a number or ``(K,)``. Contacts are frictionless without it.
    bodies
        ``(K, 2)`` integers: the two bodies of each contact, −1 for the fixed world.
    sets
        The feasible set, from `contactsolve.sets`; by default a disc when `mu` is given, a box when
        `lo` or `hi` is, a half-line otherwise.
    lo, hi
        Bounds of a box [N s].
    strict
        Make contacts between immovable bodies an error. Otherwise their impulse is zero and
        ``result.info["warnings"]`` says so.
    name
        Shown in tables and plots.

    Raises
    ------
    ValueError, TypeError
        For input that is not finite, of a wrong shape or type, for a negative friction coefficient,
        a body number out of range, an inverse mass that is unsymmetric or indefinite, ``lo > hi``.
        The message names the argument, the index and the value.

    Notes
    -----
    The problem keeps copies; inputs are never written to.

    Examples
    --------
    A ball of 1 kg falls onto the ground at 0.1 m/s:

    >>> import numpy as np, contactsolve as cs
    >>> J = np.zeros((1, 2, 1, 3)); J[0, 1, 0, 1] = 1.0   # normal: upwards, on the second body
    >>> problem = cs.Problem(J, np.ones((1, 3)), b=[-0.1], bodies=[[-1, 0]])
    >>> cs.solve(problem).impulses
    array([[0.1]])
    """

    __slots__ = ("_core", "_matrix", "_minv_shape", "_set", "contacts", "dof", "name", "rows")

    _core: _core.Problem
    _matrix: _Csr | None
    _minv_shape: tuple[int, ...] | None
    _set: Set
    contacts: int
    rows: int
    dof: int
    name: str

    def __init__(
        self,
        J: Any,
        Minv: Any,
        b: Any,
        mu: Any = None,
        *,
        bodies: Any,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        strict: bool = False,
        name: str = "",
    ) -> None:
        J = real_array("J", J)
        if J.ndim != 4 or J.shape[1] != 2:
            raise ValueError(f"J has shape {J.shape}: (contacts, 2, rows, dof) is needed")
        contacts, _, rows, dof = J.shape
        Minv = real_array("Minv", Minv)
        if Minv.ndim not in (2, 3) or Minv.shape[1:] != (dof,) * (Minv.ndim - 1):
            raise ValueError(
                f"Minv has shape {Minv.shape}: with J of shape {J.shape} it must be "
                f"(bodies, {dof}) or (bodies, {dof}, {dof})"
            )
        pairs = index_array("bodies", bodies)
        if pairs.shape != (contacts, 2):
            raise ValueError(
                f"bodies has shape {pairs.shape}: J of shape {J.shape} needs ({contacts}, 2)"
            )
        self._matrix = None
        self._minv_shape = Minv.shape
        self.dof = Minv.shape[0] * dof
        body_groups = ((Minv.shape[0], dof, Minv.ndim == 2, Minv),)
        self._finish(contacts, rows, dof, J, pairs, b, mu, sets, lo, hi, body_groups, None, name)
        if strict:
            self._refuse_immovable()

    @classmethod
    def from_delassus(
        cls,
        A: Any,
        b: Any,
        mu: Any = None,
        *,
        rows: int = 3,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        strict: bool = False,
        name: str = "",
    ) -> Problem:
        """Make a problem from the Delassus matrix A itself.

        Parameters
        ----------
        A
            ``(K m, K m)``: a SciPy sparse matrix, a dense array, or the CSR triple ``(data,
            indices, indptr)``. It may be slightly unsymmetric and is used as it is;
            ``problem.info`` tells.
        b
            ``(K, m)`` or flat.
        mu, sets, lo, hi, strict, name
            As for `Problem`.
        rows
            m, the rows of each contact.
        """
        m = rows_per_contact(rows)
        data, indices, indptr = _csr_of(A)
        total = len(indptr) - 1
        if total % m:
            raise ValueError(f"A has {total} rows, which is no multiple of rows={m}")
        self = cls.__new__(cls)
        self._matrix = (read_only(data), read_only(indices), read_only(indptr))
        self._minv_shape = None
        self.dof = 0
        matrix = (indptr, indices, data)
        self._finish(total // m, m, 0, None, None, b, mu, sets, lo, hi, (), matrix, name)
        if strict:
            self._refuse_immovable()
        return self

    def _finish(
        self,
        contacts: int,
        rows: int,
        dof: int,
        J: np.ndarray | None,
        pairs: np.ndarray | None,
        b: Any,
        mu: Any,
        sets: Set | None,
        lo: Any,
        hi: Any,
        body_groups: tuple,
        matrix: tuple | None,
        name: str,
    ) -> None:
        """Hand everything to the C library, which copies and checks it."""
        self.contacts = contacts
        self.rows = rows
        self.name = str(name)
        self._set = _choose_set(mu, sets, lo, hi)
        b = shaped_b(b, contacts, rows)
        parameters = self._set.parameters(contacts, rows)
        block = (contacts, rows, dof, dof, J, pairs, b, self._set.name, parameters)
        self._core = _core.Problem(body_groups, (block,), matrix)

    def _refuse_immovable(self) -> None:
        contact = self._core.first_immovable()
        if contact >= 0:
            pair = "" if self.bodies is None else f" (bodies {self.bodies[contact].tolist()})"
            raise ValueError(
                f"contact {contact} is between immovable bodies{pair}: strict=True refuses it"
            )

    @property
    def J(self) -> np.ndarray | None:
        """The Jacobian, ``(K, 2, m, d)``, a read-only copy; None where A was given."""
        if self._minv_shape is None:
            return None
        shape = (self.contacts, 2, self.rows, self._minv_shape[1])
        return read_only(self._core.jacobian(0).reshape(shape))

    @property
    def Minv(self) -> np.ndarray | None:
        """The inverse masses in the form given, a read-only copy; None where A was given."""
        if self._minv_shape is None:
            return None
        return read_only(self._core.inverse_mass(0).reshape(self._minv_shape))

    @property
    def b(self) -> np.ndarray:
        """``(K, m)``, a read-only copy [m/s]."""
        return read_only(self._core.b(0).reshape(self.contacts, self.rows))

    @property
    def mu(self) -> np.ndarray | None:
        """Friction coefficients, ``(K,)``; None for sets without."""
        mu = self._set.parameter("mu", self.contacts)
        return None if mu is None else read_only(mu)

    @property
    def bodies(self) -> np.ndarray | None:
        """The body pairs, ``(K, 2)``, a read-only copy; None where A was given."""
        pairs = self._core.bodies(0)
        return None if pairs is None else read_only(pairs)

    @property
    def sets(self) -> Set:
        """The feasible set of the contacts."""
        return self._set

    @property
    def bodies_count(self) -> int:
        """The number of bodies; 0 where A was given."""
        return 0 if self._minv_shape is None else self._minv_shape[0]

    @property
    def block_count(self) -> int:
        """The number of non-zero blocks of A, immovable bodies apart (S1 Corollary 3.2)."""
        return self.count_blocks()

    def count_blocks(self, *, fixed_as_body: bool = False) -> int:
        """Count the non-zero blocks of A without building it (S1 Corollary 3.2).

        Parameters
        ----------
        fixed_as_body
            Let bodies with zero inverse mass couple their contacts, as S1 counts its ground.
        """
        return self._core.count_blocks(fixed_as_body)

    @property
    def info(self) -> dict[str, Any]:
        """Figures of the problem: contacts, rows, bodies, blocks of A, its asymmetry if given."""
        info: dict[str, Any] = {
            "name": self.name,
            "contacts": self.contacts,
            "rows": self.rows,
            "bodies": self.bodies_count,
            "set": self._set.name,
            "blocks": self.block_count,
        }
        if self._matrix is not None:
            info["asymmetry"] = self._core.asymmetry
        return info

    def delassus(self) -> Any:
        """Return A as a SciPy BSR array with ``(m, m)`` blocks; needs SciPy."""
        from scipy.sparse import bsr_array

        values, columns, starts = self._core.assemble()
        total = self.contacts * self.rows
        blocks = values.reshape(-1, self.rows, self.rows)
        return bsr_array((blocks, columns, starts), shape=(total, total))

    def delassus_csr(self) -> _Csr:
        """Return A in compressed sparse rows, ``(data, indices, indptr)``.

        A given A comes back value for value and entry for entry; otherwise it is assembled.
        """
        if self._matrix is not None:
            return self._matrix
        m = self.rows
        values, columns, starts = self._core.assemble()
        blocks = np.diff(starts)
        indptr = np.zeros(self.contacts * m + 1, np.int64)
        np.cumsum(np.repeat(blocks * m, m), out=indptr[1:])
        # Block rows one after another: inside each, row by row and then block by block.
        row_of_block = np.repeat(np.arange(self.contacts), blocks)
        place = np.arange(len(columns)) - starts[row_of_block]
        at = (
            (starts[row_of_block] * m * m + place * m)[:, None, None]
            + (np.arange(m)[:, None] * (blocks[row_of_block] * m)[:, None, None])
            + np.arange(m)
        )
        data = np.empty(len(columns) * m * m)
        indices = np.empty(len(columns) * m * m, np.int64)
        data[at.ravel()] = values
        indices[at.ravel()] = np.broadcast_to(
            columns[:, None, None] * m + np.arange(m), at.shape
        ).ravel()
        return data, indices, indptr

    def __reduce__(self) -> tuple:
        keep = {"sets": self._set, "name": self.name}
        if self._matrix is not None:
            return _rebuild, (self._matrix, self.b, self.rows, keep)
        return _rebuild_bodies, (self.J, self.Minv, self.b, self.bodies, keep)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        origin = "given matrix" if self._matrix is not None else f"{self.bodies_count} bodies"
        return (
            f"Problem({name}{self.contacts} contacts of {self.rows} rows, {origin}, "
            f"set {self._set.name})"
        )


def rows_per_contact(rows: Any) -> int:
    """Return the number of rows of a contact, checked."""
    if not isinstance(rows, (int, np.integer)) or not 1 <= rows <= 6:
        raise ValueError(f"rows is {rows!r}: an integer from 1 to 6 is needed")
    return int(rows)


def _rebuild(matrix: _Csr, b: np.ndarray, rows: int, keep: dict[str, Any]) -> Problem:
    return Problem.from_delassus(matrix, b, rows=rows, **keep)


def _rebuild_bodies(
    J: np.ndarray, Minv: np.ndarray, b: np.ndarray, bodies: np.ndarray, keep: dict[str, Any]
) -> Problem:
    return Problem(J, Minv, b, bodies=bodies, **keep)


def shaped_b(b: Any, contacts: int, rows: int) -> np.ndarray:
    """Return b as ``(contacts, rows)``, from that shape or flat."""
    b = real_array("b", b)
    if b.shape not in ((contacts, rows), (contacts * rows,)):
        raise ValueError(
            f"b has shape {b.shape}: {contacts} contacts of {rows} rows need "
            f"({contacts}, {rows}) or ({contacts * rows},)"
        )
    return b.reshape(contacts, rows)


def _choose_set(mu: Any, sets: Set | None, lo: Any, hi: Any) -> Set:
    bounded = lo is not None or hi is not None
    if sets is not None:
        if not isinstance(sets, Set):
            raise TypeError(f"sets is {sets!r}: a set of contactsolve.sets is needed")
        if mu is not None or bounded:
            raise ValueError(f"sets={sets!r} has its own parameters: leave out mu, lo and hi")
        return sets
    if mu is not None and bounded:
        raise ValueError("mu makes the contacts discs, lo and hi boxes: give one of them")
    if mu is not None:
        return _sets.disc(mu)
    if bounded:
        return _sets.box(-np.inf if lo is None else lo, np.inf if hi is None else hi)
    return _sets.half_line()


def _csr_of(A: Any) -> _Csr:
    """Return copies of ``(data, indices, indptr)`` of any form of a square matrix."""
    if isinstance(A, tuple) and len(A) == 3:
        data = real_array("A.data", A[0])
        indices = index_array("A.indices", A[1])
        indptr = index_array("A.indptr", A[2])
        for name, array in (("data", data), ("indices", indices), ("indptr", indptr)):
            if array.ndim != 1:
                raise ValueError(f"A.{name} has shape {array.shape}: one dimension is needed")
        return data.copy(), indices.copy(), indptr.copy()
    if hasattr(A, "tocsr"):
        if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"A has shape {A.shape}: a square matrix is needed")
        csr = A.tocsr()
        return _csr_of((csr.data, csr.indices, csr.indptr))
    dense = real_array("A", A)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise ValueError(f"A has shape {dense.shape}: a square matrix is needed")
    row, column = np.nonzero(dense)
    indptr = np.zeros(dense.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=dense.shape[0]), out=indptr[1:])
    return dense[row, column], column.astype(np.int64), indptr
