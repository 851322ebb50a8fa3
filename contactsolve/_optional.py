"""Optional packages: imported on use; if one is missing, the error names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["optional"]

_PACKAGES = {
    "scipy": ("SciPy", "sparse"),
    "h5py": ("h5py", "io"),
    "matplotlib": ("matplotlib", "plot"),
    "k3d": ("k3d", "widget"),
    "meshio": ("meshio", "cloth"),
    "mpi4py": ("mpi4py", "mpi"),
    "mujoco": ("MuJoCo", "mujoco"),
    "pandas": ("pandas", "notebook"),
    "PIL": ("Pillow", "plot"),
    "pinocchio": ("Pinocchio", "pinocchio"),
    "pymetis": ("pymetis", "partition"),
    "tqdm": ("tqdm", "notebook"),
}


def optional(module: str, what: str) -> Any:
    """Return a module of an optional package; `what` needs it ("pictures need")."""
    package, extra = _PACKAGES[module.partition(".")[0]]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} {package}, which the extra {extra!r} brings: "
            f"pip install 'contactsolve[{extra}]'"
        ) from error
