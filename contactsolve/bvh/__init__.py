"""Collisions of triangle meshes in motion: trees of k-DOPs, tasks, times of contact (S5, 5)."""

from .ccd import Impacts, ccd, free_step
from .distance import Distances, distance
from .pool import pool_overhead
from .tree import Tree, rules

__all__ = ["Distances", "Impacts", "Tree", "ccd", "distance", "free_step", "pool_overhead", "rules"]
