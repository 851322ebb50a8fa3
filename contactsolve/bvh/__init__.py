"""Collision detection of meshes in motion: distances, and the times at which primitives meet."""

from .ccd import Impacts, ccd, free_step
from .distance import Distances, distance

__all__ = ["Distances", "Impacts", "ccd", "distance", "free_step"]
