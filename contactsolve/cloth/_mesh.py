"""Meshes from arrays, from objects that have them, and from files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._arrays import finite_array, index_array
from .._optional import optional

__all__ = ["points", "read_mesh"]

_PASSED = ("line", "vertex")  # cells of a file that are no faces


def read_mesh(vertices: Any, faces: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices ``(n, 3)`` and faces ``(m, 3)``; C checks what the faces refer to."""
    if faces is None:
        vertices, faces = _given_together(vertices)
    x = points("vertices", vertices)
    triangles = index_array("faces", faces)
    if triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ValueError(f"faces has shape {triangles.shape}: (m, 3) is needed")
    return x, triangles


def _given_together(mesh: Any) -> tuple[Any, Any]:
    """Return vertices and faces of one object, or of a file."""
    if isinstance(mesh, (str, os.PathLike)):
        return _from_file(os.fspath(mesh))
    if hasattr(mesh, "vertices"):
        for name in ("faces", "triangles"):
            if hasattr(mesh, name):
                return mesh.vertices, getattr(mesh, name)
    raise TypeError(
        f"faces is missing, and {type(mesh).__name__} has no attributes 'vertices' and 'faces'"
    )


def _from_file(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points and triangles that meshio reads."""
    meshio = optional("meshio", "meshes from files need")
    try:
        mesh = meshio.read(path)
    except SystemExit as error:  # meshio leaves Python where it cannot read
        raise ValueError(f"{path}: meshio cannot read this file") from error
    found = {block.type for block in mesh.cells}
    others = sorted(kind for kind in found - {"triangle"} if not kind.startswith(_PASSED))
    if others or "triangle" not in found:
        told = ", ".join(others or sorted(found)) or "no cells"
        raise ValueError(f"{path}: a mesh of triangles is needed, the file has {told}")
    return mesh.points, mesh.get_cells_type("triangle")


def points(name: str, value: Any) -> np.ndarray:
    """Return points in space ``(n, 3)``; those of the plane, ``(n, 2)``, have z = 0."""
    x = finite_array(name, value)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise ValueError(f"{name} has shape {x.shape}: (n, 3) or (n, 2) is needed")
    if x.shape[1] == 2:
        x = np.column_stack([x, np.zeros(len(x))])
    return np.ascontiguousarray(x)
