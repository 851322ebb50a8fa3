"""Tables as CSV: the first line has names with units, and numbers have all their digits."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from . import measures

__all__ = ["Target", "with_units", "write_csv"]

Target = str | os.PathLike[str] | TextIO

_SECONDS = ("time", "time_sigma", "setup_time")


def with_units(names: Iterable[str]) -> list[str]:
    """Return the names of columns with their units: ``"time [s]"``."""
    units = {name: unit for name, unit in measures.units().items() if unit}
    units |= dict.fromkeys(_SECONDS, "s")
    return [f"{name} [{units[name]}]" if name in units else name for name in names]


def write_csv(target: Target, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write names and rows to a file, which is replaced, or to an open text file.

    NaN becomes an empty cell.
    """
    if isinstance(target, (str, os.PathLike)):
        with open(target, "w", encoding="utf-8", newline="") as file:
            write_csv(file, names, rows)
        return
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else repr(float(value))
