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

import inspect
import keyword
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._options import count, flag, number, word

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
class Option:
    """One of a method's own options.

    Attributes
    ----------
    name, summary
        What it is called and what it does.
    kind
        ``"number"``, ``"count"`` (a whole number), ``"flag"`` or ``"word"``.
    default
        Its value where none is given; None where the method then chooses.
    least, most
        The range of a number or a count.
    above
        `least` itself is too small.
    words
        The words that it may be.
    """

    name: str
    kind: str
    default: Any
    least: float
    most: float
    above: bool
    words: tuple[str, ...]
    summary: str

    @property
    def range(self) -> str:
        """What it may be, in words."""
        if self.kind == "word":
            return "{" + ", ".join(repr(text) for text in self.words) + "}"
        if self.kind == "flag":
            return "bool"
        kind = "int" if self.kind == "count" else "float"
        low = f"above {self.least:g}" if self.above else f"at least {self.least:g}"
        high = "" if self.most >= 2e9 else f", at most {self.most:g}"
        return f"{kind}{' or None' if self.default is None else ''}, {low}{high}"

    def take(self, value: Any) -> float | str | None:
        """Return what the C library takes, which checks ranges; None for what is left open."""
        if value is None and self.default is None:
            return None
        if self.kind == "word":
            return word(self.name, value)
        if self.kind == "flag":
            return float(flag(self.name, value))
        if self.kind == "count":
            return float(count(self.name, value, int(self.least)))
        return number(self.name, value)


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

    def options(self) -> tuple[tuple[str, float | str], ...]:
        """What the C library takes: names with numbers or words."""
        own = _DESCRIPTIONS[self.name].options if self.name in _DESCRIPTIONS else {}
        taken = ((name, own[name].take(value)) for name, value in self.settings)
        return tuple((name, value) for name, value in taken if value is not None)

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


def _option(told: tuple[Any, ...]) -> Option:
    name, kind, usual, least, most, above, optional, words, summary = told
    default: Any = usual
    if optional:
        default = None
    elif kind == "word":
        default = words[int(usual)]
    elif kind == "flag":
        default = bool(usual)
    elif kind == "count":
        default = int(usual)
    return Option(name, kind, default, least, most, bool(above), words, summary)


def _description(told: dict[str, Any]) -> Description:
    options = {option.name: option for option in map(_option, told.pop("options"))}
    about, paper = told.pop("about") or "", told.pop("paper") or ""
    direct = bool(told.pop("direct"))
    return Description(about=about, paper=paper, options=options, direct=direct, **told)


_DESCRIPTIONS = {told["name"]: _description(told) for told in _core.methods()}


def _document(method: Description) -> str:
    """Return a docstring in the manner of numpydoc."""
    parts = [method.summary[0].upper() + method.summary[1:] + "."]
    if method.about:
        parts.append(textwrap.fill(method.about, 96))
    if method.options:
        lines = ["Parameters", "----------"]
        for option in method.options.values():
            default = "" if option.default is None else f", default {option.default!r}"
            text = option.summary[0].upper() + option.summary[1:]
            lines += [f"{option.name} : {option.range}{default}", f"    {text}."]
        parts.append("\n".join(lines))
    parts.append("\n".join(["Returns", "-------", "Choice", "    For a solver's `method`."]))
    notes = [f"Needs: {'; '.join(needs()[word] for word in method.needs) or 'nothing'}."]
    if method.solves:
        notes.append(f"For: {'; '.join(classes()[word] for word in method.solves)}.")
    parts.append("\n".join(["Notes", "-----", *notes]))
    if method.paper:
        parts.append("\n".join(["References", "----------", method.paper]))
    return "\n\n".join(parts)


def _maker(method: Description) -> Callable[..., Choice]:
    """Return the function of a method's name: its own options in, a `Choice` out."""
    parameters = [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
        for option in method.options.values()
    ]
    signature = inspect.Signature(parameters, return_annotation=Choice)

    def make(**options: Any) -> Choice:
        for name in options:
            if name not in method.options:
                known = ", ".join(method.options) or "none"
                raise TypeError(f"{name} is no option of method='{method.name}'; known: {known}")
        given = ((name, options[name]) for name in method.options if name in options)
        own = tuple((name, v) for name, v in given if not _same(v, method.options[name].default))
        choice = Choice(method.name, own)
        _core.check_method(method.name, choice.options())
        return choice

    make.__name__ = make.__qualname__ = method.name
    make.__doc__ = _document(method)
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


def _same(value: Any, default: Any) -> bool:
    """Whether an option has its default, which then need not be told."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return type(value) is type(default) and value == default


for _name, _method in _DESCRIPTIONS.items():
    if not keyword.iskeyword(_name):
        globals()[_name] = _maker(_method)
        __all__ += [_name]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Choice]:
        """Stand for the functions that are made from the C library's list."""


def __dir__() -> list[str]:
    return sorted(__all__)
