"""Calls that only one thread at a time may make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

__all__ = ["alone"]

_MESSAGE = "this Cloth is in the middle of a step (in another thread or around this call)"


class _HasUser(Protocol):
    _user: dict[str, object]  # of this object: empty, or who is in a call


Owner = TypeVar("Owner", bound=_HasUser)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def alone(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Return a method that raises RuntimeError while another such call of its object lasts."""

    @functools.wraps(method)
    def call(self: Owner, /, *args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        own: Any = object()
        try:
            # One atomic operation: Ctrl-C right after it finds its way to the end below.
            if self._user.setdefault("now", own) is not own:
                raise RuntimeError(_MESSAGE)
            return method(self, *args, **keywords)
        finally:
            if self._user.get("now") is own:
                self._user.clear()

    return call
