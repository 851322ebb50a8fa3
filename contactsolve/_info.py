"""Information on the build of the library."""

from __future__ import annotations

from typing import Any

from . import _core

__all__ = ["info"]


def info() -> dict[str, Any]:
    """Return how this library was built: version, compiler, OpenMP, threads, instruction set."""
    return _core.build()
