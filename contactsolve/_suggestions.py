"""Suggestions of known names for unknown ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from . import _core

__all__ = ["hint", "listed", "missing", "nearest", "refuse_unknown", "with_suggestion"]

Item = TypeVar("Item")

# Names by which other libraries and textbooks know methods and options; what is known is meant.
_ELSEWHERE = {
    "eps": "rtol, tolerance",
    "tol": "rtol, tolerance",
    "tolerance": "rtol",
    "rtol": "tolerance",
    "maxiter": "max_iterations, max_pivots",
    "max_iter": "max_iterations, max_pivots",
    "maxit": "max_iterations, max_pivots",
    "max_iterations": "max_pivots",
    "pivots": "max_pivots",
    "rule": "method",
    "iterations": "max_iterations",
    "sweeps": "max_iterations",
    "omega": "relaxation",
    "sor": "relaxation",
    "timeout": "max_seconds",
    "time_limit": "max_seconds",
    "n_jobs": "threads",
    "num_threads": "threads",
    "precision": "dtype",
    "x0": "initial",
    "warm_start": "initial",
    "verbose": "progress",
    "friction": "mu",
    "pgs": "gauss_seidel",
    "nsgs": "gauss_seidel",
    "psor": "gauss_seidel",
    "sequential_impulses": "gauss_seidel",
    "ssor": "symmetric_gauss_seidel",
    "pj": "jacobi",
    "fista": "apgd",
    "fischer": "newton",
    "alart_curnier": "newton",
    "block_pivoting": "bpp",
    "ipm": "interior_point",
}
_UNKNOWN = re.compile(r"^\w+: '(?P<word>[^']*)' is unknown; known: (?P<known>.*)$", re.DOTALL)


def listed(kind: str, items: Mapping[str, Item], name: str) -> Item:
    """Return the item of a list by its name; an unknown one raises an error with a suggestion."""
    try:
        return items[name]
    except KeyError:
        known = sorted(items)
        text = f"unknown {kind} {name!r}: expected one of {', '.join(known)}"
        raise ValueError(f"{text}{hint(str(name), known)}") from None


def with_suggestion(error: Exception) -> Exception:
    """Return an error about an unknown name with a suggestion, and other errors unchanged."""
    found = _UNKNOWN.match(str(error))
    if not isinstance(error, ValueError) or found is None:
        return error
    return ValueError(f"{error}{hint(found['word'], found['known'].split(', '))}")


def refuse_unknown(caller: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise for unknown options, with a suggestion."""
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    name, near = unknown[0], nearest(unknown[0], known)
    meant = f": did you mean {near!r}?" if near else ""

    # A word of other libraries is known: it is not meant for an option of a single method.
    if near and near in _ELSEWHERE.get(name.lower(), "").split(", "):
        raise TypeError(f"{caller} has no option {name!r}{meant}")
    lists = {"methods": _core.methods(), "orders": _core.orders(), "schemes": _core.schemes()}
    owners = {kind: _owners(described, name) for kind, described in lists.items()}
    hints = [
        f": it is an option of {kind}, as contactsolve.{kind}.{own[0]}({name}=...)"
        for kind, own in owners.items()
        if own
    ]
    raise TypeError(f"{caller} has no option {name!r}{hints[0] if hints else meant}")


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module does not have, with a suggestion."""
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(text if name.startswith("_") else f"{text}{hint(name, known)}")


def hint(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message that suggests a known name; empty if none is similar."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to a name; empty if none is."""
    listed = list(known)
    plain = name.lower().replace("-", "_").replace(" ", "_")
    for meant in _ELSEWHERE.get(plain, "").split(", "):
        if meant in listed:
            return meant
    return next(iter(difflib.get_close_matches(plain, listed, 1, 0.7)), "")


def _owners(described: list[dict[str, Any]], name: str) -> list[str]:
    """Return the names of those methods, orders or schemes that have an option of this name."""
    return [
        one["name"] for one in described if any(option["name"] == name for option in one["options"])
    ]
