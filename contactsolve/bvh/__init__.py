"""Collision detection of triangle meshes in motion: trees of bounding volumes (S5, 5)."""

from .tree import Tree, rules

__all__ = ["Tree", "rules"]
