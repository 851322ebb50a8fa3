"""Collisions of triangle meshes by hierarchies of bounding volumes, and their tasks (S5, 5)."""

from .pool import pool_overhead
from .tree import Tree, rules

__all__ = ["Tree", "pool_overhead", "rules"]
