"""The options of a solver, its methods and goals, as words of the command line."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

from contactsolve import _core, methods
from contactsolve._specific_options import Option, options_of
from contactsolve._suggestions import hint
from contactsolve.compare import QualityOf, quality_of
from contactsolve.solver import Method, Solver

__all__ = ["DEFAULTS", "OPTIONS_OF_METHODS", "SOLVER_OPTIONS", "integer", "method", "until"]


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


def flag(text: str) -> bool:
    """Convert a word of the command line to a truth value."""
    if text.lower() not in _FLAGS:
        raise argparse.ArgumentTypeError(f"{text!r} is not yes or no")
    return _FLAGS[text.lower()]


_FLAGS = {"yes": True, "true": True, "no": False, "false": False}


def _read_by(option: Option, default: Any) -> Callable[[str], Any]:
    """Return the function that converts a word of the command line to an option's value."""
    if option.kind in ("word", "flag"):
        return str if option.kind == "word" else flag
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


# The options of `Solver` that a word or a number can express, and the flag that benchmarks need.
# The solver alone checks values and has the defaults.
SOLVER_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    name: (_read_by(option, DEFAULTS[name].default), _help_of(option))
    for name, option in options_of(_core.options()).items()
    if option.kind != "flag" or name == "exact_threads"
} | {"rng": (integer, "seed of --order random")}
OPTIONS_OF_METHODS = (
    "with options of the method or the solver after commas, as in bpp,engine=schur or "
    "gauss_seidel,relaxation=1.5"
)
_WITH_METHOD = tuple(name for name in SOLVER_OPTIONS if name != "method")


# ---- methods and goals --------------------------------------------------------------------------


def method(text: str) -> Method:
    """Parse a method with its own options and the solver's: ``nesterov,restart=2,rtol=1e-3``."""
    name, *words = (word.strip() for word in text.split(","))
    own: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for word in words:
        option, sign, value = word.partition("=")
        option = option.replace("-", "_")
        if not sign:
            raise argparse.ArgumentTypeError(f"{word!r} in {text!r} is not OPTION=VALUE")
        convert = _reader(name, option, text)
        try:
            (options if option in _WITH_METHOD else own)[option] = convert(value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{option} in {text!r}: {error}") from None
    return Method(_chosen(name, own, text), **options)


def _reader(name: str, option: str, text: str) -> Callable[[str], Any]:
    """Return the function that converts the value of an option that a method may be given."""
    if option in _WITH_METHOD:
        return SOLVER_OPTIONS[option][0]
    try:
        own = methods.describe(name).options
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if option in own:
        return _read_by(own[option], own[option].default)
    known = [*own, *(word for word in _WITH_METHOD if word not in own)]
    raise argparse.ArgumentTypeError(
        f"{option} in {text!r} is no option of {name} or of the solver; known: {', '.join(known)}"
        f"{hint(option, known)}"
    )


def _chosen(name: str, own: dict[str, Any], text: str) -> str | methods.Choice:
    """Return a method with its own options, or the name of one without."""
    if not own:
        return name
    try:
        choice: methods.Choice = getattr(methods, name)(**own)
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return choice


SOLVER_OPTIONS["method"] = (method, f"{SOLVER_OPTIONS['method'][1]}, {OPTIONS_OF_METHODS}")


def until(text: str) -> float | QualityOf:
    """Parse a goal: a natural map, or a method and its sweeps, ``gauss_seidel:50``."""
    name, colon, sweeps = text.rpartition(":")
    if not colon:
        return number(text)
    try:
        return quality_of(method(name), iterations=integer(sweeps))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
