"""The linear solve of a step."""

from __future__ import annotations

import numpy as np

from .._optional import optional

__all__ = ["solve"]


def solve(
    values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return x of A x = right, where A has these blocks."""
    sparse = optional("scipy.sparse", "steps of a cloth need")
    linalg = optional("scipy.sparse.linalg", "steps of a cloth need")
    A = sparse.bsr_array((values, indices, indptr), shape=(len(right), len(right)))
    return linalg.spsolve(A.tocsc(), right)
