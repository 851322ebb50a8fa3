"""Collisions of triangle meshes by hierarchies of bounding volumes, and their tasks (S5, 5)."""

from .pool import pool_overhead

__all__ = ["pool_overhead"]
