"""Options of single methods, orders and schemes, from the C library's tables.

Functions that make one of them take their signature, checks and docstring from here.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from ._options import count, flag, number, word
from ._suggestions import hint, with_suggestion

__all__ = [
    "Named",
    "Option",
    "arguments",
    "checked",
    "document",
    "maker",
    "options_of",
    "same",
    "signature_of",
    "taken",
]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of one method, order or scheme.

    Attributes
    ----------
    name, summary
        Its name and one line on its effect.
    kind
        ``"number"``, ``"count"`` (a whole number), ``"flag"`` or ``"word"``.
    default
        Its default value; None if a method then chooses.
    least, most
        The range of a number or a count.
    above
        The range excludes `least`.
    words
        The words that it takes; a number or a count takes them instead of a value.
    of
        The option on which it depends: without that one it has no effect; empty for none.
    """

    name: str
    kind: str
    default: Any
    least: float
    most: float
    above: bool
    words: tuple[str, ...]
    summary: str
    of: str = ""

    @property
    def range(self) -> str:
        """The values that it takes, as text."""
        words = "{" + ", ".join(repr(text) for text in self.words) + "}"
        if self.kind == "word":
            return words
        if self.kind == "flag":
            return "bool"
        kind = "int" if self.kind == "count" else "float"
        low = f"above {self.least:g}" if self.above else f"at least {self.least:g}"
        high = "" if self.most >= 2e9 else f", at most {self.most:g}"
        before = f"{words} or " if self.words else ""
        return f"{before}{kind}{' or None' if self.default is None else ''}, {low}{high}"

    def take(self, value: Any) -> float | str | None:
        """Return the value for the C library, which checks ranges; None for an unset option."""
        if value is None and self.default is None:
            return None
        if self.kind == "word" or (self.words and isinstance(value, str)):
            return word(self.name, value)
        if self.kind == "flag":
            return float(flag(self.name, value))
        if isinstance(value, (str, bytes, bool, np.bool_)):
            wanted = "an integer" if self.kind == "count" else "a number"
            raise TypeError(f"{self.name} is {value!r}: {wanted} is needed")
        if self.kind == "count":
            return float(count(self.name, value, int(self.least), self.most))
        return number(self.name, value)


@dataclass(frozen=True)
class Named:
    """A name with options of its own, by name and value without those that have their defaults."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        own = [f"{name}={value}" for name, value in self.settings]
        return f"{self.name}({', '.join(own)})" if own else self.name

    __repr__ = __str__


def options_of(described: list[dict[str, Any]]) -> dict[str, Option]:
    """Return options by name from the C library's descriptions."""
    return {option.name: option for option in map(_option, described)}


def _option(described: dict[str, Any]) -> Option:
    usual, kind, words = described.pop("usual"), described["kind"], described["words"]
    default: Any = usual
    if described.pop("optional"):
        default = None
    elif kind == "word":
        default = words[int(usual)]
    elif words and usual <= 0:
        default = words[-int(usual)]
    elif kind == "flag":
        default = bool(usual)
    elif kind == "count":
        default = int(usual)
    described["of"] = described["of"] or ""
    return Option(default=default, **described)


def arguments(
    owner: str, options: Mapping[str, Option], positional: tuple[Any, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """Return options by name; the first one may be positional if it is a word.

    Raises `TypeError` for options that `owner` does not have, as ``order='colored'``.
    """
    named = dict(given)
    if positional:
        first = next(iter(options.values()), None)
        if len(positional) > 1 or first is None or first.kind != "word":
            raise TypeError(f"{owner} takes its options by name; known: {_known(options)}")
        if first.name in named:
            raise TypeError(f"{owner} is given {first.name} twice")
        named[first.name] = positional[0]
    for name in named:
        if name not in options:
            text = f"{name} is no option of {owner}; known: {_known(options)}"
            raise TypeError(f"{text}{hint(name, options)}")
    return named


T = TypeVar("T", bound=Named)


def maker(
    kind: str,
    name: str,
    options: Mapping[str, Option],
    result: type[T],
    check: Callable[[str, dict[str, float | str]], None],
) -> Callable[..., T]:
    """Return the function of a name: options in, an object of `result` out, which C has checked."""

    def make(**given: Any) -> T:
        named = arguments(f"{kind}='{name}'", options, (), given)
        own = tuple(
            (one, named[one])
            for one, option in options.items()
            if one in named and not same(named[one], option.default)
        )
        checked(check, name, taken(options, dict(own)))
        return result(name, own)

    make.__name__ = make.__qualname__ = name
    make.__signature__ = signature_of(options, result)  # type: ignore[attr-defined]
    return make


def checked(
    check: Callable[[str, dict[str, float | str]], None], name: str, own: dict[str, float | str]
) -> None:
    """Let the C library check options; an unknown word is told with what it may mean."""
    try:
        check(name, own)
    except ValueError as error:
        raise with_suggestion(error) from None


def _known(options: Mapping[str, Option]) -> str:
    return ", ".join(options) or "none"


def taken(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, float | str]:
    """Return the options for the C library: numbers or words by name, without unset ones.

    The C library refuses the names that it does not know.
    """
    values = {
        name: options[name].take(value) if name in options else value
        for name, value in given.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def same(value: Any, default: Any) -> bool:
    """Whether an option has its default and need not be shown."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return type(value) is type(default) and value == default


def signature_of(
    options: Mapping[str, Option], result: type, *, by_place: bool = False
) -> inspect.Signature:
    """Return the signature of a function that takes these options; `by_place` as of `arguments`."""
    named, placed = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for option in options.values():
        first = by_place and not parameters and option.kind == "word"
        kind = placed if first else named
        parameters.append(inspect.Parameter(option.name, kind, default=option.default))
    return inspect.Signature(parameters, return_annotation=result)


class Documented(Protocol):
    """What the documentation of an option, or of a parameter of a set, is made of."""

    @property
    def name(self) -> str: ...
    @property
    def range(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def summary(self) -> str: ...


def document(
    summary: str,
    about: str,
    options: Mapping[str, Documented],
    returns: str,
    sections: Mapping[str, str],
) -> str:
    """Return a docstring in numpydoc format; `returns` is a type and a line on it."""
    parts = [f"{_capital(summary)}."]
    if about:
        parts.append(textwrap.fill(about, 96))
    if options:
        lines = ["Parameters", "----------"]
        for option in options.values():
            default = "" if option.default is None else f", default {option.default!r}"
            lines.append(f"{option.name} : {option.range}{default}")
            text = textwrap.fill(
                f"{_capital(option.summary)}.",
                96,
                initial_indent="    ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )
            lines.append(text)
        parts.append("\n".join(lines))
    parts.append("\n".join(["Returns", "-------", returns]))
    for title, text in sections.items():
        parts.append("\n".join([title, "-" * len(title), text]))
    return "\n\n".join(parts)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
