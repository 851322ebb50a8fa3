"""What matrices and preconditioners of vertices have in common: products with vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import as_array, refuse_other_than_real
from .._options import most_threads

_BLOCK = 3


class BlockOperator:
    """A symmetric linear operator on vectors of three numbers a vertex."""

    # NumPy leaves x @ A to this class.
    __array_ufunc__ = None

    shape: tuple[int, int]
    dtype: Any

    def _product(self, x: np.ndarray, threads: int) -> np.ndarray:
        """Return the product with a vector in `dtype`; `threads`: 0 for all that are available."""
        raise NotImplementedError

    def matvec(self, x: Any, threads: int | None = None) -> np.ndarray:
        """Return the product with x.

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
        return self._product(np.ascontiguousarray(x, self.dtype), most_threads(threads)).reshape(
            x.shape
        )

    rmatvec = matvec

    def __matmul__(self, other: Any) -> np.ndarray:
        """Return the product with ``(3 n,)`` or ``(n, 3)``, or with the columns of a matrix."""
        other = as_array("x", other)
        if other.ndim == 2 and other.shape[0] == self.shape[0]:
            columns = [self.matvec(column) for column in other.T]
            return np.stack(columns, axis=1) if columns else np.zeros(other.shape, self.dtype)
        return self.matvec(other)

    dot = __matmul__

    def __rmatmul__(self, other: Any) -> np.ndarray:
        """Return the product of ``(3 n,)``, or of the rows of a matrix, with the operator."""
        other = as_array("x", other)
        if other.ndim not in (1, 2) or other.shape[-1] != self.shape[0]:
            raise ValueError(f"x has shape {other.shape}: ({self.shape[0]},) is needed")
        return (self @ other.T).T

    @property
    def T(self) -> Any:
        """The operator itself: it is symmetric."""
        return self


def precision(dtype: Any) -> np.dtype:
    """Return the type of numbers, given as NumPy's or by name."""
    wanted = f"dtype is {dtype!r}: float64 or float32 is needed"
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise ValueError(wanted) from None
    if found not in (np.float64, np.float32):
        raise ValueError(wanted)
    return found
