"""Methods: what is iterated.

A method is given to a solver by its name. Its own options go into a function of that name in this
module, which is made from what the C library says of the method:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(3, rows=1)
>>> result = cs.solve(problem, method=cs.methods.bpp(engine="skyline"))
>>> result.info["engine"]
'skyline'

`describe` lists all methods with their options, what they need and what they are for:

>>> cs.methods.describe()["lemke"].options["tolerance"].default
1e-09
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._specific_options import Option, arguments, document, options_of, same, signature_of, taken

__all__ = [
    "Choice",
    "Description",
    "Option",
    "classes",
    "describe",
    "names",
    "needs",
    "summaries",
    "sweeping",
]


@dataclass(frozen=True, slots=True)
class Description:
    """What a method is.

    Attributes
    ----------
    name, summary, about
        What it is called, one line on it, and how it works.
    paper
        Where it comes from.
    options
        Its own options by name, each an `Option`.
    needs
        What it asks of a problem before it starts; `needs` explains the words.
    solves
        The classes of problems on which it reaches its tolerance; `classes` explains the words.
    direct
        It makes no sweeps itself: options about sweeps are refused, or are its inner method's.
    """

    name: str
    summary: str
    about: str
    paper: str
    options: Mapping[str, Option]
    needs: tuple[str, ...]
    solves: tuple[str, ...]
    direct: bool

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}"]
        lines += [f"  from    {self.paper}"] if self.paper else []
        lines += [f"  needs   {', '.join(self.needs)}"] if self.needs else []
        lines += [f"  solves  {', '.join(self.solves)}"] if self.solves else []
        lines += [f"  {o.name}={o.default!r}: {o.summary}" for o in self.options.values()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Choice:
    """A method with its own options; made by the function of its name in this module."""

    name: str
    settings: tuple[tuple[str, Any], ...] = field(default=())

    def options(self) -> dict[str, float | str]:
        """What the C library takes: numbers or words by name."""
        own = _DESCRIPTIONS[self.name].options if self.name in _DESCRIPTIONS else {}
        return taken(own, dict(self.settings))

    def __str__(self) -> str:
        own = [f"{name}={value}" for name, value in self.settings]
        return f"{self.name}({', '.join(own)})" if own else self.name

    __repr__ = __str__


def chosen(method: Any) -> Choice:
    """Return the method that a solver's option stands for: a name or an object."""
    return method if isinstance(method, Choice) else Choice(method)


def names() -> list[str]:
    """Return the names of all methods."""
    return list(_DESCRIPTIONS)


def sweeping() -> list[str]:
    """Return the names of the methods that sweep over contacts and take every set and every A."""
    refusing = {"jacobian", "symmetric", "fixed_sets", "box_friction", "no_free_rows"}
    return [
        name
        for name, method in _DESCRIPTIONS.items()
        if not method.direct and not refusing.intersection(method.needs)
    ]


def describe() -> dict[str, Description]:
    """Return what each method is, by name: paper, options, what it needs and what it is for."""
    return dict(_DESCRIPTIONS)


def summaries() -> dict[str, str]:
    """Return one line on each, by name."""
    return {name: method.summary for name, method in _DESCRIPTIONS.items()}


def needs() -> dict[str, str]:
    """Return what methods may ask of a problem, each word with what it means."""
    return dict(_core.needs())


def classes() -> dict[str, str]:
    """Return the classes of problems that methods are for, each word with what it means."""
    return dict(_core.classes())


# ---- from what the C library says ---------------------------------------------------------------


def _description(told: dict[str, Any]) -> Description:
    options = options_of(told.pop("options"))
    about, paper = told.pop("about") or "", told.pop("paper") or ""
    direct = bool(told.pop("direct"))
    return Description(about=about, paper=paper, options=options, direct=direct, **told)


_DESCRIPTIONS = {told["name"]: _description(told) for told in _core.methods()}


def _document(method: Description) -> str:
    """Return a docstring in the manner of numpydoc."""
    notes = [f"Needs: {'; '.join(needs()[word] for word in method.needs) or 'nothing'}."]
    if method.solves:
        notes.append(f"For: {'; '.join(classes()[word] for word in method.solves)}.")
    sections = {"Notes": "\n".join(notes)}
    if method.paper:
        sections["References"] = method.paper
    returns = "Choice\n    For a solver's `method`."
    return document(method.summary, method.about, method.options, returns, sections)


def _maker(method: Description) -> Callable[..., Choice]:
    """Return the function of a method's name: its own options in, a `Choice` out."""

    def make(**options: Any) -> Choice:
        given = arguments(f"method='{method.name}'", method.options, (), options)
        own = tuple(
            (name, given[name])
            for name, option in method.options.items()
            if name in given and not same(given[name], option.default)
        )
        choice = Choice(method.name, own)
        _core.check_method(method.name, choice.options())
        return choice

    make.__name__ = make.__qualname__ = method.name
    make.__doc__ = _document(method)
    make.__signature__ = signature_of(method.options, Choice)  # type: ignore[attr-defined]
    return make


for _name, _method in _DESCRIPTIONS.items():
    if not keyword.iskeyword(_name):
        globals()[_name] = _maker(_method)
        __all__ += [_name]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Choice]:
        """Stand for the functions that are made from the C library's list."""


def __dir__() -> list[str]:
    return sorted(__all__)
