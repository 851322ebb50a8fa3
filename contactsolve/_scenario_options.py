"""The parameters of scenarios and scenes as options of the command line, from their signatures.

Nothing here is specific to one of them: its options, its help and its line in the list follow from
its signature and its docstring.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable
from typing import Any

from contactsolve import scenarios

__all__ = ["add_scenarios", "chosen_parameters", "listing"]

_PREFIX = "parameter "  # keeps names of parameters apart from other names that argparse stores
_FRACTIONAL = {"float", "ArrayLike"}
_SEQUENCES = {"Sequence", "ArrayLike", "tuple", "list"}


def add_scenarios(
    parser: argparse.ArgumentParser,
    common: argparse.ArgumentParser,
    of: Any = scenarios,
    kind: str = "scenario",
) -> None:
    """Give `parser` one command for each scenario, with the options of `common` as well.

    `of` is a module with `names` and `get`, and `kind` what it makes.
    """
    commands = parser.add_subparsers(title=f"{kind}s", metavar="NAME", dest=kind)
    for name in of.names():
        function = of.get(name)
        command = commands.add_parser(
            name, help=_summary(function), description=_summary(function), parents=[common]
        )
        texts = _texts(function)
        group = command.add_argument_group(f"parameters of the {kind}")
        parameters = _parameters(function)
        taken = {parameter.name for parameter in parameters}
        for i, parameter in enumerate(parameters):
            also = ["--size"] if i == 0 and "size" not in taken else []
            _add(group, parameter, also, texts.get(parameter.name, ""))


def chosen_parameters(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the given parameters by their names in Python."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in vars(chosen).items()
        if name.startswith(_PREFIX)
    }


def listing(of: Any = scenarios) -> str:
    """Return every scenario with its summary, and its parameters with their defaults."""
    blocks = []
    for name in of.names():
        function = of.get(name)
        parameters = _parameters(function)
        words = [
            _flag(p.name) if p.default is p.empty else f"{_flag(p.name)} {_shown(p.default)}"
            for p in parameters
        ]
        blocks.append(f"{name}: {_summary(function)}\n{_wrapped(words)}")
    return "\n\n".join(blocks)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters with names of their own."""
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.kind is not one.VAR_KEYWORD]


# ---- one parameter ------------------------------------------------------------------------------


def _add(
    group: argparse._ArgumentGroup, parameter: inspect.Parameter, also: list[str], text: str
) -> None:
    required = parameter.default is parameter.empty
    shown = "required" if required else f"default: {_shown(parameter.default)}"
    options: dict[str, Any] = {
        "dest": _PREFIX + parameter.name,
        "default": argparse.SUPPRESS,
        "required": required,
        "help": f"{text} ({shown})".replace("%", "%%").strip(),
    }
    if isinstance(parameter.default, bool):
        group.add_argument(
            _flag(parameter.name), *also, action=argparse.BooleanOptionalAction, **options
        )
    else:
        convert = _converter(parameter)
        group.add_argument(_flag(parameter.name), *also, type=convert, metavar="VALUE", **options)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(value: Any) -> str:
    """Return a default as it would be written on the command line."""
    if isinstance(value, (tuple, list)):
        return ",".join(_shown(item) for item in value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _converter(parameter: inspect.Parameter) -> Callable[[str], Any]:
    """Return the function that converts the text of an option, by annotation and default."""
    annotation = str(parameter.annotation)
    words = set(re.findall(r"\w+", annotation))
    default = parameter.default
    if "str" in words or isinstance(default, str):
        return str
    fractional = bool(words & _FRACTIONAL) or isinstance(default, float)
    several = bool(words & _SEQUENCES)
    # A type of the scenario's own, such as a seed, may accept None; the scenario decides.
    optional = default is None or "None" in words or not words & {"int", "float", *_SEQUENCES}

    def convert(text: str) -> Any:
        if optional and text == "none":
            return None
        if several and "," in text:
            return tuple(_number(part, fractional) for part in text.split(","))
        return _number(text, fractional)

    return convert


def _number(text: str, fractional: bool) -> float | int:
    kind: type = float if fractional else int
    try:
        number: float | int = kind(text)
    except ValueError:
        wanted = "a number" if fractional else "an integer"
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}") from None
    return number


# ---- docstrings ---------------------------------------------------------------------------------


def _summary(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter in a numpydoc docstring, on one line."""
    # The section ends before the next title.
    text = inspect.getdoc(function) or ""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    if section is None:
        return {}

    # Each entry is a line "name : type", or "name, name : type", with indented text below.
    entries = re.findall(
        r"^(\w+(?:, \w+)*) *:[^\n]*\n((?:[ ]+[^\n]*\n?|\n)*)", section[1], re.MULTILINE
    )
    return {
        name: " ".join(body.replace("`", "").split())
        for names, body in entries
        for name in names.split(", ")
    }


def _wrapped(words: list[str], width: int = 96) -> str:
    lines, line = [], " "
    for word in words:
        if len(line) + len(word) + 2 > width:
            lines.append(line)
            line = " "
        line += f" {word}" if line == " " else f"  {word}"
    return "\n".join([*lines, line])
