"""Schemes: how Aλ + b is had."""

from __future__ import annotations

from . import _core

__all__ = ["describe", "names"]


def names() -> list[str]:
    """Return the names of all schemes."""
    return [name for name, _ in _core.schemes()]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.schemes())
