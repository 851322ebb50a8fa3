"""A parser of the command line whose errors suggest known commands and options."""

from __future__ import annotations

import argparse
import re
from typing import Any, Never

from contactsolve import methods
from contactsolve._suggestions import hint, nearest

__all__ = ["Parser"]

_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)$")
_UNRECOGNIZED = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """A parser with suggestions; its commands are parsed by the same class."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; refuse unknown ones here, where the known ones are at hand."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"{_UNRECOGNIZED}{' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> Never:
        """Print the usage and the message with a suggestion, and exit."""
        choice = _CHOICE.search(message)
        if choice:
            message += hint(choice["word"], re.findall(r"[\w-]+", choice["known"]))
        if message.startswith(f"{_UNRECOGNIZED}--"):
            message += self._hint(message.split()[2].partition("=")[0])
        super().error(message)

    def _hint(self, flag: str) -> str:
        """Return a suggestion for an unknown flag: a similar one, or a method with the option."""
        known = {_name(text): text for text in self._option_string_actions if text[:2] == "--"}
        near = nearest(_name(flag), known)
        if near:
            return f"; did you mean {known[near]}?"

        # An option of a single method stands behind its name.
        owners = [n for n, one in methods.describe().items() if _name(flag) in one.options]
        taking = [text for text in ("--method", "--methods") if text in known.values()]
        if not owners or not taking:
            return ""
        return f"; it is an option of methods, as {taking[0]} {owners[0]},{_name(flag)}=VALUE"


def _name(flag: str) -> str:
    """Return the name of the option that a flag sets."""
    return flag.removeprefix("--").replace("-", "_")
