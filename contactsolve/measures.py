"""Measures of the error of an iterate: their names, meanings and units."""

from __future__ import annotations

import re

from . import _core

__all__ = ["describe", "names", "units"]


def names() -> list[str]:
    """Return the names of all measures."""
    return [name for name, _ in _core.measures()]


def describe() -> dict[str, str]:
    """Return one line on each measure, by name."""
    return dict(_core.measures())


def units() -> dict[str, str]:
    """Return the unit of each measure, by name."""
    # The unit is in brackets in the line of the measure.
    found = {name: re.search(r"\[(.*?)\]", line) for name, line in _core.measures()}
    return {name: match[1] if match else "" for name, match in found.items()}


def __dir__() -> list[str]:
    return sorted(__all__)
