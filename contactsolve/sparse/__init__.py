"""Linear systems of meshes: symmetric matrices of 3 × 3 blocks, and conjugate gradients (S5, 4)."""

from .conjugate import CGResult, cg
from .preconditioner import Preconditioner, preconditioners
from .symmetric_blocks import SymmetricBlocks

__all__ = ["CGResult", "Preconditioner", "SymmetricBlocks", "cg", "preconditioners"]
