"""The options of a solver, its methods and goals, as words of the command line."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

from contactsolve import _core
from contactsolve._specific_options import Option, options_of
from contactsolve.compare import QualityOf, quality_of
from contactsolve.solver import Method, Solver

__all__ = ["DEFAULTS", "SOLVER_OPTIONS", "integer", "method", "until"]


def number(text: str) -> float:
    """Convert a word of the command line to a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def integer(text: str) -> int:
    """Convert a word of the command line to an integer."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None


DEFAULTS = inspect.signature(Solver).parameters
# Words that only Python knows, in addition to those of the C library's table.
_BESIDES = {
    "rtol": "auto: 1e-6, in float32 1e-4",
    "max_seconds": "auto: 10 if nothing else limits the solve",
    "max_iterations": "none: 1000, or no limit with --method auto",
}
_FEW = 6  # words that a line of help lists; `contactsolve methods` lists longer ones


def _read_by(option: Option) -> Callable[[str], Any]:
    """Return the function that converts a word of the command line to an option's value."""
    if option.kind == "word":
        return str
    default = DEFAULTS[option.name].default
    convert = integer if option.kind == "count" else number
    takes_none = None in (default, option.default)

    def read(text: str) -> Any:
        if text == "none" and takes_none:
            return None
        if option.words and text.isidentifier() and text not in ("nan", "inf"):
            return text
        return text if text == default == "auto" else convert(text)

    return read


def _help_of(option: Option) -> str:
    """Return one line on an option, with the words that it takes."""
    listed = option.words if len(option.words) <= _FEW else ()
    parts = [option.summary.replace("None:", "none:")]
    if listed and option.summary.count(listed[0]) == 0:
        parts.append(", ".join(listed) + ("" if option.kind == "word" else ", or a number"))
    text = ": ".join(parts)

    # A default of none is printed anyway.
    if option.default is None and DEFAULTS[option.name].default is not None:
        text += ", or none"
    return f"{text}; {_BESIDES[option.name]}" if option.name in _BESIDES else text


# The options of `Solver` that a word or a number can express. The solver alone checks values and
# has the defaults.
SOLVER_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    name: (_read_by(option), _help_of(option))
    for name, option in options_of(_core.options()).items()
    if option.kind != "flag"
} | {"rng": (integer, "seed of --order random")}


# ---- methods and goals --------------------------------------------------------------------------


def method(text: str) -> Method:
    """Parse a method as tables label it: ``gauss_seidel,relaxation=1.5,dtype=float32``."""
    name, *words = (word.strip() for word in text.split(","))
    options: dict[str, Any] = {}
    for word in words:
        option, sign, value = word.partition("=")
        option = option.replace("-", "_")
        if not sign or option not in SOLVER_OPTIONS or option == "method":
            known = ", ".join(known for known in SOLVER_OPTIONS if known != "method")
            raise argparse.ArgumentTypeError(
                f"{word!r} in {text!r} is not OPTION=VALUE; options are {known}"
            )
        try:
            options[option] = SOLVER_OPTIONS[option][0](value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{option} in {text!r}: {error}") from None
    return Method(name, **options)


def until(text: str) -> float | QualityOf:
    """Parse a goal: a natural map, or a method and its sweeps, ``gauss_seidel:50``."""
    name, colon, sweeps = text.rpartition(":")
    if not colon:
        return number(text)
    try:
        return quality_of(method(name), iterations=integer(sweeps))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
