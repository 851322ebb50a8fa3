"""Methods of solution, with their options.

A solver takes a method by its name. For options of the method, this module has a function of the
same name, made from the C library's description:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(3, rows=1)
>>> result = cs.solve(problem, method=cs.methods.bpp(engine="skyline"))
>>> result.info["engine"]
'skyline'

`describe` lists all methods with their options, their requirements and the problems they solve, or
one of them:

>>> cs.methods.describe("lemke").options["tolerance"].default
1e-09
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from . import _core
from ._specific_options import Named, Option, document, maker, options_of, taken
from ._suggestions import missing, with_suggestion

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
    """The description of a method.

    Attributes
    ----------
    name, summary, about
        The name, one line on the method, and how it works.
    paper
        The source of the method.
    options
        Options of the method by name, each an `Option`.
    needs
        The requirements on a problem; `needs` explains the words.
    solves
        The classes of problems on which the method reaches its tolerance; `classes` explains the
        words.
    direct
        Whether the method makes no sweeps itself. Options about sweeps are then refused, or apply
        to its inner method.
    experimental
        Whether options and defaults of the method may change between releases.
    figures
        What ``result.info`` has for this method alone, each with its meaning; ``"group.name"`` is
        in the dictionary ``info["group"]``.
    """

    name: str
    summary: str
    about: str
    paper: str
    options: Mapping[str, Option]
    needs: tuple[str, ...]
    solves: tuple[str, ...]
    direct: bool
    experimental: bool
    figures: Mapping[str, str]

    def __str__(self) -> str:
        note = " (experimental)" if self.experimental else ""
        lines = [f"{self.name}{note}: {self.summary}"]
        lines += [f"  from    {self.paper}"] if self.paper else []
        lines += [f"  needs   {', '.join(self.needs)}"] if self.needs else []
        lines += [f"  solves  {', '.join(self.solves)}"] if self.solves else []
        reported = dict.fromkeys(name.partition(".")[0] for name in self.figures)
        lines += [f"  reports {', '.join(reported)}"] if reported else []
        lines += [f"  {_line(option)}" for option in self.options.values()]
        return "\n".join(lines)


def _line(option: Option) -> str:
    """Return one line on an option: its default, its effect and the words that it takes."""
    words = f"; one of {', '.join(option.words)}" if option.words else ""
    return f"{option.name}={option.default!r}: {option.summary}{words}"


@dataclass(frozen=True, repr=False)
class Choice(Named):
    """A method with its own options; made by the function of its name in this module."""

    def options(self) -> dict[str, float | str]:
        """Return the options as the C library takes them: numbers or words by name."""
        if not self.settings:
            return {}
        own = _DESCRIPTIONS[self.name].options if self.name in _DESCRIPTIONS else {}
        return taken(own, dict(self.settings))


def chosen(method: Any) -> Choice:
    """Return the method that a solver's option stands for: a name or an object."""
    if isinstance(method, Choice):
        return method
    known = _PLAIN.get(method) if isinstance(method, str) else None
    return known or Choice(method)


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


@overload
def describe() -> dict[str, Description]: ...
@overload
def describe(name: str) -> Description: ...
def describe(name: str | None = None) -> dict[str, Description] | Description:
    """Return the description of each method by name, or of one: paper, options, requirements.

    Parameters
    ----------
    name
        One of `names`; without one, all methods are described.

    Raises
    ------
    ValueError
        For an unknown name.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.methods.describe("momentum").options["beta"].range
    'float, at least 0, at most 0.99'
    """
    if name is None:
        return dict(_DESCRIPTIONS)
    if name not in _DESCRIPTIONS:
        unknown = ValueError(f"method: {name!r} is unknown; known: {', '.join(_DESCRIPTIONS)}")
        raise with_suggestion(unknown)
    return _DESCRIPTIONS[name]


def summaries() -> dict[str, str]:
    """Return one line on each method, by name."""
    return {name: method.summary for name, method in _DESCRIPTIONS.items()}


def needs() -> dict[str, str]:
    """Return the requirements that methods may have, each word with its meaning."""
    return dict(_core.needs())


def classes() -> dict[str, str]:
    """Return the classes of problems that methods solve, each word with its meaning."""
    return dict(_core.classes())


# ---- from the C library's descriptions -----------------------------------------------------------


def _description(described: dict[str, Any]) -> Description:
    options = options_of(described.pop("options"))
    about, paper = described.pop("about") or "", described.pop("paper") or ""
    direct, experimental = (bool(described.pop(name)) for name in ("direct", "experimental"))
    figures = {name: summary for name, _, summary in described.pop("figures")}
    return Description(
        about=about,
        paper=paper,
        options=options,
        direct=direct,
        experimental=experimental,
        figures=figures,
        **described,
    )


_DESCRIPTIONS = {described["name"]: _description(described) for described in _core.methods()}
_PLAIN = {name: Choice(name) for name in _DESCRIPTIONS}


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
    make = maker("method", method.name, method.options, Choice, _core.check_method)
    make.__doc__ = _document(method)
    make.__module__ = __name__
    return make


for _name, _method in _DESCRIPTIONS.items():
    if not keyword.iskeyword(_name):
        globals()[_name] = _maker(_method)
        __all__ += [_name]


def __getattr__(name: str) -> Callable[..., Choice]:
    """Raise for unknown names; for type checkers, every name is a function of the C library."""
    raise missing(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
