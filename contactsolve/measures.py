"""Measures: how good an iterate is."""

from __future__ import annotations

import re

from . import _core

__all__ = ["describe", "names", "units"]


def names() -> list[str]:
    """Return the names of all measures."""
    return [name for name, _ in _core.measures()]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.measures())


def units() -> dict[str, str]:
    """Return the unit of each, by name: what stands in brackets in its line."""
    found = {name: re.search(r"\[(.*?)\]", line) for name, line in _core.measures()}
    return {name: match[1] if match else "" for name, match in found.items()}


def __dir__() -> list[str]:
    return sorted(__all__)
