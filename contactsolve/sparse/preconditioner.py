"""Preconditioners of symmetric block systems, each a linear operator by itself (S5, 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._arrays import finite_array, read_only
from .._options import most_threads, number, word
from ._operator import BlockOperator, precision
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


class Preconditioner(BlockOperator):
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
        if word("kind", kind) not in preconditioners():
            known = ", ".join(sorted(preconditioners()))
            raise ValueError(f"kind: {kind!r} is unknown; known: {known}")
        relaxation = number("relaxation", relaxation)
        if not 0 < relaxation < 2:
            raise ValueError(f"relaxation is {relaxation}: between 0 and 2 is needed")
        self.A, self.kind, self.shape = A, kind, A.shape
        self._dtype = A.dtype if dtype is None else precision(dtype)
        if positions is not None:
            positions = read_only(finite_array("positions", positions).copy())
            if positions.shape != (A.shape[0] // _BLOCK, _BLOCK):
                wanted = (A.shape[0] // _BLOCK, _BLOCK)
                raise ValueError(f"positions has shape {positions.shape}: {wanted} is needed")
        self._positions, self._relaxation = positions, relaxation
        self._whole = kind in _WHOLE
        system, exact = self._systems()
        name = _WHOLE.get(kind, kind)
        self._core = _core.BlockPreconditioner(system, exact, name, positions, relaxation)
        self._version = -1
        self.update()

    def __repr__(self) -> str:
        vertices, relaxation = self.shape[0] // _BLOCK, self._relaxation
        relaxed = "" if relaxation == 1 else f", relaxation {relaxation:g}"
        return f"<Preconditioner {self.kind} of {vertices} vertices, {self.dtype.name}{relaxed}>"

    def __reduce__(self) -> tuple:
        kept = (self.A, self.kind, self.dtype.name, self._positions, self._relaxation)
        return _remade, kept

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of the numbers."""
        return self._dtype

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
        most = most_threads(threads)
        # Values that another thread gives meanwhile are read by the next update.
        version = self.A._version
        self._systems()
        message = self._core.update(most)
        if message is not None:
            own = _WHOLE.get(self.kind, self.kind)
            message = message.replace(f"preconditioner {own}", f"preconditioner {self.kind}")
            raise np.linalg.LinAlgError(message)
        self._version = version

    def _product(self, x: np.ndarray, threads: int) -> np.ndarray:
        self.refresh()
        return self._core.apply(x, threads)

    def _systems(self) -> tuple[_core.BlockSystem, _core.BlockSystem]:
        """Return the matrix in the precision of the operator, and as it is given, up to date."""
        A = self.A
        own = A._system(self.dtype == np.float32, self._whole)
        return own, A._system(A.dtype == np.float32, self._whole)

    def refresh(self) -> None:
        """Update if A has other values since."""
        if self._version != self.A._version:
            self.update()


def _remade(
    A: SymmetricBlocks, kind: str, dtype: str, positions: Any, relaxation: float
) -> Preconditioner:
    """Return a copy of a preconditioner."""
    return Preconditioner(A, kind, dtype=dtype, positions=positions, relaxation=relaxation)
