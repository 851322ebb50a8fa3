"""What a solver tells of itself, computed when it is first read."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from . import _core
from ._advice import Facts, Given
from ._report import info_of
from .problem import Problem

__all__ = ["Description"]


class Description:
    """The choices and figures of a solver, for one state of its problem and its options by name."""

    def __init__(self, core: _core.Solver, problem: Problem, options: dict[str, Any]) -> None:
        self._told = core.describe()
        self._problem, self._options = problem, options
        # Warnings of immovable contacts and of an unsymmetric A read the problem, which may change.
        if self._told.immovable_blocks or problem._matrix is not None:
            self.info  # noqa: B018

    @cached_property
    def info(self) -> dict[str, Any]:
        """`Solver.info`."""
        options = self._options
        return info_of(self._told.figures(), self._problem, options["method"], options["scheme"])

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the history."""
        return self._told.columns

    @cached_property
    def asked(self) -> str:
        """The stopping rule, for messages."""
        stop, rtol, atol = (self._options[name] for name in ("stop", "rtol", "atol"))
        if self._told.stop_is_ratio:
            return f"{stop} with rtol={rtol}, atol={atol}"
        return f"rtol={rtol}, atol={atol}" if stop == "natural_map" else f"{stop} <= {atol}"

    @cached_property
    def facts(self) -> Facts:
        """Facts of the problem, for messages."""
        return Facts(self._problem)

    def given(self, *, started: bool) -> Given:
        """Return the options on which advice depends."""
        own = self._options
        return Given(own["scheme"], own["bound"], own["r_factor"], own["rollback_growth"], started)
