"""Preconditioners of symmetric block systems, each a linear operator by itself (S5, 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._arrays import as_array, finite_array, refuse_other_than_real
from .._options import count
from .symmetric_blocks import SymmetricBlocks

__all__ = ["Preconditioner", "preconditioners"]

_BLOCK = 3
# `block_ssor` of a matrix in one part.
_WHOLE = {"ssor": "block_ssor"}
_SSOR = "symmetric successive overrelaxation, one vertex after another"


def preconditioners() -> dict[str, str]:
    """Return the kinds of preconditioners, each with a line of what it is."""
    known = _core.preconditioners()
    return {**known, "ssor": _SSOR}


class Preconditioner:
    """M, close to the inverse of a symmetric block system, as a linear operator.

    Parameters
    ----------
    A
        The matrix. After ``A.update(values)`` the preconditioner reads the new values when it is
        next used, or by `update`; what depends on the pattern alone is kept.
    kind
        A name of `preconditioners`. Those named ``block_…`` and ``incomplete_cholesky`` leave out
        the coupling between parts; ``ssor`` and ``cholesky`` work on the whole matrix.
    dtype
        ``"float64"`` or ``"float32"``; None: that of A.
    positions
        ``(n, 3)``, the vertices: ``multigrid`` then reproduces rotations as well as translations.
    relaxation
        ω of ``ssor`` and ``block_ssor``, between 0 and 2.

    Attributes
    ----------
    shape, dtype
        Those of the operator.
    kind
        The name.
    info
        ``bytes`` read by one application, multiplications of an application (``work``) and of an
        update (``set_up``), and what the kind has to say: the ``shift`` of an incomplete factor,
        the ``levels`` and the ``complexity`` of ``multigrid``.

    Raises
    ------
    ValueError
        The kind is unknown, or an option is out of range.
    numpy.linalg.LinAlgError
        A is not positive definite; a `ValueError`, whose message names the vertex.

    Examples
    --------
    >>> import numpy as np, contactsolve as cs
    >>> A = cs.sparse.SymmetricBlocks(np.diag([2.0, 2, 2, 4, 4, 4]))
    >>> cs.sparse.Preconditioner(A, "jacobi") @ np.ones(6)
    array([0.5 , 0.5 , 0.5 , 0.25, 0.25, 0.25])
    """

    def __init__(
        self,
        A: SymmetricBlocks,
        kind: str = "block_ssor",
        *,
        dtype: Any = None,
        positions: Any = None,
        relaxation: float = 1.0,
    ) -> None:
        if not isinstance(A, SymmetricBlocks):
            raise TypeError(f"A is {type(A).__name__}: a SymmetricBlocks is needed")
        if kind not in preconditioners():
            known = ", ".join(sorted(preconditioners()))
            raise ValueError(f"kind: {kind!r} is unknown; known: {known}")
        if not 0 < relaxation < 2:
            raise ValueError(f"relaxation is {relaxation}: between 0 and 2 is needed")
        self.A, self.kind, self.shape = A, kind, A.shape
        self.dtype = A.dtype if dtype is None else np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype is {self.dtype}: float32 or float64 is needed")
        if positions is not None:
            positions = finite_array("positions", positions)
            if positions.shape != (A.shape[0] // _BLOCK, _BLOCK):
                wanted = (A.shape[0] // _BLOCK, _BLOCK)
                raise ValueError(f"positions has shape {positions.shape}: {wanted} is needed")
        self._whole = kind in _WHOLE
        system, exact = self._systems()
        name = _WHOLE.get(kind, kind)
        self._core = _core.BlockPreconditioner(system, exact, name, positions, float(relaxation))
        self._version = -1
        self.update()

    def __repr__(self) -> str:
        return f"<Preconditioner {self.kind} of {self.shape[0] // _BLOCK} vertices, {self.dtype}>"

    @property
    def info(self) -> dict[str, Any]:
        """Work and bytes, and what the kind has to say."""
        told = self._core.describe()
        return {**told, "kind": self.kind}

    def update(self, threads: int | None = None) -> None:
        """Read the present values of A.

        Parameters
        ----------
        threads
            The most threads; None: all that are available.
        """
        most = 0 if threads is None else count("threads", threads, least=1, most=2**31 - 1)
        # Values that another thread gives meanwhile are read by the next update.
        version = self.A._version
        self._systems()
        message = self._core.update(most)
        if message is not None:
            raise np.linalg.LinAlgError(message)
        self._version = version

    def matvec(self, x: Any, threads: int | None = None) -> np.ndarray:
        """Return M x.

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
        self.refresh()
        return self._core.apply(np.ascontiguousarray(x, self.dtype), most).reshape(x.shape)

    rmatvec = matvec

    def __matmul__(self, other: Any) -> np.ndarray:
        """Return M times a vector, or times the columns of a matrix."""
        other = as_array("x", other)
        if other.ndim == 2 and other.shape[0] == self.shape[0]:
            columns = [self.matvec(column) for column in other.T]
            return np.stack(columns, axis=1) if columns else np.zeros(other.shape, self.dtype)
        return self.matvec(other)

    def _systems(self) -> tuple[_core.BlockSystem, _core.BlockSystem]:
        """Return the matrix in the precision of the operator, and as it is given, up to date."""
        A = self.A
        own = A._system(self.dtype == np.float32, self._whole)
        return own, A._system(A.dtype == np.float32, self._whole)

    def refresh(self) -> None:
        """Update if A has other values since."""
        if self._version != self.A._version:
            self.update()
