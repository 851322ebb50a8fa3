"""Schemes: how Aλ + b is computed.

A solver takes a scheme by its name. For options of the scheme, this module has a function of the
same name, made from the C library's description:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(4)
>>> result = cs.solve(problem, method="jacobi", scheme=cs.schemes.factorized(velocities="add"))
>>> result.info["scheme"]
'factorized'
>>> cs.schemes.options()["factorized"]["velocities"].words
('auto', 'recompute', 'add', 'accumulate')
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core
from ._specific_options import Named, Option, document, maker, options_of, taken
from ._suggestions import missing

__all__ = ["Scheme", "describe", "names", "options"]

_LISTED = {described["name"]: described for described in _core.schemes()}
_OPTIONS = {name: options_of(described["options"]) for name, described in _LISTED.items()}


@dataclass(frozen=True, repr=False)
class Scheme(Named):
    """A scheme with its options; made by the function of its name in this module."""

    def options(self) -> dict[str, float | str]:
        """Return the options as the C library takes them: numbers or words by name."""
        return taken(_OPTIONS.get(self.name, {}), dict(self.settings)) if self.settings else {}


_PLAIN = {name: Scheme(name) for name in ("auto", *_LISTED)}


def chosen(scheme: Any) -> Scheme:
    """Return the scheme that a solver's option stands for: a name or an object."""
    if isinstance(scheme, Scheme):
        return scheme
    if not isinstance(scheme, str):
        name = getattr(scheme, "__name__", "")
        advice = f"call it, schemes.{name}(...)" if name in _LISTED else "a name is needed"
        raise TypeError(f"scheme is {scheme!r}: {advice}")
    return _PLAIN.get(scheme) or Scheme(scheme)


def names() -> list[str]:
    """Return the names of all schemes."""
    return list(_LISTED)


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return {name: described["summary"] for name, described in _LISTED.items()}


def options() -> dict[str, dict[str, Option]]:
    """Return each scheme's own options by name, with their defaults and ranges."""
    return {name: dict(own) for name, own in _OPTIONS.items()}


def _maker(name: str, summary: str, about: str) -> Callable[..., Scheme]:
    """Return the function of a scheme's name, which makes a `Scheme` from its options."""
    make = maker("scheme", name, _OPTIONS[name], Scheme, _core.check_scheme)
    make.__module__ = __name__
    returns = "Scheme\n    For a solver's `scheme`."
    make.__doc__ = document(summary, about, _OPTIONS[name], returns, {})
    return make


for _name, _description in _LISTED.items():
    if not keyword.iskeyword(_name):
        globals()[_name] = _maker(_name, _description["summary"], _description["about"] or "")
        __all__ += [_name]


def __getattr__(name: str) -> Callable[..., Scheme]:
    """Raise for unknown names; for type checkers, every name is a function of the C library."""
    raise missing(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
