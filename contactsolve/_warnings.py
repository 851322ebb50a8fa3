"""Warnings that name the line of the caller, outside of this package."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]


def warn(text: str) -> None:
    """Warn of what is probably a mistake."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]
