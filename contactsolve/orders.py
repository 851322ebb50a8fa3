"""Orders: who sees whose values in a sweep."""

from __future__ import annotations

from . import _core

__all__ = ["describe", "names"]


def names() -> list[str]:
    """Return the names of all orders."""
    return [name for name, _ in _core.orders()]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.orders())
